"""Explorers: one idea each, to move by hand, with a first view that is complete without moving anything.

What they show comes from the kit: its round with every uniform kept, its tests, its cost curves.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit import plots
from specdec_kit.blocks import Model, as_tokens, check_models, token_verification
from specdec_kit.controls import Bars, Field, explore
from specdec_kit.distributions import Law, NoResidual, as_law, as_pair, overlap, residual
from specdec_kit.evidence import readable
from specdec_kit.extras import needed
from specdec_kit.recordings import Recording
from specdec_kit.timing import best_gamma, predicted_speedup
from specdec_kit.uncertainty import draws_for, least_rise

with needed("lab"):
    from scipy.stats import binom


TWENTIETHS = tuple(n / 20 for n in range(21))


def _several(law: Any, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_four(mass)}" for name, mass in zip(names, law, strict=True))


def _four(number: Any) -> str:
    return readable(round(float(number), 4))


def _with_lines(figure: plots.Figure, *lines: str) -> plots.Figure:
    """The figure with more to say."""
    more = [line for line in lines if line]
    return plots.Figure(figure.canvas, "\n".join([figure.numbers, *more]), " ".join([figure.alt, *map(_ended, more)]))


def _ended(line: str) -> str:
    return line if line[-1] in ".!?" else f"{line}."


# ---- the mass bars ----


def mass_explorer(p: ArrayLike, q: ArrayLike) -> None:
    """The mass bars of two laws, with the bars of p and q to drag, and what follows from them.

    Parameters
    ----------
    p, q : array_like, shape (vocabulary,)
        Target and draft laws over two to six tokens: where the bars stand at first, and what the static view shows.
    """
    target, draft = as_pair(p, q)
    if target.ndim != 1 or not 2 <= len(target) <= 6:
        raise ValueError(f"p has shape {target.shape}: there is room for the bars of two to six tokens, a vector each")
    laws = ("p", "target", target), ("q", "draft", draft)
    explore([Bars(name, which, [float(mass) for mass in law]) for name, which, law in laws], mass_figure)


def mass_figure(p: ArrayLike, q: ArrayLike) -> plots.Figure:
    """Mass bars, with overlap, rejection, residual and the restored law as text."""
    names, shared = plots.names(len(np.asarray(p))), overlap(p, q)
    try:
        law = residual(p, q)
        restored = np.minimum(p, q) + (1 - shared) * law
        says = f"residual law {_several(law, names)}; accepted + rejected × residual = {_several(restored, names)}"
    except NoResidual:
        says = "nothing is rejected, and no residual is drawn"
    sums = f"overlap {_four(shared)}, rejected {_four(1 - shared)}"
    figure = plots.mass_bars(p, q)
    figure.canvas.axes[0].set_ylim(0, 1.08)  # one scale, so that what is dragged moves the bars and not the axis
    return _with_lines(figure, f"{sums}; {says}")


# ---- one round, uniform by uniform ----


class _Kept:
    """Hands on the uniforms of a generator, and keeps them."""

    def __init__(self, rng: np.random.Generator):
        self.rng, self.drawn = rng, list[float]()

    def random(self) -> float:
        self.drawn.append(self.rng.random())
        return self.drawn[-1]


def round_steps(target: Model, draft: Model, context: Sequence[int], gamma: int, rng: Any) -> list[plots.Strip]:
    """One round of the kit, a strip for each uniform that it drew: drafts, tests, and the residual or the bonus.

    Parameters
    ----------
    target, draft, context, gamma, rng
        Those of `specdec_kit.blocks.speculative_round`.
    """
    kept, text = _Kept(rng), as_tokens(context, "context")
    done = token_verification(target, draft, text, gamma, kept)
    heard = iter(kept.drawn)
    names = list(getattr(target, "vocabulary", None) or plots.names(len(as_law(target(text), "target"))))

    def laws(n: int) -> tuple[Law, Law]:
        """Target's and draft's law after n drafts."""
        after = text + done.drafted[:n]
        return as_law(target(after), "target"), as_law(draft(after), "draft")

    def drawn(title: str, letter: str, law: Law, look: str, token: int, mark: str, sign: str) -> plots.Strip:
        u, name = next(heard), names[token]
        parts = [(text, float(law[x]), look if x == token else "") for x, text in enumerate(names)]
        of = _several(law, names) if len(law) <= 6 else f"{name} {_four(law[token])}, …"
        words = f"{title}: u = {u:.3f} falls into {name} of {letter} = ({of}): {name} {mark}"
        return plots.Strip(title, parts, u, f"{sign}{name}", words)

    strips = [
        drawn(f"draft {n + 1}", "q", laws(n)[1], "draft", x, "is proposed", "→ ") for n, x in enumerate(done.drafted)
    ]
    for n, x in enumerate(done.drafted[: done.accepted + 1]):
        (p, q), u, name = laws(n), next(heard), names[x]
        passed, share = n < done.accepted, min(1.0, float(p[x] / q[x]))
        parts = [("accept", share, "accepted"), ("reject", 1 - share, "rejected")]
        sides = f"u q({name}) = {u:.3f} × {float(q[x]):.4g} = {float(u * q[x]):.3f}"
        words = f"{sides} is {'below' if passed else 'not below'} p({name}) = {float(p[x]):.4g}"
        verdict = "accepted" if passed else "rejected"
        outcome = f"{'✓' if passed else '✗'} {verdict}"
        strips.append(
            plots.Strip(f"test {n + 1}: {name}", parts, u, outcome, f"test {n + 1}: {words}: {name} {verdict}")
        )
    last = done.tokens[-1]
    if done.reason == "rejection":
        law = residual(*laws(done.accepted))
        strips.append(drawn("residual", "(p − q)₊, made a law,", law, "residual", last, "in its place", "→ "))
    else:
        strips.append(drawn("bonus", "p", laws(gamma)[0], "target", last, "is the bonus token", "+ "))
    written = " ".join(f"{names[x]} ({mark})" for x, mark in zip(done.tokens, done.marks, strict=True))
    strips[-1] = strips[-1]._replace(words=f"{strips[-1].words}. The round writes {written}")
    return strips


def round_player(
    p: ArrayLike | Model, q: ArrayLike | Model, gamma: int = 3, seed: int = 0, context: Sequence[int] = ()
) -> None:
    """One round of speculative decoding, a step for each uniform that it draws, with step, seed and Play.

    Parameters
    ----------
    p, q : array_like, shape (vocabulary,), or callable
        Target and draft: laws, which then hold at each place, or models.
    gamma : int
        How many tokens to draft, 0 … 8.
    seed : int
        Where the seed stands at first.
    context : sequence of int
        The tokens so far, for models.
    """
    if gamma not in range(9):
        raise ValueError(f"gamma is {gamma!r}: give 0 to 8 drafts, as many as a figure has room for")
    if not (isinstance(seed, int) and seed >= 0):
        raise ValueError(f"seed is {seed!r}: give a whole number, at least 0")
    target, draft = (_as_model(one, name) for one, name in ((p, "p"), (q, "q")))
    check_models(target, draft)

    def steps(seed: int) -> list[plots.Strip]:
        return round_steps(target, draft, context, gamma, np.random.default_rng(seed))

    count = len(steps(seed))
    explore(
        [
            Field("step", "How many of the uniforms are shown", range(1, 2 * gamma + 2), count),
            Field("seed", "Seed of the round", range(100), seed),
        ],
        lambda upto, seed: plots.strips(steps(seed), upto, 2 * gamma + 1),
        last=lambda upto, seed: len(steps(seed)),
    )


def _as_model(given: Any, name: str) -> Model:
    if callable(given):
        return given
    law = as_law(given, name)
    if law.ndim != 1:
        raise ValueError(f"{name} has shape {law.shape}: give one law, a vector, or a model")
    return lambda context: law


# ---- power ----

DRAWS = (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
ALPHAS = (1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05)
BIASES = tuple(n / 200 for n in range(1, 61))


def power_explorer(draws: int = 1000, alpha: float = 1e-6, bias: float = 0.05, p: float = 0.5) -> None:
    """Would you have seen it? Draws, false-alarm rate and bias to move, for the count of one event.

    Parameters
    ----------
    draws : int
        N, one of `DRAWS`, where the slider stands at first.
    alpha : float
        False-alarm rate of the two-sided test, one of `ALPHAS`.
    bias : float
        How much likelier the event is than it should be, 0.005 … 0.3.
    p : float
        Its probability as it should be, 0.01 … 0.69.
    """
    for name, value, allowed in (("draws", draws, DRAWS), ("alpha", alpha, ALPHAS)):
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}: give one of {', '.join(f'{one:g}' for one in allowed)}")
    if not (0.005 <= bias <= 0.3 and 0.01 <= p <= 0.69):
        raise ValueError(f"bias is {bias} and p is {p}: give a bias of 0.005 to 0.3 and a p of 0.01 to 0.69")
    explore(
        [
            Field("N", "Number of draws", DRAWS, draws, "{:,}".format),
            Field("α", "False-alarm rate of the test", ALPHAS, alpha, "{:g}".format),
            Field("bias", "How much likelier the event is than it should be", BIASES, bias, "{:.3g}".format),
        ],
        lambda draws, alpha, bias: power_figure(draws, alpha, bias, p),
    )


def power(draws: int, alpha: float, bias: float, p: float) -> float:
    """Chance that too many are counted, exact: the inverse of `specdec_kit.uncertainty.least_rise`."""
    return float(binom.sf(binom.isf(alpha / 2, draws, p), draws, p + bias))


def power_figure(draws: int, alpha: float, bias: float, p: float) -> plots.Figure:
    """What N draws of an event with probability p look like, if p is right and if it is off, and what a test sees."""
    least, chance = int(binom.isf(alpha / 2, draws, p)) + 1, power(draws, alpha, bias, p)
    error = np.sqrt(draws * p * (1 - p))
    around = [draws * x + np.linspace(-5, 5, 201) * np.sqrt(draws * x * (1 - x)) for x in (p, p + bias)]
    counts = np.unique(np.clip(np.rint([*around, [least] * 201]), 0, draws))
    right, off = (binom.pmf(counts, draws, x) for x in (p, p + bias))
    due = draws * p
    figure = plots.alarm((counts - due) / error, right / right.max(), off / off.max(), (least - due) / error)
    found = float(least_rise(draws, p, alpha / 2, 0.99))
    enough = f"a bias of {found:.3g} or more" if np.isfinite(found) else "no bias, however large"
    grade = next(word for limit, word in GRADES if chance >= limit)
    starts = f"alarm from {least:,} on" if least <= draws else "no count raises an alarm"
    return _with_lines(
        figure,
        f"{draws:,} draws of an event with p = {p:g}, α = {alpha:g}: {starts}, where {due:,.0f} are expected",
        f"found with 99 % by {draws:,} draws: {enough}; a bias of {bias:.3g} takes about "
        f"{draws_for(bias, alpha=alpha, p=p):,} draws",
        f"Would you have seen a bias of {bias:.3g}? {grade}: with probability {chance:.2g}.",
    )


GRADES = ((0.99, "Yes"), (0.5, "Rather yes"), (0.1, "Rather no"), (0.0, "No"))


# ---- the speed-up ----

COSTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


def speedup_explorer(recording: Recording, alpha: float = 0.6, gamma: int = 4, c: float = 0.0, batch: int = 1) -> None:
    """Speed-up by the textbook and with recorded costs, over γ; acceptance, γ, cost of a draft and batch to move.

    Parameters
    ----------
    recording : Recording
        Whose passes over 1 and more tokens say what a verification costs.
    alpha : float
        Chance that a draft passes, 0 … 1.
    gamma : int
        Drafts in a round, up to 15.
    c : float
        Cost of a call of the draft, in passes over one token, one of `COSTS`.
    batch : int
        How many texts are written at once, one of those that were recorded.
    """
    batches = sorted({step.batch for step in recording.steps if step.what == "pass"})
    if not batches:
        raise ValueError(f"{recording.name} has no recorded passes: take a recording that has a cost curve")
    curves = {batch: recording.curve("pass", batch=batch) for batch in batches}
    for name, value, allowed in (("c", c, COSTS), ("batch", batch, batches), ("gamma", gamma, range(16))):
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}: give one of {', '.join(f'{one:g}' for one in allowed)}")

    explore(
        [
            Field("α", "Chance that a draft passes", TWENTIETHS, alpha, "{:.2f}".format),
            Field("γ", "Drafts in a round", range(16), gamma),
            Field("c", "Cost of a call of the draft, in passes over one token", COSTS, c, "{:g}".format),
            Field("batch", "Texts written at once", batches, batch),
        ],
        lambda alpha, gamma, c, batch: speedup_figure(alpha, gamma, c, batch, curves[batch]),
    )


def speedup_figure(alpha: float, gamma: int, c: float, batch: int, curve: Callable[[int], float]) -> plots.Figure:
    """Speed-up over γ, by the textbook and with a cost curve, one γ marked."""
    gammas = range(16)
    lines = {
        "textbook": [predicted_speedup(alpha, g, c) for g in gammas],
        "with the recorded cost": [predicted_speedup(alpha, g, c, curve) for g in gammas],
        "no gain": [1.0] * 16,
    }
    figure = plots.curves(gammas, lines, xlabel="γ, drafts a round", ylabel="speed-up", ylim=(0, 6), at=gamma)
    book, real, *_ = (line[gamma] for line in lines.values())
    best = best_gamma(alpha, c, curve, 15)
    told = "faster than without drafts" if real > 1 else "no faster than without drafts"
    return _with_lines(
        figure,
        f"best γ with the recorded cost: {best}, speed-up {lines['with the recorded cost'][best]:.2f}",
        f"α = {alpha:.2f}, γ = {gamma}, c = {c:g}, {batch} at once: textbook {book:.2f}, with the recorded cost "
        f"{real:.2f}: {told}",
    )
