"""Other ways to verify a block, each exact: what differs is how many drafts are kept.

A scheme is a coupling: it draws the draft's token, of law q, and the target's, of law p, together, and keeps the draft
where the two are equal. The law of the text is p whatever the coupling; the acceptance is the chance that both agree.
Independent tokens agree with Σ p q, tokens of shared noise more often, and no coupling of one token more often
than Σ min(p, q), which speculative sampling reaches. What goes beyond it couples whole blocks.

Each scheme has the form of `specdec_kit.blocks.token_verification`: it takes checked arguments and returns a `Round`.

References
----------
.. [1] Sun et al., "Block Verification Accelerates Speculative Decoding", arXiv:2403.10444.
.. [2] Daliri, Musco, Suresh, "Coupling without Communication and Drafter-Invariant Speculative Decoding",
       arXiv:2408.07978.
.. [3] Maddison, Tarlow, Minka, "A* Sampling", arXiv:1411.0030: the Gumbel-max trick, here as a race of exponentials.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.blocks import Model, Round, Tokens, propose, score, token_verification
from specdec_kit.distributions import Law, as_pair
from specdec_kit.sampling import inverse_cdf


def target_matching(target: Model, draft: Model, context: Tokens, gamma: int, rng: Any) -> Round:
    """Keep a draft where the target's own draw is the same token; else keep that draw.

    The uniforms: one for each draft, then one for each draw of the target.
    """
    drafted, laws = propose(draft, context, gamma, lambda q: inverse_cdf(q, rng.random()))
    rows = score(target, context, drafted, laws)
    return _matched(drafted, (int(inverse_cdf(p, rng.random())) for p in rows))


def shared_noise(target: Model, draft: Model, context: Tokens, gamma: int, rng: Any) -> Round:
    """Draw the draft's token and the target's at each place from the same noise ([2]_); keep them while they agree.

    The noise of a place is an exponential for each token, and a law picks the token whose noise over its probability
    is least: the Gumbel-max trick ([3]_). So the target's tokens are the same whatever the draft is.
    The uniforms: one for each token of the vocabulary, place by place.
    """
    noise: list[Law] = []

    def pick(law: Law) -> int:
        noise.append(-np.log1p(-rng.random(len(law))))  # finite, and 0 where u = 0
        return _first_past(law, noise[-1])

    drafted, laws = propose(draft, context, gamma, pick)
    rows = score(target, context, drafted, laws)
    own = [_first_past(p, e) for p, e in zip(rows, noise, strict=False)]
    return _matched(drafted, [*own, pick(rows[gamma])])


def _first_past(law: Law, noise: Law) -> int:
    """The race of exponentials: the token whose noise / probability is least, and never one of probability 0."""
    times = np.full(len(law), np.inf)
    np.divide(noise, law, out=times, where=law > 0, casting="unsafe")
    return int(times.argmin())


def _matched(drafted: Tokens, own: Iterable[int]) -> Round:
    """Keep the drafts up to the first that differs from the target's own token, and that token."""
    tokens = iter(own)
    for n, (x, y) in enumerate(zip(drafted, tokens, strict=False)):
        if x != y:
            return Round(drafted, n, (*drafted[:n], y), "rejection")
    return Round(drafted, len(drafted), (*drafted, next(tokens)), "all accepted")


def block_verification(target: Model, draft: Model, context: Tokens, gamma: int, rng: Any) -> Round:
    """Test the drafts together: keep the longest part that passes ([1]_).

    The first i drafts x have the weight w(i) = min(1, w(i − 1) p(x_i) / q(x_i)), w(0) = 1. They pass with the chance
    that the target, thinned to w(i), has mass left that the draft lacks, Σ(w p − q)₊, out of this and 1 − w; all γ of
    them with w(γ). No verification of drafts that are drawn like this keeps more ([1]_).
    The uniforms: one for each draft, one for each test, one for the last token.
    """
    drafted, laws = propose(draft, context, gamma, lambda q: inverse_cdf(q, rng.random()))
    rows = score(target, context, drafted, laws)
    accepted, weight, lacking = 0, 1, np.maximum(rows[0] - laws[0], 0) if gamma else rows[0]
    for n, x in enumerate(drafted, 1):
        weight = min(1, weight * rows[n - 1][x] / laws[n - 1][x])
        left = np.maximum(weight * rows[n] - laws[n], 0) if n < gamma else weight * rows[n]
        if rng.random() * (left.sum() + 1 - weight) < left.sum():
            accepted, lacking = n, left
    if not lacking.any():  # p = q but for rounding
        lacking = rows[accepted]
    tokens = (*drafted[:accepted], int(inverse_cdf(lacking, rng.random())))
    return Round(drafted, accepted, tokens, "rejection" if accepted < gamma else "all accepted")


def _maximal(p: Law, q: Law) -> Law:
    return np.minimum(p, q)


def _independent(p: Law, q: Law) -> Law:
    return p * q


def _raced(p: Law, q: Law) -> Law:
    """1 / Σ_y max(p(y)/p(x), q(y)/q(x)) for each x: the race is won in both laws ([2]_). Sorted, since the maximum is
    p's where p/q is larger than at x, and else q's.
    """
    both = np.flatnonzero((p > 0) & (q > 0))
    order = both[np.argsort(p[both] / q[both], kind="stable")]
    mass = np.zeros(len(p))
    below = q[p == 0].sum() + np.cumsum(q[order])
    above = p[q == 0].sum() + np.append(np.cumsum(p[order][::-1])[::-1][1:], 0.0)
    mass[order] = 1 / (above / p[order] + below / q[order])
    return mass


_AGREEMENT: dict[Callable[..., Round], Callable[[Law, Law], Law]] = {
    token_verification: _maximal, block_verification: _maximal, target_matching: _independent, shared_noise: _raced,
}  # fmt: skip


def agreement(scheme: Callable[..., Round], p: ArrayLike, q: ArrayLike) -> Law:
    """Mass with which a single draft is x and is kept, for each token x; the sum is the acceptance.

    Parameters
    ----------
    scheme : callable
        One of this module, or `token_verification`. At γ = 1 `block_verification` is the same as that.
    p, q : array_like, shape (vocabulary,)
        Laws of the target and the draft.

    Returns
    -------
    ndarray, shape (vocabulary,)
        min(p, q) for token verification, p q for target matching, and for shared noise
        1 / Σ_y max(p(y)/p(x), q(y)/q(x)).

    Raises
    ------
    ValueError
        Where there is no closed form for `scheme`.
    InvalidDistribution
        Where `p` or `q` is no law, or they differ in shape.
    """
    if scheme not in _AGREEMENT:
        known = ", ".join(known.__name__ for known in _AGREEMENT)
        raise ValueError(f"scheme is {scheme!r}: there is a closed form for {known}; walk others with exact_law")
    return _AGREEMENT[scheme](*as_pair(p, q))


def round_law(
    scheme: Callable[..., Round], target: Model, draft: Model, context: Tokens, gamma: int
) -> dict[Tokens, Any]:
    """Law of the tokens of one round in closed form, for the schemes that settle one token after the other.

    All but the last token agree; the last is the target's where they differ, or the bonus. `exact_law` gives the same
    for the schemes that it can walk; shared noise, a function of continuous numbers, it cannot.

    Parameters
    ----------
    scheme : callable
        `token_verification`, `target_matching` or `shared_noise`.
    target, draft, context, gamma
        Those of `specdec_kit.blocks.speculative_round`.

    Returns
    -------
    dict
        From each block of tokens that can come out to its probability.
    """
    if scheme is block_verification:
        raise ValueError("block_verification settles a block as a whole: walk it with exact_law")
    p = np.asarray(target(context))
    if gamma == 0:
        return {(x,): mass for x, mass in enumerate(p) if mass > 0}
    kept = agreement(scheme, p, np.asarray(draft(context)))
    law: dict[Tokens, Any] = {(x,): mass for x, mass in enumerate(p - kept) if mass > 0}
    for x in np.flatnonzero(kept).tolist():
        after = round_law(scheme, target, draft, (*context, x), gamma - 1)
        law |= {(x, *rest): kept[x] * mass for rest, mass in after.items()}
    return law
