"""The checks of lesson 04's exercises: right answers pass, wrong ones are told why."""

import numpy as np
import pytest

from specdec_kit import categorical, inverse_cdf, overlap, selfcheck, speculative_sample
from specdec_kit.distributions import top_k
from specdec_kit.faults import GALLERY

# --- a sampler that passes the audit


def mended(p, q, rng):
    x = int(inverse_cdf(q, rng.random()))
    lacking = np.maximum(np.subtract(p, q), 0)
    if rng.random() * q[x] < p[x] or not lacking.any():
        return x
    return int(inverse_cdf(lacking, rng.random()))


def unmended(p, q, rng):
    """Lesson 02's solution."""
    x = int(np.searchsorted(np.cumsum(q), rng.random(), side="right"))
    if rng.random() * q[x] < p[x]:
        return x
    lacking = np.maximum(np.subtract(p, q), 0)
    return int(np.searchsorted(np.cumsum(lacking / lacking.sum()), rng.random(), side="right"))


@pytest.mark.parametrize("sampler", [mended, lambda p, q, rng: speculative_sample(p, q, rng=rng).tokens])
def test_a_sampler_that_is_mended_passes(sampler):
    verdict = selfcheck.check_audited(sampler)
    assert verdict and "passes the audit, " in verdict.says


@pytest.mark.parametrize(
    ("sampler", "advice"),
    [
        (unmended, "0/0 is no law"),
        (lambda p, q, rng: categorical(q, rng), "It returns q"),
        (GALLERY["accepts_at_zero"].sampler, "At u = 0 it returns a token with p = 0"),
        (GALLERY["clamped_residual"].sampler, "clamped at 1e-5"),
        (lambda p, q: 0, "positional argument"),
        ([0.5, 0.5], "is not callable: pass the function itself."),
    ],
)
def test_a_sampler_that_is_not_mended_is_told_why(sampler, advice):
    verdict = selfcheck.check_audited(sampler)
    assert not verdict and advice in verdict.says


# --- the best cut


def overlaps(p, q, cut=top_k):
    return np.round([overlap(p, cut(q, k)) for k in range(1, len(p) + 1)], 12)


def test_the_best_cut_passes():
    assert selfcheck.check_best_cut(lambda p, q: np.argmax(overlaps(p, q)) + 1)
    assert selfcheck.check_best_cut(lambda p, q: max(range(1, len(p) + 1), key=lambda k: (overlaps(p, q)[k - 1], -k)))


@pytest.mark.parametrize(
    ("best_cut", "advice"),
    [
        (lambda p, q: len(p), "top_k(q, k) is divided by its sum"),
        (lambda p, q: int(np.argmax(overlaps(p, q))), "argmax counts from 0"),
        (lambda p, q: int(np.argmin(overlaps(p, q))) + 1, "the cut with the least overlap"),
        (
            lambda p, q: int(np.argmax([overlap(top_k(p, k), top_k(q, k)) for k in range(1, len(p) + 1)])) + 1,
            "Both sides are cut",
        ),
        (lambda p, q: len(p) - int(np.argmax(overlaps(p, q)[::-1])), "Of equal overlaps the smallest k"),
        (lambda p, q: 0.5, "is due; yours is 0.5"),
    ],
)
def test_another_cut_is_told_why(best_cut, advice):
    verdict = selfcheck.check_best_cut(best_cut)
    assert not verdict and advice in verdict.says


# --- a pair that hides a fault, and one that shows it

HIDING, SHOWING = ([0.4, 0.4, 0.2], [0.6, 0.2, 0.2]), ([0.7, 0.3], [0.4, 0.6])


def checked(*pairs):
    return selfcheck.check_argmax_pairs(lambda: pairs, GALLERY["tests_argmax"].sampler)


@pytest.mark.parametrize("hiding", [HIDING, ([0.5, 0.5], [0.9, 0.1]), ([1, 0], [1 / 2, 1 / 2])])
def test_pairs_that_hide_and_show_pass(hiding):
    # One-hot p hides nothing: a surplus token is then not the likeliest.
    assert bool(checked(hiding, SHOWING)) == (hiding[0][0] < 1)


@pytest.mark.parametrize(
    ("pairs", "advice"),
    [
        ((SHOWING, SHOWING), "The first pair shows the fault as well"),
        ((HIDING, HIDING), "The second pair hides the fault as well"),
        ((SHOWING, HIDING), "The pairs are the wrong way round"),
        ((([0.5, 0.5], [0.5, 0.5]), SHOWING), "each pair is to have p ≠ q"),
        ((([0.5, 0.6], [0.5, 0.5]), SHOWING), "InvalidDistribution"),
        ((SHOWING,), "ValueError"),
    ],
)
def test_pairs_that_do_not_are_told_why(pairs, advice):
    verdict = checked(*pairs)
    assert not verdict and advice in verdict.says


def test_what_is_not_written_yet_says_so():
    def gap(*_):
        raise NotImplementedError

    assert selfcheck.check_audited(gap).says == "gap is not written yet."
    assert selfcheck.check_best_cut(gap).says == "gap is not written yet."
    assert selfcheck.check_argmax_pairs(gap, GALLERY["tests_argmax"].sampler).says == "gap is not written yet."


def test_pairs_over_many_tokens_are_not_walked():
    many = [1 / 4096] * 4096
    verdict = checked((many, many[::-1]), SHOWING)
    assert not verdict and "a pair has 4096 tokens: ten are enough" in verdict.says
