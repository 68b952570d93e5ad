"""The lessons as a reader meets them: unsolved copies run to the end, predictions stand beside results, links lead."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from specdec_kit.copies import BEGIN

ROOT = Path(__file__).resolve().parent.parent
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
CHECK = re.compile(r"^(?:\w+ = )?selfcheck\.check_\w+\(", flags=re.MULTILINE)


def worked(name):
    return nbformat.read(ROOT / "notebooks" / name, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(*cells):
    """What the cells print and show, as text."""
    outputs = [output for cell in cells for output in cell.outputs]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


# --- a reader's session ----------------------------------------------------------------------------------------------


class Clone:
    """A clone of the course of which nothing is edited, and a reader at work in it."""

    def __init__(self, root):
        self.root, self.work = root, root / "work"
        for folder in ("specdec_kit", "notebooks", "data"):
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", ".ipynb*"))
        shutil.copy(ROOT / ".gitignore", root)
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=reader", "-c", "user.email=reader@example.org", "-c", "commit.gpgsign=false",
                 "commit", "--quiet", "-m", "course")  # fmt: skip

    def git(self, *arguments):
        return subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout.strip()

    @property
    def environment(self):
        return {**os.environ, "PYTHONPATH": str(self.root)}

    def python(self, *arguments, cwd=None):
        subprocess.run([sys.executable, *arguments], cwd=cwd or self.root, env=self.environment, check=True)

    def copies(self, into):
        self.python("-m", "specdec_kit.copies", "--into", str(into))

    def run_all(self, name, folder, solve=False):
        """Run a copy from top to bottom, solved as its lesson is or not at all, and save it, as JupyterLab does."""
        notebook = nbformat.read(folder / name, as_version=4)
        if solve:
            for cell, solved in zip(notebook.cells, worked(name).cells, strict=True):
                cell.source = solved.source
        place = {"metadata": {"path": str(folder)}}
        client = NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True, resources=place)
        client.execute(env=self.environment)
        nbformat.write(notebook, folder / name)
        return notebook


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return Clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def unsolved(clone):
    """Each lesson, run by someone who only presses Run All."""
    clone.copies(clone.work)
    return {name: clone.run_all(name, clone.work) for name in LESSONS}


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    return tmp_path_factory.mktemp("mine")


@pytest.fixture(scope="module")
def solved(clone, mine):
    """Each lesson, run by someone who commits 0.5 as every prediction and solves every exercise."""
    clone.copies(mine)
    names = sorted({name for lesson in LESSONS for name in predicted(worked(lesson))})
    code = "import sys; from specdec_kit.evidence import predict; [predict(name, 0.5) for name in sys.argv[1:]]"
    clone.python("-c", code, *names, cwd=mine)
    return {name: clone.run_all(name, mine, solve=True) for name in LESSONS}


def predicted(notebook):
    """Names that the lesson asks a prediction for."""
    return [name for cell in code_cells(notebook) for name in re.findall(r'\bpredict\("([^"]+)"', cell.source)]


def failures(notebook):
    """Cells that fail or warn."""
    return [
        (cell.id, output.get("evalue") or output.text)
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "error" or output.get("name") == "stderr"
    ]


def unanswered(notebook):
    """Exercises that are still to be written but do not say so."""
    return [
        cell.id
        for cell in code_cells(notebook)
        if "raise NotImplementedError" in cell.source and "is not written yet." not in printed(cell)
    ]


def uncompared(notebook, made="0.5"):
    """Predictions that no result stands beside."""
    lines = printed(*code_cells(notebook)).replace("\n    ", " ").splitlines()  # a long line goes on, indented
    return [
        name
        for name in predicted(notebook)
        if not any(line.startswith(f"{name}: expected ") and f"; you predicted {made}: " in line for line in lines)
        and not any(line.startswith(f"Recorded {name}") and f" predicted {made}, " in line for line in lines)
    ]


@pytest.mark.parametrize("name", LESSONS)
def test_run_all_reaches_the_end_of_an_unsolved_copy(unsolved, name):
    notebook = unsolved[name]
    assert not failures(notebook)
    assert [cell.execution_count for cell in code_cells(notebook)] == list(range(1, len(code_cells(notebook)) + 1))
    assert any("raise NotImplementedError" in cell.source for cell in code_cells(notebook)), "there is something to do"
    assert not unanswered(notebook)
    assert "passed:" not in printed(*code_cells(notebook))
    assert "you predicted" not in printed(*code_cells(notebook))


@pytest.mark.parametrize("name", LESSONS)
def test_every_prediction_stands_beside_its_result(solved, name):
    notebook = solved[name]
    assert not failures(notebook)
    assert predicted(notebook) and not uncompared(notebook)
    assert "not yet:" not in printed(*code_cells(notebook))


def test_what_is_kept_can_be_checked(clone, mine, unsolved, solved):
    head = clone.git("rev-parse", "HEAD")
    for folder, guess in ((clone.work, None), (mine, 0.5)):
        entries = [json.loads(line) for line in (folder / "evidence.jsonl").read_text(encoding="utf-8").splitlines()]
        records = {entry["name"]: entry for entry in entries if entry["kind"] == "record"}
        assert {entry["commit"] for entry in records.values()} == {head}, "a clone without changes"
        assert records["A's in ten draws"]["prediction"] == guess
        assert records["A's in ten draws"]["observed"] == 8 and records["A's in ten draws"]["seed"] == 2026
        assert records["accepted in all"]["expected"] == 0.7


def test_a_session_leaves_the_clone_clean(clone, unsolved, solved):
    clone.copies(clone.work)  # as `make lab` does the next day
    assert clone.git("status", "--porcelain") == ""
    assert {path.name for path in clone.work.iterdir()} == {*LESSONS, ".copies.json", "evidence.jsonl"}
    assert not list((clone.root / "notebooks").glob("evidence*")) and not (clone.root / "evidence.jsonl").exists()


def test_a_session_that_leaves_a_trace_is_found(clone, unsolved, solved):
    stray = clone.root / "notebooks" / "evidence.jsonl"
    stray.touch()
    try:
        assert clone.git("status", "--porcelain") == "?? notebooks/evidence.jsonl"
    finally:
        stray.unlink()


def test_a_bad_session_is_found(unsolved, solved):
    stream = {"output_type": "stream", "name": "stdout"}
    stub = new_code_cell(
        "def f():\n    raise NotImplementedError()", id="stub", outputs=[stream | {"text": "passed: f"}]
    )
    crash = new_code_cell("1 / 0", id="crash", outputs=[new_output("error", ename="E", evalue="by zero", traceback=[])])
    warns = new_code_cell("f()", id="warns", outputs=[stream | {"name": "stderr", "text": "careful"}])
    asks = new_code_cell('predict("x")\nexpect("x", 1, 1)', id="asks", outputs=[stream | {"text": "x: expected 1, …"}])
    bad = new_notebook(cells=nbformat.from_dict([stub, crash, warns, asks]))
    assert unanswered(bad) == ["stub"]
    assert failures(bad) == [("crash", "by zero"), ("warns", "careful")]
    assert uncompared(bad) == ["x"]
    assert any(uncompared(notebook) for notebook in unsolved.values())


# --- the worked lessons ----------------------------------------------------------------------------------------------


def exercise_faults(notebook):
    """Exercises without a solution between markers, and solutions that no stored output says are right."""
    cells, faults = code_cells(notebook), []
    for cell, following in zip(cells, [*cells[1:], new_code_cell()], strict=True):
        if CHECK.search(cell.source) and BEGIN not in cell.source and "def " in cell.source:
            faults.append(f"{cell.id} has no solution markers")
        if BEGIN in cell.source and not re.search(r"^passed: ", printed(cell, following), flags=re.MULTILINE):
            faults.append(f"{cell.id} is followed by no check that passes")
    return faults


@pytest.mark.parametrize("name", LESSONS)
def test_every_exercise_is_solved_and_passes(name):
    assert not exercise_faults(worked(name))
    assert any(BEGIN in cell.source for cell in code_cells(worked(name)))


@pytest.mark.parametrize("name", LESSONS)
@pytest.mark.parametrize("old, new", [("### BEGIN SOLUTION", ""), ("passed: ", "not yet: ")])
def test_an_exercise_that_is_not_is_found(name, old, new):
    text = nbformat.writes(worked(name))
    assert old in text
    assert exercise_faults(nbformat.reads(text.replace(old, new), as_version=4))


# --- links -----------------------------------------------------------------------------------------------------------


def links(notebook):
    """Text and target of every link in the prose."""
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return re.findall(r"\[([^\]]+)\]\(([^)\s]*)\)", prose)


def first_authors(notebooks):
    """arXiv number of each first author, from the lines `- Leviathan, … [arXiv:2211.17192](…)` of the reading lists."""
    prose = "\n".join(cell.source for notebook in notebooks for cell in notebook.cells if cell.cell_type == "markdown")
    return dict(re.findall(r"^- (\w+)[^\[]*\[arXiv:([\d.]+)\]", prose, flags=re.MULTILINE))


def link_faults(notebook, authors, folder=ROOT / "notebooks"):
    faults = []
    for text, target in links(notebook):
        number = re.search(r"arxiv\.org/\w+/(.*)", target)
        if number:
            due = authors.get(text.split()[0], number[1])
            if not re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", target) or number[1] != due:
                faults.append(f"{text}: {target}")
            if text.lower().startswith("arxiv") and text != f"arXiv:{number[1]}":
                faults.append(f"{text}: {target}")
        elif not target.startswith("https://") and not (folder / target.partition("#")[0]).is_file():
            faults.append(f"{text}: {target}")
    return faults


@pytest.fixture(scope="module")
def authors():
    return first_authors(map(worked, LESSONS))


def test_the_two_founding_papers_have_their_numbers(authors):
    assert (authors["Leviathan"], authors["Chen"]) == ("2211.17192", "2302.01318")


@pytest.mark.parametrize("name", LESSONS)
def test_links_lead_where_they_say(name, authors):
    notebook = worked(name)
    assert links(notebook) and not link_faults(notebook, authors)
    prose = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert len(re.findall(r"arXiv:\d", prose)) == sum(text.startswith("arXiv:") for text, _ in links(notebook))


@pytest.mark.parametrize(
    "link",
    ["[arXiv:2211.17192](https://arxiv.org/abs/2302.01318)", "[ArXiv 2211.17192](https://arxiv.org/abs/2211.17192)",
     "[Leviathan et al.](https://arxiv.org/abs/2302.01318)", "[arXiv:2211.17192](http://arxiv.org/abs/2211.17192)",
     "[arXiv:2211.1719](https://arxiv.org/abs/2211.1719)", "[01](01_renamed.ipynb)", "[a page](http://example.org)",
     "[here](/notebooks/00_start_here.ipynb)", "[nothing]()"],
)  # fmt: skip
def test_a_link_that_misleads_is_found(link, authors):
    assert link_faults(new_notebook(cells=[new_markdown_cell(f"See {link}.")]), authors)


def test_links_that_lead_pass(authors):
    fine = (
        "[Leviathan et al.](https://arxiv.org/abs/2211.17192), [arXiv:2302.01318](https://arxiv.org/abs/2302.01318), "
        "[00](00_start_here.ipynb#own), [a page](https://example.org)"
    )
    assert not link_faults(new_notebook(cells=[new_markdown_cell(fine)]), authors)
