"""The checks of lesson 03: what is right passes in more than one style, and each mistake gets its own advice."""

import numpy as np
import pytest
from scipy import stats

from specdec_kit import selfcheck
from specdec_kit.uncertainty import binomial_pvalues, goodness_of_fit, report

# --- never seen


def test_unseen_passes_however_it_is_written():
    assert selfcheck.check_unseen(lambda draws, level=0.95: 1 - (1 - level) ** (1 / draws))
    assert selfcheck.check_unseen(lambda draws, level=0.95: -np.expm1(np.log1p(-level) / draws))
    assert selfcheck.check_unseen(lambda draws, level=0.95: stats.beta.ppf(level, 1, draws))


@pytest.mark.parametrize(
    ("unseen", "advice"),
    [
        (lambda draws, level=0.95: 0.0, "Never seen is not impossible"),
        (lambda draws, level=0.95: 1 - level ** (1 / draws), "yours gives it the chance level"),
        (lambda draws, level=0.95: stats.beta.ppf((1 + level) / 2, 1, draws), "upper end of a two-sided interval"),
        (lambda draws, level=0.95: -np.log(1 - level) / draws, "is near for large N only"),
        (lambda draws, level=0.95: 3 / draws, "3/N is near"),
        (lambda draws, level=0.95: 1 / draws, "is due; yours is"),
    ],
)
def test_unseen_that_is_wrong_is_told_why(unseen, advice):
    verdict = selfcheck.check_unseen(unseen)
    assert not verdict and advice in verdict.says


# --- a test of one's own


def by_hand(counts, law):
    """Bonferroni, token by token."""
    n, smallest = counts.sum(), 1.0
    for k, p in zip(counts, law, strict=True):
        smallest = min(smallest, 2 * stats.binom.cdf(k, n, p), 2 * stats.binom.sf(k - 1, n, p))
    return smallest * len(counts) > 1e-6


@pytest.mark.parametrize(
    "my_test",
    [
        by_hand,
        lambda counts, law: goodness_of_fit(counts, law).pvalue > 1e-6,
        lambda counts, law: bool((binomial_pvalues(counts, law) > 1e-6 / len(law)).all()),
        lambda counts, law: report(counts, law).passed,
    ],
)
def test_a_test_that_tests_passes(my_test):
    assert selfcheck.check_my_test(my_test)


def chi(counts, law, alpha=1e-6):
    due = counts.sum() * law
    with np.errstate(divide="ignore", invalid="ignore"):
        return stats.chi2.sf(((counts - due) ** 2 / due).sum(), len(law) - 1) > alpha


def chi_of(keep):
    """χ² over some of the tokens."""

    def test(counts, law):
        kept = keep(counts, counts.sum() * law)
        due = counts.sum() * law[kept]
        with np.errstate(divide="ignore"):
            return stats.chi2.sf(((counts[kept] - due) ** 2 / due).sum(), max(1, kept.sum() - 1)) > 1e-6

    return test


@pytest.mark.parametrize(
    ("my_test", "advice"),
    [
        (lambda counts, law: True, "a bias of 0.05 that keeps the order"),
        (lambda counts, law: np.abs(counts / counts.sum() - law).max() < 0.1, "passes 100 of 100: a bias of 0.05"),
        (lambda counts, law: goodness_of_fit(counts, law).pvalue < 1e-6, "is the comparison turned round?"),
        (lambda counts, law: goodness_of_fit(counts, law).pvalue > 0.05, "is the level 10⁻⁶, and not 0.01?"),
        (lambda counts, law: goodness_of_fit(counts, law).pvalue, "return True where the counts can come from the law"),
        (chi_of(lambda counts, due: counts > 0), "also those that were not seen"),
        (chi_of(lambda counts, due: due > 0), "a token with p = 0 came ten times"),
        (chi, "does 0/0 get in the way?"),
        (chi_of(lambda counts, due: (due > 0) | (counts > 0)), "with few expected, use exact binomials"),
        (lambda counts, law: by_hand(counts, law) if counts[law * counts.sum() < 5].sum() in (0, 10) else True,
         "rare tokens are not to be left out"),
        (lambda counts, law: 1 / 0, "it raises ZeroDivisionError"),
    ],
)  # fmt: skip
def test_a_test_that_does_not_test_is_told_why(my_test, advice):
    verdict = selfcheck.check_my_test(my_test)
    assert not verdict and advice in verdict.says


def test_a_test_may_change_what_it_is_given():
    def spoils(counts, law):
        passed = goodness_of_fit(counts, law).pvalue > 1e-6
        counts[:], law[:] = 0, 0
        return passed

    assert selfcheck.check_my_test(spoils)


# --- a law that fools three tests


@pytest.mark.parametrize("w", [[0.44, 0.27, 0.18, 0.11], [0.36, 0.33, 0.22, 0.09], [0.35, 0.325, 0.65 / 3, 0.65 / 6]])
def test_a_law_that_fools_passes(w):
    assert selfcheck.check_fooling(lambda: w)


@pytest.mark.parametrize(
    ("w", "advice"),
    [
        ([0.4, 0.3, 0.2, 0.1], "its TV from p is 0: go to 0.05 at least"),
        ([0.42, 0.28, 0.2, 0.1], "its TV from p is 0.02"),
        ([0.35, 0.35, 0.2, 0.1], "keep A > B > C > D"),
        ([0.5, 0.25, 0.16, 0.09], "a token is off by 0.1, over 0.09"),
        ([0.45, 0.25, 0.2, 0.1], "is 0.0076, over 0.0055: split the tokens into two sets"),
        ([0.48, 0.32, 0.2, 0], "a token is off by 0.1"),
        ([0.5, 0.3, 0.2], "InvalidDistribution"),
        ([0.5, 0.3, 0.2, 0.1], "sums to"),
    ],
)
def test_a_law_that_does_not_fool_is_told_why(w, advice):
    verdict = selfcheck.check_fooling(lambda: w)
    assert not verdict and advice in verdict.says


def test_what_is_not_written_yet_says_so():
    def gap(*_):
        raise NotImplementedError

    for check in (selfcheck.check_unseen, selfcheck.check_my_test, selfcheck.check_fooling):
        assert check(gap).says == "gap is not written yet."
