"""Samplers of other shapes, fitted to the audit: batches of rows, verifiers of drafted blocks, PyTorch code.

The audit wants ``sampler(p, q, rng) -> token`` or ``round_(target, draft, context, gamma, rng) -> tokens``. Each
adapter makes one of the two, and draws from `rng` alone whatever its own part of the randomness is.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from specdec_kit.extras import needed
from specdec_kit.sampling import inverse_cdf

Rows = Callable[[Any, Any, Any], list[Any]]


def batched(sampler: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """One-token sampler from one that takes a whole batch, as serving engines have them.

    Parameters
    ----------
    sampler : callable
        ``sampler(p, q, rng) -> tokens`` with p and q of shape (rows, vocabulary) and tokens of shape (rows,).

    Returns
    -------
    callable
        Runs one row. Its attribute ``rows`` runs many, by which the audit counts faster, and checks that the rows of a
        batch are independent of each other.

    Examples
    --------
    >>> from specdec_kit import inverse_cdf
    >>> from specdec_kit.audit import audit_sampler
    >>> def direct(p, q, rng):
    ...     return np.array([inverse_cdf(law, u) for law, u in zip(p, rng.random(len(p)))])
    >>> audit_sampler(batched(direct)).passed
    True
    """

    def rows(p: Any, q: Any, rng: Any) -> list[Any]:
        tokens = sampler(p, q, rng)
        if np.shape(tokens) != (len(p),):
            raise ValueError(f"{len(p)} rows gave tokens of shape {np.shape(tokens)}, where one token a row is due")
        return tokens.tolist() if isinstance(tokens, np.ndarray) else list(tokens)

    return _with_rows(rows, sampler)


def _with_rows(rows: Rows, named: Any) -> Callable[[Any, Any, Any], Any]:
    def one(p: Any, q: Any, rng: Any) -> Any:
        return rows(np.asarray(p)[None], np.asarray(q)[None], rng)[0]

    one.__name__ = getattr(named, "__name__", "your function")
    one.rows = rows  # type: ignore[attr-defined]
    return one


def verifier(verify: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Round from a function that verifies drafted blocks, as serving engines have them.

    The adapter runs the draft, and hands over the laws that its tokens were drawn from.

    Parameters
    ----------
    verify : callable
        ``verify(p, q, drafts, rng) -> tokens``: p of shape (rows, γ + 1, vocabulary), q of shape (rows, γ, vocabulary),
        drafts of shape (rows, γ). For each row the tokens that are kept, followed by -1 where the row is full (or as
        lists of different lengths).

    Returns
    -------
    callable
        ``round_(target, draft, context, gamma, rng)``. By its attribute ``rows`` the audit checks the rows of a batch.
    """

    def round_(target: Any, draft: Any, context: Any, gamma: int, rng: Any) -> tuple[Any, ...]:
        context = tuple(context)
        drafts: list[int] = []
        q: list[Any] = []
        for _ in range(gamma):
            q.append(np.asarray(draft(context + tuple(drafts))))
            drafts.append(int(inverse_cdf(q[-1], rng.random())))
        p = [np.asarray(target(context + tuple(drafts[:n]))) for n in range(gamma + 1)]
        return _kept(verify(np.array([p]), np.array([q]), np.array([drafts]), rng)[0])

    def rows(p: Any, q: Any, rng: Any) -> list[Any]:
        drafts = np.array([[inverse_cdf(law, rng.random())] for law in q])
        kept = [_kept(row) for row in verify(np.stack([p, p], axis=1), q[:, None], drafts, rng)]
        if len(kept) != len(p) or not all(kept):
            raise ValueError(f"{len(p)} blocks gave {sum(map(bool, kept))} rows of tokens: one a block is due")
        return [tokens[0] for tokens in kept]

    round_.__name__ = getattr(verify, "__name__", "your function")
    round_.rows = rows  # type: ignore[attr-defined]
    return round_


def _kept(row: Any) -> tuple[Any, ...]:
    """Tokens of a row up to its first -1, after which there must be no other."""
    tokens = row.tolist() if hasattr(row, "tolist") else list(row)
    kept = tokens[: tokens.index(-1)] if -1 in tokens else tokens
    if any(token != -1 for token in tokens[len(kept) :]):
        raise ValueError(f"a token follows the -1 that ends a row: {tokens}")
    return tuple(kept)


@contextmanager
def torch_draws(rng: Any) -> Iterator[None]:
    """Within the block PyTorch's uniforms and categorical draws come from `rng`.

    So code that draws from PyTorch's global state can be seeded, scripted and audited like any other. It serves
    ``torch.rand``, ``torch.rand_like``, ``torch.multinomial`` (one draw a row), ``Tensor.uniform_`` and
    ``Tensor.exponential_``; a float32 uniform is a multiple of 2⁻²⁴, as PyTorch's own are, so that it can be 0.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the numbers come from.

    Raises
    ------
    ModuleNotFoundError
        Where PyTorch is missing.

    Examples
    --------
    ::

        def my_round(target, draft, context, gamma, rng):
            with torch_draws(rng):
                return my_torch_code(…)
    """
    with needed("models"):
        import torch

    def uniforms(shape: Any, dtype: Any) -> Any:
        bits = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}[dtype]
        drawn = np.floor(np.asarray(rng.random(tuple(shape)), dtype=np.float64) * 2.0**bits) / 2.0**bits
        return torch.from_numpy(np.array(drawn)).to(dtype)

    def rand(*sizes: Any, size: Any = None, dtype: Any = None, **_: Any) -> Any:
        shape = sizes if size is None else size
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return uniforms(shape, dtype or torch.get_default_dtype())

    def rand_like(tensor: Any, *, dtype: Any = None, **_: Any) -> Any:
        return uniforms(tensor.shape, dtype or tensor.dtype)

    def multinomial(weights: Any, num_samples: int = 1, replacement: bool = False, **_: Any) -> Any:
        table = weights.detach().to(torch.float64).numpy()
        if num_samples != 1:
            raise ValueError("torch_draws serves torch.multinomial with num_samples=1")
        if not np.isfinite(table).all() or (table < 0).any() or not (table.sum(axis=-1) > 0).all():
            raise RuntimeError("torch.multinomial: weights are negative, not finite, or sum to 0")
        drawn = [[int(inverse_cdf(row, rng.random()))] for row in np.atleast_2d(table)]
        return torch.tensor(drawn if table.ndim == 2 else drawn[0])

    def uniform_(tensor: Any, low: float = 0.0, high: float = 1.0, **_: Any) -> Any:
        return tensor.copy_(low + (high - low) * uniforms(tensor.shape, tensor.dtype))

    def exponential_(tensor: Any, lambd: float = 1.0, **_: Any) -> Any:
        return tensor.copy_(-torch.log1p(-uniforms(tensor.shape, torch.float64)) / lambd)

    ours = [(torch, f) for f in (rand, rand_like, multinomial)] + [(torch.Tensor, f) for f in (uniform_, exponential_)]
    theirs = [(place, f.__name__, getattr(place, f.__name__)) for place, f in ours]
    try:
        for place, function in ours:
            setattr(place, function.__name__, function)
        yield
    finally:
        for place, name, function in theirs:
            setattr(place, name, function)


def transformers_round() -> Callable[..., tuple[Any, ...]]:
    """Round that verifies as ``transformers`` does in assisted generation, by its private ``_speculative_sampling``.

    It gets the logarithms of the laws in float32, row by row, and draws by way of `torch_draws`.

    Returns
    -------
    callable
        ``round_(target, draft, context, gamma, rng)``, for `specdec_kit.audit.audit_decoder`.

    Raises
    ------
    ModuleNotFoundError
        Where PyTorch or transformers is missing.
    """
    with needed("models"):
        import torch
        from transformers.generation.utils import _speculative_sampling

    def logits(laws: Any) -> Any:
        with np.errstate(divide="ignore"):
            return torch.from_numpy(np.log(np.asarray(laws, dtype=np.float32)))[None]

    def transformers(p: Any, q: Any, drafts: Any, rng: Any) -> list[list[int]]:
        kept, threads = [], torch.get_num_threads()
        torch.set_num_threads(1)  # on laws of a few tokens more of them wait for each other, ten times as long
        try:
            for rows, draft_rows, drafted in zip(p, q, drafts, strict=True):
                with torch_draws(rng), torch.no_grad():
                    tokens, _ = _speculative_sampling(
                        torch.from_numpy(drafted)[None], logits(draft_rows), len(drafted), logits(rows)
                    )
                kept.append(tokens[0].tolist())
        finally:
            torch.set_num_threads(threads)
        return kept

    return verifier(transformers)
