"""Every scheme's joint law, exactly where it can be walked, and its acceptance against closed forms from elsewhere."""

from collections import Counter
from fractions import Fraction as F
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from specdec_kit.audit import audit_decoder
from specdec_kit.blocks import Round, speculative_decode, token_verification
from specdec_kit.distributions import InvalidDistribution
from specdec_kit.law import exact_law
from specdec_kit.models import Chain
from specdec_kit.schemes import agreement, block_verification, round_law, shared_noise, target_matching
from specdec_kit.streams import Scripted
from specdec_kit.uncertainty import goodness_of_fit

steady = settings(derandomize=True, deadline=None, database=None, max_examples=25)
TABLE = [[F(1, 2), F(1, 4), F(1, 4)], [F(1, 4), F(1, 4), F(1, 2)], [F(1, 3), F(1, 2), F(1, 6)]]
GUESS = [[F(1, 4), F(1, 8), F(5, 8)], [F(1, 2), F(1, 8), F(3, 8)], [F(1, 6), F(1, 6), F(2, 3)]]
TARGET, DRAFT = Chain(TABLE), Chain(GUESS)
WALKED = [token_verification, target_matching, block_verification]
LAST = 1 - 2**-53


def always(*law):
    return lambda context: np.array(law)


def text_law(model, context, n):
    """Law of the next n tokens, the product of the model's rows."""
    law = {}
    for text in product(range(len(model(context))), repeat=n):
        mass = prod(model((*context, *text[:k]))[x] for k, x in enumerate(text))
        if mass:
            law[text] = mass
    return law


def continued(rounds, model, context, n):
    """Law of n tokens where a round's tokens are followed by the model's own."""
    law = {}
    for tokens, mass in rounds.items():
        for rest, more in text_law(model, (*context, *tokens), n - len(tokens)).items():
            law[(*tokens, *rest)] = law.get((*tokens, *rest), 0) + mass * more
    return law


def laws(size=3):
    weights = st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any)
    return weights.map(lambda ks: [F(k, sum(ks)) for k in ks])


# ---- joint laws


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
@pytest.mark.parametrize("scheme", WALKED)
def test_a_block_and_what_follows_it_is_a_text_of_the_target(scheme, gamma):
    blocks = exact_law(scheme, TARGET, DRAFT, (0,), gamma).map(lambda one: one.tokens)
    assert continued(blocks, TARGET, (0,), gamma + 1) == text_law(TARGET, (0,), gamma + 1)
    assert continued(blocks, TARGET, (0,), gamma + 1) != text_law(TARGET, (1,), gamma + 1)


@steady
@given(st.tuples(*[laws()] * 6), st.sampled_from(WALKED), st.integers(1, 2))
def test_any_block_of_any_pair_is_a_text_of_the_target(rows, scheme, gamma):
    target, draft = Chain(rows[:3], rows[0]), Chain(rows[3:], rows[3])
    blocks = exact_law(scheme, target, draft, (), gamma).map(lambda one: one.tokens)
    assert continued(blocks, target, (), gamma + 1) == text_law(target, (), gamma + 1)


@pytest.mark.parametrize("eos", [None, 1])
@pytest.mark.parametrize("scheme", WALKED)
def test_a_whole_text_of_each_scheme(scheme, eos):
    law = exact_law(
        lambda rng: (
            speculative_decode(TARGET, DRAFT, (0,), gamma=2, max_new_tokens=3, rng=rng, eos=eos, scheme=scheme).tokens
        )
    )
    due = {}
    for text, mass in text_law(TARGET, (0,), 3).items():
        text = text[: text.index(eos) + 1] if eos in text else text
        due[text] = due.get(text, 0) + mass
    assert law == due


@pytest.mark.parametrize("gamma", [0, 1, 2, 3])
@pytest.mark.parametrize("scheme", [token_verification, target_matching])
def test_the_closed_form_of_a_round(scheme, gamma):
    blocks = exact_law(scheme, TARGET, DRAFT, (0,), gamma).map(lambda one: one.tokens)
    assert blocks == round_law(scheme, TARGET, DRAFT, (0,), gamma)


def counted(scheme, gamma, draws=5_000, target=TARGET, draft=DRAFT):
    """Counts of a round's tokens, block by block of `round_law`."""
    floats = [Chain(np.array(model.table, dtype=float)) for model in (target, draft)]
    law = {tokens: float(mass) for tokens, mass in round_law(shared_noise, *floats, (0,), gamma).items()}
    rng = np.random.default_rng(5)
    seen = Counter(scheme(*floats, (0,), gamma, rng).tokens for _ in range(draws))
    return np.array([seen[tokens] for tokens in law]), np.array(list(law.values()))


def test_shared_noise_has_its_closed_form_and_no_other():
    counts, law = counted(shared_noise, 2)
    assert abs(law.sum() - 1) < 1e-12
    assert goodness_of_fit(counts, law).pvalue > 1e-6
    # Control: blocks of target matching are shorter, and the same test tells them apart.
    assert goodness_of_fit(counted(target_matching, 2)[0], law).pvalue < 1e-6


def test_the_text_of_shared_noise_is_the_target_s():
    blocks = round_law(shared_noise, TARGET, DRAFT, (0,), 2)
    due = text_law(TARGET, (0,), 3)
    law = continued(blocks, TARGET, (0,), 3)
    assert law.keys() == due.keys() and all(abs(law[text] - float(due[text])) < 1e-12 for text in due)


def test_the_text_of_shared_noise_does_not_depend_on_the_draft():
    def text(draft, seed):
        return shared_noise(TARGET, draft, (0,), 1, np.random.default_rng(seed)).tokens[0]

    assert [text(DRAFT, seed) for seed in range(200)] == [text(always(1, 0, 0), seed) for seed in range(200)]
    kept = [len(shared_noise(TARGET, TARGET, (0,), 4, np.random.default_rng(seed)).tokens) for seed in range(200)]
    assert kept == [5] * 200, "a draft that is the target always agrees with it"


# ---- how much is kept


@steady
@given(laws(4), laws(4))
def test_agreement_against_the_formula_and_the_order_of_schemes(p, q):
    pair = np.array(p, dtype=float), np.array(q, dtype=float)
    raced = agreement(shared_noise, *pair)
    for x in range(4):
        due = 0.0
        if p[x] and q[x]:  # Daliri et al., by the double loop
            due = float(1 / sum(max(p[y] / p[x], q[y] / q[x]) for y in range(4)))
        assert abs(raced[x] - due) < 1e-12
    most, least = agreement(token_verification, p, q), agreement(target_matching, p, q)
    assert list(most) == [min(a, b) for a, b in zip(p, q, strict=True)]
    assert list(least) == [a * b for a, b in zip(p, q, strict=True)]
    share = float(sum(most))
    # No coupling beats the maximal one, and shared noise reaches (1 − TV) / (1 + TV) at least.
    assert share / (2 - share) - 1e-12 <= raced.sum() <= share + 1e-12
    assert raced.sum() >= float(sum(least)) - 1e-12


def test_the_race_by_an_integral():
    # Both pick 0 iff for each other token y its exponential exceeds e max(p(y)/p(0), q(y)/q(0)).
    p, q = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5)
    rate = max(0.3 / 0.5, 0.3 / 0.2) + max(0.2 / 0.5, 0.5 / 0.2)
    by_integral = quad(lambda e: np.exp(-e) * np.exp(-e * rate), 0, np.inf)[0]
    assert abs(agreement(shared_noise, p, q)[0] - by_integral) < 1e-8
    assert agreement(shared_noise, p, p) == pytest.approx(p, abs=1e-12)
    assert not agreement(shared_noise, (1, 0), (0, 1)).any()


def kept(scheme, target, draft, gamma):
    """Mean number of accepted drafts, exactly."""
    law = exact_law(scheme, target, draft, (0,), gamma)
    return sum(one.accepted * mass for one, mass in law.items())


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_block_verification_keeps_more(gamma):
    token, block = (kept(scheme, TARGET, DRAFT, gamma) for scheme in (token_verification, block_verification))
    assert (block > token) if gamma > 1 else (block == token)
    # Sun et al.: the mean is the sum over i of the mass of the drafts x with the weight w(x), which telescopes.
    due = 0
    for n in range(1, gamma + 1):
        for text in product(range(3), repeat=n):
            rows = [((0, *text)[: k + 1], x) for k, x in enumerate(text)]
            weight, proposed = F(1), F(1)
            for context, x in rows:
                weight = min(F(1), weight * TARGET(context)[x] / DRAFT(context)[x])
                proposed *= DRAFT(context)[x]
            due += proposed * weight
    assert block == due


@steady
@given(st.tuples(*[laws()] * 6), st.integers(1, 2))
def test_block_verification_never_keeps_less(rows, gamma):
    target, draft = Chain(rows[:3]), Chain(rows[3:])
    assert kept(block_verification, target, draft, gamma) >= kept(token_verification, target, draft, gamma)


def test_block_verification_by_hand():
    # p = (3/4, 1/4), q = (1/4, 3/4), γ = 2. Token by token: 1/2 + 1/4. As a block: E w(1) = 1/4 + 3/4 · 1/3 = 1/2, and
    # after the drafts 00, 01, 10, 11, of chances 1, 3, 3, 9 in 16, w(2) is 1, 1/3, 1 (1/3 · 3), 1/9: E w(2) = 6/16.
    p, q = always(F(3, 4), F(1, 4)), always(F(1, 4), F(3, 4))
    assert kept(token_verification, p, q, 2) == F(3, 4)
    assert kept(block_verification, p, q, 2) == F(7, 8)


def test_block_verification_on_the_example_of_its_paper():
    # arXiv 2403.10444, section 1: two drafts of two tokens; 10/9 are accepted token by token, and 11/9 as a block.
    p, q = always(F(1, 3), F(2, 3)), always(F(2, 3), F(1, 3))
    assert kept(token_verification, p, q, 2) == F(10, 9)
    assert kept(block_verification, p, q, 2) == F(11, 9)


# ---- uniform by uniform, and at the edges


def test_target_matching_uniform_by_uniform():
    p, q = always(0.5, 0.5), always(0.5, 0.5)
    assert target_matching(p, q, (), 2, Scripted([0.0, 0.9, 0.1, 0.6, 0.7])) == Round(
        (0, 1), 2, (0, 1, 1), "all accepted"
    )
    script = Scripted([0.0, 0.9, 0.6])
    assert target_matching(p, q, (), 2, script) == Round((0, 1), 0, (1,), "rejection")
    assert len(script.taken()) == 3, "no draw is made after the first that differs"


def test_block_verification_uniform_by_uniform():
    # After the drafts 1, 0 the weights are 1/3 and 1. (w p − q)₊ after 1 is 0: the first test cannot pass.
    p, q = always(0.75, 0.25), always(0.25, 0.75)
    script = Scripted([0.9, 0.1, 0.0, LAST, 0.8])
    assert block_verification(p, q, (), 2, script) == Round((1, 0), 2, (1, 0, 1), "all accepted")
    # The drafts 1, 1: the weights are 1/3 and 1/9. A token may follow one that failed, and here none passes.
    assert block_verification(p, q, (), 2, Scripted([0.9, 0.9, 0.0, 0.2, 0.9])) == Round((1, 1), 0, (0,), "rejection")
    assert block_verification(p, q, (), 2, Scripted([0.9, 0.9, 0.0, 0.1, 0.0])).accepted == 2


@pytest.mark.parametrize("scheme", [*WALKED, shared_noise])
def test_no_token_without_mass_at_the_ends_of_the_uniforms(scheme):
    p, q = always(0.0, 1.0, 0.0), always(0.5, 0.0, 0.5)
    for u in (0.0, LAST):
        assert scheme(p, q, (), 1, Scripted([u] * 20)).tokens == (1,)
        assert scheme(p, p, (), 2, Scripted([u] * 20)).tokens == (1, 1, 1)


def test_a_residual_of_rounding_alone_falls_back_on_the_target():
    p, q = always(0.5, 0.3, 0.2 - 1e-9), always(0.5, 0.3, 0.2)
    assert block_verification(p, q, (), 1, Scripted([0.9, LAST, 0.6])).tokens == (1,)


# ---- the audit


@pytest.mark.parametrize("scheme", [block_verification, shared_noise])
def test_the_audit_passes_the_scheme(scheme):
    def decode(target, draft, prompt, **options):
        return speculative_decode(target, draft, prompt, scheme=scheme, **options)

    report = audit_decoder(scheme, decode=decode)
    assert report.passed and not report.findings, str(report)


def test_the_audit_passes_target_matching_and_notes_that_it_is_slow():
    report = audit_decoder(target_matching)
    assert report.passed and {finding.kind for finding in report.findings} == {"speed"}


def no_weight(target, draft, context, gamma, rng):
    """Block verification that forgets the weight where it redraws."""
    done = block_verification(target, draft, context, gamma, rng)
    if done.reason == "all accepted":
        return done
    at = (*context, *done.tokens[: done.accepted])
    lacking = np.maximum(target(at) - draft(at), 0)
    cdf = np.cumsum(lacking if lacking.any() else target(at))
    return done._replace(tokens=(*done.tokens[:-1], int(np.searchsorted(cdf / cdf[-1], rng.random(), side="right"))))


def uncorrelated_noise(target, draft, context, gamma, rng):
    """Shared noise that redraws the noise where the tokens differ."""
    done = shared_noise(target, draft, context, gamma, rng)
    return done if done.reason == "all accepted" else shared_noise(target, draft, context, gamma, rng)


@pytest.mark.parametrize("wrong", [no_weight, uncorrelated_noise])
def test_the_audit_fails_what_only_looks_like_the_scheme(wrong):
    report = audit_decoder(wrong)
    assert not report.passed and any("law" in finding.kind for finding in report.findings), str(report)


# ---- what is refused


def test_bad_input_is_named():
    with pytest.raises(
        ValueError, match=r"^scheme is <function always.*: there is a closed form for token_verification,"
    ):
        agreement(always, [0.5, 0.5], [0.5, 0.5])
    with pytest.raises(InvalidDistribution, match=r"^q sums to 0\.9"):
        agreement(shared_noise, [0.5, 0.5], [0.5, 0.4])
    with pytest.raises(ValueError, match=r"^block_verification settles a block as a whole: walk it with exact_law"):
        round_law(block_verification, TARGET, DRAFT, (0,), 1)
