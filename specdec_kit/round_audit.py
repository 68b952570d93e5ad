"""The audit of rounds and decoders: joint laws over several tokens and rounds, lengths, state, end of sequence.

Its models depend on the whole context, and the draft is wrong at every position, in such a way that each residual has
two tokens. So a row that is off by one, a stale cache or a shared random number shows in the joint law. Rounds differ
in length; each is continued by the target itself to a fixed number of tokens, which keeps a right round's law right.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.battery import Battery, Interrupted, Judged, law_check, sentence
from specdec_kit.blocks import speculative_round
from specdec_kit.law import NotWalkable, TooManyBranches, exact_law
from specdec_kit.sampling import categorical
from specdec_kit.token_audit import TokenAudit
from specdec_kit.watch import Trouble, as_token, untouched

Context = tuple[int, ...]
Law = dict[Context, Fraction]

SIZE = 3
PROMPT = (1, 0, 2)


def _fickle(rows: Any) -> Callable[[Context], Any]:
    """A model whose law depends on every token of the context and on its place."""
    table = np.array(rows, dtype=float)

    def model(context: Context) -> Any:
        return table[(len(context) + sum((i + 1) * x for i, x in enumerate(context))) % len(table)].copy()

    return model


def _always(law: Any) -> Callable[[Context], Any]:
    return lambda context: np.array(law)


_TARGET = (
    (0.5, 0.3, 0.2), (0.2, 0.5, 0.3), (0.3, 0.2, 0.5), (0.6, 0.3, 0.1), (0.1, 0.6, 0.3), (0.3, 0.1, 0.6),
    (0.4, 0.4, 0.2),
)  # fmt: skip
# Half of what two tokens should have goes to the third.
_DRAFT = tuple(
    tuple(x / 2 + (0.5 if i == n % SIZE else 0.0) for i, x in enumerate(row)) for n, row in enumerate(_TARGET)
)
target, draft = _fickle(_TARGET), _fickle(_DRAFT)
# The draft above lacks the same share of each token; this one a fifth of one and seven tenths of another, so that a
# residual of laws that were weighted otherwise, as in block verification, has another shape.
_UNEVEN = tuple(
    tuple(x * (0.0, 0.2, 0.7)[(i - n) % SIZE] + (0.0 if (i - n) % SIZE else 1 - 0.2 * row[(n + 1) % SIZE]
    - 0.7 * row[(n + 2) % SIZE]) for i, x in enumerate(row)) for n, row in enumerate(_TARGET)
)  # fmt: skip


class Case(NamedTuple):
    """What to run: how many rounds of γ drafts, and of how many tokens the joint law is taken."""

    target: Any
    draft: Any
    gamma: int
    rounds: int
    tokens: int
    prompt: Context = PROMPT


CASES = {
    "one round, γ = 1": Case(target, draft, 1, 1, 2),
    "one round, γ = 2": Case(target, draft, 2, 1, 3),
    "one round, γ = 3": Case(target, draft, 3, 1, 3),
    "uneven shares, γ = 2": Case(target, _fickle(_UNEVEN), 2, 1, 3),
    "two rounds, γ = 1": Case(target, draft, 1, 2, 3),
    "two rounds, γ = 2": Case(target, draft, 2, 2, 3),
    "the same law in every context, γ = 2": Case(_always(_TARGET[0]), _always(_DRAFT[0]), 2, 1, 3),
    "draft = target, γ = 2": Case(target, target, 2, 1, 3),
    "no overlap, γ = 2": Case(_fickle([(0.6, 0.4, 0), (0.3, 0.7, 0)]), _always([0.0, 0.0, 1.0]), 2, 1, 2),
    "zeros on either side, γ = 2": Case(
        _fickle([(0.5, 0.5, 0), (0, 0.5, 0.5), (1, 0, 0)]), _fickle([(0, 0.5, 0.5), (0.25, 0.75, 0)]), 2, 1, 3
    ),
    "one round, γ = 5": Case(
        _fickle([(0.7, 0.3), (0.4, 0.6), (0.2, 0.8)]), _fickle([(0.4, 0.6), (0.7, 0.3), (0.5, 0.5)]), 5, 1, 6
    ),
    "after 300 tokens, γ = 1": Case(target, draft, 1, 1, 2, (0, 1, 2) * 100),
    "almost sure drafts, γ = 2": Case(
        _fickle([(0.98, 0.01, 0.01), (0.01, 0.98, 0.01)]), _fickle([(0.96, 0.03, 0.01), (0.01, 0.01, 0.98)]), 2, 1, 3
    ),
}
EDGES = ("no overlap, γ = 2", "zeros on either side, γ = 2", "almost sure drafts, γ = 2")
"""Cases that are hard at the edges of support; the others are right where only those are wrong."""
UNEVEN = "uneven shares, γ = 2"
BLOCK, LONG = "one round, γ = 5", "after 300 tokens, γ = 1"
TWO = ("two rounds, γ = 1", "two rounds, γ = 2")
BRANCHES = 15_000


def law_of(model: Any, tokens: int, prompt: Context = PROMPT, eos: int | None = None) -> Law:
    """Joint law of the next tokens of a model: the product of its rows. After `eos` nothing comes."""
    law: Law = {(): Fraction(1)}
    for _ in range(tokens):
        longer: Law = {}
        for so_far, mass in law.items():
            if eos is not None and eos in so_far:
                longer[so_far] = mass
                continue
            for x, p in enumerate(model(prompt + so_far)):
                if p > 0:
                    longer[(*so_far, x)] = mass * Fraction(float(p)).limit_denominator(10**6)
        law = longer
    return law


class RoundAudit(Battery):
    TESTS = len(CASES) + 2

    def __init__(self, round_: Any, decode: Any, alpha: float, draws: int, seed: int, patience: float):
        if decode is not None and not callable(decode):
            raise TypeError(f"decode is {decode!r}, which is not callable: pass the function itself")
        self.decode, self.seed, self.patience = decode, seed, patience
        super().__init__(round_, alpha / (2 if decode is None else 3), draws, seed, patience)
        self.report.alpha = alpha

    def run(self) -> None:
        if _unwritten(lambda: self.call(target, draft, PROMPT, 1, self.rng())):
            raise Trouble(f"{self.report.name} is not written yet")
        if not self.lengths():
            return
        self.first_token()
        self.laws()
        self.repeats()
        self.waste()
        self.vocabularies()
        if self.decode is None:
            self.add("end of sequence", "", None, "a round has none: pass decode=, a function like speculative_decode")
        else:
            self.decoder()

    def round(self, target: Any, draft: Any, context: Context, gamma: int, rng: Any, size: int = SIZE) -> Context:
        """One round of the function under audit, looked over."""
        try:
            found = self.call(target, draft, context, gamma, rng)
        except NotImplementedError as problem:
            raise Trouble(f"it raises NotImplementedError: {problem}") from problem
        tokens = getattr(found, "tokens", found)
        if not isinstance(tokens, tuple | list | np.ndarray):
            raise Trouble(f"it returns {found!r}: return a tuple of 1 … γ + 1 tokens")
        if not 1 <= len(tokens) <= gamma + 1:
            raise Trouble(f"it returns {len(tokens)} tokens with γ = {gamma}: a round has 1 … γ + 1")
        return tuple(as_token(token, size) for token in tokens)

    # ---- what every round must be ----

    def lengths(self) -> bool:
        for gamma in (1, 2, 5):
            case = f"γ = {gamma}"
            for models in ((target, draft), (target, target)):
                for _ in range(20):
                    try:
                        self.round(*models, PROMPT, gamma, self.rng())
                    except Trouble as trouble:
                        self.fault("1 … γ + 1 tokens", case, trouble)
                        return False
        self.add("1 … γ + 1 tokens", "", True)
        return True

    def first_token(self) -> None:
        """The first token of a round with γ = 1 is a one-token sampler, and gets the whole audit of one."""

        def first(p: Any, q: Any, rng: Any) -> Any:
            found = self.function(lambda context: p, lambda context: q, (0,), 1, rng)
            return getattr(found, "tokens", found)[0]

        first.__name__ = self.report.name
        if hasattr(self.function, "rows"):
            first.rows = self.function.rows  # type: ignore[attr-defined]
        try:
            found = TokenAudit(first, self.report.alpha / 3, self.draws, self.seed, self.patience).report
        except Interrupted as stopped:
            self.report.checks += [check.of("first token") for check in stopped.report.checks]
            raise
        self.report.checks += [check.of("first token") for check in found.checks]
        self.report.cannot_walk = found.cannot_walk

    # ---- joint laws ----

    def continued(self, case: Case) -> Callable[[Any], Context]:
        """Rounds one after the other, then tokens of the target up to the fixed number."""

        def run(rng: Any) -> Context:
            tokens: Context = ()
            for _ in range(case.rounds):
                if len(tokens) >= case.tokens:
                    break
                tokens += self.round(case.target, case.draft, case.prompt + tokens, case.gamma, rng)
            while len(tokens) < case.tokens:
                tokens += (categorical(case.target(case.prompt + tokens), rng),)
            return tokens[: case.tokens]

        return run

    def laws(self) -> None:
        judged: dict[str, Judged] = {}
        advice = "The audit was interrupted before it looked for the reason."
        try:
            for name, case in CASES.items():
                try:
                    due = law_of(case.target, case.tokens, case.prompt)
                    judged[name] = self.judge(self.continued(case), due, _likely(case), 0.5, BRANCHES)
                except Trouble as trouble:
                    self.fault("joint law", name, trouble)
            first = [check.advice for check in self.report.findings if check.kind == "law"]
            try:
                advice = (
                    first[0] if first else self.why(judged) if any(found.wrong for found in judged.values()) else ""
                )
            except Trouble as trouble:  # on the probes that tell why
                advice = sentence(str(trouble))
        finally:  # what was judged is kept, whatever comes between
            for name, found in judged.items():
                due = law_of(CASES[name].target, CASES[name].tokens, CASES[name].prompt)
                self.report.checks.append(law_check("joint law", name, due, found, self.share, advice))

    def advice(self, judged: dict[str, Judged]) -> str:
        first = [check.advice for check in self.report.findings if check.kind == "law"]
        if first or not any(found.wrong for found in judged.values()):
            return first[0] if first else ""
        try:
            return self.why(judged)
        except Trouble as trouble:  # on the probes that tell why
            return sentence(str(trouble))

    def why(self, judged: dict[str, Judged]) -> str:
        """What to change, where the first token is right and a joint law is not."""
        if any(len(tokens) > 1 for tokens in self.raw(CASES["no overlap, γ = 2"], PROMPT)):
            return (
                "It keeps tokens after a rejection: the drafts that follow were proposed, and judged, after another "
                "token. Return the accepted ones and one from the residual."
            )
        if any(3 in tokens for tokens in self.raw(_WHOLE, _TEXT)):
            return (
                "The target is not asked with the whole text: hand it all of context + drafts[:n], no window of it and "
                "nothing before it, and it answers with row n."
            )
        row = self.rows_used()
        if row:
            return row
        wrong = {name for name, found in judged.items() if found.wrong}
        if wrong <= {*TWO}:
            return (
                "One round is right and two in a row are not: something is kept between them, such as a cache that "
                "still holds rejected drafts. Cut it back to the tokens that were kept."
            )
        if wrong == {BLOCK}:
            return (
                "Blocks of up to 3 drafts are right and one of 5 is not: look for a buffer or a loop of fixed length."
            )
        if wrong == {LONG}:
            return "Right after 3 tokens and wrong after 300: the text is cut, or its positions run out."
        if wrong == {UNEVEN}:
            return (
                "It is right where the draft lacks the same share of every token, and wrong where the shares differ: "
                "is the residual that of the laws, weighted as in the test, that the draft was rejected by?"
            )
        if wrong <= {*EDGES}:
            return "It is wrong at the edges of support: a draft that p forbids, or a token that q cannot propose."
        return _SHARED

    def raw(self, case: Case, prompt: Context, runs: int = 400) -> dict[Any, float]:
        """Law of one round as it comes, whatever its length; frequencies of `runs` where it cannot be walked."""
        run = partial(self.round, case.target, case.draft, prompt, case.gamma, size=len(case.target(prompt)))
        if not self.report.cannot_walk:
            try:
                law = exact_law(lambda rng: run(rng=rng), max_branches=BRANCHES)
                return {tokens: float(mass) for tokens, mass in law.items()}
            except (NotWalkable, TooManyBranches) as why:
                self.report.cannot_walk = str(why)
        rng = self.rng()
        return {x: n / runs for x, n in Counter(run(rng=rng) for _ in range(runs)).items()}

    def rows_used(self) -> str:
        """Find the target's rows that a round with γ = 3 uses, by a draft that is sure of 0, then of 1, then of 2.

        With a one-hot q the draft passes with p(x), and p without x is the residual; so the first token tells the row
        that it is tested by and the row that its residual is taken from. Each row of this target is different.
        """
        law = self.raw(Case(_by_place(_ROWS), _by_place(_SURE), 3, 1, 4), (3,), RAW)
        least = 1.0  # of what the tests so far pass with: a uniform that they share lies below it
        for n, x in enumerate((0, 1, 2)):
            due, seen = n + 1, _next_token(law, (0, 1, 2)[:n])
            p, kept = _ROWS[due][x], seen[x]
            if not self.alike(kept, p):
                row = self.nearest(kept, [row[x] for row in _ROWS])
                if self.alike(kept, 1):
                    return (
                        f"Draft {due} is kept whatever the target says: it is not tested, or with another q than it "
                        "was drawn from. Keep it with min(1, p(x)/q(x)), p and q both of the text before it."
                    )
                if self.alike(kept, min(1, p / least)):
                    return _SHARED
                if row is not None:
                    return (
                        f"The rows are shifted: draft {due} is judged by the target's row {_PLACES[row - due]}. "
                        "Row n is the target's law after context + drafts[:n]."
                    )
                return (
                    f"Draft {due} comes out with probability {kept:.2g}, which no row of the target has, where {p:.2g} "
                    "is due: keep it with min(1, p(x)/q(x)), and redraw from (p − q)₊ otherwise."
                )
            rest = np.where(np.arange(4) == x, 0, seen) / (1 - kept)
            if not self.alike(rest, _without(_ROWS[due], x)):
                row = self.nearest(rest, [_without(row, x) for row in _ROWS])
                which = "otherwise" if row is None else f"from the row {_PLACES[row - due]}"
                return (
                    f"Where draft {due} is rejected, its place is filled {which}: draw from (p − q)₊ divided by its "
                    "sum, p and q those of the rejected place."
                )
            least = min(least, p)
        bonus = _next_token(law, (0, 1, 2))
        return "" if self.alike(bonus, _ROWS[4]) else _BONUS

    def nearest(self, seen: Any, rows: Any) -> int | None:
        row = min(range(len(rows)), key=lambda k: np.abs(np.subtract(seen, rows[k])).max())
        return row if self.alike(seen, rows[row]) else None

    def alike(self, seen: Any, due: Any) -> bool:
        return bool(np.abs(np.subtract(seen, due)).max() < (0.06 if self.report.cannot_walk else 1e-6))

    # ---- seeds and state ----

    def repeats(self) -> None:
        """The same seed gives the same tokens, whatever was generated before."""

        def two(seed: int, prompt: Context) -> Context:
            rng = np.random.default_rng(seed)
            tokens: Context = ()
            for _ in range(2):
                tokens += self.round(target, draft, prompt + tokens, 3, rng)
            return tokens

        plan = list(product(range(15), (PROMPT, (2, 2), (0, 1, 1, 2))))
        try:
            first, again = {key: two(*key) for key in plan}, {}
            for key in plan[::-1]:
                again[key] = two(*key)
                self.round(target, draft, PROMPT, 3, self.rng())  # so that what counts rounds is out of step
        except Trouble as trouble:
            self.fault("same seed, same tokens", "", trouble)
            return
        differ = sum(first[key] != again[key] for key in plan)
        self.add(
            "same seed, same tokens", "", not differ,
            "What it returns depends on what was generated before, or on a generator of its own: start every context "
            "afresh, and draw from rng alone.",
            expected=f"0 of {len(plan)} runs differ", observed=f"{differ}",
        )  # fmt: skip

    def waste(self) -> None:
        """Whether as many drafts are kept as the rule allows. Fewer is slow, not wrong."""
        for name, models in (("tokens kept", (target, draft)), ("tokens kept, draft = target", (target, target))):
            try:
                usual, seen = _usual(models, self.seed), _kept(self.round, models, self.seed)
            except Trouble as trouble:
                self.fault(name, "", trouble)
                continue
            error = np.sqrt(usual.var() + seen.var()) / np.sqrt(len(seen))
            self.add(
                name, "four rounds, γ = 3", bool(seen.mean() >= usual.mean() - 5 * error),
                "It keeps fewer tokens than the rule allows. That alone costs speed and no law: is the draft's "
                "context or cache in step with what was kept, and is the bonus token drawn?",
                expected=f"{usual.mean():.2f} on average", observed=f"{seen.mean():.2f}", note=True,
            )  # fmt: skip

    def vocabularies(self) -> None:
        """A draft over another vocabulary is an error, best said at once."""
        wide = _always([0.1, 0.1, 0.1, 0.7])
        try:
            for _ in range(20):  # since a round may happen not to meet what differs
                tokens = self.round(target, wide, PROMPT, 2, self.rng(), size=4)
        except Trouble:
            self.add("vocabularies that differ", "", True)
            return
        self.add(
            "vocabularies that differ", "", False,
            "With 3 tokens in the target and 4 in the draft it goes on: compare the two sizes before the first round.",
            expected="an error", observed=f"tokens {tokens}", note=True,
        )  # fmt: skip

    # ---- whole decoders ----

    def decoded(self, limit: int, eos: int | None, rng: Any, *, gamma: int) -> Context:
        found = self.call.over(
            lambda: self.decode(target, draft, PROMPT, gamma=gamma, max_new_tokens=limit, rng=rng, eos=eos)
        )
        tokens = getattr(found, "tokens", found)
        if not isinstance(tokens, tuple | list | np.ndarray):
            raise Trouble(f"it returns {found!r}: return the new tokens, or an object with .tokens")
        return tuple(as_token(token, SIZE) for token in tokens)

    def decoder(self) -> None:
        if _unwritten(lambda: self.decoded(4, None, self.rng(), gamma=2)):
            self.fault("decoded tokens", "", "It is not written yet: it raises NotImplementedError")
            return
        right = self.report.passed
        for name, eos, gamma in (("decoded tokens", None, 1), ("end of sequence", 2, 2)):
            due = law_of(target, 3, eos=eos)
            try:
                for limit in range(1, 9):
                    for block in (1, 2, 5):
                        self.look(limit, eos, block)
                decode = partial(self.decoded, 3, eos, gamma=gamma)
                found = self.judge(decode, due, [x for x in due if x[0] == 0], 0.5, BRANCHES)
            except Trouble as trouble:
                self.fault(name, "", trouble)
                continue
            advice = "The text that the decoder writes does not have the target's law" + (
                ", though each round does: what it drops, or passes on as context, is wrong." if right else "."
            )
            self.report.checks.append(law_check(name, f"γ = {gamma}", due, found, self.share, advice))

    def look(self, limit: int, eos: int | None, gamma: int) -> None:
        """Raise where a text is too long, too short, goes on after its end, or is not that of its seed."""
        seed = self.rng().integers(2**32)
        with untouched():
            tokens, again = (self.decoded(limit, eos, np.random.default_rng(seed), gamma=gamma) for _ in range(2))
        case = f"max_new_tokens = {limit} and γ = {gamma}"
        if len(tokens) > limit and tokens[: len(PROMPT)] == PROMPT:
            raise Trouble(f"it returns the prompt as well, {tokens} with {case}: return what comes after it")
        ended = eos is not None and eos in tokens
        if ended and tokens.index(eos) < len(tokens) - 1:
            raise Trouble(f"it goes on after eos = {eos}, {tokens}: drop what follows it in the block")
        if len(tokens) > limit:
            raise Trouble(f"it writes {len(tokens)} tokens with {case}: cut the last block")
        if len(tokens) < limit and not ended:
            least = "go on to max_new_tokens" if eos is None else f"keep eos = {eos} as the last, or go on without"
            raise Trouble(f"it stops after {len(tokens)} tokens with {case}: {least}")
        if again != tokens:
            raise Trouble("it writes another text with the same seed: draw from rng alone, and start every text afresh")


def _kept(round_: Any, models: Any, seed: int, runs: int = 300) -> Any:
    """How many tokens four rounds with γ = 3 keep, run by run."""
    rng, total = np.random.default_rng(seed), np.zeros(runs)
    for i in range(runs):
        tokens: Context = ()
        for _ in range(4):
            tokens += round_(*models, PROMPT + tokens, 3, rng)
        total[i] = len(tokens)
    return total


@cache
def _usual(models: Any, seed: int) -> Any:
    return _kept(speculative_round, models, seed)


# The probe for rows: the target's law at each place of the text, and a draft that is sure of 0, then of 1, then of 2.
_ROWS = (
    (0.1, 0.25, 0.15, 0.5), (0.6, 0.1, 0.2, 0.1), (0.15, 0.5, 0.05, 0.3), (0.3, 0.05, 0.4, 0.25), (0.4, 0.3, 0.1, 0.2),
)  # fmt: skip
_SURE = ((0, 0, 0, 1.0), (1.0, 0, 0, 0), (0, 1.0, 0, 0), (0, 0, 1.0, 0), (0, 0, 0, 1.0))
_PLACES = {
    -3: "of three places before", -2: "of two places before", -1: "of the place before", 1: "of the place after",
    2: "of two places after", 3: "of three places after",
}  # fmt: skip
# The probe for contexts: a target that answers with 3, which the draft never proposes, to a text that begins otherwise.
_TEXT = (2, 0, 1, 1, 0, 2)
_WHOLE = Case(
    lambda context: np.array((0.5, 0.3, 0.2, 0) if context[: len(_TEXT)] == _TEXT else (0, 0, 0, 1.0)),
    _always((0.4, 0.3, 0.3, 0)), 2, 1, 3,
)  # fmt: skip
RAW = 6_000


def _by_place(rows: Any) -> Callable[[Context], Any]:
    return lambda context: np.array(rows[min(len(context), 4)])


def _next_token(law: Any, before: Context) -> Any:
    """Law of what comes after the tokens `before`, of those rounds that went on; the row that is due where none did."""
    n, seen = len(before), np.zeros(4)
    for tokens, mass in law.items():
        if len(tokens) > n and tokens[:n] == before:
            seen[tokens[n]] += mass
    return seen / seen.sum() if seen.any() else np.array(_ROWS[n + 1])


def _without(row: Any, x: int) -> Any:
    rest = np.where(np.arange(len(row)) == x, 0, row)
    return rest / rest.sum()


_BONUS = (
    "The bonus token is wrong: after γ accepted drafts draw one from the target's law after context + all drafts, "
    "whole and untouched (no residual, no other temperature or cut-off than the verified tokens have)."
)
_SHARED = (
    "Each position alone is right, and together they are not: do positions share a random number? Draw a fresh one "
    "for every draft, every test and the last token, and seed nothing inside a round."
)


def _unwritten(call: Callable[[], Any]) -> bool:
    try:
        call()
    except NotImplementedError:
        return True
    except Trouble:
        pass
    return False


def _likely(case: Case) -> list[Context]:
    """Texts that begin with a token of which the draft has too little."""
    p, q = case.target(case.prompt), case.draft(case.prompt)
    return [tokens for tokens in law_of(case.target, case.tokens, case.prompt) if p[tokens[0]] > q[tokens[0]]]
