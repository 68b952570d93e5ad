"""Probability laws over a vocabulary: how much two agree, and what each lacks of the other.

A law is a vector of probabilities; its last axis is the vocabulary, any axes before it are rows. Numbers are float64
inside, except that a law given as `fractions.Fraction` stays one, so that an identity can be checked without rounding.
No function changes its inputs.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192.
.. [2] Chen et al., "Accelerating Large Language Model Decoding with Speculative Sampling", arXiv:2302.01318.
       It calls the target q and the draft p; here, as in [1]_, p is the target and q the draft.
"""

from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# A law as the functions below hand it on: float64, or object where the caller gave fractions.
Law = np.ndarray[Any, Any]
EPSILON = float(np.finfo(np.float64).eps)


class InvalidDistribution(ValueError):
    """A vector that is no probability law.

    Attributes
    ----------
    axis : int
        The axis of the vocabulary, counted from the left.
    index : tuple of int
        Where the wrong entry (or the wrong row) stands.
    value : float, Fraction or tuple
        The entry, the row's sum, or the shape that is wrong.
    """

    def __init__(self, message: str, *, axis: int, index: tuple[int, ...], value: object):
        super().__init__(message)
        self.axis, self.index, self.value = axis, index, value


class NoResidual(ValueError):
    """The residual of two equal laws: nothing is ever rejected, so nothing is to be drawn from it."""


def _array(values: ArrayLike, name: str) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidDistribution(
            f"{name} is ragged: give each row the same length, one entry a token", axis=0, index=(), value="ragged"
        ) from None


def as_law(p: ArrayLike, name: str = "p") -> Law:
    """Check that `p` is a probability law and return it as float64 (or as fractions, where it holds fractions).

    Parameters
    ----------
    p : array_like, shape (..., vocabulary)
        Probabilities. The sum may be off by the square root of the type's rounding unit, the bound that
        `numpy.random.Generator.choice` uses; a float16 or float32 law is then renormalised in float64.
    name : str
        What the message calls it.

    Returns
    -------
    ndarray, shape (..., vocabulary)

    Raises
    ------
    InvalidDistribution
        Where `p` is empty, not numeric, not finite, negative, or does not sum to 1.
    """
    raw = _array(p, name)
    exact = raw.dtype == object and raw.size > 0 and all(isinstance(x, Rational) for x in raw.flat)
    if (raw.dtype == object and not exact) or raw.dtype.kind not in "fiubO":
        raise InvalidDistribution(
            f"{name} is not an array of real numbers (dtype {raw.dtype}): "
            "give each row the same length, and each entry a probability",
            axis=max(raw.ndim - 1, 0), index=(), value=str(raw.dtype),
        )  # fmt: skip
    if raw.ndim == 0 or raw.size == 0:
        raise InvalidDistribution(
            f"{name} is empty or a single number (shape {raw.shape}): a law needs a last axis with one entry a token",
            axis=0, index=(), value=raw.shape,
        )  # fmt: skip
    law = raw if exact else raw.astype(np.float64)
    coarsest = EPSILON if raw.dtype.kind != "f" or raw.dtype == np.float64 else max(EPSILON, np.finfo(raw.dtype).eps)
    most = 0 if exact else coarsest**0.5
    # NaN is not at least 0, and an infinite sum is not near 1.
    if not (law.min() >= 0 and np.max(np.abs(law.sum(axis=-1) - 1)) <= most):
        raise _no_law(law, name, most)
    return law / law.sum(axis=-1, keepdims=True) if coarsest > EPSILON else law


def _no_law(law: Law, name: str, most: Any) -> InvalidDistribution:
    """What is wrong with these numbers: the first of them, or the first sum, that is off."""
    axis = law.ndim - 1
    wrong = (law < 0) | (False if law.dtype == object else ~np.isfinite(law))
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        return InvalidDistribution(
            f"{name}{list(index)} is {law[index]}: a probability is a finite number, at least 0 "
            "(logits? turn them into a law with softmax)",
            axis=axis, index=index, value=law[index],
        )  # fmt: skip
    total = law.sum(axis=-1)
    index = tuple(int(i) for i in np.argwhere(np.abs(total - 1) > most)[0])
    found = total[index] if law.ndim > 1 else total
    where = f"{name}{list(index)}" if index else name
    return InvalidDistribution(
        f"{where} sums to {found} along axis {axis}, not to 1: divide it by its sum",
        axis=axis, index=index, value=found,
    )  # fmt: skip


def as_pair(p: ArrayLike, q: ArrayLike) -> tuple[Law, Law]:
    """Check that `p` and `q` are laws over the same vocabulary, row by row.

    Raises
    ------
    InvalidDistribution
        Where one is no law, or where their shapes differ.
    """
    target, draft = as_law(p, "p"), as_law(q, "q")
    if target.shape != draft.shape:
        raise InvalidDistribution(
            f"p has shape {target.shape} and q has shape {draft.shape}: both must range over the same vocabulary",
            axis=target.ndim - 1, index=(), value=(target.shape, draft.shape),
        )  # fmt: skip
    return target, draft


def overlap(p: ArrayLike, q: ArrayLike) -> Any:
    """Probability that the draft is accepted, Σ min(p, q) = 1 − TV(p, q) ([1]_, Theorem 3.5 and Corollary 3.6).

    Parameters
    ----------
    p, q : array_like, shape (..., vocabulary)
        Target and draft laws.

    Returns
    -------
    float, Fraction, or ndarray of shape (...)

    Raises
    ------
    InvalidDistribution
        Where `p` or `q` is no law, or their shapes differ.
    """
    target, draft = as_pair(p, q)
    return np.minimum(target, draft).sum(axis=-1)


def total_variation(p: ArrayLike, q: ArrayLike) -> Any:
    """Total variation, ½ Σ |p − q|: the largest difference in probability that any event can show.

    Parameters, returns and errors are those of `overlap`.
    """
    target, draft = as_pair(p, q)
    return np.abs(target - draft).sum(axis=-1) / 2


def acceptance_probability(p: ArrayLike, q: ArrayLike) -> Law:
    """Probability of keeping each drafted token, min(1, p/q) ([1]_, Section 2.3; [2]_, Algorithm 2).

    Parameters
    ----------
    p, q : array_like, shape (..., vocabulary)
        Target and draft laws.

    Returns
    -------
    ndarray, shape (..., vocabulary)
        NaN where q = 0: such a token is never proposed, so the question does not arise.

    Raises
    ------
    InvalidDistribution
        Where `p` or `q` is no law, or their shapes differ.
    """
    target, draft = as_pair(p, q)
    proposed = draft > 0
    kept = np.full(target.shape, np.nan, dtype=np.result_type(target, draft))
    # min first, then divide: p/q itself may overflow where q is tiny.
    kept[proposed] = np.minimum(target, draft)[proposed] / draft[proposed]
    return kept


def residual(p: ArrayLike, q: ArrayLike) -> Law:
    """Law of the token that replaces a rejected draft, (p − q)₊ / Σ (p − q)₊ ([1]_, Section 2.3; [2]_, Theorem 1).

    Parameters
    ----------
    p, q : array_like, shape (..., vocabulary)
        Target and draft laws.

    Returns
    -------
    ndarray, shape (..., vocabulary)

    Raises
    ------
    NoResidual
        Where p = q in some row: no draft is ever rejected there.
    InvalidDistribution
        Where `p` or `q` is no law, or their shapes differ.
    """
    target, draft = as_pair(p, q)
    lacking = np.maximum(target - draft, 0)
    total = lacking.sum(axis=-1, keepdims=True)
    if np.any(total == 0):
        row = tuple(int(i) for i in np.argwhere(total == 0)[0][:-1])
        where = f" in row {list(row)}" if row else ""
        raise NoResidual(
            f"p = q{where}: every draft is accepted and no residual is ever drawn; ask for it only after a rejection"
        )
    return lacking / total


def softmax(logits: ArrayLike) -> Law:
    """Turn logits into a law, exp(z) / Σ exp(z), without overflow.

    Parameters
    ----------
    logits : array_like, shape (..., vocabulary)
        Real numbers; −inf forbids a token.

    Returns
    -------
    ndarray, shape (..., vocabulary)

    Raises
    ------
    InvalidDistribution
        Where a logit is NaN or +inf, or a row allows no token at all.
    """
    z = _array(logits, "logits").astype(np.float64)
    if z.ndim == 0 or z.size == 0:
        raise InvalidDistribution(
            f"logits have shape {z.shape}: give a last axis with one entry a token", axis=0, index=(), value=z.shape
        )
    wrong = np.isnan(z) | (z == np.inf)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InvalidDistribution(
            f"logits{list(index)} is {z[index]}: a logit is finite, or -inf for a token that is forbidden",
            axis=z.ndim - 1, index=index, value=z[index],
        )  # fmt: skip
    top = z.max(axis=-1, keepdims=True)
    if np.isneginf(top).any():
        index = tuple(int(i) for i in np.argwhere(np.isneginf(top))[0][:-1])
        where = f" of row {list(index)}" if index else ""
        raise InvalidDistribution(
            f"every logit{where} is -inf: leave at least one token allowed",
            axis=z.ndim - 1, index=index, value=-np.inf,
        )  # fmt: skip
    weight = np.exp(z - top)
    return weight / weight.sum(axis=-1, keepdims=True)


def temperature(p: ArrayLike, t: float) -> Law:
    """Sharpen (t < 1) or flatten (t > 1) a law: p^(1/t), renormalised. t = 0 is greedy: one-hot at the first maximum.

    Parameters
    ----------
    p : array_like, shape (..., vocabulary)
        A law.
    t : float
        Temperature, at least 0, without unit. Softmax of logits z at temperature t is ``temperature(softmax(z), t)``.

    Returns
    -------
    ndarray, shape (..., vocabulary)

    Raises
    ------
    InvalidDistribution
        Where `p` is no law.
    ValueError
        Where `t` is negative or not finite.
    """
    law = as_law(p)
    if not 0 <= t < np.inf:
        raise ValueError(f"temperature is {t}: give a finite number, at least 0 (0 is greedy)")
    if t == 0:
        chosen = np.arange(law.shape[-1]) == law.argmax(axis=-1)[..., None]
        return np.where(chosen, law * 0 + 1, law * 0)  # fractions stay fractions
    law = law.astype(np.float64)
    with np.errstate(divide="ignore", over="ignore"):  # log 0 = -inf, and such a token keeps probability 0
        return softmax(np.log(law / law.max(axis=-1, keepdims=True)) / float(t))


def _keep(law: Law, kept_by_rank: np.ndarray[Any, Any], order: np.ndarray[Any, Any]) -> Law:
    """Zero what is not kept (given in order of rank) and renormalise."""
    kept = np.zeros(law.shape, dtype=bool)
    np.put_along_axis(kept, order, kept_by_rank, axis=-1)
    cut = np.where(kept, law, 0)
    return cut / cut.sum(axis=-1, keepdims=True)


def top_k(p: ArrayLike, k: int) -> Law:
    """Keep the `k` most probable tokens and renormalise. Of equal tokens the one with the lower number is kept.

    Parameters
    ----------
    p : array_like, shape (..., vocabulary)
        A law.
    k : int
        How many to keep, at least 1; more than the vocabulary keeps all.

    Returns
    -------
    ndarray, shape (..., vocabulary)

    Raises
    ------
    InvalidDistribution
        Where `p` is no law.
    ValueError
        Where `k` is below 1.
    """
    law = as_law(p)
    if not k >= 1:
        raise ValueError(f"top_k keeps {k} tokens: keep at least 1")
    order = np.argsort(-law, axis=-1, kind="stable")
    return _keep(law, np.broadcast_to(np.arange(law.shape[-1]) < k, law.shape), order)


def top_p(p: ArrayLike, mass: float) -> Law:
    """Keep the fewest most probable tokens that together hold at least `mass`, and renormalise (nucleus sampling).

    Parameters
    ----------
    p : array_like, shape (..., vocabulary)
        A law.
    mass : float
        Probability to keep, above 0 and at most 1.

    Returns
    -------
    ndarray, shape (..., vocabulary)

    Raises
    ------
    InvalidDistribution
        Where `p` is no law.
    ValueError
        Where `mass` is outside (0, 1].

    References
    ----------
    Holtzman et al., "The Curious Case of Neural Text Degeneration", arXiv:1904.09751, Section 3.1.
    """
    law = as_law(p)
    if not 0 < mass <= 1:
        raise ValueError(f"top_p keeps a mass of {mass}: give a number above 0 and at most 1")
    order = np.argsort(-law, axis=-1, kind="stable")
    ranked = np.take_along_axis(law, order, axis=-1)
    before = np.cumsum(ranked, axis=-1) - ranked  # mass held by the tokens ranked above
    return _keep(law, before < mass * ranked.sum(axis=-1, keepdims=True), order)
