"""Blocks: their joint law in closed form, the text's law from the target chain, and where blocks and texts end."""

import random
from collections import Counter
from fractions import Fraction as F
from itertools import accumulate, pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from specdec_kit.blocks import (
    Decoded,
    Round,
    adaptive,
    speculative_decode,
    speculative_round,
    speculative_stream,
    token_verification,
)  # fmt: skip
from specdec_kit.distributions import InvalidDistribution
from specdec_kit.law import exact_law
from specdec_kit.models import Chain
from specdec_kit.sampling import categorical
from specdec_kit.schemes import block_verification, shared_noise, target_matching
from specdec_kit.streams import Ledger, Scripted

steady = settings(derandomize=True, deadline=None, database=None, max_examples=25)
LAST = 1 - 2**-53  # the largest uniform that rng.random() returns
RARE = 1e-6
END = "end of sequence"

# p differs from q after every token, and lacks two tokens of it: a wrong residual shows.
TABLE = [[F(1, 2), F(1, 4), F(1, 4)], [F(1, 4), F(1, 4), F(1, 2)], [F(1, 3), F(1, 2), F(1, 6)]]
GUESS = [[F(1, 4), F(1, 8), F(5, 8)], [F(1, 2), F(1, 8), F(3, 8)], [F(1, 6), F(1, 6), F(2, 3)]]
TARGET, DRAFT = Chain(TABLE), Chain(GUESS)


def always(*law):
    """A model that forgets its context."""
    return lambda context: law


def seeded(seed=0):
    return np.random.default_rng(seed)


def texts_of(model, prompt, n, eos=None):
    """Law of the next n tokens, drawn one by one from `model`: the product of its rows."""
    law = {(): F(1)}
    for _ in range(n):
        longer = {}
        for text, mass in law.items():
            if text[-1:] == (eos,):
                longer[text] = mass
                continue
            for x, p in enumerate(model((*prompt, *text))):
                if p:
                    longer[(*text, x)] = mass * p
        law = longer
    return law


def block_law(target, draft, prompt, gamma):
    """All but the last token with min(p, q) each; the last with (p − q)₊, or after γ of them with p."""
    law = {}
    size = len(target(prompt))
    for block in (xs for n in range(gamma + 1) for xs in product(range(size), repeat=n + 1)):
        rows = [(target((*prompt, *block[:n])), draft((*prompt, *block[:n]))) for n in range(len(block))]
        kept = [min(p[x], q[x]) for (p, q), x in zip(rows[:-1], block, strict=False)]
        (p, q), x = rows[-1], block[-1]
        law[block] = prod(kept) * (p[x] if len(block) > gamma else max(p[x] - q[x], 0))
    return {block: mass for block, mass in law.items() if mass}


def decode(target, draft, prompt, gamma, n, rng, eos=None, **options):
    return speculative_decode(target, draft, prompt, gamma=gamma, max_new_tokens=n, rng=rng, eos=eos, **options)


def written(target, draft, prompt, gamma, n, eos=None, **options):
    return exact_law(lambda rng: decode(target, draft, prompt, gamma, n, rng, eos, **options).tokens)


@st.composite
def chains(draw, size=3):
    """A pair of chains in fractions; zeros are frequent, in the start as well."""
    weights = st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any)
    rows = [[F(k, sum(ks)) for k in ks] for ks in (draw(weights) for _ in range(2 * size + 2))]
    return Chain(rows[:size], rows[size]), Chain(rows[size + 1 : -1], rows[-1])


# ---- the law


def test_the_fixture_differs_everywhere_and_lacks_two_tokens():
    for p, q in zip(TABLE, GUESS, strict=True):
        assert all(a != b for a, b in zip(p, q, strict=True)) and sum(a > b for a, b in zip(p, q, strict=True)) == 2


@pytest.mark.parametrize("gamma", [0, 1, 2])
def test_a_block_has_its_closed_form(gamma):
    law = exact_law(speculative_round, TARGET, DRAFT, (0,), gamma)
    assert law == block_law(TARGET, DRAFT, (0,), gamma)
    assert {len(block) for block in law} == set(range(1, gamma + 2))
    other = Chain([TABLE[0], TABLE[1], TABLE[1]])
    assert (law == block_law(other, DRAFT, (0,), gamma)) == (gamma == 0), "a row that is not the first matters"


@steady
@given(chains(), st.integers(0, 2), st.sampled_from([(), (2,)]))
def test_any_block_has_its_closed_form(pair, gamma, context):
    assert exact_law(speculative_round, *pair, context, gamma) == block_law(*pair, context, gamma)


@pytest.mark.parametrize(("gamma", "n"), [(0, 4), (1, 4), (2, 3)])
def test_a_text_is_a_text_of_the_target(gamma, n):
    law = written(TARGET, DRAFT, (0,), gamma, n)
    assert law == texts_of(TARGET, (0,), n)
    assert law != texts_of(DRAFT, (0,), n)
    assert law != texts_of(TARGET, (1,), n)


def test_a_second_round_goes_on_where_the_first_ended():
    due = {}
    for first, mass in block_law(TARGET, DRAFT, (0,), 1).items():
        due |= {(first, then): mass * more for then, more in block_law(TARGET, DRAFT, first, 1).items()}
    # Four tokens take two whole rounds or more.
    assert exact_law(lambda rng: [one.tokens for one in decode(TARGET, DRAFT, (0,), 1, 4, rng).rounds[:2]]) == due


def test_a_text_of_two_rounds_or_more():
    target, draft = Chain([[F(1, 3), F(2, 3)], [F(3, 4), F(1, 4)]]), Chain([[F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)]])
    assert written(target, draft, (0,), 2, 4) == texts_of(target, (0,), 4)


def test_a_text_in_floats_has_the_law_of_the_fractions_they_stand_for():
    floats = (Chain(np.array(rows, dtype=float)) for rows in (TABLE, GUESS))
    assert written(*floats, (), 1, 3) == texts_of(TARGET, (), 3)


@pytest.mark.parametrize("eos", [None, 2])
def test_a_text_of_models_that_remember_all_of_it(eos):
    def remembers(rows):
        return lambda context: rows[sum((i + 1) * x for i, x in enumerate(context)) % len(rows)]

    target, draft = remembers(TABLE), remembers(GUESS)
    assert written(target, draft, (1, 2), 1, 3, eos) == texts_of(target, (1, 2), 3, eos)
    last = texts_of(target, (1, 2), 1), texts_of(target, (1,), 1)
    assert last[0] != last[1], "the whole prompt matters"


@steady
@given(chains(), st.integers(1, 2), st.integers(1, 3), st.sampled_from([None, 0, 2]))
def test_any_text_is_a_text_of_the_target(pair, gamma, n, eos):
    assert written(*pair, (), gamma, n, eos) == texts_of(pair[0], (), n, eos)


def test_the_blocks_of_one_length_are_no_texts_of_the_target():
    # A block is longer where its drafts were accepted; only its first token is there in any case.
    law = exact_law(speculative_round, TARGET, DRAFT, (0,), 1)
    assert law.map(lambda block: block[0]) == dict(enumerate(TABLE[0]))
    of_two = law.map(lambda block: (len(block), block[0]))
    assert [of_two[2, x] for x in range(3)] == [min(p, q) for p, q in zip(TABLE[0], GUESS[0], strict=True)]


def test_the_length_of_a_block_by_hand():
    # Σ min(p, q) = .7: 1 − .7, then .7 (1 − .7), then .7²; together 1 + .7 + .49 tokens a round.
    p, q = always(F(7, 10), F(3, 10)), always(F(2, 5), F(3, 5))
    lengths = exact_law(speculative_round, p, q, (), 2).map(len)
    assert lengths == {1: F(3, 10), 2: F(21, 100), 3: F(49, 100)}
    assert sum(n * mass for n, mass in lengths.items()) == F(219, 100)


def test_equal_laws_fill_every_block_and_disjoint_ones_none():
    assert exact_law(speculative_round, TARGET, TARGET, (0,), 2) == texts_of(TARGET, (0,), 3)
    p, q = always(F(0), F(1, 4), F(3, 4)), always(F(1), F(0), F(0))
    assert exact_law(speculative_round, p, q, (), 3) == {(1,): F(1, 4), (2,): F(3, 4)}


def test_the_bonus_token_comes_from_the_target_after_all_drafts():
    # Both are certain of 1, 2; after (1, 2) the target says 0 or 3, the draft neither, the target elsewhere 1.
    def model(last):
        rows = {(): (0, 1, 0, 0), (1,): (0, 0, 1, 0), (1, 2): last}
        return lambda context: rows.get(context, (0, 1, 0, 0))

    law = exact_law(speculative_round, model((0.25, 0, 0, 0.75)), model((0, 0.5, 0.5, 0)), (), 2)
    assert law == {(1, 2, 0): F(1, 4), (1, 2, 3): F(3, 4)}


# ---- uniform by uniform


@pytest.mark.parametrize(
    ("uniforms", "block"),
    [
        # q keeps 0 up to u = 1/4; p/q is 3 for 0 and 1/3 for 1; p lacks 0 alone, and keeps 0 up to 3/4.
        ([0.0, 0.25, LAST, 0.333, 0.75], (0, 1, 1)),
        ([0.0, 0.25, LAST, 0.333, 0.74], (0, 1, 0)),
        ([0.0, 0.25, LAST, 0.334, LAST], (0, 0)),
        ([0.25, 0.25, 0.334, 0.5], (0,)),
        ([0.25, 0.25, 0.0, 0.0, 0.0], (1, 1, 0)),
    ],
)
def test_a_round_uniform_by_uniform(uniforms, block):
    script = Scripted(uniforms)
    assert speculative_round(always(0.75, 0.25), always(0.25, 0.75), (), 2, script) == block
    assert script.taken() == uniforms, "γ drafts, a test each up to the first rejection, one for the last token"


def test_the_test_is_strict():
    # u q < p fails at u q = p: for p = 0 at u = 0, and in general at u = p/q, here 1/2.
    assert speculative_round(always(0, 1), always(1, 0), (), 1, Scripted([0.0] * 3)) == (1,)
    assert speculative_round(always(0.75, 0.25), always(0.5, 0.5), (), 1, Scripted([0.5, 0.5, 0.0])) == (0,)
    assert speculative_round(always(0.75, 0.25), always(0.5, 0.5), (), 1, Scripted([0.5, 0.49, 0.0])) == (1, 0)


def test_a_rejection_without_a_residual_keeps_the_draft():
    # p sums to 1 − 1e-9, as it may: the last uniform rejects 2, and p lacks nothing to put in its place.
    p, q = always(0.5, 0.3, 0.2 - 1e-9), always(0.5, 0.3, 0.2)
    assert speculative_round(p, q, (), 1, Scripted([0.9, LAST, 0.6])) == (2, 1)
    done = decode(p, q, (), 1, 2, Scripted([0.9, LAST, 0.6]))
    assert done.rounds == (Round((2,), 1, (2, 1), "all accepted"),)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_laws_in_short_floats(dtype):
    laws = [0.5, 0.3, 0.2], [0.5005, 0.3, 0.2], [0.1, 0.1, 0.8]
    rows = [np.divide(law, np.sum(law)).astype(dtype) for law in laws]
    for p, q in product(rows, rows):
        due = p.astype(float) / p.astype(float).sum()
        law = exact_law(speculative_round, always(*p), always(*q), (), 1)
        # `always` hands out a tuple of short floats; as an array they keep their type.
        assert law == exact_law(speculative_round, lambda _, p=p: p, lambda _, q=q: q, (), 1)
        assert law.map(lambda block: block[0]).total_variation(due) < 1e-12


# ---- which contexts the models see


def test_each_model_is_asked_where_it_has_to_answer():
    asked = {"target": [], "draft": []}

    def model(name, law):
        return lambda context: asked[name].append(context) or law

    target, draft = model("target", (0.0, 1.0)), model("draft", (0.5, 0.5))
    drafted = Scripted([0.9, 0.1, 0.9, *[0.0] * 3])
    assert speculative_round(target, draft, [7, 8], 3, drafted) == (1, 1)  # drafts 1, 0, 1: the second is rejected
    assert asked["draft"] == [(7, 8), (7, 8, 1), (7, 8, 1, 0)]
    assert asked["target"] == [(7, 8), (7, 8, 1), (7, 8, 1, 0), (7, 8, 1, 0, 1)]


# ---- where a text ends


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("n", range(1, 8))
@pytest.mark.parametrize("gamma", [0, 1, 3, 9])
def test_as_many_tokens_as_asked_for(gamma, n, shrink):
    for seed in range(20):
        assert len(decode(TARGET, DRAFT, (0,), gamma, n, seeded(seed), shrink=shrink).tokens) == n


def test_near_the_end_no_draft_is_made_that_cannot_be_kept():
    sizes = [len(one.drafted) for one in decode(TARGET, TARGET, (0,), 3, 10, seeded()).rounds]
    assert sizes == [3, 3, 1]  # 4 tokens, 4 tokens, and 1 draft with the bonus token
    assert [len(one.drafted) for one in decode(TARGET, TARGET, (0,), 3, 9, seeded()).rounds] == [3, 3, 0]


def test_a_cap_inside_an_accepted_block_cuts_it():
    done = decode(TARGET, TARGET, (0,), 3, 6, seeded(), shrink=False)
    whole, cut = done.rounds
    assert (len(whole.tokens), whole.reason) == (4, "all accepted")
    assert (len(cut.drafted), cut.accepted, len(cut.tokens), cut.reason) == (3, 3, 2, "cap")
    assert cut.tokens == cut.drafted[:2] and cut.marks == ("accepted", "accepted")


@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize("eos", [None, 2])
def test_however_it_ends_the_law_is_the_target_s(shrink, eos):
    assert written(TARGET, DRAFT, (0,), 2, 3, eos, shrink=shrink) == texts_of(TARGET, (0,), 3, eos)


def test_eos_before_the_cap_ends_the_text_and_after_it_does_not_count():
    # Certain texts: 0, 1, 1, 1, … with eos = 1 and a cap of 1 or 2 inside the block.
    model = Chain([[F(0), F(1)], [F(0), F(1)]], [F(1), F(0)])
    for n, tokens, reason in ((1, (0,), "cap"), (2, (0, 1), "end of sequence"), (9, (0, 1), "end of sequence")):
        (one,) = decode(model, model, (), 3, n, seeded(), 1, shrink=False).rounds
        assert (one.tokens, one.reason) == (tokens, reason)


SCHEMES = [token_verification, target_matching, shared_noise, block_verification]


@settings(steady, max_examples=200)
@given(
    st.lists(st.integers(0, 6), min_size=1), st.integers(1, 12), st.sampled_from([None, 0, 1, 2]), st.booleans(),
    st.sampled_from(SCHEMES), st.integers(0, 999),
)  # fmt: skip
def test_wherever_a_text_ends_it_keeps_its_promises(sizes, n, eos, shrink, scheme, seed):
    floats = (Chain(np.array(rows, dtype=float)) for rows in (TABLE, GUESS))
    done = decode(
        *floats, (0,), lambda context, rounds: sizes[len(rounds) % len(sizes)], n, seeded(seed), eos,
        shrink=shrink, scheme=scheme,
    )  # fmt: skip
    ended = eos in done.tokens
    assert len(done.tokens) <= n and (ended or len(done.tokens) == n)
    assert eos not in done.tokens[:-1], "no token after the end"
    assert done.tokens == sum((one.tokens for one in done.rounds), ())
    for at, one in enumerate(done.rounds):
        left = n - sum(len(other.tokens) for other in done.rounds[:at])
        size = sizes[at % len(sizes)]
        assert len(one.drafted) == (min(size, left - 1) if shrink else size)
        same = min(len(one.tokens), one.accepted)
        assert 1 <= len(one.tokens) <= one.accepted + 1 and one.tokens[:same] == one.drafted[:same]
        cut = len(one.tokens) <= one.accepted
        assert (one.reason in (END, "cap")) >= cut and (one.reason == END) == (eos in one.tokens)
        assert at == len(done.rounds) - 1 or one.reason in ("rejection", "all accepted")


# ---- γ that varies


def test_gamma_may_be_chosen_before_each_round():
    asked = []

    def gamma(context, rounds):
        asked.append((context, rounds))
        return len(rounds)

    done = decode(TARGET, TARGET, [0], gamma, 6, seeded())
    assert [len(one.drafted) for one in done.rounds] == [0, 1, 2]
    assert asked == [((0, *done.tokens[: n * (n + 1) // 2]), done.rounds[:n]) for n in range(3)]


@pytest.mark.parametrize("eos", [None, 0])
def test_gamma_that_depends_on_what_was_accepted_leaves_the_law(eos):
    def gamma(context, rounds):
        return 1 + (rounds[-1].accepted if rounds else 0) + (context[-1] == 2)

    assert written(TARGET, DRAFT, (0,), gamma, 3, eos) == texts_of(TARGET, (0,), 3, eos)
    assert written(TARGET, DRAFT, (0,), adaptive(1, most=2), 3) == texts_of(TARGET, (0,), 3)


def test_the_adaptive_gamma_by_hand():
    all_, none = Round((1, 1), 2, (1, 1, 1), "all accepted"), Round((1, 1), 0, (0,), "rejection")
    size = adaptive(4, up=2, down=1, most=7)
    rounds = [all_, all_, none, none, none, none, none, none, none]
    assert [size((), rounds[:n]) for n in range(10)] == [4, 6, 7, 6, 5, 4, 3, 2, 1, 1]


@pytest.mark.parametrize("answer", [-1, 1.5, None])
def test_a_gamma_that_is_no_number_is_named(answer):
    with pytest.raises(ValueError, match=rf"^gamma's answer is {answer}: give a whole number, at least 0"):
        decode(TARGET, DRAFT, (0,), lambda context, rounds: answer, 3, seeded())


# ---- one pass of the target, and vocabularies


class Scored:
    """A chain that answers for a block in one pass, and counts these."""

    def __init__(self, chain):
        self.chain, self.passes = chain, []

    def __call__(self, context):
        raise AssertionError("called once a row")

    def score(self, context, drafts):
        self.passes.append((context, drafts))
        return np.array([self.chain((*context, *drafts[:n])) for n in range(len(drafts) + 1)])


def test_a_target_that_scores_is_asked_once_a_round():
    target = Scored(TARGET)
    done = decode(target, DRAFT, (0,), 3, 12, seeded(4))
    assert done == decode(TARGET, DRAFT, (0,), 3, 12, seeded(4))
    assert [drafts for _, drafts in target.passes] == [one.drafted for one in done.rounds]
    assert exact_law(speculative_round, Scored(TARGET), DRAFT, (0,), 2) == block_law(TARGET, DRAFT, (0,), 2)


def test_rows_of_a_score_that_are_too_few_are_named():
    target = Scored(TARGET)
    target.score = lambda context, drafts: [TARGET(context)]
    with pytest.raises(ValueError, match=r"^target.score returns 1 rows for 2 drafts: give one more than these"):
        speculative_round(target, DRAFT, (0,), 2, seeded())
    target.score = lambda context, drafts: [[1.5, 2.0, -1.0]]
    with pytest.raises(InvalidDistribution, match=r"^target\[0, 2\] is -1.0: .*softmax"):
        speculative_round(target, DRAFT, (0,), 0, seeded())


@pytest.mark.parametrize(
    ("words", "message"),
    [("abcd", "the target has 3 tokens and the draft 4: a draft must have the target's tokens"),
     ("acb", "token 1 is 'b' to the target and 'c' to the draft: a draft must have"),
     ("abc", None), (None, None)],
)  # fmt: skip
def test_vocabularies_are_compared_at_the_start(words, message):
    target, draft, ledger = Scored(TARGET), Scored(DRAFT), Ledger(seeded())
    target.vocabulary, draft.vocabulary = tuple("abc"), words and tuple(words)
    draft.__class__ = type("Draft", (Scored,), {"__call__": lambda self, context: DRAFT(context)})
    for run in (
        lambda: decode(target, draft, (0,), 2, 4, ledger),
        lambda: speculative_round(target, draft, (0,), 2, ledger),
    ):
        if message is None:
            run()
            continue
        with pytest.raises(ValueError, match=f"^{message}"):
            run()
    assert bool(ledger.taken()) == (message is None)


# ---- streaming


def test_rounds_are_handed_over_as_they_are_made():
    ledger = Ledger(seeded(3))
    stream = speculative_stream(TARGET, DRAFT, (0,), gamma=2, max_new_tokens=9, rng=ledger)
    assert not ledger.taken(), "nothing is drawn before the first is asked for"
    first = next(stream)
    drawn = len(ledger.taken())
    assert 0 < drawn <= 5
    rest = tuple(stream)
    assert (first, *rest) == decode(TARGET, DRAFT, (0,), 2, 9, seeded(3)).rounds and len(ledger.taken()) > drawn


def test_a_stream_refuses_bad_arguments_when_it_is_made():
    with pytest.raises(ValueError, match=r"^gamma is -1"):
        speculative_stream(TARGET, DRAFT, (0,), gamma=-1, max_new_tokens=9, rng=seeded())


@pytest.mark.parametrize("gamma", [1, 2])
def test_eos_inside_a_block_ends_the_text(gamma):
    law = written(TARGET, DRAFT, (0,), gamma, 3, eos=2)
    assert law == texts_of(TARGET, (0,), 3, eos=2)
    assert law[(2,)] == F(1, 4) and all(2 not in text[:-1] for text in law)
    assert law != texts_of(TARGET, (0,), 3)


@pytest.mark.parametrize("eos", [1, np.int64(1)])
def test_eos_as_a_draft_as_a_replacement_and_as_the_bonus(eos):
    def rounds(p, q, uniforms):
        return decode(always(*p), always(*q), (0,), 2, 9, Scripted(uniforms), eos).rounds

    assert rounds((0.5, 0.5), (0.5, 0.5), [0.5, 0.0, 0.0, 0.0, 0.0]) == (Round((1, 0), 2, (1,), END),)
    assert rounds((0.0, 1.0), (1.0, 0.0), [0.0] * 4) == (Round((0, 0), 0, (1,), END),)
    assert rounds((0.5, 0.5), (0.5, 0.5), [0.0, 0.0, 0.0, 0.0, 0.5]) == (Round((0, 0), 2, (0, 0, 1), END),)


def test_eos_in_the_prompt_ends_nothing():
    assert len(decode(always(1.0, 0.0), always(1.0, 0.0), (1,), 2, 4, seeded(), eos=1).tokens) == 4


# ---- what comes back


@pytest.mark.parametrize("eos", [None, 2])
def test_records_and_tokens_agree(eos):
    seen = Counter()
    for seed in range(200):
        tokens, rounds = done = decode(TARGET, DRAFT, (0,), 3, 7, seeded(seed), eos)
        assert isinstance(done, Decoded) and all(isinstance(one, Round) for one in rounds)
        assert {type(x) for one in rounds for x in (*one.tokens, *one.drafted, one.accepted)} == {int}
        assert tokens == sum((one.tokens for one in rounds), ())
        for at, (drafted, accepted, kept, reason) in enumerate(rounds):
            assert len(drafted) == min(3, 6 - sum(len(one.tokens) for one in rounds[:at])) and 0 <= accepted <= 3
            assert all(a == b for a, b in zip(kept, drafted[:accepted], strict=False))
            whole = "all accepted" if accepted == len(drafted) else "rejection"
            assert reason == (END if eos is not None and kept[-1] == eos else whole)
            if len(kept) > accepted:
                last = "bonus" if accepted == len(drafted) else "corrected"
                assert rounds[at].marks == ("accepted",) * accepted + (last,)
            if accepted < len(drafted) and len(kept) > accepted:
                assert kept[accepted] != drafted[accepted], "what is rejected has no residual, and does not come back"
        assert all(len(one.tokens) == one.accepted + 1 for one in rounds[:-1])
        seen[len(rounds)] += 1
    assert len(seen) > 1


def test_rounds_are_what_a_round_returns():
    rng, tokens = seeded(3), (0,)
    for one in decode(TARGET, DRAFT, (0,), 2, 30, seeded(3)).rounds[:-1]:
        block = speculative_round(TARGET, DRAFT, tokens, 2, rng)
        assert block == one.tokens
        tokens += block


def test_the_same_seed_writes_the_same_text():
    first, again, other = (decode(TARGET, DRAFT, (0,), 4, 50, seeded(seed)) for seed in (5, 5, 6))
    assert first == again and first.tokens != other.tokens


def test_no_drafts_is_plain_sampling():
    rng, text = seeded(1), (0,)
    for _ in range(20):
        text += (categorical(TARGET(text), rng),)
    done = decode(TARGET, lambda context: pytest.fail("the draft is asked"), (0,), 0, 20, seeded(1))
    assert done.tokens == text[1:] and all(one.drafted == () and one.accepted == 0 for one in done.rounds)


# ---- many tokens, many drafts


def fits(counts, due):
    """p-value of counts against a law."""
    return chisquare(counts, np.array(due, dtype=float) * sum(counts)).pvalue


def test_a_vocabulary_of_thousands():
    rng, size, rounds = seeded(11), 5000, 3000
    p, q = rng.dirichlet(np.full(size, 0.3)), rng.dirichlet(np.full(size, 0.3))
    firsts = [speculative_round(lambda _: p, lambda _: q, (), 1, rng)[0] for _ in range(rounds)]
    group = np.searchsorted(np.quantile(p / (p + q), [0.2, 0.4, 0.6, 0.8]), p / (p + q))  # from q's tokens to p's
    counts = np.bincount(group[firsts], minlength=5)
    assert fits(counts, np.bincount(group, weights=p)) > RARE
    assert fits(counts, np.bincount(group, weights=0.9 * p + 0.1 * q)) < RARE, "a tenth of it from q would be seen"


def test_eight_drafts():
    target, draft = (Chain(np.array(rows, dtype=float)) for rows in (TABLE, GUESS))
    rng, n = seeded(8), 2000
    texts = [decode(target, draft, (0,), 8, 10, rng).tokens for _ in range(n)]
    # Tokens 9 and 10: the last that can be of the first block, and one that cannot.
    ninth = np.linalg.matrix_power(target.table, 9)[0]
    due = (ninth[:, None] * target.table).ravel()
    counts = np.bincount([3 * text[8] + text[9] for text in texts], minlength=9)
    assert fits(counts, due) > RARE
    assert fits(counts, (ninth[:, None] * (target.table + draft.table) / 2).ravel()) < RARE
    # A block of k + 1 tokens or more: k drafts are accepted, with Σ min(p, q) = 3/5 each if the laws forget.
    p, q = always(0.4, 0.3, 0.2, 0.1), always(0.1, 0.2, 0.3, 0.4)
    lengths = np.bincount([len(speculative_round(p, q, (), 8, rng)) for _ in range(n)], minlength=10)[1:]
    at_least = [*(0.6**k for k in range(9)), 0]
    assert fits(lengths, [a - b for a, b in pairwise(at_least)]) > RARE
    assert fits(lengths, np.diff([0, *accumulate([1 / 9] * 9)])) < RARE


# ---- what is refused, and what is left alone


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"gamma": -1}, ValueError, "gamma is -1: give a whole number, at least 0"),
        ({"gamma": 1.5}, ValueError, "gamma is 1.5: give a whole number, at least 0"),
        ({"gamma": None}, ValueError, "gamma is None: give a whole number, at least 0"),
        ({"max_new_tokens": 0}, ValueError, "max_new_tokens is 0: give a whole number, at least 1"),
        ({"max_new_tokens": -2}, ValueError, "max_new_tokens is -2: give a whole number, at least 1"),
        ({"prompt": "to be"}, TypeError, r"prompt is 'to be': give token numbers, such as \(0, 2, 1\)"),
        ({"prompt": 3}, TypeError, "prompt is 3: give token numbers"),
        ({"prompt": [0.5]}, TypeError, r"prompt is \[0.5\]: give token numbers"),
        ({"eos": "</s>"}, TypeError, r"eos is \['</s>'\]: give token numbers"),
        ({"rng": 7}, TypeError, "rng is 7, not a generator"),
        ({"target": [0.5, 0.5]}, TypeError, r"target is \[0.5, 0.5\]: give a model, a callable that"),
        ({"draft": None}, TypeError, "draft is None: give a model"),
        ({"target": always(0.5, 0.4)}, InvalidDistribution, "target sums to 0.9"),
        ({"draft": always(0.5, -0.5, 1.0)}, InvalidDistribution, r"draft\[1\] is -0.5"),
        ({"draft": always(0.5, 0.5)}, InvalidDistribution,
         "draft returns a law over 2 tokens, where the target's first is over 3: give both models one vocabulary"),
        ({"draft": always(*[0.25] * 4)}, InvalidDistribution, "draft returns a law over 4 tokens"),
        ({"target": lambda context: [1.0] if len(context) > 1 else [0.5, 0.25, 0.25]}, InvalidDistribution,
         "target returns a law over 1 tokens, where the target's first is over 3"),
        ({"target": always([0.5, 0.5])}, InvalidDistribution,
         r"target returns a law of shape \(1, 2\): return one law, a vector"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, kind, message):
    given = {
        "target": TARGET, "draft": DRAFT, "prompt": (0,), "gamma": 2, "max_new_tokens": 5, "rng": seeded(), **change
    }  # fmt: skip
    with pytest.raises(kind, match=f"^{message}"):
        speculative_decode(**given)
    if change.keys() <= {"target", "draft", "prompt", "gamma", "rng"}:
        with pytest.raises(kind, match="^" + message.replace("prompt", "context")):
            speculative_round(given["target"], given["draft"], given["prompt"], given["gamma"], given["rng"])


def test_bad_arguments_are_refused_before_anything_is_drawn():
    ledger = Ledger(seeded())
    for wrong in ({"gamma": -1}, {"max_new_tokens": 0.5}, {"eos": "."}, {"prompt": "a"}, {"target": [1]}):
        with pytest.raises((TypeError, ValueError)):
            speculative_decode(**{"target": TARGET, "draft": DRAFT, "prompt": (0,), "gamma": 1, "max_new_tokens": 1,
                                  "rng": ledger, **wrong})  # fmt: skip
    assert not ledger.taken()


def test_inputs_and_global_state_are_left_alone():
    rows = [np.array(law) for law in ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])]
    p, q = (lambda _, row=row: row for row in rows)  # hand out their own arrays
    prompt, array = [0, 1], np.array([0, 1])
    before = np.random.get_state()[1].tolist(), np.random.get_state()[2], random.getstate()  # noqa: NPY002
    assert decode(p, q, prompt, 3, 50, seeded(2)) == decode(p, q, array, 3, 50, seeded(2))
    speculative_round(p, q, prompt, 3, seeded(2))
    after = np.random.get_state()[1].tolist(), np.random.get_state()[2], random.getstate()  # noqa: NPY002
    assert before == after and prompt == array.tolist() == [0, 1]
    assert [row.tolist() for row in rows] == [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]
