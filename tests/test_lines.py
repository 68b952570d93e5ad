"""Lines are broken at spaces, where they are too long, and nothing is lost."""

import pytest

from specdec_kit.lines import WIDTH, wrapped

VECTOR = "[" + ", ".join(f"{n / 7:.6f}" for n in range(40)) + "]"


def test_what_fits_stays_as_it_is():
    text = f"{'x' * WIDTH}\n\n  two  spaces \n    def f(): pass\n"
    assert wrapped(text) == text


@pytest.mark.parametrize("further", [0, 4, 9])
def test_what_does_not_is_broken_at_spaces_and_stands_further_in(further):
    lines = wrapped(f"first\n  {VECTOR}\nlast", further).split("\n")
    assert (lines[0], lines[-1]) == ("first", "last") and len(lines) > 5
    assert max(map(len, lines)) <= WIDTH
    assert " ".join(line.strip() for line in lines[1:-1]) == VECTOR
    assert {len(line) - len(line.lstrip()) for line in lines[2:-1]} == {2 + further}


def test_a_word_that_is_too_long_and_hyphens_stay_whole():
    word = "x" * 90
    assert wrapped(f"a {word} b", 0) == f"a\n{word}\nb"
    dashed = " ".join(["well-kept"] * 20)
    assert all(set(line.split()) == {"well-kept"} for line in wrapped(dashed).split("\n"))


@pytest.mark.parametrize("group", ["[0.4, 0.3, 0.2, 0.1]", "(0, 1, 0)", "{A: 1/2, B: 1/2}"])
def test_short_vectors_stay_whole(group):
    for n in range(50, 80):
        lines = wrapped(f"{'x' * n} {group} {'y' * 30}").split("\n")
        assert len(lines) > 1 and any(group in line for line in lines)


@pytest.mark.parametrize("sign", "−·")
def test_no_line_ends_in_a_formula(sign):
    for n in range(60, 80):
        lines = wrapped(f"{'x' * n} (p {sign} q)₊ {'y' * 30}").split("\n")
        assert len(lines) > 1 and any(f"(p {sign} q)₊" in line for line in lines)
