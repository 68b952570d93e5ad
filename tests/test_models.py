"""What gives p and q: chains, and the n-gram models against an independent computation."""

import copy
import pickle
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_kit.blocks import speculative_decode
from specdec_kit.distributions import InvalidDistribution
from specdec_kit.law import exact_law
from specdec_kit.models import (
    Captured,
    Chain,
    NGram,
    Processed,
    continue_text,
    count_grams,
    generate,
    shakespeare,
    smollm2,
)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
TABLE = [[HALF, HALF], [THIRD, 1 - THIRD]]

texts = st.text("abcd", min_size=1, max_size=30)


def witten_bell(text, order, alphabet, context):
    """The recursion of Witten and Bell, method C, on `text` read as a ring; in fractions, from a plain count."""
    law = {char: Fraction(1, len(alphabet)) for char in alphabet}
    for length in range(min(order, len(context)) + 1):
        history = context[len(context) - length :]
        ring = text * (order // len(text) + 2)
        seen = Counter(ring[at + length] for at in range(len(text)) if ring[at : at + length] == history)
        if seen:
            n, t = sum(seen.values()), len(seen)
            law = {char: (seen[char] + t * law[char]) / (n + t) for char in alphabet}
    return [law[char] for char in alphabet]


# ---- chains


def test_chain_is_the_row_of_the_last_token():
    chain = Chain([[0.5, 0.5], [0.25, 0.75]], start=[1, 0])
    assert chain((0, 1)).tolist() == [0.25, 0.75]
    assert chain((1, 0)).tolist() == [0.5, 0.5]
    assert chain(()).tolist() == [1, 0]


def test_chain_starts_uniformly_by_default():
    assert Chain(np.eye(4))(()).tolist() == [0.25] * 4
    start = Chain(TABLE)(())
    assert start.tolist() == [HALF, HALF] and all(type(x) is Fraction for x in start)


def test_chain_keeps_fractions_so_that_its_law_is_exact():
    def two(rng):
        return generate(Chain(TABLE), (0,), 2, rng)

    assert exact_law(two) == {
        (0, 0): HALF * HALF,
        (0, 1): HALF * HALF,
        (1, 0): HALF * THIRD,
        (1, 1): HALF * (1 - THIRD),
    }


def test_chain_hands_out_copies_and_keeps_its_own():
    table = np.array([[0.5, 0.5], [0.25, 0.75]])
    chain = Chain(table)
    chain((0,))[:] = 0
    chain(())[:] = 0
    table[:] = 0
    assert chain((0,)).tolist() == [0.5, 0.5]
    assert chain(()).tolist() == [0.5, 0.5]
    exact = np.array(TABLE)
    chain = Chain(exact)
    exact[:] = 0
    assert chain((1,)).tolist() == [THIRD, 1 - THIRD]


def test_chain_names_what_is_wrong():
    with pytest.raises(InvalidDistribution, match=r"table\[1\] sums to 0.9"):
        Chain([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ValueError, match=r"table has shape \(1, 2\): give it one row and one column for each token"):
        Chain([[0.5, 0.5]])
    with pytest.raises(InvalidDistribution, match=r"start sums to 0\.5"):
        Chain(np.eye(2), start=[0.5, 0])
    with pytest.raises(ValueError, match=r"start has shape \(3,\): give one probability for each of the 2 tokens"):
        Chain(np.eye(2), start=[0.5, 0.5, 0])
    for token in (2, -1, 0.0, None):
        with pytest.raises(
            ValueError, match=rf"{token!r} is no token of this model: its tokens are the integers 0 … 1"
        ):
            Chain(np.eye(2))((0, token))


# ---- counts


def test_counts_of_a_ring_by_hand():
    # abca, closed: ab, bc, ca, and the last a before the first: aa.
    grams, counts = count_grams([0, 1, 2, 0], order=1, size=3)
    assert grams.tolist() == [0, 1, 5, 6]  # aa, ab, bc, ca in base 3
    assert counts.tolist() == [1, 1, 1, 1]


@given(texts, st.integers(0, 4))
def test_counts_agree_with_a_plain_count(text, order):
    ring = text * (order // len(text) + 2)
    expected = Counter(ring[at : at + order + 1] for at in range(len(text)))
    grams, counts = count_grams(["abcd".index(char) for char in text], order, 4)
    assert (np.diff(grams) > 0).all()
    digits = ["".join("abcd"[gram // 4**place % 4] for place in range(order, -1, -1)) for gram in grams.tolist()]
    assert dict(zip(digits, counts.tolist(), strict=True)) == expected


def test_counts_refuse_what_they_cannot_hold():
    for tokens, order, size in (([], 1, 2), ([0], -1, 2), ([0], 62, 2)):
        with pytest.raises(
            ValueError, match=f"cannot count {len(tokens)} tokens of a vocabulary of 2 at order {order}"
        ):
            count_grams(tokens, order, size)
    assert count_grams([1], 61, 2)[0].tolist() == [2**62 - 1]  # the largest that fits


# ---- n-gram models


def test_witten_bell_by_hand():
    # abracadabra, closed to a ring. Alone: a 5, b 2, c 1, d 1, r 2; 11 characters, 5 kinds, over 1/5 each.
    model = NGram.from_text("abracadabra", 1)
    assert model.alphabet == "abcdr"
    np.testing.assert_allclose(model(()), np.array([6, 3, 2, 2, 3]) / 16, rtol=1e-15)
    # After a: b twice, c, d, and a once each; 5 in all, 4 kinds. P(b | a) = (2 + 4 · 3/16) / 9 = 11/36.
    np.testing.assert_allclose(model((0,)), np.array([10, 11, 6, 6, 3]) / 36, rtol=1e-15)
    # After c only a: (1 + 6/16) / 2 = 11/16, and half of the rest.
    np.testing.assert_allclose(model((2,)), np.array([22, 3, 2, 2, 3]) / 32, rtol=1e-15)


@given(texts, st.integers(0, 4), st.text("abcd", max_size=6))
def test_witten_bell_agrees_with_the_recursion(text, order, context):
    model = NGram.from_text(text, order, "abcd")
    expected = [float(x) for x in witten_bell(text, order, "abcd", context)]
    np.testing.assert_allclose(model(model.encode(context)), expected, rtol=1e-13)


@given(texts, st.integers(0, 4), st.data())
def test_a_shortened_model_is_the_model_of_that_order(text, order, data):
    shorter = data.draw(st.integers(0, order))
    context = tuple(data.draw(st.lists(st.integers(0, 3), max_size=6)))
    long, short = NGram.from_text(text, order, "abcd").shorten(shorter), NGram.from_text(text, shorter, "abcd")
    assert long.order == short.order == shorter
    np.testing.assert_array_equal(long(context), short(context))


def test_only_the_last_tokens_count_and_a_short_context_uses_all():
    model = NGram.from_text("abracadabra", 2)
    np.testing.assert_array_equal(model((3, 3, 0, 1)), model((0, 1)))
    np.testing.assert_array_equal(model((0,)), model.shorten(1)((0,)))
    assert not np.array_equal(model((0, 1)), model((1,)))


def test_what_a_context_may_hold():
    model = NGram.from_text("abracadabra", 2)
    np.testing.assert_array_equal(model(np.array([0, 1], dtype=np.uint8)), model((0, 1)))
    np.testing.assert_array_equal(model([0, 1]), model((0, 1)))
    for context, value in (((0, 5), "5"), ((5, 0), "5"), ((-1,), "-1"), ((0, 1.0), "1.0")):
        with pytest.raises(
            ValueError, match=rf"^{value} is no token of this model: its tokens are the integers 0 … 4$"
        ):
            model(context)
    with pytest.raises(ValueError, match=r"'b' is no token .* \(encode turns text into tokens\)"):
        model("ab")


def test_a_law_handed_out_is_the_callers_own():
    model = NGram.from_text("abracadabra", 1)
    before = model((0,)).copy()
    model((0,))[:] = 0
    np.testing.assert_array_equal(model((0,)), before)


@given(st.text("abcd"))
def test_encode_and_decode_are_inverse(text):
    model = NGram.from_text("dcba", 0)
    assert model.encode("abcd") == (0, 1, 2, 3)
    assert model.decode(model.encode(text)) == text


def test_encode_and_decode_name_what_they_do_not_know():
    model = NGram.from_text("abc", 1)
    with pytest.raises(
        ValueError, match=r"^the character 'B' is not in the alphabet 'abc' of this model: pass text.lower"
    ):
        model.encode("aBx")
    with pytest.raises(
        ValueError, match=r"the character 'é' is not in the alphabet 'abc' .*: leave it out or replace it"
    ):
        model.encode("é")
    with pytest.raises(ValueError, match="the character 'd' is not in the alphabet 'ab'"):
        NGram.from_text("abd", 1, "ab")
    for token in (3, -1):  # -1 must not read the alphabet from its end
        with pytest.raises(ValueError, match=rf"{token} is no token of this model"):
            model.decode((0, token))


def test_models_can_be_pickled():
    model = NGram.from_text("abracadabra", 2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))((0, 1)), model((0, 1)))


# ---- Shakespeare


@given(st.lists(st.integers(0, 35), max_size=8))
@settings(max_examples=50)
def test_shakespeare_laws_are_positive_and_sum_to_one(context):
    for order in (1, 5):
        law = shakespeare(order)(tuple(context))
        assert law.shape == (36,) and law.dtype == np.float64
        assert law.min() > 0
        assert abs(law.sum() - 1) < 1e-14


def test_shakespeare_knows_english():
    target, draft = shakespeare(5), shakespeare(1)
    assert (target.order, draft.order) == (5, 1)
    assert target.alphabet == draft.alphabet == "\n !',-.:;?abcdefghijklmnopqrstuvwxyz"

    def likeliest(model, text):
        return model.alphabet[model(model.encode(text)).argmax()]

    assert likeliest(draft, "q") == likeliest(target, "the q") == "u"
    assert likeliest(target, "my lor") == "d"
    assert likeliest(target, "wherefor") == "e"


def test_shakespeare_lower_orders_are_the_marginals():
    # The same counts, summed the other way: over the first character.
    grams, counts = shakespeare(5)._levels[5]
    for order in (4, 1, 0):
        shorter, seen = shakespeare(order)._levels[order]
        suffixes, where = np.unique(grams % 36 ** (order + 1), return_inverse=True)
        np.testing.assert_array_equal(shorter, suffixes)
        np.testing.assert_array_equal(seen, np.bincount(where, weights=counts))


def test_shakespeare_is_read_once_and_names_the_orders_it_has():
    assert shakespeare(1) is shakespeare(1)
    for order in (6, -1):
        with pytest.raises(ValueError, match=f"order is {order}: these counts serve the orders 0 … 5"):
            shakespeare(order)


def test_import_reads_no_data_and_needs_numpy_alone():
    code = (
        "import sys, specdec_kit.models as m; "
        "assert not m._shakespeare.cache_info().currsize and not m.smollm2.cache_info().currsize; "
        "print([x for x in ('scipy', 'torch', 'matplotlib', 'tqdm') if x in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# ---- laws of a language model


def captured():
    """One context, three tokens; the target's weights are 4, 2, 2, the draft's 1, 0, 3."""
    palette = np.zeros((1, 2, 256), dtype=np.int64)
    palette[0, :, :3] = [[4, 2, 9], [0, 1, 3]]
    codes = np.array([[[0, 1, 1], [1, 0, 2]]], dtype=np.uint8)
    return Captured(["once"], codes, palette, [0, 2], [" upon", "\n"])


def test_a_captured_law_is_its_weights_over_their_sum():
    laws = captured()
    assert (laws.contexts, laws.vocabulary, repr(laws)) == (("once",), 3, "Captured(1 contexts, 3 tokens)")
    p, q = laws.laws(np.int64(0))
    assert p.tolist() == [0.5, 0.25, 0.25] and q.tolist() == [0.25, 0, 0.75]
    p[:] = 0
    assert laws.laws(0)[0].tolist() == [0.5, 0.25, 0.25]


def test_captured_laws_name_what_they_do_not_have():
    laws = captured()
    assert laws.token(np.int64(2)) == "\n"
    with pytest.raises(ValueError, match=r"^token 1 has no text here: only the likeliest .* do, so show its id$"):
        laws.token(1)
    for token in (3, -1, "a"):
        with pytest.raises(
            ValueError, match=rf"{token!r} is no token of this model: its tokens are the integers 0 … 2"
        ):
            laws.token(token)
    for context in (1, -1, "once", 0.0):
        with pytest.raises(ValueError, match=rf"^context is {context!r}: there are laws after the contexts 0 … 0$"):
            laws.laws(context)


@pytest.mark.parametrize(
    ("name", "value"),
    [("contexts", ["a", "b"]), ("codes", np.zeros((1, 2, 3), dtype=np.int64)),
     ("codes", np.zeros((1, 3), dtype=np.uint8)), ("palette", np.ones((1, 2, 255))), ("words", ["a"])],
)  # fmt: skip
def test_captured_laws_that_do_not_fit_together_are_refused(name, value):
    laws = captured()
    fine = {"contexts": ["a"], "codes": laws._codes, "palette": laws._palette, "tokens": [0, 2], "words": ["a", "b"]}
    Captured(**fine)
    with pytest.raises(ValueError):
        Captured(**fine | {name: value})


def test_smollm2_knows_english_and_is_read_once():
    laws = smollm2()
    assert laws is smollm2()
    for text, word in (("The opposite of hot is", " cold"), ("Shall I compare thee to a summer's", " day")):
        p, _ = laws.laws(laws.contexts.index(text))
        assert laws.token(int(p.argmax())) == word


# ---- reshaped


def falling(context):
    """The same law after every context."""
    return np.array([0.4, 0.3, 0.2, 0.1])


class Scored(Chain):
    """A chain that scores a block in one pass."""

    def score(self, context, drafts):
        return np.stack([self((*context, *drafts[:n])) for n in range(len(drafts) + 1)])


@pytest.mark.parametrize(
    ("options", "law"),
    [
        ({}, [0.4, 0.3, 0.2, 0.1]),
        ({"temperature": 0.5}, [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
        ({"temperature": 0}, [1, 0, 0, 0]),
        ({"top_k": 2}, [4 / 7, 3 / 7, 0, 0]),
        ({"top_p": 0.6}, [4 / 7, 3 / 7, 0, 0]),
        # The order is that of transformers: temperature, then top-k, then top-p. The other way round this would be
        # [4/7, 3/7, 0, 0], since 0.4 < 0.5 …
        ({"top_k": 2, "top_p": 0.5}, [1, 0, 0, 0]),
        # … this [16/25, 9/25, 0, 0], since 0.4 < 0.53 …
        ({"temperature": 0.5, "top_p": 0.53}, [1, 0, 0, 0]),
        # … and of 16, 9 and 4 in 29, two hold 0.85; of those in 30 and of 4, 3, 2, 1 in 10 it takes three.
        ({"temperature": 0.5, "top_k": 3, "top_p": 0.85}, [16 / 25, 9 / 25, 0, 0]),
        ({"temperature": 2, "top_k": 2, "top_p": 1}, np.array([2, 3**0.5, 0, 0]) / (2 + 3**0.5)),
    ],
)
def test_a_reshaped_law_by_hand(options, law):
    assert Processed(falling, **options)((0,)) == pytest.approx(law, abs=1e-12)


def test_reshaping_leaves_a_law_that_it_does_not_change_as_it_is():
    assert Processed(Chain(TABLE))((1,)).tolist() == [THIRD, 1 - THIRD]
    assert Processed(Chain(TABLE), top_k=1)((1,)).tolist() == [0, 1]


def test_a_block_is_scored_in_one_pass_and_reshaped_row_by_row():
    chain = Scored([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.45, 0.45]])
    made = Processed(chain, temperature=0.5, top_k=2)
    rows = made.score((0,), (1, 2))
    assert rows.shape == (3, 3)
    assert np.array_equal(rows, [made(context) for context in ((0,), (0, 1), (0, 1, 2))])
    assert rows[0] == pytest.approx([25 / 34, 9 / 34, 0])
    assert np.array_equal(Processed(made, temperature=0).score((0,), (1,)), [[1, 0, 0], [0, 0, 1]])


def test_a_model_that_scores_nothing_has_no_score_when_reshaped():
    assert not hasattr(Processed(Chain(TABLE)), "score")


def test_all_else_of_a_model_is_reached_through():
    model = NGram.from_text("abracadabra", 1)
    made = Processed(Processed(model, top_k=2), temperature=2)
    assert (made.alphabet, made.vocabulary, made.order) == (model.alphabet, model.vocabulary, 1)
    assert made.decode(made.encode("abba")) == "abba" and made.model.model is model
    with pytest.raises(AttributeError, match="nothing"):
        _ = made.nothing


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_a_reshaped_model_can_be_copied_and_kept(twin):
    made = Processed(Chain(TABLE), temperature=0.5)
    copied = twin(made)
    assert type(copied) is Processed and copied((1,)).tolist() == made((1,)).tolist() == pytest.approx([1 / 5, 4 / 5])
    assert copied.table.tolist() == TABLE


def test_the_copy_of_a_model_that_scores_scores():
    made = Processed(Scored([[0.5, 0.5], [0.25, 0.75]]), top_k=1)
    assert copy.deepcopy(made).score((0,), (1,)).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"temperature": -0.5}, "temperature is -0.5"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": float("inf")}, "temperature is inf"),
        ({"top_k": 0}, "top_k keeps 0 tokens"),
        ({"top_k": -3}, "top_k keeps -3 tokens"),
        ({"top_p": 0.0}, "top_p keeps a mass of 0.0"),
        ({"top_p": 1.5}, "top_p keeps a mass of 1.5"),
    ],
)
def test_a_number_that_reshapes_nothing_is_named_when_the_model_is_made(options, named):
    with pytest.raises(ValueError, match=f"^{named}"):
        Processed(falling, **options)


TARGET = Scored([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.2, 0.45, 0.35]])
DRAFT = Chain([[0.2, 0.2, 0.6], [0.3, 0.4, 0.3], [0.6, 0.3, 0.1]])


def written(target, draft):
    """Exact law of three tokens, by blocks of two drafts."""

    def run(rng):
        return speculative_decode(target, draft, (0,), gamma=2, max_new_tokens=3, rng=rng).tokens

    return exact_law(run)


@pytest.mark.parametrize("of_target", [{"temperature": 0.5}, {"top_k": 2}, {"temperature": 2, "top_p": 0.7}])
@pytest.mark.parametrize("of_draft", [{}, {"temperature": 0}, {"temperature": 1.5, "top_k": 2}])
def test_a_text_has_the_law_of_the_reshaped_target(of_target, of_draft):
    target, draft = Processed(TARGET, **of_target), Processed(DRAFT, **of_draft)
    law = written(target, draft)
    assert law.total_variation(exact_law(generate, target, (0,), 3)) < 1e-9
    assert law.total_variation(exact_law(generate, TARGET, (0,), 3)) > 0.05  # so the comparison could have failed


@pytest.mark.parametrize("of_draft", [{}, {"temperature": 0}, {"temperature": 1.5, "top_k": 2}])
def test_a_greedy_target_writes_one_text_whatever_the_draft(of_draft):
    assert written(Processed(TARGET, temperature=0), Processed(DRAFT, **of_draft)) == {(0, 0, 0): 1}
    start = Processed(Scored(np.roll(TARGET.table, 1, axis=1)), temperature=0)
    assert written(start, Processed(DRAFT, **of_draft)) == {(1, 0, 1): 1}


# ---- drawing


def test_generate_feeds_back_what_it_drew():
    cycle = Chain([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    rng = np.random.default_rng(0)
    assert generate(cycle, (1, 0), 5, rng) == (1, 2, 0, 1, 2)
    assert generate(cycle, (0,), 0, rng) == ()
    seen = []

    def spy(context):
        seen.append(context)
        return cycle(context)

    generate(spy, [2], 2, rng)
    assert seen == [(2,), (2, 0)]


def test_generate_draws_from_the_model():
    model = NGram.from_text("abracadabra", 1)
    draws = generate(model, (), 20_000, np.random.default_rng(1))
    after_a = np.bincount([after for before, after in pairwise(draws) if before == 0], minlength=5)
    expected = np.array([10, 11, 6, 6, 3]) / 36 * after_a.sum()
    # χ² with 4 degrees of freedom exceeds 33.4 once in a million seeds; a uniform draw gives over 1000.
    assert ((after_a - expected) ** 2 / expected).sum() < 33.4


def test_continue_text_begins_with_the_text_and_repeats_with_the_seed():
    model = shakespeare(5)
    text = continue_text(model, "to be, or not ", 100, np.random.default_rng(3))
    assert text.startswith("to be, or not ") and len(text) == 114
    assert text == continue_text(model, "to be, or not ", 100, np.random.default_rng(3))
    assert text != continue_text(model, "to be, or not ", 100, np.random.default_rng(4))
    with pytest.raises(TypeError, match="not a generator"):
        continue_text(model, "to be", 1, 3)
