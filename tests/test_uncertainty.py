"""Intervals, tests and power against SciPy, hand-derived values, and simulation of what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from specdec_kit.distributions import InvalidDistribution
from specdec_kit.uncertainty import (
    AnytimeTest,
    Fit,
    binomial_pvalues,
    clopper_pearson,
    detectable_bias,
    draws_for,
    goodness_of_fit,
    simultaneous_band,
    total_variation_estimate,
    wilson,
)

P = np.array([0.4, 0.3, 0.2, 0.1])


def wrongly(rate, tries):
    """Bounds that a count of tries with this rate leaves once in ten million."""
    return stats.binom.ppf([5e-8, 1 - 5e-8], tries, rate)


# --- intervals


@given(st.integers(1, 2000), st.data(), st.sampled_from([0.5, 0.95, 0.999]))
@settings(derandomize=True, deadline=None)
def test_intervals_are_scipys(draws, data, level):
    count = data.draw(st.integers(0, draws))
    for ours, method in ((clopper_pearson, "exact"), (wilson, "wilson")):
        theirs = stats.binomtest(count, draws).proportion_ci(level, method)
        np.testing.assert_allclose(ours(count, draws, level), [theirs.low, theirs.high], rtol=1e-9, atol=1e-12)


def coverage(interval, p, draws, level=0.95):
    """Exact probability that the interval holds p, summed over all counts."""
    k = np.arange(draws + 1)
    low, high = interval(k, draws, level).T
    return stats.binom.pmf(k, draws, p)[(low <= p) & (p <= high)].sum()


def wald(k, draws, level):
    """The textbook interval, as a control: it does not cover."""
    freq, z = k / draws, stats.norm.isf((1 - level) / 2)
    half = z * np.sqrt(freq * (1 - freq) / draws)
    return np.stack([freq - half, freq + half], axis=-1)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("draws", [10, 50, 400])
def test_coverage(p, draws):
    assert coverage(clopper_pearson, p, draws) >= 0.95
    assert coverage(wilson, p, draws) >= 0.90  # close to the level, without a promise


def test_the_textbook_interval_would_fail_the_test_of_coverage():
    assert coverage(wald, 0.1, 10) < 0.7 and coverage(wald, 0.01, 50) < 0.5


def test_a_band_holds_for_all_tokens_together():
    rng, tries = np.random.default_rng(0), 2000
    counts = rng.multinomial(200, P, size=tries)
    outside_band = sum(not ((b := simultaneous_band(c))[:, 0] <= P).all() or not (b[:, 1] >= P).all() for c in counts)
    each = [clopper_pearson(c, 200) for c in counts]
    outside_each = sum(not ((b[:, 0] <= P) & (b[:, 1] >= P)).all() for b in each)
    assert outside_band <= wrongly(0.05, tries)[1]
    assert outside_each > wrongly(0.05, tries)[1]  # control: intervals for single tokens do not hold together


# --- goodness of fit


def test_binomial_pvalues_by_hand():
    # Ten draws of a fair coin, nine of them heads: 2 (10 + 1)/1024.
    np.testing.assert_allclose(binomial_pvalues([9, 1], [0.5, 0.5]), [22 / 1024, 22 / 1024])
    assert binomial_pvalues([5, 5], [0.5, 0.5]).tolist() == [1, 1]
    assert binomial_pvalues([9, 1], [1, 0]).tolist() == [0, 0]  # the impossible happened


def test_fit_takes_chi_square_where_it_is_valid_and_the_exact_test_elsewhere():
    large = goodness_of_fit([420, 280, 200, 100], P)
    # χ² = 400/400 + 400/300, with three degrees of freedom
    assert large == Fit(pytest.approx(stats.chi2.sf(7 / 3, 3)), "chi-square", 1)
    small = goodness_of_fit([0, 0, 0, 20], P)  # expects 2 of the last
    assert small.method == "exact binomial" and small.token == 3
    assert small.pvalue == pytest.approx(4 * 2 * 0.1**20)
    assert goodness_of_fit([20, 1], [1, 0]).pvalue == 0
    assert goodness_of_fit([20, 0], [1, 0]).pvalue == 1


@pytest.mark.parametrize("draws", [12, 200])
def test_false_alarms_of_fit(draws):
    rng, tries = np.random.default_rng(1), 4000
    alarms = sum(goodness_of_fit(c, P).pvalue <= 0.01 for c in rng.multinomial(draws, P, size=tries))
    assert alarms <= wrongly(0.013, tries)[1]  # χ² is approximate: at 40 draws and more within a third
    biased = [0.1, 0.2, 0.3, 0.4]
    caught = sum(goodness_of_fit(c, P).pvalue <= 0.01 for c in rng.multinomial(draws, biased, size=400))
    assert caught > wrongly(0.013, 400)[1]  # control: the test can fail


# --- power


def test_power_by_hand():
    # z(0.025) = 1.959964, z(0.2) = 0.841621; √(.25/100) = 0.05.
    assert detectable_bias(100, alpha=0.05, power=0.8) == pytest.approx((1.959964 + 0.841621) * 0.05, rel=1e-6)
    assert draws_for(0.01, alpha=0.05, power=0.8) == 19623  # ⌈0.25 · 2.801585² / 0.0001⌉
    assert detectable_bias(100, alpha=0.05, tests=5) == detectable_bias(100, alpha=0.01)


@pytest.mark.parametrize("bias", [0.05, 0.02])
def test_power_is_what_is_promised(bias):
    alpha, power, tries = 1e-3, 0.9, 2000
    n = draws_for(bias, alpha=alpha, power=power)
    heads = np.random.default_rng(2).binomial(n, 0.5 + bias, size=tries)
    found = 2 * np.minimum(stats.binom.cdf(heads, n, 0.5), stats.binom.sf(heads - 1, n, 0.5)) <= alpha
    low, high = wrongly(power, tries)
    assert (
        low - 0.01 * tries <= found.sum() <= high + 0.01 * tries
    )  # the normal approximation is good to a point in 100
    missed = np.random.default_rng(3).binomial(n // 4, 0.5 + bias, size=tries)  # control: a quarter of the draws
    assert (2 * stats.binom.sf(missed - 1, n // 4, 0.5) <= alpha).sum() < low / 2


# --- distance


def test_distance_by_hand():
    # Two draws of a fair coin: |k/2 − ½| is ½, 0, ½ with ¼, ½, ¼, so ½ Σ E = ½ · 2 · ¼.
    assert total_variation_estimate([2, 0], [0.5, 0.5]) == (0.5, pytest.approx(0.25))


@pytest.mark.parametrize(("size", "floor"), [(4, 0.007), (50, 0.028)])
def test_the_noise_floor_is_met(size, floor):
    law = P if size == 4 else np.full(50, 1 / 50)
    seen = [total_variation_estimate(c, law) for c in np.random.default_rng(4).multinomial(10_000, law, size=2000)]
    estimates, floors = np.array(seen).T
    assert np.ptp(floors) == 0 and floors[0] == pytest.approx(floor, abs=5e-4)  # figures of the field
    assert estimates.mean() == pytest.approx(floors[0], abs=5 * estimates.std() / 2000**0.5)


# --- looking while draws arrive


def alarm(law, tokens, alpha):
    """Draw at which the test first rejects, or None."""
    test = AnytimeTest(law, alpha)
    return next((i for i, token in enumerate(tokens, 1) if test.update(int(token))), None)


def test_looking_at_every_draw_raises_no_more_false_alarms():
    rng, tries, alpha = np.random.default_rng(5), 500, 0.05
    draws = rng.choice(2, p=[0.7, 0.3], size=(tries, 300))
    alarms = sum(alarm([0.7, 0.3], row, alpha) is not None for row in draws)
    assert alarms <= wrongly(alpha, tries)[1]
    heads = np.cumsum(draws == 0, axis=1)[:, 9:]  # control: a binomial test at each look, from the tenth draw on
    n = np.arange(10, 301)
    each = 2 * np.minimum(stats.binom.cdf(heads, n, 0.7), stats.binom.sf(heads - 1, n, 0.7)) <= alpha
    assert each.any(axis=1).sum() > 2 * wrongly(alpha, tries)[1]


def test_it_finds_a_bias_and_the_evidence_is_a_ratio_of_probabilities():
    assert alarm([0.7, 0.3], np.random.default_rng(6).choice(2, p=[0.61, 0.39], size=5000), 1e-6) is not None
    test = AnytimeTest([0.7, 0.3], prior=1)
    test.update([0, 1, 0])
    # Under the uniform mixture: ½ · ⅓ · ½; under p: .7 · .3 · .7.
    assert np.exp(test.log_evidence) == pytest.approx((1 / 12) / (0.7 * 0.3 * 0.7))
    assert test.draws == 3 and not test.rejected
    assert test.update([]) is False and test.draws == 3


def test_the_impossible_rejects_at_once():
    assert alarm([1, 0], [0, 0, 1], 1e-6) == 3


# --- bad input


@pytest.mark.parametrize("counts", [[], [0, 0], [-1, 2], [0.5, 0.5], [[1, 2]]])
def test_counts_that_are_none(counts):
    for use in (simultaneous_band, lambda c: goodness_of_fit(c, [0.5, 0.5])):
        with pytest.raises(ValueError, match="give a vector of whole numbers"):
            use(counts)


def test_other_bad_input_is_named():
    with pytest.raises(ValueError, match="level is 95"):
        wilson(3, 10, 95)
    with pytest.raises(ValueError, match="3 counts and 2 probabilities"):
        goodness_of_fit([1, 2, 3], [0.5, 0.5])
    with pytest.raises(InvalidDistribution):
        goodness_of_fit([1, 2], [0.5, 0.6])
    with pytest.raises(ValueError, match="bias is 0"):
        draws_for(0)
    with pytest.raises(ValueError, match="alpha is 0"):
        AnytimeTest([0.5, 0.5], alpha=0)
    for tokens in (2, [0, -1], [0.5]):
        with pytest.raises(ValueError, match="are no tokens of this law: they are the integers 0 … 1"):
            AnytimeTest([0.5, 0.5]).update(tokens)
    with pytest.raises(ValueError, match="11 of 10 draws"):
        clopper_pearson(11, 10)
