"""Why two greedy texts can differ: a near-tie that rounding decides, or a fault.

Greedy decoding writes the likeliest token each time, so that speculative decoding must write the same text to the
token. But a row of logits is not the same to the last bit when it is computed by itself and among others: the sums run
in another order. The lemma says how much that may change.

    Let l and l' be two rows of logits with |l' − l| ≤ δ in every entry. Then the argmax x' of l' has
    l[x'] ≥ max l − 2δ. So the argmax is the same where the two largest of l lie more than 2δ apart.

    Proof. l[x'] ≥ l'[x'] − δ ≥ l'[x] − δ ≥ l[x] − 2δ, with x the argmax of l.                                        ∎

The bound is sharp: where the gap is g, raising the second and lowering the first by g / 2 makes them equal.
"""

import csv
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.models import data_file, reading

Array = np.ndarray[Any, Any]

SMOLLM2_GREEDY = "smollm2_greedy.csv"
PROMPTS = (
    "The capital of France is",
    "The old lighthouse keeper had never",
    "Write a short story about a robot who learns to paint.\n\n",
    "def fibonacci(n):\n",
    "Ingredients for pancakes:\n- flour\n-",
    "Q: Why is the sky blue?\nA:",
)
"""What the texts of `smollm2_gaps` begin with."""


class Difference(NamedTuple):
    """Where two greedy texts part, and what is to be made of it."""

    at: int
    """The place of the first token that differs, from 0."""
    tokens: tuple[int | None, int | None]
    """The token there in the one and in the other text; None where a text has ended."""
    behind: float
    """How far the logit of the other token is below the largest, in the row that the one text was chosen by; inf where
    the other text has ended, or goes on where the one has."""
    change: float
    """δ, the largest difference of the logits there, computed the two ways."""

    @property
    def near_tie(self) -> bool:
        """Whether rounding can have decided it: `behind` ≤ 2δ. If not, one of the two texts is at fault."""
        return self.behind <= 2 * self.change


def top_two_gap(logits: ArrayLike) -> Array:
    """Difference of the two largest logits of each row; 0 where they are tied.

    Parameters
    ----------
    logits : array_like, shape (..., vocabulary)
        Of two tokens at least.

    Returns
    -------
    ndarray, shape (...)

    Raises
    ------
    ValueError
        Where there are fewer than two tokens, or a logit is NaN.
    """
    rows = np.asarray(logits, dtype=np.float64)
    if rows.ndim == 0 or rows.shape[-1] < 2 or np.isnan(rows).any():
        raise ValueError(
            f"logits have the shape {rows.shape}, and {int(np.isnan(rows).sum())} are NaN: "
            "give rows of numbers, one a token, for two tokens at least"
        )
    second, first = np.moveaxis(np.partition(rows, -2, axis=-1)[..., -2:], -1, 0)
    return first - second


def first_difference(text: Sequence[int], other: Sequence[int]) -> int | None:
    """Place of the first token that differs; the length of the shorter where it begins the other; None if equal."""
    for at, (token, another) in enumerate(zip(text, other, strict=False)):
        if token != another:
            return at
    return None if len(text) == len(other) else min(len(text), len(other))


def triage(text: Sequence[int], other: Sequence[int], logits: ArrayLike, others: ArrayLike) -> Difference | None:
    """Say whether rounding can be why two greedy texts differ.

    Parameters
    ----------
    text, other : sequence of int
        Two greedy texts after one prompt, such as one written token by token and one written speculatively.
    logits, others : array_like, shape (tokens, vocabulary)
        Of both ways to compute them: row n is that after the first n tokens of the text, up to the first difference at
        least. `logits` are those that `text` was chosen by.

    Returns
    -------
    Difference or None
        None where the texts are equal.

    Raises
    ------
    ValueError
        Where rows are missing, the shapes differ, or `text` is not the argmax of `logits` where the two part.

    Examples
    --------
    The third token was decided by less than the logits differ:

    >>> one_by_one = [[0.0, 9.0], [9.0, 0.0], [1.0, 1.25]]
    >>> at_once = [[0.0, 9.0], [9.0, 0.0], [1.25, 1.0]]
    >>> triage([1, 0, 1], [1, 0, 0], one_by_one, at_once)
    Difference(at=2, tokens=(1, 0), behind=0.25, change=0.25)
    >>> triage([1, 0, 1], [1, 0, 0], one_by_one, at_once).near_tie
    True
    """
    at = first_difference(text, other)
    if at is None:
        return None
    rows, changed = (np.asarray(table, dtype=np.float64) for table in (logits, others))
    if rows.ndim != 2 or changed.ndim != 2 or min(len(rows), len(changed)) <= at or rows.shape[1] != changed.shape[1]:
        raise ValueError(
            f"the texts part at token {at}, and logits have the shapes {rows.shape} and {changed.shape}: "
            "give both a row for each token up to there, over one vocabulary"
        )
    token, another = (None if at == len(tokens) else int(tokens[at]) for tokens in (text, other))
    row = rows[at]
    if token is not None and not row[token] == row.max():
        raise ValueError(
            f"token {at} of text is {token}, and the largest logit is that of {int(row.argmax())}: "
            "give the logits that text was chosen by"
        )
    ended = token is None or another is None
    behind = float("inf") if ended else float(row.max() - row[another])
    return Difference(at, (token, another), behind, float(np.abs(row - changed[at]).max()))


class Gaps(NamedTuple):
    """Greedy texts of one precision, token by token; each array has the shape (prompts, tokens)."""

    tokens: Array
    """The token that was written, token by token with a cache."""
    words: Array
    """Its text."""
    seconds: Array
    """The text of the one with the second largest logit."""
    gaps: Array
    """How far that is below the largest."""
    changes: Array
    """The largest difference of the logits from those of one pass over the whole text."""
    same: Array
    """Whether in that pass the largest logit is that of the same token."""


COLUMNS = ("dtype", "prompt", "position", "token", "word", "second", "gap", "change", "same")


@lru_cache(maxsize=1)
def smollm2_gaps() -> dict[str, Gaps]:
    """What SmolLM2-135M-Instruct writes greedily after each of `PROMPTS`, and how nearly it wrote something else.

    Returns
    -------
    dict
        "float32" and "bfloat16": `Gaps`. See data/README.md.

    Raises
    ------
    DataError
        Where the file is missing or damaged.
    """
    path = data_file(SMOLLM2_GREEDY)
    with reading(path), path.open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
        if tuple(head) != COLUMNS:
            raise ValueError(f"columns {head}")
        return {dtype: _gaps([line for line in lines if line[0] == dtype]) for dtype in ("float32", "bfloat16")}


def _gaps(lines: list[list[str]]) -> Gaps:
    _, prompts, positions, *columns = zip(*lines, strict=True)
    shape = len(PROMPTS), len(lines) // len(PROMPTS)
    places = [(int(prompt), int(position)) for prompt, position in zip(prompts, positions, strict=True)]
    if places != list(np.ndindex(shape)):
        raise ValueError("rows are missing")
    kinds: tuple[Any, ...] = (np.int64, np.str_, np.str_, np.float64, np.float64, np.int64)
    arrays = [np.array(column).astype(kind).reshape(shape) for column, kind in zip(columns, kinds, strict=True)]
    return Gaps._make([*arrays[:-1], arrays[-1] == 1])
