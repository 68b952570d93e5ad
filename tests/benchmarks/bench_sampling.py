"""How fast the samplers are, beside NumPy's own: `python tests/benchmarks/bench_sampling.py`. Nothing is asserted.

Each ratio is paired: the kit and NumPy take turns in one process, so that a slow moment of the machine slows both.
"""

import itertools
import subprocess
import sys
from fractions import Fraction
from statistics import median
from time import perf_counter

import numpy as np

from specdec_kit import direct_sample, exact_law, speculative_sample

DRAWS = 1_000_000
REPEATS = 9


def seconds(run):
    start = perf_counter()
    run()
    return perf_counter() - start


def in_turns(*runs):
    """Seconds of each run, shape (REPEATS, len(runs)), after one round to warm up."""
    return np.array([[seconds(run) for run in runs] for _ in range(REPEATS + 1)])[1:]


def spread(values, digits=2):
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def samplers():
    print(
        f"{DRAWS:,} draws from dense random laws, time over that of rng.choice, in turns; median (min–max) of {REPEATS}"
    )
    print("tokens  rng.choice, ms     speculative_sample  direct_sample")
    for size in (2, 10, 50):
        rng = np.random.default_rng([2026, size])
        p, q = rng.dirichlet(np.ones(size), size=2)
        numpys, speculative, direct = in_turns(
            lambda p=p, rng=rng: rng.choice(len(p), DRAWS, p=p),
            lambda p=p, q=q, rng=rng: speculative_sample(p, q, DRAWS, rng=rng),
            lambda p=p, rng=rng: direct_sample(p, DRAWS, rng=rng),
        ).T
        ratios = spread(speculative / numpys), spread(direct / numpys)
        print(f"{size:6}  {spread(1e3 * numpys, 0):17}  {ratios[0]:18}  {ratios[1]}")


def exact():
    target = [[Fraction(k, 6) for k in sixths] for sixths in ([1, 2, 3], [3, 1, 2], [2, 2, 2])]
    draft = target[::-1]

    def block(rng):
        """Four drafts over three tokens, verified; the bonus token."""
        drafts = [0]
        for _ in range(4):
            drafts.append(rng.choice(3, p=draft[drafts[-1]]))
        for n, (before, x) in enumerate(itertools.pairwise(drafts)):
            p, q = target[before], draft[before]
            if not rng.random() * q[x] < p[x]:
                lacking = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
                return (*drafts[1 : n + 1], rng.choice(3, p=[mass / sum(lacking) for mass in lacking]))
        return (*drafts[1:], rng.choice(3, p=target[drafts[-1]]))

    outcomes = len(exact_law(block))
    times = in_turns(lambda: exact_law(block))[:, 0]
    print(f"\nexact_law, a block of 4 drafts over 3 tokens, {outcomes} outcomes: {spread(1e3 * times, 0)} ms")


def imports():
    codes = {"nothing": "pass", "numpy": "import numpy", "specdec_kit": "import specdec_kit"}
    runs = [lambda code=code: subprocess.run([sys.executable, "-c", code], check=True) for code in codes.values()]
    print(f"\na fresh Python that imports …, ms; median (min–max) of {REPEATS}, in turns")
    for name, times in zip(codes, in_turns(*runs).T, strict=True):
        print(f"{name:12} {spread(1e3 * times, 0)}")


if __name__ == "__main__":
    samplers()
    exact()
    imports()
