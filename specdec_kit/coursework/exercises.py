"""The exercises of the lessons: where each stands, its points, and how it is graded.

A check gets the reader's function, in a process of its own (`specdec_kit.coursework.remote`), and a generator from
which cases come that the reader has not seen; without a generator it tries those of the lesson. Values are judged here.
Whether a sampler is right its exact law tells, walked over there, and so as advice alone; here its draws are counted.
False alarms: a right sampler fails about once in a million gradings; a right value never, since cases are multiples of
1/64 or the like, which floats hold exactly, and answers that only rounding decides are left out.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from specdec_kit import selfcheck
from specdec_kit.evidence import readable
from specdec_kit.law import exact_law
from specdec_kit.models import Chain, generate
from specdec_kit.mysteries import CLASSES
from specdec_kit.selfcheck import Case, Fault, Verdict

if TYPE_CHECKING:
    from specdec_kit.coursework.remote import Remote

Check = Callable[["Remote", np.random.Generator | None], Verdict]
Draw = Callable[..., list[Any]]

ALPHA = 1e-6
"""False-alarm rate of the counts of one exercise."""
DRAWS, TEXTS = 10_000, 4_000
"""How many tokens, or pairs of tokens, are drawn for each case; and how many texts."""
AGAIN = 200
"""Draws that are made twice, by the same seed."""


class Exercise(NamedTuple):
    """One cell that a reader fills in."""

    lesson: str
    """Name of the notebook, without its ending."""
    cell: str
    """Id of the cell."""
    function: str
    points: int
    title: str
    """Heading that it stands under."""
    check: Check
    shares: str = ""
    """Exercises of a lesson that have the same word here run in one process; without it each has its own."""
    share: Callable[["Remote"], float] | None = None
    """How much of the points is reached where the check passes; all of them without it."""


class ByHand(NamedTuple):
    """What a person grades."""

    lesson: str
    cell: str
    points: int
    what: str


# ---- values, judged here ----


def _values(check: Callable[..., Verdict], cases: Callable[[np.random.Generator], list[Case]]) -> Check:
    """The lesson's check, on other cases."""
    return lambda remote, rng: check(remote.function, **({} if rng is None else {"cases": cases(rng)}))


def _answer(check: Callable[..., Verdict]) -> Check:
    """The lesson's check of an answer that is one for all, or that is judged by what it does."""
    return lambda remote, rng: check(remote.function)


def _whole(rng: np.random.Generator, low: int, high: int) -> int:
    """A whole number from `low` to `high`; by `random` alone, whose stream stays the same in every NumPy."""
    return low + int(rng.random() * (high - low + 1))


def _law(rng: np.random.Generator, size: int) -> list[float]:
    """Positive multiples of 1/64."""
    cuts = np.sort(np.argsort(rng.random(63))[: size - 1] + 1)
    return [float(part) / 64 for part in np.diff([0, *cuts, 64])]


def _off(a: Sequence[float], b: Sequence[float]) -> float:
    """Total variation."""
    return float(np.abs(np.subtract(a, b)).sum() / 2)


def _pair(rng: np.random.Generator, size: int, zero: bool = False) -> tuple[list[float], list[float]]:
    """Two laws such that a wrong test shows, and a wrong residual too: it has two tokens or more."""
    while True:
        p, q = _law(rng, size - zero), _law(rng, size)
        if zero:
            p.insert(_whole(rng, 0, size - 1), 0.0)
        if np.greater(p, q).sum() >= 2 and 0.25 <= _off(p, q) <= 0.65:
            return p, q


def _pairs(rng: np.random.Generator) -> list[Case]:
    return [_pair(rng, 3), _pair(rng, 4, zero=True), _pair(rng, 5)]


def _all_pairs(rng: np.random.Generator) -> list[Case]:
    """Those above; two tokens; equal, disjoint, one-hot."""
    equal = _law(rng, 3)
    return [
        *_pairs(rng), (_law(rng, 2), _law(rng, 2)), (equal, list(equal)),
        ([0.0, 0.0, *_law(rng, 2)], [*_law(rng, 2), 0.0, 0.0]), ([0.0, 1.0, 0.0], _law(rng, 3)),
    ]  # fmt: skip


def _widths(rng: np.random.Generator) -> list[Case]:
    """Numbers of draws that are well above a whole one or well below it; and once just a whole one."""
    cases: list[Case] = []
    while len(cases) < 4:
        p, width = Fraction(_whole(rng, 3, 28), 64), Fraction(_whole(rng, 4, 40), 1024)
        if 0.1 < (4 * p * (1 - p) / width**2 + Fraction(len(cases) % 2, 2)) % 1 < 0.4:
            cases.append((float(p), float(width)))
    return [*cases, (0.5, 0.5 ** _whole(rng, 3, 7))]


def _unseen_cases(rng: np.random.Generator) -> list[Case]:
    return [
        (_whole(rng, 5, 40),),
        (_whole(rng, 50, 400), _whole(rng, 40, 60) / 64),
        (_whole(rng, 2_000, 9_000), 0.96875),
    ]


# In 64ths; right, and each of four mistakes, take another k.
_TELLING = (([26, 17, 15, 5, 1], [20, 21, 8, 9, 6]), ([32, 23, 5, 3, 1], [16, 18, 9, 17, 4]))


def _cuts(rng: np.random.Generator) -> list[Case]:
    from specdec_kit.distributions import overlap, top_k

    def shuffled(*laws: Any) -> Case:
        order = np.argsort(rng.random(len(laws[0])))
        return tuple(np.asarray(law, dtype=float)[order].tolist() for law in laws)

    p, q = np.divide(_TELLING[_whole(rng, 0, 1)], 64)
    cases = [shuffled(p, q)]
    while len(cases) < 6:
        p, q = _pair(rng, _whole(rng, 4, 6))
        *_, second, best = sorted(overlap(p, top_k(q, k)) for k in range(1, len(p) + 1))
        if len(set(q)) == len(q) and best - second > 1e-3:  # no ties, in which rounding decides
            cases.append((p, q))
    equal = [*_law(rng, 3), 0.0, 0.0]  # but this one, which floats hold exactly
    return [*cases, shuffled(equal, equal)]


def _chances(rng: np.random.Generator) -> list[Case]:
    a, b, c, d = (_whole(rng, *ends) / 64 for ends in ((40, 56), (16, 32), (8, 56), (8, 56)))
    return [((a, b),), ((c, a, b),), ((b, c, d, a),), ((d,),), ((0.0, c),), ((1.0, 1.0),), ((),)]


def _seconds(rng: np.random.Generator) -> list[Case]:
    slow, quick, third, same = (_whole(rng, *ends) / 4096 for ends in ((33, 49), (17, 24), (20, 24), (10, 30)))
    return [(slow, quick), (_whole(rng, 6, 10) / 4096, slow), (third, _whole(rng, 4, 5) / 4096), (same, same)]


def _costs(rng: np.random.Generator) -> list[Case]:
    def case(gamma: int, alpha: float | None = None, c: float | None = None) -> Case:
        rises = [_whole(rng, 3, 30) / 64 for _ in range(gamma + _whole(rng, 1, 3))]
        costs = tuple(np.cumsum([1.0, *rises]).tolist())
        return (
            _whole(rng, 16, 56) / 64 if alpha is None else alpha, gamma,
            (2 * _whole(rng, 20, 120) + 1) / 1024 if c is None else c, costs,
        )  # fmt: skip

    return [
        case(_whole(rng, 2, 4)), case(_whole(rng, 3, 6)), case(2, c=0.0), case(0), case(_whole(rng, 1, 3), alpha=1.0),
        case(_whole(rng, 1, 3), alpha=0.0),
    ]  # fmt: skip


def _batches(rng: np.random.Generator) -> list[Case]:
    def case(*kinds: str) -> Case:
        tokens = float(2 ** _whole(rng, 1, 2))  # with a power of two equal times are equal, however one divides
        plain: dict[int, float] = {}
        drafted: dict[int, float] = {}
        for n, kind in enumerate(kinds):
            eighths = _whole(rng, 2, 6) / 8
            by = {"quick": eighths, "gain": 1 + eighths * (tokens - 1), "equal": tokens, "loss": tokens * (1 + eighths)}
            plain[2**n] = (64 * n + _whole(rng, 16, 64)) / 64
            drafted[2**n] = plain[2**n] * by[kind]
        last_first = list(plain)[::-1]
        return tokens, {batch: plain[batch] for batch in last_first}, {batch: drafted[batch] for batch in last_first}

    return [
        case("quick", "gain", "equal", "gain", "loss", "loss"),  # right, and each of five mistakes, take another batch
        case("gain", "gain", "loss", "loss"), case("loss", "gain", "gain"), case("quick", "gain", "gain"),
        case("equal", "loss"), case("gain", "loss", "gain", "equal"),
    ]  # fmt: skip


def _stated(rng: np.random.Generator) -> list[Case]:
    kinds = list(CLASSES)

    def case(*masses: float) -> Case:
        order = np.argsort(rng.random(len(kinds)))[: len(masses)]
        stated = tuple((kinds[at], mass) for at, mass in zip(order, masses, strict=True))
        return stated, stated[_whole(rng, 0, len(masses) - 1)][0]

    return [case(*_law(rng, size)) for size in (3, 4, 4, 2, 3)] + [case(1.0, 0.0, 0.0) for _ in range(3)]


# ---- samplers: their exact law over there, and their draws here ----


def _outcome(value: Any) -> Any:
    """A token as a number, tokens as a tuple; what is neither as a text, which no law knows."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(_outcome, value))
    return value if isinstance(value, int | float) else repr(value)[:40]


def _follow(draw: Draw, draws: int, tried: Sequence[tuple[Case, Mapping[Any, Any]]], rng: np.random.Generator) -> None:
    """Raise a `Fault` where seeded draws do not follow their law, or do not repeat themselves."""
    from specdec_kit.uncertainty import goodness_of_fit  # which takes SciPy with it

    for args, law in tried:
        on = f" on {', '.join(readable(getattr(one, 'table', one)) for one in args)}" if args else ""
        seed = int(rng.random() * 2**32)
        drawn = [_outcome(one) for one in draw(draws, seed, *args)]
        if [_outcome(one) for one in draw(AGAIN, seed, *args)] != drawn[:AGAIN]:
            raise Fault("the same seed gives other draws: draw from rng alone")
        counts = Counter(drawn)
        for one in counts:
            if one not in law:
                raise Fault(f"a seeded draw gave {readable(one):.60}{on}: that cannot come")
        fit = goodness_of_fit([counts[one] for one in law], [float(mass) for mass in law.values()])
        if fit.pvalue < ALPHA / len(tried):
            one, mass = list(law.items())[fit.token]
            raise Fault(
                f"its law looks right, but {draws:,} seeded draws do not follow it: {readable(one)} is due "
                f"{float(mass):.4g} and came {counts[one] / draws:.4g}{on}"
            )


def _sampler(
    check: str,
    tried: Callable[[np.random.Generator], Sequence[tuple[Case, Mapping[Any, Any]]]],
    keywords: Callable[[np.random.Generator], dict[str, Any]] = lambda rng: {},
    texts: bool = False,
) -> Check:
    """A check of `specdec_kit.selfcheck`, made over there; then the draws in each case, held against its law here.

    The draws come from another process: in the first the check knew what is due, and whoever looks for it finds it.
    """

    def checked(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
        verdict = Verdict(False, "")

        def judged() -> None:
            nonlocal verdict
            verdict = remote.verdict(check, **({} if rng is None else keywords(rng)))
            if verdict and rng is not None:
                with remote.anew() as other:
                    _follow(other.texts if texts else other.draws, TEXTS if texts else DRAWS, tried(rng), rng)

        judged.__name__ = remote.name
        wrong = selfcheck._stopped(judged)
        return Verdict(False, wrong) if wrong else verdict

    return checked


def _laws(law: Callable[[Any, Any], Mapping[Any, Any]]) -> Callable[[np.random.Generator], list[Any]]:
    """Pairs, as arrays, and the law that is due on each."""
    return lambda rng: [((np.array(p), np.array(q)), law(p, q)) for p, q in _pairs(rng)]


def _target(p: Any, q: Any) -> Mapping[Any, Any]:
    return dict(enumerate(p))


def _upside_down(p: Any, q: Any) -> Mapping[Any, Any]:
    from specdec_kit.diagnosis import inverted

    return dict(enumerate(inverted(p, q)))


def _independent(p: Any, q: Any) -> Mapping[Any, Any]:
    return {(i, j): a * b for i, a in enumerate(p) for j, b in enumerate(p)}


def _seed(rng: np.random.Generator) -> dict[str, Any]:
    return {"seed": _whole(rng, 0, 2**31)}


def _texts(rng: np.random.Generator) -> list[tuple[Case, Mapping[Any, Any]]]:
    """Three tokens of a target whose law depends on the token before, as the draft's does, and differs from it."""
    tried: list[tuple[Case, Mapping[Any, Any]]] = []
    while len(tried) < 2:
        target, draft = zip(*(_pair(rng, 3) for _ in range(3)), strict=True)
        apart = min(_off(model[i], model[j]) for model in (target, draft) for i, j in ((0, 1), (0, 2), (1, 2)))
        if apart >= 0.25:
            model, context = Chain(target), (_whole(rng, 0, 2),)
            law = exact_law(generate, model, context, 3)
            tried.append(((model, Chain(draft), context, 2 - len(tried), 3), law))  # γ is 2, then 1: more bonus tokens
    return tried


# ---- pairs that hide a fault, and show it: of the kit's own samplers ----


def _hidden_reuse(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
    from specdec_kit.faults import GALLERY  # which takes SciPy with it, as the next two do

    return selfcheck.check_hidden_reuse(remote.function, GALLERY["reuses_test"].sampler)


def _argmax_pairs(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
    from specdec_kit.faults import GALLERY

    return selfcheck.check_argmax_pairs(remote.function, GALLERY["tests_argmax"].sampler)


def _row_pairs(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
    from specdec_kit.round_faults import rows_one_late

    return selfcheck.check_row_pairs(remote.function, rows_one_late)


# ---- tests and clocks ----


def _my_test(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
    return selfcheck.check_my_test(remote.function, **({} if rng is None else _seed(rng)))


# ---- the investigation ----


def _step(check: Callable[..., Verdict], name: str) -> Check:
    """A step that is made over there on a case of its own, and made again here on the grader's."""

    def checked(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
        def step(case: Any) -> None:
            remote.calls(name)

        step.__name__ = name
        return check(step, remote.case)

    return checked


def _investigate(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
    """The verdicts; then all that were judged are revealed, as in the lesson."""
    verdict = _step(selfcheck.check_conclusions, "investigate")(remote, rng)
    for name in remote.case.verdicts:
        remote.case.reveal(name)
    return verdict


def _reached(remote: "Remote") -> float:
    parts = ("seeds and raw results", "verdicts with confidence", "Brier's score, 1 − score/2")
    marks = [mark for mark in remote.case.marks() if mark.what in parts]
    return sum(mark.points * (mark.share or 0) for mark in marks) / sum(mark.points for mark in marks)


def _transfer(remote: "Remote", rng: np.random.Generator | None) -> Verdict:
    return selfcheck.check_transfer(remote.function, remote.case)


# ---- the table ----

_DIE: list[tuple[Case, Mapping[Any, Any]]] = [((), {**dict.fromkeys(range(1, 6), 0.1), 6: 0.5})]

EXERCISES = (
    Exercise("00_start_here", "exercise-die", "die", 5, "Exercise 1: a loaded die",
             _sampler("check_die", lambda rng: _DIE)),
    Exercise("01_two_token_derivation", "account", "account", 10, "Your own pair",
             _values(selfcheck.check_account, _all_pairs)),
    Exercise("01_two_token_derivation", "exercise-half", "half_accepted", 5, "Exercise 1: half of the drafts",
             _answer(selfcheck.check_half_accepted)),
    Exercise("01_two_token_derivation", "exercise-inverted", "inverted", 10,
             "Exercise 2: the letters the other way round",
             _sampler("check_inverted", _laws(_upside_down), lambda rng: {"cases": _all_pairs(rng)})),
    Exercise("01_two_token_derivation", "exercise-blind", "blind_pair", 15,
             "Exercise 3: a pair on which the shortcut looks right", _answer(selfcheck.check_blind_pair)),
    Exercise("02_seeded_sampling", "my-sampler", "my_sampler", 15, "Write it",
             _sampler("check_sampler", _laws(_target), _seed)),
    Exercise("02_seeded_sampling", "exercise-draws", "draws_needed", 5, "Exercise 1: how many draws?",
             _values(selfcheck.check_draws_needed, _widths)),
    Exercise("02_seeded_sampling", "exercise-two", "two_tokens", 10, "Exercise 2: two tokens, independent",
             _sampler("check_two_tokens", _laws(_independent), lambda rng: {"cases": _pairs(rng)})),
    Exercise("02_seeded_sampling", "exercise-hidden", "hidden_and_shown", 15, "Exercise 3: a counterexample",
             _hidden_reuse),
    Exercise("03_report_uncertainty", "exercise-unseen", "unseen", 5, "Exercise 1: never seen",
             _values(selfcheck.check_unseen, _unseen_cases)),
    Exercise("03_report_uncertainty", "exercise-test", "my_test", 10, "Exercise 2: a test of your own", _my_test),
    Exercise("03_report_uncertainty", "exercise-fool", "fooling", 15, "Exercise 3: a law that fools three tests",
             _answer(selfcheck.check_fooling)),
    Exercise("04_mismatch_proposals", "exercise-audit", "mended", 5, "Exercise 1: pass the audit",
             _sampler("check_audited", _laws(_target), _seed)),
    Exercise("04_mismatch_proposals", "exercise-cut", "best_cut", 10, "Exercise 2: cut the draft, and declare it",
             _values(selfcheck.check_best_cut, _cuts)),
    Exercise("04_mismatch_proposals", "exercise-argmax", "hidden_and_shown", 15,
             "Exercise 3: a counterexample of your own", _argmax_pairs),
    Exercise("05_draft_blocks", "exercise-mean", "mean_tokens", 5, "Exercise 1: places of their own",
             _values(selfcheck.check_mean_tokens, _chances)),
    Exercise("05_draft_blocks", "exercise-round", "my_round", 10, "Exercise 2: a round of your own",
             _sampler("check_round", _texts, _seed, texts=True)),
    Exercise("05_draft_blocks", "exercise-rows", "hidden_and_shown", 15, "Exercise 3: hide the late row", _row_pairs),
    Exercise("06_time_on_gpu", "exercise-ratio", "time_ratio", 10, "Exercise 1: time fairly",
             _values(selfcheck.check_time_ratio, _seconds)),
    Exercise("06_time_on_gpu", "exercise-speedup", "speedup", 5, "Exercise 2: the speed-up with real costs",
             _values(selfcheck.check_speedup, _costs)),
    Exercise("06_time_on_gpu", "exercise-crossover", "crossover", 10, "Exercise 3: where the gain is gone",
             _values(selfcheck.check_crossover, _batches)),
    Exercise("07_investigate", "exercise-brier", "my_brier", 5, "Exercise 1: the score",
             _values(selfcheck.check_brier, _stated)),
    Exercise("07_investigate", "exercise-labels", "from_labels", 10, "Exercise 2: from the labels alone",
             _step(selfcheck.check_predictions, "from_labels"), shares="case"),
    Exercise("07_investigate", "exercise-investigate", "investigate", 50, "Exercise 3: investigate",
             _investigate, shares="case", share=_reached),
    Exercise("07_investigate", "exercise-counterexample", "counterexample", 15, "Exercise 4: one counterexample",
             _step(selfcheck.check_counterexample, "counterexample"), shares="case"),
    Exercise("07_investigate", "exercise-transfer", "transfer", 10, "Exercise 5: your own transfer test", _transfer),
)  # fmt: skip
"""Every exercise, in the order of the lessons."""

BY_HAND = (ByHand("07_investigate", "exercise-investigate", 15, "reasons, in words"),)
