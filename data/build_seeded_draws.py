"""Write data/seeded_draws.csv, the raw results that lesson 02 reproduces: `python data/build_seeded_draws.py`.

A thousand speculative draws for each pair of laws. Pair i is drawn from `SeedSequence(2026, spawn_key=(i,))`,
the i-th child of `numpy.random.SeedSequence(2026).spawn(…)`.
"""

import csv
import io
from pathlib import Path

import numpy as np

from specdec_kit import speculative_sample
from specdec_kit.files import write_whole
from specdec_kit.models import shakespeare

OUT = Path(__file__).with_name("seeded_draws.csv")
ENTROPY, DRAWS = 2026, 1000


def pairs():
    """Target and draft law of each pair, by name."""
    target, draft = shakespeare(5), shakespeare(1)
    real = {f"after {text!r}": (target(target.encode(text)), draft(draft.encode(text)))
            for text in ("to be, or not to ", "my lord, i wil")}  # fmt: skip
    return {
        "q has a zero": ([0.5, 0.25, 0.25], [0.5, 0.5, 0.0]),
        "p = q": ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        "sharply mismatched": ([0.98, 0.01, 0.01], [0.01, 0.01, 0.98]),
        "no overlap": ([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]),
    } | real


def main():
    """Draw, and replace the file whole."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["pair", "draw", "draft", "accepted", "token"])
    for i, (p, q) in enumerate(pairs().values()):
        rng = np.random.default_rng(np.random.SeedSequence(ENTROPY, spawn_key=(i,)))
        tokens, drafts, accepted = speculative_sample(p, q, DRAWS, rng=rng)
        out.writerows(zip([i] * DRAWS, range(DRAWS), drafts, accepted.astype(int), tokens, strict=True))
    write_whole(OUT, text.getvalue())
    for i, name in enumerate(pairs()):
        print(f"{i}: {name}")


if __name__ == "__main__":
    main()
