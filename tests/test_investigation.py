"""Investigations: the budget, the score, the counterexample, the transfer test, and the report."""

import html
import json
import math
from fractions import Fraction as F
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_kit import evidence, investigation
from specdec_kit.blocks import speculative_round
from specdec_kit.investigation import BASELINE, Investigation, OverBudget, brier, expected_brier, measured
from specdec_kit.lines import WIDTH
from specdec_kit.models import Chain
from specdec_kit.mysteries import CLASSES, DRAFT, TARGET
from specdec_kit.round_faults import bonus_from_draft

# --- the score


def test_the_score_by_hand():
    stated = {"exact": F(7, 10), "first token": F(1, 10), "joint": F(2, 10)}
    assert brier(stated, "exact") == F(9 + 1 + 4, 100)
    assert brier(stated, "joint") == F(49 + 1 + 64, 100)
    assert brier(stated, "declared") == F(49 + 1 + 4 + 100, 100), "a class left out has 0"
    assert brier({"exact": 1}, "exact") == 0 and brier({"exact": 1}, "joint") == 2
    assert brier(dict.fromkeys(CLASSES, F(1, 4)), "joint") == F(3, 4)


beliefs = (
    st.lists(st.integers(0, 20), min_size=4, max_size=4)
    .filter(any)
    .map(lambda parts: {kind: F(part, sum(parts)) for kind, part in zip(CLASSES, parts, strict=True)})
)


@given(beliefs, beliefs)
def test_the_score_is_proper(stated, belief):
    worse = expected_brier(stated, belief) - expected_brier(belief, belief)
    assert worse == sum((stated[kind] - belief[kind]) ** 2 for kind in CLASSES)


def test_a_rule_without_squares_is_not_proper():
    belief, bold = {"exact": F(7, 10), "joint": F(3, 10)}, {"exact": F(1), "joint": F(0)}

    def linear(stated):
        return sum(mass * sum(abs(stated[kind] - (kind == truth)) for kind in stated) for truth, mass in belief.items())

    assert linear(bold) < linear(belief) and expected_brier(bold, belief) > expected_brier(belief, belief)


# --- draws


@pytest.fixture
def case():
    return Investigation(1000)


def test_draws_are_seeded_counted_and_kept(case):
    drawn = case.draw("Fir", 200, seed=3, length=2)
    assert len(drawn.texts) == 200 and {len(text) for text in drawn.texts} == {2}
    assert (case.spent, case.left, case.log) == (200, 800, [drawn])
    assert case.draw("Fir", 200, seed=3, length=2) is drawn and case.spent == 200, "the same call costs nothing"
    again = Investigation(1000).draw("Fir", 200, seed=3, length=2)
    assert again.texts == drawn.texts and again is not drawn
    assert case.draw("Fir", 200, seed=4, length=2).texts != drawn.texts
    assert repr(case) == "6 samplers, 400 of 1,000 draws spent, 600 left"
    assert repr(drawn) == "Fir: 200 texts of 2, γ = 2, seed 3"


def test_draws_are_what_the_sampler_makes_of_the_seed():
    case = Investigation(50, samplers={"a": speculative_round, "b": speculative_round}, truths={})
    rng = np.random.default_rng([7, 1])
    assert case.draw("b", 20, seed=7).texts == tuple(speculative_round(TARGET, DRAFT, (), 2, rng) for _ in range(20))
    assert case.draw("a", 20, seed=7).texts != case.draw("b", 20, seed=7).texts


def test_the_budget_is_kept(case):
    case.draw("Elm", 900, seed=1)
    with pytest.raises(OverBudget, match="101 draws of Elm are more than the 100 that are left of 1,000: draw fewer"):
        case.draw("Elm", 101, seed=2)
    assert case.left == 100 and len(case.log) == 1
    case.draw("Elm", 100, seed=2)
    assert case.left == 0


@pytest.mark.parametrize(
    "change", [{"times": 11}, {"length": 2}, {"gamma": 3}, {"context": (1,)}, {"draft": TARGET}, {"target": DRAFT}]
)
def test_a_seed_serves_a_sampler_once(case, change):
    call = {"times": 10, "length": 1, "gamma": 2, "seed": 5}
    case.draw("Elm", **call)
    with pytest.raises(ValueError, match="seed 5 was used for other draws of Elm, and these would repeat them"):
        case.draw("Elm", **call | change)
    assert case.spent == 10
    case.draw("Birch", **call | change)  # another sampler's draws are its own


def test_a_chain_is_the_same_by_its_numbers(case):
    drawn = case.draw("Elm", 10, seed=5, target=Chain(TARGET.table, TARGET.start))
    assert case.draw("Elm", 10, seed=5) is drawn


@pytest.mark.parametrize(
    "call", [{"times": 0}, {"seed": -1}, {"length": 0}, {"name": "Oak"}, {"times": 4e3}, {"seed": None}, {"gamma": -1}]
)
def test_a_call_that_makes_no_sense_is_refused(case, call):
    with pytest.raises(
        ValueError, match=r"give a whole number, at least \d|is none of these samplers: they are Alder, Birch"
    ):
        case.draw(**{"name": "Elm", "times": 5, "seed": 1} | call)
    assert case.spent == 0


def test_counts_lengths_and_reports(case):
    drawn = case.draw("Fir", 300, seed=1, length=2)
    assert sum(drawn.counts.values()) == 300 and set(drawn.counts) <= {a + b for a in "ABC" for b in "ABC"}
    first, text = drawn.report(1), drawn.report()
    assert first.tokens == ("A", "B", "C") and np.allclose(first.p, [0.5, 0.33, 0.17])
    assert text.tokens[:2] == ("AA", "AB") and np.allclose(text.p[:2], [0.5 * 0.2, 0.5 * 0.5])
    assert first.counts[0] == sum(count for name, count in drawn.counts.items() if name[0] == "A")
    assert (first.seed, first.alpha, first.draws) == (1, investigation.ALPHA, 300)
    rounds = case.draw("Fir", 100, seed=2)
    assert rounds.lengths == {3: 100} and rounds.report(1).draws == 100
    with pytest.raises(ValueError, match="not every text has one and the same number of tokens: draw with length=2"):
        rounds.report()
    with pytest.raises(ValueError, match="not every text has 3 tokens"):
        drawn.report(3)


def test_a_report_holds_draws_against_another_law(case):
    drawn = case.draw("Cedar", 800, seed=1, length=1)
    claim = 0.8 * TARGET(()) + 0.2 * DRAFT(())
    assert np.allclose(drawn.report(law=claim).p, claim)
    assert np.allclose(drawn.report(law={(0,): 0.5, (1,): 0.5}).p, [0.5, 0.5, 0]), "C came, and is impossible here"
    assert not drawn.report(law={(0,): 0.5, (1,): 0.5}).passed


# --- predictions, verdicts, reveals


def test_a_prediction_comes_before_the_draws(case):
    case.predict("Elm", {"exact": 1})
    case.draw("Elm", 1, seed=0)
    case.predict("Elm", {"exact": 1})  # the cell, run again
    with pytest.raises(ValueError, match="Elm was drawn from already: a prediction is made before the first draw"):
        case.predict("Elm", {"joint": 1})
    with pytest.raises(ValueError, match="there is no verdict on Elm yet: conclude first, then look"):
        case.reveal("Elm")


def test_a_verdict_stays_once_it_is_seen(case):
    case.conclude("Elm", {"exact": 1})
    case.conclude("Elm", {"exact": 0.25, "joint": 0.75}, because="pairs")
    assert str(case.verdicts["Elm"]) == "joint (75 %)" and case.verdicts["Elm"].kind == "joint"
    opened = case.reveal("Elm")
    assert opened.truth == "joint" and case.scores() == {"Elm": 2 * 0.25**2}
    case.conclude("Elm", {"exact": 0.25, "joint": 0.75}, because="pairs")
    with pytest.raises(ValueError, match="Elm is revealed: its verdict stays"):
        case.conclude("Elm", {"joint": 1})
    assert case.scores("predicted") == {}


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"right": 1}, "'right' is no class: they are 'exact', 'first token', 'joint', 'declared'"),
        ({"exact": 0.5}, "and 1 to all together"),
        ({"exact": 1.2, "joint": -0.2}, "give each class at least 0"),
        ({}, "and 1 to all together"),
        ({"exact": float("nan")}, "and 1 to all together"),
    ],
)
def test_what_is_no_verdict_is_refused(case, stated, says):
    for state in (case.predict, case.conclude):
        with pytest.raises(ValueError, match=says):
            state("Elm", stated)
    assert not case.verdicts and not case.predicted


def test_samplers_of_ones_own():
    case = Investigation(10, samplers={"Hazel": bonus_from_draft}, truths={"Hazel": "joint"})
    case.conclude("Hazel", {"joint": 1})
    assert case.reveal("Hazel").truth == "joint" and "def bonus_from_draft" in case.reveal("Hazel").source


# --- the counterexample


def test_a_counterexample_is_a_text_that_the_interval_excludes():
    case = Investigation(4000)
    drawn = case.draw("Birch", 4000, seed=1, length=2)
    found = drawn.report(level=0.999)
    at = int(np.argmin(found.pvalues))
    shown = case.show_counterexample(drawn, found.tokens[at], because="no residual")
    assert case.counterexample is shown and shown.excludes and shown.exact is None
    assert (shown.count, shown.draws, shown.seed) == (found.counts[at], 4000, 1)
    assert shown.interval == tuple(found.band[at]), "for all texts together"
    case.conclude("Birch", {"joint": 1})
    case.reveal("Birch")
    known = case.show_counterexample(drawn, found.tokens[at])
    low, high = known.interval
    assert low <= known.exact <= high and "; exactly " in str(known)


def test_what_is_no_counterexample_is_refused():
    case = Investigation(2000)
    drawn = case.draw("Fir", 2000, seed=1, length=2)
    for text in drawn.report().tokens:
        with pytest.raises(ValueError, match="holds that: choose a text that it excludes"):
            case.show_counterexample(drawn, text)
    with pytest.raises(ValueError, match="'AD' is no text of these draws: they are such as 'AA'"):
        case.show_counterexample(drawn, "AD")
    assert case.counterexample is None


# --- the transfer test


@pytest.mark.parametrize(
    ("quantity", "change", "due"),
    [
        ("accepted mass", {}, F(7, 10)),
        ("tokens a round", {}, F(17, 10)),
        ("first token is A", {}, F(6, 10)),
        ("tokens a round", {"gamma": 3}, 1 + F(7, 10) + F(49, 100) + F(343, 1000)),
        ("accepted mass", {"gamma": 3}, F(7, 10)),
        ("accepted mass", {"q": (0.6, 0.4)}, 1),
        ("accepted mass", {"q": (1.0, 0.0)}, F(6, 10)),
        ("tokens a round", {"p": (0.0, 1.0)}, 1 + F(7, 10)),
        ("first token is A", {"p": (0.0, 1.0)}, 0),
        ("tokens a round", {"gamma": 0}, 1),
    ],
)
def test_quantities_by_hand(quantity, change, due):
    assert measured(quantity, **BASELINE | change) == due


def test_a_transfer_test(case):
    made = case.try_transfer("tokens a round", "tokens", {"gamma": 2}, 2)
    assert (made.before, made.predicted) == (1.7, 2.0) and math.isclose(made.after, 2.19) and case.transfer is made
    assert str(made) == ("tokens a round, gamma from 1 to 2: before 1.7, predicted 2, now 2.19 tokens; off by 0.19")


@pytest.mark.parametrize(
    ("quantity", "unit", "change", "says"),
    [
        ("speed", "tokens", {"gamma": 2}, "'speed' is not measured here: take one of accepted mass, tokens a round"),
        ("tokens a round", "seconds", {"gamma": 2}, "tokens a round is measured in 'tokens', not in 'seconds'"),
        ("accepted mass", "tokens", {"gamma": 2}, "accepted mass is measured in 'probability', not in 'tokens'"),
        ("accepted mass", "probability", {"gamma": 2, "q": (1, 0)}, "is to change one thing: p, q or gamma"),
        ("accepted mass", "probability", {}, "is to change one thing"),
        ("accepted mass", "probability", {"eos": 1}, "is to change one thing"),
        ("accepted mass", "probability", {"q": [0.3, 0.7]}, "is the baseline itself: change it"),
    ],
)
def test_what_is_no_transfer_test_is_refused(case, quantity, unit, change, says):
    with pytest.raises(ValueError, match=says):
        case.try_transfer(quantity, unit, change, 1)
    assert case.transfer is None


# --- the rubric and the report


def an_answer():
    return "<b>42</b>"


@pytest.fixture(scope="module")
def whole():
    """An investigation with every part."""
    case = Investigation(4000)
    for name in case.names:
        case.predict(name, dict.fromkeys(CLASSES, 0.25))
    for name in case.names:
        case.draw(name, 2000 if name == "Birch" else 100, seed=1, length=2)
        case.conclude(name, {"joint": 0.5, "exact": 0.5}, because="a < b & c")
    case.draw("Fir", 50, seed=2)
    for name in case.names:
        case.reveal(name)
    found = case.draws("Birch")[0].report()
    case.show_counterexample(case.draws("Birch")[0], found.tokens[int(np.argmin(found.pvalues))], because="<why>")
    case.try_transfer("tokens a round", "tokens", {"gamma": 2}, 2)
    return case


def test_an_empty_report_says_what_is_missing(case):
    assert case.missing() == [
        "There is no prediction, before the first draw, of Alder, Birch, Cedar, Dogwood, Elm, Fir.",
        "Nothing was drawn from Alder, Birch, Cedar, Dogwood, Elm, Fir.",
        "There is no verdict on Alder, Birch, Cedar, Dogwood, Elm, Fir.",
        "Not revealed, so not scored: Alder, Birch, Cedar, Dogwood, Elm, Fir.",
        "There is no counterexample yet.",
        "There is no transfer test yet.",
        "0 of 6 verdicts give a reason.",
    ]
    report = case.report()
    assert report.points == (0, 85) and "0.0 of 85 points by machine" in repr(report)
    assert "counterexample: none yet" in repr(report) and "none handed in" in report.page()


def test_a_whole_report_has_its_points(whole):
    assert whole.missing() == [] and sum(mark.points for mark in whole.marks()) == 100
    # Birch, Elm, Alder and Fir score 0.5² + 0.5² = 0.5, the others 0.5 + 1 = 1.5.
    assert set(whole.scores().values()) == {0.5, 1.5}
    honest = 20 * (4 * (1 - 0.5 / 2) + 2 * (1 - 1.5 / 2)) / 6
    assert whole.report().points == (pytest.approx(65 + honest), 85)
    assert [mark.reached for mark in whole.marks()] == ["10.0", "20.0", "10.0", f"{honest:.1f}", "15.0", "10.0",
                                                        "for the teacher"]  # fmt: skip


def test_what_is_half_done_has_half_the_points(case):
    for name in case.names[:3]:
        case.predict(name, {"exact": 1})
        case.draw(name, 10, seed=1)
        case.conclude(name, {"exact": 1})
    assert [mark.share for mark in case.marks()] == [0.5, 0.5, 0.5, 0, 0, 0, None]
    assert case.missing()[:2] == ["There is no prediction, before the first draw, of Dogwood, Elm, Fir.",
                                  "Nothing was drawn from Dogwood, Elm, Fir."]  # fmt: skip


def test_the_text_is_stable_and_tells_the_main_things(whole):
    shown = repr(whole.report(an_answer))
    assert shown == repr(whole.report(an_answer)) and "specdec_kit" not in shown
    first = shown.splitlines()
    assert first[0] == "Evidence report" and "2,550 of 4,000 draws spent" in " ".join(shown.split())
    score = "Brier's score 0.833 on average, before the draws 0.750 (knowing nothing: 0.75; 0 is best)"
    assert score in " ".join(shown.split())


def test_a_notebook_shows_tables_whose_columns_hold_in_a_narrow_window(whole):
    shown = whole.report(an_answer)._repr_html_()
    page = Page(shown)
    assert not page.open and len(page.every("table")) == len(page.every("caption")) == 3
    assert {attrs["scope"] for attrs in page.every("th")} == {"row", "col"}
    assert "a &lt; b &amp; c" in shown and "specdec_kit" not in shown
    assert f"<p>counterexample: {html.escape(str(whole.counterexample))}</p>" in shown
    sentences = [line for line in repr(whole.report()).splitlines() if "  " not in line.strip()]
    assert max(map(len, sentences)) <= WIDTH


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def every(self, tag):
        return [attrs for name, attrs in self.seen if name == tag]


def page_faults(text):
    page = Page(text)
    levels = [int(tag[1]) for tag, _ in page.seen if tag in ("h1", "h2", "h3")]
    faults = []
    if page.every("html") != [{"lang": "en"}]:
        faults.append("no language")
    if levels[:1] != [1] or levels.count(1) != 1 or any(b > a + 1 for a, b in pairwise(levels)):
        faults.append("headings")
    if not all(attrs.get("scope") in ("row", "col") for attrs in page.every("th")):
        faults.append("a header cell without a scope")
    if len(page.every("caption")) != len(page.every("table")):
        faults.append("a table without a caption")
    if any({"src", "href", "onclick"} & attrs.keys() for _, attrs in page.seen) or page.every("script"):
        faults.append("something from elsewhere")
    if page.open or not page.every("title") or not page.every("main"):
        faults.append("not a page")
    return faults


def test_the_page_is_accessible_and_needs_no_network(whole):
    text = whole.report(an_answer).page()
    assert page_faults(text) == []
    assert "&lt;b&gt;42&lt;/b&gt;" in text and "<b>42" not in text, "code is shown, not run"
    assert "a &lt; b &amp; c" in text and "&lt;why&gt;" in text
    assert "url(" not in text and "@import" not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [(' lang="en"', ""), ("<h2>Verdicts", "<h4>Verdicts"), ("<h1>", "<h2>"), ('<th scope="row"', "<th"),
     ("<caption>", "<p>"), ("<main>", '<main><img src="a.png">'), ("</main>", ""), ("</style>", "</style><script>")],
)  # fmt: skip
def test_a_page_that_is_not_is_found(whole, old, new):
    text = whole.report().page()
    assert old in text
    try:
        faults = page_faults(text.replace(old, new))
    except AssertionError:  # tags that do not close
        return
    assert faults


def test_the_json_holds_every_number(whole, tmp_path):
    found = json.loads(whole.report(an_answer).export(tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [(one["sampler"], one["seed"], one["draws"], sum(one["counts"].values())) for one in found["draws"]] == [
        *((name, 1, 2000 if name == "Birch" else 100, 2000 if name == "Birch" else 100) for name in whole.names),
        ("Fir", 2, 50, 50),
    ]
    again = Investigation(2000).draw("Birch", 2000, seed=1, length=2)
    assert found["draws"][1]["counts"] == again.counts, "whoever has the seed has the counts"
    assert found["verdicts"]["Elm"]["stated"] == {"exact": 0.5, "first token": 0, "joint": 0.5, "declared": 0}
    assert found["truth"]["Elm"] == "joint" and found["scores"]["verdicts"]["Elm"] == 0.5
    assert found["counterexample"]["because"] == "<why>" and found["transfer"]["change"] == {"gamma": 2}
    assert found["kit"].keys() == {"specdec_kit", "commit", "time", "numpy", "scipy", "python"}
    assert "def an_answer" in found["code"]["an_answer"] and found["budget"] == 4000


def test_predictions_and_records_of_the_lessons_are_on_it(whole, monkeypatch):
    monkeypatch.setattr(evidence, "_in_memory", [])
    evidence.predict("a <thing>", 0.3, unit="tokens")
    evidence.record("a <thing>", expected=1, observed=2)
    text, facts = whole.report().page(), whole.report().facts()
    assert "a &lt;thing&gt;</th><td>0.3</td><td>tokens</td>" in text
    assert facts["predictions"][0]["value"] == 0.3 and facts["records"][0]["discrepancy"] == 1


def test_files_are_written_whole_or_not_at_all(whole, tmp_path, monkeypatch):
    report = whole.report()
    for name in ("r.html", "r.json"):
        path = report.export(tmp_path / name)
        assert path.read_text(encoding="utf-8").endswith("\n")
    with pytest.raises(ValueError, match=r"r.txt ends neither in .json nor in .html: choose one of the two"):
        report.export(tmp_path / "r.txt")
    before = (tmp_path / "r.html").read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.export(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]


def test_it_is_handed_in_from_a_readers_folder_alone(whole, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert whole.report().hand_in() == [] and not list(tmp_path.iterdir())
    (tmp_path / ".copies.json").write_text("{}")
    assert case.report().hand_in() == [] and len(list(tmp_path.iterdir())) == 1, "there is nothing on it"
    made = whole.report().hand_in()
    assert [path.name for path in made] == ["investigation.html", "investigation.json"]
    assert all(path.is_file() for path in made)
