"""The gallery against output laws derived by hand, and against what each kind claims."""

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from scipy import stats

from specdec_kit import total_variation
from specdec_kit.faults import GALLERY, draws_to_see
from specdec_kit.streams import Scripted

P, Q = (0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4)

# Σ min = .6 and the residual is (.75, .25, 0, 0), so that most laws are "accepted + rejected × what is drawn instead".
LAWS = {
    "softmax_residual": (0.221, 0.299, 0.290, 0.190),
    "redraws_target": (0.26, 0.32, 0.28, 0.14),
    "clamped_residual": (0.1 + 0.12 / 0.40002, 0.2 + 0.04 / 0.40002, 0.2 + 4e-6 / 0.40002, 0.1 + 4e-6 / 0.40002),
    "inverted_ratio": (0.131, 0.169, 0.3, 0.4),
    "tests_argmax": Q,
    "argmax_draft": (0.5625, 0.1875, 0, 0.25),
    "top_two_draft": (3 / 7, 1 / 7, 2 / 7, 1 / 7),
    "reuses_test": (0.325, 0.375, 0.2, 0.1),
    "reuses_draft": (0.4, 0.3, 0.3, 0),  # D is drafted by u ≥ .6, and kept by u < .25
    "u_is_zero": Q,
    "typical_acceptance": Q,
    "lenient": (0.25, 0.25, 0.3, 0.2),
    "accepts_at_zero": P,
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
    assert (max(off) > 0) == (fault.kind in ("wrong", "lossy"))


def test_the_boundary_is_met_by_a_script_alone():
    p, q = (0.0, 1.0), (1.0, 0.0)
    forbidden = {f.name for f in GALLERY.values() if f.walkable and f.sampler(p, q, Scripted([0.0] * 3)) == 0}
    assert {f.name for f in GALLERY.values() if f.kind == "boundary"} <= forbidden
    assert not forbidden & {f.name for f in GALLERY.values() if f.kind == "exact"}


def test_every_entry_says_what_it_is():
    for name, fault in GALLERY.items():
        assert name == fault.name and fault.kind in ("wrong", "lossy", "boundary", "exact")
        assert fault.mechanism.endswith(".") and fault.reference


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
