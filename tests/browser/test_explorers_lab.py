"""The explorers as a reader moves them: in JupyterLab, by keyboard, mouse and touch; what a screen reader is told."""

import base64
import io
import statistics
from collections.abc import Callable
from fractions import Fraction as F
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from specdec_kit import controls, explorers, plots
from specdec_kit.models import Chain
from specdec_kit.recordings import recording

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser")
expect = playwright.expect


def mass(*masses):
    return explorers.mass_figure(*np.reshape(masses, (2, -1)))


def steps(seed):
    target = Chain([(F(2, 10), F(8, 10)), (F(6, 10), F(4, 10))], (F(7, 10), F(3, 10)))
    draft = Chain([(F(5, 10), F(5, 10)), (F(9, 10), F(1, 10))], (F(4, 10), F(6, 10)))
    return explorers.round_steps(target, draft, (), 2, np.random.default_rng(seed))


def round_(step, seed):
    return plots.strips(steps(seed), step, 5)


def power(draws, alpha, bias):
    return explorers.power_figure(draws, alpha, bias, 0.5)


def speedup(alpha, gamma, c, batch):
    curve = recording("amd-epyc-2-cores").curve("pass", batch=batch)
    return explorers.speedup_figure(alpha, gamma, c, batch, curve)


class Explorer(NamedTuple):
    """An explorer of a lesson, and what its figure is due to be."""

    lesson: str
    cells: tuple[str, ...]
    """Those to run; the last one shows it."""
    figure: Callable[..., plots.Figure]
    written: dict[str, str]
    """Each slider's name, and how its choices are written."""
    start: tuple
    moves: tuple[tuple[str, str, tuple], ...]
    """Slider, key, and where the sliders then stand, one after the other."""
    buttons: tuple[str, ...] = ()
    source: str = ""
    """What is written into the last cell, if it is another one than the lesson's."""


EXPLORERS = {
    "mass": Explorer(
        "01_two_token_derivation.ipynb",
        ("imports", "laws", "explorer"),
        mass,
        dict.fromkeys(("p(A)", "p(B)", "q(A)", "q(B)"), "{:.3g}"),
        (0.7, 0.3, 0.4, 0.6),
        (
            ("p(A)", "ArrowRight", (0.75, 0.25, 0.4, 0.6)),
            ("p(B)", "PageUp", (0.5, 0.5, 0.4, 0.6)),
            ("q(A)", "ArrowDown", (0.5, 0.5, 0.35, 0.65)),
            ("q(B)", "End", (0.5, 0.5, 0, 1)),
            ("p(B)", "Home", (1, 0, 0, 1)),
        ),
        ("q = p", "Reset"),
    ),
    "power": Explorer(
        "03_report_uncertainty.ipynb",
        ("imports", "power-explore"),
        power,
        {"N": "{:,}", "α": "{:g}", "bias": "{:.3g}"},
        (1000, 1e-6, 0.05),
        (
            ("N", "ArrowRight", (3000, 1e-6, 0.05)),
            ("α", "ArrowRight", (3000, 1e-4, 0.05)),
            ("bias", "ArrowLeft", (3000, 1e-4, 0.045)),
            ("bias", "End", (3000, 1e-4, 0.3)),
            ("N", "Home", (30, 1e-4, 0.3)),
        ),
    ),
    "round": Explorer(
        "05_draft_blocks.ipynb",
        ("imports", "imports-more", "hand", "round"),
        round_,
        {"step": "{}", "seed": "{}"},
        (5, 1),
        (
            ("step", "ArrowLeft", (4, 1)),
            ("step", "Home", (1, 1)),
            ("seed", "ArrowRight", (1, 2)),
            ("step", "End", (len(steps(2)), 2)),
            ("seed", "Home", (len(steps(0)), 0)),  # at the end of a round, however long
        ),
        ("Play",),
    ),
    "speed-up": Explorer(
        "06_time_on_gpu.ipynb",
        ("imports", "explore"),
        speedup,
        {"α": "{:.2f}", "γ": "{}", "c": "{:g}", "batch": "{}"},
        (0.6, 4, 0.0, 1),
        (
            ("α", "ArrowUp", (0.65, 4, 0.0, 1)),
            ("γ", "ArrowLeft", (0.65, 3, 0.0, 1)),
            ("c", "ArrowRight", (0.65, 3, 0.01, 1)),
            ("batch", "ArrowRight", (0.65, 3, 0.01, 2)),
            ("γ", "Home", (0.65, 0, 0.01, 2)),
        ),
    ),
    "three tokens": Explorer(
        "01_two_token_derivation.ipynb",
        ("imports", "explorer"),
        mass,
        dict.fromkeys(("p(A)", "p(B)", "p(C)", "q(A)", "q(B)", "q(C)"), "{:.3g}"),
        (0.5, 0.3, 0.2, 0.2, 0.3, 0.5),
        (
            ("p(A)", "PageUp", (0.75, 0.15, 0.1, 0.2, 0.3, 0.5)),
            ("p(A)", "End", (1, 0, 0, 0.2, 0.3, 0.5)),
            ("p(A)", "ArrowDown", (0.95, 0.025, 0.025, 0.2, 0.3, 0.5)),  # the others share it equally
            ("p(A)", "Home", (0, 0.5, 0.5, 0.2, 0.3, 0.5)),
            ("p(B)", "PageDown", (0, 0.25, 0.75, 0.2, 0.3, 0.5)),
            ("p(C)", "ArrowLeft", (0, 0.3, 0.7, 0.2, 0.3, 0.5)),
            ("q(C)", "ArrowDown", (0, 0.3, 0.7, 0.22, 0.33, 0.45)),
            ("q(A)", "ArrowUp", (0, 0.3, 0.7, 0.25, 0.75 * 33 / 78, 0.75 * 45 / 78)),
            ("q(B)", "End", (0, 0.3, 0.7, 0, 1, 0)),
        ),
        ("q = p", "Reset"),
        "mass_explorer([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])",
    ),
}


def saved(cell):
    """The picture's output of a saved cell."""
    [output] = [output for output in cell["outputs"] if "image/png" in output.get("data", {})]
    return output


class Shown:
    """An explorer in the lesson that a reader has opened."""

    def __init__(self, reader, explorer):
        self.reader, self.it = reader, explorer
        reader.open(explorer.lesson)
        if explorer.source:
            reader.write_cell(explorer.cells[-1], explorer.source)
        for which in explorer.cells:
            reader.run_cell(which)
        self.output = reader.output(explorer.cells[-1])

    def slider(self, name):
        return self.output.get_by_role("slider", name=name, exact=True)

    def button(self, name):
        return self.output.get_by_role("button", name=name, exact=True)

    def press(self, name, key):
        self.slider(name).focus()
        self.reader.page.keyboard.press(key)

    def reads(self, *choices):
        """The sliders stand there."""
        texts = [how.format(choice) for how, choice in zip(self.it.written.values(), choices, strict=True)]
        expect(self.output.locator(".widget-readout")).to_have_text(texts)
        for name, text in zip(self.it.written, texts, strict=True):
            expect(self.slider(name)).to_have_attribute("aria-valuetext", text)

    def shows(self, *choices):
        """The sliders stand there, and the picture and the line that is read out are theirs."""
        self.reads(*choices)
        due = self.it.figure(*choices)
        expect(self.output.get_by_role("status")).to_have_text(due.numbers.splitlines()[-1])
        png = base64.b64encode(due.png()).decode()
        expect(self.output.locator("img")).to_have_attribute("src", f"data:image/png;base64,{png}")

    def open_without_a_kernel(self):
        """Open what was saved, with a kernel that knows nothing of it, and end that one too."""
        self.reader.lab.end_kernels()
        self.reader.open(self.it.lesson)
        expect(self.output.get_by_role("slider")).to_have_count(len(self.it.written))
        self.reader.lab.end_kernels()

    def keeps(self, *choices):
        """What is saved says it in words."""
        due, kept = self.it.figure(*choices), saved(self.reader.save()[self.it.cells[-1]])
        assert "".join(kept["data"]["text/plain"]) == due.numbers
        assert kept["metadata"]["image/png"]["alt"] == due.alt


@pytest.fixture
def shown(reader, request):
    return Shown(reader, EXPLORERS[request.param])


every = pytest.mark.parametrize("shown", EXPLORERS, indirect=True)
bars = pytest.mark.parametrize("shown", ["three tokens"], indirect=True)
a_round = pytest.mark.parametrize("shown", ["round"], indirect=True)


@every
def test_each_control_has_a_name_and_moves_picture_and_words_by_keyboard(shown):
    names, buttons = list(shown.it.written), shown.it.buttons
    expect(shown.output.get_by_role("slider")).to_have_count(len(names))
    expect(shown.output.locator(".specdec-controls").get_by_role("button")).to_have_text(list(buttons))
    shown.slider(names[0]).focus()
    for control in (*map(shown.slider, names), *map(shown.button, buttons)):
        expect(control).to_be_focused()
        shown.reader.page.keyboard.press("Tab")

    assert {name for name, *_ in shown.it.moves} == set(names), "each slider is moved"
    shown.shows(*shown.it.start)
    for name, key, choices in shown.it.moves:
        shown.press(name, key)
        shown.shows(*choices)
        expect(shown.slider(name)).to_be_focused()
    shown.keeps(*choices)


@a_round
def test_a_round_plays_by_itself_until_it_is_paused(shown):
    press, wait = shown.reader.page.keyboard.press, shown.reader.page.wait_for_timeout
    expect(shown.button("Pause")).to_have_count(0)
    shown.button("Play").focus()
    press("Space")
    expect(shown.slider("step")).to_have_attribute("aria-valuetext", "2")  # from the end to the first step, and on
    expect(shown.button("Pause")).to_be_focused()
    press("Enter")
    expect(shown.button("Play")).to_be_focused()
    step = int(shown.slider("step").get_attribute("aria-valuetext"))
    assert 2 <= step < 5
    wait(2 * controls.PACE)
    shown.shows(step, 1)
    shown.keeps(step, 1)


@a_round
def test_a_round_that_is_played_ends_at_its_end(shown):
    shown.press("step", "Home")
    shown.shows(1, 1)
    shown.button("Play").focus()
    shown.reader.page.keyboard.press("Enter")
    expect(shown.button("Pause")).to_be_focused()
    shown.shows(5, 1)
    expect(shown.button("Play")).to_be_focused()
    expect(shown.button("Pause")).to_have_count(0)


@every
def test_the_first_view_is_whole_without_a_kernel(shown):
    shown.shows(*shown.it.start)
    shown.keeps(*shown.it.start)
    shown.open_without_a_kernel()
    expect(shown.output.locator("img")).to_be_visible()
    shown.shows(*shown.it.start)
    assert not shown.reader.lab.ask("/api/sessions"), "a kernel is running"


# ---- bars, dragged --------------------------------------------------------------------------------------------------

START = EXPLORERS["three tokens"].start


EDGE = 10  # height of what is grabbed, in pixels


def place(shown, name, mass):
    """Where on the page the upper edge of a bar is when it has this mass."""
    shown.slider(name).scroll_into_view_if_needed()
    box = shown.slider(name).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] - EDGE / 2 - mass * (box["height"] - EDGE)


@bars
def test_a_bar_is_dragged_and_all_of_its_law_moves_with_it(shown):
    mouse, q = shown.reader.page.mouse, START[3:]
    mouse.move(*place(shown, "p(B)", 0.3))
    mouse.down()
    mouse.move(*place(shown, "p(B)", 0.59), steps=10)
    shown.shows(0.4 * 5 / 7, 0.6, 0.4 * 2 / 7, *q)  # while it is held; and it holds on to twentieths
    mouse.move(*place(shown, "p(B)", 1.5), steps=10)
    shown.shows(0, 1, 0, *q)
    mouse.move(*place(shown, "p(B)", 0.3), steps=10)
    shown.shows(*START)  # what gave way comes back as it was
    mouse.move(*place(shown, "p(B)", -0.5), steps=10)
    mouse.up()
    shown.shows(5 / 7, 0, 2 / 7, *q)
    shown.keeps(5 / 7, 0, 2 / 7, *q)


@bars
def test_a_bar_is_dragged_by_touch(shown):
    page = shown.reader.page
    device = page.context.new_cdp_session(page)
    device.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def touch(kind, mass=None):
        points = [] if mass is None else [dict(zip("xy", place(shown, "q(C)", mass), strict=True))]
        device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    _, top = place(shown, "q(C)", 1)
    touch("touchStart", 0.5)
    for step in range(1, 11):
        touch("touchMove", 0.5 + step / 20)
    touch("touchEnd")
    shown.shows(*START[:3], 0, 0, 1)
    assert place(shown, "q(C)", 1)[1] == top, "the page stays where it is"


@bars
def test_laws_are_made_equal_and_put_back_by_a_button(shown):
    shown.press("p(A)", "PageUp")
    shown.button("q = p").click()
    shown.shows(0.75, 0.15, 0.1, 0.75, 0.15, 0.1)
    expect(shown.output.get_by_role("status")).to_contain_text("overlap 1, rejected 0; nothing is rejected")
    shown.button("Reset").click()
    shown.shows(*START)


@bars
def test_a_screen_reader_is_told_which_bar_of_which_law(shown):
    for name, which in (("p", "target"), ("q", "draft")):
        group = shown.output.get_by_role("group", name=f"{name}, the {which} law", exact=True)
        expect(group.get_by_role("slider")).to_have_count(3)
        for token in "ABC":
            bar = group.get_by_role("slider", name=f"{name}({token})", exact=True)
            expect(bar).to_have_accessible_description(f"Probability of {token} in the {which} law")
            expect(bar).to_have_attribute("aria-orientation", "vertical")
    expect(shown.output.locator(".specdec-controls")).to_contain_text("where all are 0, they share equally")


@bars
def test_bars_are_as_high_as_their_masses(shown):
    due = np.array(to_rgb(plots.LOOK["target"]["facecolor"])) * 255
    for name, mass in zip(shown.it.written, START[:3], strict=False):
        slider = shown.slider(name)
        pixels = np.asarray(Image.open(io.BytesIO(slider.screenshot())).convert("RGB")).astype(int)
        height, middle = len(pixels), pixels[:, pixels.shape[1] // 2]
        top = round(height - EDGE / 2 - mass * (height - EDGE))
        assert (middle[top - 3 : top + 3] < 64).all(), "the edge to grab"
        assert np.abs(middle[top + 8 : height - 3] - due).max() < 3 and (middle[: top - 8] > 200).all()


@bars
def test_bars_without_a_kernel_are_still_a_law(shown):
    shown.reader.save()
    shown.open_without_a_kernel()
    shown.press("p(A)", "PageUp")
    shown.reads(0.75, 0.15, 0.1, *START[3:])
    mouse = shown.reader.page.mouse
    mouse.move(*place(shown, "p(A)", 0.75))
    mouse.down()
    mouse.move(*place(shown, "p(A)", 0.49))
    mouse.move(*place(shown, "p(A)", 0.51))
    mouse.up()
    shown.reads(*START)
    assert shown.slider("p(A)").input_value() == "0.5", "the edge is at a twentieth too"


PAINTED = """output => new Promise(resolve => {
    let pressed;
    addEventListener("keydown", event => (pressed = event.timeStamp), { capture: true, once: true });
    const watch = new MutationObserver(async () => {
        const picture = output.querySelector("img");
        if (!picture || picture.src === before) return;
        watch.disconnect();
        await picture.decode();
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - pressed)));
    });
    const before = output.querySelector("img").src;
    watch.observe(output, { subtree: true, childList: true, attributes: true });
})"""


@every
def test_a_step_is_soon_on_screen(shown, capsys):
    name, page = next(iter(shown.it.written)), shown.reader.page
    shown.slider(name).focus()
    found = []
    for key in ["ArrowLeft", "ArrowRight"] * 10:
        node = shown.output.element_handle()
        page.evaluate("([node, watch]) => { window.painted = eval(watch)(node); }", [node, PAINTED])
        page.keyboard.press(key)
        found.append(page.evaluate("window.painted"))
        page.wait_for_timeout(100)
    with capsys.disabled():
        print(
            f"\n{shown.it.source or shown.it.cells[-1]}: key to picture {statistics.median(found):.0f} ms, median of 20"
        )
    assert min(found) < 1000  # a busy machine is slow at times, but not at all times
