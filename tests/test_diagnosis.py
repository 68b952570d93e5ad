"""The laws of known mistakes are those of samplers that make them."""

import numpy as np
import pytest

from specdec_kit import inverse_cdf
from specdec_kit.diagnosis import MISTAKES
from specdec_kit.law import exact_law
from specdec_kit.token_audit import CASES

SMALL = {name: tuple(map(np.array, pair)) for name, pair in CASES.items() if len(pair[0]) <= 8}


def lacking(p, q):
    rest = np.maximum(p - q, 0)
    return rest if rest.any() else p


def makes(instead=lacking, accepts=lambda u, p, q: u * q < p):
    """A sampler that is right but for the weights of its redraw, or for its test; None of `instead` redraws nothing."""

    def sampler(p, q, rng):
        x = int(inverse_cdf(q, rng.random()))
        if accepts(rng.random(), p[x], q[x]):
            return x
        return int(inverse_cdf(instead(p, q), rng.random())) if instead else "again"

    return sampler


MAKERS = {
    "It returns q": lambda p, q, rng: int(inverse_cdf(q, rng.random())),
    "a draw from p": makes(lambda p, q: p),
    "a new draw from q": makes(lambda p, q: q),
    "the likeliest token": makes(lambda p, q: np.arange(len(p)) == np.argmax(lacking(p, q))),
    "tries again": makes(None),
    "upside down": makes(accepts=lambda u, p, q: u * p < q),
    "softmax": makes(lambda p, q: np.exp(np.maximum(p - q, 0))),
    "|p − q|": makes(lambda p, q: np.abs(p - q) if (p != q).any() else p),
    "equal weights": makes(lambda p, q: np.ones(len(p))),
}


def test_every_mistake_has_a_sampler_that_makes_it():
    assert [sum(words in advice for advice in MISTAKES) for words in MAKERS] == [1] * len(MISTAKES)


@pytest.mark.parametrize("words", MAKERS)
def test_the_law_of_a_mistake_is_that_of_a_sampler_that_makes_it(words):
    [known] = [law for advice, law in MISTAKES.items() if words in advice]
    for name, (p, q) in SMALL.items():
        law = exact_law(MAKERS[words], p, q)
        seen = np.array([float(law.get(x, 0)) for x in range(len(p))])
        if seen.any():  # else it tries for ever
            np.testing.assert_allclose(known(p, q), seen / seen.sum(), atol=1e-9, err_msg=name)
