"""One token: what each uniform selects, in which order uniforms are spent, and whether the draws have the law."""

import random
import warnings
from bisect import bisect_right
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from specdec_kit.distributions import InvalidDistribution, acceptance_probability
from specdec_kit.sampling import Draws, categorical, check_rng, direct_sample, inverse_cdf, speculative_sample
from specdec_kit.streams import Ledger, Scripted

steady = settings(derandomize=True, deadline=None, database=None)

P2, Q2 = [0.7, 0.3], [0.4, 0.6]
P4, Q4 = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
LAST = 1 - 2**-53  # the largest uniform that rng.random() returns
RARE = 1e-6  # a right sampler fails below this p-value for one seed in a million


def seeded(seed=0):
    return np.random.default_rng(seed)


def select(law, u):
    return bisect_right(list(accumulate(law)), u)


def by_the_paper(p, q, u_drafts, u_tests, u_residuals):
    """Tokens, drafts and accepted from given uniforms, in plain Python; one of the last uniforms for each rejection."""
    u_residuals = iter(u_residuals)
    lacking = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    for u_draft, u_test in zip(u_drafts, u_tests, strict=True):
        x = select(q, u_draft)
        kept = u_test < min(1, p[x] / q[x])
        yield x if kept else select([mass / sum(lacking) for mass in lacking], next(u_residuals)), x, kept


# ---- one uniform, one token


@pytest.mark.parametrize(
    ("law", "u", "token"),
    [
        ([0.25, 0.0, 0.75], 0.0, 0),
        ([0.25, 0.0, 0.75], 0.25 - 2**-54, 0),
        ([0.25, 0.0, 0.75], 0.25, 2),  # on the boundary the next one, and never the one without mass
        ([0.25, 0.0, 0.75], LAST, 2),
        ([0.0, 1.0], 0.0, 1),
        ([1.0, 0.0], LAST, 0),
        ([0.5, 0.5], 0.5 - 2**-54, 0),
        ([0.1] * 10, LAST, 9),  # these ten sum to 1 − 2⁻⁵³
        ([0.1] * 10 + [0.0], LAST, 9),
        ([1.0], LAST, 0),
    ],
)
def test_which_token_a_uniform_selects(law, u, token):
    assert inverse_cdf(law, u) == token
    assert categorical(law, Scripted([u])) == direct_sample(law, rng=Scripted([u])) == token
    assert direct_sample(law, 2, rng=Scripted([u, 0.0])).tolist() == [token, np.flatnonzero(law)[0]]


@pytest.mark.parametrize(
    ("uniforms", "token", "draft", "accepted"),
    [
        # q keeps A up to u = 1/4; p/q is 3 for A and 1/3 for B; what p lacks is A alone.
        ([0.0, LAST], 0, 0, True),
        ([0.25 - 2**-54, 0.5], 0, 0, True),
        ([0.25, 0.0], 1, 1, True),
        ([LAST, 0.333], 1, 1, True),
        ([LAST, 0.334, 0.0], 0, 1, False),
        ([LAST, LAST, LAST], 0, 1, False),
    ],
)
def test_speculative_sampling_uniform_by_uniform(uniforms, token, draft, accepted):
    script = Scripted(uniforms)
    assert speculative_sample([0.75, 0.25], [0.25, 0.75], rng=script) == (token, draft, accepted)
    assert script.taken() == uniforms  # all of them, in this order, and no more


def test_the_test_is_strict():
    # u q < p fails at u q = p: for p = 0 at u = 0, and in general at u = p/q, here 1/2.
    assert speculative_sample([0.0, 1.0], [1.0, 0.0], rng=Scripted([0.0, 0.0, 0.0])) == (1, 0, False)
    assert speculative_sample([0.75, 0.25], [0.5, 0.5], rng=Scripted([0.5, 0.5, 0.0])) == (0, 1, False)
    assert speculative_sample([0.75, 0.25], [0.5, 0.5], rng=Scripted([0.5, 0.5 - 2**-54])) == (1, 1, True)


def test_a_residual_of_two_tokens():
    # (p − q)₊ is .3 and .1: the first up to u = 3/4, the second above.
    for u, token in ((0.0, 0), (0.7499, 0), (0.7501, 1), (LAST, 1)):
        assert speculative_sample(P4, Q4, rng=Scripted([LAST, LAST, u])) == (token, 3, False)


# ---- what comes back


def test_without_size_plain_numbers_come_back():
    draws = speculative_sample(P4, Q4, rng=seeded())
    assert isinstance(draws, Draws) and draws._fields == ("tokens", "drafts", "accepted")
    assert [type(x) for x in draws] == [int, int, bool]
    assert type(direct_sample(P4, rng=seeded())) is type(categorical(P4, seeded())) is int


@pytest.mark.parametrize("size", [0, 1, 5, np.int64(5), (5,), (2, 3), (2, 0)])
def test_with_size_arrays_come_back(size):
    draws = speculative_sample(P4, Q4, size, rng=seeded())
    shape = np.empty(size).shape
    assert draws.tokens.shape == draws.drafts.shape == draws.accepted.shape == shape
    assert (draws.tokens.dtype, draws.drafts.dtype, draws.accepted.dtype) == (np.int64, np.int64, np.bool)
    assert direct_sample(P4, size, rng=seeded()).shape == shape
    assert not draws.tokens.size or draws.tokens is not draws.drafts


def test_an_empty_size_is_one_draw():
    token, draft, accepted = speculative_sample([0.0, 1.0], [1.0, 0.0], (), rng=Scripted([0.0, 0.0, 0.0]))
    assert (token, draft, accepted) == (1, 0, False)


def test_uniforms_are_spent_in_the_documented_order():
    ledger, same = Ledger(seeded(3)), seeded(3)
    drawn = speculative_sample(P4, Q4, 200, rng=ledger)
    uniforms = same.random(200), same.random(200), same.random((~drawn.accepted).sum())
    assert ledger.taken() == np.concatenate(uniforms).tolist()
    assert list(zip(*(field.tolist() for field in drawn), strict=True)) == list(by_the_paper(P4, Q4, *uniforms))
    for draw, cost in ((categorical, 1), (lambda p, rng: direct_sample(p, (3, 4), rng=rng), 12)):
        draw(P4, ledger)
        assert len(ledger.taken()) == cost


@steady
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_draws_agree_with_the_paper_in_plain_python(seed, size):
    p, q = seeded(seed).dirichlet(np.full(size, 0.5), size=2)
    rng = seeded(seed)
    uniforms = rng.random((2, 4))
    expected = list(by_the_paper(p, q, *uniforms, rng.random(4)))
    tokens, drafts, accepted = speculative_sample(p, q, (2, 2), rng=seeded(seed))
    assert list(zip(tokens.flat, drafts.flat, accepted.flat, strict=True)) == expected
    one = next(by_the_paper(p, q, *seeded(seed).random((3, 1))))
    assert speculative_sample(p, q, rng=seeded(seed)) == one


@steady
@given(st.integers(0, 2**32), st.integers(1, 50))
def test_direct_draws_are_those_of_numpy(seed, size):
    p = seeded(seed).dirichlet(np.ones(size))
    np.testing.assert_array_equal(direct_sample(p, (3, 2), rng=seeded(seed)), seeded(seed).choice(size, (3, 2), p=p))
    ours, theirs = seeded(seed), seeded(seed)
    assert [categorical(p, ours) for _ in range(3)] == [theirs.choice(size, p=p) for _ in range(3)]
    assert direct_sample(p, rng=ours) == theirs.choice(size, p=p)


def test_a_seed_fixes_the_draws():
    first, again, other = (speculative_sample(P4, Q4, 100, rng=seeded(seed)).tokens.tolist() for seed in (1, 1, 2))
    assert first == again != other


# ---- the law of what is drawn

PAIRS = {
    "two tokens": (P2, Q2),
    "four tokens": (P4, Q4),
    "q has a zero": ([0.5, 0.25, 0.25], [0.5, 0.5, 0.0]),
    "p has a zero": ([0.0, 0.5, 0.5], [0.5, 0.25, 0.25]),
    "sharply mismatched": ([0.98, 0.01, 0.01], [0.01, 0.01, 0.98]),
    "no overlap": ([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]),
    "fifty tokens": tuple(seeded(5).dirichlet(np.ones(50), size=2)),
}


def fits(draws, law):
    """p-value of a count against a law; 0 where something impossible was drawn."""
    law = np.asarray(law)
    counts = np.bincount(draws, minlength=law.size)
    if counts.size > law.size or counts[law == 0].any():
        return 0
    possible = law > 0
    return chisquare(counts[possible], law[possible] / law.sum() * counts.sum()).pvalue if possible.sum() > 1 else 1


@pytest.mark.parametrize("name", PAIRS)
def test_draws_have_their_laws(name):
    p, q = map(np.asarray, PAIRS[name])
    n = 100_000
    tokens, drafts, accepted = speculative_sample(p, q, n, rng=seeded(2026))
    assert fits(tokens, p) > RARE and fits(drafts, q) > RARE and fits(direct_sample(p, n, rng=seeded(1)), p) > RARE
    assert fits(tokens, q) < RARE and fits(drafts, p) < RARE  # the test can tell one from the other
    kept = np.minimum(p, q).sum()
    assert binomtest(int(accepted.sum()), n, min(kept, 1)).pvalue > RARE
    assert (tokens[accepted] == drafts[accepted]).all()
    if kept:
        assert fits(tokens[accepted], np.minimum(p, q) / kept) > RARE
    assert fits(tokens[~accepted], np.maximum(p - q, 0) / (1 - kept)) > RARE
    keep = acceptance_probability(p, q)
    for x in np.flatnonzero(q):
        proposed = drafts == x
        assert binomtest(int(accepted[proposed].sum()), int(proposed.sum()), keep[x]).pvalue > RARE


def test_a_bias_of_a_hundredth_is_found():
    biased = np.add(P4, [0.01, -0.01, 0, 0])
    assert fits(direct_sample(biased, 100_000, rng=seeded(2026)), P4) < RARE


# ---- p and q equal but for rounding


def test_equal_laws_reject_nothing():
    for p in PAIRS["fifty tokens"]:
        tokens, drafts, accepted = speculative_sample(p, p, 100_000, rng=seeded(4))
        assert accepted.all() and (tokens == drafts).all() and fits(tokens, p) > RARE


def test_laws_that_differ_by_rounding_give_no_nan():
    p, q = (np.array(law, dtype=np.float16) for law in ([0.5, 0.3, 0.2], [0.5005, 0.3, 0.2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a, b in ((p, q), (q, p)):
            tokens, _, accepted = speculative_sample(a, b, 100_000, rng=seeded(6))
            assert set(tokens) == {0, 1, 2} and accepted.mean() > 0.999
        assert fits(tokens, q / q.sum(dtype=float)) > RARE


def test_a_rejection_without_a_residual_keeps_the_draft():
    # p sums to 1 − 1e-9, as it may: the last uniforms reject C, and p lacks nothing to put in its place.
    p, q = [0.5, 0.3, 0.2 - 1e-9], [0.5, 0.3, 0.2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert speculative_sample(p, q, rng=Scripted([0.9, LAST])) == (2, 2, True)
        tokens, _, accepted = speculative_sample(p, q, 2, rng=Scripted([0.9, 0.9, LAST, 0.5]))
    assert tokens.tolist() == [2, 2] and accepted.all()


# ---- what is refused, and what is left alone

SAMPLERS = [
    categorical,
    lambda p, rng: direct_sample(p, rng=rng),
    lambda p, rng: speculative_sample(p, [0.5, 0.5], rng=rng),
    lambda p, rng: speculative_sample([0.5, 0.5], p, rng=rng),
]


@pytest.mark.parametrize(
    ("rng", "what"),
    [
        (None, "rng is None, not a generator"),
        (7, "rng is 7, not a generator"),
        (np.random.SeedSequence(7), r"rng is SeedSequence\([\s\S]*, not a generator"),
        (np.random.RandomState(7), "rng is RandomState.*, not a generator"),
        (np.random.PCG64(7), "rng is .*PCG64.*, not a generator"),
        (np.random.default_rng, "rng is .*default_rng.*, not a generator"),
        (random.Random(7), "rng is .*Random.*, not a generator"),
        (np.random, "rng is the module numpy.random, whose state all code shares"),
        (random, "rng is the module random, whose state all code shares"),
    ],
)
def test_what_is_no_generator_is_named(rng, what):
    for sampler in (lambda p, rng: check_rng(rng), *SAMPLERS):
        with pytest.raises(TypeError, match=rf"^{what}: pass np.random.default_rng\(seed\)$"):
            sampler([0.5, 0.5], rng)


def test_the_class_of_generators_is_no_generator():
    with pytest.raises(TypeError, match=r"rng is .*Generator.*: pass np.random.default_rng\(seed\)$"):
        check_rng(np.random.Generator)


def test_any_generator_will_do():
    for rng in (seeded(), np.random.Generator(np.random.MT19937(0)), Ledger(seeded()), Scripted([0.5] * 12)):
        assert check_rng(rng) is rng
        assert all(sampler([0.5, 0.5], rng) in (0, 1, (0, 0, True), (1, 1, True)) for sampler in SAMPLERS)
    with pytest.raises(TypeError, match="rng"):
        direct_sample([0.5, 0.5])
    with pytest.raises(TypeError):
        speculative_sample([0.5, 0.5], [0.5, 0.5], 1, seeded())  # rng goes by name: a size must not take its place


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5, 0.25], "[pq] sums to 0.75 along axis 0"),
        ([-0.5, 1.5], r"[pq]\[0\] is -0.5"),
        ([0.25] * 4, r"p has shape \(.,\) and q has shape \(.,\)"),
    ],
)
def test_what_is_no_law_is_refused_before_anything_is_drawn(p, message):
    ledger = Ledger(seeded())
    for sampler in SAMPLERS if len(p) == 2 else SAMPLERS[2:]:
        with pytest.raises(InvalidDistribution, match=f"^{message}"):
            sampler(p, ledger)
    assert not ledger.taken()


def test_a_table_of_laws_is_refused():
    for sampler in SAMPLERS:
        with pytest.raises(ValueError, match=r"^[pq] has shape \(1, 2\): sampling takes one law, a vector; loop over"):
            sampler([[0.5, 0.5]], seeded())


def test_inputs_and_global_state_are_left_alone():
    p, q = np.array(P4), np.array(Q4)
    before = np.random.get_state()[1].tolist(), np.random.get_state()[2], random.getstate()  # noqa: NPY002
    draws = speculative_sample(p, q, 1000, rng=seeded())
    direct_sample(p, 1000, rng=seeded())
    categorical(p, seeded())
    assert not draws.accepted.all()
    assert p.tolist() == P4 and q.tolist() == Q4
    after = np.random.get_state()[1].tolist(), np.random.get_state()[2], random.getstate()  # noqa: NPY002
    assert before == after
