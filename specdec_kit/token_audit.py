"""The audit of one-token samplers: output law on a dozen pairs, joint law, seeds, inputs, boundaries, rounding."""

import re
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from specdec_kit.battery import BRANCHES, Battery, Check, Judged, law_check, sentence
from specdec_kit.diagnosis import Seen, diagnose
from specdec_kit.evidence import readable
from specdec_kit.streams import Ledger
from specdec_kit.watch import Trouble, as_token, clock, untouched

Pair = tuple[Any, Any]


def _sparse(size: int, masses: Mapping[int, float]) -> Any:
    law = np.zeros(size)
    law[list(masses)] = list(masses.values())
    return law


def _zipf(size: int, power: float, rng: Any) -> Any:
    law = 1 / np.arange(1, size + 1) ** power
    return (law / law.sum())[np.argsort(rng.random(size))]


WIDE = 4096
_dense = np.random.default_rng(0)
_many = _sparse(WIDE, {2 * i: mass for i, mass in enumerate(_zipf(200, 0.8, _dense))})

# p, q. Residuals of one token and of several; support missing on either side; equal, disjoint, one-hot, almost one-hot.
CASES: dict[str, Pair] = {
    "a residual of two tokens": ([0.4, 0.4, 0.2], [0.2, 0.1, 0.7]),
    "two tokens": ([0.7, 0.3], [0.4, 0.6]),
    "mirror images": ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
    "p = 0 where q proposes": ([0.0, 0.5, 0.5], [0.5, 0.25, 0.25]),
    "q = 0 where p wants": ([0.5, 0.25, 0.25], [0.0, 0.5, 0.5]),
    "p = q": ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
    "no overlap": ([0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]),
    "one-hot target": ([1.0, 0.0, 0.0], [0.25, 0.25, 0.5]),
    "one-hot draft": ([0.5, 0.3, 0.2], [0.0, 0.0, 1.0]),
    "almost one-hot": ([0.98, 0.01, 0.01], [0.01, 0.01, 0.98]),
    "few of thousands": (
        _sparse(WIDE, {7: 0.5, 900: 0.25, 2048: 0.25}), _sparse(WIDE, {7: 0.25, 900: 0.25, 4000: 0.5}),
    ),
    "a residual of 200 tokens": (_many, _sparse(WIDE, {14: 1.0})),
    "p = q on 200 tokens": (_many, _many),
    "thousands of tokens": (_zipf(WIDE, 0.8, _dense), _zipf(WIDE, 0.8, _dense)),
}  # fmt: skip
MAIN = ("a residual of two tokens", "mirror images")
COUNTED = ("thousands of tokens",)
"""Too many branches to walk."""


class TokenAudit(Battery):
    TESTS = len(CASES) + 3

    def __init__(self, *args: Any, cases: Mapping[str, Pair] = CASES):
        self.planned = cases
        super().__init__(*args)

    def run(self) -> None:
        self.rows = hasattr(self.function, "rows")
        self.cases: dict[str, Pair] = {}
        self.returns()
        if not self.cases:
            return  # nothing else can be said of a sampler that does not return tokens
        self.repeats()
        batch = self.batch() if self.rows else []
        self.rows = self.rows and all(check.passed is not False for check in batch)  # else count one by one
        self.laws()
        if self.report.passed:
            self.recount()
            self.joint()
            self.report.checks += batch
        self.boundaries()
        self.rounding()

    def token(self, p: Any, q: Any, rng: Any) -> int:
        try:
            return as_token(self.call(np.array(p), np.array(q), rng), len(p))
        except NotImplementedError as problem:
            raise Trouble(f"it raises NotImplementedError: {problem}") from problem

    # ---- it returns tokens, and touches nothing else ----

    def returns(self) -> None:
        """Run every case a few times; `cases` are then those that gave tokens."""
        kind: Any = int
        troubles: dict[str, str] = {}
        for case, (p, q) in self.planned.items():
            if len(troubles) == 2 and not self.cases:
                return  # it will not do better on the others
            try:
                for _ in range(3):
                    given = np.array(p), np.array(q)
                    with untouched(*given):
                        token = self.call(*given, self.rng())
                        as_token(token, len(p))
                    kind = type(token) if type(token) is not int else kind
            except NotImplementedError:
                raise Trouble(f"{self.report.name} is not written yet") from None
            except Trouble as trouble:
                name = next((name for word, name in _PURITY.items() if word in str(trouble)), "it returns")
                troubles[case] = name
                self.fault(name, _case(case), trouble)
                if name == "it returns":
                    continue
            self.cases[case] = np.array(p), np.array(q)
        for name in ("it returns", *_PURITY.values()):
            if name not in troubles.values():
                self.add(name, "", True)
        if kind is not int:
            name = f"{kind.__module__}.{kind.__name__}"
            self.add("an int", "", False, f"It returns a {name}; int(…) makes it a plain token.", note=True)

    # ---- the law ----

    def laws(self) -> None:
        judged: dict[str, Judged] = {}
        seen: dict[str, Seen] = {}
        try:
            for case, (p, q) in self.cases.items():
                try:
                    judged[case] = self.judge(
                        partial(self.token, p, q), due_of(p), np.flatnonzero(p > q).tolist(),
                        1 if case in MAIN else 0.2, 0 if case in COUNTED else BRANCHES,
                        self.many([p], [q]),
                    )  # fmt: skip
                except Trouble as trouble:
                    self.fault("the law", _case(case), trouble)
                    continue
                law = np.array([float(judged[case].law.get(x, 0)) for x in range(len(p))])
                seen[case] = Seen(p, q, law, judged[case].draws, judged[case].unknown, judged[case].wrong)
        finally:  # what was judged is kept, whatever comes between
            self.leaks = any((case.law[case.p == 0] > 0).any() for case in seen.values())
            advice = diagnose(seen) if any(found.wrong for found in judged.values()) else ""
            for case, found in judged.items():
                self.report.checks.append(
                    law_check("the law", _case(case), due_of(CASES[case][0]), found, self.share, advice)
                )

    def recount(self) -> None:
        """Count a law that was walked: on numbers that are drawn it could still be another one."""
        case = MAIN[1]
        if self.report.cannot_walk or case not in self.cases:
            return
        p, q = self.cases[case]
        try:
            found = self.judge(
                partial(self.token, p, q), due_of(p), np.flatnonzero(p > q).tolist(), 0.4, 0, self.many([p], [q])
            )
        except Trouble as trouble:
            self.fault("the law", f"counted as well, {_case(case)}", trouble)
            return
        advice = (
            "Walked, its law is right, and drawn from a generator it is another: it looks at what rng is, or rounds "
            "where the walk does not."
        )
        case = f"counted as well, {_case(case)}"
        self.report.checks.append(law_check("the law", case, due_of(p), found, self.share, advice))

    def many(self, p: list[Any], q: list[Any]) -> Any:
        """Draw n times from each law at once, where the sampler takes rows; of several laws, tuples."""
        if not self.rows:
            return None

        def draw(n: int, rng: Any) -> Iterator[Any]:
            at_once = max(1, min(250, 1_000_000 // (len(p) * len(p[0]))))  # so that one call does not take long
            for start in range(0, n, at_once):
                count = min(at_once, n - start)
                ps, qs = (np.tile(np.array(laws), (count, 1)) for laws in (p, q))
                tokens = [as_token(token, len(p[0])) for token in self.call_rows(ps, qs, rng)]
                yield from tokens if len(p) == 1 else zip(*[iter(tokens)] * len(p), strict=True)

        return draw

    def call_rows(self, p: Any, q: Any, rng: Any) -> list[Any]:
        return list(self.call.over(self.function.rows, p, q, rng))

    def joint(self) -> None:
        """Tokens drawn one after the other, and side by side in a batch, are independent and each of its own law."""
        (p, q), (p2, q2) = CASES["a residual of two tokens"], CASES["two tokens"]
        self.pair(
            "tokens in a row", lambda rng: (self.token(p, q, rng), self.token(p2, q2, rng)), (p, q), (p2, q2), None,
            "Each token alone is right, and two in a row are not independent: draw new random numbers for every token, "
            "and keep nothing from one call to the next.",
        )  # fmt: skip

    def batch(self) -> list[Check]:
        """Look at two rows of a batch, before any law is counted by rows."""
        p, q = (np.array(law) for law in CASES["a residual of two tokens"])
        before, self.report.checks = self.report.checks, []
        self.pair(
            "rows of a batch", lambda rng: tuple(
                as_token(token, 3) for token in self.call_rows(np.array([p, p[::-1]]), np.array([q, q[::-1]]), rng)
            ), (p, q), (p[::-1], q[::-1]), self.many([p, p[::-1]], [q, q[::-1]]),
            "One row alone is right, and two rows of a batch are not: each row needs its own laws, and random "
            "numbers of its own.",
        )  # fmt: skip
        found, self.report.checks = self.report.checks, before
        return found

    def pair(self, name: str, draw: Any, first: Pair, second: Pair, many: Any, advice: str) -> None:
        due = {(x, y): a * b for x, a in due_of(first[0]).items() for y, b in due_of(second[0]).items()}
        rare = [(x, y) for x, y in due if first[0][x] > first[1][x] and second[0][y] > second[1][y]]
        try:
            found = self.judge(draw, due, rare, 0.5, many=many)
        except Trouble as trouble:
            self.fault(name, "", trouble)
        else:
            self.report.checks.append(law_check(name, "", due, found, self.share, advice))

    # ---- seeds ----

    def repeats(self) -> None:
        """The same seed gives the same token: at once, in another order, and with the clock moved."""
        plan = [(case, seed) for case in list(self.cases)[:10] for seed in range(12)]

        def tokens(order: list[tuple[str, int]]) -> dict[Any, int]:
            return {(case, seed): self.token(*CASES[case], np.random.default_rng(seed)) for case, seed in order}

        try:
            first, again = tokens(plan), tokens(plan[::-1])
            with clock():
                moved = tokens(plan)
            if first == again == moved:
                self.add("same seed, same token", "", True)
                return
            with clock(stopped=True):
                clocked = first == again or tokens(plan) == tokens(plan[::-1])
        except Trouble as trouble:
            self.fault("same seed, same token", "", trouble)
            return
        self.report.cannot_walk = "it does not repeat itself"
        differs = sum(first[key] != moved[key] or first[key] != again[key] for key in plan)
        self.add(
            "same seed, same token", "", False,
            "It reads the clock: randomness is to come from rng alone." if clocked else
            "It keeps something from call to call, or draws from a generator of its own: draw from rng alone.",
            expected=f"0 of {len(plan)} tokens differ", observed=f"{differs}",
        )  # fmt: skip

    # ---- what no count reaches ----

    def boundaries(self) -> None:
        """With one random number at an end of [0, 1), a token with p = 0 must not come out, nor one beyond the last."""
        pairs = [
            ([0.0, 1.0], [1.0, 0.0]), ([0.0, 0.6, 0.4], [0.5, 0.25, 0.25]), ([0.0, 0.3, 0.7], [0.2, 0.6, 0.2]),
            ([0.3, 0.7, 0.0], [0.2, 0.6, 0.2]), ([0.7, 0.0, 0.3], [0.1, 0.7, 0.2]),
        ]  # fmt: skip
        for name, end in (("u = 0", 0.0), ("u just below 1", 1 - 2.0**-53)):
            if not self.scripted:
                self.add(name, "", None, "it draws otherwise than by rng.random() and rng.choice(n, p=…)")
                continue
            met = next(filter(None, (self.at_end(name, end, *pair) for pair in pairs)), None)
            if met:
                self.add(name, met[0], False, met[1], expected="a token with p > 0", observed=met[2], tv=2.0**-53)
            else:
                self.add(name, "", True)

    @cached_property
    def scripted(self) -> bool:
        """Whether the sampler can be run on given uniforms."""
        try:
            for value in (0.25, 0.5, 0.75):
                self.token([0.7, 0.3], [0.4, 0.6], _Ends(value))
        except Trouble:
            return False
        return True

    def at_end(self, name: str, end: float, p: Any, q: Any) -> tuple[str, str, str] | None:
        """Case, advice and answer of the first script whose answer is forbidden, but is not a little off the end."""
        for place, other in product(range(3), (0.1, 0.3, 0.5, 0.9)):
            try:
                if p[self.token(p, q, _Ends(other, place, abs(end - _NEAR)))] == 0:
                    continue
            except Trouble:
                continue
            case = f"p = {short(p)}, q = {short(q)}, {name} in draw {place + 1}, {other} in the others"
            try:
                token = self.token(p, q, _Ends(other, place, end))
            except Trouble as trouble:
                return case, sentence(f"At {name} {trouble}"), "no token"
            if p[token] == 0 and not self.leaks:
                return case, f"At {name} {_FORBIDDEN}", f"token {token}, with p = 0"
        return None

    def rounding(self) -> None:
        """Laws in float32 and float16, and laws that are equal but for rounding: no NaN, no token that p forbids."""
        equal = np.array([0.5, 0.3, 0.2])
        for kind in (np.float64, np.float32, np.float16):
            p = equal.astype(kind)
            pairs = [(p, np.where(p == p.max(), np.nextafter(p, kind(1)), p))]
            for case in (*MAIN, "p = 0 where q proposes", "no overlap", "thousands of tokens"):
                if case in self.cases and kind is not np.float64:
                    pairs.append((self.cases[case][0].astype(kind), self.cases[case][1].astype(kind)))
            met = next(filter(None, (self.rounded(*pair) for pair in pairs)), None)
            self.add(f"rounding to {np.dtype(kind)}", met[0] if met else "", not met, met[1] if met else "")

    def rounded(self, p: Any, q: Any) -> tuple[str, str] | None:
        ends = [_Ends(other, place, 1 - 2.0**-53) for place, other in product(range(3), (0.1, 0.5, 0.9))]
        case = f"p = {short(p)}, q = {short(q)}"
        for rng in [*(self.rng() for _ in range(20)), *(ends if self.scripted else [])]:
            try:
                with warnings.catch_warnings(), np.errstate(invalid="warn"):
                    warnings.filterwarnings("error", "invalid value", RuntimeWarning)
                    token = as_token(self.call(p.copy(), q.copy(), rng), len(p))
            except (Trouble, NotImplementedError) as trouble:
                divided = re.search("nan|invalid value|division|sum to|no token", str(trouble), re.IGNORECASE)
                if divided and not np.maximum(p - q, 0).any():
                    return case, _EQUAL
                return case, sentence(f"On laws in {p.dtype} {trouble}")
            if p[token] == 0 and not self.leaks:
                return case, f"On laws in {p.dtype} it returns a token with p = 0."
        return None


_PURITY = {"in place": "inputs unchanged", "global": "global state untouched"}
_ORDINAL = ("first", "second", "third")
_FORBIDDEN = (
    "it returns a token with p = 0: accept strictly, u · q < p or u < p/q; and pick the first token whose cumulative "
    'probability exceeds u (searchsorted with side="right"). Of rng.random() that is one number in 2⁵³, of float32 '
    "uniforms one in 2²⁴: no count of draws would show it."
)

_EQUAL = (
    "Where p and q are equal but for rounding, a rejection meets a residual that is all zero, and 0/0 is no law: keep "
    "the draft there, whose law is right."
)


_ENOUGH = 100_000
_NEAR = 1e-3  # further than a uniform of float16 is exact


class _Ends(Ledger):
    """Uniforms that are all `other`, but for the one at `place`, which is `end`."""

    def __init__(self, other: float, place: int | None = None, end: float = 0.0):
        super().__init__(self)
        self._other, self._place, self._end, self._count = other, place, end, 0

    def random(self, size: Any = None) -> Any:
        drawn = np.full(() if size is None else size, self._other)
        at = -1 if self._place is None else self._place - self._count
        if 0 <= at < drawn.size:
            drawn.flat[at] = self._end
        self._count += drawn.size
        if self._count > _ENOUGH:
            raise Trouble(f"it has not returned after {_ENOUGH:,} random numbers: every loop needs an end")
        return float(drawn) if size is None else drawn


def due_of(p: Any) -> dict[int, float]:
    return {int(x): float(p[x]) for x in np.flatnonzero(p)}


def short(law: Any) -> str:
    if len(law) > 8:
        return f"{np.count_nonzero(law):,} of {len(law):,} tokens"
    return readable(np.asarray(law, dtype=float))


def _case(case: str) -> str:
    p, q = CASES[case]
    return f"p = {short(p)}, q = {short(q)}" if len(p) <= 8 else case
