"""The galleries against output laws derived by hand, and against what each kind claims."""

from contextlib import nullcontext
from fractions import Fraction as F
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from specdec_kit import NotWalkable, exact_law, total_variation
from specdec_kit.blocks import speculative_decode, speculative_round
from specdec_kit.faults import GALLERY, KINDS, draws_to_see
from specdec_kit.models import Chain
from specdec_kit.round_faults import DECODERS, ROUNDS, write
from specdec_kit.streams import Scripted

P, Q = (0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4)
LAST = 1 - 2**-53  # the largest uniform that rng.random() returns

# Σ min = .6 and the residual is (.75, .25, 0, 0), so that most laws are "accepted + rejected × what is drawn instead".
LAWS = {
    "softmax_residual": (0.221, 0.299, 0.290, 0.190),
    "redraws_target": (0.26, 0.32, 0.28, 0.14),
    "clamped_residual": (0.1 + 0.12 / 0.40002, 0.2 + 0.04 / 0.40002, 0.2 + 4e-6 / 0.40002, 0.1 + 4e-6 / 0.40002),
    "inverted_ratio": (0.131, 0.169, 0.3, 0.4),
    "tests_argmax": Q,
    "argmax_draft": (0.5625, 0.1875, 0, 0.25),
    "top_two_draft": (3 / 7, 1 / 7, 2 / 7, 1 / 7),
    "cold_draft": (49 / 120, 31 / 120, 0.2, 2 / 15),  # drafts (1, 4, 9, 16)/30, half of which are rejected
    "reuses_test": (0.325, 0.375, 0.2, 0.1),
    "reuses_draft": (0.4, 0.3, 0.3, 0),  # D is drafted by u ≥ .6, and kept by u < .25
    "u_is_zero": Q,
    "typical_acceptance": Q,
    "relaxed_acceptance": (0.1 + 0.7 * 0.4, 0.2 + 0.7 * 0.3, 0.7 * 0.2, 0.7 * 0.1),  # keeps A and B
    "ensemble": (0.31, 0.27, 0.23, 0.19),
    "lenient": (0.25, 0.25, 0.3, 0.2),
    "accepts_at_zero": P,
    "zero_over_zero": P,
    "certain_draft": P,
    "ignores_draft": P,
}


@pytest.mark.parametrize("name", LAWS)
def test_output_laws_by_hand(name):
    np.testing.assert_allclose(GALLERY[name].law(P, Q).vector(4), LAWS[name], atol=5e-4 if name[0] in "si" else 1e-9)


def test_a_draft_in_bfloat16_is_off_by_its_rounding():
    # Eight significant bits: 205/2048, 205/1024, 77/256, 205/512, drawn from in proportion to their sum.
    drawn = np.array([205 / 2048, 205 / 1024, 77 / 256, 205 / 512])
    drawn /= drawn.sum()
    kept = drawn * np.minimum(1, np.array(P) / Q)
    due = kept + (1 - kept.sum()) * np.array([0.75, 0.25, 0, 0])
    np.testing.assert_allclose(GALLERY["bfloat16_draft"].law(P, Q).vector(4), due, atol=1e-12)
    assert 1e-4 < total_variation(due, P) < 1e-3


@pytest.mark.parametrize(
    ("p", "q", "law"),
    [((0.1, 0.6, 0.3), (0.5, 0.3, 0.2), (0.100, 0.623, 0.277)), ((0.9, 0.1), (0.5, 0.5), (0.9, 0.1))],
    ids=["two tokens in the residual", "one"],
)
def test_reused_gumbel_noise_by_counting(p, q, law):
    rng, n = np.random.default_rng(0), 60_000
    seen = np.bincount([GALLERY["reuses_gumbel"].sampler(p, q, rng) for _ in range(n)], minlength=len(p))
    np.testing.assert_allclose(seen / n, law, atol=5 * np.sqrt(0.25 / n))
    assert (stats.chisquare(seen, n * np.array(p)).pvalue < 1e-6) == (law != p)


def pairs():
    grid = [(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)]
    laws = [tuple(F(k, 4) for k in ks) for ks in grid]
    return product(laws, laws)


@pytest.mark.parametrize("name", [fault.name for fault in GALLERY.values() if fault.walkable])
def test_each_is_of_its_kind(name):
    fault = GALLERY[name]
    off = [fault.law(p, q).total_variation(p) for p, q in [*pairs(), (P, Q)]]
    assert (max(off) > 0) == (fault.kind in ("wrong", "lossy", "seed"))


def test_a_boundary_is_met_by_a_script_alone():
    p, q = (0.0, 1.0), (1.0, 0.0)
    forbidden = {f.name for f in GALLERY.values() if f.walkable and f.sampler(p, q, Scripted([0.0] * 3)) == 0}
    assert "accepts_at_zero" in forbidden
    assert not forbidden & {f.name for f in GALLERY.values() if f.kind == "exact"}


def test_zero_over_zero_fails_where_float16_rounds():
    p, q = np.array([0.5, 0.3, 0.2], dtype=np.float16), np.array([0.5005, 0.3, 0.2], dtype=np.float16)
    fault = GALLERY["zero_over_zero"]
    assert fault.sampler(p, q, Scripted([0.0, 0.99])) == 0
    for p_, q_ in ((p, q), ((0.5, 0.5 - 1e-9), (0.5, 0.5))):
        with pytest.raises(FloatingPointError):
            fault.sampler(p_, q_, Scripted([0.0 if p_ is p else 0.9, LAST, 0.0]))
    with pytest.raises(FloatingPointError):
        fault.law(p, q)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_zero_over_zero_fails_where_numpy_raises_no_flag(monkeypatch):
    """As in a browser."""
    monkeypatch.setattr(np, "errstate", lambda **_: nullcontext())
    with pytest.raises(FloatingPointError, match=r"^invalid value encountered in divide$"):
        GALLERY["zero_over_zero"].sampler((0.5, 0.5 - 1e-9), (0.5, 0.5), Scripted([0.9, LAST, 0.0]))


def test_a_seed_that_is_ignored_and_a_stream_that_is_replayed():
    fault = GALLERY["draws_globally"]
    with pytest.raises(NotWalkable, match="global random state"):
        fault.law(P, Q)

    def drawn(name, seed):
        rng = np.random.default_rng(seed)
        return [GALLERY[name].sampler(P, Q, rng) for _ in range(60)]

    state = np.random.get_state()  # noqa: NPY002
    assert drawn("draws_globally", 1) != drawn("draws_globally", 1)
    np.random.set_state(state)  # noqa: NPY002
    assert len(set(drawn("replays_one_stream", 1) + drawn("replays_one_stream", 2))) == 1
    assert list(GALLERY["replays_one_stream"].law(P, Q).values()) == [1]
    for name, fault in GALLERY.items():  # and the rest draw from what they are given
        if fault.kind != "seed":
            assert drawn(name, 1) == drawn(name, 1) != drawn(name, 2), name


def test_every_entry_says_what_it_is():
    for gallery in (GALLERY, ROUNDS, DECODERS):
        for name, fault in gallery.items():
            assert name == fault.name == fault.sampler.__name__ and fault.kind in KINDS
            assert fault.mechanism.endswith(".") and fault.reference
    assert {fault.kind for gallery in (GALLERY, ROUNDS) for fault in gallery.values()} == set(KINDS)


@pytest.mark.parametrize("name", ["redraws_target", "reuses_test"])
def test_draws_to_see_are_enough_and_not_far_too_many(name):
    law = GALLERY[name].law(P, Q)
    n, tries = draws_to_see(law, P), 2000
    often = law.vector(4) > np.array(P) + 1e-12
    right, wrong = np.array(P)[often].sum(), law.vector(4)[often].sum()

    def found(draws):
        k = np.random.default_rng(1).binomial(draws, wrong, size=tries)
        return (2 * np.minimum(stats.binom.cdf(k, draws, right), stats.binom.sf(k - 1, draws, right)) <= 1e-6).mean()

    assert found(n) > 0.975 and found(n // 2) < 0.8  # 99 % by the normal approximation
    assert draws_to_see(GALLERY["certain_draft"].law(P, Q), P) is None


def test_draws_to_see_between_joint_laws():
    # Two coins that always agree against two independent ones: (0, 0) or (1, 1) has 1 instead of 1/2.
    agree, apart = exact_law(lambda rng: [rng.integers(2)] * 2), exact_law(lambda rng: rng.integers(2, size=2))
    assert draws_to_see(agree, apart) == draws_to_see(exact_law(lambda rng: 0), (0.5, 0.5))
    assert draws_to_see(apart, apart) is None and draws_to_see(apart, agree) is not None


# ---- rounds

# Two tokens: after 0 the target says 0 with 3/4, after 1 with 1/4; the draft says either with 1/2. One draft after 0:
# 0 is kept with 1/2, 1 with 1/4, and the 1/4 of 1 that is rejected becomes 0.
T2, D2 = Chain([[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]), Chain([[F(1, 2), F(1, 2)], [F(1, 2), F(1, 2)]])
RIGHT = {(0, 0): F(6, 16), (0, 1): F(2, 16), (1, 0): F(1, 16), (1, 1): F(3, 16), (0,): F(4, 16)}
BLOCKS = {
    "rows_one_late": {**RIGHT, (1, 0): F(3, 16), (1, 1): F(1, 16)},
    "rows_one_early": {(0, 0): F(6, 16), (0, 1): F(2, 16), (1, 0): F(2, 16), (1, 1): F(6, 16)},
    "first_draft_untested": {(0, 0): F(6, 16), (0, 1): F(2, 16), (1, 0): F(2, 16), (1, 1): F(6, 16)},
    "residual_of_next_row": {**RIGHT, (0,): 0, (1,): F(4, 16)},
    "bonus_of_last_row": {**RIGHT, (1, 0): F(3, 16), (1, 1): F(1, 16)},
    "bonus_from_draft": {**RIGHT, (0, 0): F(4, 16), (0, 1): F(4, 16), (1, 0): F(2, 16), (1, 1): F(2, 16)},
    "forced_residual": {(0, 0): F(8, 16), (1, 0): F(4, 16), (0,): F(4, 16)},  # p lacks 0 alone, whatever was drafted
    "min_p_on_bonus_alone": {(0, 0): F(8, 16), (1, 1): F(4, 16), (0,): F(4, 16)},
    "goes_on_after_rejection": {**RIGHT, (0, 0): F(7, 16), (0, 1): F(5, 16), (0,): 0},
    "bonus_after_rejection": {**RIGHT, (0, 0): F(7, 16), (0, 1): F(5, 16), (0,): 0},
    "beam_draft": {(0, 0): F(12, 16), (0, 1): F(4, 16)},
    "certain_beam": {(0, 0): F(9, 16), (0, 1): F(3, 16), (1,): F(4, 16)},
    "one_uniform_for_all": RIGHT,  # one draft, one test
    "stale_target_cache": RIGHT,  # a first round
    "stale_draft_cache": RIGHT,
    "no_bonus": {(0,): F(12, 16), (1,): F(4, 16)},
    "first_token_alone": {(0,): F(12, 16), (1,): F(4, 16)},
    "tests_every_draft": RIGHT,
}


def always(law):
    return lambda context: np.array(law)


def texts_of(model, prompt, n):
    """Law of the next n tokens, drawn one by one from `model`."""
    law = {(): F(1)}
    for _ in range(n):
        rows = {text: model((*prompt, *text)) for text in law}
        law = {(*text, x): mass * p for text, mass in law.items() for x, p in enumerate(rows[text]) if p}
    return law


@pytest.mark.parametrize("name", ROUNDS)
def test_blocks_by_hand(name):
    assert ROUNDS[name].law(T2, D2, (0,), 1) == {block: mass for block, mass in BLOCKS[name].items() if mass}
    assert exact_law(speculative_round, T2, D2, (0,), 1) == RIGHT


def test_one_uniform_at_every_position_by_hand():
    # min(1, p/q) is 1, 1, 2/3, 1/4. Both pass with 1/4 + (2/3 − 1/4) .6² + (1 − 2/3) .3² = .43, where .6² = .36 is due.
    fault, p, q = ROUNDS["one_uniform_for_all"], always(P), always(Q)
    block = fault.law(p, q, (), 2)
    assert float(sum(mass for xs, mass in block.items() if len(xs) == 3)) == pytest.approx(0.43)
    text = exact_law(write, fault.sampler, p, q, (), 2, 2)
    assert text.map(lambda xs: xs[0]).total_variation(P) == 0
    # After a first that passed: .06, .12, .15, .10 pass, and .17 goes to (.75, .25); after one that failed, .4 p.
    second = [0.06 + 0.1275 + 0.16, 0.12 + 0.0425 + 0.12, 0.15 + 0.08, 0.1 + 0.04]
    np.testing.assert_allclose(text.map(lambda xs: xs[1]).vector(4), second, atol=1e-12)
    assert total_variation(second, P) == pytest.approx(0.07)


def test_rounds_that_forget_show_a_bonus_from_the_draft():
    # Where the first draft passed, with .6, the second token is the bonus, and has law q; else it has law p.
    law = exact_law(write, ROUNDS["bonus_from_draft"].sampler, always(P), always(Q), (), 1, 2)
    np.testing.assert_allclose(law.map(lambda xs: xs[1]).vector(4), 0.4 * np.array(P) + 0.6 * np.array(Q), atol=1e-12)


def two_blocks(round_, target, draft, context, rng):
    first = round_(target, draft, context, 1, rng)
    return first, round_(target, draft, context + first, 1, rng)


def test_a_stale_target_cache_by_hand():
    # After a rejection the block is (0,), and the target answers as if after the 1 that was rejected.
    law = exact_law(two_blocks, ROUNDS["stale_target_cache"].sampler, T2, D2, (0,))
    after = law.map(lambda blocks: blocks[1][0] if blocks[0] == (0,) else None)
    assert after == {None: F(12, 16), 0: F(1, 16), 1: F(3, 16)}
    elsewhere = law.map(lambda blocks: blocks[0] if blocks[0] != (0,) else None)
    assert elsewhere == {**{xs: mass for xs, mass in RIGHT.items() if len(xs) == 2}, None: F(4, 16)}


def test_a_stale_draft_cache_by_hand():
    # After 1 this draft is certain of 1, and after a rejection it answers as if after 1: Σ min(p, q) is 1/4, not 3/4.
    draft = Chain([[F(1, 2), F(1, 2)], [F(0), F(1)]])

    def second(round_):
        law = exact_law(two_blocks, round_, T2, draft, (0,))
        return law.map(lambda blocks: len(blocks[1]) if blocks[0] == (0,) else None)

    stale, right = second(ROUNDS["stale_draft_cache"].sampler), second(speculative_round)
    assert stale == {None: F(3, 4), 1: F(3, 16), 2: F(1, 16)}
    assert right == {None: F(3, 4), 1: F(1, 16), 2: F(3, 16)}


@pytest.mark.parametrize("name", ["stale_target_cache", "stale_draft_cache"])
def test_a_cache_starts_afresh_with_every_text(name):
    round_ = ROUNDS[name].sampler

    def text(seed, gamma=3):
        return write(round_, *MODELS[3], (0,), gamma, 12, np.random.default_rng(seed))

    due = [text(seed) for seed in range(10)]
    assert due == [text(seed) for seed in range(10)]
    assert due != [write(speculative_round, *MODELS[3], (0,), 3, 12, np.random.default_rng(seed)) for seed in range(10)]


# Laws that differ after every token; the three lack two tokens each.
MODELS = {
    2: (T2, D2),
    3: (
        Chain([[F(1, 2), F(1, 4), F(1, 4)], [F(1, 4), F(1, 4), F(1, 2)], [F(1, 3), F(1, 2), F(1, 6)]]),
        Chain([[F(1, 4), F(1, 8), F(5, 8)], [F(1, 2), F(1, 8), F(3, 8)], [F(1, 6), F(1, 6), F(2, 3)]]),
    ),
}
TEXTS = [(3, 1, 3), (2, 2, 4)]  # tokens of the vocabulary, γ, tokens of the text: two rounds or more
SHORT = [(3, 1, 2), (2, 2, 3)]  # the same for a round that returns one token


@cache
def text_law(round_, size, gamma, n):
    return exact_law(write, round_, *MODELS[size], (0,), gamma, n)


@pytest.mark.parametrize("name", ROUNDS)
def test_each_round_is_of_its_kind(name):
    off = [
        text_law(ROUNDS[name].sampler, size, gamma, n).total_variation(texts_of(MODELS[size][0], (0,), n))
        for size, gamma, n in (SHORT if name == "first_token_alone" else TEXTS)
    ]
    assert (max(off) > 0) == (ROUNDS[name].kind == "wrong")


def test_the_right_round_passes_the_same_check():
    for size, gamma, n in TEXTS:
        assert text_law(speculative_round, size, gamma, n) == texts_of(MODELS[size][0], (0,), n)


@pytest.mark.parametrize("name", ["no_bonus", "first_token_alone"])
def test_what_is_slow_is_short(name):
    def tokens(round_):
        return sum(len(xs) * mass for xs, mass in exact_law(round_, *MODELS[2], (0,), 2).items())

    # Two drafts; the laws overlap by 3/4 everywhere: 1 + 3/4 + 9/16 tokens a round.
    assert tokens(speculative_round) == F(37, 16)
    assert tokens(ROUNDS[name].sampler) == {"no_bonus": F(37, 16) - F(9, 16), "first_token_alone": 1}[name]


# ---- decoders


def decoded(decoder, n, eos):
    target, draft = (lambda context: np.array([F(1, 2), F(1, 2)]) for _ in "td")  # all drafts pass
    return exact_law(lambda rng: decoder(target, draft, (0,), gamma=1, max_new_tokens=n, rng=rng, eos=eos).tokens)


def test_decoders_by_hand():
    # Fair coins, EOS = 1, blocks of two. Right: 1, 01, 00 and so on.
    assert decoded(speculative_decode, 2, 1) == {(1,): F(1, 2), (0, 1): F(1, 4), (0, 0): F(1, 4)}
    assert decoded(DECODERS["writes_past_eos"].sampler, 2, 1) == {xs: F(1, 4) for xs in product((0, 1), repeat=2)}
    assert decoded(DECODERS["writes_past_eos"].sampler, 3, 1)[(1, 0, 1)] == F(1, 8)
    assert decoded(DECODERS["writes_too_much"].sampler, 1, None) == {xs: F(1, 4) for xs in product((0, 1), repeat=2)}
    assert decoded(DECODERS["writes_too_much"].sampler, 2, 1) == decoded(speculative_decode, 2, 1)


@pytest.mark.parametrize("name", DECODERS)
def test_each_decoder_is_wrong_about_ends_alone(name):
    ends = product((1, 2), (1, None))
    assert any(decoded(DECODERS[name].sampler, *end) != decoded(speculative_decode, *end) for end in ends)
    assert decoded(DECODERS[name].sampler, 4, None) == decoded(speculative_decode, 4, None)
