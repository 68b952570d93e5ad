"""Self-checks pass what is right in whatever style it is written, and give advice, not a traceback, on what is not."""

import bisect
import random
from fractions import Fraction
from functools import partial
from itertools import accumulate

import numpy as np
import pytest

from specdec_kit import categorical, diagnosis, inverse_cdf, selfcheck, speculative_sample
from specdec_kit.lines import WIDTH, wrapped

# --- samplers that are right, in the styles that readers write -------------------------------------------------------


def by_choice(p, q, rng):
    x = rng.choice(len(q), p=q)
    if rng.random() < min(1, p[x] / q[x]):
        return x
    r = np.maximum(p - q, 0)
    return rng.choice(len(p), p=r / r.sum())


def by_searchsorted(p, q, rng):
    x = np.searchsorted(np.cumsum(q), rng.random(), side="right")
    if rng.random() * q[x] < p[x]:
        return x
    r = np.maximum(p - q, 0)
    return np.searchsorted(np.cumsum(r), rng.random() * r.sum(), side="right")


def by_loops(p, q, rng):
    def draw(law):
        u, below = rng.random(), 0
        for token, mass in enumerate(law):
            below += mass
            if u < below:
                return token
        return max(token for token, mass in enumerate(law) if mass)

    x = draw(q)
    if rng.random() * q[x] >= p[x]:
        lack = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
        x = draw([mass / sum(lack) for mass in lack])
    return x


def by_bisect(p, q, rng):
    p, q = p.tolist(), q.tolist()
    x = bisect.bisect(list(accumulate(q)), rng.random())
    if rng.random() < p[x] / q[x]:
        return x
    ends = list(accumulate(max(a - b, 0) for a, b in zip(p, q, strict=True)))
    return bisect.bisect([end / ends[-1] for end in ends], rng.random())


def by_recursion(p, q, rng):
    def first(law, u, token=0):
        return token if u < law[token] or token == len(law) - 1 else first(law, u - law[token], token + 1)

    x = first(q, rng.random())
    if rng.random() * q[x] < p[x]:
        return x
    r = (p - q).clip(0)
    return first(r / r.sum(), rng.random())


def three_at_once(p, q, rng):
    draft, test, residual = rng.random(size=3)
    x = int(inverse_cdf(q, draft))
    return x if test * q[x] < p[x] else int(inverse_cdf(np.maximum(p - q, 0), residual))


def by_fractions(p, q, rng):
    p, q = ([Fraction(float(x)).limit_denominator(1000) for x in law] for law in (p, q))
    x = int(rng.choice(len(q), p=q))
    if rng.random() < min(Fraction(1), p[x] / q[x]):
        return x
    r = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
    return int(rng.choice(len(p), p=[x / sum(r) for x in r]))


def one_uniform_recycled(p, q, rng):
    """What is left of the test's uniform after a rejection, stretched to [0, 1) again, is as good as a fresh one."""
    x = rng.choice(len(q), p=q)
    u, keep = rng.random(), min(1, p[x] / q[x])
    if u < keep:
        return x
    r = np.maximum(p - q, 0)
    return np.searchsorted(np.cumsum(r / r.sum()), (u - keep) / (1 - keep), side="right")


def by_rng_uniform(p, q, rng):
    x = rng.choice(len(q), p=q)
    if rng.uniform(0, q[x]) < p[x]:
        return x
    r = np.maximum(p - q, 0)
    return np.searchsorted(np.cumsum(r / r.sum()), rng.uniform(), side="right")


def more_uniforms_than_it_needs(p, q, rng):
    u = rng.random(12)
    x = np.searchsorted(np.cumsum(q), u[0], side="right")
    r = np.maximum(p - q, 0)
    return x if u[1] * q[x] < p[x] else np.searchsorted(np.cumsum(r / r.sum()), u[11], side="right")


def by_the_kit(p, q, rng):
    return speculative_sample(p, q, rng=rng).tokens


RIGHT = [
    by_choice, by_searchsorted, by_loops, by_bisect, by_recursion, three_at_once, by_fractions,
    one_uniform_recycled, by_rng_uniform, more_uniforms_than_it_needs, by_the_kit,
]  # fmt: skip
NO_SCRIPT = {by_rng_uniform}  # it asks for what a script of uniforms cannot answer


@pytest.mark.parametrize("sampler", RIGHT, ids=lambda f: f.__name__)
def test_a_right_sampler_passes_in_any_style(sampler):
    verdict = selfcheck.check_sampler(sampler)
    boundary = "" if sampler in NO_SCRIPT else ", and forbids p = 0 at u = 0"
    said = f"passed: {sampler.__name__} returns p exactly on 10 pairs{boundary}."
    assert verdict and repr(verdict) == wrapped(said) and max(map(len, repr(verdict).split("\n"))) <= WIDTH


def test_what_cannot_be_walked_is_counted():
    says = "returns p on 10 pairs, as far as counting can tell."
    assert selfcheck.check_sampler(residual_by_rejection).says == f"residual_by_rejection {says}"


def test_a_right_sampler_without_a_name_passes():
    sampler = partial(lambda lead, p, q, rng: by_choice(p, q, rng), None)
    assert repr(selfcheck.check_sampler(sampler)).startswith("passed: your function returns p exactly")


# --- samplers that are wrong -----------------------------------------------------------------------------------------


def wrong(instead, accepts=lambda u, p, q: u * q < p):
    """A sampler that is right but for its test, or for what it does on a rejection."""

    def sampler(p, q, rng):
        x = rng.choice(len(q), p=q)
        return x if accepts(rng.random(), p[x], q[x]) else instead(x, p, q, rng)

    return sampler


def from_residual(x, p, q, rng):
    r = np.maximum(p - q, 0)
    return rng.choice(len(p), p=r / r.sum())


def softmaxed(x, p, q, rng):
    r = np.exp(np.maximum(p - q, 0))
    return rng.choice(len(p), p=r / r.sum())


def surplus(x, p, q, rng):
    r = np.maximum(q - p, 0)
    return rng.choice(len(p), p=r / r.sum())


def again(x, p, q, rng):
    return tries_again(p, q, rng)


tries_again = wrong(again)


def tries_again_in_a_loop(p, q, rng):
    while True:
        x = rng.choice(len(q), p=q)
        if rng.random() * q[x] < p[x]:
            return x


# On p = [.4, .4, .2], q = [.2, .1, .7]: min(p, q) = [.2, .1, .2], 0.5 is rejected, the residual is [.4, .6, 0].
MISTAKES = {
    "draft": (wrong(lambda x, p, q, rng: x), "It returns q: the draft whatever the test says", "0.2, 0.1, 0.7"),
    "surplus": (wrong(surplus), "or a residual (q − p)₊ where (p − q)₊ is due", "0.2, 0.1, 0.7"),
    "from p": (
        wrong(lambda x, p, q, rng: rng.choice(len(p), p=p)),
        "replaced by a draw from p; draw it from the residual",
        "0.4, 0.3, 0.3",
    ),
    "from q": (
        wrong(lambda x, p, q, rng: rng.choice(len(q), p=q)),
        "replaced by a new draw from q; draw it from the residual",
        "0.3, 0.15, 0.55",
    ),
    "again": (tries_again, "It tries again until a draft is accepted", "0.4, 0.2, 0.4"),
    "loop": (tries_again_in_a_loop, "never repays the rejected mass", "0.4, 0.2, 0.4"),
    # Kept are .2 · 1/2, .1 · 1/4 and .7; the residual gives .4 of the .175 that is missing to A, .6 to B.
    "inverted": (
        wrong(from_residual, lambda u, p, q: u * p < q),
        "The ratio is upside down: accept with min(1, p/q)",
        "0.17, 0.13, 0.7",
    ),
    "likeliest": (
        wrong(lambda x, p, q, rng: int(np.argmax(p - q))),
        "replaced by the likeliest token of p or of the residual",
        "0.2, 0.6, 0.2",
    ),
    "absolute": (
        wrong(lambda x, p, q, rng: rng.choice(len(p), p=np.abs(p - q) / np.abs(p - q).sum())),
        "The residual is |p − q|",
        "0.3, 0.25, 0.45",
    ),
    "equal": (
        wrong(lambda x, p, q, rng: rng.integers(len(p))),
        "redrawn from equal weights",
        "0.366667, 0.266667, 0.366667",
    ),
    # e^.2, e^.3 and 1 sum to 3.57126: .2 + .5 · 1.22140/3.57126, …
    "softmax": (
        wrong(softmaxed),
        "The residual goes through softmax; divide it by its sum",
        "0.371004, 0.288989, 0.340007",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_known_mistake_gets_its_own_advice(name):
    sampler, words, law = MISTAKES[name]
    verdict = selfcheck.check_sampler(sampler)
    assert not verdict and verdict.passed is False
    assert words in verdict.says
    assert sum(advice in verdict.says for advice in diagnosis.MISTAKES) == 1
    on = "on p = [0.4, 0.4, 0.2], q = [0.2, 0.1, 0.7] due [0.4, 0.4, 0.2], yours"
    assert verdict.says.endswith(f"({on} [{law}])")


def test_every_piece_of_advice_is_given_to_somebody():
    said = {
        verdict.says.partition(" (on ")[0] for verdict in (selfcheck.check_sampler(f) for f, *_ in MISTAKES.values())
    }
    assert said == diagnosis.MISTAKES.keys()


def in_place(p, q, rng):
    x = rng.choice(len(q), p=q)
    if rng.random() * q[x] < p[x]:
        return x
    p -= q
    p[p < 0] = 0
    p /= p.sum()
    return rng.choice(len(p), p=p)


def sorts_its_inputs(p, q, rng):
    x = by_choice(p, q, rng)
    p.sort()
    return x


def unnormalised_choice(x, p, q, rng):
    return rng.choice(len(p), p=np.maximum(p - q, 0))


def unnormalised_searchsorted(x, p, q, rng):
    return np.searchsorted(np.cumsum(np.maximum(p - q, 0)), rng.random(), side="right")


def numpys_global_state(p, q, rng):
    x = rng.choice(len(q), p=q)
    return x if np.random.random() * q[x] < p[x] else from_residual(x, p, q, rng)  # noqa: NPY002


def pythons_global_state(p, q, rng):
    return random.choices(range(len(p)), weights=p)[0]


def left_side(p, q, rng):
    x = np.searchsorted(np.cumsum(q), rng.random())
    r = np.maximum(p - q, 0)
    return x if rng.random() * q[x] < p[x] else np.searchsorted(np.cumsum(r / r.sum()), rng.random())


def endless(p, q, rng):
    while True:
        rng.choice(len(q), p=q)


def residual_by_rejection(p, q, rng):
    """Right, and not to be walked: its loop doubles the branches each time, and may go on for any time."""
    x = categorical(q, rng)
    if rng.random() * q[x] < p[x]:
        return x
    while True:
        y = categorical(p, rng)
        if rng.random() * p[y] < p[y] - q[y]:
            return y


def draft_if_nothing_is_kept(p, q, rng):
    return by_choice(p, q, rng) if np.minimum(p, q).any() else rng.choice(len(q), p=q)


FAULTS = {
    "stub": (lambda p, q, rng: (_ for _ in ()).throw(NotImplementedError()), "is not written yet"),
    "in place": (in_place, "It changes p or q in place; work on a copy"),
    "in place, late": (sorts_its_inputs, "It changes p or q in place; work on a copy"),
    "name": (lambda p, q, rng: "AB"[0], "It returns 'A', which is no token: return a number from 0 to 2"),
    "out of range": (lambda p, q, rng: len(p), "It returns 3, which is no token: return a number from 0 to 2"),
    "negative": (lambda p, q, rng: -1, "It returns -1, which is no token"),
    "none": (lambda p, q, rng: None, "It returns None, which is no token"),
    "half": (lambda p, q, rng: 0.5, "It returns 0.5, a float, which is no token"),
    "pair": (lambda p, q, rng: (0, True), "It returns (0, True), which is no token"),
    "law": (lambda p, q, rng: dict(enumerate(p)), "which is no token"),
    "uniform": (lambda p, q, rng: rng.random(), "a float, which is no token"),
    "raises": (lambda p, q, rng: p[9], "It raises IndexError: index 9 is out of bounds"),
    "typo": (lambda p, q, rng: rng.rand(), "has no attribute 'rand'"),
    "arguments": (lambda p, q: 0, "It raises TypeError"),
    "normal": (lambda p, q, rng: int(rng.normal() > 0), "Where p = q every draft is to be kept"),
    "float": (lambda p, q, rng: int(float(rng.random()) < p[0]), "Where p = q every draft is to be kept"),
    "at u = 0": (
        wrong(from_residual, lambda u, p, q: u * q <= p),
        "At u = 0 it returns a token with p = 0: accept strictly, u · q < p or u < p/q",
    ),
    "at u = 0, by ratio": (wrong(from_residual, lambda u, p, q: u <= p / q), "accept strictly"),
    "at u = 0, by side": (left_side, "whose cumulative probability exceeds u"),
    "choice unnormalised": (wrong(unnormalised_choice), "Probabilities do not sum to 1"),
    "searchsorted unnormalised": (
        wrong(unnormalised_searchsorted),
        "It returns np.int64(2), which is no token: return a number from 0 to 1",
    ),
    "np.random": (numpys_global_state, "global random state"),
    "random": (pythons_global_state, "global random state"),
    "own seed": (lambda p, q, rng: by_choice(p, q, np.random.default_rng(7)), "It returns the same token every time"),
    "no overlap": (
        draft_if_nothing_is_kept,
        "p = [0, 0, 0.5, 0.5], q = [0.5, 0.5, 0, 0] due [0, 0, 0.5, 0.5], yours [0.5,",
    ),
    "endless": (endless, "It has not returned after 1 seconds: every loop needs an end"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FAULTS)
def test_whatever_is_wrong_becomes_advice(name):
    sampler, words = FAULTS[name]
    verdict = selfcheck.check_sampler(sampler)
    assert repr(verdict).startswith("not yet: ") and words in verdict.says


def test_an_endless_loop_in_one_branch_is_ended():
    def sampler(p, q, rng):  # returns 0 with probability p[0], else never
        while rng.random() >= p[0]:
            endless(p, q, rng)
        return 0

    verdict = selfcheck.check_sampler(sampler)
    assert "It has not returned after 1 seconds" in verdict.says


def test_a_sampler_that_is_not_callable_gets_a_sentence():
    assert "is not callable" in selfcheck.check_sampler(None).says


# --- the exercises ---------------------------------------------------------------------------------------------------


def returns(value):
    return lambda *arguments: value


MALFORMED = [None, [], "seven", ["A", "B"], [0.5] * 7, float("nan"), {}, [[0.7, 0.3]], ([0.7], [0.7, 0.3]), [None] * 2,
             np.array(["A", "B", "C"]), [-1, 2], np.random.default_rng(1), object()]  # fmt: skip
CHECKS = [
    selfcheck.check_die, selfcheck.check_account, selfcheck.check_half_accepted, selfcheck.check_inverted,
    selfcheck.check_blind_pair, selfcheck.check_draws_needed, selfcheck.check_two_tokens,
    partial(selfcheck.check_hidden_reuse, sampler=by_the_kit), selfcheck.check_sampler,
]  # fmt: skip


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: getattr(f, "__name__", "check_hidden_reuse"))
def test_no_answer_makes_a_check_raise(check):
    def stub(*arguments):
        raise NotImplementedError

    def broken(*arguments):
        return 1 / 0

    assert repr(check(stub)) == "not yet: stub is not written yet."
    assert "it raises ZeroDivisionError: division by zero" in check(broken).says.replace("It", "it")
    assert not check(None) and not check(lambda: None) and not check(partial(returns(None)))
    for value in MALFORMED:
        verdict = check(returns(value))
        assert not verdict and verdict.says, value


def judge(check, function, words):
    """A check's verdict: passed where no words are given, else advice with these words in it."""
    verdict = check(function)
    assert bool(verdict) == (words is None), verdict
    assert (" is right" if words is None else words) in verdict.says


def rolled_until_it_fits(rng):
    while True:
        face = int(rng.integers(11))
        if face:
            return min(face, 6)


@pytest.mark.parametrize(
    ("die", "words"),
    [
        (lambda rng: 6 if rng.random() < 0.5 else int(rng.integers(1, 6)), None),
        (lambda rng: rng.choice([1, 2, 3, 4, 5, 6], p=[0.1] * 5 + [0.5]), None),
        (lambda rng: 1 + np.searchsorted(np.arange(1, 6) / 10, rng.random(), side="right"), None),
        (lambda rng: min(6, 1 + int(10 * rng.random())), None),
        (lambda rng: min(6, rng.integers(1, 10, endpoint=True)), None),
        (rolled_until_it_fits, None),
        (lambda rng: int(rng.integers(1, 7)), "This die is fair"),
        (lambda rng: rng.choice(6, p=[0.1] * 5 + [0.5]), "The faces run from 0 to 5: add one."),
        (lambda rng: min(5, int(10 * rng.random())), "The faces run from 0 to 5: add one."),
        (lambda rng: 6 if rng.random() < 0.6 else int(rng.integers(1, 6)), "yours is {1: 2/25,"),
        (lambda rng: random.choice([1, 2, 3, 4, 5, 6, 6, 6, 6, 6]), "global random state"),
        (
            endless_die := lambda rng: endless([1], [0.5, 0.5], rng),
            "it has still not returned with probability 1: a loop",
        ),
    ],
)
def test_the_die(die, words):
    judge(selfcheck.check_die, die, words)


def account(p, q):
    kept = [min(pair) for pair in zip(p, q, strict=True)]
    return (sum(kept), *p)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (account, None),
        (lambda p, q: np.concatenate([[np.minimum(p, q).sum()], np.minimum(p, q) + np.maximum(p - q, 0)]), None),
        (lambda p, q: [1 - abs(p - q).sum() / 2, *p], None),
        (lambda p, q: [np.minimum(p, q).sum(), *np.minimum(p, q)], "The rejected mass is missing: add (p − q)₊"),
        (lambda p, q: [np.minimum(p, q).sum(), *q], "is due; yours is [0.7, 0.3, 0.7]"),
        (lambda p, q: [1 - np.minimum(p, q).sum(), *p], "[0.7, 0.6, 0.4] is due; yours is [0.3, 0.6, 0.4]"),
        (lambda p, q: [np.minimum(p, q).sum(), p], "[0.7, 0.6, 0.4] is due"),
        (lambda p, q: [0.7, 0.6, 0.4], "on [0.7, 0.3], [0.4, 0.6]"),
        (lambda p, q: [min(p[0], q[0]) + min(p[1], q[1]), p[0], p[1]], "[0.6, 0.4, 0.3, 0.2, 0.1] is due"),
    ],
)
def test_the_account(answer, words):
    judge(selfcheck.check_account, answer, words)


@pytest.mark.parametrize(
    ("q", "words"),
    [
        ([0.2, 0.8], None),
        ((Fraction(1, 5), Fraction(4, 5)), None),
        (np.array([1, 4]) / 5, None),
        ([0.7, 0.3], "That is p itself, and all of it is accepted"),
        ([0.8, 0.2], "0.5 is due; yours is 0.9"),
        ([0, 1], "0.5 is due; yours is 0.3"),
        ([0.2, 0.7], "InvalidDistribution: q sums to 0.8999999999999999"),
        ([0.2, 0.3, 0.5], "q has shape (3,)"),
        (0.2, "InvalidDistribution: q is empty or a single number"),
    ],
)
def test_the_half_accepted_draft(q, words):
    judge(selfcheck.check_half_accepted, returns(q), words)


def inverted_by_loops(p, q, rng):
    u, x = rng.random(), 0
    while u >= q[x]:
        u, x = u - q[x], x + 1
    if p[x] == 0 or rng.random() < min(1, q[x] / p[x]):
        return x
    return int(inverse_cdf([max(a - b, 0) for a, b in zip(p, q, strict=True)], rng.random()))


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (wrong(from_residual, lambda u, p, q: u * p < q), None),
        (wrong(from_residual, lambda u, p, q: not p or u < q / p), None),
        (inverted_by_loops, None),
        (by_choice, "That is the right rule, which returns p: here the ratio is to be q/p."),
        (by_searchsorted, "That is the right rule"),
        (wrong(surplus, lambda u, p, q: u * p < q), ""),
        (lambda p, q, rng: rng.choice(len(p), p=q), "is due; yours is {0: 1/5, 1: 1/10, 2: 7/10}"),
    ],
)
def test_the_inverted_sampler(sampler, words):
    judge(selfcheck.check_inverted, sampler, words)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (([1, 0], [0.5, 0.5]), None),
        (([0, 1, 0], [0.25, 0.5, 0.25]), None),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), None),  # nothing is accepted: the shortcut draws from p
        (([0.5, 0.5, 0], [0.25, 0.25, 0.5]), None),
        # Kept are .4 and .3; 0.3 · p = [.21, .09] comes on top.
        (([0.7, 0.3], [0.4, 0.6]), "on this pair the shortcut returns [0.61, 0.39], where p is [0.7, 0.3]."),
        (([0.7, 0.3], [0.7, 0.3]), "p = q, so that nothing is rejected"),
        (([0.7, 0.2, 0.1], [0.7, 0.2, 0.1]), "p = q, so that nothing is rejected"),  # 0.7 + 0.2 + 0.1 < 1 in floats
        (([1, 0], [1 - 1e-12, 1e-12]), "p = q, so that nothing is rejected"),
        (([1, 0], [0.5, 0.4]), "InvalidDistribution: q sums to 0.9"),
        (([1, 0], [0.5, 0.25, 0.25]), "over the same vocabulary"),
        (([1, 0],), "not enough values to unpack"),
    ],
)
def test_the_blind_pair(pair, words):
    judge(selfcheck.check_blind_pair, returns(pair), words)


def counted_up(p, width):
    n = 1
    while 4 * p * (1 - p) > n * width**2 * (1 + 1e-12):
        n += 1
    return n


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (counted_up, None),
        (lambda p, width: int(np.ceil(round(4 * p * (1 - p) / width**2, 6))), None),
        (lambda p, width: np.float64(-(-round(4e6 * p * (1 - p) / width**2) // 1e6)), None),
        (lambda p, width: round(p * (1 - p) / width**2), "That is for one standard error; the width is to hold two."),
        (lambda p, width: 4 * p * (1 - p) / width, "on 0.5, 0.1 100 is due; yours is 10."),
        (lambda p, width: 1 / width**2, "on 0.7, 0.01 8400 is due; yours is 10000."),
        (lambda p, width: 1 + int(4 * p * (1 - p) / width**2), "is due; yours is"),
    ],
)
def test_the_draws_needed(answer, words):
    judge(selfcheck.check_draws_needed, answer, words)


def same_numbers(p, q, rng):
    u = rng.random(size=3)
    stream = type("Stream", (), {"random": lambda self, size: u})()
    return three_at_once(p, q, stream), three_at_once(p, q, stream)


@pytest.mark.parametrize(
    ("two_tokens", "words"),
    [
        (lambda p, q, rng: (by_choice(p, q, rng), by_choice(p, q, rng)), None),
        (lambda p, q, rng: [three_at_once(p, q, rng) for _ in range(2)], None),
        (lambda p, q, rng: np.array([by_loops(p, q, rng), by_bisect(p, q, rng)]), None),
        (lambda p, q, rng: tuple(speculative_sample(p, q, 2, rng=rng).tokens), None),
        (same_numbers, "Both tokens come from the same random numbers, so that they are always equal"),
        (lambda p, q, rng: (by_choice(p, q, rng),) * 2, "Both tokens come from the same random numbers"),
        (lambda p, q, rng: (by_choice(p, q, rng), rng.choice(len(q), p=q)), "is due; yours is"),
        (by_choice, "is due; yours is {0: 2/5, 1: 2/5, 2: 1/5}"),
        (lambda p, q, rng: (by_choice(p, q, rng), "B"), "is due; yours is"),
    ],
)
def test_the_two_tokens(two_tokens, words):
    judge(selfcheck.check_two_tokens, two_tokens, words)


def residual_reuses_test(p, q, rng):
    draft, test = rng.random(2)
    x = int(inverse_cdf(q, draft))
    return x if test * q[x] < p[x] else int(inverse_cdf(np.maximum(np.subtract(p, q), 0), test))


HIDES, SHOWS = ([0.7, 0.2, 0.1], [0.4, 0.3, 0.3]), ([0.4, 0.4, 0.2], [0.2, 0.1, 0.7])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ((HIDES, SHOWS), None),
        ([np.array(HIDES), np.array(SHOWS)], None),
        ((([0.5, 0.25, 0.25], [0.25, 0.5, 0.25]), ([0.5, 0.25, 0.25], [0, 0.125, 0.875])), None),
        ((SHOWS, SHOWS), "The first pair shows the fault as well; how many tokens may its residual have?"),
        ((HIDES, HIDES), "The second pair hides the fault as well; how many tokens must its residual have?"),
        ((SHOWS, HIDES), "The pairs are the wrong way round"),
        ((([0.7, 0.2, 0.1], [0.7, 0.2, 0.1]), SHOWS), "p ≠ q, so that some drafts are rejected."),
        ((HIDES, ([0.7, 0.3], [0.4, 0.6])), "each pair is to have three tokens"),
        ((HIDES,), "not enough values to unpack"),
        ((HIDES, ([0.4, 0.4, 0.2], [0.2, 0.1, 0.6])), "InvalidDistribution: q sums to 0.9"),
    ],
)
def test_the_hidden_reuse(pairs, words):
    judge(partial(selfcheck.check_hidden_reuse, sampler=residual_reuses_test), returns(pairs), words)


# --- check itself ----------------------------------------------------------------------------------------------------


def test_a_verdict_counts_the_cases_and_names_the_one_that_fails():
    cases = [(1,), (2,), (3,)]
    assert repr(selfcheck.check(abs, cases, lambda x: x)) == "passed: abs is right on 3 cases."
    assert repr(selfcheck.check(abs, cases[:1], lambda x: x)) == "passed: abs is right."
    assert repr(selfcheck.check(lambda x: min(x, 2), cases, lambda x: x)) == "not yet: on 3 3 is due; yours is 2."
    assert "on 1 2 is due; yours is 1" in selfcheck.check(lambda x: x, cases, lambda x: 2 * x).says


def test_the_difference_allowed_is_that_of_rounding():
    assert selfcheck.check(lambda: 1 + 1e-10, [()], lambda: 1)
    assert not selfcheck.check(lambda: 1 + 1e-8, [()], lambda: 1)
    assert not selfcheck.check(lambda: float("nan"), [()], lambda: 1)
