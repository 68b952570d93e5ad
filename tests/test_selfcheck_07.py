"""The checks of lesson 07's exercises: right answers pass, wrong ones are told why."""

import numpy as np
import pytest

from specdec_kit import selfcheck
from specdec_kit.investigation import Investigation
from specdec_kit.mysteries import CLASSES


def gap(*_):
    raise NotImplementedError


@pytest.fixture
def case():
    return Investigation(6000)


# --- the score


def by_loop(stated, truth):
    total = 0
    for kind, mass in stated.items():
        total += (1 - mass) ** 2 if kind == truth else mass**2
    return total


def by_vector(stated, truth):
    came = np.array([kind == truth for kind in stated], float)
    return ((np.array(list(stated.values())) - came) ** 2).sum()


def by_formula(stated, truth):
    return 1 - 2 * stated[truth] + sum(mass**2 for mass in stated.values())


@pytest.mark.parametrize("brier", [by_loop, by_vector, by_formula])
def test_the_score_passes_however_it_is_written(brier):
    assert selfcheck.check_brier(brier)


@pytest.mark.parametrize(
    ("brier", "advice"),
    [
        (lambda stated, truth: (1 - stated[truth]) ** 2, "what was given to the others counts too"),
        (lambda stated, truth: by_loop(stated, truth) / len(stated), "the sum is asked for"),
        (lambda stated, truth: sum(abs(mass - (kind == truth)) for kind, mass in stated.items()), "Square each"),
        (lambda stated, truth: sum(mass**2 for mass in stated.values()), "is to stand at 1"),
        (lambda stated, truth: 1 - by_loop(stated, truth), "return the sum itself"),
        (lambda stated, truth: -np.log(stated[truth]), "0.14 is due; yours is 0.356675"),
        (lambda stated, truth: None, "yours is None"),
        (lambda stated: 0, "it raises TypeError"),
        (gap, "gap is not written yet."),
    ],
)
def test_a_score_that_is_wrong_is_told_why(brier, advice):
    verdict = selfcheck.check_brier(brier)
    assert not verdict and advice in verdict.says


# --- predictions


def all_alike(case):
    for name in case.names:
        case.predict(name, dict.fromkeys(CLASSES, 0.25))


def test_predictions_pass(case):
    verdict = selfcheck.check_predictions(all_alike, case)
    assert verdict and verdict.says == "6 predictions, before the first draw."
    assert selfcheck.check_predictions(all_alike, case), "the cell, run again"


@pytest.mark.parametrize(
    ("from_labels", "advice"),
    [
        (gap, "gap is not written yet."),
        (
            lambda case: None,
            "There is no prediction, before the first draw, of Alder, Birch, Cedar, Dogwood, Elm, Fir.",
        ),
        (lambda case: case.predict("Elm", {"exact": 1}), "draw, of Alder, Birch, Cedar, Dogwood, Fir."),
        (lambda case: case.predict("Elm", {"exact": 2}), "it raises ValueError: the probabilities are {exact: 2"),
        (lambda case: (case.draw("Elm", 1, seed=1), all_alike(case)), "Elm was drawn from already"),
        (lambda: None, "it raises TypeError"),
    ],
)
def test_predictions_that_lack_something_are_told_what(case, from_labels, advice):
    verdict = selfcheck.check_predictions(from_labels, case)
    assert not verdict and advice in verdict.says


# --- draws and verdicts


def judge(case, because="the counts", stated=None):
    for name in case.names:
        case.draw(name, 100, seed=1, length=2)
        case.conclude(name, stated or {"joint": 0.9, "exact": 0.1}, because=because)


def test_verdicts_pass_whatever_they_say(case):
    verdict = selfcheck.check_conclusions(judge, case)
    assert verdict and verdict.says == "6 verdicts, 600 of 6,000 draws."
    assert not case.revealed, "a check gives nothing away"


def test_certainty_is_told_to_be_none(case):
    verdict = selfcheck.check_conclusions(lambda case: judge(case, stated={"exact": 1}), case)
    assert verdict and "Of Alder, Birch, Cedar, Dogwood, Elm, Fir you are certain: no draws bring that." in verdict.says


@pytest.mark.parametrize(
    ("investigate", "advice"),
    [
        (gap, "gap is not written yet."),
        (lambda case: None, "Nothing was drawn from Alder, Birch, Cedar, Dogwood, Elm, Fir."),
        (lambda case: [case.draw(name, 10, seed=1) for name in case.names], "There is no verdict on Alder, Birch"),
        (lambda case: judge(case, because=""), "0 of 6 verdicts give a reason."),
        (lambda case: case.draw("Elm", 7000, seed=1), "it raises OverBudget: 7,000 draws of Elm are more than"),
        (lambda case: judge(case, stated={"fine": 1}), "'fine' is no class"),
    ],
)
def test_an_investigation_that_lacks_something_is_told_what(case, investigate, advice):
    verdict = selfcheck.check_conclusions(investigate, case)
    assert not verdict and advice in verdict.says


# --- the counterexample


def too_often(case, because="it is not corrected"):
    drawn = case.draw("Birch", 4000, seed=2, length=2)
    found = drawn.report()
    case.show_counterexample(drawn, found.tokens[int(np.argmin(found.pvalues))], because=because)


def test_a_counterexample_passes(case):
    verdict = selfcheck.check_counterexample(too_often, case)
    assert verdict and verdict.says.startswith("Birch, γ = 2: the text ") and verdict.says.endswith("(seed 2).")


@pytest.mark.parametrize(
    ("counterexample", "advice"),
    [
        (gap, "gap is not written yet."),
        (lambda case: None, "Nothing was kept: give draws and a text to case.show_counterexample."),
        (lambda case: too_often(case, because=""), "Say why the law is not the target's"),
        (lambda case: case.show_counterexample(case.draw("Fir", 500, seed=2, length=2), "AB"), "holds that: choose a"),
        (lambda case: case.show_counterexample(case.draw("Fir", 9, seed=2, length=2), "ABC"), "not every text has 3"),
    ],
)
def test_what_is_no_counterexample_is_told_why(case, counterexample, advice):
    verdict = selfcheck.check_counterexample(counterexample, case)
    assert not verdict and advice in verdict.says


# --- the transfer test

FULL = {"quantity": "tokens a round", "unit": "tokens", "change": {"q": [0.6, 0.4]}, "predicted": 2}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "now 2 tokens; off by 0."),
        ({"predicted": 1.5}, "predicted 1.5, now 2 tokens; off by 0.5."),
        ({"change": {"gamma": 4}}, "now 2.7731 tokens"),
        ({"change": {"p": (1, 0)}}, "now 1.3 tokens"),
    ],
)
def test_a_transfer_test_passes_right_or_off(case, change, says):
    verdict = selfcheck.check_transfer(lambda: FULL | change, case)
    assert verdict and says in verdict.says


@pytest.mark.parametrize(
    ("transfer", "advice"),
    [
        (gap, "gap is not written yet."),
        (lambda: None, "return a dict with quantity, unit, change and predicted."),
        (lambda: {"quantity": "tokens a round"}, "return a dict with quantity, unit, change and predicted."),
        (lambda: FULL | {"unit": "seconds"}, "tokens a round is measured in 'tokens', not in 'seconds'"),
        (lambda: FULL | {"change": {"q": [0.3, 0.7]}}, "is the baseline itself: change it"),
        (lambda: FULL | {"change": {"q": [0.6, 0.6]}}, "q sums to 1.2"),
        (lambda: FULL | {"predicted": "two"}, "it raises ValueError: could not convert"),
    ],
)
def test_what_is_no_transfer_test_is_told_why(case, transfer, advice):
    verdict = selfcheck.check_transfer(transfer, case)
    assert not verdict and advice in verdict.says


# --- the whole


def test_the_whole_passes_and_each_part_that_is_missing_is_told(case):
    steps = [
        (lambda: all_alike(case), "There is no prediction"),
        (lambda: judge(case), "Nothing was drawn from"),
        (lambda: [case.reveal(name) for name in case.names], "Not revealed, so not scored"),
        (lambda: too_often(case), "There is no counterexample yet."),
        (lambda: case.try_transfer(**FULL), "There is no transfer test yet."),
    ]
    for step, missing in steps:
        verdict = selfcheck.check_investigation(case)
        assert not verdict and missing in verdict.says
        step()
        assert missing not in selfcheck.check_investigation(case).says
    assert selfcheck.check_investigation(case)
