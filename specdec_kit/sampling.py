"""One token, drawn directly from the target or by way of a draft.

Draws are `rng.random()` and inverse CDF only: the one part of NumPy's random streams that has stayed the same from
version to version, and the part that `specdec_kit.law` can walk branch by branch.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.distributions import as_law, as_pair


class Draws(NamedTuple):
    """What speculative sampling drew; each field is one number, or an array of the `size` asked for."""

    tokens: Any
    """The output, distributed as p."""
    drafts: Any
    """What the draft proposed, distributed as q."""
    accepted: Any
    """Whether the proposal was kept."""


def check_rng(rng: Any) -> Any:
    """Return `rng` if it can hand out random numbers, else say what to pass.

    Raises
    ------
    TypeError
        Where `rng` is missing, a seed, or NumPy's global random state.
    """
    if isinstance(rng, ModuleType):
        raise TypeError(
            f"rng is the module {rng.__name__}, whose state all code shares: pass np.random.default_rng(seed)"
        )
    if isinstance(rng, type) or not (hasattr(rng, "random") and hasattr(rng, "integers")):
        raise TypeError(f"rng is {rng!r}, not a generator: pass np.random.default_rng(seed)")
    return rng


def inverse_cdf(p: ArrayLike, u: Any) -> Any:
    """Token that a uniform selects: the first whose cumulative probability exceeds `u`.

    Parameters
    ----------
    p : array_like, shape (vocabulary,)
        A law.
    u : float or ndarray
        Uniforms in [0, 1).

    Returns
    -------
    int or ndarray of int
        Never a token of probability 0, even at u = 0.
    """
    cdf = np.cumsum(p)
    # Divided by its own last entry, so that rounding leaves no gap below 1 into which a uniform could fall.
    return np.searchsorted(cdf / cdf[-1], u, side="right")


def _one_law(p: ArrayLike, name: str) -> np.ndarray[Any, Any]:
    law = as_law(p, name)
    if law.ndim != 1:
        raise ValueError(f"{name} has shape {law.shape}: sampling takes one law, a vector; loop over the rows")
    return law


def categorical(p: ArrayLike, rng: Any) -> int:
    """Draw one token from `p`, using one uniform.

    Parameters
    ----------
    p : array_like, shape (vocabulary,)
        A law.
    rng : numpy.random.Generator
        Where the uniform comes from.

    Returns
    -------
    int
    """
    return int(inverse_cdf(_one_law(p, "p"), check_rng(rng).random()))


def direct_sample(p: ArrayLike, size: int | tuple[int, ...] | None = None, *, rng: Any) -> Any:
    """Draw from the target itself: the law that speculative sampling has to match.

    Parameters
    ----------
    p : array_like, shape (vocabulary,)
        A law.
    size : int or tuple of int, optional
        How many draws; one token without it.
    rng : numpy.random.Generator
        Source of one uniform a draw.

    Returns
    -------
    int or ndarray of int, shape `size`

    Raises
    ------
    InvalidDistribution
        Where `p` is no law.
    TypeError
        Where `rng` is no generator.
    """
    tokens = inverse_cdf(_one_law(p, "p"), check_rng(rng).random(size))
    return int(tokens) if size is None else tokens


def speculative_sample(p: ArrayLike, q: ArrayLike, size: int | tuple[int, ...] | None = None, *, rng: Any) -> Draws:
    """Draw from `p` by way of `q`: propose, accept with min(1, p/q), else draw from the residual.

    Parameters
    ----------
    p, q : array_like, shape (vocabulary,)
        Target and draft laws.
    size : int or tuple of int, optional
        How many draws; one without it.
    rng : numpy.random.Generator
        First one uniform a draw for the proposals, then one a draw for the tests, then one for each rejection.

    Returns
    -------
    Draws

    Raises
    ------
    InvalidDistribution
        Where `p` or `q` is no law, or their shapes differ.
    TypeError
        Where `rng` is no generator.

    References
    ----------
    Leviathan et al., arXiv:2211.17192, Algorithm 1; Chen et al., arXiv:2302.01318, Algorithm 2.
    """
    _one_law(p, "p"), _one_law(q, "q")
    target, draft = as_pair(p, q)
    rng = check_rng(rng)
    one = size is None or (isinstance(size, tuple) and not size)
    shape = 1 if one else size

    drafts = inverse_cdf(draft, rng.random(shape))
    # Strictly below: u can be 0, and a token with p = 0 must not pass.
    accepted = rng.random(shape) * draft[drafts] < target[drafts]

    tokens = drafts.copy()
    rejected = np.flatnonzero(~accepted)
    if rejected.size:
        lacking = np.maximum(target - draft, 0)
        if lacking.any():
            tokens.flat[rejected] = inverse_cdf(lacking, rng.random(rejected.size))
        else:  # p = q but for rounding: the draft has the right law as it is
            accepted.flat[rejected] = True
    if one:
        return Draws(int(tokens[0]), int(drafts[0]), bool(accepted[0]))
    return Draws(tokens, drafts, accepted)
