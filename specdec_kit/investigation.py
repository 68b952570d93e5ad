"""An investigation: draws within a budget, verdicts with a stated confidence, and one report of the evidence.

The samplers of `specdec_kit.mysteries` can be run here and not looked into: an `Investigation` hands out seeded draws,
and notes each call with its seed. A verdict gives a probability to each class and is scored by Brier's rule ([1]_),
under which no other statement than one's honest belief is best on average ([2]_).

References
----------
.. [1] Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather Review 78 (1950).
.. [2] Gneiting, Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007).
"""

import html
import inspect
import json
import os
import platform
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from specdec_kit import evidence, mysteries, uncertainty
from specdec_kit.blocks import Model, Tokens, _count, as_tokens, token_verification
from specdec_kit.distributions import as_law
from specdec_kit.evidence import readable
from specdec_kit.files import write_whole
from specdec_kit.law import Law, exact_law
from specdec_kit.lines import wrapped
from specdec_kit.models import Chain, generate
from specdec_kit.mysteries import CLASSES, MYSTERIES, Revealed
from specdec_kit.round_faults import write

ALPHA = 1e-3
"""False-alarm rate of one report. An investigation makes a dozen, so that one in eighty raises a false alarm."""


class OverBudget(RuntimeError):
    """More draws than are left."""


# ---- the score ----


def brier(stated: Mapping[str, Any], truth: str) -> Any:
    """Brier's score of a verdict: Σ (stated − what came true)² over the classes ([1]_).

    Parameters
    ----------
    stated : mapping from str to number
        Probability of each class; one that is left out has 0.
    truth : str
        The class that it was.

    Returns
    -------
    number
        From 0, certain and right, to 2, certain and wrong. Less is better.
    """
    return sum((stated.get(kind, 0) - (kind == truth)) ** 2 for kind in dict.fromkeys([*stated, truth]))


def expected_brier(stated: Mapping[str, Any], belief: Mapping[str, Any]) -> Any:
    """Score of a verdict on average, where each class is the truth with its probability under `belief`."""
    return sum(mass * brier(stated, truth) for truth, mass in belief.items())


# ---- draws ----


def _letters(text: Iterable[int]) -> str:
    return "".join(string.ascii_uppercase[x] if x < 26 else f"({x})" for x in text)


@lru_cache(maxsize=64)
def _law(target: Model, context: Tokens, n: int) -> Law:
    """Law of the next n tokens."""
    return exact_law(generate, target, context, n)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Raw results of one call: texts of one length, or single rounds."""

    name: str
    texts: tuple[Tokens, ...]
    seed: int
    length: int | None
    """Tokens of each text; None for single rounds, which differ in length."""
    gamma: int
    context: Tokens
    target: Model = field(repr=False)
    draft: Model = field(repr=False)

    def __repr__(self) -> str:
        what = "single rounds" if self.length is None else f"texts of {self.length}"
        return f"{self.name}: {len(self.texts):,} {what}, γ = {self.gamma}, seed {self.seed}"

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often each text came, by its letters, in order of the alphabet."""
        return dict(sorted(Counter(map(_letters, self.texts)).items()))

    @property
    def on_the_bench(self) -> bool:
        """Whether the models are those of the bench."""
        return (_what(self.target), _what(self.draft)) == (_what(mysteries.TARGET), _what(mysteries.DRAFT))

    @property
    def lengths(self) -> dict[int, int]:
        """How many rounds, or texts, had each length."""
        return dict(sorted(Counter(map(len, self.texts)).items()))

    def report(
        self, first: int | None = None, *, law: Any = None, alpha: float = ALPHA, level: float = 0.95
    ) -> uncertainty.Report:
        """Hold the first tokens of each text against the target's law, or another.

        Parameters
        ----------
        first : int, optional
            How many tokens of each text; all of them without it.
        law : mapping from tuple of int to number, or array_like, optional
            The law to hold them against; a vector is one of the first token. The target's own without it.
        alpha, level : float
            Those of `specdec_kit.uncertainty.report`.

        Returns
        -------
        specdec_kit.uncertainty.Report
            A text that came and has no probability in the law counts as impossible.
        """
        n = self.length if first is None else first
        if n is None or min(map(len, self.texts)) < n or n < 1:
            raise ValueError(f"not every text has {n or 'one and the same number of'} tokens: draw with length=2, say")
        seen = Counter(text[:n] for text in self.texts)
        if law is None:
            law = _law(self.target, self.context, n)
        due = dict(law) if isinstance(law, Mapping) else {(x,): mass for x, mass in enumerate(as_law(law, "law"))}
        texts = sorted({*due, *seen})
        return uncertainty.report(
            [seen[text] for text in texts], [float(due.get(text, 0)) for text in texts], level=level, alpha=alpha,
            seed=self.seed, tokens=[_letters(text) for text in texts],
        )  # fmt: skip


# ---- what else a report holds ----


@dataclass(frozen=True)
class Judgement:
    """Probabilities of the classes, and why."""

    stated: dict[str, float]
    because: str = ""

    @property
    def kind(self) -> str:
        """The likeliest class, by what was stated."""
        return max(self.stated, key=lambda kind: self.stated[kind])

    def __str__(self) -> str:
        return f"{self.kind} ({100 * self.stated[self.kind]:.3g} %)"


def _verdict(stated: Mapping[str, Any], because: str) -> Judgement:
    unknown = [kind for kind in stated if kind not in CLASSES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no class: they are {', '.join(map(repr, CLASSES))}")
    masses = {kind: float(stated.get(kind, 0)) for kind in CLASSES}
    if min(masses.values()) < 0 or not abs(sum(masses.values()) - 1) <= 1e-9:
        raise ValueError(f"the probabilities are {readable(masses)}: give each class at least 0, and 1 to all together")
    return Judgement(masses, because)


@dataclass(frozen=True)
class Counterexample:
    """A text whose probability under the target the draws exclude."""

    name: str
    text: str
    due: float
    count: int
    draws: int
    interval: tuple[float, float]
    """Holds for all texts together, so that the text may be chosen after the draws."""
    level: float
    seed: int
    gamma: int
    because: str = ""
    exact: float | None = None
    """What the sampler's probability is, once its source is known."""

    @property
    def excludes(self) -> bool:
        """Whether the interval leaves out what was due."""
        return not self.interval[0] <= self.due <= self.interval[1]

    def __str__(self) -> str:
        low, high = self.interval
        known = "" if self.exact is None else f"; exactly {self.exact:.4g}"
        return (
            f"{self.name}, γ = {self.gamma}: the text {self.text} is due {self.due:.4g} and came {self.count:,} times "
            f"in {self.draws:,}, {low:.4g} to {high:.4g} at {100 * self.level:g} % for all texts together "
            f"(seed {self.seed}){known}"
        )


QUANTITIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "accepted mass": ("probability", lambda law: sum(mass for one, mass in law.items() if one.accepted)),
    "tokens a round": ("tokens", lambda law: sum(mass * len(one.tokens) for one, mass in law.items())),
    "first token is A": ("probability", lambda law: sum(mass for one, mass in law.items() if one.tokens[0] == 0)),
}
"""What a transfer test may ask for: the unit, and its value from the law of one round."""
BASELINE: dict[str, Any] = {"p": (0.6, 0.4), "q": (0.3, 0.7), "gamma": 1}
"""The fixture of the lesson page."""


def measured(quantity: str, *, p: Any, q: Any, gamma: int) -> Any:
    """Value of one of `QUANTITIES`, exactly, where the laws are p and q at every place."""
    p, q = as_law(p, "p"), as_law(q, "q")
    return QUANTITIES[quantity][1](exact_law(token_verification, lambda text: p, lambda text: q, (), gamma))


@dataclass(frozen=True)
class Transfer:
    """One change of the baseline: what was predicted, and what came."""

    quantity: str
    unit: str
    change: dict[str, Any]
    before: float
    predicted: float
    after: float

    def __str__(self) -> str:
        ((name, value),) = self.change.items()
        return (
            f"{self.quantity}, {name} from {readable(BASELINE[name])} to {readable(value)}: before "
            f"{readable(self.before)}, predicted {readable(self.predicted)}, now {readable(self.after)} {self.unit}; "
            f"off by {readable(abs(self.predicted - self.after))}"
        )


def _what(model: Any) -> Any:
    """What a model is the same by: a chain by its numbers, any other by itself."""
    return (model.table.tobytes(), model.start.tobytes()) if isinstance(model, Chain) else id(model)


# ---- the investigation ----


class Investigation:
    """Runs samplers that cannot be looked into, and keeps what a report needs.

    Parameters
    ----------
    budget : int
        How many draws there are, for all samplers together. A draw is one text, or one round.
    samplers : mapping from str to callable, optional
        Rounds to look into, by name; those of `specdec_kit.mysteries` without it.
    truths : mapping from str to str, optional
        The class of each of these, where it is known.

    Attributes
    ----------
    names : tuple of str
    log : list of Drawn
        Every call, in order.
    predicted, verdicts : dict from str to Judgement
        What was stated before the first draw, and after.
    revealed : dict from str to Revealed
    """

    def __init__(
        self, budget: int = 40_000, *, samplers: Mapping[str, Callable[..., Tokens]] | None = None,
        truths: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self.budget, self._own, self._truths = budget, samplers, dict(truths or {})
        self.names = tuple(MYSTERIES if samplers is None else samplers)
        self.log: list[Drawn] = []
        self._made: dict[Any, tuple[Any, Drawn]] = {}
        self.predicted: dict[str, Judgement] = {}
        self.verdicts: dict[str, Judgement] = {}
        self.revealed: dict[str, Revealed] = {}
        self.counterexample: Counterexample | None = None
        self.transfer: Transfer | None = None

    def __repr__(self) -> str:
        return f"{len(self.names)} samplers, {self.spent:,} of {self.budget:,} draws spent, {self.left:,} left"

    def _known(self, name: str) -> str:
        if name not in self.names:
            raise ValueError(f"{name!r} is none of these samplers: they are {', '.join(self.names)}")
        return name

    @property
    def spent(self) -> int:
        return sum(len(one.texts) for one in self.log)

    @property
    def left(self) -> int:
        return self.budget - self.spent

    def draws(self, name: str) -> list[Drawn]:
        """All that was drawn from one sampler."""
        return [one for one in self.log if one.name == name]

    def draw(
        self, name: str, times: int, *, seed: int, length: int | None = None, gamma: int = 2, context: Tokens = (),
        target: Model = mysteries.TARGET, draft: Model = mysteries.DRAFT,
    ) -> Drawn:  # fmt: skip
        """Draw texts from a sampler, or single rounds; the same call again gives the same draws, and costs nothing.

        Parameters
        ----------
        name : str
            One of `names`.
        times : int
            How many draws, at least 1.
        seed : int
            Where their random numbers begin. One seed serves a sampler once: other draws from it would repeat these.
        length : int, optional
            Tokens of each text, over as many rounds as it takes; without it each draw is one round.
        gamma : int
            How many tokens a round drafts.
        context : tuple of int
            The tokens so far.
        target, draft : callable
            The models; those of the bench without them.

        Returns
        -------
        Drawn

        Raises
        ------
        OverBudget
            Where fewer draws are left. Nothing is drawn then.
        ValueError
            Where an argument is not of its kind, or the seed was used for other draws of the same sampler.
        """
        number = self.names.index(self._known(name))
        times, seed, gamma = _count(times, "times", 1), _count(seed, "seed"), _count(gamma, "gamma")
        length, context = None if length is None else _count(length, "length", 1), as_tokens(context, "context")
        key, call = (name, seed), (times, length, gamma, context, _what(target), _what(draft))
        if key in self._made:
            known, drawn = self._made[key]
            if known == call:
                return drawn
            raise ValueError(
                f"seed {seed} was used for other draws of {name}, and these would repeat them: take another seed"
            )
        if times > self.left:
            raise OverBudget(
                f"{times:,} draws of {name} are more than the {self.left:,} that are left of {self.budget:,}: "
                "draw fewer, or judge by what you have"
            )
        rng = np.random.default_rng([seed, number])
        texts = self._texts(name, times, length, gamma, context, target, draft, rng)
        drawn = Drawn(name, texts, seed, length, gamma, context, target, draft)
        self._made[key] = call, drawn
        self.log.append(drawn)
        return drawn

    def _texts(
        self, name: str, times: int, length: int | None, gamma: int, context: Tokens, target: Model, draft: Model,
        rng: Any,
    ) -> tuple[Tokens, ...]:  # fmt: skip
        """What a sampler gives: single rounds, or texts of one length."""
        round_ = mysteries.sealed(name) if self._own is None else self._own[name]
        return tuple(
            tuple(round_(target, draft, context, gamma, rng)) if length is None
            else write(round_, target, draft, context, gamma, length, rng)
            for _ in range(times)
        )  # fmt: skip

    # -- verdicts

    def predict(self, name: str, stated: Mapping[str, Any], because: str = "") -> None:
        """State, before the first draw, how likely each class is; parameters and errors as for `conclude`."""
        made = _verdict(stated, because)
        if self.draws(self._known(name)) and self.predicted.get(name) != made:
            raise ValueError(f"{name} was drawn from already: a prediction is made before the first draw")
        self.predicted[name] = made

    def conclude(self, name: str, stated: Mapping[str, Any], because: str = "") -> None:
        """State how likely each class is, after the draws.

        Parameters
        ----------
        name : str
            One of `names`.
        stated : mapping from str to number
            Probability of each of `specdec_kit.mysteries.CLASSES`; one that is left out has 0.
        because : str
            The reason, in a sentence.

        Raises
        ------
        ValueError
            Where these are no probabilities, or the sampler is revealed already.
        """
        made = _verdict(stated, because)
        if self._known(name) in self.revealed and self.verdicts[name] != made:
            raise ValueError(f"{name} is revealed: its verdict stays")
        self.verdicts[name] = made

    def reveal(self, name: str) -> Revealed:
        """Open a sampler, once there is a verdict on it.

        Raises
        ------
        ValueError
            Where there is no verdict yet.
        """
        if self._known(name) not in self.verdicts:
            raise ValueError(f"there is no verdict on {name} yet: conclude first, then look")
        if self._own is None:
            self.revealed[name] = mysteries.reveal(name)
        else:
            code, truth = _source(self._own[name]), self._truths[name]
            self.revealed[name] = Revealed(name, "", truth, "", code, self._own[name])
        return self.revealed[name]

    def scores(self, of: str = "verdicts") -> dict[str, float]:
        """Brier's score of each revealed sampler's verdict, or prediction (``of="predicted"``)."""
        made = getattr(self, of)
        return {name: brier(made[name].stated, one.truth) for name, one in self.revealed.items() if name in made}

    # -- the counterexample and the transfer test

    def show_counterexample(self, drawn: Drawn, text: str, because: str = "", level: float = 0.999) -> Counterexample:
        """Keep a text that came too often or too rarely.

        Parameters
        ----------
        drawn : Drawn
            Of `draw`, with a length.
        text : str
            Its letters, as in `Drawn.counts`; of the first tokens, if it is shorter.
        because : str
            Why the law is not the target's, in a sentence.
        level : float
            Confidence of the interval, for all texts of that length together.

        Raises
        ------
        ValueError
            Where the law knows no such text, or the interval holds what is due: then it is no counterexample.
        """
        found = drawn.report(len(text), level=level)
        if text not in found.tokens:
            raise ValueError(f"{text!r} is no text of these draws: they are such as {found.tokens[0]!r}")
        at, opened, exact = found.tokens.index(text), self.revealed.get(drawn.name), None
        if opened is not None:
            args = drawn.target, drawn.draft, drawn.context, drawn.gamma, len(text)
            exact = float(exact_law(write, opened.round_, *args).map(_letters).get(text, 0))
        made = Counterexample(
            drawn.name, text, float(found.p[at]), int(found.counts[at]), found.draws, tuple(found.band[at].tolist()),
            level, drawn.seed, drawn.gamma, because, exact,
        )  # fmt: skip
        if not made.excludes:
            raise ValueError(
                f"{text} is due {made.due:.4g}, and the interval {made.interval[0]:.4g} to {made.interval[1]:.4g} "
                "holds that: choose a text that it excludes, or a sampler that is wrong"
            )
        self.counterexample = made
        return made

    def try_transfer(self, quantity: str, unit: str, change: Mapping[str, Any], predicted: Any) -> Transfer:
        """Change one thing of `BASELINE`, and hold a prediction against what comes.

        Parameters
        ----------
        quantity : str
            One of `QUANTITIES`.
        unit : str
            What it is measured in.
        change : mapping
            One of p, q and gamma, with its new value.
        predicted : number
            The new value of the quantity, said before it is computed.

        Raises
        ------
        ValueError
            Where the unit is not the quantity's, or not just one thing changes.
        """
        if quantity not in QUANTITIES:
            raise ValueError(f"{quantity!r} is not measured here: take one of {', '.join(QUANTITIES)}")
        if unit != QUANTITIES[quantity][0]:
            raise ValueError(f"{quantity} is measured in {QUANTITIES[quantity][0]!r}, not in {unit!r}")
        if len(change) != 1 or not change.keys() <= BASELINE.keys():
            raise ValueError(f"{readable(change)} is to change one thing: p, q or gamma")
        ((name, value),) = change.items()
        if evidence.discrepancy(BASELINE[name], value) == 0:
            raise ValueError(f"{name} = {readable(value)} is the baseline itself: change it")
        values = [float(measured(quantity, **case)) for case in (BASELINE, {**BASELINE, name: value})]
        self.transfer = Transfer(quantity, unit, {name: evidence._plain(value, float)}, values[0], float(predicted),
                                 values[1])  # fmt: skip
        return self.transfer

    # -- the rubric

    def marks(self) -> list["Mark"]:
        """What the machine grades, in order, and what it leaves to a person."""
        every = len(self.names)
        drawn = [name for name in self.names if self.draws(name)]
        judged = [name for name in self.names if name in self.verdicts]
        opened = [name for name in judged if name in self.revealed]
        found = self.scores()
        honest = sum(1 - found[name] / 2 for name in opened) / every
        first = sum(name in self.predicted for name in self.names) / every
        shown, reasons = self.counterexample, sum(bool(self.verdicts[name].because) for name in judged)

        def lacks(some: Iterable[str], what: str) -> str:
            rest = [name for name in self.names if name not in some]
            return f"{what} {', '.join(rest)}." if rest else ""

        return [
            Mark("predictions", 10, first, lacks(self.predicted, "There is no prediction, before the first draw, of")),
            Mark("seeds and raw results", 20, len(drawn) / every, lacks(drawn, "Nothing was drawn from")),
            Mark("verdicts with confidence", 10, len(judged) / every, lacks(judged, "There is no verdict on")),
            Mark("Brier's score, 1 − score/2", 20, honest, lacks(opened, "Not revealed, so not scored:")),
            Mark("counterexample", 15, float(shown is not None), "" if shown else "There is no counterexample yet."),
            Mark("transfer test", 10, float(self.transfer is not None),
                 "" if self.transfer else "There is no transfer test yet."),
            Mark("reasons, in words", 15, None,
                 "" if reasons == every else f"{reasons} of {every} verdicts give a reason."),
        ]  # fmt: skip

    def missing(self) -> list[str]:
        """What the report still lacks, a sentence each; nothing where it is whole."""
        return [mark.lacks for mark in self.marks() if mark.lacks]

    def report(self, *code: Callable[..., Any]) -> "EvidenceReport":
        """The evidence, as it is by now.

        Parameters
        ----------
        *code : callable
            Functions of the reader's whose source goes into the report.
        """
        return EvidenceReport(self, {one.__name__: _source(one) for one in code})


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a bare prompt, or not written in Python
        return "the source is not kept"


@dataclass(frozen=True)
class Mark:
    """A line of the rubric."""

    what: str
    points: int
    share: float | None
    """How much of the points is reached; None where a person decides."""
    lacks: str

    @property
    def reached(self) -> str:
        return "for the teacher" if self.share is None else f"{self.points * self.share:.1f}"


# ---- the report ----

_STYLE = """
body{font:1rem/1.5 sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 1rem}
caption{text-align:left;font-weight:bold;padding:.3rem 0}
th,td{padding:.2rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid #767676}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.7rem}
summary{cursor:pointer}
""".strip()


def _table(caption: str, head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column names its rows."""
    top = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest) + "</tr>\n"
        for first, *rest in rows
    )  # fmt: skip
    return (
        f"<table><caption>{html.escape(caption)}</caption>\n<thead><tr>{top}</tr></thead>\n"
        f"<tbody>\n{body}</tbody></table>"
    )


class EvidenceReport:
    """All of an investigation on one page: shown as text, written as HTML or JSON."""

    def __init__(self, case: Investigation, code: Mapping[str, str]):
        self.case, self.code = case, dict(code)

    @property
    def points(self) -> tuple[float, int]:
        """Points that the machine gives, and how many it could."""
        graded = [mark for mark in self.case.marks() if mark.share is not None]
        return sum(mark.points * (mark.share or 0) for mark in graded), sum(mark.points for mark in graded)

    # -- its parts, each a head and rows

    def summary(self) -> list[str]:
        """The first lines: what a teacher reads first."""
        case, (points, most) = self.case, self.points
        found, before = (list(case.scores(of).values()) for of in ("verdicts", "predicted"))
        lines = [f"{points:.1f} of {most} points by machine, {100 - most} are the teacher's; {case!r}"]
        if found:
            right = sum(case.verdicts[name].kind == one.truth for name, one in case.revealed.items())
            blank = brier(dict.fromkeys(CLASSES, 1 / len(CLASSES)), "exact")
            predicted = f", before the draws {np.mean(before):.3f}" if before else ""
            lines.append(
                f"{right} of {len(found)} called right; Brier's score {np.mean(found):.3f} on average{predicted} "
                f"(knowing nothing: {blank:g}; 0 is best)"
            )
        return lines + case.missing()

    def _verdicts(self) -> tuple[list[str], list[list[str]]]:
        case, rows = self.case, []
        for name in case.names:
            opened, made = case.revealed.get(name), [case.predicted.get(name), case.verdicts.get(name)]
            score = f"{brier(made[1].stated, opened.truth):.3f}" if opened and made[1] else ""
            told = [str(one) if one else "" for one in made]
            because = made[1].because if made[1] else ""
            rows.append([name, *told, opened.truth if opened else "", score, because])
        return ["sampler", "predicted", "verdict", "truth", "Brier", "because"], rows

    def _draws(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for one in self.case.log:
            first = one.report(1)
            text = first if one.length in (None, 1) else one.report()
            low, high = first.interval[0]
            rows.append([
                one.name, str(one.seed), f"{len(one.texts):,}", "rounds" if one.length is None else str(one.length),
                str(one.gamma), f"{first.tokens[0]} {first.counts[0]:,}: {low:.4f} to {high:.4f}, due {first.p[0]:.4g}",
                f"{_smallest(first):.2g}", "" if text is first else f"{_smallest(text):.2g}",
            ])  # fmt: skip
        return ["sampler", "seed", "draws", "length", "γ", "first token, 95 %", "p-value, first token",
                "p-value, text"], rows  # fmt: skip

    def _marks(self) -> tuple[list[str], list[list[str]]]:
        return ["part", "of", "reached"], [[one.what, str(one.points), one.reached] for one in self.case.marks()]

    def _shown(self) -> list[str]:
        return [
            f"counterexample: {self.case.counterexample or 'none yet'}",
            f"transfer test: {self.case.transfer or 'none yet'}",
        ]

    def _predictions(self) -> list[list[str]]:
        made = {entry["name"]: entry for entry in evidence._kept() if entry["kind"] == "prediction"}
        return [[name, readable(one.get("value")), one.get("unit") or "", one["time"]] for name, one in made.items()]

    # -- shown

    def __repr__(self) -> str:
        parts = ["Evidence report", *map(wrapped, self.summary())]
        for head, rows in (self._verdicts(), self._draws(), self._marks()):
            table = [head, *rows]
            widths = [max(len(row[i]) for row in table) for i in range(len(head))]
            parts.append("")
            parts += ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in table]
        parts.append("")
        return "\n".join([*parts, *map(wrapped, self._shown())])

    def _repr_html_(self) -> str:
        """The same for a notebook: tables that a narrow window still shows in columns."""
        said = [f"<p>{html.escape(line)}</p>" for line in (*self.summary(), *self._shown())]
        tables = (("Verdicts", self._verdicts()), ("Draws", self._draws()), ("Points", self._marks()))
        return "\n".join([*said, *(_table(caption, *table) for caption, table in tables)])

    # -- written

    def facts(self) -> dict[str, Any]:
        """All of it as plain values: what the JSON file holds."""
        from specdec_kit import __version__

        case = self.case
        found: dict[str, Any] = {
            "kit": {"specdec_kit": __version__, "commit": evidence.commit_of_kit(), "time": evidence._now()}
            | {"numpy": np.__version__, "scipy": version("scipy"), "python": platform.python_version()},
            "summary": self.summary(),
            "budget": case.budget,
            "spent": case.spent,
            "predicted": {name: asdict(one) for name, one in case.predicted.items()},
            "verdicts": {name: asdict(one) for name, one in case.verdicts.items()},
            "truth": {name: one.truth for name, one in case.revealed.items()},
            "scores": {of: case.scores(of) for of in ("predicted", "verdicts")},
            "draws": [
                {"sampler": one.name, "seed": one.seed, "draws": len(one.texts), "length": one.length,
                 "gamma": one.gamma, "context": one.context, "on_the_bench": one.on_the_bench, "counts": one.counts,
                 "p_value_first_token": _smallest(one.report(1))}
                for one in case.log
            ],
            "counterexample": asdict(case.counterexample) if case.counterexample else None,
            "transfer": asdict(case.transfer) if case.transfer else None,
            "rubric": [asdict(mark) for mark in case.marks()],
            "predictions": [entry for entry in evidence._kept() if entry["kind"] == "prediction"],
            "records": list(evidence.records()),
            "code": self.code,
        }  # fmt: skip
        plain: dict[str, Any] = evidence._plain(found)
        return plain

    def page(self) -> str:
        """All of it as one page that needs no network."""
        case, facts = self.case, self.facts()
        first, *more = (f"<p>{html.escape(line)}</p>" for line in self.summary())
        raw = "".join(
            f"<h3>{html.escape(repr(one))}</h3>\n{one.report(1)._repr_html_()}\n"
            + _table("Raw counts", ["text", "count"], [[text, f"{count:,}"] for text, count in one.counts.items()])
            for one in case.log
        )  # fmt: skip
        code = "".join(
            f"<h3>{html.escape(name)}</h3>\n<pre>{html.escape(text)}</pre>\n" for name, text in self.code.items()
        )
        shown, made = case.counterexample, self._predictions()
        why = f"<p>{html.escape(shown.because)}</p>" if shown and shown.because else ""
        parts = [
            "<h1>Evidence report</h1>", first, *more,
            "<h2>Verdicts</h2>", _table("Before the draws, after them, and what it was", *self._verdicts()),
            "<h2>Draws</h2>", _table("Each call, with its seed", *self._draws()),
            "<h2>Counterexample</h2>", f"<p>{html.escape(str(shown or 'none yet'))}</p>", why,
            "<h2>Transfer test</h2>", f"<p>{html.escape(str(case.transfer or 'none yet'))}</p>",
            "<h2>Rubric</h2>", _table("Points", *self._marks()),
            "<h2>Predictions</h2>", f"<details><summary>{len(made)} committed in the lessons</summary>\n",
            _table("Of what, and when", ["of", "value", "unit", "time (UTC)"], made), "</details>",
            "<h2>Raw results</h2>", f"<details><summary>Counts and intervals</summary>\n{raw}</details>",
            "<h2>Code</h2>", code or "<p>none handed in</p>",
            "<h2>Made with</h2>",
            _table("Versions", ["what", "which"], [[key, str(value)] for key, value in facts["kit"].items()]),
        ]  # fmt: skip
        return (
            '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>Evidence report: speculative decoding</title>\n<style>{_STYLE}</style></head>\n<body><main>\n"
            + "\n".join(part for part in parts if part) + "\n</main></body>\n</html>\n"
        )  # fmt: skip

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, whole or not at all.

        Parameters
        ----------
        path : path
            Ends in ``.html`` (a page to read) or in ``.json`` (every number).

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            Where the name ends otherwise.
        """
        path = Path(path)
        if path.suffix == ".json":
            return write_whole(path, json.dumps(self.facts(), indent=1, ensure_ascii=False) + "\n")
        if path.suffix == ".html":
            return write_whole(path, self.page())
        raise ValueError(f"{path.name} ends neither in .json nor in .html: choose one of the two")

    def hand_in(self) -> list[Path]:
        """Write both into the reader's work folder; nothing where there is none, or where nothing was drawn yet."""
        folder = evidence.work_folder()
        if folder is None or not self.case.log:
            return []
        return [self.export(folder / f"investigation{end}") for end in (".html", ".json")]


def _smallest(report: uncertainty.Report) -> float:
    """P-value of a report's two tests together: twice the smaller one."""
    return min(1.0, 2 * min(report.smallest, report.fit.pvalue))
