"""The explorers as a reader moves them: in JupyterLab, by keyboard, with what a screen reader is told."""

import base64
from collections.abc import Callable
from fractions import Fraction as F
from typing import NamedTuple

import numpy as np
import pytest

from specdec_kit import controls, explorers, plots
from specdec_kit.models import Chain
from specdec_kit.recordings import recording

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser")
expect = playwright.expect


def mass(p, q):
    return explorers.mass_figure([p, 1 - p], [q, 1 - q])


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


EXPLORERS = {
    "mass": Explorer(
        "01_two_token_derivation.ipynb",
        ("imports", "laws", "explorer"),
        mass,
        {"p(A)": "{:.2f}", "q(A)": "{:.2f}"},
        (0.7, 0.4),
        (
            ("p(A)", "ArrowRight", (0.75, 0.4)),
            ("q(A)", "ArrowDown", (0.75, 0.35)),
            ("q(A)", "End", (0.75, 1.0)),
            ("p(A)", "Home", (0.0, 1.0)),
        ),
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

    def shows(self, *choices):
        """The sliders stand there, and the picture and the line that is read out are theirs."""
        texts = [how.format(choice) for how, choice in zip(self.it.written.values(), choices, strict=True)]
        expect(self.output.locator(".widget-readout")).to_have_text(texts)
        for name, text in zip(self.it.written, texts, strict=True):
            expect(self.slider(name)).to_have_attribute("aria-valuetext", text)
        due = self.it.figure(*choices)
        expect(self.output.get_by_role("status")).to_have_text(due.numbers.splitlines()[-1])
        png = base64.b64encode(due.png()).decode()
        expect(self.output.locator("img")).to_have_attribute("src", f"data:image/png;base64,{png}")

    def keeps(self, *choices):
        """What is saved says it in words."""
        due, kept = self.it.figure(*choices), saved(self.reader.save()[self.it.cells[-1]])
        assert "".join(kept["data"]["text/plain"]) == due.numbers
        assert kept["metadata"]["image/png"]["alt"] == due.alt


@pytest.fixture
def shown(reader, request):
    return Shown(reader, EXPLORERS[request.param])


every = pytest.mark.parametrize("shown", EXPLORERS, indirect=True)
a_round = pytest.mark.parametrize("shown", ["round"], indirect=True)


@every
def test_each_control_has_a_name_and_moves_picture_and_words_by_keyboard(shown):
    names, buttons = list(shown.it.written), ["Play"] if shown.it.figure is round_ else []
    expect(shown.output.get_by_role("slider")).to_have_count(len(names))
    expect(shown.output.locator(".specdec-controls").get_by_role("button")).to_have_text(buttons)
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
    shown.reader.lab.end_kernels()
    shown.reader.open(shown.it.lesson)
    shown.reader.lab.end_kernels()
    expect(shown.output.locator("img")).to_be_visible()
    shown.shows(*shown.it.start)
    assert not shown.reader.lab.ask("/api/sessions"), "a kernel is running"
