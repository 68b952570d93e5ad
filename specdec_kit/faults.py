"""A gallery of one-token samplers: wrong ones that were shipped, lossy ones, and ones that only look wrong.

Each is ``sampler(p, q, rng) -> int`` and draws from `rng`, so that `specdec_kit.law.exact_law` can walk it (all but the
one that compares Gumbel noise and the one that draws elsewhere). The reference names the project and the thread that
reported the mechanism; the code is our own restatement of it. Whole rounds are in `specdec_kit.round_faults`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from specdec_kit.distributions import as_pair, top_k
from specdec_kit.law import Law, exact_law
from specdec_kit.sampling import inverse_cdf
from specdec_kit.uncertainty import draws_for

Sampler = Callable[..., Any]


@dataclass(frozen=True)
class Fault:
    """One sampler of a gallery."""

    name: str
    kind: str
    """What becomes of the output law; one of `KINDS`."""
    mechanism: str
    """What it does instead, in a sentence."""
    reference: str
    sampler: Sampler
    walkable: bool = True

    def law(self, *args: Any) -> Law:
        """Exact law of what ``sampler(*args, rng)`` returns: for one token, `args` are p and q."""
        return exact_law(self.sampler, *args)


KINDS = {
    "wrong": "another law than p",
    "lossy": "another law than p, by design",
    "boundary": "p, but for u = 0 or for laws that are equal but for rounding",
    "seed": "right in one draw perhaps, but draws repeat each other, or no seed repeats them",
    "slow": "p, at a lower acceptance or in shorter blocks",
    "exact": "p: it only looks wrong",
}

GALLERY: dict[str, Fault] = {}


def register(
    gallery: dict[str, Fault], kind: str, mechanism: str, reference: str, walkable: bool = True
) -> Callable[[Sampler], Sampler]:
    """Enter the function below into `gallery`, under its own name."""

    def add(sampler: Sampler) -> Sampler:
        name = getattr(sampler, "__name__", "")
        gallery[name] = Fault(name, kind, mechanism, reference, sampler, walkable)
        return sampler

    return add


_gallery = partial(register, GALLERY)


def draws_to_see(law: Law, p: Any, *, alpha: float = 1e-6, power: float = 0.99) -> int | None:
    """N at which counting one well-chosen event tells `law` from `p`; None where there is nothing to tell.

    The event is the set of outcomes that come too often: its probability is off by the total variation, the most that
    any event is off by.

    Parameters
    ----------
    law : Law
        What a sampler returns.
    p : array_like, shape (vocabulary,), or mapping
        What it should return: a vector over the tokens, or a law of any outcomes.
    alpha, power : float
        False-alarm rate and power of a two-sided test, normal approximation.
    """
    due = {x: float(mass) for x, mass in (p.items() if isinstance(p, Mapping) else enumerate(p))}
    excess = {x: float(mass) - due.get(x, 0.0) for x, mass in law.items()}
    event = [x for x in excess if excess[x] > 0]
    bias = sum(excess[x] for x in event)
    if bias < 1e-12:
        return None
    return draws_for(bias, alpha=alpha, power=power, p=sum(due.get(x, 0.0) for x in event) or bias)


# ---- the parts that they share ----


def _draw(weights: Any, u: Any) -> int:
    """Token of a law that need not be normalised, by inverse CDF."""
    return int(inverse_cdf(weights, u))


def _lacking(p: Any, q: Any) -> Any:
    return np.maximum(np.subtract(p, q), 0)


def _residual(p: Any, q: Any) -> Any:
    """What is lacking; where p = q but for rounding nothing is, and p itself does no harm."""
    lacking = _lacking(p, q)
    return lacking if lacking.any() else np.asarray(p)


def _bfloat16(values: Any) -> Any:
    """Round to the eight significant bits of bfloat16; the result is float64."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).view(np.float32).astype(np.float64)


# ---- the residual is wrong ----


@_gallery("wrong", "A rejected draft is redrawn from softmax((p − q)₊); it is to be divided by its sum.",
          "huggingface/transformers #28508")  # fmt: skip
def softmax_residual(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] < p[x] else _draw(np.exp(np.asarray(_lacking(p, q), float)), rng.random())


@_gallery("wrong", "A rejected draft is redrawn from p; nothing is subtracted.", "Spec-RL #14; romsto, history")
def redraws_target(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] < p[x] else _draw(p, rng.random())


@_gallery("wrong", "(p − q)₊ is clamped at 1e-5, not at 0; it shows in large vocabularies.", "vllm #13933")
def clamped_residual(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] < p[x] else _draw(np.maximum(np.subtract(p, q), 1e-5), rng.random())


@_gallery("boundary", "A rejection where p = q but for float16 rounding divides 0 by 0.", "jaymody #5")
def zero_over_zero(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    if rng.random() * q[x] < p[x]:
        return x
    lacking = _lacking(p, q)
    if not lacking.any():  # NaN, in NumPy's own words: in a browser it divides without any
        raise FloatingPointError("invalid value encountered in divide")
    return _draw(lacking / lacking.sum(), rng.random())


# ---- the ratio or the token is wrong ----


@_gallery("wrong", "Accepts with min(1, q/p): the two founding papers swap the letters.",
          "feifeibear/LLMSpeculativeSampling #36")  # fmt: skip
def inverted_ratio(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if rng.random() * p[x] < q[x] else _draw(_residual(p, q), rng.random())


@_gallery("wrong", "Tests the likeliest token of p, not the one that was drafted.", "jaymody, history")
def tests_argmax(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] < p[int(np.argmax(p))] else _draw(_residual(p, q), rng.random())


# ---- the declared q is not the law that the token was drawn from ----


@_gallery("wrong", "The draft is the argmax of q, and q itself is declared.",
          "huggingface/transformers #32867, #33534; jaymody #3, #4")  # fmt: skip
def argmax_draft(p: Any, q: Any, rng: Any) -> int:
    x = int(np.argmax(q))
    return x if rng.random() * q[x] < p[x] else _draw(_residual(p, q), rng.random())


@_gallery("wrong", "Drafts from the top two of q, and declares q uncut.", "huggingface/transformers #47932, #47961")
def top_two_draft(p: Any, q: Any, rng: Any) -> int:
    x = _draw(top_k(q, 2), rng.random())
    return x if rng.random() * q[x] < p[x] else _draw(_residual(p, q), rng.random())


@_gallery("wrong", "Drafts at temperature ½, and declares q at temperature 1.", "vllm #10198")
def cold_draft(p: Any, q: Any, rng: Any) -> int:
    x = _draw(np.multiply(q, q), rng.random())
    return x if rng.random() * q[x] < p[x] else _draw(_residual(p, q), rng.random())


@_gallery("wrong", "Drafts from q in bfloat16, and declares it in full precision.", "DeepSpec #31")
def bfloat16_draft(p: Any, q: Any, rng: Any) -> int:
    x = _draw(_bfloat16(q), rng.random())
    return x if rng.random() * q[x] < p[x] else _draw(_residual(p, q), rng.random())


# ---- randomness is reused ----


@_gallery("wrong", "The number that rejected the draft is used again for the residual.", "a relative of vllm #47386")
def reuses_test(p: Any, q: Any, rng: Any) -> int:
    x, u = _draw(q, rng.random()), rng.random()
    return x if u * q[x] < p[x] else _draw(_residual(p, q), u)


@_gallery("wrong", "The draft's number is used again for the test.", "a relative of vllm #47386")
def reuses_draft(p: Any, q: Any, rng: Any) -> int:
    u = rng.random()
    x = _draw(q, u)
    return x if u * q[x] < p[x] else _draw(_residual(p, q), rng.random())


@_gallery(
    "wrong", "The residual races with the Gumbel noise that chose the draft.", "vllm #47386, #54282", walkable=False
)
def reuses_gumbel(p: Any, q: Any, rng: Any) -> int:
    noise = -np.log1p(-rng.random(len(q)))
    with np.errstate(divide="ignore"):
        x = int(np.argmin(noise / np.asarray(q)))
        return x if rng.random() * q[x] < p[x] else int(np.argmin(noise / _residual(p, q)))


@_gallery("wrong", "u is 0, so that every draft with p > 0 is accepted.", "vllm-ascend #13730")
def u_is_zero(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if p[x] > 0 else _draw(_residual(p, q), rng.random())


@_gallery("boundary", "Accepts with u ≤ p/q, so that u = 0 admits a token with p = 0.", "sglang #35771; gpt-fast")
def accepts_at_zero(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] <= p[x] else _draw(_residual(p, q), rng.random())


# ---- one stream for all, or none that a seed sets ----


@_gallery("seed", "Draws from global random state: the seed of a request is ignored.", "vllm #6038", walkable=False)
def draws_globally(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, np.random.random())  # noqa: NPY002
    return x if np.random.random() * q[x] < p[x] else _draw(_residual(p, q), np.random.random())  # noqa: NPY002


@_gallery("seed", "Starts the same stream again for every request: all draws are one.", "TensorRT-LLM #19487")
def replays_one_stream(p: Any, q: Any, rng: Any) -> int:
    rng = np.random.default_rng(0)
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] < p[x] else _draw(_residual(p, q), rng.random())


# ---- lossy by design ----


@_gallery("lossy", "Typical acceptance: keeps every draft with p above 0.083.", "vllm #5015")
def typical_acceptance(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if p[x] > 0.083 else _draw(_residual(p, q), rng.random())


@_gallery("lossy", "Relaxed acceptance: keeps a draft within 0.15 of the likeliest; else draws from p.",
          "TensorRT-LLM #3865")  # fmt: skip
def relaxed_acceptance(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if p[x] > max(p) - 0.15 else _draw(p, rng.random())


@_gallery("lossy", "Ensemble: 0.7 p + 0.3 q takes the place of p.", "huggingface/transformers #45979")
def ensemble(p: Any, q: Any, rng: Any) -> int:
    mixed = q + 0.7 * np.subtract(p, q)
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] < mixed[x] else _draw(_residual(mixed, q), rng.random())


@_gallery("lossy", "Lenience: accepts with min(1, 2 p/q).", "Leviathan et al., arXiv:2211.17192: lenience")
def lenient(p: Any, q: Any, rng: Any) -> int:
    x = _draw(q, rng.random())
    return x if rng.random() * q[x] < 2 * p[x] else _draw(_residual(p, q), rng.random())


# ---- looks wrong, is exact ----


@_gallery("exact", "The draft is the argmax of q, declared as certain; rejected, it is struck out of p.",
          "EAGLE #329, #183, #93")  # fmt: skip
def certain_draft(p: Any, q: Any, rng: Any) -> int:
    x = int(np.argmax(q))
    if rng.random() < p[x]:
        return x
    rest = np.array(p)
    rest[x] = 0
    return _draw(rest, rng.random())


@_gallery("exact", "Never uses the draft: correct, and of no use.", "none")
def ignores_draft(p: Any, q: Any, rng: Any) -> int:
    target, _ = as_pair(p, q)
    return _draw(target, rng.random())
