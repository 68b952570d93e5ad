"""The checks of lesson 05's exercises: right answers pass, wrong ones are told why."""

import math
import re
from fractions import Fraction
from itertools import accumulate
from operator import mul

import numpy as np
import pytest

from specdec_kit import inverse_cdf, round_audit, selfcheck
from specdec_kit.blocks import speculative_round, token_verification
from specdec_kit.models import Chain
from specdec_kit.round_faults import ROUNDS, rows_one_late

# --- tokens of a round on average


def place_by_place(alphas):
    total = reached = 1
    for alpha in alphas:
        reached *= alpha
        total += reached
    return total


def from_the_end(alphas):
    total = 1
    while alphas:  # which uses the list up
        total = 1 + alphas.pop() * total
    return total


def by_lengths(alphas):
    """Σ n P(n tokens)."""
    ends = [1 - alpha for alpha in alphas] + [1]
    return sum((n + 1) * math.prod(alphas[:n]) * end for n, end in enumerate(ends))


@pytest.mark.parametrize(
    "mean_tokens",
    [
        place_by_place,
        from_the_end,
        by_lengths,
        lambda alphas: 1 + np.cumprod(alphas).sum(),
        lambda alphas: sum(accumulate(alphas, mul, initial=1)),
        lambda alphas: place_by_place([Fraction(str(alpha)) for alpha in alphas]),
    ],
)
def test_tokens_on_average_pass_however_they_are_written(mean_tokens):
    assert selfcheck.check_mean_tokens(mean_tokens)


def closed(alpha, gamma):
    return sum(alpha**n for n in range(gamma + 1))


@pytest.mark.parametrize(
    ("mean_tokens", "advice"),
    [
        (lambda alphas: np.cumprod(alphas).sum(), "the corrected one or the bonus: add 1. (on [0.8, 0.5] due 2.2"),
        (lambda alphas: 1 + sum(alphas), "multiply the chances up to each place, then add."),
        (sum, "before you add, and add 1"),
        (lambda alphas: closed(np.mean(alphas), len(alphas)), "their mean does not replace them"),
        (math.prod, "the chance that all drafts pass"),
        (lambda alphas: 1 + math.prod(alphas), "add the chance of each place in between"),
        (lambda alphas: closed(alphas[0], len(alphas)), "on [0.8, 0.5] 2.2 is due; yours is 2.44."),
        (lambda alphas: place_by_place(alphas) if alphas else 0, "the bonus: add 1. (on [] due 1, yours 0)"),
        (lambda alphas: 1 + alphas[0] * closed(alphas[-1], len(alphas) - 1), "is due; yours is"),
        (lambda alphas: None, "2.2 is due; yours is None."),
        (lambda alphas: [place_by_place(alphas)], "2.2 is due; yours is [2.2]."),
        (lambda alphas: "two", "yours is two."),
        (lambda alphas: float("nan"), "yours is nan."),
        (lambda alphas: 1 + alphas[0] + alphas[0] * alphas[1], "on [0.9, 0.6, 0.3] 2.602 is due; yours is 2.44."),
        (lambda alphas: 1 + alphas[2], "on [0.8, 0.5] it raises IndexError"),
        (lambda: 1, "it raises TypeError"),
        (2.2, "it raises TypeError"),
    ],
)
def test_tokens_on_average_that_are_wrong_are_told_why(mean_tokens, advice):
    verdict = selfcheck.check_mean_tokens(mean_tokens)
    assert not verdict and advice in verdict.says


# --- a round of one's own


def my_round(target, draft, context, gamma, rng):
    """All drafts, then all rows, then the tests."""
    xs, laws = (), []
    for _ in range(gamma):
        laws.append(draft(context + xs))
        xs += (int(inverse_cdf(laws[-1], rng.random())),)
    rows = [target(context + xs[:n]) for n in range(gamma + 1)]
    for n, (x, p, q) in enumerate(zip(xs, rows, laws, strict=False)):
        if rng.random() * q[x] < p[x]:
            continue
        lacking = np.maximum(p - q, 0)
        if lacking.any():
            return (*xs[:n], int(inverse_cdf(lacking, rng.random())))
    return (*xs, int(inverse_cdf(rows[gamma], rng.random())))


def one_at_a_time(target, draft, context, gamma, rng):
    """Each draft is tested before the next is drawn, and a list is returned."""
    kept = []
    for _ in range(gamma):
        p, q = target((*context, *kept)), draft((*context, *kept))
        kept.append(int(inverse_cdf(q, rng.random())))
        if rng.random() * q[kept[-1]] >= p[kept[-1]] and (p > q).any():
            kept[-1] = int(inverse_cdf(np.maximum(p - q, 0), rng.random()))
            return kept
    return [*kept, int(inverse_cdf(target((*context, *kept)), rng.random()))]


@pytest.fixture
def quick(monkeypatch):
    """The audit without the cases that take longest."""
    for name in ("one round, γ = 3", "two rounds, γ = 2", round_audit.BLOCK):
        monkeypatch.delitem(round_audit.CASES, name)


def test_a_round_that_is_right_passes():
    verdict = selfcheck.check_round(my_round)
    assert verdict and re.fullmatch(r"my_round passes the audit, \d\d checks\.", verdict.says)


@pytest.mark.parametrize("round_", [one_at_a_time, token_verification])
def test_another_style_passes_too(quick, round_):
    assert selfcheck.check_round(round_)


ADVICE = {
    "rows_one_late": "draft 2 is judged by the target's row of the place before",
    "rows_one_early": "draft 1 is judged by the target's row of the place after",
    "first_draft_untested": "It returns q",
    "residual_of_next_row": "its place is filled from the row of the place after",
    "bonus_of_last_row": "The bonus token is wrong",
    "bonus_from_draft": "The bonus token is wrong",
    "forced_residual": "The bonus token is wrong",
    "min_p_on_bonus_alone": "The bonus token is wrong",
    "goes_on_after_rejection": "It keeps tokens after a rejection",
    "bonus_after_rejection": "It keeps tokens after a rejection",
    "beam_draft": "The draft is the argmax of q",
    "one_uniform_for_all": "do positions share a random number?",
    "stale_target_cache": "One round is right and two in a row are not",
}


@pytest.mark.parametrize("name", [name for name, fault in ROUNDS.items() if fault.kind == "wrong"])
def test_each_wrong_round_of_the_gallery_is_told_why(quick, name):
    verdict = selfcheck.check_round(ROUNDS[name].sampler)
    assert not verdict and ADVICE.get(name, "") in verdict.says
    assert "(found by: first token, the law, p =" in verdict.says or "(found by: joint law, " in verdict.says


def test_a_slow_round_passes_and_is_told_that_it_is_slow(quick):
    verdict = selfcheck.check_round(ROUNDS["no_bonus"].sampler)
    assert verdict and verdict.says.count("It keeps fewer tokens than the rule allows.") == 1


def naive(target, draft, context, gamma, rng):
    """Right but for rounding, and shifted besides: the shift is told."""
    xs, laws = (), []
    for _ in range(gamma):
        laws.append(draft(context + xs))
        xs += (int(np.searchsorted(np.cumsum(laws[-1]), rng.random(), side="right")),)
    rows = [target(context + xs[: max(0, n - 1)]) for n in range(gamma + 1)]
    for n, (x, p, q) in enumerate(zip(xs, rows, laws, strict=False)):
        lacking = np.maximum(p - q, 0)
        if rng.random() * q[x] >= p[x] and lacking.any():
            return (*xs[:n], int(inverse_cdf(lacking, rng.random())))
    return (*xs, int(inverse_cdf(rows[gamma], rng.random())))


def test_what_tells_most_is_told_first(quick):
    says = selfcheck.check_round(naive).says
    assert says.startswith("The rows are shifted") and says.endswith("(found by: joint law, one round, γ = 1)")


def forever(target, draft, context, gamma, rng):
    tokens = ()
    while len(tokens) < 3:
        tokens = tokens[:2] + tuple(speculative_round(target, draft, context, 0, rng))[:0]
    return tokens


@pytest.mark.parametrize(
    ("round_", "advice"),
    [
        (forever, "every loop needs an end. (found by: 1 … γ + 1 tokens, γ = 1)"),
        (lambda target, draft, context, gamma, rng: (), "It returns 0 tokens with γ = 1"),
        (lambda target, draft, context, gamma, rng: my_round(target, draft, context, gamma, rng)[0], "return a tuple"),
        (lambda target, draft, context, gamma, rng: None, "It returns None: return a tuple of 1 … γ + 1 tokens"),
        (lambda target, draft, context, gamma, rng: (7,), "It returns 7, which is no token"),
        (lambda target, draft, context, gamma, rng: ("a",), "It returns 'a', which is no token"),
        (lambda target, draft: (0,), "positional argument"),
        (lambda target, draft, context, gamma, rng: 1 / 0, "It raises ZeroDivisionError"),
        ((0, 1), "(0, 1) is not callable: pass the function itself."),
    ],
)
def test_what_is_no_round_is_told_why(round_, advice):
    verdict = selfcheck.check_round(round_)
    assert not verdict and advice in verdict.says


# --- a pair of tables that hides a fault, and one that shows it

SAME, OTHER = [[0.7, 0.3], [0.7, 0.3]], [[0.4, 0.6], [0.5, 0.5]]
DIFFERENT = [[0.7, 0.3], [0.2, 0.8]]
HIDING, SHOWING = (SAME, OTHER), (DIFFERENT, OTHER)


def checked(*pairs):
    return selfcheck.check_row_pairs(lambda: pairs, rows_one_late)


def fractions(rows):
    return [[Fraction(str(x)) for x in row] for row in rows]


@pytest.mark.parametrize(
    ("hiding", "showing"),
    [
        (HIDING, SHOWING),
        ((SAME, [[0, 1], [1, 0]]), (DIFFERENT, OTHER[::-1])),
        (([[0.5, 0.3, 0.2]] * 3, [[0.2, 0.3, 0.5]] * 3), ([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]],
                                                           [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [1, 0, 0]])),
        ([fractions(rows) for rows in HIDING], [fractions(rows) for rows in SHOWING]),
        (np.array(HIDING), np.array(SHOWING)),
        (([[1, 0], [0.5, 0.5]], [[0.5, 0.5], [1, 0]]), SHOWING),  # a target that never leaves the first token
    ],
)  # fmt: skip
def test_tables_that_hide_and_show_pass(hiding, showing):
    assert checked(hiding, showing)


@pytest.mark.parametrize(
    ("pairs", "advice"),
    [
        ((SHOWING, SHOWING), "The first pair shows the fault as well"),
        ((HIDING, HIDING), "The second pair hides the fault as well"),
        ((SHOWING, HIDING), "The pairs are the wrong way round"),
        (((SAME, [[0.4, 0.6], [0.5, 0.6]]), SHOWING),
         "the first pair's draft is no table of laws: table[1] sums to 1.1"),
        ((HIDING, ([[0.7, 0.3], [1.2, -0.2]], OTHER)), "the second pair's target is no table of laws: table[1, 1] is"),
        (((SAME, [[0.4, 0.6], [0.7, 0.3]]), SHOWING), "in the first pair row 1 is the same."),
        ((HIDING, (DIFFERENT, DIFFERENT)), "in the second pair row 0 is the same."),
        (((SAME, [[0.4, 0.6]]), SHOWING), "table has shape (1, 2)"),
        ((HIDING, (np.eye(3), OTHER)), "the second pair's tables are of different size"),
        (((np.eye(4), np.eye(4)[::-1]), SHOWING), "the first pair's target is over 4 tokens: take 2 or 3."),
        (((SAME, [[0.4, 0.6], [1]]), SHOWING), "the first pair's draft is no table of laws"),
        (((SAME, Chain(OTHER)), SHOWING), "the first pair's draft is no table of laws"),
        (("ab", "cd"), "the first pair's target is no table of laws"),
        (({"p": SAME, "q": OTHER}, SHOWING), "is no table of laws"),
        ((HIDING,), "two pairs are due"),
        ((*HIDING, *SHOWING), "two pairs are due"),
        ((SAME, 3), "two pairs are due"),
    ],
)  # fmt: skip
def test_tables_that_do_not_are_told_why(pairs, advice):
    verdict = checked(*pairs)
    assert not verdict and advice in verdict.says


@pytest.mark.parametrize("junk", [None, 3, "pairs", {}, [[]], 1j])
def test_what_is_no_pairs_is_told_what_is_due(junk):
    says = selfcheck.check_row_pairs(lambda: junk, rows_one_late).says
    assert says == "two pairs are due: return ((target, draft), (target, draft)), each a list of rows."


def test_what_is_not_written_yet_says_so():
    def gap(*_):
        raise NotImplementedError

    assert selfcheck.check_mean_tokens(gap).says == "gap is not written yet."
    assert selfcheck.check_round(gap).says == "gap is not written yet."
    assert selfcheck.check_row_pairs(gap, rows_one_late).says == "gap is not written yet."
