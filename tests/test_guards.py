"""Each guard is tripped by a notebook built to trip it and no other; then all of them judge the real notebooks."""

import execute_notebooks
import guards
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

NOTEBOOKS = sorted(guards.NOTEBOOKS.glob("*.ipynb"))


def clean():
    """A small notebook without fault, with one cell of each kind that a guard looks at."""
    picture = new_output(
        "display_data",
        {"image/png": "iVBORw0KGgo=", "text/plain": "A 0.7\nB 0.3"},
        metadata={"image/png": {"alt": "Two bars, 0.7 and 0.3."}},
    )
    error = new_output("error", ename="ZeroDivisionError", evalue="division by zero", traceback=["ZeroDivisionError"])
    words = new_output("display_data", {"text/html": "<details>Two bars</details>", "text/plain": "Two bars"})
    solution = "def third(x):\n    ### BEGIN SOLUTION\n    return x / 3\n    ### END SOLUTION\n\n\nthird(1)"
    result = new_output("execute_result", {"text/plain": "0.333"}, execution_count=3)
    cells = [
        new_markdown_cell(
            "# Divide by three\n\n"
            "**What you'll do.** Divide.\n\n**What you'll learn.** Thirds, and/or 7/10 of them.\n\n"
            "**What you'll need.** [A page](https://example.org/home/opt/a), $X:\\Omega$, ~/home.\n\n**Time:** 5 min"
        ),
        new_markdown_cell("## Draw\n\n```\n#### No heading, in a fence\n```\n\n### A figure"),
        new_code_cell("# show(nothing)\nshow(bars)", outputs=[picture, words], execution_count=1),
        new_code_cell("1 / 0", outputs=[error], execution_count=2, metadata={"tags": ["raises-exception"]}),
        new_markdown_cell("## On your own\n\n### Exercise 1\n\n*Difficulty: easy · 10 minutes*\n\nDivide."),
        new_code_cell(solution, outputs=[result], execution_count=3),
        new_markdown_cell("## In practice\n\nSee abs/2211.17192.\n\n## Further reading\n\nA paper."),
    ]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernelspec})


def tripped(notebook):
    return {guard.__name__ for guard in guards.GUARDS if guard(notebook, "built.ipynb")}


def replaced(number, old, new):
    """An edit: one text for another in a cell's source."""

    def edit(notebook):
        assert old in notebook.cells[number].source
        notebook.cells[number].source = notebook.cells[number].source.replace(old, new)

    return edit


def source(number, text):
    return lambda notebook: notebook.cells[number].update(source=text)


def output(number, text, name="stdout"):
    return lambda notebook: notebook.cells[number].outputs.append(new_output("stream", name=name, text=text))


def numbered(number, count):
    """An edit: a cell and its results of another run."""

    def edit(notebook):
        notebook.cells[number].update(execution_count=count)
        for one in notebook.cells[number].outputs:
            if "execution_count" in one:
                one.update(execution_count=count)

    return edit


def tag(number, *names):
    return lambda notebook: notebook.cells[number].metadata.update(tags=list(names))


def picture(notebook):
    return notebook.cells[2].outputs[0]


EDITS = [
    ("unexecuted", numbered(5, None)),
    ("unexecuted", lambda nb: nb.cells.insert(6, new_code_cell("1", id="late"))),
    ("out_of_order", numbered(5, 2)),
    ("out_of_order", lambda nb: [numbered(i, n)(nb) for i, n in ((2, 3), (3, 4), (5, 5))]),
    ("other_run", lambda nb: nb.cells[5].outputs[0].update(execution_count=4)),
    ("wrong_kernel", lambda nb: nb.metadata.kernelspec.update(name="specdec")),
    ("wrong_kernel", lambda nb: nb.metadata.pop("kernelspec")),
    ("missing_figure", lambda nb: nb.cells[2].update(outputs=[])),
    ("missing_figure", lambda nb: picture(nb).data.pop("image/png")),
    ("missing_figure", lambda nb: nb.cells[2].outputs.pop()),
    ("missing_figure", lambda nb: nb.cells[2].outputs[1].data.pop("text/html")),
    ("undescribed_figure", lambda nb: picture(nb).update(metadata={})),
    ("undescribed_figure", lambda nb: picture(nb).metadata["image/png"].update(alt=" ")),
    ("undescribed_figure", lambda nb: picture(nb).data.pop("text/plain")),
    ("undescribed_figure", lambda nb: picture(nb).data.update({"text/plain": "<Figure size 640x480 with 1 Axes>"})),
    ("undescribed_figure", lambda nb: picture(nb).data.update({"text/plain": "bars"})),
    ("undescribed_figure", lambda nb: picture(nb).data.update({"image/svg+xml": "<svg/>"})),
    ("error_tag", tag(3)),
    ("error_tag", tag(5, "raises-exception")),
    ("error_tag", tag(5, "nbval-raises-exception")),
    ("stderr", output(5, "careful\n", name="stderr")),
    ("long_line", output(5, "fits\n" + "word " * 15 + "no\n")),
    ("long_line", lambda nb: nb.cells[5].outputs[0].data.update({"text/plain": "7" * 77})),
    ("long_line", lambda nb: nb.cells[3].outputs[0].update(evalue="x" * 77)),
    ("absolute_path", source(5, "open('/home/ada/data.txt')")),
    ("absolute_path", source(5, "open('/opt')")),
    ("absolute_path", output(5, "saved to /opt/figures/bars.png\n")),
    ("absolute_path", output(5, "loaded (/scratch/ada/model)\n")),
    ("absolute_path", output(5, "C:\\Users\\ada\n")),
    ("absolute_path", replaced(4, "Divide.", "Open `file:///etc/hosts`.")),
    ("absolute_path", lambda nb: nb.cells[3].outputs[0].update(traceback=["File /usr/lib/python3/x.py:1"])),
    ("cell_id", lambda nb: nb.cells[2].update(id=None)),
    ("cell_id", lambda nb: nb.cells[2].pop("id")),
    ("cell_id", lambda nb: nb.cells[2].update(id="cell-3")),
    ("cell_id", lambda nb: nb.update(nbformat_minor=4)),
    ("widget_state", lambda nb: nb.metadata.update(widgets={})),
    ("long_cell", source(5, "\n".join(f"x = {i}" for i in range(13)))),
    ("opening", replaced(0, "**What you'll need.**", "You'll need:")),
    ("opening", replaced(0, "**Time:**", "Time:")),
    ("opening", lambda nb: [replaced(0, "do.**", "X")(nb), replaced(0, "learn.**", "do.**")(nb)]),
    ("closing", replaced(6, "## In practice\n\nSee", "See")),
    ("closing", replaced(6, "A paper.", "A paper.\n\n## More")),
    ("closing", source(6, "## Further reading\n\n## In practice")),
    ("title", replaced(0, "# Divide by three\n\n", "")),
    ("title", replaced(6, "A paper.", "A paper.\n\n# Another")),
    ("title", replaced(0, "# Divide", "Hello\n\n# Divide")),
    ("skipped_level", replaced(1, "### A figure", "#### A figure")),
    ("solution_marker", replaced(5, "    ### END SOLUTION\n", "")),
    ("solution_marker", replaced(5, "    ### BEGIN SOLUTION\n", "")),
    ("solution_marker", replaced(5, "### END", "### BEGIN SOLUTION\n    ### END")),
    ("solution_marker", replaced(4, "Divide.", "Write between `### BEGIN SOLUTION` and its end.")),
    ("exercise", replaced(4, "*Difficulty: easy · 10 minutes*\n\n", "")),
    ("exercise", replaced(4, "10 minutes", "a while")),
    ("exercise", replaced(4, "easy", "trivial")),
    ("comment_marker", replaced(5, "third(1)", "# NBVAL_IGNORE_OUTPUT\nthird(1)")),
]


def test_the_clean_notebook_trips_nothing():
    nbformat.validate(clean())
    assert not guards.problems(clean(), "built.ipynb")


@pytest.mark.parametrize(("name", "edit"), EDITS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(EDITS)])
def test_an_edit_trips_its_guard_alone(name, edit):
    notebook = clean()
    edit(notebook)
    assert tripped(notebook) == {name}
    for problem in guards.problems(notebook, "built.ipynb"):
        assert "built.ipynb" in problem and problem.endswith("."), problem


def test_every_guard_is_tripped():
    assert {name for name, _ in EDITS} == {guard.__name__ for guard in guards.GUARDS}


INNOCENT = [
    "7/10", "and/or", "https://arxiv.org/abs/2211.17192", "p/q, u/x/y", "x //= 2", "1 / 2", "(a)/(b)", "etc.", "</div>",
    "../data/counts.npz", "work/00_start_here.ipynb", r"$f: X \to Y$ at $X:\Omega$", r"'\d:\w'",
]  # fmt: skip


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_a_path_passes(text):
    notebook = clean()
    notebook.cells[1].source += "\n\n" + text
    assert not guards.absolute_path(notebook, "built.ipynb")


def test_every_line_of_a_cell_counts():
    notebook = clean()
    twelve = "from kit import (\n    a,\n    b,\n)\n\n\n# why\n" + "\n".join(f"x = {i}" for i in range(5))
    notebook.cells[5].source = twelve
    assert not guards.long_cell(notebook, "built.ipynb")
    for line in ("", "# why", "x = 5"):
        notebook.cells[5].source = f"{twelve}\n{line}\nx = 6" if not line else f"{twelve}\n{line}"
        assert guards.long_cell(notebook, "built.ipynb")


def test_a_line_may_be_as_long_as_the_window_and_longer_where_it_is_not_shown():
    notebook = clean()
    output(5, f"{'x' * 76}\n")(notebook)
    picture(notebook).data.update({"text/plain": f"0.7{'x' * 90}"})
    notebook.cells[5].outputs[0].data.update({"text/plain": "x" * 90, "text/html": "<p>x</p>"})
    assert not guards.long_line(notebook, "built.ipynb")


def test_every_line_that_may_be_longer_is_in_a_lesson():
    cells = {(path.name, cell.get("id")) for path in NOTEBOOKS for cell in guards.read(path).cells}
    assert cells >= guards.LONG_LINES


def test_ignored_outputs_are_checked_both_ways():
    notebook = clean()
    table = "# Why\n\n| notebook | cell | why |\n|---|---|---|\n"
    row = "| built.ipynb | `cell-5` | a clock |\n"
    every = {"built.ipynb": notebook}
    assert not guards.unjustified(every, table)
    assert "is not ignored" in guards.unjustified(every, table + row)[0]
    for name in ("nbval-ignore-output", "nbval-skip"):
        tag(5, name)(notebook)
        assert "say why" in guards.unjustified(every, table)[0]
        assert not guards.unjustified(every, table + row)
        assert "no reason" in guards.unjustified(every, table + row.replace("a clock", ""))[0]
    assert guards.ignored(every) == [("built.ipynb", "cell-5")]


def test_reading_mends_nothing(tmp_path):
    notebook = clean()
    notebook.cells[2].pop("id")
    path = tmp_path / "built.ipynb"
    path.write_text(nbformat.v4.writes(notebook), encoding="utf-8")
    assert tripped(guards.read(path)) == {"cell_id"}


def runnable(path, last="1 / 3"):
    """The clean notebook with code that runs, not yet executed."""
    notebook = clean()
    notebook.cells[2].source = (
        "from IPython.display import display\n\n\ndef show(png):\n"
        "    display({'image/png': png, 'text/plain': 'A 1'}, metadata={'image/png': {'alt': 'A bar'}}, raw=True)\n"
        "    display({'text/html': '<details>A bar</details>', 'text/plain': 'A bar'}, raw=True)\n\n\n"
        "print('before', flush=True)\nprint('the picture')\nshow('iVBORw0KGgo=')"
    )
    notebook.cells[5].source += f"\n{last}"
    notebook.metadata.update(widgets={}, kernelspec={"name": "mine", "display_name": "Mine"})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[new_output("stream", text="stale")], execution_count=9)
    path.write_text(nbformat.v4.writes(notebook), encoding="utf-8")


def test_execution_mends_what_it_can_and_is_stable(tmp_path, capsys):
    path = tmp_path / "built.ipynb"
    runnable(path)
    assert execute_notebooks.main([path]) == 0
    executed = path.read_bytes()
    notebook = guards.read(path)
    assert not guards.problems(notebook, path.name)
    stream, picture, words = notebook.cells[2].outputs
    assert stream.text == "before\nthe picture\n" and "image/png" in picture.data and "text/html" in words.data
    assert [cell.id for cell in notebook.cells] == [cell.id for cell in clean().cells]
    assert notebook.metadata.keys() == {"kernelspec", "language_info"}

    assert execute_notebooks.main([path]) == 0
    assert path.read_bytes() == executed
    assert capsys.readouterr().out == "built.ipynb: executed\n" * 2


def test_a_notebook_with_a_failing_cell_keeps_its_file(tmp_path, capsys):
    path = tmp_path / "built.ipynb"
    runnable(path, last="raise ValueError('by design')")
    before = path.read_bytes()
    assert execute_notebooks.main([path]) == 1
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    err = capsys.readouterr().err
    assert "built.ipynb: kept as it was" in err and "by design" in err


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_worked_notebook_is_without_fault(path):
    found = guards.problems(guards.read(path), path.name)
    assert not found, "\n" + "\n".join(found)


def test_every_ignored_output_is_justified():
    every = {path.name: guards.read(path) for path in NOTEBOOKS}
    assert not guards.unjustified(every, guards.IGNORED.read_text(encoding="utf-8"))


def test_the_command_lists_faults_and_counts(tmp_path, capsys):
    path = tmp_path / "built.ipynb"
    notebook = clean()
    path.write_text(nbformat.v4.writes(notebook), encoding="utf-8")
    assert not guards.main([path])
    tag(3)(notebook)
    path.write_text(nbformat.v4.writes(notebook), encoding="utf-8")
    assert guards.main([path])
    fine, fault, count = capsys.readouterr().out.splitlines()
    assert fine == "1 notebooks: 0 problems, 0 ignored outputs."
    assert fault == "built.ipynb, cell 4 (cell-3) fails without the tag raises-exception."
    assert count == "1 notebooks: 1 problems, 0 ignored outputs."
