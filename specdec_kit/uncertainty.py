"""How sure are we? Intervals, goodness of fit, power, and a test that may be looked at while draws arrive.

Counts are of tokens (or of any other outcome) over N independent draws. The distributions are SciPy's; what is added
here is the choice of test, so that the stated false-alarm rate holds at every N and down to 10⁻⁶ and below.

References
----------
.. [1] Clopper, Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26 (1934).
.. [2] Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927).
.. [3] Ville, "Étude critique de la notion de collectif" (1939): P(a test martingale ever reaches 1/α) ≤ α.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from specdec_kit.distributions import as_law

Array = np.ndarray[Any, Any]


def _counts(counts: ArrayLike) -> Array:
    found = np.asarray(counts)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu" or (found < 0).any() or found.sum() == 0:
        raise ValueError(
            f"counts are {counts!r}: give a vector of whole numbers, at least 0, with at least one draw in all"
        )
    return found.astype(np.int64)


def _within(counts: ArrayLike, draws: int) -> Array:
    k = np.asarray(counts, dtype=np.float64)
    if (k < 0).any() or (k > draws).any():
        raise ValueError(f"{counts!r} of {draws} draws: a count lies between 0 and the number of draws")
    return k


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: give a confidence between 0 and 1, such as 0.95")
    return level


def clopper_pearson(counts: ArrayLike, draws: int, level: float = 0.95) -> Array:
    """Interval for each probability that covers it with probability at least `level`, at every N ([1]_).

    Parameters
    ----------
    counts : array_like of int, shape (...)
        How often each outcome occurred.
    draws : int
        N, the number of draws.
    level : float
        Confidence, in (0, 1).

    Returns
    -------
    ndarray, shape (..., 2)
        Lower and upper ends.
    """
    k, tail = _within(counts, draws), (1 - _level(level)) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, special.betaincinv(k, draws - k + 1, tail), 0.0)
        high = np.where(k < draws, special.betainccinv(k + 1, draws - k, tail), 1.0)
    return np.stack([low, high], axis=-1)


def wilson(counts: ArrayLike, draws: int, level: float = 0.95) -> Array:
    """Interval for each probability that covers it with probability close to `level` ([2]_); shorter, no guarantee.

    Parameters and returns are those of `clopper_pearson`.
    """
    k, z = _within(counts, draws), stats.norm.isf((1 - _level(level)) / 2)
    centre = (k + z**2 / 2) / (draws + z**2)
    half = z / (draws + z**2) * np.sqrt(k * (draws - k) / draws + z**2 / 4)
    return np.clip(np.stack([centre - half, centre + half], axis=-1), 0, 1)


def simultaneous_band(counts: ArrayLike, level: float = 0.95) -> Array:
    """Intervals for all tokens that hold together with probability at least `level` (Clopper-Pearson, Bonferroni).

    Parameters
    ----------
    counts : array_like of int, shape (vocabulary,)
        How often each token was drawn.
    level : float
        Confidence for the whole band.

    Returns
    -------
    ndarray, shape (vocabulary, 2)
    """
    k = _counts(counts)
    return clopper_pearson(k, int(k.sum()), 1 - (1 - _level(level)) / k.size)


def binomial_pvalues(counts: ArrayLike, p: ArrayLike) -> Array:
    """Two-sided p-value of each token's count, twice the smaller binomial tail: exact, so valid at every N and level.

    Parameters
    ----------
    counts : array_like of int, shape (vocabulary,)
        How often each token was drawn.
    p : array_like, shape (vocabulary,)
        The law they should follow.

    Returns
    -------
    ndarray, shape (vocabulary,)
        0 where a token with p = 0 was drawn.
    """
    k, law = _counts(counts), np.asarray(as_law(p), dtype=np.float64)
    if k.shape != law.shape:
        raise ValueError(f"there are {k.size} counts and {law.size} probabilities: give one count for each token")
    n = int(k.sum())
    return np.minimum(1.0, 2 * np.minimum(stats.binom.cdf(k, n, law), stats.binom.sf(k - 1, n, law)))


@dataclass(frozen=True)
class Fit:
    """Result of a goodness-of-fit test."""

    pvalue: float
    """Probability of a deviation at least this large where the law is right."""
    method: str
    """"chi-square", or "exact binomial" with the smallest p-value times the number of tokens."""
    token: int
    """The token whose own p-value is smallest."""


def goodness_of_fit(counts: ArrayLike, p: ArrayLike) -> Fit:
    """Test whether `counts` can come from `p`: χ² where it is valid, else an exact test.

    Pearson's χ² needs every expected count to be at least 5; with fewer its p-values can be off by orders of magnitude.
    Then each token is tested by itself, exactly, and the smallest p-value is multiplied by their number (Bonferroni).

    Parameters
    ----------
    counts : array_like of int, shape (vocabulary,)
        How often each token was drawn.
    p : array_like, shape (vocabulary,)
        The law they should follow. A token with p = 0 that was drawn gives p-value 0.

    Returns
    -------
    Fit
    """
    each = binomial_pvalues(counts, p)
    k, law, token = _counts(counts), np.asarray(as_law(p), dtype=np.float64), int(each.argmin())
    possible = law > 0
    due = k.sum() * law[possible] / law[possible].sum()
    if k[~possible].any() or possible.sum() < 2 or due.min() < 5:
        return Fit(min(1.0, float(each.min()) * int(possible.sum())), "exact binomial", token)
    return Fit(float(stats.chisquare(k[possible], due).pvalue), "chi-square", token)


# ---- power ----


def detectable_bias(draws: int, *, alpha: float = 1e-6, power: float = 0.99, p: float = 0.5, tests: int = 1) -> float:
    """Smallest change of a probability p that N draws find with the given power: (z_α + z_β) √(p(1 − p)/N), normal.

    Parameters
    ----------
    draws : int
        N.
    alpha : float
        False-alarm rate of the whole family of tests.
    power : float
        Probability to find it.
    p : float
        The probability whose change is asked for; 0.5 is the hardest.
    tests : int
        How many tests share alpha (Bonferroni).

    Returns
    -------
    float
        In units of probability.
    """
    return float((stats.norm.isf(alpha / tests / 2) + stats.norm.isf(1 - power)) * np.sqrt(p * (1 - p) / draws))


def draws_for(bias: float, *, alpha: float = 1e-6, power: float = 0.99, p: float = 0.5, tests: int = 1) -> int:
    """N at which `detectable_bias` comes down to `bias`; the parameters are the same."""
    if not 0 < bias < 1:
        raise ValueError(f"bias is {bias}: give a difference of probabilities between 0 and 1")
    return int(np.ceil((detectable_bias(1, alpha=alpha, power=power, p=p, tests=tests) / bias) ** 2))


# ---- distance ----


def total_variation_estimate(counts: ArrayLike, p: ArrayLike) -> tuple[float, float]:
    """Total variation between frequencies and a law, and what it is on average where the law is right.

    The first number is never 0 by itself: N draws of the right law are off by the second, the noise floor,
    ½ Σ E|k/N − p| with k binomial (de Moivre's mean absolute deviation, exact).

    Parameters
    ----------
    counts : array_like of int, shape (vocabulary,)
        How often each token was drawn.
    p : array_like, shape (vocabulary,)
        The law.

    Returns
    -------
    estimate, floor : float
    """
    k, law = _counts(counts), np.asarray(as_law(p), dtype=np.float64)
    n = int(k.sum())
    # E|k − np| = 2 m (1 − p) P(k = m) with m = ⌊np⌋ + 1: de Moivre 1730.
    m = np.floor(n * law) + 1
    deviation = 2 * m * (1 - law) * stats.binom.pmf(m, n, law) / n
    return float(np.abs(k / n - law).sum() / 2), float(deviation.sum() / 2)


# ---- looking while draws arrive ----


class AnytimeTest:
    """A test of a law that may be looked at after every draw, without any correction for looking.

    It bets against p with a Dirichlet mixture: the evidence is the probability of all draws so far under the mixture,
    divided by that under p. If p is right, the chance that it *ever* reaches 1/α is at most α ([3]_).

    Parameters
    ----------
    p : array_like, shape (vocabulary,)
        The law to test.
    alpha : float
        False-alarm rate over all looks together.
    prior : float
        Weight of each token in the mixture, in draws.

    Attributes
    ----------
    draws : int
    log_evidence : float
        Natural logarithm of the evidence against p; inf once a token with p = 0 was drawn.
    """

    def __init__(self, p: ArrayLike, alpha: float = 1e-6, prior: float = 0.5):
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha}: give a false-alarm rate between 0 and 1, such as 1e-6")
        self.law, self.alpha, self.prior = np.asarray(as_law(p), dtype=np.float64), alpha, prior
        self.counts = np.zeros(self.law.size, dtype=np.int64)

    def update(self, tokens: int | Iterable[int]) -> bool:
        """Take in one token or several; return whether p is rejected by now."""
        new = np.atleast_1d(np.asarray(tokens))
        new = new if new.size else new.astype(np.int64)
        if new.dtype.kind not in "iu" or (new < 0).any() or (new >= self.law.size).any():
            raise ValueError(f"{tokens!r} are no tokens of this law: they are the integers 0 … {self.law.size - 1}")
        self.counts += np.bincount(new, minlength=self.law.size)
        return self.rejected

    @property
    def draws(self) -> int:
        return int(self.counts.sum())

    @property
    def log_evidence(self) -> float:
        weight, k = self.prior * self.law.size, self.counts
        mixture = (special.gammaln(k + self.prior) - special.gammaln(self.prior)).sum()
        mixture -= special.gammaln(weight + self.draws) - special.gammaln(weight)
        with np.errstate(divide="ignore"):
            return float(mixture - special.xlogy(k, self.law).sum())

    @property
    def rejected(self) -> bool:
        return bool(self.log_evidence >= -np.log(self.alpha))
