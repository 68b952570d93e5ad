"""How sure are we? Intervals, goodness of fit, power, a test that may be looked at while draws arrive, and a report.

Counts are of tokens (or of any other outcome) over N independent draws. The distributions are SciPy's; what is added
here is the choice of test, so that the stated false-alarm rate holds at every N and down to 10⁻⁶ and below.

References
----------
.. [1] Clopper, Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26 (1934).
.. [2] Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927).
.. [3] Ville, "Étude critique de la notion de collectif" (1939): P(a test martingale ever reaches 1/α) ≤ α.
.. [4] Efron, Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.
"""

import csv
import html
import io
import json
import os
import platform
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.distributions import as_law
from specdec_kit.extras import needed
from specdec_kit.files import write_whole
from specdec_kit.lines import wrapped

with needed("lab"):
    import scipy
    from scipy import special, stats

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


def _alpha(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}: give a false-alarm rate between 0 and 1, such as 1e-6")
    return alpha


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
    return two_sided(k, int(k.sum()), law)


def two_sided(counts: Any, draws: int, p: Any) -> Array:
    """P-value of each count by itself, an exact binomial one: twice the smaller tail, at most 1."""
    return np.minimum(1.0, 2 * np.minimum(stats.binom.cdf(counts, draws, p), stats.binom.sf(counts - 1, draws, p)))


@dataclass(frozen=True)
class Fit:
    """Result of a goodness-of-fit test."""

    pvalue: float
    """Probability of a deviation at least this large where the law is right."""
    method: str
    """"chi-square"; "exact binomial", the smallest p-value of a token times their number; or "chi-square, raised", to
    the least that it can be believed to say."""
    token: int
    """The token whose own p-value is smallest."""


def goodness_of_fit(counts: ArrayLike, p: ArrayLike) -> Fit:
    """Test whether `counts` can come from `p`: χ² as far as it holds, else an exact test.

    Parameters
    ----------
    counts : array_like of int, shape (vocabulary,)
        How often each token was drawn.
    p : array_like, shape (vocabulary,)
        The law they should follow. A token with p = 0 that was drawn gives p-value 0.

    Returns
    -------
    Fit

    Notes
    -----
    Pearson's χ² needs every expected count to be at least 5. In its far tail it needs more: with 5 expected, what it
    calls one in a million occurs up to 70 times as often. So it is believed down to a p-value of 3 in 100 there, to 1
    in 2,000 with 100 expected, to one in a million with 760; down to there, exact enumeration finds it off by at most
    a half. Smaller p-values come from the exact test alone: each token by itself, the smallest p-value times their
    number (Bonferroni).
    """
    each = binomial_pvalues(counts, p)
    k, law, token = _counts(counts), np.asarray(as_law(p), dtype=np.float64), int(each.argmin())
    possible = law > 0
    exact = Fit(min(1.0, float(each.min()) * int(possible.sum())), "exact binomial", token)
    due = k.sum() * law[possible] / law[possible].sum()
    if k[~possible].any() or possible.sum() < 2 or due.min().round(9) < 5:
        return exact
    # A count with m expected has skewness 1/√m, which multiplies its tail z standard deviations out by about
    # exp(z³ / 6√m). That factor is 2 at z⁶ = 18 m.
    reach = float(2 * stats.norm.sf((18 * due.min()) ** (1 / 6)))
    pearson = float(stats.chisquare(k[possible], due).pvalue)
    if pearson >= reach:
        return Fit(pearson, "chi-square", token)
    return exact if exact.pvalue < reach else Fit(reach, "chi-square, raised", token)


# ---- by resampling ----


def bootstrap(
    statistic: Callable[..., Any], *samples: ArrayLike, rng: Any, level: float = 0.95, resamples: int = 4000
) -> tuple[float, float, float]:
    """Value of a statistic with its percentile interval: what it gives on rows drawn again, with replacement ([4]_).

    Parameters
    ----------
    statistic : callable
        Takes the samples, each with an axis of resamples before its own, and returns one value for each: of sums or
        medians over the last axis, such as ``lambda x: np.median(x, axis=-1)``.
    *samples : array_like, shape (rows,)
        Rows that belong together are drawn together: two times of one text, say.
    rng : numpy.random.Generator
        Source of the rows.
    level : float
        Confidence, in (0, 1). Of few rows (under ten or so) the interval covers somewhat less.
    resamples : int
        How often to draw.

    Returns
    -------
    value, low, high : float

    Raises
    ------
    ValueError
        Where there are no rows, or not as many in each sample.
    """
    rows = [np.asarray(sample) for sample in samples]
    count = rows[0].size if rows else 0
    if count == 0 or any(sample.shape != (count,) for sample in rows):
        raise ValueError(
            f"the samples have the shapes {[sample.shape for sample in rows]}: give vectors, at least one and all of "
            "one length"
        )
    # SciPy's bootstrap draws by rng.integers, whose stream may change between versions of NumPy.
    picks = (rng.random((resamples, count)) * count).astype(np.int64)
    drawn = np.asarray(statistic(*(sample[picks] for sample in rows)))
    low, high = np.quantile(drawn, [(1 - _level(level)) / 2, (1 + level) / 2])
    return float(np.asarray(statistic(*(sample[None] for sample in rows)))[0]), float(low), float(high)


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
        self.law, self.alpha, self.prior = np.asarray(as_law(p), dtype=np.float64), _alpha(alpha), prior
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


# ---- the report ----


def least_rise(draws: int, p: Any, tail: float, power: float) -> Array:
    """How much likelier an event of probability p has to get for too many of them to be counted with that power.

    Too many are as many as come with probability at most `tail`. As a function of p that tail is a beta distribution,
    so the answer is exact; inf where not even an event that always comes is too many.
    """
    high = stats.binom.isf(tail, draws, p) + 1
    rise = special.betaincinv(high, np.maximum(draws - high + 1, 1), power) - p
    return np.where(high > draws, np.inf, rise)


def _least_bias(draws: int, law: Array, alpha: float, power: float) -> float | None:
    """Smallest b such that any token off by b or more is rejected with probability `power` by its exact binomial.

    Each possible token is tested at level alpha/tokens, two-sided. None where not even certainty would be rejected.
    """
    law = law[law > 0]
    tail = alpha / law.size / 2
    low, above = stats.binom.ppf(tail, draws, law) - 1, least_rise(draws, law, tail, power)
    if np.isinf(above).any():
        return None
    with np.errstate(invalid="ignore"):
        below = np.where(low >= 0, law - special.betaincinv(low + 1, draws - low, 1 - power), law)
    return float(max(above.max(), below.max()))


@dataclass(frozen=True, eq=False)
class Report:
    """What a reader hands in for one result; made by `report`, shown as text or as a table, written by `export`."""

    counts: Array
    """How often each token was drawn."""
    p: Array
    """The law that they should follow."""
    tokens: tuple[str, ...]
    level: float
    alpha: float
    seed: int | str | None

    power = 0.99
    longest = 40

    @property
    def draws(self) -> int:
        """N, the number of draws."""
        return int(self.counts.sum())

    @property
    def estimate(self) -> Array:
        """Frequency of each token."""
        return self.counts / self.draws

    @cached_property
    def interval(self) -> Array:
        """Clopper-Pearson interval of each token by itself, shape (vocabulary, 2)."""
        return clopper_pearson(self.counts, self.draws, self.level)

    @cached_property
    def band(self) -> Array:
        """Intervals that hold for all tokens together, shape (vocabulary, 2)."""
        return simultaneous_band(self.counts, self.level)

    @cached_property
    def pvalues(self) -> Array:
        """Exact binomial p-value of each token by itself."""
        return binomial_pvalues(self.counts, self.p)

    @property
    def smallest(self) -> float:
        """The smallest of `pvalues`, times the number of tokens that can occur (Bonferroni)."""
        return min(1.0, float(self.pvalues.min()) * int((self.p > 0).sum()))

    @cached_property
    def fit(self) -> Fit:
        """Goodness of fit of all tokens together."""
        return goodness_of_fit(self.counts, self.p)

    @property
    def passed(self) -> bool:
        """Whether neither test rejects, each at half of alpha: so a right law fails at a rate of alpha at most.

        The half of the exact binomials holds without approximation; that of χ² may be half as large again, as
        `goodness_of_fit` says.
        """
        return min(self.smallest, self.fit.pvalue) > self.alpha / 2

    @cached_property
    def distance(self) -> tuple[float, float]:
        """Total variation from p, and what the right law shows on average."""
        return total_variation_estimate(self.counts, self.p)

    @cached_property
    def detectable(self) -> float | None:
        """Smallest bias of any one token that N draws fail with 99 % probability, exact; None where there is none."""
        return _least_bias(self.draws, self.p, self.alpha / 2, self.power)

    # -- shown

    def _head(self) -> list[str]:
        percent = f"{100 * self.level:g} %"
        return ["token", "count", "p", "estimate", f"{percent} interval", f"{percent} for all together"]

    def _rows(self) -> list[list[str]]:
        """A row for each token; of a large vocabulary, those with the smallest p-values."""
        shown = np.sort(np.argsort(self.pvalues, kind="stable")[: self.longest])
        ends = [[f"{low:.4g} to {high:.4g}" for low, high in part[shown]] for part in (self.interval, self.band)]
        return [
            [self.tokens[i], f"{self.counts[i]:,}", f"{self.p[i]:.4g}", f"{self.estimate[i]:.4g}", one, together]
            for i, one, together in zip(shown, *ends, strict=True)
        ]

    def _title(self) -> str:
        seed = "no seed given" if self.seed is None else f"seed {self.seed}"
        few = f"; of {len(self.p):,} tokens, the {self.longest} with smallest p-values"
        return f"{self.draws:,} draws, {seed}{few if len(self.p) > self.longest else ''}"

    def _lines(self) -> list[str]:
        worst = int(self.pvalues.argmin())
        side = "too often" if self.estimate[worst] > self.p[worst] else "too rarely"
        named = f" ({self.tokens[worst]}, {side})" if self.smallest < 1 else ""
        estimate, floor = self.distance
        found = (
            f"any token off by {self.detectable:.2g} or more"
            if self.detectable is not None
            else f"not every bias, however large: {self.draws:,} draws are too few for this α"
        )
        verdict = "no deviation found" if self.passed else "these draws do not follow p"
        return [
            f"each token (exact binomial): least p-value × tokens {self.smallest:.2g}{named}",
            f"all tokens together ({self.fit.method}): p-value {self.fit.pvalue:.2g}",
            f"total variation from p: {estimate:.2g}, where the right law shows {floor:.2g} on average",
            f"found with probability {100 * self.power:g} %: {found}",
            f"verdict at α = {self.alpha:g}, half for each test: {verdict}",
        ]

    def __repr__(self) -> str:
        rows = [self._head(), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        align = (str.ljust, str.rjust, str.rjust, str.rjust, str.ljust, str.ljust)
        table = ["  ".join(side(c, w) for side, c, w in zip(align, row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([wrapped(self._title()), *table, *map(wrapped, self._lines())])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self._head())
        body = "".join(
            f'<tr><th scope="row">{html.escape(token)}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
            for token, *cells in self._rows()
        )
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in self._lines())
        return (
            f"<table><caption>{html.escape(self._title())}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><ul>{lines}</ul>"
        )

    # -- written

    def _facts(self) -> dict[str, Any]:
        from specdec_kit import __version__

        return {
            "draws": self.draws,
            "seed": self.seed,
            "alpha": self.alpha,
            "level": self.level,
            "specdec_kit": __version__,
            "scipy": scipy.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        }

    def _csv(self) -> str:
        facts, file = self._facts(), io.StringIO()
        write = csv.writer(file, lineterminator="\n").writerow
        write(["token", "count", "p", *facts])
        for token, count, mass in zip(self.tokens, self.counts.tolist(), self.p.tolist(), strict=True):
            write([token, count, mass, *facts.values()])
        return file.getvalue()

    def _json(self) -> str:
        raw = {"tokens": self.tokens, "counts": self.counts.tolist(), "p": self.p.tolist()}
        results = {
            "interval": self.interval.tolist(),
            "band": self.band.tolist(),
            "smallest_pvalue_times_tokens": self.smallest,
            "fit": {"pvalue": self.fit.pvalue, "method": self.fit.method},
            "total_variation": self.distance[0],
            "noise_floor": self.distance[1],
            "detectable_bias": self.detectable,
            "passed": self.passed,
        }
        return json.dumps({**self._facts(), **raw, "results": results}, indent=1, ensure_ascii=False) + "\n"

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write all that someone needs to compute the report anew, whole or not at all.

        Parameters
        ----------
        path : path
            Ends in ``.csv`` (a row for each token: raw count and p, then N, seed, α, level and versions) or in
            ``.json`` (the same, and the results).

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            Where the name ends otherwise.
        """
        path = Path(path)
        if path.suffix not in (".csv", ".json"):
            raise ValueError(f"{path.name} ends neither in .csv nor in .json: choose one of the two")
        return write_whole(path, self._csv() if path.suffix == ".csv" else self._json())


def report(
    counts: ArrayLike,
    p: ArrayLike,
    *,
    level: float = 0.95,
    alpha: float = 1e-6,
    seed: int | str | None = None,
    tokens: Sequence[Any] | None = None,
) -> Report:
    """Report a count of draws: estimates, intervals, goodness of fit, and what could have been found.

    Parameters
    ----------
    counts : array_like of int, shape (vocabulary,)
        How often each token was drawn, over independent draws.
    p : array_like, shape (vocabulary,)
        The law they should follow.
    level : float
        Confidence of the intervals, in (0, 1).
    alpha : float
        False-alarm rate of the verdict, in (0, 1); choose it before you draw.
    seed : int or str, optional
        What repeats the draws: a seed, or words that say how they were seeded.
    tokens : sequence, optional
        Names of the tokens; A, B, C, … or numbers without it.

    Returns
    -------
    Report
    """
    binomial_pvalues(counts, p)  # which says what is wrong with either
    seen, law = _counts(counts), np.array(as_law(p), dtype=np.float64)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer | str)):
        raise TypeError(f"seed is {seed!r}: give the whole number, or the words, by which the draws can be repeated")
    if tokens is None:
        tokens = string.ascii_uppercase[: seen.size] if seen.size <= 26 else range(seen.size)
    if len(tokens) != seen.size:
        raise ValueError(f"there are {len(tokens)} tokens and {seen.size} counts: give one name for each count")
    return Report(
        seen.copy(),
        law,
        tuple(map(str, tokens)),
        _level(level),
        _alpha(alpha),
        int(seed) if isinstance(seed, np.integer) else seed,
    )
