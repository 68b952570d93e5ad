"""Blocks of tokens: the draft runs γ tokens ahead, the target verifies them all and adds one of its own.

A model is a callable that takes the tokens so far, a tuple, and returns the law of the next one. Two attributes are
optional. ``score(context, drafts)`` returns the laws after the context and after each of the drafts, γ + 1 rows, from
one pass; without it the model is called once a row. ``vocabulary`` holds the text of each token; where both models have
it, they must agree.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192.
.. [2] Chen et al., "Accelerating Large Language Model Decoding with Speculative Sampling", arXiv:2302.01318.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.distributions import InvalidDistribution, Law, as_law
from specdec_kit.sampling import check_rng, inverse_cdf

Tokens = tuple[int, ...]
Model = Callable[[Tokens], ArrayLike]


class Round(NamedTuple):
    """What one round did."""

    drafted: Tokens
    """The tokens that the draft proposed."""
    accepted: int
    """How many of them passed, up to the first that did not."""
    tokens: Tokens
    """What was kept: the accepted ones and one more, from the residual or the bonus; fewer where decoding ended."""
    reason: str
    """Why it ended there: "rejection", "all accepted", "end of sequence" or "cap"."""

    @property
    def marks(self) -> tuple[str, ...]:
        """What each kept token is: "accepted", and the last perhaps "corrected" or "bonus"."""
        last = "corrected" if self.accepted < len(self.drafted) else "bonus"
        return tuple("accepted" if n < self.accepted else last for n in range(len(self.tokens)))


Gamma = int | Callable[[Tokens, tuple[Round, ...]], int]


class Decoded(NamedTuple):
    """What speculative decoding wrote."""

    tokens: Tokens
    """The tokens after the prompt: those of all rounds, one after another."""
    rounds: tuple[Round, ...]


def speculative_round(target: Model, draft: Model, context: Iterable[int], gamma: int, rng: Any) -> Tokens:
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
    check_models(target, draft)
    context, gamma = as_tokens(context, "context"), _count(gamma, "gamma")
    return token_verification(target, draft, context, gamma, check_rng(rng)).tokens


def token_verification(target: Model, draft: Model, context: Tokens, gamma: int, rng: Any) -> Round:
    """One round, with its record: `speculative_round` for a caller that has checked the arguments."""
    drafted, laws = propose(draft, context, gamma, lambda q: inverse_cdf(q, rng.random()))
    rows = score(target, context, drafted, laws)
    for n, (x, p, q) in enumerate(zip(drafted, rows, laws, strict=False)):
        if rng.random() * q[x] < p[x]:  # strictly: u can be 0, and a token with p = 0 must not pass
            continue
        lacking = np.maximum(p - q, 0)
        if lacking.any():  # else p = q but for rounding, and the draft has the right law as it is
            return Round(drafted, n, (*drafted[:n], int(inverse_cdf(lacking, rng.random()))), "rejection")
    bonus = int(inverse_cdf(rows[gamma], rng.random()))
    return Round(drafted, gamma, (*drafted, bonus), "all accepted")


def propose(draft: Model, context: Tokens, gamma: int, pick: Callable[[Law], int]) -> tuple[Tokens, list[Law]]:
    """Let the draft run ahead: γ tokens, each picked from its law, and these laws. The two travel together."""
    drafted: Tokens = ()
    laws: list[Law] = []
    for _ in range(gamma):
        laws.append(_law(draft, "draft", context + drafted))
        drafted += (int(pick(laws[-1])),)
    return drafted, laws


def score(target: Model, context: Tokens, drafted: Tokens, laws: Sequence[Law]) -> list[Law]:
    """Laws of the target after `context` and after each of the drafts, γ + 1 rows; as wide as the draft's `laws`."""
    if hasattr(target, "score"):
        rows = list(as_law(target.score(context, drafted), "target"))
        if len(rows) != len(drafted) + 1:
            raise ValueError(
                f"target.score returns {len(rows)} rows for {len(drafted)} drafts: give one more than these"
            )
    else:
        rows = [_law(target, "target", context + drafted[:n]) for n in range(len(drafted) + 1)]
    size = len(rows[0])
    for name, law in [("target", p) for p in rows] + [("draft", q) for q in laws]:
        if len(law) != size:
            raise InvalidDistribution(
                f"{name} returns a law over {len(law)} tokens, where the target's first is over {size}: "
                "give both models one vocabulary", axis=0, index=(), value=law.shape,
            )  # fmt: skip
    return rows


def speculative_decode(
    target: Model, draft: Model, prompt: Iterable[int], *, gamma: Gamma, max_new_tokens: int, rng: Any,
    eos: int | None = None, shrink: bool = True, scheme: Callable[..., Round] = token_verification,
) -> Decoded:  # fmt: skip
    """Write on after `prompt`, round by round; the text has the law of one drawn token by token from the target.

    Where the text ends inside a block, the rest of the block is dropped. That leaves the law as it is: each token was
    settled without those after it.

    Parameters
    ----------
    target, draft, rng
        Those of `speculative_round`.
    prompt : sequence of int
        Tokens to begin with; may be empty where both models allow it.
    gamma : int or callable
        How many tokens to draft. A callable is asked before each round, ``gamma(context, rounds)``, with all tokens
        and all rounds so far. Whatever it answers the law stays right: nothing of the round is drawn yet.
    max_new_tokens : int
        How many to write, at least 1, unless `eos` comes before.
    eos : int, optional
        The token after which there is none. It is kept, as the last one.
    shrink : bool
        Near the end draft no more than can be kept. False is for engines that want blocks of one size: there the last
        block may be cut.
    scheme : callable
        How a round verifies: this module's `token_verification`, or one of `specdec_kit.schemes`.

    Returns
    -------
    Decoded

    Raises
    ------
    InvalidDistribution, TypeError, ValueError
        As `speculative_round`.
    """
    options = {"gamma": gamma, "max_new_tokens": max_new_tokens, "rng": rng, "eos": eos, "shrink": shrink}
    rounds = tuple(speculative_stream(target, draft, prompt, scheme=scheme, **options))
    return Decoded(tuple(token for one in rounds for token in one.tokens), rounds)


def speculative_stream(
    target: Model, draft: Model, prompt: Iterable[int], *, gamma: Gamma, max_new_tokens: int, rng: Any,
    eos: int | None = None, shrink: bool = True, scheme: Callable[..., Round] = token_verification,
) -> Iterator[Round]:  # fmt: skip
    """Yield each round of `speculative_decode` as soon as it is done, for a reader who should not wait for the rest.

    The arguments are those of `speculative_decode`, and are checked before the first round is asked for.
    """
    check_models(target, draft)
    start, end = as_tokens(prompt, "prompt"), None if eos is None else as_tokens([eos], "eos")[0]
    limit, size = _count(max_new_tokens, "max_new_tokens", 1), gamma if callable(gamma) else _count(gamma, "gamma")
    check_rng(rng)

    def stream() -> Iterator[Round]:
        text = start
        rounds: tuple[Round, ...] = ()
        while (left := len(start) + limit - len(text)) > 0:
            drafts = _count(size(text, rounds), "gamma's answer") if callable(size) else size
            done = scheme(target, draft, text, min(drafts, left - 1) if shrink else drafts, rng)
            if len(done.tokens) > left:
                done = done._replace(tokens=done.tokens[:left], reason="cap")
            if end in done.tokens:
                done = done._replace(tokens=done.tokens[: done.tokens.index(end) + 1], reason="end of sequence")
            text, rounds = text + done.tokens, (*rounds, done)
            yield done
            if end in done.tokens:
                return

    return stream()


def adaptive(first: int = 4, *, up: int = 2, down: int = 1, most: int = 20) -> Callable[[Tokens, Sequence[Round]], int]:
    """γ that grows by `up` after a block that passed whole, and else shrinks by `down`, within 1 … `most`.

    With the numbers given it is the heuristic of ``transformers`` (``num_assistant_tokens_schedule="heuristic"``).
    For the parameter `gamma` of `speculative_decode`.
    """

    def gamma(context: Tokens, rounds: Sequence[Round]) -> int:
        size = first
        for one in rounds:
            size = min(size + up, most) if one.accepted == len(one.drafted) else max(size - down, 1)
        return size

    return gamma


def check_models(target: Any, draft: Any) -> None:
    """See that both are models and, as far as both say what their tokens are (``vocabulary``), that these agree.

    Raises
    ------
    TypeError
        Where one cannot be called.
    ValueError
        Where the vocabularies differ in size or in a token.
    """
    for name, model in (("target", target), ("draft", draft)):
        if not callable(model):
            raise TypeError(
                f"{name} is {model!r}: give a model, a callable that takes the tokens so far and returns a law"
            )
    words, others = getattr(target, "vocabulary", None), getattr(draft, "vocabulary", None)
    if words is None or others is None or (words := tuple(words)) == (others := tuple(others)):
        return
    remedy = "a draft must have the target's tokens, so take one of the same family"
    if len(words) != len(others):
        raise ValueError(f"the target has {len(words)} tokens and the draft {len(others)}: {remedy}")
    at = next(n for n, (word, other) in enumerate(zip(words, others, strict=True)) if word != other)
    raise ValueError(f"token {at} is {words[at]!r} to the target and {others[at]!r} to the draft: {remedy}")


def _law(model: Model, name: str, context: Tokens) -> Law:
    """Law of the next token, a vector."""
    law = as_law(model(context), name)
    if law.ndim != 1:
        raise InvalidDistribution(
            f"{name} returns a law of shape {law.shape}: return one law, a vector", axis=law.ndim - 1, index=(),
            value=law.shape,
        )  # fmt: skip
    return law


def as_tokens(tokens: Iterable[int], name: str) -> Tokens:
    """Tokens as a tuple of int, or a TypeError that names them."""
    try:
        return tuple(index(token) for token in tokens)
    except TypeError:
        raise TypeError(f"{name} is {tokens!r}: give token numbers, such as (0, 2, 1)") from None


def _count(value: Any, name: str, least: int = 0) -> int:
    try:
        number = index(value)
    except TypeError:
        number = -1
    if number < least:
        raise ValueError(f"{name} is {value!r}: give a whole number, at least {least}")
    return number
