"""Audits: is this sampler right, and if not, why? `audit_sampler` for one token, `audit_decoder` for rounds.

A model that keeps a cache has an audit of its own, `audit_cache`.

Any sampler, a reader's or a library's, that takes its laws and its generator as arguments. Where its code can be walked
the audit is exact; where it cannot, it counts, with a stated false-alarm rate over all counts together. What no count
reaches at an affordable number of draws (u = 0, rounding, seeds, inputs, lengths) is checked by itself.

An audit that is interrupted raises `Interrupted`, a KeyboardInterrupt whose `report` has what was found until then.
"""

from collections.abc import Callable
from typing import Any

from specdec_kit.battery import Interrupted, Report
from specdec_kit.cache_audit import audit_cache
from specdec_kit.round_audit import RoundAudit
from specdec_kit.token_audit import TokenAudit

__all__ = ["Interrupted", "Report", "audit_cache", "audit_decoder", "audit_sampler"]


def audit_sampler(
    sampler: Callable[[Any, Any, Any], int],
    *,
    alpha: float = 1e-6,
    draws: int = 12_000,
    seed: int = 0,
    patience: float = 3.0,
) -> Report:
    """Audit a one-token sampler.

    Parameters
    ----------
    sampler : callable
        ``sampler(p, q, rng) -> int``: p and q are float64 vectors, rng a `numpy.random.Generator`, the result a token
        of law p. For batches see `specdec_kit.adapters`.
    alpha : float
        False-alarm rate of everything that is counted, taken together. What is exact gives no false alarms.
    draws : int
        Draws of each of the two main cases, where the sampler cannot be walked; the others take a fifth of it.
    seed : int
        Seed of the draws, so that an audit can be repeated.
    patience : float
        Seconds after which one call counts as never ending, and after which the counting of one law ends early.

    Returns
    -------
    Report
        Printed, it says what is wrong and why; true if nothing is.

    Raises
    ------
    TypeError
        Where `sampler` cannot be called.
    """
    return TokenAudit(sampler, alpha, draws, seed, patience).report


def audit_decoder(
    round_: Callable[..., Any],
    *,
    decode: Callable[..., Any] | None = None,
    alpha: float = 1e-6,
    draws: int = 2_000,
    seed: int = 0,
    patience: float = 3.0,
) -> Report:
    """Audit one round of speculative decoding, and the decoder that is built on it.

    Parameters
    ----------
    round_ : callable
        ``round_(target, draft, context, gamma, rng)`` returns 1 … γ + 1 tokens, or an object that has them as
        ``.tokens``; target and draft are callables that take the tokens so far, a tuple, and return a law. For
        engines' verifiers see `specdec_kit.adapters`.
    decode : callable, optional
        ``decode(target, draft, prompt, *, gamma, max_new_tokens, rng, eos)`` returns the new tokens, or an object that
        has them as ``.tokens``. With it, lengths and the end of sequence are audited too.
    alpha, draws, seed, patience
        Those of `audit_sampler`.

    Returns
    -------
    Report

    Raises
    ------
    TypeError
        Where `round_` or `decode` cannot be called.
    """
    return RoundAudit(round_, decode, alpha, draws, seed, patience).report
