"""What the explorers show: it is what the kit computes, its numbers are known by other ways, bad input is refused."""

import io
from fractions import Fraction as F

import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image
from scipy.stats import binom

from specdec_kit import explorers, plots
from specdec_kit.blocks import speculative_round
from specdec_kit.models import Chain
from specdec_kit.recordings import recording
from specdec_kit.uncertainty import least_rise

P, Q = np.array([0.7, 0.3]), np.array([0.4, 0.6])
TARGET = Chain([(F(2, 10), F(8, 10)), (F(6, 10), F(4, 10))], (F(7, 10), F(3, 10)))
DRAFT = Chain([(F(5, 10), F(5, 10)), (F(9, 10), F(1, 10))], (F(4, 10), F(6, 10)))


class Given:
    """Hands out the uniforms that it was given."""

    def __init__(self, *uniforms):
        self.left = list(uniforms)

    def random(self):
        return self.left.pop(0)


def steps(*uniforms, gamma=2, target=TARGET, draft=DRAFT):
    rng = Given(*uniforms)
    found = explorers.round_steps(target, draft, (), gamma, rng)
    assert not rng.left, "every uniform is shown"
    return found


# --- the mass bars ---------------------------------------------------------------------------------------------------


def test_the_mass_bars_say_what_is_restored():
    # By hand: min = .1, .2, .2, .1; lacking .3, .1; each over .4.
    figure = explorers.mass_figure([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])
    assert figure.numbers.splitlines()[-1] == (
        "overlap 0.6, rejected 0.4; residual law A 0.75, B 0.25, C 0, D 0; "
        "accepted + rejected × residual = A 0.4, B 0.3, C 0.2, D 0.1"
    )
    assert figure.numbers.startswith(plots.mass_bars([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]).numbers)


def test_the_mass_bars_have_no_residual_where_nothing_is_rejected():
    assert explorers.mass_figure(P, P).numbers.endswith("rejected 0; nothing is rejected, and no residual is drawn")


@pytest.mark.parametrize("count", range(2, 7))
def test_the_mass_bars_keep_one_scale(count):
    for law in (np.eye(count)[0], np.full(count, 1 / count)):
        assert explorers.mass_figure(law, law[::-1]).canvas.axes[0].get_ylim() == (0, 1.08)


# --- the round -------------------------------------------------------------------------------------------------------


def test_a_round_that_passes_whole_by_hand():
    # q starts (.4, .6): .5 is B; after B q is (.9, .1): .2 is A. .3 × .6 < .3, .6 × .9 < .6; after A p is (.2, .8): A.
    found = steps(0.5, 0.2, 0.3, 0.6, 0.1)
    assert [(one.title, one.u, one.outcome) for one in found] == [
        ("draft 1", 0.5, "→ B"), ("draft 2", 0.2, "→ A"), ("test 1: B", 0.3, "✓ accepted"),
        ("test 2: A", 0.6, "✓ accepted"), ("bonus", 0.1, "+ A"),
    ]  # fmt: skip
    assert found[0].parts == [("A", 0.4, ""), ("B", 0.6, "draft")]
    assert found[2].parts == [("accept", 0.5, "accepted"), ("reject", 0.5, "rejected")]
    assert found[3].parts[0][1] == pytest.approx(2 / 3)
    assert found[4].parts == [("A", 0.2, "target"), ("B", 0.8, "")]
    assert found[2].words == "test 1: u q(B) = 0.300 × 0.6 = 0.180 is below p(B) = 0.3: B accepted"
    assert found[4].words == (
        "bonus: u = 0.100 falls into A of p = (A 0.2, B 0.8): A is the bonus token. "
        "The round writes B (accepted) A (accepted) A (bonus)"
    )


def test_a_round_that_is_broken_off_by_hand():
    # .75 × .6 is not below .3. What follows the rejection is never tested.
    found = steps(0.5, 0.2, 0.75, 0.9)
    assert [one.title for one in found] == ["draft 1", "draft 2", "test 1: B", "residual"]
    assert found[2].outcome == "✗ rejected" and "= 0.450 is not below p(B) = 0.3: B rejected" in found[2].words
    assert found[3].parts == [("A", 1, "residual"), ("B", 0, "")] and found[3].outcome == "→ A"
    assert found[3].words.endswith("A in its place. The round writes A (corrected)")


def test_without_drafts_there_is_the_bonus_alone():
    [only] = steps(0.8, gamma=0)
    assert only.title == "bonus" and only.outcome == "+ B"


@pytest.mark.parametrize("seed", range(40))
def test_a_shown_round_is_the_round_of_the_kit(seed):
    text = speculative_round(TARGET, DRAFT, (), 3, np.random.default_rng(seed))
    found = explorers.round_steps(TARGET, DRAFT, (), 3, np.random.default_rng(seed))
    marks = found[-1].words.rpartition("The round writes ")[2]
    assert [word for word in marks.split() if word in ("A", "B")] == ["AB"[x] for x in text]
    assert [one.u for one in found] == np.random.default_rng(seed).random(len(found)).tolist()
    for one in found:
        ends = np.cumsum([0, *(width for _, width, _ in one.parts)])
        assert ends[-1] == pytest.approx(1)
        name, _, look = one.parts[int(np.searchsorted(ends[1:], one.u, side="right"))]
        says = {"accept": "✓ accepted", "reject": "✗ rejected"}.get(name, f"→ {name}")
        assert one.outcome in (says, f"+ {name}"), "the part that u falls into is what happened"
        assert look, "and it has its look"


def test_models_name_their_own_tokens_and_large_laws_are_told_in_part():
    law = np.full(10, 0.1)
    found = explorers.round_steps(lambda text: law, lambda text: law, (), 1, Given(0.35, 0.5, 0.99))
    assert found[0].words == "draft 1: u = 0.350 falls into D of q = (D 0.1, …): D is proposed"

    class Spoken:
        vocabulary = ("yes", "no")

        def __call__(self, text):
            return P

    assert explorers.round_steps(Spoken(), Spoken(), (), 1, Given(0.1, 0.5, 0.9))[-1].outcome == "+ no"


def test_strips_keep_room_for_what_is_to_come():
    rows = steps(0.5, 0.2, 0.3, 0.6, 0.1)
    some, all_ = plots.strips(rows, 2, 5), plots.strips(rows)
    assert some.numbers.splitlines() == ["2 of 5 uniforms", f"1. {rows[0].words}", f"2. {rows[1].words}"]
    assert some.canvas.get_size_inches().tolist() == all_.canvas.get_size_inches().tolist()
    assert len(some.canvas.axes[0].patches) == 4 and len(all_.canvas.axes[0].patches) == 10


def test_the_looks_of_a_round_are_those_of_every_figure():
    ax = plots.strips(steps(0.5, 0.2, 0.75, 0.9)).canvas.axes[0]
    colours = {to_hex(bar.get_facecolor()): bar.get_hatch() or "" for bar in ax.patches}
    due = {plots.LOOK[name]["facecolor"].lower(): plots.LOOK[name]["hatch"] for name in
           ("draft", "accepted", "rejected", "residual")}  # fmt: skip
    assert colours == due | {"#ffffff": ""}


# --- power -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("draws", "alpha", "p"), [(1000, 1e-6, 0.5), (300, 0.01, 0.2), (10_000, 1e-3, 0.65)])
def test_the_power_is_the_inverse_of_the_least_rise(draws, alpha, p):
    for power in (0.05, 0.5, 0.99):
        bias = float(least_rise(draws, p, alpha / 2, power))
        assert explorers.power(draws, alpha, bias, p) == pytest.approx(power, rel=1e-6)


def test_the_power_of_lesson_03():
    assert explorers.power(4000, 1e-6, 0.05, 0.5) == pytest.approx(0.9213, abs=5e-5)
    # Ten draws, α = 0.05, by hand: 9 or 10 hits of 10 raise the alarm, 11/1024; at 0.8 they come with 0.3758.
    assert explorers.power(10, 0.05, 0.3, 0.5) == pytest.approx(10 * 0.8**9 * 0.2 + 0.8**10)


def test_the_words_of_power():
    figure = explorers.power_figure(1000, 1e-6, 0.05, 0.5)
    assert figure.numbers.splitlines() == [
        "in standard errors: likeliest 0 if p is right, 3.16 if it is off; alarm from 4.93 on",
        "1,000 draws of an event with p = 0.5, α = 1e-06: alarm from 578 on, where 500 are expected",
        "found with 99 % by 1,000 draws: a bias of 0.113 or more; a bias of 0.05 takes about 5,210 draws",
        "Would you have seen a bias of 0.05? No: with probability 0.04.",
    ]
    assert binom.sf(577, 1000, 0.5) <= 5e-7 < binom.sf(576, 1000, 0.5)
    assert figure.alt.endswith("No: with probability 0.04.")


@pytest.mark.parametrize(
    ("draws", "bias", "answer"),
    [(100_000, 0.05, "Yes"), (4000, 0.05, "Rather yes"), (2000, 0.05, "Rather no"), (300, 0.05, "No")],
)
def test_the_answer_goes_by_the_power(draws, bias, answer):
    assert f"? {answer}: with probability " in explorers.power_figure(draws, 1e-6, bias, 0.5).numbers


def test_too_few_draws_for_any_alarm_say_so():
    words = explorers.power_figure(30, 1e-9, 0.3, 0.5).numbers
    assert "no count raises an alarm" in words and "by 30 draws: no bias, however large" in words
    assert words.endswith("No: with probability 0.")


def test_a_bias_beyond_the_figure_is_written_in_it():
    ax = explorers.power_figure(100_000, 1e-6, 0.3, 0.5).canvas.axes[0]
    assert [text.get_text() for text in ax.texts] == ["p is off, seen:\nfarther out, at 190 →"]


# --- speed-up --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded():
    return recording("amd-epyc-2-cores")


def test_the_speed_up_is_that_of_lesson_06(recorded):
    curve = recorded.curve("pass")
    words = explorers.speedup_figure(0.6, 4, 0.0, 1, curve).numbers.splitlines()
    # 1 + .6 + .36 + .216 + .1296 = 2.3056 tokens; a pass over 5 costs 70.0803/61.0008.
    assert words[-1] == (
        f"α = 0.60, γ = 4, c = 0, 1 at once: textbook 2.31, with the recorded cost {2.3056 * 61.0008 / 70.0803:.2f}: "
        "faster than without drafts"
    )
    assert words[-2] == "best γ with the recorded cost: 4, speed-up 2.01"


def test_a_costly_draft_is_no_gain(recorded):
    # Lesson 06: α = 0.6, c = 0.2, γ = 10: 0.83 by the textbook.
    words = explorers.speedup_figure(0.6, 10, 0.2, 1, recorded.curve("pass")).numbers
    assert "c = 0.2, 1 at once: textbook 0.83" in words and words.endswith("no faster than without drafts")


def test_no_draft_is_as_fast_as_no_draft(recorded):
    words = explorers.speedup_figure(1.0, 0, 0.5, 1, recorded.curve("pass")).numbers
    assert "textbook 1.00, with the recorded cost 1.00: no faster than without drafts" in words


# --- drawn over what stays -------------------------------------------------------------------------------------------

MOVED = {
    "mass": lambda: [explorers.mass_figure([a, 1 - a], [b, 1 - b]) for a, b in ((0.7, 0.4), (0, 1), (0.5, 0.5))],
    "mass of six": lambda: [explorers.mass_figure(np.eye(6)[0], law) for law in (np.full(6, 1 / 6), np.eye(6)[5])],
    "round": lambda: [plots.strips(steps(0.5, 0.2, 0.75, 0.9), n, 5) for n in (4, 1)],
    "power": lambda: [explorers.power_figure(n, 1e-6, 0.05, 0.5) for n in (1000, 30, 100_000)],
    "speed-up": lambda: [explorers.speedup_figure(a, 4, 0, 1, lambda n: n) for a in (0.6, 1.0)],
}


@pytest.mark.parametrize("figures", MOVED.values(), ids=MOVED)
def test_a_figure_drawn_on_a_stage_is_the_same_to_the_byte(figures):
    stage = plots.Stage(figures()[0])
    for one, other in zip(figures(), figures(), strict=True):
        assert stage.png(one) == other.png()
    assert plots.Stage(figures()[0]).png(figures()[0]) == figures()[0].png()


def test_a_stage_with_other_axes_is_another_picture():
    stage = plots.Stage(plots.curves([0, 1], {"a": [0, 1]}, xlabel="x", ylabel="y"))
    other = plots.curves([0, 9], {"a": [0, 9]}, xlabel="x", ylabel="y")
    drawn, due = (np.asarray(Image.open(io.BytesIO(png))) for png in (stage.png(other), other.png()))
    assert drawn.shape == due.shape and (drawn != due).any()


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [np.full(7, 1 / 7), [1.0], [[0.7, 0.3]] * 2])
def test_the_mass_explorer_has_room_for_six_tokens(p):
    with pytest.raises(
        ValueError, match=r"^p has shape \(.*\): there is room for the bars of two to six tokens, a vector each$"
    ):
        explorers.mass_explorer(p, p)


REFUSED = {
    "no law": (lambda: explorers.mass_explorer([0.7, 0.3], [0.4, 0.4]), "q sums to"),
    "too many drafts": (
        lambda: explorers.round_player(P, Q, 9), "^gamma is 9: give 0 to 8 drafts, as many as a figure has room for$"
    ),
    "half a draft": (lambda: explorers.round_player(P, Q, 1.5), "^gamma is 1.5: give 0 to 8 drafts"),
    "a matrix": (
        lambda: explorers.round_player([P, P], Q), r"^p has shape \(2, 2\): give one law, a vector, or a model$"
    ),
    "no seed": (lambda: explorers.round_player(P, Q, seed=-1), "^seed is -1: give a whole number, at least 0$"),
    "two vocabularies": (lambda: explorers.round_player(P, [0.2, 0.3, 0.5]), "give both models one vocabulary"),
    "draws between": (
        lambda: explorers.power_explorer(1234),
        "^draws is 1234: give one of 30, 100, 300, 1000, 3000, 10000, 30000, 100000$",
    ),
    "a false-alarm rate between": (lambda: explorers.power_explorer(alpha=0.5), "^alpha is 0.5: give one of 1e-09, "),
    "no bias": (
        lambda: explorers.power_explorer(bias=0),
        "^bias is 0 and p is 0.5: give a bias of 0.005 to 0.3 and a p of 0.01 to 0.69$",
    ),
    "no passes": (
        lambda: explorers.speedup_explorer(recording("amd-epyc-2-cores-device")),
        "^amd-epyc-2-cores-device has no recorded passes: take a recording that has a cost curve$",
    ),
    "a batch between": (
        lambda: explorers.speedup_explorer(recording("amd-epyc-2-cores"), batch=3),
        "^batch is 3: give one of 1, 2, 4, 8, 16, 32, 64$",
    ),
    "no chance": (lambda: explorers.speedup_explorer(recording("amd-epyc-2-cores"), 1.5), "^alpha is 1.5: give the"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_shown_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
