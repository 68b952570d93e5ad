"""The six samplers: what each is, by exact law against closed forms, and that nothing gives it away beforehand."""

import ast
import inspect
import linecache
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

from specdec_kit import exact_law, mysteries
from specdec_kit.audit import audit_decoder
from specdec_kit.blocks import speculative_round
from specdec_kit.law import as_fraction
from specdec_kit.lines import WIDTH
from specdec_kit.models import Chain, generate
from specdec_kit.mysteries import CLASSES, DRAFT, MYSTERIES, TARGET, reveal, sealed
from specdec_kit.round_faults import write
from specdec_kit.streams import Scripted

TRUTHS = {
    "Alder": "exact", "Birch": "joint", "Cedar": "declared", "Dogwood": "first token", "Elm": "joint", "Fir": "exact",
}  # fmt: skip
fractions = np.vectorize(as_fraction, otypes=[object])


def exactly(chain):
    return Chain(fractions(chain.table), fractions(chain.start))


P, Q = exactly(TARGET), exactly(DRAFT)


def off(name, gamma, n, target=P, draft=Q, context=()):
    """Total variation of n tokens from the target's law."""
    law = exact_law(write, sealed(name), target, draft, context, gamma, n)
    return law.total_variation(exact_law(generate, target, context, n))


# --- what each is


def test_the_bench_in_fractions():
    assert P.start.tolist() == [F(50, 100), F(33, 100), F(17, 100)]
    assert Q.start.tolist() == [F(30, 100), F(30, 100), F(40, 100)]
    for chain in (P, Q):
        assert all(sum(row) == 1 for row in (*chain.table, chain.start))


@pytest.mark.parametrize("name", MYSTERIES)
def test_the_first_token_on_the_bench(name):
    # Cedar: 0.2 TV(p, q) = 0.2 · 0.23. Dogwood: B lacks 0.03, which goes to A.
    due = {"Cedar": F(46, 1000), "Dogwood": F(3, 100)}.get(name, 0)
    assert [off(name, gamma, 1) for gamma in (1, 2)] == [due, due]


def kept(p, q):
    return np.minimum(p, q)


def lacked(p, q):
    return np.maximum(p - q, 0)


def birch(p, q, after_p, after_q):
    """A second draft that falls is drawn anew by a round of its own, so its place has min(p, q) + (1 − α) p."""
    rows = [kept(a, b) + (1 - kept(a, b).sum()) * a for a, b in zip(after_p, after_q, strict=True)]
    return [kept(p, q)[x] * rows[x] + lacked(p, q)[x] * after_p[x] for x in range(len(p))]


def elm(p, q, after_p, after_q):
    """After a first draft that passed with u < a the second meets 1 − u, uniform above 1 − a."""
    law = []
    for x in range(len(p)):
        a = min(F(1), p[x] / q[x])
        passes = [max(F(0), min(F(1), s / t) - (1 - a)) / a for s, t in zip(after_p[x], after_q[x], strict=True)]
        rest = lacked(after_p[x], after_q[x])
        fallen = sum(t * (1 - c) for t, c in zip(after_q[x], passes, strict=True))
        second = [t * c + fallen * r / rest.sum() for t, c, r in zip(after_q[x], passes, rest, strict=True)]
        law.append(kept(p, q)[x] * np.array(second) + lacked(p, q)[x] * after_p[x])
    return law


def cedar(p, q, after_p, after_q):
    mix = [F(4, 5) * a + F(1, 5) * b for a, b in zip((p, *after_p), (q, *after_q), strict=True)]
    return [mix[0][x] * mix[1 + x] for x in range(len(p))]


def dogwood(p, q, after_p, after_q):
    """0.03 of B goes to A; no other row of the bench lacks so little of a token."""
    first = p + np.array([F(3, 100), -F(3, 100), 0])
    return [first[x] * after_p[x] for x in range(len(p))]


def right(p, q, after_p, after_q):
    return [p[x] * after_p[x] for x in range(len(p))]


CLOSED = {"Alder": right, "Birch": birch, "Cedar": cedar, "Dogwood": dogwood, "Elm": elm, "Fir": right}


@pytest.mark.parametrize("name", MYSTERIES)
def test_two_tokens_at_two_drafts_by_closed_form(name):
    law = exact_law(write, sealed(name), P, Q, (), 2, 2)
    due = CLOSED[name](P.start, Q.start, P.table, Q.table)
    assert law == {(x, y): mass for x, row in enumerate(due) for y, mass in enumerate(row) if mass}
    wrong = law.total_variation(exact_law(generate, P, (), 2)) > 0
    assert wrong == (TRUTHS[name] != "exact")


def test_the_closed_forms_differ():
    laws = [np.array(form(P.start, Q.start, P.table, Q.table)).tolist() for form in (right, birch, cedar, dogwood, elm)]
    assert all(a != b for n, a in enumerate(laws) for b in laws[:n])
    assert all(sum(map(sum, law)) == 1 for law in laws)


@pytest.mark.parametrize("name", MYSTERIES)
def test_with_one_draft_the_joint_faults_do_not_show(name):
    assert (off(name, 1, 2) > 0) == (TRUTHS[name] in ("first token", "declared"))


OTHERS = [
    (Chain([[F(2, 10), F(8, 10)], [F(6, 10), F(4, 10)]], [F(7, 10), F(3, 10)]),
     Chain([[F(1, 2), F(1, 2)], [F(9, 10), F(1, 10)]], [F(4, 10), F(6, 10)])),
    (Chain([[F(1), F(0)], [F(1, 3), F(2, 3)]], [F(0), F(1)]), Chain([[F(1, 2), F(1, 2)], [F(1), F(0)]])),
    (Chain([[F(1, 3), F(2, 3)], [F(1), F(0)]]), Chain([[F(1, 3), F(2, 3)], [F(1), F(0)]])),  # p = q
]  # fmt: skip


@pytest.mark.parametrize("pair", OTHERS)
@pytest.mark.parametrize("name", ["Alder", "Fir"])
def test_what_is_exact_is_exact_elsewhere(name, pair):
    assert [off(name, gamma, n, *pair) for gamma, n in ((0, 1), (1, 3), (2, 2))] == [0, 0, 0]


@pytest.mark.parametrize("pair", OTHERS)
@pytest.mark.parametrize("name", ["Birch", "Elm"])
def test_what_is_wrong_jointly_has_the_right_first_token_everywhere(name, pair):
    for context in ((), (0,), (1,)):
        assert [off(name, gamma, 1, *pair, context) for gamma in (1, 2, 3)] == [0, 0, 0]


@pytest.mark.parametrize("name", MYSTERIES)
def test_the_audit_agrees(name):
    report = audit_decoder(sealed(name))
    assert bool(report) == (TRUTHS[name] == "exact"), report


# --- as samplers


@pytest.mark.parametrize("name", MYSTERIES)
def test_rounds_are_tuples_of_tokens_of_the_right_length(name):
    rng = np.random.default_rng(5)
    for gamma in (0, 1, 3):
        rounds = [sealed(name)(TARGET, DRAFT, (), gamma, rng) for _ in range(300)]
        assert {type(x) for one in rounds for x in one} == {int} and {x for one in rounds for x in one} <= {0, 1, 2}
        lengths = {len(one) for one in rounds}
        assert lengths <= set(range(1, gamma + 2)) and (name != "Fir" or lengths == {gamma + 1})


def test_one_number_is_all_that_alder_takes():
    below_one = 1 - 2**-53
    for u in (0.0, 0.3, 0.77, below_one):
        assert len(sealed("Alder")(TARGET, DRAFT, (), 3, Scripted([u]))) in (1, 2, 3, 4)
    with pytest.raises(ValueError, match="the script holds 0 more"):
        speculative_round(TARGET, DRAFT, (), 3, Scripted([0.3]))


@pytest.mark.parametrize("name", sorted(set(MYSTERIES) - {"Cedar"}))
@pytest.mark.parametrize("u", [0.0, 1 - 2**-53])
def test_what_has_no_probability_does_not_come_at_the_ends(name, u):
    target, draft = Chain([[0.0, 1.0], [0.0, 1.0]], [0.0, 1.0]), Chain([[0.5, 0.5], [0.5, 0.5]])
    assert set(sealed(name)(target, draft, (), 2, Scripted([u] * 9))) == {1}


# --- nothing gives it away


def test_labels_and_classes():
    assert list(MYSTERIES) == list(TRUTHS) and {reveal(name).truth for name in MYSTERIES} == set(CLASSES)
    assert {name: reveal(name).truth for name in MYSTERIES} == TRUTHS
    assert all(one.name == name and one.label.endswith(".") for name, one in MYSTERIES.items())


@pytest.mark.parametrize("name", MYSTERIES)
def test_the_source_is_not_to_be_seen_before_it_is_revealed(name):
    linecache.cache.pop(f"<{name}>", None)
    with pytest.raises(OSError):
        inspect.getsource(sealed(name))
    opened = reveal(name)
    assert inspect.getsource(sealed(name)) == opened.source == inspect.getsource(opened.round_)
    linecache.checkcache()
    assert inspect.getsource(sealed(name)) == opened.source


def code_lines(name):
    """Lines of a hidden source that say something of their own."""
    common = {line.strip() for one in MYSTERIES if one != name for line in reveal(one).source.splitlines()}
    return {line.strip() for line in reveal(name).source.splitlines()} - common - {""}


def test_no_file_of_the_kit_shows_a_hidden_line():
    shown = "".join(path.read_text(encoding="utf-8") for path in Path(mysteries.__file__).parent.glob("*.py"))
    for name in MYSTERIES:
        own = {line for line in code_lines(name) if len(line) > 30}
        assert own and not [line for line in own if line in shown], name
        assert reveal(name).why not in shown and repr(MYSTERIES[name]).count(reveal(name).truth) == 0
    assert "rng.random() * q[x] < p[x]" in shown  # as a line that is shown would be found


@pytest.mark.parametrize("name", MYSTERIES)
def test_what_is_revealed_reads_well(name):
    opened = reveal(name)
    ast.parse(opened.source)
    assert max(map(len, repr(opened).splitlines())) <= WIDTH and opened.source.count("\n") <= 20
    assert repr(opened).startswith(f"{name}: {TRUTHS[name]} (") and opened.source.strip() in repr(opened)
    assert opened.why.endswith(".") and opened.label == MYSTERIES[name].label


@pytest.mark.parametrize("ask", [reveal, sealed])
def test_another_name_is_told_which_there_are(ask):
    with pytest.raises(ValueError, match="'Oak' is none of the six: they are Alder, Birch, Cedar, Dogwood, Elm, Fir"):
        ask("Oak")
