"""Everybody can read it: the checks of tests/accessibility.py on what is read, and on faults that are built in."""

import io
import re
from base64 import b64decode
from pathlib import Path

import nbformat
import pytest
from accessibility import CHECKS, alt_text, as_html, colours, contrast, headings, images, links, parsed, tables
from matplotlib.colors import to_hex
from matplotlib.image import imread
from matplotlib.text import Text

from specdec_kit import plots

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TEXTS = [path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"] + [ROOT / "data" / "README.md"]


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def lesson_html(notebook):
    """What a browser gets of a notebook's text."""
    return "\n".join(as_html(cell.source) for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


# --- the lessons and the texts ---------------------------------------------------------------------------------------


def test_the_text_of_a_lesson_can_be_read_by_everybody(notebook):
    page = parsed(lesson_html(notebook))
    assert page.find_all("h2")
    assert not [fault for check in CHECKS for fault in check(page)]


def test_the_outputs_of_a_lesson_can_be_read_by_everybody(notebook):
    pages = [parsed(output.data["text/html"]) for output in outputs(notebook) if "text/html" in output.get("data", {})]
    assert not [fault for page in pages for check in (links, tables, images, colours) for fault in check(page)]
    alts = [
        output.metadata["image/png"]["alt"] for output in outputs(notebook) if "image/png" in output.get("data", {})
    ]
    assert not [fault for alt in alts for fault in alt_text(alt)]


def test_a_picture_brings_its_own_white_ground_so_that_a_dark_page_changes_no_contrast(notebook):
    for output in outputs(notebook):
        if "image/png" in output.get("data", {}):
            picture = imread(io.BytesIO(b64decode(output.data["image/png"])))
            assert picture[0, 0].tolist() == [1, 1, 1, 1] and (picture[..., -1] == 1).all()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_texts_of_the_repository_can_be_read_by_everybody(path):
    page = parsed(as_html(path.read_text(encoding="utf-8")))
    assert not [fault for check in CHECKS for fault in check(page)]


# --- each check finds what it is for ---------------------------------------------------------------------------------

SOUND = """# A lesson

## A part

See [lesson 02, sample with seeds](02.ipynb) and [arXiv:2211.17192](https://arxiv.org/abs/2211.17192).

![Two bars, 0.7 and 0.3.](a.png)

| sign | meaning |
| --- | --- |
| p | target |
"""


@pytest.mark.parametrize(
    ("check", "sound", "faulty", "words"),
    [
        (headings, "## A part", "### A part", "level 3, below one of level 1"),
        (headings, "## A part", "# A part", "second heading of level 1"),
        (headings, "# A lesson", "A lesson", "level 2, below one of level 0"),
        (headings, "## A part", "## ", "empty"),
        (links, "lesson 02, sample with seeds", "here", "does not say where"),
        (links, "lesson 02, sample with seeds", "This page", "does not say where"),
        (links, "lesson 02, sample with seeds", "02", "does not say where"),
        (links, "lesson 02, sample with seeds", "", "does not say where"),
        (links, "arXiv:2211.17192", "https://arxiv.org/abs/2211.17192", "bare address"),
        (links, "lesson 02, sample with seeds", "arXiv:2211.17192", "leads to 2 places"),
        (tables, "| sign | meaning |", "| sign | |", "without header"),
        (images, "Two bars, 0.7 and 0.3.", "", "does not say what is seen"),
        (images, "Two bars, 0.7 and 0.3.", "a.png", "does not say what is seen"),
        (images, "Two bars, 0.7 and 0.3.", "Figure", "does not say what is seen"),
    ],
)
def test_a_fault_in_a_text_is_found(check, sound, faulty, words):
    assert not [fault for every in CHECKS for fault in every(parsed(as_html(SOUND)))]
    assert sound in SOUND
    found = check(parsed(as_html(SOUND.replace(sound, faulty, 1))))
    assert len(found) == 1 and words in found[0]


def test_a_table_of_cells_alone_is_found():
    row = "<tr><td>a</td><td>b</td></tr>"
    assert tables(parsed(f"<table>{row}</table>")) and tables(parsed("<table></table>"))
    assert not tables(parsed(f"<table><tr><th>x</th><th>y</th></tr>{row}</table>"))


def test_coloured_text_without_its_ground_or_too_faint_is_found():
    assert colours(parsed('<b style="color: #000000">a</b>')) and colours(parsed('<b style="background: #fff">a</b>'))
    assert colours(parsed('<b style="color: #777777; background: #ffffff">a</b>')) == [
        "'a' has a contrast of 4.48, under 4.5."
    ]
    assert not colours(parsed('<b style="color: #767676; background: #ffffff">a</b>'))


def test_a_text_without_headings_is_found():
    assert headings(parsed("<p>a</p>")) == ["There is no heading."]


# --- the palette -----------------------------------------------------------------------------------------------------


def test_contrast_is_that_of_wcag():
    # The two greys are the ones on either side of 4.5 on white.
    assert contrast("#000000", "#ffffff") == pytest.approx(21) and contrast("#abcdef", "#abcdef") == 1
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert contrast("#ff0000", "#ffffff") == contrast("#ffffff", "#ff0000") == pytest.approx(4.0, abs=0.005)


P, Q = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
LAWS = {name: P for name in plots.LOOK}
FIGURES = {
    "mass_bars": lambda: plots.mass_bars(P, Q),
    "law_bars": lambda: plots.law_bars({"target": P, "draft": Q, "residual": P, "observed": Q}),
    "law_bars, others": lambda: plots.law_bars({"a": P, "b": Q, "c": P, "d": Q}),
    "frequencies": lambda: plots.frequencies([41, 29, 22, 8], P),
    "curves": lambda: plots.curves([0, 1], {name: [0, 1] for name in "abcd"}, xlabel="x", ylabel="y"),
    "histogram": lambda: plots.histogram({"a": [0.1, 0.9], "b": [0.5]}, xlabel="p-value"),
    "intervals": lambda: plots.intervals(P, P, [[0, 1]] * 4, [[0, 1]] * 4),
}


def faint_marks(canvas):
    """Marks of a figure that neither their colour nor their edge sets off from the ground by 3 to 1."""
    found = []
    for ax in canvas.axes:
        bars = [bar for container in ax.containers for bar in getattr(container, "patches", ())]
        inks = [(bar.get_facecolor(), bar.get_edgecolor()) for bar in bars]
        inks += [(line.get_color(), line.get_markeredgecolor()) for line in ax.lines]
        inks += [tuple(lines.get_colors()) for lines in ax.collections if hasattr(lines, "get_segments")]
        ground = ax.get_facecolor()
        found += [[to_hex(ink) for ink in both] for both in inks if max(contrast(ink, ground) for ink in both) < 3]
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_marks_have_a_contrast_of_3_and_text_of_4_5(name):
    canvas = FIGURES[name]().canvas
    canvas.draw_without_rendering()
    assert not faint_marks(canvas)
    texts = [text for text in canvas.findobj(Text) if text.get_text().strip()]
    assert texts and all(contrast(text.get_color(), canvas.get_facecolor()) >= 4.5 for text in texts)


@pytest.mark.parametrize("name", FIGURES)
def test_a_faint_mark_is_found(name):
    canvas = FIGURES[name]().canvas
    for ax in canvas.axes:
        ax.plot([0, 1], [0, 1], color="#F0E442")
    assert faint_marks(canvas) == [["#f0e442", "#f0e442"]] * len(canvas.axes)


def test_every_colour_of_a_line_has_a_contrast_of_3_on_white():
    assert all(contrast(look["color"], "white") >= 3 for look in plots.LINES)


def test_the_colours_of_the_site_stand_out_on_their_ground():
    css = (ROOT / "specdec_kit" / "site" / "static" / "site.css").read_text(encoding="utf-8")
    assert re.search(r"\.content img \{ background: #fff;", css), "a picture's own ground"
    assert not re.search(r"(?<!-)\bcolor:", css), "text keeps the theme's colours, which are tried by axe"
