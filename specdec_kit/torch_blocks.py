"""Verification where the laws are: by PyTorch, on any device, for a batch of blocks, without waiting for the device.

The tests of γ drafts need two numbers each. One place alone is read whole, where the first test failed, and once: the
last token is drawn from (p − q)₊ as it is, not divided by its sum. That one pass sums up chunks of equal size; their
running sum selects a chunk, and the running sum within this chunk the token.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from specdec_kit.blocks import Model, Round, Tokens
from specdec_kit.distributions import InvalidDistribution, as_law
from specdec_kit.distributions import temperature as at_temperature
from specdec_kit.extras import needed
from specdec_kit.language_models import LanguageModel

CHUNK = 512  # near the square root of a vocabulary: as many chunks as tokens in a chunk


def verify_blocks(p: Any, q: Any, drafted: Any, uniforms: Any) -> tuple[Any, Any]:
    """Verify a block of γ drafts in each row ([1]_, Algorithm 1): how many pass, and the token that follows these.

    Nothing here waits for the device, and ``torch.compile(verify_blocks, fullgraph=True)`` takes it whole.

    Parameters
    ----------
    p : torch.Tensor, shape (rows, γ + 1, vocabulary)
        Laws of the target.
    q : torch.Tensor, shape (rows, γ, vocabulary)
        Laws that the drafts were drawn from.
    drafted : torch.Tensor of int64, shape (rows, γ)
        The drafts.
    uniforms : torch.Tensor, shape (rows, γ + 1)
        In [0, 1), one for each test and one for the last token. In float64 all sums are float64 too, whatever the laws
        are; in float32 they are float32.

    Returns
    -------
    accepted : torch.Tensor of int64, shape (rows,)
        How many drafts passed, up to the first that did not.
    last : torch.Tensor of int64, shape (rows,)
        The token after them: of law (p − q)₊ at the place that failed, or of p where all passed. Where (p − q)₊ is 0
        throughout, p = q but for rounding: then it is the draft, which has the right law as it is.

    Notes
    -----
    After a draft of that last kind `specdec_kit.blocks.token_verification` goes on to the next test. Here the block
    ends with it, so that no second place has to be read; the text has the same law.
    """
    import torch

    rows, gamma = drafted.shape
    row, token = torch.arange(rows, device=p.device), drafted[:, :, None]
    passed = uniforms[:, :gamma] * q.gather(2, token)[:, :, 0] < p[:, :gamma].gather(2, token)[:, :, 0]  # strictly
    accepted = passed.long().cumprod(1).sum(1)
    if gamma == 0:
        return accepted, draw(p[:, 0], uniforms[:, 0])
    failed = accepted.clamp(max=gamma - 1)
    against = q[row, failed] * (accepted < gamma)[:, None]  # after the last draft nothing is subtracted
    last = draw_lacking(p[row, accepted], against, uniforms[:, gamma])
    return accepted, torch.where(last < 0, drafted[row, failed], last)


def draw(p: Any, u: Any) -> Any:
    """Draw a token of law p in each row: `draw_lacking` with nothing subtracted."""
    return draw_lacking(p, p.new_zeros(()).expand_as(p), u)


def draw_lacking(p: Any, q: Any, u: Any) -> Any:
    """Draw a token of law (p − q)₊ / Σ(p − q)₊ in each row, by inverse CDF and one pass over p and q.

    Parameters
    ----------
    p, q : torch.Tensor, shape (rows, vocabulary)
        Weights, at least 0.
    u : torch.Tensor, shape (rows,)
        Uniforms in [0, 1); the sums have their dtype.

    Returns
    -------
    torch.Tensor of int64, shape (rows,)
        Never a token of weight 0, whatever the uniform is; -1 where all weights are 0.
    """
    import torch

    def lacking(p: Any, q: Any) -> Any:
        return (p.to(u.dtype) - q.to(u.dtype)).clamp(min=0)

    size = p.shape[1]
    sums = torch.nn.functional.pad(lacking(p, q), (0, -size % CHUNK)).unflatten(1, (-1, CHUNK)).sum(2)
    ends = sums.cumsum(1)
    reach = u[:, None] * ends[:, -1:]
    chunk = _first_past(sums, ends, reach).clamp(min=0)[:, None]

    # The weights of this chunk are computed again, so that those of the others need not be kept.
    at = chunk * CHUNK + torch.arange(CHUNK, device=p.device)
    there = at.clamp(max=size - 1)
    weights = lacking(p.gather(1, there), q.gather(1, there)) * (at < size)
    before = (ends - sums).gather(1, chunk)
    return chunk[:, 0] * CHUNK + _first_past(weights, before + weights.cumsum(1), reach)


def _first_past(weights: Any, ends: Any, reach: Any) -> Any:
    """First place whose running sum, in `ends`, exceeds `reach`, if its weight is positive; -1 where none is.

    Rounding may leave no such place, or none in this chunk: then it is the last whose weight is positive. And running
    sums that a device computes in parallel may grow by rounding where the weight is 0: so the weight itself is asked.
    """
    import torch

    place = torch.arange(weights.shape[1], device=weights.device)
    first = torch.where((weights > 0) & (ends > reach), place, weights.shape[1]).amin(1)
    last = torch.where(weights > 0, place, -1).amax(1)
    return torch.minimum(first, last)


def on_device(
    temperature: float = 1.0, *, share: float = 0.0, verify: Callable[..., Any] = verify_blocks
) -> Callable[[Model, Model, Tokens, int, Any], Round]:
    """Scheme that verifies on the target's device: only tokens come to the host.

    Parameters
    ----------
    temperature : float
        What the logits of both models are divided by; a draft's law that is no `LanguageModel`'s is brought to it too.
        0 is greedy: both laws are one-hot at the first maximum.
    share : float
        From 0 to 1. Above 0 the text is not the target's: at the drafted places it is verified against
        share · q + (1 − share) · p, to set the acceptance (see `specdec_kit.random_models.set_acceptance`).
    verify : callable
        `verify_blocks`, or ``torch.compile(verify_blocks)``.

    Returns
    -------
    callable
        For the parameter `scheme` of `specdec_kit.blocks.speculative_decode`. The target must be a `LanguageModel`;
        the draft may be any model. The uniforms: one for each draft, one for each test, one for the last token.

    Raises
    ------
    ModuleNotFoundError
        Where PyTorch is missing.
    ValueError
        Where a number is out of its range.

    Notes
    -----
    The scheme itself raises a TypeError where the target is no `LanguageModel`, an InvalidDistribution where the
    draft's law has another size, and a FloatingPointError where a logit is NaN or infinite.
    """
    with needed("models"):
        import torch
    if not (temperature == 0 or 1e-6 <= temperature < float("inf")):
        raise ValueError(f"temperature is {temperature!r}: give 0, which is greedy, or a number of at least 1e-6")
    check_share(share)

    def laws(model: Any, context: Tokens, drafted: Tokens = ()) -> tuple[Any, Any]:
        """Laws after the context and after each of the drafts, and whether all logits are finite."""
        if not isinstance(model, LanguageModel):
            law = as_law(model(context), "draft")
            law = np.asarray(law if temperature == 1 else at_temperature(law, temperature), dtype=float)
            return torch.tensor(law[None]), torch.tensor(True)
        rows = model.rows(context, drafted)
        most, token = rows.max(1, keepdim=True)  # the first of equals; not finite where a logit is NaN or infinite
        if temperature == 0:
            law = torch.zeros_like(rows).scatter(1, token, 1.0)
        else:
            law = torch.softmax((rows - most) / temperature, 1)
        return law, most.isfinite().all()

    def uniforms(rng: Any, count: int, device: Any) -> Any:
        return torch.tensor([rng.random() for _ in range(count)], dtype=torch.float64, device=device)

    def fetch(model: Any, context: Tokens, finite: Any, *numbers: Any) -> list[int]:
        """The one step that waits for the device."""
        *found, fine = torch.cat([*numbers, finite.long()[None]]).tolist()
        if not fine:
            raise model.not_finite(len(context))
        return found

    def device_verification(target: Model, draft: Model, context: Tokens, gamma: int, rng: Any) -> Round:
        if not isinstance(target, LanguageModel):
            raise TypeError(
                f"the target is of type {type(target).__name__}, whose laws may be others than its logits say: give "
                "a LanguageModel itself, and its temperature to on_device"
            )
        device, shape = target.model.device, (1, len(target.vocabulary))
        drafted: Tokens = ()
        tried = []
        with torch.inference_mode():
            for _ in range(gamma):
                law, finite = laws(draft, context + drafted)
                if law.shape != shape:
                    raise InvalidDistribution(
                        f"draft returns a law of shape {tuple(law.shape[1:])}, where the target has {shape[1]} tokens: "
                        "give both models one vocabulary", axis=0, index=(), value=tuple(law.shape[1:]),
                    )  # fmt: skip
                token = draw(law, uniforms(rng, 1, law.device))
                drafted += tuple(fetch(draft, context + drafted, finite, token))
                tried.append(law.to(device))
            p, finite = laws(target, context, drafted)
            q = torch.cat([p[:0], *tried])
            if share:
                p = torch.cat([float(share) * q + float(1 - share) * p[:gamma], p[gamma:]])
            given = torch.tensor([drafted], dtype=torch.int64, device=device)
            accepted, last = fetch(
                target, context + drafted, finite,
                *verify(p[None], q[None], given, uniforms(rng, gamma + 1, device)[None]),
            )  # fmt: skip
        return Round(
            drafted, accepted, (*drafted[:accepted], last), "rejection" if accepted < gamma else "all accepted"
        )

    return device_verification


def check_share(share: float) -> None:
    """See that `share`, of q in what is verified against, is from 0 to 1.

    Raises
    ------
    ValueError
        Where it is not.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share!r}: give a number from 0, the target as it is, to 1, which accepts all")
