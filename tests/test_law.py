"""The exact law: many ways to write a sampler, hand-derived laws, and each refusal by what it names."""

import bisect
import copy
import itertools
import math
import random
import re
import signal
from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tqdm.auto import tqdm

from specdec_kit.law import Law, NotWalkable, TooManyBranches, WalkInterrupted, as_fraction, exact_law
from specdec_kit.sampling import categorical, direct_sample, inverse_cdf, speculative_sample

steady = settings(derandomize=True, deadline=None, database=None)

P2, Q2 = [0.7, 0.3], [0.4, 0.6]
P4, Q4 = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
TENTHS = dict(enumerate([F(2, 5), F(3, 10), F(1, 5), F(1, 10)]))


@st.composite
def laws(draw, rows=1):
    """As many laws over one vocabulary as `rows`, in fractions; ties and zeros are frequent."""
    size = draw(st.integers(1, 4))
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    return [[F(k, sum(ks)) for k in ks] for ks in (draw(weights) for _ in range(rows))]


def product_of(law, k):
    """Joint law of k independent draws."""
    return {xs: math.prod(law[x] for x in xs) for xs in itertools.product(law, repeat=k)}


def without_zeros(law):
    return {x: mass for x, mass in enumerate(law) if mass}


# ---- one token of law p, in many hands


def by_subtraction(p, rng):
    u = rng.random()
    for x, mass in enumerate(p):
        u -= mass
        if u < 0:
            return x
    raise AssertionError("u is at most 1")


def by_recursion(p, rng, x=0):
    rest = sum(p[x:])
    return x if rng.random() * rest < p[x] else by_recursion(p, rng, x + 1)


def by_while(p, rng):
    u, x = rng.random(), 0
    while u >= sum(p[: x + 1]):
        x += 1
    return x


def by_nested(p, rng):
    cdf = list(itertools.accumulate(p))

    def between(low, high):
        middle = (low + high) // 2
        return low if low + 1 == high else between(low, middle) if u < cdf[middle - 1] else between(middle, high)

    u = rng.random()
    return between(0, len(p))


DIRECT = {
    "choice": lambda p, rng: rng.choice(len(p), p=p),
    "choice of a list": lambda p, rng: rng.choice([0, 1, 2, 3], p=p),
    "choice of an array, one of one": lambda p, rng: rng.choice(np.arange(4), size=1, p=p)[0],
    "choice, positional": lambda p, rng: rng.choice(4, None, True, p),
    "searchsorted": lambda p, rng: np.searchsorted(np.cumsum(p), rng.random(), side="right"),
    "searchsorted, left": lambda p, rng: int(np.searchsorted(np.cumsum(p), rng.random())),
    "searchsorted, a method": lambda p, rng: np.cumsum(p).searchsorted(rng.random(), side="right"),
    "searchsorted, of size 1": lambda p, rng: np.searchsorted(np.cumsum(p), rng.random(1), "right").item(),
    "digitize": lambda p, rng: np.digitize(rng.random(), np.cumsum(p)),
    "bisect": lambda p, rng: bisect.bisect(list(itertools.accumulate(p)), rng.random()),
    "bisect_left": lambda p, rng: bisect.bisect_left(np.cumsum(p).tolist(), rng.random()),
    "argmax": lambda p, rng: np.argmax(np.cumsum(p) > rng.random()),
    "argmax, turned round": lambda p, rng: (rng.random() < np.cumsum(p)).argmax(),
    "a sum of comparisons": lambda p, rng: (rng.random() >= np.cumsum(p)).sum(),
    "a sum in Python": lambda p, rng: sum(u >= c for u in [rng.random()] for c in np.cumsum(p)),
    "next": lambda p, rng: next(x for u in [rng.random()] for x, c in enumerate(np.cumsum(p)) if u < c),
    "flatnonzero": lambda p, rng: np.flatnonzero(np.cumsum(p) > rng.random())[0],
    "1 - u": lambda p, rng: np.searchsorted(np.cumsum(p), 1 - rng.random(), side="right"),
    "integers": lambda p, rng: [0, 0, 0, 0, 1, 1, 1, 2, 2, 3][rng.integers(10)],
    "uniform": lambda p, rng: np.searchsorted(np.cumsum(p), rng.uniform(), side="right"),
    "float32": lambda p, rng: np.searchsorted(np.cumsum(p), rng.random(dtype=np.float32), side="right"),
    "subtraction": by_subtraction,
    "recursion": by_recursion,
    "while": by_while,
    "nested functions": by_nested,
    "inverse_cdf": lambda p, rng: inverse_cdf(p, rng.random()),
    "categorical": categorical,
    "direct_sample": lambda p, rng: direct_sample(p, rng=rng),
}


@pytest.mark.parametrize("style", DIRECT)
def test_one_token_in_many_hands(style):
    for p in (np.array(P4), P4):
        assert exact_law(DIRECT[style], p) == TENTHS


def from_residual(p, q, rng):
    lacking = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
    return rng.choice(len(p), p=[mass / sum(lacking) for mass in lacking])


def keep_or_correct(keeps):
    """A speculative sampler with its own way to test the draft."""

    def sampler(p, q, rng):
        x = rng.choice(len(q), p=q)
        return x if keeps(p, q, x, rng) else from_residual(p, q, rng)

    return sampler


def in_one_go(p, q, rng):
    """All drafts, tests and corrections at once, as vectorised code does."""
    u = rng.random(3)
    x = np.searchsorted(np.cumsum(q), u[0], side="right")
    lacking = np.maximum(np.subtract(p, q), 0)
    y = np.searchsorted(np.cumsum(lacking) / lacking.sum(), u[2], side="right")
    return np.where(u[1] * q[x] < p[x], x, y)


speculative = keep_or_correct(lambda p, q, x, rng: rng.random() * q[x] < p[x])

SPECULATIVE = {
    "u q < p": speculative,
    "q u < p": keep_or_correct(lambda p, q, x, rng: q[x] * rng.random() < p[x]),
    "u < p / q": keep_or_correct(lambda p, q, x, rng: rng.random() < p[x] / q[x]),
    "u < min(1, p / q)": keep_or_correct(lambda p, q, x, rng: rng.random() < min(1, p[x] / q[x])),
    "p / q > u": keep_or_correct(lambda p, q, x, rng: np.divide(p, q)[x] > rng.random()),
    "not u q >= p": keep_or_correct(lambda p, q, x, rng: not rng.random() * q[x] >= p[x]),
    "u q - p < 0": keep_or_correct(lambda p, q, x, rng: rng.random() * q[x] - p[x] < 0),
    "1 - u > 1 - p / q": keep_or_correct(lambda p, q, x, rng: 1 - rng.random() > 1 - p[x] / q[x]),
    "p - u q > 0": keep_or_correct(lambda p, q, x, rng: p[x] - rng.random() * q[x] > 0),
    "u / p < 1 / q": keep_or_correct(lambda p, q, x, rng: rng.random() / p[x] < 1 / q[x]),
    "numpy.minimum": keep_or_correct(lambda p, q, x, rng: np.minimum(rng.random(), 0.999) < p[x] / q[x]),
    "numpy.maximum": keep_or_correct(lambda p, q, x, rng: np.maximum(rng.random(), 0.001) < p[x] / q[x]),
    "uniform": keep_or_correct(lambda p, q, x, rng: rng.uniform(0, q[x]) < p[x]),
    "uniform, high and low": keep_or_correct(lambda p, q, x, rng: rng.uniform(high=0, low=-q[x]) > -p[x]),
    "an array of tests": keep_or_correct(lambda p, q, x, rng: (rng.random(4) * q < np.array(p))[x]),
    "vectorised": in_one_go,
    "the kit": lambda p, q, rng: speculative_sample(p, q, rng=rng).tokens,
}


@pytest.mark.parametrize("style", SPECULATIVE)
def test_speculative_sampling_in_many_hands(style):
    assert exact_law(SPECULATIVE[style], P4, Q4) == TENTHS
    exact = list(TENTHS.values())
    assert exact_law(SPECULATIVE[style], exact, exact[::-1]) == TENTHS


def twice(rng):
    u = rng.random()
    return u < 0.5, u < 0.25, u >= 0.75


def draft_reused(p, q, rng):
    u = rng.random()
    x = int(inverse_cdf(q, u))
    return x if u * q[x] < p[x] else 0


QUARTER, HALF = F(1, 4), F(1, 2)
BY_HAND = {
    "nothing drawn": (lambda rng: 3, {3: 1}),
    "a coin": (lambda rng: rng.random() < 0.3, {True: F(3, 10), False: F(7, 10)}),
    "never and always": (lambda rng: (rng.random() < 0, rng.random() >= 1, rng.random() < 1.5), {(0, 0, 1): 1}),
    "beyond numbers": (
        lambda rng: (*(rng.random() < x for x in (math.inf, -math.inf, math.nan)), rng.random() > math.nan),
        {(True, False, False, False): 1},
    ),
    "equality": (lambda rng: (rng.random() == 0.5, rng.random() != 0.5), {(False, True): 1}),
    "one uniform used twice": (
        twice,
        {(1, 1, 0): QUARTER, (1, 0, 0): QUARTER, (0, 0, 0): QUARTER, (0, 0, 1): QUARTER},
    ),
    # A up to u = 2/5; then B, kept while 3/5 u < 3/10, that is up to u = 1/2; A again for the rest.
    "the draft's uniform tests": (lambda rng: draft_reused(P2, Q2, rng), {0: F(9, 10), 1: F(1, 10)}),
    "a uniform with itself": (
        lambda rng: [int(u + u < 1) + 2 * int(2 * u - u < 0.25) + 4 * (u - u < 0) for u in [rng.random()]],
        {(3,): QUARTER, (1,): QUARTER, (0,): HALF},
    ),
    "between": (lambda rng: [0.25 <= u < 0.5 for u in rng.random(1)], {(True,): QUARTER, (False,): F(3, 4)}),
    "int": (lambda rng: int(rng.random() * 5), dict.fromkeys(range(5), F(1, 5))),
    "int, towards zero": (lambda rng: int(rng.random() * 4 - 2), {-1: QUARTER, 0: HALF, 1: QUARTER}),
    "int, downwards": (lambda rng: int(4 - 4 * rng.random()), dict.fromkeys(range(4), QUARTER)),
    "math.floor": (lambda rng: math.floor(rng.random() * 3 + 1), dict.fromkeys((1, 2, 3), F(1, 3))),
    "math.floor, downwards": (lambda rng: math.floor(-2 * rng.random()), {-1: HALF, -2: HALF}),
    "math.floor, of a part": (lambda rng: math.floor(2 * u) if (u := rng.random()) < 0.75 else 9,
                              {0: HALF, 1: QUARTER, 9: QUARTER}),
    "numpy.floor": (lambda rng: np.floor(rng.random(2) * 2).tolist(), product_of({0: HALF, 1: HALF}, 2)),
    "astype": (lambda rng: (rng.random(2) * 2).astype(int), product_of({0: HALF, 1: HALF}, 2)),
    "negated": (lambda rng: -rng.random() < -0.25, {True: F(3, 4), False: QUARTER}),
    "0-d arrays": (lambda rng: rng.random() + np.array(0.25) < np.array(0.5), {True: QUARTER, False: F(3, 4)}),
    "max": (lambda rng: max(rng.random(), 0.25) < 0.5, {True: HALF, False: HALF}),
    "integers": (lambda rng: rng.integers(3), dict.fromkeys(range(3), F(1, 3))),
    "integers, from": (lambda rng: rng.integers(1, 3), {1: HALF, 2: HALF}),
    "integers, up to": (lambda rng: rng.integers(1, 2, endpoint=True), {1: HALF, 2: HALF}),
    "integers, below 0": (lambda rng: rng.integers(-1, 1), {-1: HALF, 0: HALF}),
    "integers, of size": (lambda rng: rng.integers(0, high=2, size=(2, 1)).tolist(),
                          {((0,), (0,)): QUARTER, ((0,), (1,)): QUARTER, ((1,), (0,)): QUARTER, ((1,), (1,)): QUARTER}),
    "uniform": (lambda rng: rng.uniform(2, 4) < 2.5, {True: QUARTER, False: F(3, 4)}),
    "uniform, of size": (lambda rng: rng.uniform(-1, 1, size=2) < 0, product_of({True: HALF, False: HALF}, 2)),
    "choice of names": (lambda rng: rng.choice(["a", "b"], p=[0.25, 0.75]), {"a": QUARTER, "b": F(3, 4)}),
    "choice of rows": (lambda rng: rng.choice([[0, 1], [2, 3]]), {(0, 1): HALF, (2, 3): HALF}),
    "choice of columns": (lambda rng: rng.choice([[0, 1], [2, 3]], axis=1), {(0, 2): HALF, (1, 3): HALF}),
    "choice, one without replacement": (lambda rng: rng.choice(2, replace=False), {0: HALF, 1: HALF}),
    "choice, one certain": (lambda rng: rng.choice(3, p=[0, 1, 0]), {1: 1}),
    "choice, shared out": (
        lambda rng: rng.choice(2, p=[0.25, 0.75 + 1e-9]),
        {0: QUARTER / (QUARTER + F(0.75 + 1e-9)), 1: F(0.75 + 1e-9) / (QUARTER + F(0.75 + 1e-9))},
    ),
    "choice, of size": (lambda rng: rng.choice(2, size=2, p=[0.25, 0.75]), product_of({0: QUARTER, 1: F(3, 4)}, 2)),
    "searchsorted, of size": (lambda rng: np.searchsorted([0.25], rng.random(size=2), side="right"),
                              product_of({0: QUARTER, 1: F(3, 4)}, 2)),
    "searchsorted, of a shape": (lambda rng: np.searchsorted([0.5, 1], rng.random((1, 2)), side="right").shape,
                                 {(1, 2): 1}),
    "compared row by row": (lambda rng: (np.array([0.25, 1]) <= rng.random((2, 1))).sum(axis=1),
                            product_of({0: QUARTER, 1: F(3, 4)}, 2)),
    "all": (lambda rng: bool(np.all(rng.random(2) < 0.5)), {True: QUARTER, False: F(3, 4)}),
    "unpacked": (lambda rng: sum(u < 0.5 for u in rng.random(2).tolist()), {0: QUARTER, 1: HALF, 2: QUARTER}),
    "float32 laws": (lambda rng: rng.random() < np.array([0.5, 0.25], dtype=np.float32)[1], {1: QUARTER, 0: F(3, 4)}),
    "outcomes": (lambda rng: [None, "x", (1, [2]), np.float64(2)][rng.integers(4)],
                 {None: QUARTER, "x": QUARTER, (1, (2,)): QUARTER, 2.0: QUARTER}),
    "a generator made of it": (lambda rng: np.random.default_rng(rng) is rng, {True: 1}),
    "a generator by type": (lambda rng: isinstance(rng, np.random.Generator), {True: 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_laws_by_hand(name):
    sampler, expected = BY_HAND[name]
    law = exact_law(sampler)
    assert law == expected
    assert sum(law.values()) == 1 and all(type(mass) is F for mass in law.values())


@steady
@given(laws(rows=2))
def test_speculative_sampling_returns_p(pair):
    p, q = pair
    assert exact_law(speculative, p, q) == without_zeros(p)
    rounded = [[float(x) for x in law] for law in pair]
    for style in ("the kit", "u < min(1, p / q)"):  # with floats, read as the fractions that they stand for
        assert exact_law(SPECULATIVE[style], *rounded) == without_zeros(p)


@steady
@given(laws())
def test_direct_sampling_returns_p(law):
    rounded = [float(x) for x in law[0]]
    for sampler in (categorical, DIRECT["choice"], by_while):
        assert exact_law(sampler, rounded) == without_zeros(law[0])


def test_draws_of_a_size_are_independent():
    tokens = exact_law(lambda rng: speculative_sample(P2, Q2, 2, rng=rng).tokens)
    assert tokens == product_of({0: F(7, 10), 1: F(3, 10)}, 2)
    assert exact_law(lambda rng: direct_sample(P2, (1, 2), rng=rng)[0]) == tokens
    # The draft has law q, and is kept with min(p, q): .4 and .3; the .3 of B that is rejected becomes A.
    fields = exact_law(lambda rng: tuple(speculative_sample(P2, Q2, rng=rng)))
    assert fields == {(0, 0, True): F(2, 5), (1, 1, True): F(3, 10), (0, 1, False): F(3, 10)}


# ---- blocks: four drafts over three tokens, each from the token before

TARGET = [[F(1, 2), F(1, 3), F(1, 6)], [F(1, 4), F(1, 4), F(1, 2)], [F(3, 5), F(0), F(2, 5)]]
DRAFT = [[F(1, 3)] * 3, [F(1, 2), F(1, 4), F(1, 4)], [F(1, 5), F(3, 5), F(1, 5)]]


def block(gamma, rng):
    drafts = [0]
    for _ in range(gamma):
        drafts.append(rng.choice(3, p=DRAFT[drafts[-1]]))
    for n, (before, x) in enumerate(itertools.pairwise(drafts)):
        p, q = TARGET[before], DRAFT[before]
        if not rng.random() < min(1, p[x] / q[x]):
            return (*drafts[1 : n + 1], from_residual(p, q, rng))
    return (*drafts[1:], rng.choice(3, p=TARGET[drafts[-1]]))


def closed_form(gamma):
    """Accepted with min(p, q) up to the last token, which comes from (p − q)₊, or from p after all the drafts."""
    law = {}
    for xs in itertools.chain(*(itertools.product(range(3), repeat=n + 1) for n in range(gamma + 1))):
        *kept, (last, x) = itertools.pairwise((0, *xs))
        mass = math.prod(min(TARGET[a][b], DRAFT[a][b]) for a, b in kept)
        law[xs] = mass * (TARGET[last][x] if len(xs) > gamma else max(TARGET[last][x] - DRAFT[last][x], 0))
    return {xs: mass for xs, mass in law.items() if mass}


@pytest.mark.parametrize("gamma", [1, 2, 4])
def test_the_joint_law_of_a_block_is_its_closed_form(gamma):
    assert exact_law(block, gamma) == closed_form(gamma)


def test_a_block_filled_up_from_the_target_is_a_text_of_the_target():
    def text(gamma, rng):
        xs = block(gamma, rng)
        while len(xs) <= gamma:
            xs += (rng.choice(3, p=TARGET[xs[-1]]),)
        return xs

    law = exact_law(text, 2)
    texts = itertools.product(range(3), repeat=3)
    expected = {xs: math.prod(TARGET[a][b] for a, b in itertools.pairwise((0, *xs))) for xs in texts}
    assert law == {xs: mass for xs, mass in expected.items() if mass}
    assert law.map(lambda xs: xs[0]) == without_zeros(TARGET[0])
    assert exact_law(block, 2) != law


# ---- against counts


@pytest.mark.parametrize(
    "sampler",
    [
        *(lambda rng, draw=DIRECT[name]: draw(P4, rng) for name in ("searchsorted", "argmax", "recursion", "choice")),
        *(lambda rng, draw=SPECULATIVE[name]: draw(P4, Q4, rng) for name in ("u q < p", "vectorised", "the kit")),
        *(
            BY_HAND[name][0]
            for name in ("one uniform used twice", "int, towards zero", "integers, of size", "unpacked")
        ),
        lambda rng: block(2, rng),
        lambda rng: draft_reused(P4, Q4, rng),
    ],
)
def test_counts_agree_with_the_walked_law(sampler):
    law, rng = exact_law(sampler), np.random.default_rng(9)

    def plain(value):
        value = value.tolist() if hasattr(value, "tolist") else value
        return tuple(map(plain, value)) if isinstance(value, list | tuple) else value

    counts = Counter(plain(sampler(rng)) for _ in range(20_000))
    assert counts.keys() <= law.keys()
    pvalue = chisquare([counts[x] for x in law], [float(mass) * 20_000 for mass in law.values()]).pvalue
    assert pvalue > 1e-6
    shifted = np.roll(list(map(float, law.values())), 1) * 0.1 + 0.9 * np.array(list(map(float, law.values())))
    if np.ptp(shifted) > 0.01:  # and a law a tenth of which is misplaced does not agree
        assert chisquare([counts[x] for x in law], shifted * 20_000).pvalue < 1e-6


# ---- branches without end


def geometric(again, rng):
    n = 0
    while rng.random() < again:
        n += 1
    return n


@pytest.mark.parametrize("again", [F(1, 2), F(1, 10), F(9, 10)])
def test_a_loop_without_end_is_stopped_with_bounds(again):
    with pytest.raises(TooManyBranches, match=r"^stopped after 500 branch points with all but") as stopped:
        exact_law(geometric, again, max_branches=500)
    law, covered = stopped.value.law, stopped.value.covered
    assert len(law) > 20
    assert law == {n: again**n * (1 - again) for n in range(len(law))}
    assert type(law) is Law and covered == sum(law.values()) == 1 - again ** len(law)


def test_thinning_is_stopped_with_bounds():
    def try_again(p, q, rng):
        while True:
            x = rng.choice(len(q), p=q)
            if rng.random() * q[x] < p[x]:
                return x

    with pytest.raises(TooManyBranches) as stopped:
        exact_law(try_again, P2, Q2, max_branches=1000)
    law, covered = stopped.value.law, stopped.value.covered
    # The limit is min(p, q) divided by its sum, 4/7 and 3/7; 3/10 of the mass goes round once more each time.
    assert 1 - F(1, 10**9) < covered < 1
    assert 0 < F(4, 7) - law[0] < 1 - covered and 0 < F(3, 7) - law[1] < 1 - covered


def test_an_endless_run_does_not_keep_the_rest_waiting():
    def sampler(rng):
        if rng.random() < 0.75:
            while True:
                rng.choice(2, p=[0.9, 0.1])
        return "done"

    with pytest.raises(TooManyBranches) as stopped:
        exact_law(sampler, max_branches=500)
    assert stopped.value.law == {"done": F(1, 4)} and stopped.value.covered == F(1, 4)


def test_no_more_branch_points_than_allowed():
    passed = []

    def sampler(rng):
        for _ in range(4):
            passed.append(rng.random() < 0.5)
        return 0

    assert exact_law(sampler) == {0: 1}
    needed = len(passed)
    assert needed == 16 * 4
    assert exact_law(sampler, max_branches=needed + 1) == {0: 1}
    for limit in (1, 5, 20):
        passed.clear()
        with pytest.raises(TooManyBranches, match=f"stopped after {limit} branch points"):
            exact_law(sampler, max_branches=limit)
        assert len(passed) <= limit + 4


def test_a_walk_that_is_broken_off_keeps_what_it_had():
    ran = []

    def sampler(rng):
        ran.append(rng)
        if len(ran) == 20:
            signal.raise_signal(signal.SIGINT)
        return geometric(F(1, 2), rng)

    with pytest.raises(WalkInterrupted, match=r"^all but \S+ of the mass was covered \(\.law, \.covered\)$") as stopped:
        exact_law(sampler)
    law, covered = stopped.value.law, stopped.value.covered
    assert isinstance(stopped.value, KeyboardInterrupt) and 0.9 < covered == sum(law.values()) < 1
    assert law == {n: F(1, 2 ** (n + 1)) for n in range(len(law))}


def test_progress_is_shown_and_closed(capsys):
    assert exact_law(categorical, P4, progress=True) == TENTHS
    assert "mass covered: 100.0000%" in capsys.readouterr().err
    for sampler, error in ((lambda rng: geometric(0.5, rng), TooManyBranches), (lambda rng: rng.normal(), NotWalkable)):
        with pytest.raises(error):
            exact_law(sampler, max_branches=100, progress=True)
    assert "mass covered: 9" in capsys.readouterr().err
    assert not tqdm._instances
    exact_law(categorical, P4)
    assert capsys.readouterr().err == ""


# ---- what cannot be walked is named, in one sentence

REFUSED = {
    **{f"rng.{name}": (lambda rng, name=name: getattr(rng, name)(3)) for name in (
        "normal", "exponential", "permutation", "shuffle", "spawn", "gumbel", "standard_normal", "multinomial", "bytes",
    )},
    "rng.bit_generator": lambda rng: rng.bit_generator,
    "rng.random(out=…)": lambda rng: rng.random(out=np.zeros(2)),
    "rng.choice(replace=False)": lambda rng: rng.choice(3, size=2, replace=False),
    "comparing two uniforms": lambda rng: rng.random() < rng.random(),
    "adding or comparing two uniforms": lambda rng: np.argmax(rng.random(2)),
    "multiplying two uniforms": lambda rng: rng.random() * rng.random(),
    "a plain float": lambda rng: float(rng.random()),
    "math functions": lambda rng: math.log(rng.random()),
    "storing it in a float array": lambda rng: np.array([rng.random()], dtype=float),
    "log of a uniform": lambda rng: np.log(rng.random()),
    "log1p of a uniform": lambda rng: np.log1p(-rng.random(3)),
    "a power of a uniform": lambda rng: rng.random() ** 2,
    "a power": lambda rng: 2 ** rng.random(),
    "dividing by a uniform": lambda rng: 1 / rng.random(),
    "dividing by a uniform, twice": lambda rng: rng.random() / rng.random(),
    "a remainder of a uniform": lambda rng: rng.random() % 0.5,
    "a remainder": lambda rng: rng.random() // 0.5,
    "the truth of a uniform": lambda rng: 1 if rng.random() else 0,
    "rounding a uniform": lambda rng: round(rng.random()),
    "the absolute value of a uniform": lambda rng: abs(rng.random()),
    "writing out a uniform": lambda rng: f"{rng.random():.3f}",
    "rng.uniform between arrays": lambda rng: rng.uniform([0, 1], [1, 3]),
    "nan is not a finite number": lambda rng: rng.random() * math.nan,
    "the sampler returned {1}": lambda rng: (0, {1}),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_walked_is_named(what):
    with pytest.raises(NotWalkable, match=re.escape(what.partition(",")[0])) as caught:
        exact_law(REFUSED[what])
    message = str(caught.value)
    assert "\n" not in message and ". " not in message  # one sentence
    assert issubclass(NotWalkable, TypeError)


def test_what_no_generator_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"numpy\.random\.Generator has no attribute 'rand'"):
        exact_law(lambda rng: rng.rand())


@pytest.mark.parametrize(
    "sampler",
    [lambda rng: rng.random(), lambda rng: (0, rng.random()), lambda rng: rng.random(2)],
    ids=["alone", "in a tuple", "in an array"],
)
def test_a_returned_uniform_is_named(sampler):
    with pytest.raises(NotWalkable, match="returning a uniform as the outcome"):
        exact_law(sampler)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copied_generator_is_refused(duplicate):
    with pytest.raises(NotWalkable):
        exact_law(lambda rng: int(duplicate(rng).random() < 0.3))


@pytest.mark.parametrize("refused", ["rng.normal", "multiplying two uniforms", "a plain float"])
def test_a_refusal_that_the_sampler_catches_is_raised_all_the_same(refused):
    def careless(rng):
        try:
            REFUSED[refused](rng)
        except Exception:
            return 0
        return 1

    with pytest.raises(NotWalkable, match=refused):
        exact_law(careless)


@pytest.mark.parametrize("zero", [0, 0.0, F(0)])
def test_a_uniform_times_nothing_is_a_number(zero):
    law = exact_law(lambda rng: (lambda u: (u < 0, u <= 0, u > 0, u >= 0, u + 1 <= 1, u < 1))(rng.random() * zero))
    assert law == {(False, True, False, True, True, True): 1}


@pytest.mark.parametrize("p", [[0.9, 0.1], np.array([0.9, 0.1])], ids=["list", "array"])
def test_an_input_that_changes_on_the_way_is_noticed(p):
    def late(p, rng):
        if rng.choice(2) == 0:
            p[:] = [0.5, 0.5]
            return 0
        return 1 + rng.choice(2, p=p)

    with pytest.raises(NotWalkable, match="changes its inputs in place"):
        exact_law(late, p)


def test_a_way_around_rng_is_noticed():
    with pytest.raises(NotWalkable, match="reaches around rng"):
        exact_law(lambda rng: np.random.Generator.random(rng) < 0.3)


def test_a_run_that_draws_without_end_is_given_up():
    def half(rng):
        while not rng.random() < 0.5:
            while True:
                rng.random()  # never compared, so it never branches
        return 1

    with pytest.raises(TooManyBranches) as stopped:
        exact_law(half, max_branches=500)
    assert (stopped.value.law, stopped.value.covered) == ({1: F(1, 2)}, F(1, 2))


def test_a_sampler_that_catches_everything_is_walked_the_same():
    def careless(rng):
        try:
            return geometric(F(1, 2), rng)
        except Exception:
            return -1

    with pytest.raises(TooManyBranches) as stopped:
        exact_law(careless, max_branches=500)
    assert stopped.value.law == {n: F(1, 2 ** (n + 1)) for n in range(len(stopped.value.law))}


def test_a_bare_except_counts_nothing_twice():
    def careless(rng):
        try:
            return geometric(F(1, 2), rng)
        except:  # noqa: E722 - as readers write it
            return -1

    try:
        law = exact_law(careless, max_branches=500)
    except TooManyBranches as stopped:
        law = stopped.law
    assert sum(law.values()) <= 1


# ---- a sampler whose randomness is not all in rng


def stateful():
    calls = itertools.count(2)
    return lambda rng: rng.choice(2, p=[1 / (n := next(calls)), 1 - 1 / n])


def wearing_out():
    law = np.array([0.5, 0.5])

    def sampler(rng):
        x = rng.choice(2, p=law)
        law[:] = law[0] / 2, 1 - law[0] / 2
        return x

    return sampler


def stops_drawing():
    calls = itertools.count()
    return lambda rng: rng.random() < 0.5 if next(calls) < 1 else 0


@pytest.mark.parametrize("sampler", [stateful(), wearing_out(), stops_drawing()])
def test_hidden_state_is_found(sampler):
    with pytest.raises(NotWalkable, match="given the same answers again, the sampler chose otherwise"):
        exact_law(sampler)


def test_a_change_of_the_inputs_is_found():
    def in_place(p, q, rng):
        x = rng.choice(len(q), p=q)
        if rng.random() * q[x] < p[x]:
            return x
        p -= np.minimum(p, q)
        return rng.choice(len(p), p=p / p.sum())

    with pytest.raises(NotWalkable, match="changes its inputs in place"):
        exact_law(in_place, np.array(P4), np.array(Q4))


@pytest.mark.parametrize(
    "sampler",
    [
        lambda rng: int(np.random.random() < 0.5),  # noqa: NPY002
        lambda rng: np.random.choice(2),  # noqa: NPY002
        lambda rng: int(random.random() < 0.5),
        lambda rng: rng.choice(2) if random.random() < 0.5 else rng.choice(3),
        lambda rng: np.random.seed(int(rng.integers(2))),  # noqa: NPY002
    ],
)
def test_global_random_state_is_named(sampler):
    with pytest.raises(NotWalkable, match=r"^the sampler draws from global random state \(np.random.… or the module"):
        exact_law(sampler)


def test_the_walk_itself_touches_no_global_state():
    before = random.getstate(), np.random.get_state()[2]  # noqa: NPY002
    exact_law(speculative, P4, Q4)
    assert before == (random.getstate(), np.random.get_state()[2])  # noqa: NPY002


def test_errors_of_the_sampler_come_through():
    with pytest.raises(ZeroDivisionError):
        exact_law(lambda rng: 1 // rng.integers(2))


# ---- errors of NumPy's generator, in its words


def error_of(run, *args):
    with pytest.raises(Exception) as caught:
        run(*args)
    return caught.type, str(caught.value)


def same_error(draw):
    kind, words = error_of(exact_law, draw)
    theirs, message = error_of(draw, np.random.default_rng(0))
    return kind is theirs and message.startswith(words)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.choice(3, p=[0.5, 0.5]),
        lambda rng: rng.choice(2, p=[1.5, -0.5]),
        lambda rng: rng.choice(2, p=[0.5, 0.4]),
        lambda rng: rng.choice(2, p=[0.5, 0.5 + 1e-7]),
        lambda rng: rng.choice(["a"], p=[0.5, 0.5]),
        lambda rng: rng.integers(3, 3),
    ],
)
def test_wrong_arguments_give_the_errors_of_numpy(draw):
    assert same_error(draw)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.integers(0),
        lambda rng: rng.choice(0),
        lambda rng: rng.choice([]),
        lambda rng: rng.choice(2.5),
        lambda rng: rng.choice(2, p=[math.nan, 1]),
        lambda rng: rng.choice(2, p=[[0.5, 0.5]]),
    ],
)
def test_more_wrong_arguments_give_the_errors_of_numpy(draw):
    assert same_error(draw)


def test_choice_takes_fractions_in_an_array():
    assert exact_law(DIRECT["choice"], np.array([QUARTER, 1 - QUARTER])) == {0: QUARTER, 1: 1 - QUARTER}


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_choice_takes_what_numpy_takes(kind):
    p = np.array([0.1, 0.2, 0.7], dtype=kind)
    p[2] += 0.5 * np.sqrt(np.finfo(kind).eps)
    np.random.default_rng(0).choice(3, p=p)
    weight = [F(float(x)) for x in p]
    np.testing.assert_allclose(
        exact_law(DIRECT["choice"], p).vector(3), [float(x / sum(weight)) for x in weight], rtol=1e-12
    )


# ---- the law as an object


def test_a_law_is_a_dict_that_can_be_mapped_and_measured():
    law = exact_law(categorical, P4)
    assert type(law) is Law and isinstance(law, dict) and list(law) == [0, 1, 2, 3]
    assert law.map(lambda x: x > 1) == {False: F(7, 10), True: F(3, 10)}
    assert law.vector(5).tolist() == [*P4, 0] and law.vector(5).dtype == np.float64
    assert law.total_variation(Q4) == law.total_variation(dict(enumerate(Q4))) == F(2, 5)
    assert law.total_variation(np.array(P4)) == law.total_variation(law) == 0
    assert law.total_variation([1.0]) == F(3, 5)  # shorter, longer: what is missing counts as 0
    assert Law({0: F(1)}).total_variation([0, 0.5, 0.5]) == Law({"a": F(1)}).total_variation({"b": 1}) == 1
    assert type(law.total_variation(Q4)) is F


def test_how_a_law_is_shown():
    assert repr(exact_law(categorical, P2)) == "{0: 7/10, 1: 3/10}"
    assert repr(Law({(1, 0): F(1, 3), (0, 1): F(2, 3)})) == "{(0, 1): 2/3, (1, 0): 1/3}"
    assert repr(Law({"b": F(1, 4), 1: F(1, 2), None: F(1, 4)})) == "{'b': 1/4, 1: 1/2, None: 1/4}"
    assert repr(Law({0: F(1, 3**15)})) == "{0: 6.96917e-08}"


# ---- numbers read as fractions


@pytest.mark.parametrize(
    ("number", "fraction"),
    [
        (0.1 + 0.2, F(3, 10)), (1 / 3, F(1, 3)), (0.7, F(7, 10)), (1 - 0.9, F(1, 10)), (-0.3, F(-3, 10)),
        (999_999 / 1_000_000, F(999_999, 1_000_000)), (123_457 / 999_983, F(123_457, 999_983)),
        (0.5 + 1e-9, F(0.5 + 1e-9)), (1e-20, F(1e-20)), (5e-324, F(5e-324)), (math.pi, F(math.pi)), (0.0, F(0)),
        (1e300, F(1e300)), (12_345_678.5, F(24_691_357, 2)),
        (3, F(3)), (True, F(1)), (F(1, 10**9), F(1, 10**9)), (2**70, F(2**70)),
        (np.float64(0.1), F(1, 10)), (np.float32(0.1), F(float(np.float32(0.1)))), (np.float32(0.25), F(1, 4)),
        (np.int64(3), F(3)), (np.array(0.1), F(1, 10)), (np.array([0.1]), F(1, 10)),
    ],
)  # fmt: skip
def test_how_a_number_is_read(number, fraction):
    assert as_fraction(number) == fraction and type(as_fraction(number)) is F


@steady
@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_small_fractions_survive_a_float(a, b):
    assert as_fraction(a / b) == F(a, b)
    assert as_fraction(a / b * 3 / 3) == F(a, b)


@steady
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_reading_is_far_off(x):
    assert abs(as_fraction(x) - F(x)) <= abs(F(x)) / 2**46


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float32("nan"), "0.5", None, 1j])
def test_what_is_no_finite_number_is_named(number):
    with pytest.raises(
        NotWalkable, match=r"is not a finite number, and a walk has to know every probability as a number$"
    ):
        as_fraction(number)
