"""Speed, apart from correctness: what a pass costs, what the speed-up should be, and what it is.

A round of γ drafts costs γ calls of the draft and one pass of the target over γ + 1 tokens. If such a pass cost what a
pass over one token costs, [1]_ would give the speed-up at once (Theorem 3.8). It does so only as long as the device
waits for its memory; so the cost of a pass is measured, as a `CostCurve`, and the formula takes it.

``python -m specdec_kit.timing`` measures all of this here and now; with ``--record`` it keeps every single time.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192.
.. [2] Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
       Communications of the ACM 52(4), 2009.
"""

import sys
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.acceptance import expected_tokens
from specdec_kit.blocks import Model, Round, Tokens, speculative_decode, token_verification
from specdec_kit.clocks import Clock, HostClock, shuffled
from specdec_kit.uncertainty import bootstrap
from specdec_kit.waiting import progress_bar


class Sample(NamedTuple):
    """One timed run."""

    job: Any
    """What was run."""
    warm: bool
    """False for the runs before the count begins."""
    seconds: float


def measure(
    jobs: Mapping[Any, Callable[[], Any]], *, rng: Any, repeats: int = 20, warmup: int = 2, clock: Clock | None = None,
    until: float = float("inf"), progress: str = "",
) -> list[Sample]:  # fmt: skip
    """Time each job some times: all of them in turns, each turn in an order of its own.

    So whatever drifts, a device that heats up or another program that begins, falls on all jobs alike.

    Parameters
    ----------
    jobs : mapping to callable
        What to run, under its name.
    rng : numpy.random.Generator
        Source of the orders.
    repeats, warmup : int
        Turns that count, and turns before them, which are kept as well.
    clock : Clock
        The wall clock if not given.
    until : float
        Begin no turn that counts, except the first, after this time of ``time.monotonic``.
    progress : str
        Name of a progress bar, `specdec_kit.waiting`; without it there is none.

    Returns
    -------
    list of Sample
        In the order in which they ran.

    Raises
    ------
    ValueError
        Where there is no job, or no turn that counts.
    """
    if not jobs or repeats < 1 or warmup < 0:
        raise ValueError(
            f"{len(jobs)} jobs, {repeats} repeats, {warmup} to warm up: give at least one job and one repeat"
        )
    clock, names, samples = clock or HostClock(), list(jobs), []
    with progress_bar(progress, len(jobs) * (repeats + warmup)) as gone_on:
        for turn in range(-warmup, repeats):
            if turn > 0 and time.monotonic() > until:
                break
            for n in shuffled(len(names), rng):
                samples.append(Sample(names[n], turn >= 0, clock.time(jobs[names[n]])))
                gone_on()
    return samples


def times(samples: Iterable[Sample], job: Hashable) -> Any:
    """Seconds of the warm runs of a job, shape (runs,)."""
    return np.array([one.seconds for one in samples if one.warm and one.job == job])


def median(seconds: Any, rng: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Median with its bootstrap interval: value, low, high; in seconds."""
    return bootstrap(lambda x: np.median(x, axis=-1), seconds, rng=rng, level=level)


def ratio(slow: Any, quick: Any, rng: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Times as long that `slow` takes, all rows together, with a bootstrap interval over the rows.

    Parameters
    ----------
    slow, quick : array_like, shape (rows,)
        Seconds of the same texts, say.
    rng : numpy.random.Generator
        Source of the resamples.
    level : float
        Confidence.

    Returns
    -------
    value, low, high : float
    """
    return bootstrap(lambda a, b: a.sum(axis=-1) / b.sum(axis=-1), slow, quick, rng=rng, level=level)


# ---- the cost of a pass ----


class CostCurve:
    """What a pass over n tokens costs: ``curve(n)`` in passes over one token, ``curve.seconds(n)`` in seconds.

    Between the sizes that were measured it goes straight.

    Parameters
    ----------
    samples : iterable of Sample
        Their jobs are the sizes n; 1 must be one of them.

    Raises
    ------
    ValueError
        Where no pass over one token was measured; in a call, where n is outside the sizes.
    """

    def __init__(self, samples: Iterable[Sample]):
        self.samples = tuple(samples)
        self.sizes = sorted({one.job for one in self.samples if one.warm})
        if 1 not in self.sizes:
            raise ValueError(f"there are passes over {self.sizes} tokens: measure one over 1 as well, the unit")
        self._seconds = [float(np.median(times(self.samples, n))) for n in self.sizes]

    def seconds(self, n: float) -> float:
        """Seconds of a pass over n tokens."""
        if not self.sizes[0] <= n <= self.sizes[-1]:
            raise ValueError(f"n is {n}: the passes that were measured are over 1 to {self.sizes[-1]} tokens")
        return float(np.interp(n, self.sizes, self._seconds))

    def __call__(self, n: float) -> float:
        """Passes over one token that a pass over n tokens costs."""
        return self.seconds(n) / self.seconds(1)

    def __repr__(self) -> str:
        return "CostCurve(" + ", ".join(f"{n}: {self(n):.3g}" for n in self.sizes) + ")"


def cost_curve(run: Callable[[int], Any], sizes: Iterable[int], **options: Any) -> CostCurve:
    """Measure what a pass over n tokens costs, for each of the sizes.

    Parameters
    ----------
    run : callable
        ``run(n)`` makes one pass over n tokens, as `forward_pass` and `whole_round` do.
    sizes : iterable of int
        The n to measure, 1 among them.
    **options
        Those of `measure`.

    Returns
    -------
    CostCurve
    """
    return CostCurve(measure({n: lambda n=n: run(n) for n in sizes}, **options))  # type: ignore[misc]


def forward_pass(model: Any, batch: int = 1, cached: int = 128, seed: int = 0) -> Callable[[int], None]:
    """Pass of a language model over n new tokens of each text of a batch, behind texts that are cached.

    Parameters
    ----------
    model : LanguageModel
        Only its network is used: no law is computed, and nothing is brought to the host.
    batch : int
        How many texts there are.
    cached : int
        How many tokens of each are in the cache, at least 1.
    seed : int
        Of the tokens, which mean nothing.

    Returns
    -------
    callable
        ``run(n)``; it leaves the cache as it was.
    """
    import torch
    from transformers import DynamicCache

    network, made = model.model, torch.Generator().manual_seed(seed)

    def tokens(n: int) -> Any:
        return torch.randint(len(model.vocabulary), (batch, n), generator=made).to(network.device)

    cache = DynamicCache()
    with torch.inference_mode():
        network(tokens(cached), cache=cache, use_cache=True, logits_to_keep=1)

    def run(n: int) -> None:
        with torch.inference_mode():
            network(tokens(n), cache=cache, use_cache=True)
            cache.crop(-n)

    return run


def whole_round(
    target: Model, context: Tokens, drafts: Tokens, rng: Any, scheme: Callable[..., Round] = token_verification
) -> Callable[[int], Round]:
    """Round of speculative decoding over n tokens, the drafts for nothing: pass, laws, tests and the last token.

    Parameters
    ----------
    target : callable
        Any model.
    context : tuple of int
        The tokens so far; they are cached once the first round has run.
    drafts : tuple of int
        What is drafted; a round over n tokens takes the first n − 1.
    rng : numpy.random.Generator
        Source of the uniforms.
    scheme : callable
        As for `speculative_decode`.

    Returns
    -------
    callable
        ``run(n)``.
    """
    width = len(target(context))  # type: ignore[arg-type]

    def draft(text: Tokens) -> Any:
        return laws[len(text) - len(context)]

    laws = np.zeros((len(drafts), width))
    laws[np.arange(len(drafts)), list(drafts)] = 1
    return lambda n: scheme(target, draft, context, n - 1, rng)


# ---- the speed-up ----


def predicted_speedup(alpha: float, gamma: int, c: float, verify_cost: Callable[[int], float] | None = None) -> float:
    """Speed-up that acceptance and costs promise: tokens of a round over its cost in passes of the target.

    Parameters
    ----------
    alpha : float
        Chance that a draft passes, whatever came before.
    gamma : int
        Drafts in a round, at least 0.
    c : float
        Cost of a call of the draft, in passes of the target over one token.
    verify_cost : callable, optional
        Cost of a pass over n tokens in the same unit, such as a `CostCurve`. Without it any pass costs 1: then this is
        Theorem 3.8 of [1]_, (1 − α^(γ+1)) / ((1 − α)(γc + 1)).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Where `alpha` or `gamma` is out of its range, or `c` is negative.
    """
    tokens = expected_tokens(alpha, gamma)
    if not c >= 0:
        raise ValueError(f"c is {c}: give what a call of the draft costs, at least 0, in passes of the target")
    return float(tokens / ((verify_cost(gamma + 1) if verify_cost else 1.0) + gamma * c))


def best_gamma(alpha: float, c: float, verify_cost: Callable[[int], float] | None = None, most: int = 16) -> int:
    """γ of the greatest predicted speed-up, from 0 (no drafts) to `most`; of equals the least."""
    return max(range(most + 1), key=lambda gamma: predicted_speedup(alpha, gamma, c, verify_cost))


def seconds_of_rounds(drafted: Mapping[int, int], curve: CostCurve, draft: float) -> float:
    """Seconds that rounds should take: for each number of drafts the pass over one token more, and the drafts.

    Parameters
    ----------
    drafted : mapping from int to int
        How many rounds there were with so many drafts.
    curve : CostCurve
        Of `whole_round`.
    draft : float
        Seconds of a call of the draft.
    """
    return float(sum(count * (curve.seconds(gamma + 1) + gamma * draft) for gamma, count in drafted.items()))


def roofline(rows: Any, *, weights: float, operations: float, bandwidth: float, peak: float) -> Any:
    """Least seconds of a pass ([2]_): the weights must be read once, and each row takes its operations.

    Parameters
    ----------
    rows : int or ndarray
        Tokens in the pass, all texts of the batch together.
    weights : float
        Bytes of the weights.
    operations : float
        Floating-point operations for a row: about two for each weight.
    bandwidth : float
        Bytes a second that memory gives.
    peak : float
        Operations a second that the device can do.

    Returns
    -------
    float or ndarray
        As `rows`. Up to the ridge, rows = weights · peak / (operations · bandwidth), a row more costs nothing.
    """
    return np.maximum(weights / bandwidth, rows * operations / peak)


# ---- whole texts ----


class Timed(NamedTuple):
    """A text and how long it took."""

    prompt: float
    """Seconds to read the prompt."""
    decoding: float
    """Seconds to write the tokens."""
    rounds: tuple[Round, ...]

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.prompt + self.decoding


def time_text(
    target: Any, draft: Any, prompt: Tokens, *, clock: Clock | None = None, fresh: bool = True, **options: Any
) -> Timed:
    """Write a text and time it.

    Parameters
    ----------
    target, draft, prompt
        As for `speculative_decode`; with ``gamma=0`` nothing is drafted.
    clock : Clock
        The wall clock if not given.
    fresh : bool
        Begin with empty caches. Else a model may have read the prompt before, and a repeated prompt looks fast.
    **options
        Those of `speculative_decode`: gamma, max_new_tokens, rng, …

    Returns
    -------
    Timed
    """
    clock, made = clock or HostClock(), []
    for model in (target, draft) if fresh else ():
        if hasattr(model, "forget"):
            model.forget()
    reading = clock.time(lambda: target(prompt))
    writing = clock.time(lambda: made.append(speculative_decode(target, draft, prompt, **options)))
    return Timed(reading, writing, made[0].rounds)


def main() -> int:
    """Run the command, which `specdec_kit.timing_run` describes; its exit status."""
    from specdec_kit.timing_run import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
