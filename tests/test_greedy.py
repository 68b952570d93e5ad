"""Near-ties and faults of greedy texts: the lemma, where two texts part, and what SmolLM2 measured."""

import doctest
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_kit import greedy, models
from specdec_kit.greedy import COLUMNS, PROMPTS, SMOLLM2_GREEDY, first_difference, smollm2_gaps, top_two_gap, triage

# Whole multiples of 1/8, so that sums, differences and halves are exact.
EIGHTHS = st.integers(-80, 80).map(lambda n: n / 8)
ROWS = st.integers(2, 6).flatmap(lambda size: st.lists(EIGHTHS, min_size=size, max_size=size)).map(np.array)


def test_the_example_gives_what_it_says():
    done = doctest.testmod(greedy)
    assert done.attempted == 4 and not done.failed


# ---- the gap


def test_the_gap_by_hand():
    assert top_two_gap([1.0, 4.0, 2.5]) == 1.5
    assert top_two_gap([[3.0, 3.0, 0.0], [-1.0, -5.0, -2.0]]).tolist() == [0, 1]
    assert top_two_gap(np.zeros((2, 3, 4))).shape == (2, 3)
    assert top_two_gap([-np.inf, 2.0]) == np.inf, "a token that is forbidden is no rival"


@pytest.mark.parametrize("logits", [[1.0], 3.0, [[1.0, np.nan]], np.zeros((2, 1))])
def test_rows_without_a_second_or_with_nan_are_refused(logits):
    with pytest.raises(ValueError, match="give rows of numbers, one a token, for two tokens at least"):
        top_two_gap(logits)


# ---- the lemma


@given(ROWS, st.data())
def test_no_change_of_less_than_half_the_gap_moves_the_argmax(row, data):
    change = data.draw(st.lists(EIGHTHS, min_size=len(row), max_size=len(row)).map(np.array))
    largest = np.abs(change).max()
    other = int((row + change).argmax())
    assert row[other] >= row.max() - 2 * largest
    if top_two_gap(row) > 2 * largest:
        assert other == row.argmax()


@given(ROWS)
def test_the_bound_is_sharp(row):
    first, second = np.argsort(-row, kind="stable")[:2]
    half = top_two_gap(row) / 2
    for extra in (0, 1 / 8):
        changed = row.copy()
        changed[second] += half + extra
        changed[first] -= half + extra
        assert changed[second] - changed[first] == 2 * extra
        if extra:
            assert changed.argmax() == second


# ---- where two texts part


@pytest.mark.parametrize(
    ("text", "other", "at"),
    [([], [], None), ([1, 2], [1, 2], None), ([1, 2], [1, 3], 1), ([4], [5], 0), ([1, 2], [1, 2, 3], 2), ([1], [], 0)],
)
def test_the_first_difference_by_hand(text, other, at):
    assert first_difference(text, other) == first_difference(other, text) == at


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_before_the_first_difference_all_is_equal(text, other):
    at = first_difference(text, other)
    assert (at is None) == (text == other)
    if at is not None:
        assert text[:at] == other[:at] and text[at : at + 1] != other[at : at + 1]


# ---- near-tie or fault


def rows(*tables):
    return [np.array(table, dtype=float) for table in tables]


def test_texts_that_are_equal_need_no_triage():
    assert triage([1, 0], [1, 0], [], []) is None


def test_a_near_tie_and_a_fault_by_hand():
    one, other = rows([[0, 9, 0], [2.0, 1.5, 0.0]], [[0, 9, 0], [1.75, 1.75, 0.0]])
    found = triage([1, 0, 2], [1, 1, 0], one, other)
    assert found == (1, (0, 1), 0.5, 0.25) and found.near_tie, "0.5 ≤ 2 × 0.25"
    other[1] = [1.875, 1.625, 0.0]  # δ = 1/8: too little
    found = triage([1, 0, 2], [1, 1, 0], one, other)
    assert found == (1, (0, 1), 0.5, 0.125) and not found.near_tie


def test_a_token_far_behind_is_a_fault_even_beside_a_near_tie():
    one, other = rows([[2.0, 2.0, -5.0]], [[1.9, 2.1, -5.0]])
    assert triage([0], [1], one, other).near_tie
    found = triage([0], [2], one, other)
    assert found.behind == 7 and not found.near_tie


@pytest.mark.parametrize(("text", "other", "tokens"), [([1], [1, 0], (None, 0)), ([1, 0], [1], (0, None))])
def test_a_text_that_ends_while_the_other_goes_on_is_a_fault(text, other, tokens):
    table = np.array([[0.0, 1.0], [1.0, 1.0]])
    found = triage(text, other, table, table + 100)
    assert found.tokens == tokens and found.behind == np.inf and not found.near_tie


@given(ROWS, st.data())
def test_two_right_argmaxes_are_never_called_a_fault(row, data):
    change = data.draw(st.lists(EIGHTHS, min_size=len(row), max_size=len(row)).map(np.array))
    found = triage([int(row.argmax())], [int((row + change).argmax())], [row], [row + change])
    assert found is None or found.near_tie


@pytest.mark.parametrize(
    ("one", "other"),
    [([[0, 1]], [[0, 1], [0, 1]]), ([[0, 1], [1, 0]], [[0, 1]]), ([[0, 1]] * 2, [[0, 1, 2]] * 2), ([0, 1], [0, 1])],
)
def test_rows_that_do_not_fit_are_refused(one, other):
    with pytest.raises(ValueError, match=r"^the texts part at token 1, and .*: give both a row for each token up to"):
        triage([1, 0], [1, 1], one, other)


def test_logits_of_another_text_are_refused():
    table = [[0.0, 1.0, 3.0]]
    with pytest.raises(ValueError, match=r"^token 0 of text is 0, and the largest logit is that of 2: give the logits"):
        triage([0], [1], table, table)


# ---- what SmolLM2 measured


def test_what_was_measured_is_read():
    found = smollm2_gaps()
    assert list(found) == ["float32", "bfloat16"]
    for gaps in found.values():
        assert {array.shape for array in gaps} == {(len(PROMPTS), 48)}
        assert gaps.tokens.dtype == np.int64 and gaps.same.dtype == bool and gaps.gaps.min() >= 0
        assert (gaps.words != gaps.seconds).all()
        assert (gaps.same | (gaps.gaps <= 2 * gaps.changes)).all(), "the lemma"
    assert found["float32"].words[0, 0] == " Paris"
    assert found["float32"].changes.max() < 1e-3 < found["bfloat16"].changes.min()
    assert found["float32"].same.all() and not found["bfloat16"].same.all()
    assert (found["float32"].gaps > 2 * found["float32"].changes).all()
    assert smollm2_gaps() is found


def test_the_readme_says_what_was_measured():
    readme = (models.DATA_FOLDERS[-1] / "README.md").read_text(encoding="utf-8")
    lines = []
    for dtype, gaps in smollm2_gaps().items():
        near = int((gaps.gaps <= 2 * gaps.changes).sum())
        lines.append(
            f"| {dtype} | {gaps.gaps.min():.2g} | {np.median(gaps.gaps):.2f} | {np.median(gaps.changes):.2g} | "
            f"{gaps.changes.max():.2g} | {near} | {int((~gaps.same).sum())} |"
        )
    assert all(line in readme for line in lines), lines
    parts = [
        first_difference(*(found.tokens[at].tolist() for found in smollm2_gaps().values()))
        for at in range(len(PROMPTS))
    ]
    assert f"part at the tokens {parts}".replace("None", "–") in readme, parts


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the file that may be damaged."""
    path = tmp_path / SMOLLM2_GREEDY
    path.write_bytes(models.data_file(SMOLLM2_GREEDY).read_bytes())
    monkeypatch.setattr(models, "DATA_FOLDERS", (tmp_path,))
    smollm2_gaps.cache_clear()
    yield path
    smollm2_gaps.cache_clear()


def test_a_missing_file_is_named_with_its_remedy(copy):
    copy.unlink()
    with pytest.raises(models.DataError, match=rf"^data file {SMOLLM2_GREEDY} is missing from .*: in a clone restore"):
        smollm2_gaps()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: "version https://git-lfs.github.com/spec/v1\n",
        lambda text: text[: len(text) // 2],
        lambda text: text[: text.rstrip("\n").rindex("\n") + 1],
        lambda text: text.replace("float32,0,0,", "float32,0,1,"),
        lambda text: re.sub(r"^float32.*\n", "", text, flags=re.MULTILINE),
        lambda text: text.replace("gap", "cap", 1),
        lambda text: text + "float32,0,0,1\n",
    ],
    ids=["empty", "pointer", "half", "a row less", "another place", "a precision less", "a column", "a row too short"],
)
def test_a_damaged_file_is_named_with_its_remedy(copy, damage):
    whole = copy.read_text(encoding="utf-8")
    copy.write_text(damage(whole), encoding="utf-8")
    remedy = re.escape(
        f"in a clone restore it with `git checkout -- data/{SMOLLM2_GREEDY}`, else reinstall specdec-kit"
    )
    with pytest.raises(models.DataError, match=rf"^data file .* is damaged \(\w+\): {remedy}$"):
        smollm2_gaps()
    copy.write_text(whole, encoding="utf-8")
    assert smollm2_gaps()["float32"].words[0, 0] == " Paris", "an error is not remembered"


def test_the_columns_are_those_of_the_script():
    head = models.data_file(SMOLLM2_GREEDY).read_text(encoding="utf-8").splitlines()[0]
    assert tuple(head.split(",")) == COLUMNS
