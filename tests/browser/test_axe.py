"""Everybody can use it, as far as axe and a keyboard can tell: the site, the explorers, what a teacher hands back."""

import json
import re

import numpy as np
import pytest
from test_explorers_lab import EXPLORERS, Shown

from specdec_kit.copies import ROOT
from specdec_kit.coursework import grade, release
from specdec_kit.investigation import Investigation
from specdec_kit.mysteries import CLASSES
from specdec_kit.site.build import build

pytestmark = pytest.mark.browser
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing: make test-browser")

PAGES = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))] + ["gallery", "index", "search"]
NOT_OURS = "image-alt", "label-title-only"
"""In JupyterLab: it shows no alt text that an output brings, and ipywidgets ties no label to the box below it."""
OPEN = "for (const fold of document.querySelectorAll('details')) fold.open = true"
THEMES = "@jupyterlab/apputils-extension:themes"


def faults(page, within=None, without=()):
    """What axe finds on a page, or within the elements of a selector, by the rules of WCAG and its own."""
    rules = {"td-has-header": {"enabled": True}} | {name: {"enabled": False} for name in without}
    found = axe.Axe().run(page, within, {"resultTypes": ["violations"], "rules": rules}).response["violations"]
    return [
        f"{page.url.rpartition('/')[2]}: {rule['id']}, {rule['help']}: {' '.join(map(str, node['target']))}"
        for rule in found
        for node in rule["nodes"]
    ]


def in_dark(page):
    return page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")


@pytest.fixture
def page(chromium, request):
    """A page in the colours that are asked for."""
    context = chromium.new_context(color_scheme=getattr(request, "param", "light"))
    yield context.new_page()
    context.close()


both = pytest.mark.parametrize("page", ["light", "dark"], indirect=True)


# ---- axe finds what it is for ----

SOUND = """<!doctype html><html lang="en"><head><title>A page</title></head><body><main><h1>A page</h1>
<img src="data:," alt="Two bars"><p style="color: #555; background: #fff">Words</p><a href="b.html">The next page</a>
<table><tr><th>a</th><th>b</th><th>c</th><th>d</th></tr>"""
SOUND += "<tr><td>1</td><td>2</td><td>3</td><td>4</td></tr>" * 4 + "</table></main></body></html>"


@pytest.mark.parametrize(
    ("sound", "faulty", "rule"),
    [
        (' alt="Two bars"', "", "image-alt"),
        ("#555", "#999", "color-contrast"),
        ("th>", "td>", "td-has-header"),
        ("The next page", "", "link-name"),
        (' lang="en"', "", "html-has-lang"),
        ("h1>", "h3>", "page-has-heading-one"),
    ],
)
def test_a_fault_is_found_and_named(page, tmp_path, sound, faulty, rule):
    for name, text in (("sound.html", SOUND), ("faulty.html", SOUND.replace(sound, faulty))):
        (tmp_path / name).write_text(text, encoding="utf-8")
    page.goto((tmp_path / "sound.html").as_uri())
    assert faults(page) == []
    page.goto((tmp_path / "faulty.html").as_uri())
    assert any(re.match(rf"faulty\.html: {rule}, .+: \w+", fault) for fault in faults(page))


# ---- the site ----


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "site"
    build(ROOT, folder)
    assert {path.stem for path in folder.glob("*.html")} == set(PAGES)
    return folder


@both
@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_site_has_no_fault_with_all_of_it_unfolded(page, site, name):
    page.goto((site / f"{name}.html").as_uri())
    page.evaluate(OPEN)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground != "rgb(255, 255, 255)") == in_dark(page)
    assert faults(page) == []


# Where the focus is, and whether a reader sees it there: at least a corner of it, with a line around it.
FOCUS = """() => {
    const now = document.activeElement;
    if (now === document.body) return null;
    const box = now.getClientRects()[0], look = getComputedStyle(now);
    const seen = [[3, 3], [box.width / 2, box.height / 2], [box.width - 3, box.height - 3]].some(
        ([x, y]) => now.contains(document.elementFromPoint(box.x + x, box.y + y)));
    const line = look.outlineStyle !== "none" && parseFloat(look.outlineWidth) > 0;
    const name = now.innerText || now.ariaLabel || now.tagName;
    return {name: name.trim().replace(/\\s+/g, " "), fault: !seen ? "out of sight" : !line ? "no line" : ""};
}"""
STILL = "*, *::before { scroll-behavior: auto !important; transition: none !important }"


def walk(page):
    """Names of what Tab comes to, from the top of the page to its end, each with what is wrong with it."""
    page.add_style_tag(content=STILL)
    stops = []
    while len(stops) < 300:
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop is None:
            return stops
        stops.append((stop["name"], stop["fault"]))
    raise AssertionError(f"Tab does not come to an end: {stops[-3:]}")


@pytest.mark.parametrize("width", [1600, 1280, 800, 400])
def test_what_tab_comes_to_is_seen_and_has_a_line_around_it(page, site, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((site / f"{PAGES[1]}.html").as_uri())
    stops = walk(page)
    assert [stop for stop in stops if stop[1]] == []
    names = [name for name, _ in stops]
    assert names[0] == "Skip to content" and "Search" in names and "Solution" in names
    assert any(name.startswith("Next ") for name in names) and any(name.startswith("Previous ") for name in names)


@pytest.mark.parametrize(
    ("style", "fault"), [("a { outline: none !important }", "no line"), (".toc-drawer { right: -20em !important }",
                         "out of sight")],
)  # fmt: skip
def test_a_focus_that_is_not_seen_is_found(page, site, style, fault):
    page.goto((site / f"{PAGES[1]}.html").as_uri())
    page.add_style_tag(content=style)
    assert {found for _, found in walk(page)} == {"", fault}


def reach(page, name):
    """Press Tab until what is so called has the focus."""
    for _ in range(300):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop and stop["name"].startswith(name):
            return
    raise AssertionError(f"Tab does not come to {name!r}")


def test_a_lesson_is_read_by_keyboard(page, site):
    page.goto((site / f"{PAGES[1]}.html").as_uri())
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the content
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('article') !== null")
    reach(page, "Solution")
    for opened in (True, False):
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.parentElement.open") == opened
    reach(page, "Next ")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{PAGES[2]}.html")
    reach(page, "Previous ")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{PAGES[1]}.html")
    reach(page, "Search")
    page.keyboard.insert_text("residual")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?*")
    page.locator("#search-results li a").first.wait_for()
    assert faults(page) == []
    reach(page, page.locator("#search-results li a").first.inner_text())


# ---- what is handed in, and what comes back ----


def test_a_report_of_an_investigation_has_no_fault(page, tmp_path):
    case = Investigation(4000)
    case.report().export(tmp_path / "nothing yet.html")
    for name in case.names:
        case.predict(name, dict.fromkeys(CLASSES, 0.25))
        case.draw(name, 500, seed=1, length=2)
        case.conclude(name, {"joint": 0.5, "exact": 0.5}, because="It looks so.")
        case.reveal(name)
    found = case.draw("Birch", 1000, seed=2, length=2)
    case.show_counterexample(found, found.report().tokens[int(np.argmin(found.report().pvalues))])
    case.try_transfer("tokens a round", "tokens", {"gamma": 2}, 2)
    case.report(faults).export(tmp_path / "whole.html")
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        for path in tmp_path.glob("*.html"):
            page.goto(path.as_uri())
            page.evaluate(OPEN)
            assert faults(page) == []


def test_feedback_has_no_fault(page, tmp_path):
    pytest.importorskip("nbgrader")
    course, lesson = tmp_path / "course", PAGES[7]
    release.release(course, ROOT / "notebooks", b"the wheel")
    for student, folder in (("anna", ROOT / "notebooks"), ("ben", course / "release" / lesson)):
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / f"{lesson}.ipynb").write_bytes((folder / f"{lesson}.ipynb").read_bytes())
    grade.main([str(tmp_path / "in"), "--course", str(course), "--jobs", "2"])
    for student in ("anna", "ben"):
        page.goto((course / "feedback" / student / lesson / f"{lesson}.html").as_uri())
        assert faults(page) == []


# ---- in JupyterLab, whose own faults are not looked at ----


@pytest.fixture(params=["Light", "Dark"])
def look(reader, request):
    """Look at an output in a theme."""
    setting = f"/lab/api/settings/{THEMES}"
    reader.lab.ask(setting, "PUT", {"raw": json.dumps({"theme": f"JupyterLab {request.param}"})})

    def faults_of(output):
        assert reader.page.locator(f"body[data-jp-theme-light={str(request.param == 'Light').lower()}]").count()
        output.evaluate("node => { for (const old of document.querySelectorAll('.at')) old.classList.remove('at');"
                        " node.classList.add('at') }")  # fmt: skip
        return faults(reader.page, ".at", NOT_OURS)

    yield faults_of
    reader.lab.ask(setting, "PUT", {"raw": "{}"})


@pytest.mark.parametrize("name", EXPLORERS)
def test_an_explorer_has_no_fault(reader, look, name):
    assert look(Shown(reader, EXPLORERS[name]).output) == []


def test_a_prediction_box_and_what_compares_with_it_have_no_fault(reader, look):
    reader.open("00_start_here.ipynb")
    reader.run_all()
    shown = [reader.output(name) for name, cell in reader.cells().items() if cell["cell_type"] == "code"]
    assert reader.page.get_by_role("button", name="Commit").count()
    assert [fault for output in shown if output.is_visible() for fault in look(output)] == []
