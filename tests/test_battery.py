"""How laws are judged: false alarms, what is found, controls, time, and runs that are not walked to their end."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from specdec_kit.adapters import batched
from specdec_kit.battery import LEAST, Check, Report, judge
from specdec_kit.law import TooManyBranches
from specdec_kit.lines import WIDTH
from specdec_kit.token_audit import CASES, TokenAudit

COIN = {0: 0.5, 1: 0.5}


def counted(counts, due, event, share=1e-6, seed=0):
    """What is said of these counts."""
    drawn = [x for x, k in enumerate(counts) for _ in range(k)]
    rng = np.random.default_rng(seed)
    return judge(None, due, event, share=share, draws=len(drawn), rng=rng, many=lambda n, rng: drawn)


def test_false_alarms_of_many_cells_stay_below_their_share():
    rng, size, tries = np.random.default_rng(0), 50, 300
    due = dict.fromkeys(range(size), 1 / size)
    counts = rng.multinomial(1_000, [1 / size] * size, size=tries)
    alarms = sum(counted(k, due, range(size // 2), share=0.05).wrong for k in counts)
    assert alarms <= stats.binom.isf(1e-6, tries, 0.05)
    each = stats.binom.cdf(counts, 1_000, 1 / size).min(axis=1) <= 0.05 / 2  # control: each cell for itself
    assert each.sum() > tries / 2


def test_an_event_is_found_that_shows_in_no_single_outcome():
    size, half = 200, range(100)
    due = dict.fromkeys(range(size), 1 / size)
    off = counted([40] * 100 + [60] * 100, due, half)
    assert off.wrong and not counted([50] * size, due, half).wrong
    assert stats.binom.cdf(40, 10_000, 1 / size) > 0.05, "no outcome is strange by itself"


def test_the_smallest_bias_and_the_control_of_a_coin():
    n, share = 2_000, 1e-6
    k = next(k for k in range(n // 2, n) if counted((n - k, k), COIN, [0], share).wrong)
    found = counted((n // 2, n // 2), COIN, [0], share)
    assert stats.binom.sf(k - 1, n, 0.5 + found.detectable) == pytest.approx(0.99)
    assert found.pvalue == 1 and found.control < share


def test_counting_ends_in_time():
    rng = np.random.default_rng(0)
    judged = judge(lambda rng: int(rng.random() < 0.5), COIN, [0], share=1e-6, draws=200_000, rng=rng, seconds=0)
    assert LEAST < judged.draws < 200_000 and not judged.wrong


def loops(mass_of_zero, go_on):
    """A coin after a loop that may go on any number of times: there is always a branch that is not at its end."""

    def sampler(rng):
        while rng.random() < go_on:
            pass
        return int(rng.random() >= mass_of_zero)

    return sampler


def walked(branches, *what):
    return judge(loops(*what), COIN, [0], share=1e-6, draws=400, rng=None, branches=branches)


@pytest.mark.parametrize("branches", [2, 10])
def test_what_was_not_walked_is_not_called_right(branches):
    with pytest.raises(TooManyBranches):
        walked(branches, Fraction(1, 2), Fraction(1, 2))


def test_what_was_walked_can_be_enough():
    right, wrong = walked(40, Fraction(1, 2), Fraction(1, 16)), walked(20, Fraction(7, 8), Fraction(1, 16))
    assert not right.wrong and 0 < right.unknown < 1e-6
    assert wrong.wrong and wrong.pvalue == "exact" and wrong.tv > 0.3


def test_all_that_is_judged_shares_alpha_and_draws_anew():
    @batched
    def direct(p, q, rng):
        u = np.array(rng.random(len(p)), dtype=float)[:, None]
        return (u >= p.cumsum(axis=1)).sum(axis=1).clip(max=p.shape[1] - 1)

    audit = TokenAudit(direct, 1e-4, 400, 0, 3.0)
    assert len(CASES) + 2 <= len(audit.report.counted) <= TokenAudit.TESTS
    assert audit.share * TokenAudit.TESTS == pytest.approx(1e-4)
    assert audit.rng().random() != audit.rng().random()


def test_a_report_fits_a_narrow_window_and_loses_no_word():
    long = "It does this and that, " * 20 + "and (p − q)₊."
    report = Report("f", 1e-6, [Check("the law", "case", False, "[0.5]", "[0.4]", 0.1, "exact", advice=long)])
    lines = repr(report).splitlines()
    assert max(map(len, lines)) <= WIDTH and long in " ".join(repr(report).split())
    assert lines[-1] == "    - the law, case: due [0.5], seen [0.4]; TV 0.1, exact"
