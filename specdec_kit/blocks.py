"""Blocks of tokens: the draft runs γ tokens ahead, the target verifies them all and adds one of its own.

A model is a callable that takes the tokens so far, a tuple, and returns the law of the next one. In practice the target
verifies in one pass; here it is called once a row, so that any callable will do.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192.
.. [2] Chen et al., "Accelerating Large Language Model Decoding with Speculative Sampling", arXiv:2302.01318.
"""

from collections.abc import Callable, Iterable
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.distributions import InvalidDistribution, Law, as_law
from specdec_kit.sampling import check_rng, inverse_cdf

Model = Callable[[tuple[int, ...]], ArrayLike]


class Round(NamedTuple):
    """What one round did."""

    drafted: tuple[int, ...]
    """The γ tokens that the draft proposed."""
    accepted: int
    """How many of them passed, up to the first that did not."""
    tokens: tuple[int, ...]
    """What was kept: the accepted ones and one more, from the residual or the bonus; fewer where decoding ended."""


class Decoded(NamedTuple):
    """What speculative decoding wrote."""

    tokens: tuple[int, ...]
    """The tokens after the prompt: those of all rounds, one after another."""
    rounds: tuple[Round, ...]


def speculative_round(target: Model, draft: Model, context: Iterable[int], gamma: int, rng: Any) -> tuple[int, ...]:
    """Draw 1 … γ + 1 tokens of the target's law by way of γ drafts ([1]_, Algorithm 1; [2]_, Algorithm 2).

    Parameters
    ----------
    target, draft : callable
        Models over one vocabulary.
    context : sequence of int
        The tokens so far.
    gamma : int
        How many tokens to draft; 0 is plain sampling from the target.
    rng : numpy.random.Generator
        Source of one uniform for each draft, one for each test, and one for the last token.

    Returns
    -------
    tuple of int
        The tokens that follow `context`.

    Raises
    ------
    InvalidDistribution
        Where a model returns what is no law, or the two have different vocabularies.
    TypeError, ValueError
        Where an argument is not of its kind: the message names it.
    """
    return _round(target, draft, _tokens(context, "context"), _count(gamma, "gamma"), check_rng(rng)).tokens


def _round(target: Model, draft: Model, context: tuple[int, ...], gamma: int, rng: Any) -> Round:
    rows = [_law(target, "target", context)]
    size = len(rows[0])

    # The draft runs ahead. A token and the law that it was drawn from travel together.
    drafted: tuple[int, ...] = ()
    laws = []
    for _ in range(gamma):
        laws.append(_law(draft, "draft", context + drafted, size))
        drafted += (int(inverse_cdf(laws[-1], rng.random())),)

    # The target scores every draft and the place after the last: γ + 1 rows.
    rows += [_law(target, "target", context + drafted[: n + 1], size) for n in range(gamma)]

    for n, (x, q) in enumerate(zip(drafted, laws, strict=True)):
        p = rows[n]
        if rng.random() * q[x] < p[x]:  # strictly: u can be 0, and a token with p = 0 must not pass
            continue
        lacking = np.maximum(p - q, 0)
        if lacking.any():  # else p = q but for rounding, and the draft has the right law as it is
            return Round(drafted, n, (*drafted[:n], int(inverse_cdf(lacking, rng.random()))))
    bonus = int(inverse_cdf(rows[gamma], rng.random()))
    return Round(drafted, gamma, (*drafted, bonus))


def speculative_decode(
    target: Model, draft: Model, prompt: Iterable[int], *, gamma: int, max_new_tokens: int, rng: Any,
    eos: int | None = None,
) -> Decoded:  # fmt: skip
    """Write on after `prompt`, round by round; the text has the law of one drawn token by token from the target.

    Where the text ends inside a block, the rest of the block is dropped. That leaves the law as it is: each token was
    settled without those after it.

    Parameters
    ----------
    target, draft, gamma, rng
        Those of `speculative_round`.
    prompt : sequence of int
        Tokens to begin with; may be empty where both models allow it.
    max_new_tokens : int
        How many to write, unless `eos` comes before.
    eos : int, optional
        The token after which there is none. It is kept, as the last one.

    Returns
    -------
    Decoded

    Raises
    ------
    InvalidDistribution, TypeError, ValueError
        As `speculative_round`.
    """
    start, end = _tokens(prompt, "prompt"), None if eos is None else _tokens([eos], "eos")[0]
    gamma, limit = _count(gamma, "gamma"), _count(max_new_tokens, "max_new_tokens")
    check_rng(rng)
    tokens: tuple[int, ...] = ()
    rounds = []
    while len(tokens) < limit and tokens[-1:] != (end,):
        done = _round(target, draft, start + tokens, gamma, rng)
        kept = done.tokens[: limit - len(tokens)]
        if end in kept:
            kept = kept[: kept.index(end) + 1]
        tokens += kept
        rounds.append(done._replace(tokens=kept))
    return Decoded(tokens, tuple(rounds))


def _law(model: Model, name: str, context: tuple[int, ...], size: int | None = None) -> Law:
    """Law of the next token, a vector; of `size` entries, where that is known."""
    if not callable(model):
        raise TypeError(f"{name} is {model!r}: give a model, a callable that takes the tokens so far and returns a law")
    law = as_law(model(context), name)
    if law.shape != (size or law.shape[-1],):
        due = f"give it the target's vocabulary, {size} tokens" if size else "return one law, a vector"
        raise InvalidDistribution(
            f"{name} returns a law of shape {law.shape}: {due}", axis=law.ndim - 1, index=(), value=law.shape
        )
    return law


def _tokens(tokens: Iterable[int], name: str) -> tuple[int, ...]:
    try:
        return tuple(index(token) for token in tokens)
    except TypeError:
        raise TypeError(f"{name} is {tokens!r}: give token numbers, such as (0, 2, 1)") from None


def _count(value: int, name: str) -> int:
    try:
        number = index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"{name} is {value!r}: give a whole number, at least 0")
    return number
