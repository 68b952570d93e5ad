"""What gives p and q: a model is a callable that takes the tokens so far and returns the law of the next one.

Two that need NumPy alone. A `Chain` is small enough to check by hand; `shakespeare` gives character n-gram models that
write readable text, a quick draft (order 1) and a slow target (order 5) over one alphabet. And of a real language model
the laws that it once gave: `smollm2` has those of a target and a draft after each of some texts, over 49,152 tokens.

References
----------
.. [1] Witten, Bell, "The Zero-Frequency Problem: Estimating the Probabilities of Novel Events in Adaptive Text
       Compression", IEEE Transactions on Information Theory 37(4), 1991: method C.
.. [2] Chen, Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling", arXiv:cmp-lg/9606011: the
       same as an interpolation of orders.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.distributions import Law, as_law, temperature, top_k, top_p
from specdec_kit.sampling import categorical

Model = Callable[[tuple[int, ...]], Law]

# An installed wheel carries the data inside the package; in a clone it lies beside the package.
DATA_FOLDERS = (Path(__file__).parent / "data", Path(__file__).parent.parent / "data")
SHAKESPEARE = "shakespeare_counts.npz"
SMOLLM2 = "smollm2_laws.npz"


class DataError(RuntimeError):
    """A data file that is missing or damaged."""


def data_file(name: str) -> Path:
    """Path of a file of data/, in a clone or in an installed package.

    Raises
    ------
    DataError
        Where there is none.
    """
    for folder in DATA_FOLDERS:
        if (folder / name).is_file():
            return folder / name
    raise DataError(
        f"data file {name} is missing from {DATA_FOLDERS[-1]}: in a clone restore it with "
        f"`git checkout -- data/{name}`, else reinstall specdec-kit"
    )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Within the block a file of data/ is read: what goes wrong is a DataError."""
    try:
        yield
    except Exception as error:
        raise DataError(
            f"data file {path} is damaged ({type(error).__name__}): in a clone restore it with "
            f"`git checkout -- data/{path.name}`, else reinstall specdec-kit"
        ) from error


@contextmanager
def arrays(name: str) -> Iterator[Any]:
    """Arrays of a file of data/, which are read and used within the block."""
    path = data_file(name)
    # NumPy checks the CRC of each array.
    with reading(path), path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        yield file


def known_token(token: Any, size: int) -> int:
    """`token` as an int, if it is one of 0 … size − 1."""
    if isinstance(token, int | np.integer) and 0 <= token < size:
        return int(token)
    raise ValueError(
        f"{token!r} is no token of this model: its tokens are the integers 0 … {size - 1}"
        + (" (encode turns text into tokens)" if isinstance(token, str) else "")
    )


class Chain:
    """A Markov chain: the law of the next token depends on the last token alone.

    Parameters
    ----------
    table : array_like, shape (vocabulary, vocabulary)
        Row i is the law of what follows token i. Fractions stay fractions, so that `exact_law` over a chain is exact.
    start : array_like, shape (vocabulary,), optional
        Law of the first token, after an empty context; uniform if not given.

    Attributes
    ----------
    table, start : ndarray

    Raises
    ------
    InvalidDistribution
        Where a row or `start` is no law.
    ValueError
        Where the table is not square, or `start` has another length; in a call, where the last token has no row.
    """

    def __init__(self, table: ArrayLike, start: ArrayLike | None = None):
        self.table = as_law(table, "table").copy()
        size = self.table.shape[-1]
        if self.table.shape != (size, size):
            raise ValueError(f"table has shape {self.table.shape}: give it one row and one column for each token")
        uniform = np.full(size, Fraction(1, size) if self.table.dtype == object else 1 / size)
        self.start = as_law(uniform if start is None else start, "start").copy()
        if self.start.shape != (size,):
            raise ValueError(f"start has shape {self.start.shape}: give one probability for each of the {size} tokens")

    def __call__(self, context: Sequence[int]) -> Law:
        """Law of the token that follows `context`, shape (vocabulary,); a copy that the caller may change."""
        row = self.table[known_token(context[-1], len(self.table))] if len(context) else self.start
        return row.copy()


def count_grams(tokens: ArrayLike, order: int, size: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Count every token together with the `order` tokens before it.

    The tokens are read as a ring: before the first stands the last. So each token has a full context, and the counts of
    any shorter context follow exactly, by summing out the first token or the last.

    Parameters
    ----------
    tokens : array_like of int, shape (length,)
        Each in 0 … size − 1.
    order : int
        Length of the context, at least 0.
    size : int
        Size of the vocabulary.

    Returns
    -------
    grams, counts : ndarray of int64
        Each (order + 1)-gram that occurs, in ascending order, as one number whose digits in base `size` are its tokens;
        and how often it occurs.

    Raises
    ------
    ValueError
        Where there is nothing to count, or a gram's number would not fit 63 bits.
    """
    ring = np.asarray(tokens, dtype=np.int64)
    if order < 0 or ring.size == 0 or size ** (order + 1) >= 2**63:
        raise ValueError(
            f"cannot count {ring.size} tokens of a vocabulary of {size} at order {order}: give at least one token, "
            "and an order of at least 0 with vocabulary ** (order + 1) below 2**63"
        )
    grams = np.zeros_like(ring)
    for back in range(order, -1, -1):
        grams = grams * size + np.roll(ring, back)
    return np.unique(grams, return_counts=True)


class NGram:
    """Interpolated Witten-Bell character model ([1]_, [2]_).

    After the context h, which occurs N(h) times and has T(h) different characters after it,

        P(c | h) = (N(h, c) + T(h) P(c | h')) / (N(h) + T(h)),

    where h' is h without its first character; below the empty context stands the uniform law. Where h was never seen,
    P(c | h) = P(c | h'). So every character has a positive probability after every context.

    Parameters
    ----------
    alphabet : str
        Token i is its i-th character.
    order : int
        Length of the context that `grams` carry.
    grams, counts : ndarray of int64
        As `count_grams` returns them.

    Attributes
    ----------
    alphabet : str
    order : int
        How many of the last tokens the law depends on. A shorter context uses all it has.
    """

    def __init__(self, alphabet: str, order: int, grams: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]):
        self.alphabet, self.order = alphabet, order
        self._ids = {char: token for token, char in enumerate(alphabet)}
        levels = [(grams, counts)]
        while len(levels) <= order:  # in a ring the last character may be summed out: what is left is still sorted
            longer, seen = levels[-1]
            starts = np.flatnonzero(np.diff(longer // len(alphabet), prepend=-1))
            levels.append((longer[starts] // len(alphabet), np.add.reduceat(seen, starts)))
        self._levels = levels[::-1]

    @classmethod
    def from_text(cls, text: str, order: int, alphabet: str | None = None) -> Self:
        """Model of `text`, read as a ring (see `count_grams`); `alphabet` is by default the characters of `text`."""
        alphabet = "".join(sorted(set(text))) if alphabet is None else alphabet
        tokens = _encode(text, {char: token for token, char in enumerate(alphabet)})
        return cls(alphabet, order, *count_grams(tokens, order, len(alphabet)))

    def shorten(self, order: int) -> Self:
        """Return the same counts as a model of a smaller order.

        Raises
        ------
        ValueError
            Where `order` is not in 0 … ``self.order``.
        """
        if order not in range(self.order + 1):
            raise ValueError(f"order is {order!r}: these counts serve the orders 0 … {self.order}")
        return type(self)(self.alphabet, order, *self._levels[order])

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Text of each token."""
        return tuple(self.alphabet)

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokens of `text`.

        Raises
        ------
        ValueError
            Where a character is not in the alphabet.
        """
        return _encode(text, self._ids)

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of `tokens`."""
        return "".join(self.alphabet[known_token(token, len(self.alphabet))] for token in tokens)

    def __call__(self, context: Sequence[int]) -> Law:
        """Law of the token that follows `context`, shape (vocabulary,), float64, positive throughout.

        Raises
        ------
        ValueError
            Where one of the last `order` entries of `context` is no token.
        """
        size = len(self.alphabet)
        law = np.full(size, 1 / size)
        first, weight = 0, size  # number of the gram: context, then token 0
        for length, (grams, counts) in enumerate(self._levels[: len(context) + 1]):
            if length:
                first += known_token(context[-length], size) * weight
                weight *= size
            low, high = grams.searchsorted((first, first + size))
            if low < high:
                seen = counts[low:high]
                total = seen.sum() + (high - low)
                law *= (high - low) / total
                law[grams[low:high] - first] += seen / total
        return law

    def __repr__(self) -> str:
        return f"NGram(order={self.order}, alphabet={self.alphabet!r})"


def _encode(text: str, ids: dict[str, int]) -> tuple[int, ...]:
    try:
        return tuple(ids[char] for char in text)
    except KeyError as error:
        char = error.args[0]
    remedy = "pass text.lower()" if char.lower() in ids else "leave it out or replace it"
    raise ValueError(f"the character {char!r} is not in the alphabet {''.join(ids)!r} of this model: {remedy}")


@lru_cache(maxsize=1)
def _shakespeare() -> NGram:
    with arrays(SHAKESPEARE) as file:
        alphabet, order = str(file["alphabet"]), int(file["order"])
        last, children, counts = file["last"], file["children"], file["counts"].astype(np.int64)
        counts[counts == 0] = file["large"]
        grams = np.zeros(1, dtype=np.int64)
        for _ in range(order + 1):  # a node's number is its parent's with one more digit, the last character
            count, children = children[: len(grams)], children[len(grams) :]
            parents = np.repeat(grams * len(alphabet), count)
            grams, last = parents + last[: len(parents)], last[len(parents) :]
        if len(grams) != len(counts):
            raise ValueError(f"{len(counts)} counts for {len(grams)} grams")
        return NGram(alphabet, order, grams, counts)


@lru_cache
def shakespeare(order: int = 5) -> NGram:
    """Character model of Shakespeare's plays, from the counts in data/ (see data/README.md).

    Parameters
    ----------
    order : int
        Length of the context, 0 … 5: 1 is the draft of the lessons, 5 their target. Macbeth is not among the counts.

    Raises
    ------
    DataError
        Where the counts are missing or damaged.
    ValueError
        Where there are no counts of that order.
    """
    return _shakespeare().shorten(order)


class Captured:
    """What a target and a draft said of the next token after each of some texts.

    Parameters
    ----------
    contexts : array_like of str, shape (contexts,)
    codes : ndarray of uint8, shape (contexts, 2, vocabulary)
        After each context, of the target and of the draft: which entry of the palette is each token's.
    palette : ndarray of int64, shape (contexts, 2, 256)
        Weights; a law is its tokens' weights over their sum, which is below 2**53. So each law has the same bits on
        every machine.
    tokens : array_like of int, shape (labels,)
        The tokens that have a word.
    words : array_like of str, shape (labels,)

    Attributes
    ----------
    contexts : tuple of str
    vocabulary : int
        How many tokens there are.

    Raises
    ------
    ValueError
        Where the shapes do not fit together.
    """

    def __init__(self, contexts: Any, codes: Any, palette: Any, tokens: Any, words: Any):
        self.contexts: tuple[str, ...] = tuple(np.asarray(contexts).tolist())
        self._codes, self._palette = codes, palette
        self._words = dict(zip(np.asarray(tokens).tolist(), np.asarray(words).tolist(), strict=True))
        laws = (len(self.contexts), 2)
        if codes.shape[:-1] != laws or codes.dtype != np.uint8 or palette.shape != (*laws, 256):
            raise ValueError(f"{len(self.contexts)} contexts, codes {codes.shape}, palette {palette.shape}")
        self.vocabulary: int = codes.shape[-1]

    def laws(self, context: int) -> tuple[Law, Law]:
        """Laws p of the target and q of the draft after ``contexts[context]``, each of shape (vocabulary,), float64.

        Raises
        ------
        ValueError
            Where `context` is not one of 0 … contexts − 1.
        """
        if not (isinstance(context, int | np.integer) and 0 <= context < len(self.contexts)):
            raise ValueError(f"context is {context!r}: there are laws after the contexts 0 … {len(self.contexts) - 1}")
        p, q = np.take_along_axis(self._palette[context], self._codes[context], axis=-1)
        return p / p.sum(), q / q.sum()

    def token(self, token: int) -> str:
        """Text of a token; where the token is but part of a character, the sign U+FFFD.

        Raises
        ------
        ValueError
            Where `token` is no token, or one that is rare after every context and so has no text here.
        """
        number = known_token(token, self.vocabulary)
        if number not in self._words:
            raise ValueError(
                f"token {number} has no text here: only the likeliest after each context do, so show its id"
            )
        return self._words[number]

    def __repr__(self) -> str:
        return f"Captured({len(self.contexts)} contexts, {self.vocabulary} tokens)"


@lru_cache(maxsize=1)
def smollm2() -> Captured:
    """Laws of SmolLM2-135M-Instruct and of a draft, the same network without 6 of its 30 layers (see data/README.md).

    Raises
    ------
    DataError
        Where the laws are missing or damaged.
    """
    with arrays(SMOLLM2) as file:
        return Captured(**file)


class Processed:
    """A model whose laws are reshaped before anything is drawn: by temperature, then top-k, then top-p.

    A target and a draft may be reshaped each in its own way; what is verified is the target as it is reshaped here.
    All else that a model has (`encode`, `vocabulary`, …) is reached through it.

    Parameters
    ----------
    model : callable
        Any model.
    temperature : float
        At least 0; 0 is greedy decoding, a one-hot law.
    top_k : int, optional
        Keep the most probable tokens, this many.
    top_p : float, optional
        Keep the most probable tokens, up to this mass.

    Raises
    ------
    ValueError
        Where a parameter is outside its range.

    See Also
    --------
    specdec_kit.distributions.temperature, specdec_kit.distributions.top_k, specdec_kit.distributions.top_p
    """

    def __init__(self, model: Model, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None):
        self.model, self._reshaping = model, (temperature, top_k, top_p)
        self._reshape([0.5, 0.5])  # so that a wrong number is named now

    def _reshape(self, law: ArrayLike) -> Law:
        t, k, mass = self._reshaping
        law = as_law(law)
        law = law if t == 1 else temperature(law, t)
        law = law if k is None else top_k(law, k)
        return law if mass is None else top_p(law, mass)

    def __call__(self, context: tuple[int, ...]) -> Law:
        """Reshaped law of the token that follows `context`, shape (vocabulary,)."""
        return self._reshape(self.model(context))

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # while it is copied there is none yet
            raise AttributeError(name)
        found = getattr(self.model, name)
        return found if name != "score" else lambda context, drafts: self._reshape(found(context, drafts))


def generate(model: Model, prompt: Sequence[int], n: int, rng: Any) -> tuple[int, ...]:
    """Draw `n` tokens one by one from `model`, each after `prompt` and the tokens before it; the prompt is left out."""
    tokens = tuple(prompt)
    for _ in range(n):
        tokens += (categorical(model(tokens), rng),)
    return tokens[len(prompt) :]


def continue_text(model: NGram, text: str, n: int, rng: Any) -> str:
    """Return `text` and `n` characters more, drawn from `model`."""
    return text + model.decode(generate(model, model.encode(text), n, rng))
