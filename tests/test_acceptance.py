"""Tokens a round: the closed form against the exact law, and tallies against rounds counted by hand."""

from fractions import Fraction as F
from math import isnan

import numpy as np
import pytest

from specdec_kit.acceptance import by_place, expected_tokens, tally
from specdec_kit.blocks import Round, speculative_decode, speculative_round
from specdec_kit.law import exact_law


def always(*law):
    return lambda context: law


@pytest.mark.parametrize("gamma", [0, 1, 2, 4])
def test_the_mean_length_of_a_round_is_the_closed_form(gamma):
    p, q = always(F(7, 10), F(3, 10)), always(F(2, 5), F(3, 5))  # Σ min(p, q) = 7/10
    law = exact_law(speculative_round, p, q, (), gamma)
    alpha = F(7, 10)
    assert expected_tokens(alpha, gamma) == sum(len(block) * mass for block, mass in law.items())
    assert expected_tokens(alpha, gamma) == (1 - alpha ** (gamma + 1)) / (1 - alpha)


def test_the_ends_and_arrays():
    assert expected_tokens(1, 3) == 4 and expected_tokens(0, 3) == 1 and expected_tokens(F(1, 2), 1) == F(3, 2)
    assert expected_tokens(np.array([0.0, 0.5, 1.0]), 2).tolist() == [1, 1.75, 3]


@pytest.mark.parametrize("alpha", [-0.1, 1.1, F(3, 2), np.array([0.5, 2.0]), float("nan")])
def test_an_alpha_that_is_no_chance_is_named(alpha):
    with pytest.raises(ValueError, match=r"^alpha is .*: give the chance that a draft passes, from 0 to 1"):
        expected_tokens(alpha, 2)


@pytest.mark.parametrize("gamma", [-1, 1.5, None])
def test_a_gamma_that_is_no_number_is_named(gamma):
    with pytest.raises(ValueError, match=f"^gamma is {gamma}: give a whole number of drafts, at least 0"):
        expected_tokens(0.5, gamma)


ROUNDS = [
    Round((1, 1, 1), 3, (1, 1, 1, 0), "all accepted"),
    Round((1, 1, 1), 1, (1, 0), "rejection"),
    Round((1, 1, 1), 0, (0,), "rejection"),
    Round((1,), 1, (1,), "end of sequence"),
    Round((), 0, (0,), "all accepted"),
]


def test_a_tally_by_hand():
    total = tally(ROUNDS)
    assert total == (5, 10, 3 + 2 + 1 + 1, 5, 9)
    assert (total.alpha, total.accepted_per_drafted, total.tokens_per_round) == (5 / 7, 0.5, 9 / 5)
    assert by_place(ROUNDS) == ([4, 2, 1], [3, 1, 1])


def test_nothing_to_tally_is_not_a_number():
    assert all(isnan(x) for x in (tally([]).alpha, tally([]).accepted_per_drafted, tally([]).tokens_per_round))
    assert tally(ROUNDS[-1:]).tokens_per_round == 1 and isnan(tally(ROUNDS[-1:]).alpha)
    assert by_place(ROUNDS[-1:]) == ([], [])


def test_accepted_per_drafted_falls_with_gamma_and_alpha_does_not():
    # α = .8 at each place. Of γ = 5 drafts (.8 + … + .8^5) / 5 = .538 pass; of those tested, .8.
    p, q = always(0.8, 0.2), always(1.0, 0.0)
    shares = {}
    for gamma in (1, 5):
        done = speculative_decode(
            p, q, (), gamma=gamma, max_new_tokens=20_000, rng=np.random.default_rng(gamma), shrink=False
        )
        total = tally(done.rounds)
        error = (0.8 * 0.2 / total.tested) ** 0.5
        assert abs(total.alpha - 0.8) < 5 * error
        shares[gamma] = total.accepted_per_drafted
    assert abs(shares[5] - sum(0.8**n for n in range(1, 6)) / 5) < 0.02 and shares[1] - shares[5] > 0.2
