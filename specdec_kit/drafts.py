"""Drafts that cost next to nothing: copy what the text said before, or look up what the target tends to say.

A `PromptLookup` proposes the token that followed the last time ([1]_, [2]_): it needs no network and no data, and lives
on text that repeats its prompt or itself. A `TokenNGram` looks the last two tokens up in a table: `smollm2_ngram` has
one for SmolLM2-135M-Instruct, made of the laws that the network itself gave while it wrote.
And `smollm2_rounds` are rounds of speculative decoding that were recorded with these drafts and that network.

References
----------
.. [1] Saxena, "Prompt Lookup Decoding", https://github.com/apoorvumang/prompt-lookup-decoding, 2023.
.. [2] Yang et al., "Inference with Reference: Lossless Acceleration of Large Language Models", arXiv:2304.04487.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.blocks import Model, Round, Tokens
from specdec_kit.distributions import Law, as_law
from specdec_kit.models import arrays, known_token

SMOLLM2_NGRAM = "smollm2_ngram.npz"
SMOLLM2_ROUNDS = "smollm2_rounds.npz"
DRAFTS = ("lookup", "n-gram", "lookup, else n-gram")
REASONS = ("rejection", "all accepted", "end of sequence", "cap")


class PromptLookup:
    """Propose the token that followed the last time that the text stood at such a place ([1]_, [2]_).

    The last `longest` tokens are sought in the text before; where they do not occur, one token less, and so on. Of
    several occurrences the latest counts. The law is one-hot: the draft is sure of its token. So the target keeps it
    with the chance p(token), and after a rejection draws from p without that token.

    Parameters
    ----------
    vocabulary_size : int
        How many tokens the target has.
    longest, shortest : int
        How many of the last tokens must recur: at most, at least.
    otherwise : callable, optional
        The model that drafts where they do not; without one the law there is uniform, which is nearly always rejected:
        better draft nothing there, with ``gamma=lookup.gamma(4)``.

    Raises
    ------
    ValueError
        Where a number is out of its range; in a call, where the proposed token is none of the target's.
    """

    def __init__(self, vocabulary_size: int, longest: int = 3, *, shortest: int = 1, otherwise: Model | None = None):
        if not (isinstance(vocabulary_size, int) and vocabulary_size > 0):
            raise ValueError(f"vocabulary_size is {vocabulary_size!r}: give the number of the target's tokens")
        if not (isinstance(longest, int) and isinstance(shortest, int) and 1 <= shortest <= longest):
            raise ValueError(
                f"longest is {longest!r} and shortest {shortest!r}: give whole numbers, 1 <= shortest <= longest"
            )
        self.vocabulary_size, self.longest, self.shortest = vocabulary_size, longest, shortest
        self.otherwise = otherwise

    def proposal(self, context: Sequence[int]) -> int | None:
        """Token that followed the latest of the longest matches in `context`; None where nothing matches."""
        tokens = np.asarray(context, dtype=np.int64)
        ends, length = np.arange(len(tokens) - 1), 0  # where a match of that length ends
        while length < min(self.longest, len(tokens)):
            longer = ends[ends >= length]
            longer = longer[tokens[longer - length] == tokens[-1 - length]]
            if not len(longer):
                break
            ends, length = longer, length + 1
        return known_token(int(tokens[ends[-1] + 1]), self.vocabulary_size) if length >= self.shortest else None

    def __call__(self, context: Sequence[int]) -> ArrayLike:
        """Law of the token that follows `context`, shape (vocabulary_size,)."""
        token = self.proposal(context)
        if token is None:
            if self.otherwise is not None:
                return self.otherwise(tuple(context))
            return np.full(self.vocabulary_size, 1 / self.vocabulary_size)
        law = np.zeros(self.vocabulary_size)
        law[token] = 1
        return law

    def gamma(self, most: int) -> Callable[[Sequence[int], Sequence[Round]], int]:
        """Draft `most` tokens where something matches, else none: for `gamma` of `speculative_decode`.

        What is copied matches again with one token more, so the first match decides for the whole block.
        """
        return lambda context, rounds: 0 if self.proposal(context) is None else most

    def __repr__(self) -> str:
        return (
            f"PromptLookup({self.vocabulary_size}, longest={self.longest}, shortest={self.shortest}, "
            f"otherwise={self.otherwise!r})"
        )


class Rows(NamedTuple):
    """Laws after contexts of one length, as whole numbers; stored row after row."""

    contexts: Any
    """Shape (rows, length): the tokens before, in ascending order."""
    sizes: Any
    """Shape (rows,): how many tokens have a weight of their own."""
    tokens: Any
    """These tokens, each once in a row; shape (sum of sizes,)."""
    weights: Any
    """Their weights, of the same shape."""
    rest: Any
    """Shape (rows,): the weight that is shared out as after the context without its first token."""


class TokenNGram:
    """An n-gram over a language model's tokens, in whole numbers, so that its laws have the same bits everywhere.

    After the context h, where token x has the weight w(x) and the rest the weight r,

        q(x | h) = (w(x) + r q(x | h')) / (Σ w + r),

    where h' is h without its first token: an interpolation of orders, as in `specdec_kit.models.NGram`. Where h has no
    row, q(x | h) = q(x | h'). After the empty context stands the law of all places, `common`. Where this is positive
    throughout and no r is 0, so is every law.

    Parameters
    ----------
    vocabulary : sequence of str
        Each token, spelled in the alphabet of byte-level BPE.
    common : array_like of int, shape (vocabulary,)
        Weight of each token after the empty context.
    *levels : Rows
        Laws after one token, after two, and so on.

    Attributes
    ----------
    vocabulary : tuple of str

    Raises
    ------
    ValueError
        Where the arrays do not fit together.
    """

    def __init__(self, vocabulary: Sequence[str], common: ArrayLike, *levels: Rows):
        self.vocabulary = tuple(vocabulary)
        weights = np.asarray(common)
        if weights.shape != (len(self.vocabulary),):
            raise ValueError(
                f"common has shape {weights.shape}: give a weight to each of {len(self.vocabulary)} tokens"
            )
        self._common = as_law(weights / weights.sum(), "common")
        self._levels = []
        for length, rows in enumerate(levels, 1):
            contexts, sizes, tokens, weights, rest = map(np.asarray, rows)
            if (
                contexts.shape != (len(sizes), length)
                or rest.shape != sizes.shape
                or not tokens.shape == weights.shape == (sizes.sum(),)
                or max(contexts.max(initial=0), tokens.max(initial=0)) >= len(self.vocabulary)
            ):
                raise ValueError(
                    f"the rows after {length} tokens do not fit together: contexts {contexts.shape}, sizes "
                    f"{sizes.shape} with the sum {sizes.sum()}, tokens {tokens.shape}, weights {weights.shape}, rest "
                    f"{rest.shape}"
                )
            numbers = contexts.astype(np.int64) @ len(self.vocabulary) ** np.arange(length)[::-1]
            if (np.diff(numbers) <= 0).any():
                raise ValueError(f"the contexts of {length} tokens are not in ascending order: sort them, each once")
            starts = np.append(0, np.cumsum(sizes, dtype=np.int64))
            self._levels.append((numbers, starts, tokens, weights.astype(float), rest.astype(float)))

    def __call__(self, context: Sequence[int]) -> Law:
        """Law of the token that follows `context`, shape (vocabulary,), float64.

        Raises
        ------
        ValueError
            Where one of the tokens that count is none of the vocabulary.
        """
        law = self._common.copy()
        number, place = 0, 1
        for back, (numbers, starts, tokens, weights, rest) in enumerate(self._levels[: len(context)], 1):
            number += known_token(context[-back], len(law)) * place
            place *= len(law)
            at = int(numbers.searchsorted(number))
            if at < len(numbers) and numbers[at] == number:
                own = slice(starts[at], starts[at + 1])
                total = weights[own].sum() + rest[at]  # whole numbers, so exact in any order
                law *= rest[at] / total
                law[tokens[own]] += weights[own] / total
        return law

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of `tokens`; where they break off within a character, the sign U+FFFD."""
        spelled = "".join(self.vocabulary[known_token(token, len(self.vocabulary))] for token in tokens)
        return bytes(map(BYTES.__getitem__, spelled)).decode(errors="replace")

    def __repr__(self) -> str:
        return f"TokenNGram({len(self.vocabulary)} tokens, rows {[len(level[0]) for level in self._levels]})"


# Byte-level BPE spells a byte that prints as its Latin-1 character, and the others as the characters from U+0100 on.
_PRINTED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = sorted(set(range(256)) - set(_PRINTED))
BYTES = {chr(byte): byte for byte in _PRINTED} | {chr(0x100 + n): byte for n, byte in enumerate(_HIDDEN)}


def unpack_ngram(file: Mapping[str, Any]) -> TokenNGram:
    """Model of the arrays of a file."""
    vocabulary = file["vocabulary"].tobytes().decode().split("\n")
    levels = [Rows(*(file[f"{name}{length}"] for name in Rows._fields)) for length in (1, 2)]
    return TokenNGram(vocabulary, file["common"], *levels)


@lru_cache(maxsize=1)
def smollm2_ngram() -> TokenNGram:
    """Draft of SmolLM2-135M-Instruct by the last two tokens, from the counts in data/ (see data/README.md).

    Raises
    ------
    DataError
        Where the counts are missing or damaged.
    """
    with arrays(SMOLLM2_NGRAM) as file:
        return unpack_ngram(file)


class Run(NamedTuple):
    """What was recorded of one text that was written by speculative decoding."""

    kind: str
    """What the prompt asks for: "copy", "edit", "code", "passage" or "open"."""
    prompt: str
    context: Tokens
    """The tokens of the prompt."""
    draft: str
    """One of `DRAFTS`. Where "lookup" found nothing, it drafted nothing; the other two always drafted."""
    temperature: float
    """1.0: drawn from the laws as they are; 0.0: target and draft both take their likeliest token."""
    seed: int
    rounds: tuple[Round, ...]
    overlaps: tuple[tuple[float, ...], ...]
    """For each round, Σ min(p, q) at each place that it tested: the chance that the draft passes there."""

    @property
    def tokens(self) -> Tokens:
        """What was written; `smollm2_ngram` has a `decode` for it."""
        return tuple(token for one in self.rounds for token in one.tokens)


def unpack_rounds(file: Mapping[str, Any]) -> tuple[Run, ...]:
    """Runs of the arrays of a file, where each array holds its figures one run after another."""
    columns = {name: iter(file[name].tolist()) for name in file}

    def take(name: str, n: int) -> tuple[Any, ...]:
        values = tuple(islice(columns[name], n))
        if len(values) < n:
            raise ValueError(f"{name} ends too early")
        return values

    prompts = [
        (kind, prompt, take("contexts", length))
        for kind, prompt, length in zip(*(columns[name] for name in ("kinds", "prompts", "lengths")), strict=True)
    ]
    runs = []
    for prompt, draft, temperature, seed, count in zip(
        *(columns[name] for name in ("prompt", "draft", "temperature", "seed", "rounds")), strict=True
    ):
        rounds = []
        for gamma, accepted, kept, reason in zip(
            *(take(name, count) for name in ("gamma", "accepted", "kept", "reason")), strict=True
        ):
            rounds.append(Round(take("drafted", gamma), accepted, take("tokens", kept), REASONS[reason]))
        overlaps = tuple(take("overlaps", min(one.accepted + 1, len(one.drafted))) for one in rounds)
        kind, text, context = prompts[prompt]
        runs.append(Run(kind, text, context, DRAFTS[draft], temperature, seed, tuple(rounds), overlaps))
    if left := [name for name, values in columns.items() if next(values, None) is not None]:
        raise ValueError(f"{left} go on after the last run")
    return tuple(runs)


@lru_cache(maxsize=1)
def smollm2_rounds() -> tuple[Run, ...]:
    """Rounds of SmolLM2-135M-Instruct with each draft after each of some prompts, from data/ (see data/README.md).

    Raises
    ------
    DataError
        Where the rounds are missing or damaged.
    """
    with arrays(SMOLLM2_ROUNDS) as file:
        return unpack_rounds(file)
