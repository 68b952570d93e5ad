"""Self-checks: take the reader's own function, try it on cases with known answers, and say why it fails.

A check knows a few mistakes by the answers they give. Where the reader's answer is one of those, the advice names the
mistake; otherwise it shows the case, the answer that was due and the one that came.

By itself a check tries the cases of its lesson, always the same. A grader gives other `cases`, arguments of the same
kind, or another `seed` of what is drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specdec_kit.clocks import SimulatedDevice
from specdec_kit.distributions import overlap, top_k
from specdec_kit.evidence import discrepancy, readable
from specdec_kit.law import Law, TooManyBranches, exact_law
from specdec_kit.lines import wrapped
from specdec_kit.models import Chain, generate
from specdec_kit.sampling import inverse_cdf

Case = tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """What a check found; true if the function passed."""

    passed: bool
    says: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return wrapped(f"{'passed' if self.passed else 'not yet'}: {self.says}")


class Fault(Exception):
    """What is wrong with an answer, as a sentence that stands by itself."""


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "your function")


def check(
    function: Callable[..., Any],
    cases: Sequence[Case],
    right: Callable[..., Any],
    mistakes: Mapping[str, Callable[..., Any]] | None = None,
) -> Verdict:
    """Try a function on cases with known answers.

    Parameters
    ----------
    function : callable
        The reader's; one that raises NotImplementedError counts as not written yet.
    cases : sequence of tuple
        Arguments to call it with.
    right : callable
        The known answer for the same arguments.
    mistakes : mapping from str to callable, optional
        Advice, and the answer of the function that needs it.

    Returns
    -------
    Verdict
    """
    for case in cases:
        on = f"on {', '.join(readable(part) for part in case)} " if case else ""
        try:
            answer = function(*case)
        except NotImplementedError:
            return Verdict(False, f"{_name(function)} is not written yet.")
        except Fault as fault:
            return Verdict(False, f"{on}{fault}.")
        except Exception as problem:  # whatever a reader's code raises becomes advice
            return Verdict(False, f"{on}it raises {type(problem).__name__}: {problem}")
        due = right(*case)
        if discrepancy(due, answer) > 1e-9:
            for advice, mistaken in (mistakes or {}).items():
                if discrepancy(mistaken(*case), answer) <= 1e-9:
                    return Verdict(False, f"{advice} ({on}due {readable(due)}, yours {readable(answer)})")
            return Verdict(False, f"{on}{readable(due)} is due; yours is {readable(answer)}.")
    return Verdict(True, f"{_name(function)} is right{f' on {len(cases)} cases' if len(cases) > 1 else ''}.")


# ---- samplers ----

# The pair of the lessons; more tokens; p = 0; equal; disjoint; one-hot; and a residual of two tokens, whose laws tell
# mistakes apart.
PAIRS: tuple[Case, ...] = (
    ([0.4, 0.4, 0.2], [0.2, 0.1, 0.7]),
    ([0.7, 0.3], [0.4, 0.6]),
    ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
    ([0.0, 0.5, 0.5], [0.5, 0.25, 0.25]),
    ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
    ([0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]),
    ([1.0, 0.0, 0.0], [0.25, 0.25, 0.5]),
)


def check_sampler(sampler: Callable[[Any, Any, Any], int], *, seed: int = 0) -> Verdict:
    """Check a one-token sampler: the first finding of `specdec_kit.audit.audit_sampler` on small pairs, the law first.

    Large vocabularies, and laws that are equal but for rounding, are left to the audit itself.

    Parameters
    ----------
    sampler : callable
        ``sampler(p, q, rng) -> int``.
    seed : int
        Of what is drawn and counted.

    Returns
    -------
    Verdict
    """
    from specdec_kit.token_audit import CASES, TokenAudit  # which take SciPy with them

    if not callable(sampler):
        return Verdict(False, f"{sampler!r} is not callable: pass the function itself.")
    small = {name: pair for name, pair in CASES.items() if len(pair[0]) <= 8}
    report = TokenAudit(sampler, 1e-6, 4_000, seed, 1.0, cases=small).report
    laws = [made for made in report.checks if made.name == "the law"]
    found = [finding for finding in report.findings if not finding.note and "rounding" not in finding.name]
    if found:
        worst = min(found, key=lambda finding: finding not in laws)
        seen = f" due {worst.expected}, yours {worst.observed}" if worst.expected else ""
        return Verdict(False, f"{worst.advice}{f' (on {worst.case}{seen})' if worst.case else ''}")
    exact = sum(made.pvalue == "exact" for made in laws)
    scripted = any(made.name == "u = 0" and made.passed for made in report.checks)
    how = f"exactly on {exact} pairs" if exact else f"on {len(laws)} pairs, as far as counting can tell"
    return Verdict(True, f"{_name(sampler)} returns p {how}{', and forbids p = 0 at u = 0' if scripted else ''}.")


def _walked(sampler: Callable[..., Any], *args: Any) -> Law:
    """Exact law; of a loop without end it may lack too little to matter."""
    try:
        return exact_law(sampler, *args, max_branches=20_000)
    except TooManyBranches as stopped:
        missing = float(1 - stopped.covered)
        if missing > 1e-12:
            raise Fault(
                f"after 20,000 random choices it has still not returned with probability {missing:.2g}: a loop that "
                "ends slowly or never cannot be checked; write it without"
            ) from None
        return stopped.law


# ---- exercises of the lessons ----


def _answers(function: Callable[..., Any], value: Callable[..., Any]) -> Callable[..., Any]:
    """`value` of what the function answers, under the function's own name."""

    def answered(*case: Any) -> Any:
        return value(function(*case))

    answered.__name__ = _name(function)
    return answered


def check_die(die: Callable[[Any], int]) -> Verdict:
    """Lesson 00: a die that shows 6 half of the time and 1 … 5 equally often."""
    due = dict.fromkeys(range(1, 6), 0.1) | {6: 0.5}
    fair = dict.fromkeys(range(1, 7), 1 / 6)
    off_by_one = {face - 1: mass for face, mass in due.items()}
    return check(
        _law_of(die),
        [()],
        lambda: due,
        {
            "This die is fair: give 6 probability 1/2 and the others 1/10 each.": lambda: fair,
            "The faces run from 0 to 5: add one.": lambda: off_by_one,
        },
    )


def _law_of(sampler: Callable[..., Any]) -> Callable[..., Any]:
    def law(*args: Any) -> Any:
        return _walked(sampler, *map(np.array, args))

    law.__name__ = _name(sampler)
    return law


def check_account(account: Callable[[Any, Any], Any], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 01: mass accepted in all, then the output law."""

    def right(p: Any, q: Any) -> list[float]:
        kept = np.minimum(p, q)
        return [kept.sum(), *p]

    def uncorrected(p: Any, q: Any) -> list[float]:
        kept = np.minimum(p, q)
        return [kept.sum(), *kept]

    cases = cases or [([0.6, 0.4], [0.3, 0.7]), PAIRS[1], ([0.5, 0.5], [0.5, 0.5]), PAIRS[2]]

    def on_arrays(p: Any, q: Any) -> Any:  # as in the lesson, so that p - q works
        return account(np.array(p), np.array(q))

    on_arrays.__name__ = _name(account)
    return check(
        on_arrays, cases, right, {"The rejected mass is missing: add (p − q)₊ to what was accepted.": uncorrected}
    )


def check_half_accepted(half_accepted: Callable[[], Any]) -> Verdict:
    """Lesson 01: a draft that is accepted half of the time against [0.7, 0.3]."""
    return check(
        _answers(half_accepted, lambda q: overlap([0.7, 0.3], q)),
        [()],
        lambda: 0.5,
        {"That is p itself, and all of it is accepted: move q away from p.": lambda: 1.0},
    )


def check_inverted(inverted: Callable[[Any, Any, Any], int], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 01: the sampler with the ratio upside down, by its exact law."""
    from specdec_kit.diagnosis import inverted as due

    return check(
        _law_of(inverted),
        cases or PAIRS,
        lambda p, q: dict(enumerate(due(p, q))),
        {"That is the right rule, which returns p: here the ratio is to be q/p.": lambda p, q: dict(enumerate(p))},
    )


def check_blind_pair(blind_pair: Callable[[], Any]) -> Verdict:
    """Lesson 01: p ≠ q on which redrawing a rejected draft from p returns p."""

    def harmless(pair: Any) -> bool:
        p, q = pair
        if overlap(p, q) > 1 - 1e-9:
            raise Fault("p = q, so that nothing is rejected: the shortcut must be taken, and do no harm")
        p, kept = np.asarray(p), np.minimum(p, q)
        output = kept + (1 - kept.sum()) * p
        if discrepancy(p, output) > 1e-9:
            raise Fault(f"on this pair the shortcut returns {readable(output)}, where p is {readable(p)}")
        return True

    return check(_answers(blind_pair, harmless), [()], lambda: True)


def check_draws_needed(draws_needed: Callable[[float, float], int], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 02: draws until two standard errors of a frequency are at most a given width."""

    def one_error(p: float, width: float) -> int:
        return int(np.ceil(p * (1 - p) / width**2 - 1e-9))

    return check(
        draws_needed,
        cases or [(0.5, 0.1), (0.7, 0.01), (0.05, 0.001)],
        lambda p, width: int(np.ceil(4 * p * (1 - p) / width**2 - 1e-9)),
        {"That is for one standard error; the width is to hold two.": one_error},
    )


def check_two_tokens(
    two_tokens: Callable[[Any, Any, Any], tuple[int, int]], *, cases: Sequence[Case] | None = None
) -> Verdict:
    """Lesson 02: two tokens, each of law p and independent of each other, by the exact joint law."""

    def independent(p: Any, q: Any) -> dict[tuple[int, int], float]:
        return {(i, j): a * b for i, a in enumerate(p) for j, b in enumerate(p)}

    def repeated(p: Any, q: Any) -> dict[tuple[int, int], float]:
        return {(i, i): a for i, a in enumerate(p)}

    return check(
        _law_of(two_tokens),
        cases or PAIRS[:3],
        independent,
        {"Both tokens come from the same random numbers, so that they are always equal: draw anew for each.": repeated},
    )


def check_hidden_reuse(hidden_reuse: Callable[[], Any], sampler: Callable[[Any, Any, Any], int]) -> Verdict:
    """Lesson 02: two pairs over three tokens, one that hides a fault of `sampler` and one that shows it."""

    def shown(pairs: Any) -> list[bool]:
        hiding, showing = pairs
        for p, q in pairs:
            if len(p) != 3 or overlap(p, q) > 1 - 1e-9:
                raise Fault("each pair is to have three tokens and p ≠ q, so that some drafts are rejected")
        return [bool(exact_law(sampler, *pair).total_variation(pair[0]) > 1e-9) for pair in (hiding, showing)]

    return check(
        _answers(hidden_reuse, shown),
        [()],
        lambda: [False, True],
        {
            "The first pair shows the fault as well; how many tokens may its residual have?": lambda: [True, True],
            "The second pair hides the fault as well; how many tokens must its residual have?": lambda: [False, False],
            "The pairs are the wrong way round: first the one that hides the fault.": lambda: [True, False],
        },
    )


# lesson 03


def check_unseen(unseen: Callable[..., float], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 03: the largest p under which no hit in N draws has a chance of 1 − level."""
    return check(
        unseen,
        cases or [(10,), (100, 0.9), (10_000, 0.99)],
        lambda draws, level=0.95: 1 - (1 - level) ** (1 / draws),
        {
            "Never seen is not impossible: which p > 0 still gives (1 − p)^N = 1 − level?": lambda draws, level=0.95: 0,
            "The chance of no hit is to be 1 − level, and yours gives it the chance level.": (
                lambda draws, level=0.95: 1 - level ** (1 / draws)
            ),
            "That is the upper end of a two-sided interval; here the whole 1 − level lies on one side.": (
                lambda draws, level=0.95: 1 - ((1 - level) / 2) ** (1 / draws)
            ),
            "−log(1 − level)/N is near for large N only: solve (1 − p)^N = 1 − level exactly.": (
                lambda draws, level=0.95: -np.log(1 - level) / draws
            ),
            "3/N is near, for large N and level 0.95 only: solve (1 − p)^N = 1 − level exactly.": (
                lambda draws, level=0.95: 3 / draws
            ),
        },
    )


def check_my_test(my_test: Callable[[Any, Any], bool], *, seed: int | None = None) -> Verdict:
    """Lesson 03: a test of counts at α = 10⁻⁶, tried on counts that must pass and on counts that must fail.

    With a seed the laws are others, near these, and their tokens stand in another order.
    """
    from specdec_kit.uncertainty import goodness_of_fit  # which takes SciPy with it

    rng = np.random.default_rng(3 if seed is None else seed)
    a, b = (0.0, 0.0) if seed is None else (0.06 * rng.random(2) - 0.03).tolist()
    draws = 10_000 if seed is None else 9_000 + int(2_000 * rng.random())
    p, zero, rare = (0.4 + a, 0.3 - a, 0.2 + b, 0.1 - b), (0.5 + a, 0.3 - a, 0.2, 0.0), (1 - 1 / draws, 1 / draws)
    orders = {size: np.arange(size) if seed is None else np.argsort(rng.random(size)) for size in (2, 4)}

    def drawn(law: Any) -> list[Any]:
        return [np.bincount(row, minlength=len(law)) for row in inverse_cdf(law, rng.random((100, draws)))]

    def usual(law: Any) -> list[Any]:  # a right test fails one in a million, and by chance that one could be here
        return [row for row in drawn(law) if goodness_of_fit(row, law).pvalue > 1e-4]

    def made(law: Any, last: int) -> list[Any]:
        """Counts of which the last is as given, and the others are as the law has them."""
        counts = np.rint(np.array(law[:-1]) / sum(law[:-1]) * (draws - last)).astype(int)
        return [np.array([draws - last - counts[1:].sum(), *counts[1:], last])]

    right, lacking = usual(p), (0.4 + a, 0.3 - a, 0.29, 0.01)
    # Whether the counts must pass, the law, the counts, and the advice where they do not.
    tried: list[tuple[bool, Any, list[Any], str]] = [
        (True, p, right, "at α = 10⁻⁶ next to none may fail; is the level 10⁻⁶, and not 0.01?"),
        (False, p, drawn((p[0] + 0.05, p[1], p[2] - 0.025, p[3] - 0.025)),
         "a bias of 0.05 that keeps the order; is it held against N?"),
        (False, lacking, made(lacking, 0),
         "the last token never came, where 100 are due: ask about every token, also those that were not seen"),
        (False, zero, made(zero, 10), "a token with p = 0 came ten times"),
        (True, zero, usual(zero), "a token with p = 0 never came, as it should; does 0/0 get in the way?"),
        (True, rare, made(rare, 6), "six draws where one is expected come once in 1,700 runs, "
         "though χ² says once in two million: with few expected, use exact binomials"),
        (False, rare, made(rare, 12), "twelve draws where one is expected come once in a billion runs: "
         "rare tokens are not to be left out"),
    ]  # fmt: skip

    def passes(counts: Any, law: Any) -> bool:
        order = orders[len(law)]
        answer = my_test(counts[order], np.array(law)[order])
        if not isinstance(answer, bool | np.bool):
            raise Fault(f"it returns {answer!r}: return True where the counts can come from the law, else False")
        return bool(answer)

    def judged() -> bool:
        if not any(passes(row, p) for row in right):
            raise Fault(
                f"it fails all of {len(right)} counts that were drawn from the law: is the comparison turned round?"
            )
        for due, law, rows, advice in tried:
            off = [row for row in rows if passes(row, law) != due]
            if off:
                wrongly = f"{'fails' if due else 'passes'} {len(off)} of {len(rows)}" if len(rows) > 1 else (
                    "fails them" if due else "passes them")  # fmt: skip
                order = orders[len(law)]
                case = f"on counts such as {readable(off[0][order])} of the law {readable(np.array(law)[order])}"
                raise Fault(f"{case} it {wrongly}: {advice}")
        return True

    judged.__name__ = _name(my_test)
    return check(judged, [()], lambda: True)


def check_fooling(fooling: Callable[[], Any]) -> Verdict:
    """Lesson 03: a law at least 0.05 from p in TV, in the same order, within 0.09 of p and near in divergence."""
    p = np.array([0.4, 0.3, 0.2, 0.1])

    def fools(w: Any) -> bool:
        distance = 1 - overlap(p, w)  # which says what is no law
        w = np.asarray(w, dtype=np.float64)
        if distance < 0.05 - 1e-9:
            raise Fault(f"its TV from p is {readable(distance)}: go to 0.05 at least")
        if not (w[:-1] > w[1:]).all():
            raise Fault(f"{readable(w)} has another order than p, which rank_order sees: keep A > B > C > D")
        if np.abs(w - p).max() > 0.09 + 1e-9:
            raise Fault(
                f"a token is off by {readable(np.abs(w - p).max())}, over 0.09: spread the bias over more tokens"
            )
        with np.errstate(divide="ignore"):
            divergence = float((p * np.log(p / w)).sum())
        if divergence > 0.0055:
            raise Fault(
                f"Σ p log(p/w) is {divergence:.4f}, over 0.0055: split the tokens into two sets of about equal "
                "probability and move 0.05 from one to the other, within each in proportion to p"
            )
        return True

    return check(_answers(fooling, fools), [()], lambda: True)


# lesson 04


def check_audited(sampler: Callable[[Any, Any, Any], int], *, seed: int = 0) -> Verdict:
    """Lesson 04: a one-token sampler that passes the whole audit."""
    from specdec_kit.audit import audit_sampler  # which takes SciPy with it

    if not callable(sampler):
        return Verdict(False, f"{sampler!r} is not callable: pass the function itself.")
    report = audit_sampler(sampler, seed=seed)
    if report.passed:
        return Verdict(True, f"{_name(sampler)} passes the audit, {len(report.checks)} checks.")
    worst = report.findings[0]
    return Verdict(False, f"{worst.advice}{f' (found by: {worst.name}, {worst.case})' if worst.case else ''}")


def check_best_cut(best_cut: Callable[[Any, Any], int], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 04: the k for which a draft cut to its top k, and declared so, is accepted most."""

    def best(overlaps: Any) -> int:
        return int(np.argmax(np.round(overlaps, 12))) + 1

    def accepted(p: Any, q: Any) -> list[Any]:
        return [overlap(p, top_k(q, k)) for k in range(1, len(p) + 1)]

    def unscaled(p: Any, q: Any) -> list[Any]:
        return [np.minimum(p, np.where(top_k(q, k) > 0, q, 0)).sum() for k in range(1, len(p) + 1)]

    return check(
        best_cut,
        cases
        or [
            ([0.35, 0.4, 0.1, 0.1, 0.05], [0.3, 0.25, 0.2, 0.15, 0.1]),  # each mistake gives another k here
            ([0.7, 0.2, 0.1], [0.45, 0.3, 0.25]),
            ([0.9, 0.05, 0.05], [0.5, 0.3, 0.2]),
            ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
            ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0]),
        ],
        lambda p, q: best(accepted(p, q)),
        {
            "What is cut away must be shared out again: top_k(q, k) is divided by its sum.": (
                lambda p, q: best(unscaled(p, q))
            ),
            "That is one too few: argmax counts from 0, and k from 1.": lambda p, q: best(accepted(p, q)) - 1,
            "That is the cut with the least overlap; the largest is asked for.": (
                lambda p, q: best(-np.asarray(accepted(p, q)))
            ),
            "Both sides are cut; the target stays as it is.": (
                lambda p, q: best([overlap(top_k(p, k), top_k(q, k)) for k in range(1, len(p) + 1)])
            ),
            "Of equal overlaps the smallest k is asked for.": (
                lambda p, q: len(p) - int(np.argmax(np.round(accepted(p, q), 12)[::-1]))
            ),
        },
    )


def check_argmax_pairs(pairs: Callable[[], Any], sampler: Callable[[Any, Any, Any], int]) -> Verdict:
    """Lesson 04: two pairs, one that hides that `sampler` tests the likeliest token, and one that shows it."""

    def shown(pairs: Any) -> list[bool]:
        hiding, showing = pairs
        for p, q in pairs:
            if len(p) > 10:
                raise Fault(f"a pair has {len(p)} tokens: ten are enough")
            if overlap(p, q) > 1 - 1e-9:
                raise Fault("each pair is to have p ≠ q, so that a right sampler rejects some drafts")
        return [bool(_walked(sampler, *pair).total_variation(pair[0]) > 1e-9) for pair in (hiding, showing)]

    return check(
        _answers(pairs, shown),
        [()],
        lambda: [False, True],
        {
            "The first pair shows the fault as well: where q is above p the test decides; what must p be there?": (
                lambda: [True, True]
            ),
            "The second pair hides the fault as well: let q be above p at a token that is not the likeliest.": (
                lambda: [False, False]
            ),
            "The pairs are the wrong way round: first the one that hides the fault.": lambda: [True, False],
        },
    )


# lesson 05


def check_mean_tokens(mean_tokens: Callable[[Any], Any], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 05: tokens that a round brings on average, if draft n passes with chance alphas[n] once it is reached."""

    def reached(alphas: Any) -> Any:
        return np.cumprod([1.0, *alphas])

    return check(
        _on_a_list(mean_tokens),
        cases or [((0.8, 0.5),), ((0.9, 0.6, 0.3),), ((0.7,),), ((0.0, 0.9),), ((1.0, 1.0, 1.0),), ((),)],
        lambda alphas: reached(alphas).sum(),
        {
            "One token more comes in every round, the corrected one or the bonus: add 1.": (
                lambda alphas: reached(alphas).sum() - 1
            ),
            "A draft is kept only if all before it are: multiply the chances up to each place, then add.": (
                lambda alphas: 1 + sum(alphas)
            ),
            "Multiply the chances up to each place before you add, and add 1 for the token that always comes.": sum,
            "The closed form is for equal chances, and their mean does not replace them: go place by place.": (
                lambda alphas: sum(np.mean(alphas or 0) ** n for n in range(len(alphas) + 1))
            ),
            "That is the chance that all drafts pass; a round that ends earlier brings tokens too.": (
                lambda alphas: reached(alphas)[-1]
            ),
            "That counts the token that always comes and whole blocks; add the chance of each place in between.": (
                lambda alphas: 1 + reached(alphas)[-1]
            ),
        },
    )


def _on_a_list(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function` of a list that it may use up."""

    def called(values: Any) -> Any:
        return function(list(values))

    called.__name__ = _name(function)
    return called


def check_round(round_: Callable[..., Any], *, seed: int = 0) -> Verdict:
    """Lesson 05: a round that passes the whole audit; what makes it slow and not wrong is said as well."""
    from specdec_kit.audit import audit_decoder  # which takes SciPy with it

    if not callable(round_):
        return Verdict(False, f"{round_!r} is not callable: pass the function itself.")
    report = audit_decoder(round_, seed=seed)
    # A first token that is wrong makes all others wrong; and next, nothing tells more than the joint law.
    telling = ("tokens", "law", "joint law")
    found = sorted(report.findings, key=lambda one: telling.index(one.kind) if one.kind in telling else len(telling))
    for one in found:
        if not one.note:
            return Verdict(False, f"{one.advice}{f' (found by: {one.name}, {one.case})' if one.case else ''}")
    made = sum(one.passed is not None for one in report.checks)
    notes = [f" {advice}" for advice in dict.fromkeys(one.advice for one in found)]
    return Verdict(True, f"{_name(round_)} passes the audit, {made} checks.{''.join(notes)}")


def check_row_pairs(pairs: Callable[[], Any], round_: Callable[..., Any]) -> Verdict:
    """Lesson 05: two pairs of tables, target and draft; one hides that `round_` takes another row, one shows it."""
    from specdec_kit.round_faults import write  # which takes SciPy with it

    def chain(rows: Any, name: str) -> Chain:
        try:
            model = Chain(rows)
        except ValueError as problem:
            raise Fault(f"{name} is no table of laws: {problem}") from None
        if len(model.table) not in (2, 3):
            raise Fault(f"{name} is over {len(model.table)} tokens: take 2 or 3")
        return model

    def shows(which: str, tables: Any) -> bool:
        target, draft = (
            chain(rows, f"the {which} pair's {name}") for name, rows in zip(("target", "draft"), tables, strict=True)
        )
        if len(target.table) != len(draft.table):
            raise Fault(f"the {which} pair's tables are of different size: give both the same tokens")
        same = np.flatnonzero(np.abs(target.table - draft.table).max(axis=1) < 1e-9)
        if len(same):
            raise Fault(
                f"the draft is to differ from the target in each row; in the {which} pair row {same[0]} is the same"
            )
        walked = _walked(write, round_, target, draft, (0,), 2, 3)
        return bool(walked.total_variation(exact_law(generate, target, (0,), 3)) > 1e-9)

    def shown(pairs: Any) -> list[bool]:
        try:
            hiding, showing = ((target, draft) for target, draft in pairs)
        except (TypeError, ValueError):
            raise Fault("two pairs are due: return ((target, draft), (target, draft)), each a list of rows") from None
        return [shows("first", hiding), shows("second", showing)]

    return check(
        _answers(pairs, shown),
        [()],
        lambda: [False, True],
        {
            "The first pair shows the fault as well: what must the target be, for two of its rows to do the same?": (
                lambda: [True, True]
            ),
            "The second pair hides the fault as well: let the target's law depend on the token before.": (
                lambda: [False, False]
            ),
            "The pairs are the wrong way round: first the one that hides the fault.": lambda: [True, False],
        },
    )


# lesson 06


def check_time_ratio(time_ratio: Callable[..., Any], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 06: how many times as long one run takes as another, on simulated devices, each with a trap of its own.

    A case is the seconds of the two. The noise stays the same: under another a fair reader may be off by over 5 %.
    """
    cases = cases or [(0.010, 0.008), (0.002, 0.005), (0.004, 0.001), (0.003, 0.003)]
    kinds: dict[str, dict[str, float]] = {
        "Wait for the device before each look at its clock: submit returns as soon as the order is given": {},
        "The first run of each kind is slower: run each once or more before you count": {"cold": 1.0},
        "One run says little where runs differ: take some hundred of each": {"noise": 0.5},
        "The device slows down as it heats up: run the two in turns, not one after the other": {"drift": 1.0},
        "Each trap by itself is passed, and all together are not: see that each run counts once": {
            "cold": 1.0, "noise": 0.2, "drift": 0.02,
        },
    }  # fmt: skip
    for advice, traps in kinds.items():
        for seed, (slow, quick) in enumerate(cases):
            device = SimulatedDevice({"slow": slow, "quick": quick}, **traps, rng=np.random.default_rng(seed))
            try:
                found = time_ratio(device, "slow", "quick")
                off = abs(float(found) / (slow / quick) - 1)
            except NotImplementedError:
                return Verdict(False, f"{_name(time_ratio)} is not written yet.")
            except Exception as problem:
                return Verdict(False, f"it raises {type(problem).__name__}: {problem}")
            for name in {"slow", "quick"} - set(device.runs):
                return Verdict(False, f'{name} was never run: device.submit("{name}") orders a run.')
            if not off <= 0.05:
                if discrepancy(quick / slow, found) <= 0.05 * quick / slow and slow != quick:
                    return Verdict(False, "That is the ratio the other way round: the seconds of slow over quick's.")
                due = f"{readable(slow / quick)} is due within 5 %; yours is {readable(found)}"
                return Verdict(False, f"{advice}. ({due})")
    return Verdict(True, f"{_name(time_ratio)} is right on {len(cases) * len(kinds)} devices.")


def check_speedup(speedup: Callable[..., Any], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 06: the speed-up of γ drafts from α, the draft's cost, and a list of the costs of passes."""

    def tokens(alpha: Any, gamma: int) -> Any:
        return sum(alpha**n for n in range(gamma + 1))

    def due(alpha: Any, gamma: int, c: Any, costs: Any) -> Any:
        return tokens(alpha, gamma) / (costs[gamma] + gamma * c)

    return check(
        _on_lists(speedup),
        cases or [
            (0.5, 2, 0.25, (1.0, 1.25, 2.0)),
            (0.8, 3, 0.1, (1.0, 1.2, 1.3, 1.4, 2.0)),
            (0.6, 2, 0.0, (1.0, 1.6, 1.3)),
            (0.9, 0, 0.5, (1.0, 1.1)),
            (1.0, 2, 0.05, (1.0, 1.1, 1.2)),
            (0.0, 1, 0.1, (1.0, 1.4)),
        ],
        due,
        {
            "That is the textbook form, in which any pass costs 1: a pass over gamma + 1 tokens costs costs[gamma].": (
                lambda alpha, gamma, c, costs: tokens(alpha, gamma) / (1 + gamma * c)
            ),
            "costs[n] is the pass over n drafts and one token more: a round of gamma drafts costs costs[gamma].": (
                lambda alpha, gamma, c, costs: tokens(alpha, gamma) / (costs[max(gamma - 1, 0)] + gamma * c)
            ),
            "The draft is called gamma times, and each call costs c.": (
                lambda alpha, gamma, c, costs: tokens(alpha, gamma) / (costs[gamma] + c)
            ),
            "The draft is called gamma times, not once more: the last token is the target's.": (
                lambda alpha, gamma, c, costs: tokens(alpha, gamma) / (costs[gamma] + (gamma + 1) * c)
            ),
            "The drafts cost something too: add gamma times c.": (
                lambda alpha, gamma, c, costs: tokens(alpha, gamma) / costs[gamma]
            ),
            "A round brings one token more than the drafts that pass, the corrected one or the bonus.": (
                lambda alpha, gamma, c, costs: (tokens(alpha, gamma) - 1) / (costs[gamma] + gamma * c)
            ),
            "A draft is kept only if those before it are: 1 + alpha + alpha² + … tokens, not 1 + gamma times alpha.": (
                lambda alpha, gamma, c, costs: (1 + gamma * alpha) / (costs[gamma] + gamma * c)
            ),
            "That is the time that is left; the speed-up is one over it.": (
                lambda alpha, gamma, c, costs: 1 / due(alpha, gamma, c, costs)
            ),
        },
    )  # fmt: skip


def _on_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which gets each tuple as a list."""

    def called(*values: Any) -> Any:
        return function(*(list(value) if isinstance(value, tuple) else value for value in values))

    called.__name__ = _name(function)
    return called


def check_crossover(crossover: Callable[..., Any], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 06: the least batch at which a round of drafts brings no more tokens a second than writing directly."""

    def gains(tokens: float, plain: Any, drafted: Any) -> list[tuple[int, bool]]:
        return [(batch, tokens * plain[batch] > drafted[batch]) for batch in sorted(plain)]

    def first(found: list[tuple[int, bool]]) -> int | None:
        return next((batch for batch, gain in found if not gain), None)

    def inside_out(tokens: float, plain: Any, drafted: Any) -> int | None:
        return next((batch for batch, gain in gains(tokens, plain, drafted) if gain), None)

    def last(tokens: float, plain: Any, drafted: Any) -> int | None:
        return next((batch for batch, gain in reversed(gains(tokens, plain, drafted)) if gain), None)

    def forgotten(tokens: float, plain: Any, drafted: Any) -> int | None:
        return next((batch for batch in sorted(plain) if plain[batch] <= drafted[batch]), None)

    return check(
        crossover,
        cases or [
            (4.0, {1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}, {1: 5.0, 2: 3.0, 4: 3.0, 8: 5.0}),
            (2.0, {1: 10.0, 2: 11.0, 4: 12.0, 8: 14.0}, {1: 13.0, 2: 17.0, 4: 25.0, 8: 45.0}),
            (3.0, {16: 9.0, 8: 4.0, 1: 1.0, 4: 2.0}, {16: 50.0, 8: 20.0, 1: 2.0, 4: 6.0}),
            (1.5, {1: 1.0, 2: 1.0}, {1: 1.25, 2: 1.375}),
            (1.0, {1: 1.0, 16: 2.0}, {1: 1.5, 16: 2.5}),
        ],
        lambda tokens, plain, drafted: first(gains(tokens, plain, drafted)),
        {
            "A round brings several tokens: hold tokens times a pass over one against a pass over all.": forgotten,
            "That is the first batch with a gain; the first without one is asked for.": inside_out,
            "That is the last batch with a gain; the first without one is asked for.": last,
            "At equal times nothing is gained either: that batch counts already.": (
                lambda tokens, plain, drafted: next(
                    (batch for batch in sorted(plain) if tokens * plain[batch] < drafted[batch]), None
                )
            ),
            "Go through the batches in order of size, whatever the order of the mapping is.": (
                lambda tokens, plain, drafted: next(
                    (batch for batch in plain if tokens * plain[batch] <= drafted[batch]), None
                )
            ),
        },
    )  # fmt: skip


# lesson 07


def check_brier(brier: Callable[..., Any], *, cases: Sequence[Case] | None = None) -> Verdict:
    """Lesson 07: Brier's score of stated probabilities, a dict, where one class came true."""

    def due(stated: Any, truth: str) -> Any:
        return sum((mass - (kind == truth)) ** 2 for kind, mass in stated.items())

    return check(
        _on_a_dict(brier),
        cases
        or [
            ((("exact", 0.7), ("first token", 0.2), ("joint", 0.1)), "exact"),
            ((("exact", 0.7), ("first token", 0.2), ("joint", 0.1)), "joint"),
            ((("exact", 1.0), ("joint", 0.0)), "exact"),
            ((("exact", 1.0), ("joint", 0.0)), "joint"),
            ((("exact", 0.25), ("first token", 0.25), ("joint", 0.25), ("declared", 0.25)), "declared"),
        ],
        lambda stated, truth: due(dict(stated), truth),
        {
            "That is the term of the class that came true alone; what was given to the others counts too.": (
                lambda stated, truth: (dict(stated)[truth] - 1) ** 2
            ),
            "That is the mean over the classes; the sum is asked for.": (
                lambda stated, truth: due(dict(stated), truth) / len(stated)
            ),
            "Square each difference: |f − o| alone pays whoever exaggerates.": (
                lambda stated, truth: sum(abs(mass - (kind == truth)) for kind, mass in stated)
            ),
            "The class that came true is to stand at 1, so that its term is (f − 1)².": (
                lambda stated, truth: sum(mass**2 for _, mass in stated)
            ),
            "That is 1 less the sum: here less is better, so return the sum itself.": (
                lambda stated, truth: 1 - due(dict(stated), truth)
            ),
        },
    )


def _on_a_dict(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which gets its first argument, pairs, as a dict."""

    def called(pairs: Any, *rest: Any) -> Any:
        return function(dict(pairs), *rest)

    called.__name__ = _name(function)
    return called


def _stopped(step: Callable[..., Any], *args: Any) -> str:
    """Why a reader's step of the investigation did not come to its end; nothing where it did."""
    try:
        step(*args)
    except NotImplementedError:
        return f"{_name(step)} is not written yet."
    except Fault as fault:
        return f"{fault}."
    except Exception as problem:  # whatever a reader's code raises becomes advice
        return f"it raises {type(problem).__name__}: {problem}"
    return ""


def _lacking(case: Any, *parts: str) -> str:
    """The first thing that these parts of the rubric lack."""
    return next((mark.lacks for mark in case.marks() if mark.what in parts and mark.lacks), "")


def check_predictions(from_labels: Callable[[Any], Any], case: Any) -> Verdict:
    """Lesson 07: a prediction for each sampler, made by ``case.predict`` before the first draw."""
    wrong = _stopped(from_labels, case) or _lacking(case, "predictions")
    if wrong:
        return Verdict(False, wrong)
    return Verdict(True, f"{len(case.predicted)} predictions, before the first draw.")


def check_conclusions(investigate: Callable[[Any], Any], case: Any) -> Verdict:
    """Lesson 07: draws from each sampler, and a verdict on each with its reason; not yet whether it is right."""
    parts = ("seeds and raw results", "verdicts with confidence", "reasons, in words")
    wrong = _stopped(investigate, case) or _lacking(case, *parts)
    if wrong:
        return Verdict(False, wrong)
    certain = [name for name, made in case.verdicts.items() if max(made.stated.values()) == 1]
    careful = f" Of {', '.join(certain)} you are certain: no draws bring that." if certain else ""
    return Verdict(True, f"{len(case.verdicts)} verdicts, {case.spent:,} of {case.budget:,} draws.{careful}")


def check_counterexample(counterexample: Callable[[Any], Any], case: Any) -> Verdict:
    """Lesson 07: a text that came too often or too rarely, kept by ``case.show_counterexample``, with the reason."""
    wrong = _stopped(counterexample, case)
    if wrong:
        return Verdict(False, wrong)
    if case.counterexample is None:
        return Verdict(False, "Nothing was kept: give draws and a text to case.show_counterexample.")
    if not case.counterexample.because:
        return Verdict(False, "Say why the law is not the target's: because=…, a sentence.")
    return Verdict(True, f"{case.counterexample}.")


def check_transfer(transfer: Callable[[], Any], case: Any) -> Verdict:
    """Lesson 07: the arguments of ``case.try_transfer``; whether the prediction was right is told, not graded."""

    def tried() -> None:
        answer = transfer()
        if not isinstance(answer, Mapping) or answer.keys() != {"quantity", "unit", "change", "predicted"}:
            raise Fault("return a dict with quantity, unit, change and predicted")
        case.try_transfer(**answer)

    tried.__name__ = _name(transfer)
    wrong = _stopped(tried)
    return Verdict(not wrong, wrong or f"{case.transfer}.")


def check_investigation(case: Any) -> Verdict:
    """Lesson 07: whether the report has every part; each that is missing is told in a sentence."""
    missing = case.missing()
    if missing:
        return Verdict(False, " ".join(missing))
    return Verdict(True, "the report has every part; what is in words is for your teacher.")
