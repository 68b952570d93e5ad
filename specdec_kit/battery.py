"""What an audit is made of: laws judged exactly or by counting, and a report of every check.

A law that can be walked is compared fraction by fraction. One that cannot is counted: each outcome, and one event, is
tested by its exact binomial law, so that the stated false-alarm rate holds however small it is. Each count comes with
the smallest bias that it would have found, and with a negative control: the same test on draws that are off on purpose.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from specdec_kit.evidence import readable
from specdec_kit.law import NotWalkable, TooManyBranches, as_fraction, exact_law
from specdec_kit.lines import wrapped
from specdec_kit.sampling import inverse_cdf
from specdec_kit.uncertainty import least_rise, two_sided
from specdec_kit.waiting import progress_bar
from specdec_kit.watch import TooLong, Trouble, Watch

ROUNDING = 1e-6
"""Total variation that passes as rounding: of a sampler that computes in float32, say."""
BRANCHES = 2_000
LEAST = 400
"""Draws of any law that is counted."""


KINDS = {
    "tokens": ("it returns", "an int", "1 … γ + 1 tokens"),
    "purity": ("inputs unchanged", "global state untouched"),
    "seeds": ("same seed",),
    "law": ("the law",),
    "joint law": ("joint law", "tokens in a row", "rows of a batch"),
    "boundary": ("u = 0", "u just below 1"),
    "rounding": ("rounding",),
    "speed": ("tokens kept",),
    "start-up": ("vocabularies",),
    "decoder": ("decoded tokens", "end of sequence"),
    "cache": ("cache",),
}
"""Kinds of checks, and how the names of theirs begin."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what came of it."""

    name: str
    case: str
    passed: bool | None
    """None where it could not be looked at; `advice` then says why."""
    expected: str = ""
    observed: str = ""
    tv: float | None = None
    """Total variation between what was due and what was seen (of counts: of their frequencies)."""
    pvalue: float | str | None = None
    """"exact", or of counts the p-value with the correction for all that was tested in this check."""
    detectable: float = 0.0
    """Smallest bias that this check finds 99 times in 100; 0 where it is exact."""
    advice: str = ""
    note: bool = False
    """A finding worth knowing that does not make the sampler wrong."""
    control: float | None = None
    """p-value of the negative control: a bias a fifth above `detectable`, put in on purpose."""

    @property
    def kind(self) -> str:
        """The kind of check that it is: a column of the kill matrix."""
        name = self.name.removeprefix("first token, ")
        return next(kind for kind, names in KINDS.items() if name.startswith(names))

    def of(self, part: str) -> "Check":
        """The same check, named as one of `part`."""
        return replace(self, name=f"{part}, {self.name}")

    def __str__(self) -> str:
        compared = f": due {self.expected}, seen {self.observed}" if self.expected else ""
        how = [f"TV {self.tv:.2g}"] if self.tv is not None else []
        if isinstance(self.pvalue, str):
            how.append(self.pvalue)
        elif self.pvalue is not None:
            how.append(f"p-value {self.pvalue:.1g}")
        on = f", {self.case}" if self.case else ""
        return f"{self.name}{on}{compared}{'; ' if how else ''}{', '.join(how)}"


@dataclass
class Report:
    """Result of an audit: every check that was made, and those that found something."""

    name: str
    alpha: float
    checks: list[Check] = field(default_factory=list)
    cannot_walk: str = ""
    """Why the sampler could not be walked; empty where it could."""
    interrupted: bool = False
    """Whether it ends before all was looked at."""

    @property
    def findings(self) -> list[Check]:
        """Checks that found something, faults first."""
        return sorted((check for check in self.checks if check.passed is False), key=lambda check: check.note)

    @property
    def passed(self) -> bool:
        """Whether all was looked at and nothing is wrong; a note alone does not count."""
        return not self.interrupted and all(check.note for check in self.findings)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds of checks that found something: "fault", or "note" where that is all."""
        return {check.kind: "note" if check.note else "fault" for check in reversed(self.findings)}

    @property
    def counted(self) -> list[Check]:
        """Checks that rest on counting."""
        return [check for check in self.checks if isinstance(check.pvalue, float)]

    def __repr__(self) -> str:
        found, made = self.findings, [check for check in self.checks if check.passed is not None]
        exact = sum(check.pvalue == "exact" for check in made)
        laws = [check for check in made if check.pvalue is not None]
        lawful = laws and all(check.passed for check in laws)
        words = "passed" if self.passed else "right in law, and wrong beside it" if lawful else "wrong"
        if self.interrupted:
            words = "interrupted" if all(check.note for check in found) else "interrupted, and wrong"
        lines = [f"audit of {self.name}: {words} ({len(made)} checks, {exact} laws exactly)"]
        for advice in dict.fromkeys(check.advice for check in found):
            those = [check for check in found if check.advice == advice]
            lines.append(f"  {'note' if those[0].note else 'fault'}: {advice}")
            lines += [f"    - {check}" for check in those[:3]]
            if len(those) > 3:
                lines.append(f"    - and {len(those) - 3} more such checks")
        if self.cannot_walk:
            lines.append(f"  not walked: {self.cannot_walk}")
        if self.counted:
            seen = dict.fromkeys(f"{end(check.detectable for check in self.counted):.2g}" for end in (min, max))
            missed = sum((check.control or 0.0) > self.alpha for check in self.counted)
            controls = f"{missed} negative controls were missed" if missed else "every negative control was found"
            lines += [
                f"  counted: {len(self.counted)} of the laws, with false alarms at most {self.alpha:g} in all;",
                f"      biases from {' … '.join(seen)} on are found 99 times in 100; {controls}",
            ]
        lines += [
            f"  not looked at: {check.name}{', ' if check.case else ''}{check.case}: {check.advice}"
            for check in self.checks
            if check.passed is None
        ]
        return wrapped("\n".join(lines))


class Interrupted(KeyboardInterrupt):
    """An audit that was broken off, by Ctrl+C say; `report` has what it found until then."""

    def __init__(self, report: Report):
        super().__init__(report)
        self.report = report
        report.interrupted = True


@dataclass(frozen=True)
class Judged:
    """A law, and how it compares with the one that was due."""

    law: Mapping[Any, Any]
    wrong: bool
    tv: float
    pvalue: float | str
    detectable: float
    draws: int = 0
    """How many were counted; 0 where the law is exact."""
    unknown: float = 0.0
    """Mass of the branches that were not walked to their end."""
    control: float | None = None


def judge(
    sampler: Callable[[Any], Any],
    due: Mapping[Any, Any],
    event: Iterable[Any],
    *,
    share: float,
    draws: int,
    rng: Any,
    branches: int = 0,
    many: Callable[[int, Any], Iterable[Any]] | None = None,
    seconds: float = math.inf,
) -> Judged:
    """Compare the law of ``sampler(rng)`` with `due`: exactly if it can be walked, else by counting `draws` of it.

    Parameters
    ----------
    sampler : callable
        Returns one outcome.
    due : mapping
        Probability of each outcome that may occur.
    event : iterable
        Outcomes whose total is tested as well: those that most faults make too rare, or too frequent.
    share : float
        False-alarm rate of this comparison.
    draws : int
        How many to count.
    rng : numpy.random.Generator
        For the draws and the negative control.
    branches : int
        How many branch points to walk; 0 goes straight to counting.
    many : callable, optional
        ``many(n, rng)`` returns n outcomes at once.
    seconds : float
        After which counting ends, if `LEAST` draws are made.

    Raises
    ------
    Trouble
        Where the sampler does not return.
    NotWalkable, TooManyBranches
        Where it cannot be walked, or not to the end; then count it, with ``branches=0``.
    """
    if branches:
        try:
            law = exact_law(sampler, max_branches=branches)
        except TooManyBranches as stopped:
            # What was found is a lower bound; where that alone is above what is due, the law is wrong.
            excess = sum((max(mass - as_fraction(due.get(x, 0)), Fraction(0)) for x, mass in stopped.law.items()), 0)
            tv, unknown = float(excess), float(1 - stopped.covered)
            if tv > ROUNDING or unknown < ROUNDING:
                return Judged(stopped.law, tv > ROUNDING, tv, "exact", 0.0, unknown=unknown)
            raise
        else:
            tv = float(law.total_variation(due))
            return Judged(law, tv > ROUNDING, tv, "exact", 0.0)
    drawn = many(draws, rng) if many else (sampler(rng) for _ in range(draws))
    counts = Counter(_in_time(drawn, time.monotonic() + seconds))
    return _counted(counts, due, set(event), share, rng)


def _in_time(outcomes: Iterable[Any], end: float) -> Iterator[Any]:
    for i, outcome in enumerate(outcomes):
        yield outcome
        if i >= LEAST and time.monotonic() > end:
            return


def _counted(counts: Counter[Any], due: Mapping[Any, Any], event: set[Any], share: float, rng: Any) -> Judged:
    n, outcomes = counts.total(), [*due, *(x for x in counts if x not in due), "what never occurs"]
    k = np.array([counts[x] for x in outcomes])
    p = np.array([float(due.get(x, 0)) for x in outcomes])
    inside = np.array([x in event for x in outcomes])
    if not 0 < p[inside].sum() < 1 - 1e-12:
        inside = np.arange(len(p)) == p.argmax()
    cells, mass = len(p) + 1, min(1.0, float(p[inside].sum()))
    # How much likelier what is not in the event has to get, at the least, to be found 99 times in 100.
    bias = float(least_rise(n, 1 - mass, share / cells / 2, 0.99))

    def pvalue(k: Any) -> float:
        each = two_sided(np.append(k, k[inside].sum()), n, np.clip(np.append(p, mass), 0, 1))
        return float(min(1.0, cells * each.min()))

    shift = np.where(inside, -p / mass, p / (1 - mass) if mass < 1 else np.arange(len(p)) == len(p) - 1)
    off = np.clip(p + min(1.2 * bias, 0.9 * mass) * shift, 0, None)
    control = pvalue(np.bincount(inverse_cdf(off, rng.random(n)), minlength=len(p)))
    tv, found = float(np.abs(k / n - p).sum() / 2), pvalue(k)
    return Judged({x: c / n for x, c in counts.items()}, found <= share, tv, found, bias, n, 0.0, control)


def law_check(name: str, case: str, due: Mapping[Any, Any], judged: Judged, share: float, advice: str) -> Check:
    """The comparison of a law as a check."""
    expected, observed = _side_by_side(due, judged.law)
    if judged.control is not None and judged.control > share and not judged.wrong:
        missed = f"its negative control was missed (p-value {judged.control:.2g}): draw more"
        return Check(name, case, None, detectable=judged.detectable, advice=missed, control=judged.control)
    return Check(
        name, case, not judged.wrong, expected, observed, judged.tv, judged.pvalue, judged.detectable,
        advice if judged.wrong else "", control=judged.control,
    )  # fmt: skip


def _side_by_side(due: Mapping[Any, Any], seen: Mapping[Any, Any]) -> tuple[str, str]:
    """Both laws as text: as vectors where they are short, else the outcomes that differ most."""
    outcomes = list(due) + [x for x in seen if x not in due]
    if all(isinstance(x, int) for x in outcomes) and max(outcomes) < 8:
        every = range(max(outcomes) + 1)
        vectors = [readable([round(float(law.get(x, 0)), 6) for x in every]) for law in (due, seen)]
        return vectors[0], vectors[1]
    most = sorted(outcomes, key=lambda x: -abs(float(seen.get(x, 0)) - float(due.get(x, 0))))[:3]
    return _some(due, most), _some(seen, most)


def _some(law: Mapping[Any, Any], outcomes: Iterable[Any]) -> str:
    return "{" + ", ".join(f"{x}: {readable(round(float(law.get(x, 0)), 6))}" for x in outcomes) + ", …}"


def name_of(function: Any) -> str:
    return getattr(function, "__name__", "your function")


class Battery:
    """What every audit is: a function under watch, a report to fill, and a false-alarm rate to spend on it."""

    TESTS: int
    """How many laws are judged at most, each with an equal share of alpha."""

    def __init__(self, function: Any, alpha: float, draws: int, seed: int, patience: float):
        if not callable(function):
            raise TypeError(f"{function!r} is not callable: pass the function itself")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha}: give a false-alarm rate between 0 and 1, such as 1e-6")
        if draws < LEAST:
            raise ValueError(f"draws is {draws}: with fewer than {LEAST} next to nothing can be seen")
        self.function, self.draws, self.share = function, draws, alpha / self.TESTS
        self.seeds = np.random.SeedSequence(seed)
        self.report = Report(name_of(function), alpha)
        bar = progress_bar(f"audit of {self.report.name}, laws", self.TESTS)
        with Watch(function, patience) as self.call, np.errstate(divide="ignore", invalid="ignore"), bar as self.judged:
            try:
                self.run()
            except Trouble as trouble:
                self.fault("it returns", "", trouble)  # without a case: it was not run at all
            except KeyboardInterrupt:
                raise Interrupted(self.report) from None

    def run(self) -> None:
        raise NotImplementedError

    def outcome(self, run: Callable[..., Any], *args: Any) -> Any:
        """What `run` returns, or as text what it did instead: a branch of next to no mass must not stop a walk."""
        try:
            return run(*args)
        except TooLong:
            raise
        except Trouble as trouble:
            return str(trouble)

    def rng(self) -> Any:
        return np.random.default_rng(self.seeds.spawn(1)[0])

    def add(self, name: str, case: str, passed: bool | None, advice: str = "", **more: Any) -> None:
        self.report.checks.append(Check(name, case, passed, advice="" if passed else advice, **more))

    def fault(self, name: str, case: str, trouble: object) -> None:
        self.add(name, case, False, sentence(str(trouble)))

    def judge(
        self, sampler: Any, due: Any, event: Any, part: float = 1.0, branches: int = BRANCHES, many: Any = None
    ) -> Judged:
        """Judge a law, exactly until the sampler turns out not to be walkable; `Trouble` where it gives no outcome."""
        rest = {
            "share": self.share,
            "draws": max(LEAST, int(self.draws * part)),
            "rng": self.rng(),
            "many": many,
            "seconds": self.call.patience,
        }
        run, found = partial(self.outcome, sampler), None
        if branches and not self.report.cannot_walk:
            try:
                found = judge(run, due, event, branches=branches, **rest)
            except NotWalkable as why:
                self.report.cannot_walk = str(why)
            except TooManyBranches:
                if len(due) <= 8:  # else there may just be many, and the next case may have fewer
                    self.report.cannot_walk = "its branches are too many (a loop may go round any number of times)"
        found = found or judge(run, due, event, **rest)
        broken = [x for x, mass in found.law.items() if isinstance(x, str) and mass > ROUNDING]
        if broken:
            raise Trouble(broken[0])
        self.judged()
        return found


def sentence(text: str) -> str:
    text = "It" + text[2:] if text.startswith("it ") else text
    return text + ("" if text.endswith((".", "!", "?")) else ".")
