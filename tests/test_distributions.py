"""Laws: values by hand, identities without rounding, and each wrong input by what its message names."""

import copy
import math
from contextlib import suppress
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_kit.distributions import (
    InvalidDistribution,
    NoResidual,
    acceptance_probability,
    overlap,
    residual,
    softmax,
    temperature,
    top_k,
    top_p,
    total_variation,
)

steady = settings(derandomize=True, deadline=None, database=None)

OF_TWO = [overlap, total_variation, acceptance_probability, residual]
OF_ONE = [partial(temperature, t=0.5), partial(temperature, t=0), partial(top_k, k=1), partial(top_p, mass=0.5)]

P2, Q2 = [F(7, 10), F(3, 10)], [F(2, 5), F(3, 5)]
P4 = [F(2, 5), F(3, 10), F(1, 5), F(1, 10)]
Q4 = P4[::-1]


@st.composite
def laws(draw, rows=1):
    """As many laws over one vocabulary as `rows`, in fractions; ties and zeros are frequent."""
    size = draw(st.integers(1, 6))
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return [[F(k, sum(ks)) for k in ks] for ks in (draw(weights) for _ in range(rows))]


def floats(law):
    return [float(x) for x in law]


# ---- overlap, total variation, acceptance, residual


@pytest.mark.parametrize(
    ("p", "q", "kept", "accepts", "lacking"),
    [
        (P2, Q2, F(7, 10), [1, F(1, 2)], [1, 0]),
        (Q2, P2, F(7, 10), [F(4, 7), 1], [0, 1]),
        (P4, Q4, F(3, 5), [1, 1, F(2, 3), F(1, 4)], [F(3, 4), F(1, 4), 0, 0]),
        ([F(1), F(0)], [F(0), F(1)], 0, [math.nan, 0], [1, 0]),  # A is never proposed, B never wanted
        ([F(1, 2), F(1, 4), F(1, 4)], [F(1, 2), F(1, 2), F(0)], F(3, 4), [1, F(1, 2), math.nan], [0, 0, 1]),
    ],
)
def test_values_by_hand(p, q, kept, accepts, lacking):
    for a, b in ((p, q), (floats(p), floats(q)), (np.array(p), np.array(q))):
        np.testing.assert_allclose(float(overlap(a, b)), float(kept), atol=1e-15)
        np.testing.assert_allclose(float(total_variation(a, b)), float(1 - kept), atol=1e-15)
        np.testing.assert_allclose(acceptance_probability(a, b).astype(float), floats(accepts), rtol=1e-15)
        np.testing.assert_allclose(residual(a, b).astype(float), floats(lacking), atol=1e-15)


@steady
@given(laws(rows=2))
def test_identities_hold_without_rounding(pair):
    p, q = pair
    kept = overlap(p, q)
    assert kept == sum(map(min, p, q)) == 1 - total_variation(p, q)
    accepts = acceptance_probability(p, q)
    assert all(q[x] * accepts[x] == min(p[x], q[x]) if q[x] else math.isnan(accepts[x]) for x in range(len(q)))
    if kept == 1:
        with pytest.raises(NoResidual):
            residual(p, q)
        return
    lacking = residual(p, q)
    assert [min(p[x], q[x]) + (1 - kept) * lacking[x] for x in range(len(p))] == p
    assert all(type(x) is F for x in [kept, total_variation(p, q), *lacking, *accepts[np.array(q) > 0]])


@steady
@given(laws(rows=2))
def test_floats_agree_with_fractions(pair):
    for function in OF_TWO[:3]:
        exact = np.asarray(function(*pair), dtype=float)
        rounded = function(*map(floats, pair))
        assert np.asarray(rounded).dtype == np.float64
        np.testing.assert_allclose(rounded, exact, rtol=1e-14, atol=1e-15)


def test_rows_are_taken_one_by_one():
    p, q = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 2, 3))  # each of shape (2, 3, 4)
    for function in (*OF_TWO, *OF_ONE, softmax):
        rows = (p, q) if function in OF_TWO else (p,)
        one_by_one = [[function(*(law[i, j] for law in rows)) for j in range(3)] for i in range(2)]
        np.testing.assert_array_equal(function(*rows), one_by_one)


def test_acceptance_does_not_overflow():
    tiny = 5e-324
    with np.errstate(all="raise"):
        assert acceptance_probability([1, tiny], [tiny, 1]).tolist() == [1, tiny]


def test_equal_laws_have_no_residual():
    with pytest.raises(NoResidual, match=r"^p = q: every draft is accepted and no residual is ever drawn"):
        residual(P2, P2)
    with pytest.raises(NoResidual, match=r"^p = q in row \[1, 0\]: every draft is accepted"):
        residual([[P2, P2], [Q2, P2]], [[Q2, Q2], [Q2, Q2]])
    assert issubclass(NoResidual, ValueError)


@steady
@given(laws(rows=2), st.booleans())
def test_no_function_changes_its_inputs(pair, exact):
    pair = [law if exact else floats(law) for law in pair]
    arrays = [np.array(law) for law in pair]
    for given_ in (pair, arrays):
        before = copy.deepcopy(given_)
        for function in OF_TWO:
            with suppress(NoResidual):
                function(*given_)
        for function in (*OF_ONE, softmax):
            answer = function(given_[0])
            answer[...] = 0  # what is handed out is the caller's own
        assert all(np.array_equal(a, b) for a, b in zip(given_, before, strict=True))


# ---- what is no law

NO_LAW = {
    "negative": ([1.25, -0.25], r"p\[1\] is -0.25: a probability is a finite number, at least 0", 0, (1,), -0.25),
    "logits": ([[1.0, 0.0], [-2.0, 3.0]], r"p\[1, 0\] is -2.0: .*turn them into a law with softmax", 1, (1, 0), -2.0),
    "negative fraction": ([F(3, 2), F(-1, 2)], r"p\[1\] is -1/2: a probability", 0, (1,), F(-1, 2)),
    "NaN": ([math.nan, 1.0], r"p\[0\] is nan: a probability is a finite number", 0, (0,), math.nan),
    "infinite": ([0.0, math.inf], r"p\[1\] is inf: a probability is a finite number", 0, (1,), math.inf),
    "sum": ([0.5, 0.25], r"p sums to 0.75 along axis 0, not to 1: divide it by its sum", 0, (), 0.75),
    "sum of zeros": ([0.0, 0.0], r"p sums to 0.0 along axis 0", 0, (), 0.0),
    "sum of a row": ([[0.5, 0.5], [0.5, 0.75]], r"p\[1\] sums to 1.25 along axis 1, not to 1", 1, (1,), 1.25),
    "sum of fractions": ([F(1, 2), F(1, 3)], r"p sums to 5/6 along axis 0", 0, (), F(5, 6)),
    "empty": ([], r"p is empty or a single number \(shape \(0,\)\): .* one entry a token", 0, (), (0,)),
    "no tokens": (np.zeros((2, 0)), r"p is empty .* \(shape \(2, 0\)\)", 0, (), (2, 0)),
    "single number": (1.0, r"p is empty or a single number \(shape \(\)\)", 0, (), ()),
    "words": (["a", "b"], r"p is not an array of real numbers \(dtype <U1\): .* a probability", 0, (), "<U1"),
    "objects": ([None, 1.0], r"p is not an array of real numbers \(dtype object\)", 0, (), "object"),
    "complex": ([0.5j, 0.5], r"p is not an array of real numbers \(dtype complex128\)", 0, (), "complex128"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_LAW)
def test_what_is_no_law_is_named(case):
    wrong, message, axis, index, value = NO_LAW[case]
    for function in OF_ONE:
        with pytest.raises(InvalidDistribution, match=f"^{message}") as caught:
            function(wrong)
        assert (caught.value.axis, caught.value.index) == (axis, index)
        assert caught.value.value == value or (value != value and caught.value.value != caught.value.value)
    right = np.full(np.shape(wrong) or (2,), 0.5)
    for function in OF_TWO:
        with pytest.raises(InvalidDistribution, match=f"^{message}"):
            function(wrong, right)
        with pytest.raises(InvalidDistribution, match=f"^q{message[1:]}"):
            function([0.5, 0.5], wrong)
    assert issubclass(InvalidDistribution, ValueError)


def test_rows_of_different_lengths_are_named():
    for function in (*OF_ONE, softmax):
        with pytest.raises(InvalidDistribution, match="give each row the same length"):
            function([[0.5, 0.5], [1.0]])


@pytest.mark.parametrize("function", OF_TWO)
def test_shapes_that_differ_are_named(function):
    message = r"^p has shape \(2,\) and q has shape \(4,\): both must range over the same vocabulary$"
    with pytest.raises(InvalidDistribution, match=message) as caught:
        function(floats(P2), floats(Q4))
    assert (caught.value.axis, caught.value.value) == (0, ((2,), (4,)))
    with pytest.raises(InvalidDistribution, match=r"^p has shape \(1, 2\) and q has shape \(2,\)"):
        function([P2], Q2)


def test_how_far_a_sum_may_be_off():
    # NumPy's own bound: the square root of the type's rounding unit, 1.5e-8, 3.5e-4 and 0.031.
    for kind, passes, fails in ((np.float64, 1e-8, 2e-8), (np.float32, 3e-4, 4e-4), (np.float16, 0.03, 0.035)):
        top_k(np.array([0.5, 0.5 + passes], dtype=kind), 2)
        with pytest.raises(InvalidDistribution, match=r"sums to 1\.0"):
            top_k(np.array([0.5, 0.5 + fails], dtype=kind), 2)
    with pytest.raises(InvalidDistribution, match="sums to"):  # a fraction has no rounding to be forgiven
        top_k([F(1, 2), F(1, 2) + F(1, 10**30)], 2)


def test_a_coarse_law_is_made_to_sum_to_one():
    coarse = np.array([0.7, 0.3], dtype=np.float16)
    weight = coarse.astype(float)
    assert weight.sum() == 1.000244140625  # what float16 makes of 0.7 + 0.3
    fine = weight / 1.000244140625
    assert overlap(coarse, coarse) == 1
    assert overlap(coarse, [1.0, 0.0]) == fine[0]
    single = np.array([0.1] * 10, dtype=np.float32)
    assert overlap(single, single) == pytest.approx(1, abs=1e-15)
    assert acceptance_probability(single, np.full(10, 0.1)) == pytest.approx(np.ones(10), abs=1e-15)


# ---- softmax and temperature

finite = st.floats(-700, 700)


@steady
@given(st.lists(finite | st.just(-math.inf), min_size=1, max_size=6).filter(lambda z: max(z) > -math.inf))
def test_softmax_agrees_with_scipy(logits):
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_allclose(softmax(logits), scipy.special.softmax(logits), rtol=1e-12)


def test_softmax_by_hand():
    with np.errstate(over="raise", invalid="raise"):
        assert softmax([1000, 1000]).tolist() == [0.5, 0.5]
        assert softmax([-1e308, -1e308, -math.inf]).tolist() == [0.5, 0.5, 0]
    np.testing.assert_allclose(softmax(np.log([[1, 3], [4, 1]])), [[0.25, 0.75], [0.8, 0.2]], rtol=1e-15)


@pytest.mark.parametrize(
    ("logits", "message", "index"),
    [
        ([0, math.nan], r"logits\[1\] is nan: a logit is finite, or -inf for a token that is forbidden", (1,)),
        ([[0, 1], [math.inf, 0]], r"logits\[1, 0\] is inf: a logit is finite", (1, 0)),
        ([[0, 1], [-math.inf, -math.inf]], r"every logit of row \[1\] is -inf: leave at least one token", (1,)),
        ([], r"logits have shape \(0,\): give a last axis with one entry a token", ()),
        (1.0, r"logits have shape \(\): give a last axis", ()),
    ],
)
def test_softmax_names_what_is_wrong(logits, message, index):
    with pytest.raises(InvalidDistribution, match=f"^{message}") as caught:
        softmax(logits)
    assert caught.value.index == index


@steady
@given(st.lists(st.floats(-30, 30), min_size=1, max_size=6), st.floats(0.05, 50))
def test_temperature_agrees_with_scipy(logits, t):
    p = scipy.special.softmax(logits)
    np.testing.assert_allclose(temperature(p, t), scipy.special.softmax(np.divide(logits, t)), rtol=1e-9, atol=1e-300)


def test_temperature_by_hand():
    p = [0.5, 0.3, 0.2, 0.0]
    np.testing.assert_allclose(temperature(p, 0.5), np.array([25, 9, 4, 0]) / 38, rtol=1e-14)
    np.testing.assert_allclose(temperature(p, 1), p, rtol=1e-14)
    np.testing.assert_allclose(temperature([0.8, 0.2], 2), [2 / 3, 1 / 3], rtol=1e-14)  # √.8 : √.2 = 2 : 1
    assert temperature([0.8, 0.2], 1e-3).tolist() == [1, 0]
    assert temperature(p, 0).tolist() == [1, 0, 0, 0]
    assert temperature([0.2, 0.4, 0.4], 0).tolist() == [0, 1, 0]  # the first of equals
    assert temperature([[0.3, 0.7], [0.5, 0.5]], 0).tolist() == [[0, 1], [1, 0]]
    assert temperature(P2, 0).tolist() == [1, 0]


@pytest.mark.parametrize("t", [-1, -1e-300, math.inf, math.nan])
def test_temperature_is_finite_and_not_negative(t):
    with pytest.raises(ValueError, match=rf"^temperature is {t}: give a finite number, at least 0 \(0 is greedy\)$"):
        temperature([0.5, 0.5], t)


# ---- top-k and top-p, against their definitions in plain Python


def kept_alone(law, tokens):
    return [law[x] / sum(law[y] for y in tokens) if x in tokens else 0 for x in range(len(law))]


def by_rank(law):
    return sorted(range(len(law)), key=lambda x: (-law[x], x))


@steady
@given(laws(), st.integers(1, 7))
def test_top_k_is_its_definition(law, k):
    expected = kept_alone(law[0], by_rank(law[0])[:k])
    assert top_k(law[0], k).tolist() == expected
    np.testing.assert_allclose(top_k(floats(law[0]), k), floats(expected), rtol=1e-14)


@steady
@given(laws(), st.fractions(0, 1, max_denominator=20).filter(bool))
def test_top_p_is_its_definition(law, mass):
    tokens = []
    for x in by_rank(law[0]):
        if sum(law[0][y] for y in tokens) < mass:
            tokens.append(x)
    assert top_p(law[0], mass).tolist() == kept_alone(law[0], tokens)


def test_top_k_and_top_p_by_hand():
    p = [0.125, 0.5, 0.375]
    assert top_k(p, 1).tolist() == [0, 1, 0]
    assert top_k([0.25, 0.375, 0.375], 2).tolist() == [0, 0.5, 0.5]
    assert top_k(p, 3).tolist() == top_k(p, 99).tolist() == p
    assert top_k([0.25] * 4, 2).tolist() == [0.5, 0.5, 0, 0]  # of equals the first
    assert top_p(p, 0.5).tolist() == [0, 1, 0]  # 0.5 is held by one
    assert top_p([0.25, 0.375, 0.375], 0.5).tolist() == [0, 0.5, 0.5]
    assert top_p(p, 1e-300).tolist() == [0, 1, 0]
    assert top_p(p, 1).tolist() == p
    assert top_p([0.25] * 4, 0.5).tolist() == [0.5, 0.5, 0, 0]


def test_top_k_and_top_p_name_what_they_cannot_keep():
    for k in (0, -1):
        with pytest.raises(ValueError, match=rf"^top_k keeps {k} tokens: keep at least 1$"):
            top_k([0.5, 0.5], k)
    for mass in (0, -0.5, 1.5, math.nan):
        with pytest.raises(ValueError, match=rf"^top_p keeps a mass of {mass}: give a number above 0 and at most 1$"):
            top_p([0.5, 0.5], mass)


def test_corners_of_the_shapers():
    np.testing.assert_allclose(temperature([0.5, 0.3, 0.2], F(1, 2)), np.array([25, 9, 4]) / 38)
    assert temperature([0.5, 0.3, 0.2], 1e-320).tolist() == [1, 0, 0]
    assert (top_p([0.5, 0.5, 5e-9], 1) > 0).all()
    with pytest.raises(ValueError, match=r"^top_k keeps nan tokens"):
        top_k([0.5, 0.5], math.nan)
    with pytest.raises(InvalidDistribution, match=r"^every logit is -inf"):
        softmax([-math.inf, -math.inf])


def test_greedy_fractions_stay_fractions():
    law = temperature([F(1, 4), F(1, 2), F(1, 4)], 0)
    assert law.tolist() == [0, 1, 0] and {type(x) for x in law} == {F}
    assert top_p(top_k(law, 2), 0.9).tolist() == [0, 1, 0]  # and what is cut is still a law
