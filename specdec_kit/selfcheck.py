"""Self-checks: take the reader's own function, try it on cases with known answers, and say why it fails.

A check knows a few mistakes by the answers they give. Where the reader's answer is one of those, the advice names the
mistake; otherwise it shows the case, the answer that was due and the one that came.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specdec_kit.distributions import overlap
from specdec_kit.evidence import discrepancy, readable
from specdec_kit.law import TooManyBranches, exact_law
from specdec_kit.streams import Scripted

Case = tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """What a check found; true if the function passed."""

    passed: bool
    says: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"{'passed' if self.passed else 'not yet'}: {self.says}"


def check(
    function: Callable[..., Any],
    cases: Sequence[Case],
    right: Callable[..., Any],
    mistakes: Mapping[str, Callable[..., Any]] | None = None,
) -> Verdict:
    """Try a function on cases with known answers.

    Parameters
    ----------
    function : callable
        The reader's; one that raises NotImplementedError counts as not written yet.
    cases : sequence of tuple
        Arguments to call it with.
    right : callable
        The known answer for the same arguments.
    mistakes : mapping from str to callable, optional
        Advice, and the answer of the function that needs it.

    Returns
    -------
    Verdict
    """
    for case in cases:
        said = ", ".join(readable(part) for part in case)
        try:
            answer = function(*case)
        except NotImplementedError:
            return Verdict(False, f"{function.__name__} is not written yet.")
        except Exception as problem:  # whatever a reader's code raises becomes advice
            return Verdict(False, f"on {said} it raises {type(problem).__name__}: {problem}")
        due = right(*case)
        if discrepancy(due, answer) > 1e-9:
            for advice, mistaken in (mistakes or {}).items():
                if discrepancy(mistaken(*case), answer) <= 1e-9:
                    return Verdict(False, f"{advice} (on {said}: due {readable(due)}, yours {readable(answer)}.)")
            return Verdict(False, f"on {said} the answer is {readable(due)}; yours is {readable(answer)}.")
    return Verdict(True, f"{function.__name__} is right on {len(cases)} cases.")


# ---- samplers ----

# p, q: the two-token pair of the lessons; a residual of two tokens; zeros on either side; equal; disjoint; one-hot.
PAIRS: tuple[Case, ...] = (
    ([0.7, 0.3], [0.4, 0.6]),
    ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
    ([0.5, 0.25, 0.25], [0.5, 0.5, 0.0]),
    ([0.0, 0.5, 0.5], [0.5, 0.25, 0.25]),
    ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
    ([0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]),
    ([1.0, 0.0, 0.0], [0.25, 0.25, 0.5]),
)


def _parts(p: Any, q: Any) -> tuple[Any, ...]:
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    kept = np.minimum(p, q)
    lacking = np.maximum(p - q, 0)
    return p, q, kept, 1 - kept.sum(), lacking / lacking.sum() if lacking.any() else p


def _inverted(p: Any, q: Any) -> Any:
    p, q, *_, fresh = _parts(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(q > 0, q * np.minimum(1, np.where(p > 0, q / p, np.inf)), 0)
    return kept + (1 - kept.sum()) * fresh


def _softmaxed(p: Any, q: Any) -> Any:
    p, q, kept, rejected, _ = _parts(p, q)
    weight = np.exp(np.maximum(p - q, 0))
    return kept + rejected * weight / weight.sum()


def _opposite(p: Any, q: Any) -> Any:
    p, q, kept, rejected, _ = _parts(p, q)
    surplus = np.maximum(q - p, 0)
    return kept + rejected * (surplus / surplus.sum() if surplus.any() else p)


SAMPLER_MISTAKES: dict[str, Callable[..., Any]] = {
    "It returns the draft whatever the test says.": lambda p, q: q,
    "A rejected draft is replaced by a draw from p; draw it from the residual (p − q)₊ / Σ(p − q)₊.": (
        lambda p, q: _parts(p, q)[2] + _parts(p, q)[3] * _parts(p, q)[0]
    ),
    "A rejected draft is replaced by a new draw from q; draw it from the residual (p − q)₊ / Σ(p − q)₊.": (
        lambda p, q: _parts(p, q)[2] + _parts(p, q)[3] * _parts(p, q)[1]
    ),
    "It tries again until a draft is accepted; that renormalises min(p, q) and never repays the rejected mass.": (
        lambda p, q: _parts(p, q)[2] / _parts(p, q)[2].sum()
    ),
    "The ratio is upside down: accept with min(1, p/q), p the target and q the draft.": _inverted,
    "The residual goes through softmax; divide it by its sum.": _softmaxed,
    "The residual is (q − p)₊; it is what the target lacks, (p − q)₊.": _opposite,
}


def check_sampler(sampler: Callable[[Any, Any, Any], int]) -> Verdict:
    """Check a one-token sampler by its exact law on seven pairs, at u = 0, and that it leaves its inputs alone.

    Parameters
    ----------
    sampler : callable
        ``sampler(p, q, rng) -> int``.

    Returns
    -------
    Verdict
    """

    def law(p: Any, q: Any) -> Any:
        p, q = np.array(p), np.array(q)
        before = p.copy(), q.copy()
        try:
            found = exact_law(sampler, p, q, max_branches=20_000)
        except TooManyBranches as stopped:  # a loop without end: what is missing may be too little to matter
            if stopped.covered < 1 - 1e-12:
                raise
            found = stopped.law
        if not (np.array_equal(p, before[0]) and np.array_equal(q, before[1])):
            raise ValueError("p or q was changed in place; work on a copy")
        strange = [token for token in found if token not in range(len(p))]
        if strange:
            raise ValueError(f"it returned {strange[0]!r}, which is no token: return a number from 0 to {len(p) - 1}")
        return found.vector(len(p))

    law.__name__ = getattr(sampler, "__name__", "the sampler")
    verdict = check(law, [pair for pair in PAIRS if overlap(*pair) > 0], lambda p, q: p, SAMPLER_MISTAKES)
    verdict = verdict and check(law, PAIRS, lambda p, q: p)
    if not verdict:
        return verdict
    # q always proposes token 0, which the target forbids; u = 0 must not let it pass.
    passed = sampler(np.array([0.0, 1.0]), np.array([1.0, 0.0]), Scripted([0.0] * 8)) if _plays(sampler) else 1
    if passed == 0:
        return Verdict(False, "at u = 0 it accepts a token with p = 0: test u · q < p strictly, or u < p/q.")
    return Verdict(True, f"{law.__name__} returns p exactly on {len(PAIRS)} pairs, and forbids p = 0 at u = 0.")


def _plays(sampler: Callable[[Any, Any, Any], int]) -> bool:
    """Whether the sampler draws by rng.random() alone, which a script of uniforms can answer."""
    try:
        sampler(np.array([0.5, 0.5]), np.array([0.5, 0.5]), Scripted([0.25] * 8))
    except (AttributeError, TypeError):
        return False
    return True
