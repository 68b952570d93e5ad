"""Why a one-token sampler is wrong, read off its output laws.

First the laws are held against those of known mistakes. Where none fits, the pattern of right and wrong cases tells the
part: where p = q only the draft speaks, where p and q share nothing only the residual, where the residual is a single
token only the test.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.faults import GALLERY

MOST = 8
"""A vocabulary up to this size counts as small."""


class Seen(NamedTuple):
    """What a sampler returned on one case."""

    p: Any
    q: Any
    law: Any
    """Its output law, or frequencies."""
    draws: int
    """How many draws the frequencies come from; 0 where the law is exact."""
    unknown: float
    """Mass that the law lacks."""
    wrong: bool
    """Whether that is too far from p."""


def _parts(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Accepted mass of each token, mass rejected in all, and what is lacking."""
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    kept = np.minimum(p, q)
    return kept, 1 - kept.sum(), np.maximum(p - q, 0)


def _redrawn(instead: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Law of a sampler whose test is right and whose rejected drafts are redrawn from `instead`."""

    def law(p: Any, q: Any) -> Any:
        kept, rejected, _ = _parts(p, q)
        weights = np.asarray(instead(p, q), dtype=float)
        return kept + rejected * weights / weights.sum()

    return law


def _again(p: Any, q: Any) -> Any:
    kept, rejected, _ = _parts(p, q)
    return kept / (1 - rejected) if rejected < 1 else kept


def inverted(p: Any, q: Any) -> Any:
    """Law of a sampler that accepts with min(1, q/p), and is right otherwise."""
    lacking = _parts(p, q)[2]
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    kept = np.where(p > 0, q * np.minimum(1, q / np.where(p > 0, p, 1)), q)
    return kept + (1 - kept.sum()) * (lacking / lacking.sum() if lacking.any() else p)


MISTAKES: dict[str, Callable[[Any, Any], Any]] = {
    "It returns q: the draft whatever the test says, or a residual (q − p)₊ where (p − q)₊ is due.": lambda p, q: q,
    "A rejected draft is replaced by a draw from p; draw it from the residual (p − q)₊ / Σ(p − q)₊.": (
        _redrawn(lambda p, q: p)
    ),
    "A rejected draft is replaced by a new draw from q; draw it from the residual (p − q)₊ / Σ(p − q)₊.": (
        _redrawn(lambda p, q: q)
    ),
    "A rejected draft is replaced by the likeliest token of p or of the residual; draw it from (p − q)₊ / Σ(p − q)₊.": (
        _redrawn(lambda p, q: np.arange(len(p)) == int(np.argmax(_parts(p, q)[2] if _parts(p, q)[1] > 0 else p)))
    ),
    "It tries again until a draft is accepted; that renormalises min(p, q) and never repays the rejected mass.": _again,
    "The ratio is upside down: accept with min(1, p/q), p the target and q the draft.": inverted,
    "The residual goes through softmax; divide it by its sum.": _redrawn(lambda p, q: np.exp(_parts(p, q)[2])),
    "The residual is |p − q|; where q is above p it is to be 0: (p − q)₊.": (
        _redrawn(lambda p, q: np.abs(np.subtract(p, q)) if _parts(p, q)[1] > 0 else p)
    ),
    "A rejected draft is redrawn from equal weights; draw it from the residual (p − q)₊ / Σ(p − q)₊.": (
        _redrawn(lambda p, q: np.ones(len(p)))
    ),
}


def _of_gallery(name: str, p: Any, q: Any) -> Any:
    return _walked(name, tuple(p), tuple(q))


@cache
def _walked(name: str, p: tuple[float, ...], q: tuple[float, ...]) -> Any:
    return GALLERY[name].law(p, q).vector(len(p))


def _known() -> Iterator[tuple[str, Callable[[Any, Any], Any]]]:
    yield from MISTAKES.items()
    for name, fault in GALLERY.items():
        if fault.kind in ("wrong", "lossy") and fault.walkable:
            lossy = "; lossy by design" if fault.kind == "lossy" else ""
            yield f"{fault.mechanism} ({fault.reference}{lossy})", partial(_of_gallery, name)


def _fits(known: Callable[[Any, Any], Any], seen: Seen) -> bool:
    law = np.clip(known(seen.p, seen.q), 0, 1)
    noise = np.sqrt(law * (1 - law) / seen.draws).sum() if seen.draws else 1e-6
    return float(np.abs(law - seen.law).sum() / 2) <= 2.5 * noise + seen.unknown


def diagnose(cases: Mapping[str, Seen]) -> str:
    """One sentence on what to change, from what a sampler returned on the cases of the audit.

    Parameters
    ----------
    cases : mapping from str to Seen
        Under the names that `specdec_kit.audit.CASES` has, those that could be walked or counted.
    """
    small = [seen for seen in cases.values() if len(seen.p) <= MOST]
    wrong = {name for name, seen in cases.items() if seen.wrong}
    for advice, known in _known():
        if any(seen.wrong for seen in small) and all(_fits(known, seen) for seen in small):
            return advice
    if all(np.max(seen.law) > 1 - 1e-9 for seen in small):
        return "It returns the same token every time: it does not draw from rng, or it seeds a generator of its own."
    at_zero = sum(float(np.sum(np.asarray(seen.law)[np.asarray(seen.p) == 0])) for seen in cases.values())
    if not any(seen.wrong for seen in small):
        return (
            "Right on a few tokens and wrong on thousands: something small is added to every token (a clamp, a "
            "smoothing), or a fixed number of tokens is cut off."
        )
    if "p = q" in wrong:
        return (
            "Where p = q every draft is to be kept, and to follow q. Here it does not: the draft is not drawn from the "
            "q that it is tested with, or the test refuses where p/q = 1."
        )
    if at_zero > 0:
        return (
            "It returns tokens with p = 0: test the token that was drafted, accept on u · q < p, and redraw from "
            "(p − q)₊, which is 0 there."
        )
    if "no overlap" in wrong:
        return (
            "Where p and q share no token every draft is rejected and the output is the residual itself, which is "
            "wrong: draw from (p − q)₊ divided by its sum."
        )
    if "two tokens" in wrong:
        return (
            "Where the residual is a single token only the test decides, and it is wrong there: accept the drafted "
            "token x with probability min(1, p(x)/q(x)), and redraw from (p − q)₊ otherwise."
        )
    return (
        "Test and residual are each right where the other does not matter, and wrong together: a random number is used "
        "twice (draw a fresh one for the draft, the test and the residual), or the residual is not (p − q)₊ divided by "
        "its sum."
    )
