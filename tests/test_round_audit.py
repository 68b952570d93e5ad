"""The audit of rounds and decoders: right ones pass in any style, faults are found and named, and each check trips."""

import time
from fractions import Fraction as F
from functools import cache

import numpy as np
import pytest

from specdec_kit.adapters import verifier
from specdec_kit.audit import audit_decoder
from specdec_kit.blocks import speculative_decode, speculative_round
from specdec_kit.round_audit import CASES, PROMPT, draft, law_of, target
from specdec_kit.sampling import inverse_cdf

# ---- a round whose parts can be exchanged for faulty ones


def pick(weights, rng):
    return int(inverse_cdf(weights, rng.random()))


def lacking(p, q):
    return np.maximum(p - q, 0)


def made(
    *, accept=lambda n, u, p, q: u * q < p, residual=lacking, bonus=lambda p, q: p, pick=pick, guard=True,
    whole=lambda text: text, declared=lambda draft, context, drafted: draft(context + drafted[:-1]),
):  # fmt: skip
    """A round; without arguments, a right one."""

    def round_(target, draft, context, gamma, rng):
        drafted, qs = (), []
        for _ in range(gamma):
            drafted += (pick(draft(context + drafted), rng),)
            qs.append(declared(draft, context, drafted))
        ps = [target(whole(context + drafted[:n])) for n in range(gamma + 1)]
        for n, (x, p, q) in enumerate(zip(drafted, ps, qs, strict=False)):
            if not accept(n, rng.random(), p[x], q[x]):
                rest = residual(p, q)
                if rest.any() or not guard:  # else p = q but for rounding
                    return (*drafted[:n], pick(rest, rng))
        return (*drafted, pick(bonus(ps[gamma], qs[-1]), rng))

    return round_


right = made()


def after(change):
    """A right round whose tokens are changed: ``change(tokens, gamma)``."""
    return lambda target, draft, context, gamma, rng: change(right(target, draft, context, gamma, rng), gamma)


def drawing(rng_of, round_=right):
    """A round that draws from another generator: ``rng_of(rng)``."""
    return lambda target, draft, context, gamma, rng: round_(target, draft, context, gamma, rng_of(rng))


class Plain:
    """A generator of plain floats, which no walk can follow."""

    def __init__(self, rng):
        self.rng = rng

    def random(self):
        return float(self.rng.random())


def counted(round_):
    return drawing(Plain, round_)


def plain(**parts):
    """A round in parts that is counted, which takes a quarter of the time."""
    return counted(made(**parts))


@cache
def audited(round_, decode=None, **more):
    patience = 0.3 if round_ is never_ends or decode is endless else 60  # a busy machine must not look like a loop
    return audit_decoder(round_, decode=decode, **{"draws": 400, "patience": patience, **more})


# ---- what is right passes


def all_uniforms_at_once(target, draft, context, gamma, rng):
    u, drafted = rng.random(2 * gamma + 1), ()
    for n in range(gamma):
        p, q = target(context + drafted), draft(context + drafted)
        x = int(inverse_cdf(q, u[2 * n]))
        if not u[2 * n + 1] * q[x] < p[x] and lacking(p, q).any():
            return (*drafted, int(inverse_cdf(lacking(p, q), u[-1])))
        drafted += (x,)
    return (*drafted, int(inverse_cdf(target(context + drafted), u[-1])))


def coupling(target, draft, context, gamma, rng):
    """The target's own draws; the draft counts as accepted where the same uniform makes it draw the same."""
    text = ()
    for _ in range(gamma):
        u = rng.random()
        text += (int(inverse_cdf(target(context + text), u)),)
        if inverse_cdf(draft(context + text[:-1]), u) != text[-1]:
            return text
    return (*text, pick(target(context + text), rng))


def choice(weights, rng):
    return int(rng.choice(len(weights), p=weights / weights.sum()))


RIGHT = {
    "in parts": (right, {}),
    "a list of NumPy's integers": (
        counted(after(lambda tokens, gamma: list(map(np.int64, tokens)))), {"tokens": "note"},
    ),
    "rng.choice": (made(pick=choice), {}),
    "all uniforms at once": (all_uniforms_at_once, {}),
    "a coupling": (coupling, {"start-up": "note"}),
    "one token a round": (after(lambda tokens, gamma: tokens[:1]), {"speed": "note"}),
    "no test where p = q": (plain(accept=lambda n, u, p, q: p == q or u * q < p), {}),
    "counted": (counted(right), {}),
}  # fmt: skip
COUNTED = ("a list of NumPy's integers", "no test where p = q", "counted")


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes_in_any_style(name):
    round_, kinds = RIGHT[name]
    report = audited(round_)
    assert report.passed and report.kinds == kinds
    assert bool(report.cannot_walk) == (name in COUNTED)


def test_the_kits_own_round_and_decoder_pass_exactly():
    report = audited(speculative_round, speculative_decode)
    assert report.passed and not report.findings and not report.cannot_walk
    assert all(check.passed for check in report.checks), "and nothing was left out"
    laws = [check for check in report.checks if check.name in ("joint law", "decoded tokens", "end of sequence")]
    assert len(laws) == len(CASES) + 2 and all(check.pvalue == "exact" and check.tv == 0 for check in laws)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_counted_round_that_is_right_passes_with_any_seed(seed):
    assert not audited(counted(right), seed=seed).findings


def test_an_audit_can_be_repeated():
    first, again = (audit_decoder(counted(right), draws=400, seed=5) for _ in range(2))
    assert first.checks == again.checks


# ---- what is wrong is found


def reuses_test(target, draft, context, gamma, rng):
    drafted = ()
    for _ in range(gamma):
        p, q = target(context + drafted), draft(context + drafted)
        x, u = pick(q, rng), rng.random()
        if not u * q[x] < p[x] and lacking(p, q).any():
            return (*drafted, int(inverse_cdf(lacking(p, q), u)))
        drafted += (x,)
    return (*drafted, pick(target(context + drafted), rng))


class SameForAll:
    """A generator of which the first uniform comes γ times: all drafts share it."""

    def __init__(self, rng, gamma):
        self.rng, self.left = rng, [rng.random()] * gamma

    def random(self):
        return self.left.pop() if self.left else self.rng.random()


def drafts_share_a_uniform(target, draft, context, gamma, rng):
    return right(target, draft, context, gamma, SameForAll(rng, gamma))


class FromPrompt:
    """Goes on from where the text began, in every round."""

    prompt = ()

    def __call__(self, target, draft, context, gamma, rng):
        if not self.prompt or context[: len(self.prompt)] != self.prompt:
            self.prompt = context
        return right(target, draft, self.prompt, gamma, rng)


class EverySecond:
    """Cuts every second round short, whatever the text."""

    rounds = 0

    def __call__(self, *args):
        self.rounds += 1
        return right(*args)[: 1 if self.rounds % 2 else None]


class Leaning:
    """Every second round draws with 1 − u of the one before, if from the same generator: each alone is right."""

    def __init__(self):
        self.rng, self.before, self.now = None, [], []

    def __call__(self, target, draft, context, gamma, rng):
        self.before, self.now = (self.now, []) if rng is self.rng and not self.before else ([], [])
        self.rng = rng
        return right(target, draft, context, gamma, self)

    def random(self):
        self.now.append(1 - 2**-53 - self.before[len(self.now)] if len(self.now) < len(self.before) else
                        float(self.rng.random()))  # fmt: skip
        return self.now[-1]


def in_place(target, draft, context, gamma, rng):
    p, q = target(context), draft(context)
    x = pick(q, rng)
    if rng.random() * q[x] < p[x]:
        return (x,)
    p -= q
    return (pick(np.maximum(p, 0), rng),)


def never_ends(*args):
    tokens = right(*args)
    while len(tokens) > args[3]:
        pass
    return tokens


def in_float32(weights, rng):
    """A uniform just below 1 becomes 1, and finds the last token, whatever its mass."""
    cdf = np.cumsum(weights, dtype=np.float32)
    return min(int(np.searchsorted(cdf / cdf[-1], np.float32(rng.random()), side="right")), len(weights) - 1)


def needs_three_tokens(target, draft, context, gamma, rng):
    assert len(target(context)) > 2
    return right(target, draft, context, gamma, rng)


def unwritten(*args, **kwargs):
    raise NotImplementedError


def by_the_first_row(p, q, drafts, rng):
    """Verifies every row of a batch by the laws of the first."""
    kept = []
    for block in drafts:
        tokens = []
        for x, law, q_law in zip(block, p[0], q[0], strict=False):
            rest = lacking(law, q_law)
            passes = rng.random() * q_law[x] < law[x] or not rest.any()
            tokens.append(int(x) if passes else pick(rest, rng))
            if not passes:
                break
        else:
            tokens.append(pick(p[0, -1], rng))
        kept.append(tokens)
    return kept


LAW, JOINT, SEEDS, PURITY = ({kind: "fault"} for kind in ("law", "joint law", "seeds", "purity"))
BOTH, TOKENS, EDGE = LAW | JOINT, {"tokens": "fault"}, {"boundary": "fault"}
SLOW, UNSIZED = {"speed": "note"}, {"start-up": "note"}
INVERTED = made(accept=lambda n, u, p, q: u * p < q)
OF_RESIDUAL = made(bonus=lambda p, q: lacking(p, q) if lacking(p, q).any() else p)

FAULTS = {
    # the context
    "target sees two tokens": (made(whole=lambda text: text[-2:]), JOINT | SLOW, "not asked with the whole text"),
    "target sees all but the first": (
        plain(whole=lambda text: text[1:] or text), JOINT | SLOW, "not asked with the whole text",
    ),
    "target sees a token before": (plain(whole=lambda text: (0, *text)), JOINT | SLOW, "and nothing before it"),
    "q is read one token late": (
        plain(declared=lambda draft, context, drafted: draft(context + drafted)), JOINT | SLOW,
        "Draft 1 is kept whatever the target says: it is not tested, or with another q than it was drawn from",
    ),
    # the test
    "untested from the second on": (
        plain(accept=lambda n, u, p, q: n > 0 or u * q < p), JOINT, "Draft 2 is kept whatever the target says",
    ),
    "inverted from the second on": (
        plain(accept=lambda n, u, p, q: u * p < q if n else u * q < p), JOINT, "Draft 2 is kept whatever the target",
    ),
    "harder from the third on": (
        made(accept=lambda n, u, p, q: u * q < (p**2 if n > 1 else p)), JOINT,
        "Draft 3 comes out with probability 0.16, which no row of the target has, where 0.4 is due",
    ),
    # the residual
    "clipped at 0.01": (plain(residual=lambda p, q: np.clip(p - q, 0.01, None)), BOTH, "(p − q)₊, which is 0 there"),
    "the test's number again": (reuses_test, BOTH, "The number that rejected the draft is used again"),
    # the bonus token
    "bonus of the residual": (counted(OF_RESIDUAL), JOINT, "The bonus token is wrong"),
    "bonus is the likeliest": (
        made(bonus=lambda p, q: np.arange(len(p)) == p.argmax()), JOINT, "The bonus token is wrong",
    ),
    # between positions and rounds
    "drafts share a uniform": (counted(drafts_share_a_uniform), JOINT, "do positions share a random number?"),
    "every round from the prompt": (FromPrompt(), JOINT, "One round is right and two in a row are not"),
    "every second round is cut": (EverySecond(), SEEDS | SLOW, "depends on what was generated before"),
    "leans on the round before": (Leaning(), JOINT, "two in a row are not independent"),
    # what it returns
    "γ + 2 tokens": (
        after(lambda tokens, gamma: tokens + tokens[-1:] if len(tokens) > gamma else tokens), TOKENS,
        "It returns 3 tokens with γ = 1: a round has 1 … γ + 1.",
    ),
    "no token": (after(lambda tokens, gamma: tokens[:-1]), TOKENS, "It returns 0 tokens with γ = 1"),
    "None": (after(lambda tokens, gamma: None), TOKENS, "It returns None: return a tuple of 1 … γ + 1 tokens."),
    "a token out of range": (
        after(lambda tokens, gamma: (*tokens[:-1], tokens[-1] + 1)), TOKENS, "It returns 3, which is no token",
    ),
    "floats": (after(lambda tokens, gamma: tuple(map(float, tokens))), TOKENS, "a float, which is no token"),
    "a tuple of tuples": (after(lambda tokens, gamma: (tokens,)), TOKENS, "which is no token"),
    "raises at γ = 3": (
        after(lambda tokens, gamma: tokens if gamma != 3 else 1 / 0), JOINT | SEEDS | {"speed": "fault"},
        "It raises ZeroDivisionError: division by zero.",
    ),
    "unwritten": (unwritten, TOKENS, "unwritten is not written yet."),
    "never ends": (never_ends, TOKENS, "It has not returned after 0.3 seconds: every loop needs an end."),
    "needs three tokens": (counted(needs_three_tokens), TOKENS | JOINT, "It raises AssertionError"),
    # beside the law
    "global state": (
        drawing(lambda rng: np.random, coupling), SEEDS | PURITY | UNSIZED, "It draws from global random state",
    ),
    "the clock": (
        drawing(lambda rng: np.random.default_rng(time.time_ns()), coupling), SEEDS | UNSIZED, "It reads the clock",
    ),
    "in place": (in_place, PURITY | SLOW | {"rounding": "fault"}, "It changes p or q in place"),
    "accepts at u = 0": (plain(accept=lambda n, u, p, q: u * q <= p), EDGE, "At u = 0 it returns a token with p = 0"),
    "falls off at u near 1": (made(pick=in_float32), EDGE, "At u just below 1 it returns"),
    "no guard where p = q": (plain(guard=False), {"rounding": "fault"}, "Where p and q are equal but for rounding"),
    "a batch by its first row": (verifier(by_the_first_row), JOINT, "two rows of a batch are not"),
    "ratio inverted": (counted(INVERTED), BOTH, "It returns q"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_explained(name):
    round_, kinds, words = FAULTS[name]
    report = audited(round_)
    assert report.kinds == kinds and not report.passed
    assert any(words in check.advice for check in report.findings)


def test_what_a_finding_shows_is_what_a_hand_finds():
    # With γ = 1 the second token is the likeliest wherever the draft was kept: Σ min(p, q)(x) of the time.
    after_prompt = {x: max(target((*PROMPT, x))) for x in range(3)}
    kept = np.minimum(target(PROMPT), draft(PROMPT))
    due = sum(kept[x] * (1 - after_prompt[x]) for x in range(3))
    report = audited(FAULTS["bonus is the likeliest"][0])
    found = next(check for check in report.findings if check.case == "one round, γ = 1")
    assert found.tv == pytest.approx(due) and found.pvalue == "exact"
    assert not any(check.case == "no overlap, γ = 2" for check in report.findings), "where there is no bonus token"


def test_a_round_that_raises_at_one_length_only_is_told_so():
    report = audited(after(lambda tokens, gamma: tokens if gamma < 5 else 1 / 0))
    (found,) = report.findings
    assert found.case == "γ = 5" and found.advice == "It raises ZeroDivisionError: division by zero."


def test_rounds_that_refuse_what_differs_need_not_say_how():
    def refuses(target, draft, context, gamma, rng):
        if len(target(context)) != len(draft(context)):
            raise NotImplementedError("vocabularies differ")
        return counted(right)(target, draft, context, gamma, rng)

    assert not audited(refuses).findings


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="3 is not callable"):
        audit_decoder(3)
    with pytest.raises(TypeError, match="decode is 3, which is not callable"):
        audit_decoder(right, decode=3)


# ---- decoders


def decoder(end=lambda text, limit, eos: text, context=lambda prompt, text: prompt + text, rng_of=lambda rng: rng):
    """A decoder; without arguments, a right one. `end` is what becomes of the text that is cut where it is to end."""

    def decode(target, draft, prompt, *, gamma, max_new_tokens, rng, eos):
        text = ()
        while len(text) < max_new_tokens and eos not in text:
            text += right(target, draft, context(prompt, text), gamma, rng_of(rng))
        text = text[:max_new_tokens]
        return end(text[: text.index(eos) + 1] if eos in text else text, max_new_tokens, eos)

    return decode


def past_eos(target, draft, prompt, *, gamma, max_new_tokens, rng, eos):
    text = ()
    while len(text) < max_new_tokens and text[-1:] != (eos,):
        text += right(target, draft, prompt + text, gamma, rng)
    return text[:max_new_tokens]


def endless(target, draft, prompt, *, gamma, max_new_tokens, rng, eos):
    while True:
        prompt += right(target, draft, prompt, gamma, rng)


def ends_at_eos_of_the_prompt(target, draft, prompt, *, gamma, max_new_tokens, rng, eos):
    return () if eos in prompt else decoder()(
        target, draft, prompt, gamma=gamma, max_new_tokens=max_new_tokens, rng=rng, eos=eos
    )  # fmt: skip


OFF = "does not have the target's law, though each round does"
DECODERS = {
    "one token too many": (decoder(lambda text, limit, eos: (*text, 0) if len(text) == limit else text),
                           "It writes 2 tokens with max_new_tokens = 1 and γ = 1: cut the last block."),
    "max_new_tokens ignored": (endless, "It has not returned after 0.3 seconds"),
    "stops early": (decoder(lambda text, limit, eos: text[:5]),
                    "It stops after 5 tokens with max_new_tokens = 6 and γ = 1: go on to max_new_tokens."),
    "prompt returned": (decoder(lambda text, limit, eos: (*PROMPT, *text)), "It returns the prompt as well"),
    "writes past eos": (past_eos, "It goes on after eos = 2, ("),
    "eos stripped": (decoder(lambda text, limit, eos: text[:-1] if text[-1:] == (eos,) else text),
                     "keep eos = 2 as the last"),
    "eos replaced": (decoder(lambda text, limit, eos: tuple(0 if x == eos else x for x in text)), "eos = 2 as"),
    "eos of the prompt": (ends_at_eos_of_the_prompt, "It stops after 0 tokens with max_new_tokens = 1"),
    "each round from the prompt": (decoder(context=lambda prompt, text: prompt), OFF),
    "each round from the last token": (decoder(context=lambda prompt, text: prompt + text[-1:]), OFF),
    "a generator of its own": (decoder(rng_of=lambda rng: np.random.default_rng()), "another text with the same seed"),
    "global state": (decoder(rng_of=lambda rng: np.random), "It draws from global random state"),
    "raises": (decoder(lambda text, limit, eos: 1 / 0), "It raises ZeroDivisionError"),
    "None": (decoder(lambda text, limit, eos: None), "It returns None: return the new tokens, or an object with"),
    "a float": (decoder(lambda text, limit, eos: [float(x) for x in text]), "a float, which is no token"),
    "unwritten": (unwritten, "It is not written yet"),
}  # fmt: skip
ROUND = counted(right)  # which takes a third of the time


@pytest.mark.parametrize("decode", [decoder(), decoder(lambda text, limit, eos: np.array(text))])
def test_a_right_decoder_passes(decode):
    report = audited(ROUND, decode)
    assert report.passed and not report.findings
    assert sum(check.kind == "decoder" for check in report.checks) == 2


@pytest.mark.parametrize("name", DECODERS)
def test_a_wrong_decoder_is_found_and_explained(name):
    decode, words = DECODERS[name]
    report = audited(ROUND, decode)
    assert report.kinds == {"decoder": "fault"}
    assert any(words in check.advice for check in report.findings)


@pytest.mark.parametrize("name", ["writes past eos", "eos stripped", "eos of the prompt"])
def test_a_decoder_that_ends_wrongly_is_right_without_an_end(name):
    assert {check.name for check in audited(ROUND, DECODERS[name][0]).findings} == {"end of sequence"}


def test_the_decoder_is_not_blamed_for_its_rounds():
    def wrong(target, draft, prompt, *, gamma, max_new_tokens, rng, eos):
        text = ()
        while len(text) < max_new_tokens:
            text += INVERTED(target, draft, prompt + text, gamma, rng)
        return text[:max_new_tokens]

    found = next(check for check in audited(counted(INVERTED), wrong).findings if check.name == "decoded tokens")
    assert found.advice == "The text that the decoder writes does not have the target's law."


def test_without_a_decoder_its_checks_are_said_to_be_open():
    (left_out,) = (check for check in audited(right).checks if check.passed is None)
    assert left_out.name == "end of sequence" and "pass decode=" in left_out.advice


# ---- every check trips


def test_every_check_that_is_made_has_a_fault_that_trips_it():
    reports = [audited(round_) for round_, *_ in [*FAULTS.values(), *RIGHT.values()]]
    reports += [audited(ROUND, decode) for decode, _ in DECODERS.values()]
    made_ = {check.name for report in reports for check in report.checks}
    tripped = {check.name for report in reports for check in report.findings}
    assert made_ == tripped
    assert {check.name for check in audited(speculative_round, speculative_decode).checks} < made_


# ---- the laws that are due, and the models that they are of


def product_of_rows(model, prompt, n, eos=None):
    """Law of the next n tokens, by recursion from the first."""
    if n == 0:
        return {(): F(1)}
    law = {}
    for x, p in enumerate(model(prompt)):
        rest = {(): F(1)} if x == eos else product_of_rows(model, (*prompt, x), n - 1, eos)
        law |= {(x, *text): F(str(p)) * mass for text, mass in rest.items() if p}
    return law


def test_law_of_by_hand():
    def model(context):
        return (0.75, 0.25) if sum(context) % 2 else (0.0, 1.0)

    # After (1,) a 0 keeps the sum odd; a 1 makes it even, and then comes a sure 1, and odd again.
    assert law_of(model, 2, (1,)) == {(0, 0): F(9, 16), (0, 1): F(3, 16), (1, 1): F(1, 4)}
    assert law_of(model, 3, (1,), eos=0) == {(0,): F(3, 4), (1, 1, 0): F(3, 16), (1, 1, 1): F(1, 16)}
    assert law_of(model, 0, (1,)) == {(): 1}


@pytest.mark.parametrize("eos", [None, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_laws_that_are_due_are_products_of_rows(name, eos):
    case = CASES[name]
    assert law_of(case.target, case.tokens, eos=eos) == product_of_rows(case.target, PROMPT, case.tokens, eos)


def test_every_token_of_a_context_matters_and_every_residual_has_two_tokens():
    for text in [(0,), (2, 1), PROMPT, (*PROMPT, 1), (*PROMPT, 2, 2)]:
        p, q = target(text), draft(text)
        assert p.sum() == pytest.approx(1) and q.sum() == pytest.approx(1) and (lacking(p, q) > 0.02).sum() == 2
        for i, x in enumerate(text):
            for other in ((x + 1) % 3, (x + 2) % 3):
                assert abs(target((*text[:i], other, *text[i + 1 :])) - p).max() > 0.05


# --- what only a long block, or a long text, shows -------------------------------------------------------------------


def four_uniforms(target, draft, context, gamma, rng):
    """A right round, but for a buffer of four uniforms for its tests: the fifth test reads the first again."""
    u = rng.random(4)
    at = iter(range(gamma))
    return made(accept=lambda n, _, p, q: u[next(at) % 4] * q < p)(target, draft, context, gamma, rng)


FAR = {"one round, γ = 5": (four_uniforms, "one of 5 is not"),
       "after 300 tokens, γ = 1": (made(whole=lambda text: text[-256:]), "the text is cut")}  # fmt: skip


@pytest.mark.parametrize("case", FAR)
def test_a_fault_that_only_length_shows_is_found(case):
    round_, words = FAR[case]
    found = [check for check in audit_decoder(round_).findings if check.kind == "joint law"]
    assert [check.case for check in found] == [case] and words in found[0].advice
