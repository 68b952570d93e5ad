"""The site: nothing of a lesson is lost, solutions wait, every link leads somewhere, and no page needs a network."""

import hashlib
import itertools
import json
import re
import shutil
import subprocess
import sys
import tomllib
from base64 import b64encode
from pathlib import Path
from urllib.parse import unquote, urldefrag

import nbformat
import pytest
from accessibility import colours, headings, images, links, parsed, said, tables
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from specdec_kit import plots
from specdec_kit.site import __main__ as command
from specdec_kit.site.build import build, write_pages
from specdec_kit.site.front import front
from specdec_kit.site.gallery import gallery
from specdec_kit.site.lite import build_lite
from specdec_kit.site.pages import page, pictures
from specdec_kit.site.pyodide import CORE, LOCK, SOURCE, Pyodide

ROOT = Path(__file__).resolve().parent.parent
LESSONS = {path.stem: nbformat.read(path, 4) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")

OPENING = "# Take care\n\n**What you'll do.** Read\none | two.\n\n**Time.** 5 minutes."
EXERCISE = 'def f():\n    """Return 2."""\n    ### BEGIN SOLUTION\n    return 1 + 1\n    ### END SOLUTION\n\n\ncheck(f)'


def figure(alt="Two bars, 0.7 and 0.3.", numbers="A: 0.7\nB: 0.3"):
    data = {"image/png": b64encode(b"\x89PNG").decode(), "text/plain": numbers}
    return new_output("display_data", data, metadata={"image/png": {"alt": alt}})


def notebook(*cells):
    """A small lesson with the cells given; their ids are a, b, c, …"""
    made = new_notebook(cells=[new_markdown_cell(OPENING), *cells])
    for cell, name in zip(made.cells, "abcdefgh", strict=False):
        cell.id = name
    return made


# --- a page ----------------------------------------------------------------------------------------------------------


def test_an_exercise_shows_its_gap_and_folds_solution_and_output():
    cell = new_code_cell(EXERCISE, outputs=[new_output("stream", text="passed: f is right.\n")])
    gap, solution = page(notebook(cell), "00").split("<details")
    assert '"""Return 2."""' in gap and "# YOUR CODE HERE" in gap and "check(f)" in gap
    assert "1 + 1" not in gap and "passed" not in gap and "SOLUTION" not in gap + solution
    assert "<summary>Solution</summary>" in solution and "    return 1 + 1\n\n\ncheck(f)" in solution
    assert "passed: f is right." in solution.partition("</details>")[0]


def test_a_solution_in_words_is_folded():
    cell = new_markdown_cell("Because of B.", metadata={"tags": ["solution"]})
    gap, solution = page(notebook(cell), "00").split("<details")
    assert "*Your answer here.*" in gap and "Because" not in gap and "Because of B." in solution


def test_a_picture_keeps_its_alt_text_and_its_numbers():
    text = page(notebook(new_code_cell("show()", outputs=[figure("Two bars,\n0.7 and 0.3.")])), "00")
    assert '```{image} figures/00-b-0.png\n:name: 00-b-0\n:alt: "Two bars, 0.7 and 0.3."\n```' in text
    assert "A: 0.7\nB: 0.3" in text.split("<summary>Figure 00.1 in numbers</summary>")[1]


def test_a_picture_without_alt_text_is_refused():
    with pytest.raises(ValueError, match=r"00, cell b: a picture has no alt text; show it by plots\.show"):
        page(notebook(new_code_cell("show()", outputs=[figure(" ")])), "00")


def test_a_picture_knows_the_heading_that_it_stands_under():
    cells = [new_markdown_cell("## One\n\n```\n# no heading\n```"), new_code_cell("show()", outputs=[figure()])]
    assert [p.heading for p in pictures(notebook(*cells), "00")] == ["One"]
    assert [p.heading for p in pictures(notebook(cells[1]), "00")] == ["Take care"]


def test_every_kind_of_output_is_kept():
    widget = {"text/plain": "Sliders: p(A) = 0.70.", "application/vnd.jupyter.widget-view+json": {"model_id": "x"}}
    outputs = [
        new_output("stream", text="one line\n"),
        new_output("stream", text="two\nlines\n"),
        new_output("display_data", widget),
        new_output("execute_result", {"text/html": "<table></table>", "text/plain": "not this"}),
        new_output("error", ename="E", evalue="why", traceback=["E: why"]),
    ]
    text = page(notebook(new_code_cell("f()", outputs=outputs)), "00")
    assert ":class: output line\none line\n" in text and ":class: output\ntwo\nlines\n" in text
    assert "Sliders: p(A) = 0.70." in text and "E: why" in text and "model_id" not in text
    assert '```{raw} html\n<div class="output"><table></table></div>' in text and "not this" not in text


def test_the_words_of_a_figure_stand_below_it_once():
    words = {"text/html": plots.in_words("Bars.", "A 0.5"), "text/plain": "Bars."}
    cell = new_code_cell("show(f)", outputs=[figure(), new_output("display_data", words)])
    assert page(notebook(cell), "00") == page(notebook(new_code_cell("show(f)", outputs=[figure()])), "00")


def test_a_fence_is_longer_than_any_in_its_text():
    text = page(notebook(new_code_cell("print('````')")), "00")
    assert "`````python\nprint('````')\n`````" in text


def test_links_between_notebooks_become_links_between_pages():
    text = page(notebook(new_markdown_cell("[one](01_a.ipynb) [two](02_b.ipynb#c) [far](https://a.org/x.ipynb)")), "00")
    assert "[one](01_a.md) [two](02_b.md#c) [far](https://a.org/x.ipynb)" in text


def test_a_page_leaves_its_notebook_as_it_was():
    before = notebook(new_code_cell(EXERCISE, outputs=[figure()]))
    after = nbformat.from_dict(before)
    page(after, "00")
    assert after == before


# --- front page and gallery ------------------------------------------------------------------------------------------


def test_the_front_page_reads_the_lessons_from_their_opening_cells():
    text = front(README, {"00_care": notebook()})
    assert r"| [00 Take care](00_care.md) | Read one \| two. | 5 |" in text
    assert text.startswith("# specdec-kit\n\n**Prove, measure and break") and "make lab" in text
    assert "](figures/mass_bars.png)" in text and ".github" not in text


def test_a_lesson_without_its_time_is_refused():
    lesson = notebook()
    lesson.cells[0].source = "# Take care\n\n**What you'll do.** Read."
    with pytest.raises(ValueError, match=r"'Take care' does not say \*\*Time\.\*\* in its first cell"):
        front(README, {"00_care": lesson})


def test_the_gallery_has_every_figure_with_its_place_and_numbers():
    text = gallery(LESSONS)
    every = [picture for lesson, notebook in LESSONS.items() for picture in pictures(notebook, lesson)]
    assert len(every) > 15
    for picture in every:
        assert f"](#{picture.label})" in text and picture.path in text and picture.numbers in text


# --- the site --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of this clone, as the command builds it."""
    into = tmp_path_factory.mktemp("site") / "site"
    run = [sys.executable, "-m", "specdec_kit.site", "--into", str(into)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"The site is in {into}: open {into / 'index.html'} in a browser.\n"
    return into


@pytest.fixture(scope="module")
def pages(site):
    return {path.name: parsed(path.read_text(encoding="utf-8")) for path in site.glob("*.html")}


def body(soup):
    """The page without the theme's menus."""
    return soup.find("article")


def test_every_lesson_has_a_page_with_its_headings_pictures_and_solutions(pages):
    for lesson, notebook in LESSONS.items():
        main = body(pages[f"{lesson}.html"])
        assert main.h1.find(string=True) == notebook.cells[0].source.splitlines()[0][2:]
        found = [(image["alt"], Path(image["src"]).name) for image in main.find_all("img")]
        due = [(" ".join(p.alt.split()), Path(p.path).name) for p in pictures(notebook, lesson)]
        assert found == due
        solutions = main.find_all("details", class_="solution")
        assert len(solutions) == sum("BEGIN SOLUTION" in cell.source for cell in notebook.cells)
        assert not any(solution.has_attr("open") for solution in solutions)
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                text = output.get("text", "").strip()
                assert text in main.get_text(), f"{lesson}, {cell.id}"


def missing(site, pages):
    """Links and pictures that lead to no file, or to no place in it."""
    found = []
    for name, soup in pages.items():
        for element in soup.find_all(["a", "img", "script", "link"]):
            to, place = urldefrag(unquote(element.get("href") or element.get("src") or ""))
            to = to.partition("?")[0]
            if re.match(r"https?:", to):
                continue
            if not (site / (to or name)).exists():
                found.append(f"{name}: {to}")
            elif place and (target := pages.get(to or name)) and not target.find(id=place):
                found.append(f"{name}: {to}#{place}")
    return found


def test_every_link_leads_somewhere(site, pages):
    assert not missing(site, pages)
    broken = {
        "index.html": parsed('<a href="nowhere.html">a</a><a href="index.html#no">b</a><a href="index.html">c</a>')
    }
    assert missing(site, broken) == ["index.html: nowhere.html", "index.html: index.html#no"]


def test_lessons_follow_one_another(pages):
    order = ["index", *LESSONS, "gallery"]
    for here, after in itertools.pairwise(order):
        assert pages[f"{here}.html"].find("a", class_="next-page")["href"] == f"{after}.html"
        back = pages[f"{after}.html"].find("a", class_="prev-page")["href"]
        assert back == f"{here}.html" or (back == "#" and here == "index")


def fetched(html):
    """What a browser would fetch from a network to show the page."""
    tags = [str(tag) for tag in parsed(html).find_all(["script", "link", "img", "iframe", "source", "video", "object"])]
    return [tag for tag in tags if re.search(r"""(src|href|data)=["'](https?:)?//""", tag)]


def test_no_page_fetches_anything_from_a_network(site):
    for path in site.rglob("*.html"):
        assert not fetched(path.read_text(encoding="utf-8")), path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"""(url\(|@import )["']?(https?:)?//""", path.read_text(encoding="utf-8")), path.name
    assert fetched('<script src="https://a.org/b.js"></script>') and fetched('<link href="//a.org/b.css">')


def test_search_knows_the_words_of_the_lessons(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")  # a script, which a page from a plain folder may load; no file to fetch
    assert all(f'"{word}"' in index for word in ("residu", "overlap", "audit"))  # by their stems


def test_the_pages_can_be_read_by_everybody(pages):
    for name, soup in pages.items():
        if name == "search.html":
            assert said(body(soup).h1) == "Search"
            continue
        main = parsed(str(body(soup)))
        for permalink in main.find_all("a", class_="headerlink"):  # the theme's own, after each heading
            permalink.decompose()
        checks = (headings, tables, images, colours)  # links of lessons: tests/test_accessibility.py, at their source
        assert not [fault for check in checks for fault in check(main)], name
        assert not (name in ("index.html", "gallery.html") and links(main))


def test_the_site_names_no_folder_of_this_machine(site):
    for path in (path for path in site.rglob("*") if path.suffix in (".html", ".js", ".css", ".txt")):
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text and str(site.parent) not in text, path.name


def test_built_again_it_is_the_same_to_the_byte(site, tmp_path):
    build(ROOT, tmp_path / "again")
    one, two = (
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in (site, tmp_path / "again")
    )
    assert one.keys() == two.keys() and not [name for name in one if one[name] != two[name]]
    build(ROOT, tmp_path / "again")  # and a site may be replaced


ODD = """Bars: "a" is 0.7 # of 'b' & `c` < d \\\\ *e* {f}."""


def small_site(folder, *cells):
    """A site of one lesson."""
    (folder / "notebooks").mkdir()
    nbformat.write(notebook(*cells), folder / "notebooks" / "00_care.ipynb")
    (folder / "README.md").write_text(README, encoding="utf-8")
    shutil.copytree(ROOT / ".github", folder / ".github")
    build(folder, folder / "site")
    return parsed((folder / "site" / "00_care.html").read_text(encoding="utf-8"))


def test_odd_signs_in_alt_texts_and_outputs_survive(tmp_path):
    outputs = [figure(alt=ODD), figure(alt="# a: 'b"), figure(alt='"a" is b'), new_output("stream", text=ODD)]
    main = body(small_site(tmp_path, new_code_cell("show()", outputs=outputs)))
    assert [image["alt"] for image in main.find_all("img")] == [ODD, "# a: 'b", '"a" is b']
    assert main.find("div", class_="line").get_text().strip() == ODD
    captions = parsed((tmp_path / "site" / "gallery.html").read_text(encoding="utf-8")).find("article").get_text()
    assert ODD[:-1] in captions and "# a: 'b" in captions


# --- what is refused -------------------------------------------------------------------------------------------------


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="holds something else, which a site would replace: name a new folder"):
        build(ROOT, tmp_path)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path, capfd):
    with pytest.raises(RuntimeError, match="the site was not built"):
        small_site(tmp_path, new_markdown_cell("[gone](03_gone.ipynb)"))
    assert "03_gone.md" in capfd.readouterr().err and not (tmp_path / "site").exists()


@pytest.mark.parametrize("package", ["sphinx.cmd.build", "myst_parser", "furo"])
def test_a_missing_package_is_said_with_the_extra_that_brings_it(package, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(sys, "argv", ["site", "--into", str(tmp_path / "site")])
    with pytest.raises(SystemExit) as stopped:
        command.main()
    name = package.partition(".")[0]
    assert str(stopped.value) == (
        f'No site was built: {name} is not installed: `pip install "specdec-kit[site]"` brings it.'
    )


def test_without_the_lessons_it_says_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["site"])
    with pytest.raises(SystemExit, match="they come with a clone of the repository"):
        command.main()


def test_the_pages_are_written_without_sphinx(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sphinx", None)
    write_pages(ROOT, tmp_path / "source")
    assert {path.stem for path in (tmp_path / "source").glob("*.md")} == {"index", "gallery", *LESSONS}


# --- lessons that run in the browser ---------------------------------------------------------------------------------


def test_pages_lead_to_the_running_lessons_only_where_there_are_any():
    link = '<a href="run/lab/index.html?path=00_care.ipynb">'
    assert f'# Take care\n\n<p class="run">{link}Run this lesson in your browser</a></p>\n' in page(
        notebook(), "00_care", runs=True
    )
    assert link in front(README, {"00_care": notebook()}, runs=True)
    assert link not in page(notebook(), "00_care") + front(README, {"00_care": notebook()})


@pytest.fixture
def source(tmp_path):
    """A folder such as Pyodide's, with a package b that needs a."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name in CORE:
        (folder / name).write_text(name, encoding="utf-8")
    packages = {}
    for name, depends in (("a", []), ("b", ["A"]), ("c", [])):
        (folder / f"{name}.whl").write_bytes(name.encode())
        checksum = hashlib.sha256(name.encode()).hexdigest()
        packages[name] = {"file_name": f"{name}.whl", "sha256": checksum, "depends": depends}
    (folder / LOCK).write_text(json.dumps({"info": {"python": "3.12.7"}, "packages": packages}), encoding="utf-8")
    return folder


def test_only_what_is_needed_of_pyodide_is_taken(source, tmp_path):
    pyodide = Pyodide(tmp_path / "made", str(source))
    pyodide._need("b", "b")
    assert pyodide.lock["packages"].keys() == {"a", "b"}
    assert {path.name for path in (tmp_path / "made").iterdir()} == {*CORE, LOCK, "a.whl", "b.whl"}


def test_a_package_that_is_not_the_one_of_the_lock_file_is_refused(source, tmp_path):
    (source / "a.whl").write_bytes(b"something else")
    with pytest.raises(RuntimeError, match=rf"^a\.whl from .* is not the file that {LOCK} names$"):
        Pyodide(tmp_path / "made", str(source))._need("b", "b")


@pytest.mark.parametrize("where", ["", "http://127.0.0.1:9/"])
def test_what_cannot_be_had_is_named(source, tmp_path, where):
    (source / CORE[-1]).unlink()
    name = CORE[0] if where else CORE[-1]
    with pytest.raises(RuntimeError, match=rf"^{name} cannot be had from {where or re.escape(str(source))} \("):
        Pyodide(tmp_path / "made", where or str(source))


def test_a_browser_needs_what_the_lessons_need_but_for_its_page(source, tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    needs = dict(Pyodide(tmp_path / "made", str(source))._requirements(lines, ""))
    assert needs.keys() == {"anywidget", "ipywidgets", "matplotlib", "numpy", "scipy", "tqdm"}
    lines = ["widgetsnbextension~=4.0", "Typing_Extensions>4; python_version < '3.13'", "colorama; os_name == 'nt'"]
    assert dict(Pyodide(tmp_path / "other", str(source))._requirements(lines, "")) == {
        "typing-extensions": "Typing_Extensions>4"
    }


def test_the_command_builds_lessons_that_run_beside_the_others(monkeypatch, tmp_path):
    built = []
    monkeypatch.setattr(command, "build", lambda root, into, pyodide: built.append((into.name, pyodide)))
    for arguments in ([], ["--lite"], ["--lite", "there"]):
        monkeypatch.setattr(sys, "argv", ["site", *arguments])
        command.main()
    assert built == [("site", None), ("lite", SOURCE), ("lite", "there")]


@pytest.mark.parametrize("package", ["jupyterlite_core", "jupyterlite_pyodide_kernel"])
def test_without_jupyterlite_the_extra_is_named(package, monkeypatch, tmp_path):
    for name in ("anywidget", "hatchling", "jupyterlite_core", "jupyterlite_pyodide_kernel"):
        monkeypatch.setitem(sys.modules, name, None if name == package else object())
    with pytest.raises(ModuleNotFoundError, match=rf'{package} is not installed: `pip install "specdec-kit\[lite\]"`'):
        build_lite(ROOT, tmp_path / "lite")
