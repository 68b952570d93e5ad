"""The audit of rounds and decoders: joint laws over several tokens and rounds, lengths, state, end of sequence.

Its models depend on the whole context, and the draft is wrong at every position, in such a way that each residual has
two tokens. So a row that is off by one, a stale cache or a shared random number shows in the joint law. Rounds differ
in length; each is continued by the target itself to a fixed number of tokens, which keeps a right round's law right.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.battery import Battery, Judged, law_check
from specdec_kit.blocks import speculative_round
from specdec_kit.sampling import categorical
from specdec_kit.token_audit import TokenAudit
from specdec_kit.watch import Trouble, as_token

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


class Case(NamedTuple):
    """What to run: how many rounds of γ drafts, and of how many tokens the joint law is taken."""

    target: Any
    draft: Any
    gamma: int
    rounds: int
    tokens: int


CASES = {
    "one round, γ = 1": Case(target, draft, 1, 1, 2),
    "one round, γ = 2": Case(target, draft, 2, 1, 3),
    "one round, γ = 3": Case(target, draft, 3, 1, 3),
    "two rounds, γ = 1": Case(target, draft, 1, 2, 3),
    "two rounds, γ = 2": Case(target, draft, 2, 2, 3),
    "the same law in every context, γ = 2": Case(_always(_TARGET[0]), _always(_DRAFT[0]), 2, 1, 3),
    "draft = target, γ = 2": Case(target, target, 2, 1, 3),
    "no overlap, γ = 2": Case(_fickle([(0.6, 0.4, 0), (0.3, 0.7, 0)]), _always([0.0, 0.0, 1.0]), 2, 1, 2),
    "zeros on either side, γ = 2": Case(
        _fickle([(0.5, 0.5, 0), (0, 0.5, 0.5), (1, 0, 0)]), _fickle([(0, 0.5, 0.5), (0.25, 0.75, 0)]), 2, 1, 3
    ),
    "almost sure drafts, γ = 2": Case(
        _fickle([(0.98, 0.01, 0.01), (0.01, 0.98, 0.01)]), _fickle([(0.96, 0.03, 0.01), (0.01, 0.01, 0.98)]), 2, 1, 3
    ),
}
BRANCHES = 30_000


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
        self.decode, self.seed, self.patience = decode, seed, patience
        super().__init__(round_, alpha / (2 if decode is None else 3), draws, seed, patience)
        self.report.alpha = alpha

    def run(self) -> None:
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
        tokens = self.call(target, draft, context, gamma, rng)
        if not isinstance(tokens, tuple | list | np.ndarray):
            raise Trouble(f"it returns {tokens!r}: return a tuple of 1 … γ + 1 tokens")
        if not 1 <= len(tokens) <= gamma + 1:
            raise Trouble(f"with γ = {gamma} it returns {len(tokens)} tokens: a round has 1 … γ + 1")
        return tuple(as_token(token, size) for token in tokens)

    # ---- what every round must be ----

    def lengths(self) -> bool:
        for gamma in (1, 2, 4, 8):
            case = f"γ = {gamma}"
            for models in ((target, draft), (target, target)):
                for _ in range(20):
                    try:
                        self.round(*models, PROMPT, gamma, self.rng())
                    except NotImplementedError:
                        raise Trouble(f"{self.report.name} is not written yet") from None
                    except Trouble as trouble:
                        self.fault("1 … γ + 1 tokens", case, trouble)
                        return False
        self.add("1 … γ + 1 tokens", "", True)
        return True

    def first_token(self) -> None:
        """The first token of a round with γ = 1 is a one-token sampler, and gets the whole audit of one."""

        def first(p: Any, q: Any, rng: Any) -> Any:
            return self.function(lambda context: p, lambda context: q, (0,), 1, rng)[0]

        first.__name__ = self.report.name
        if hasattr(self.function, "rows"):
            first.rows = self.function.rows  # type: ignore[attr-defined]
        found = TokenAudit(first, self.report.alpha / 3, self.draws, self.seed, self.patience).report
        self.report.checks += [check.of("first token") for check in found.checks]
        self.report.cannot_walk = found.cannot_walk

    # ---- joint laws ----

    def continued(self, case: Case) -> Callable[[Any], Context]:
        """Rounds one after the other, then tokens of the target up to the fixed number."""

        def run(rng: Any) -> Context:
            tokens: Context = ()
            for _ in range(case.rounds):
                tokens += self.round(case.target, case.draft, PROMPT + tokens, case.gamma, rng)
            while len(tokens) < case.tokens:
                tokens += (categorical(case.target(PROMPT + tokens), rng),)
            return tokens[: case.tokens]

        return run

    def laws(self) -> None:
        judged: dict[str, Judged] = {}
        for name, case in CASES.items():
            try:
                due = law_of(case.target, case.tokens)
                judged[name] = self.judge(self.continued(case), due, _likely(case), 0.5, BRANCHES)
            except Trouble as trouble:
                self.fault("joint law", name, trouble)
        sound = self.report.passed  # the first token is right: what is wrong comes later
        advice = self.why(judged) if sound and any(found.wrong for found in judged.values()) else ""
        if not sound:
            advice = self.report.findings[0].advice
        for name, found in judged.items():
            due = law_of(CASES[name].target, CASES[name].tokens)
            self.report.checks.append(law_check("joint law", name, due, found, self.share, advice))

    def why(self, judged: dict[str, Judged]) -> str:
        """What a joint law that is wrong says about its cause."""

        def wrong(name: str) -> bool:
            return name in judged and judged[name].wrong

        if wrong("no overlap, γ = 2"):
            return (
                "It keeps tokens after a rejection: the drafts that follow were proposed, and judged, after another "
                "token. Return the accepted ones and one from the residual."
            )
        same = "the same law in every context, γ = 2"
        if wrong(same):
            off = [place for place in range(3) if _marginal_off(judged[same], place)]
            if not off:
                return (
                    "Each position alone is right, and together they are not: positions share a random number. Draw a "
                    "fresh one for every test, and seed nothing inside a round."
                )
            if off == [2]:
                return _BONUS
            return f"Token {off[0] + 1} of a round is wrong even where the law is the same in every context."
        for name in ("one round, γ = 1", "one round, γ = 2", "one round, γ = 3"):
            if not wrong(name):
                continue
            case, law = CASES[name], judged[name].law
            if _marginal_off(judged[name], 0, case.target(PROMPT)):
                return (
                    "The first token is judged by the row of another position: the target's row for draft n is its law "
                    "after context + drafts[:n]."
                )
            late = _second_given_first(law, case.target(PROMPT), judged[name].radius)
            if late:
                return (
                    "The rows are shifted by one: what follows the first draft is judged, or drawn, by the target's "
                    "law before that draft. Row n is the law after context + drafts[:n]."
                )
            if name == "one round, γ = 1":
                return _BONUS
            return (
                "A later position of the block is judged by a wrong row, or its residual taken from one: for draft n "
                "use p and q after context + drafts[:n], both."
            )
        if wrong("two rounds, γ = 1") or wrong("two rounds, γ = 2"):
            return (
                "One round is right and two in a row are not: something is kept between them, such as a cache that "
                "still holds rejected drafts. Cut it back to the tokens that were kept."
            )
        return "It is wrong at the edges of support: a draft that p forbids, or a token that q cannot propose."

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
            first = {key: two(*key) for key in plan}
            again = {key: two(*key) for key in plan[::-1]}
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
        n = 400
        for name, models in (("tokens kept", (target, draft)), ("tokens kept, draft = target", (target, target))):
            totals = []
            for round_ in (speculative_round, self.round):
                rng, total = self.rng(), np.zeros(n)
                for i in range(n):
                    tokens: Context = ()
                    for _ in range(2):
                        tokens += round_(*models, PROMPT + tokens, 3, rng)
                    total[i] = len(tokens)
                totals.append(total)
            usual, seen = (total.mean() for total in totals)
            error = np.sqrt(sum(total.var() for total in totals) / n)
            self.add(
                name, "two rounds, γ = 3", bool(seen >= usual - 5 * error),
                "It keeps fewer tokens than the rule allows. The law does not suffer, the speed does: is the draft's "
                "context or cache in step with what was kept, and is the bonus token drawn?",
                expected=f"{usual:.2f} on average", observed=f"{seen:.2f}", note=True,
            )  # fmt: skip

    def vocabularies(self) -> None:
        """A draft over another vocabulary is an error, best said at once."""
        wide = _always([0.1, 0.1, 0.1, 0.7])
        try:
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
            raise Trouble(f"the decoder returns {found!r}: return the new tokens, or an object with .tokens")
        return tuple(as_token(token, SIZE) for token in tokens)

    def decoder(self) -> None:
        for name, eos, gamma in (("decoded tokens", None, 1), ("end of sequence", 2, 2)):
            due = law_of(target, 3, eos=eos)
            try:
                for limit in range(1, 9):
                    for block in (1, 2, 5):
                        self.look(self.decoded(limit, eos, self.rng(), gamma=block), limit, block, eos)
                decode = partial(self.decoded, 3, eos, gamma=gamma)
                found = self.judge(decode, due, [x for x in due if x[0] == 0], 0.5, BRANCHES)
            except Trouble as trouble:
                self.fault(name, "", trouble)
                continue
            advice = "The text that the decoder writes does not have the target's law" + (
                ", though each round does: what it drops, or passes on as context, is wrong."
                if self.report.passed
                else "."
            )
            self.report.checks.append(law_check(name, f"γ = {gamma}", due, found, self.share, advice))

    def look(self, tokens: Context, limit: int, gamma: int, eos: int | None) -> None:
        """Raise where a text is too long, too short, or goes on after its end."""
        ended = eos is not None and eos in tokens
        if ended and tokens.index(eos) < len(tokens) - 1:
            raise Trouble(f"after eos = {eos} the text goes on, {tokens}: nothing of the block may follow it")
        if len(tokens) > limit or (len(tokens) < limit and not ended):
            case = f"max_new_tokens = {limit} and γ = {gamma}"
            raise Trouble(f"with {case} it writes {len(tokens)} tokens: cut the last block")


_BONUS = (
    "The bonus token is wrong: after γ accepted drafts draw one from the target's law after context + all drafts, "
    "whole and untouched (no residual, no other temperature or cut-off than the verified tokens have)."
)


def _likely(case: Case) -> list[Context]:
    """Texts that begin with a token of which the draft has too little."""
    p, q = case.target(PROMPT), case.draft(PROMPT)
    return [tokens for tokens in law_of(case.target, case.tokens) if p[tokens[0]] > q[tokens[0]]]


def _marginal(law: Any, place: int) -> Any:
    found = np.zeros(SIZE)
    for tokens, mass in law.items():
        found[tokens[place]] += float(mass)
    return found


def _marginal_off(judged: Judged, place: int, due: Any = _TARGET[0]) -> bool:
    return bool(np.abs(_marginal(judged.law, place) - due).sum() / 2 > judged.radius)


def _second_given_first(law: Any, row: Any, radius: float) -> bool:
    """Whether the second token has the law `row`, whatever the first was."""
    joint = np.zeros((SIZE, SIZE))
    for tokens, mass in law.items():
        joint[tokens[0], tokens[1]] += float(mass)
    return bool(np.abs(joint - joint.sum(axis=1, keepdims=True) * row).sum() / 2 <= max(radius, 1e-9))
