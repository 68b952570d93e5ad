"""Intervals, tests and power against SciPy, hand-derived values, and simulation of what they promise."""

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from specdec_kit.distributions import InvalidDistribution
from specdec_kit.uncertainty import (
    AnytimeTest,
    Fit,
    binomial_pvalues,
    bootstrap,
    clopper_pearson,
    detectable_bias,
    draws_for,
    goodness_of_fit,
    report,
    simultaneous_band,
    total_variation_estimate,
    wilson,
)

P = np.array([0.4, 0.3, 0.2, 0.1])


def wrongly(rate, tries):
    """Bounds that a count of tries with this rate leaves once in ten million."""
    return stats.binom.ppf([5e-8, 1 - 5e-8], tries, rate)


# --- intervals


@given(st.integers(1, 2000), st.data(), st.sampled_from([0.5, 0.95, 0.999]))
@settings(derandomize=True)
def test_intervals_are_scipys(draws, data, level):
    count = data.draw(st.integers(0, draws))
    for ours, method in ((clopper_pearson, "exact"), (wilson, "wilson")):
        theirs = stats.binomtest(count, draws).proportion_ci(level, method)
        np.testing.assert_allclose(ours(count, draws, level), [theirs.low, theirs.high], rtol=1e-9, atol=1e-12)


def coverage(interval, p, draws, level=0.95):
    """Exact probability that the interval holds p, summed over all counts."""
    k = np.arange(draws + 1)
    low, high = interval(k, draws, level).T
    return stats.binom.pmf(k, draws, p)[(low <= p) & (p <= high)].sum()


def wald(k, draws, level):
    """The textbook interval, as a control: it does not cover."""
    freq, z = k / draws, stats.norm.isf((1 - level) / 2)
    half = z * np.sqrt(freq * (1 - freq) / draws)
    return np.stack([freq - half, freq + half], axis=-1)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("draws", [10, 50, 400])
def test_coverage(p, draws):
    assert coverage(clopper_pearson, p, draws) >= 0.95
    assert coverage(wilson, p, draws) >= 0.90  # close to the level, without a promise


def test_the_textbook_interval_would_fail_the_test_of_coverage():
    assert coverage(wald, 0.1, 10) < 0.7 and coverage(wald, 0.01, 50) < 0.5


def test_a_band_holds_for_all_tokens_together():
    rng, tries = np.random.default_rng(0), 2000
    counts = rng.multinomial(200, P, size=tries)
    outside_band = sum(not ((b := simultaneous_band(c))[:, 0] <= P).all() or not (b[:, 1] >= P).all() for c in counts)
    each = [clopper_pearson(c, 200) for c in counts]
    outside_each = sum(not ((b[:, 0] <= P) & (b[:, 1] >= P)).all() for b in each)
    assert outside_band <= wrongly(0.05, tries)[1]
    assert outside_each > wrongly(0.05, tries)[1]  # control: intervals for single tokens do not hold together


# --- goodness of fit


def test_binomial_pvalues_by_hand():
    # Ten draws of a fair coin, nine of them heads: 2 (10 + 1)/1024.
    np.testing.assert_allclose(binomial_pvalues([9, 1], [0.5, 0.5]), [22 / 1024, 22 / 1024])
    assert binomial_pvalues([5, 5], [0.5, 0.5]).tolist() == [1, 1]
    assert binomial_pvalues([9, 1], [1, 0]).tolist() == [0, 0]  # the impossible happened


def test_fit_takes_chi_square_where_it_is_valid_and_the_exact_test_elsewhere():
    large = goodness_of_fit([420, 280, 200, 100], P)
    # χ² = 400/400 + 400/300, with three degrees of freedom
    assert large == Fit(pytest.approx(stats.chi2.sf(7 / 3, 3)), "chi-square", 1)
    small = goodness_of_fit([0, 0, 0, 20], P)  # expects 2 of the last
    assert small.method == "exact binomial" and small.token == 3
    assert small.pvalue == pytest.approx(4 * 2 * 0.1**20)
    assert goodness_of_fit([20, 1], [1, 0]).pvalue == 0
    assert goodness_of_fit([20, 0], [1, 0]).pvalue == 1


def test_chi_square_needs_five_of_each_token():
    fit = goodness_of_fit([6, 4], [0.5, 0.5])
    assert (fit.method, fit.pvalue) == ("chi-square", pytest.approx(stats.chi2.sf(0.4, 1)))
    assert goodness_of_fit([5, 3], [0.5, 0.5]).method == "exact binomial"  # expects 4


@pytest.mark.parametrize("draws", [12, 200])
def test_false_alarms_of_fit(draws):
    rng, tries = np.random.default_rng(1), 4000
    alarms = sum(goodness_of_fit(c, P).pvalue <= 0.01 for c in rng.multinomial(draws, P, size=tries))
    assert alarms <= wrongly(0.013, tries)[1]  # χ² is approximate: at 40 draws and more within a third
    biased = [0.1, 0.2, 0.3, 0.4]
    caught = sum(goodness_of_fit(c, P).pvalue <= 0.01 for c in rng.multinomial(draws, biased, size=400))
    assert caught > wrongly(0.013, 400)[1]  # control: the test can fail


def alarms_per_alpha(pvalues, weights):
    """Largest P(p-value ≤ α)/α over every α below 0.05, for p-values that occur with these probabilities."""
    order = np.argsort(pvalues)
    alpha, rate = pvalues[order], np.cumsum(weights[order])
    at = np.append(alpha[1:] > alpha[:-1], True) & (alpha <= 0.05) & (alpha > 0)  # ties count together
    return (rate[at] / alpha[at]).max()


@pytest.mark.parametrize(("p", "draws"), [(0.5, 10), (0.05, 100), (0.02, 250), (0.2, 100), (0.1, 1000), (0.3, 3000)])
def test_the_false_alarm_rate_holds_far_into_the_tail(p, draws):
    k = np.arange(draws + 1)
    counts, law, weights = np.stack([k, draws - k], axis=1), np.array([p, 1 - p]), stats.binom.pmf(k, draws, p)
    ours = np.array([goodness_of_fit(c, law).pvalue for c in counts])
    assert alarms_per_alpha(ours, weights) < 1.6
    pearson = stats.chi2.sf((k - draws * p) ** 2 / (draws * p * (1 - p)), 1)
    if p < 0.1:  # control: χ² by itself, with five draws expected, gives false alarms by the hundred
        assert alarms_per_alpha(pearson, weights) > 100


def test_the_false_alarm_rate_holds_for_three_tokens():
    law, draws = np.array([0.1, 0.1, 0.8]), 60
    counts = np.array([(a, b, draws - a - b) for a in range(draws + 1) for b in range(draws + 1 - a)])
    weights = stats.multinomial.pmf(counts, draws, law)
    assert alarms_per_alpha(np.array([goodness_of_fit(c, law).pvalue for c in counts]), weights) < 1.6
    assert alarms_per_alpha(stats.chisquare(counts, draws * law, axis=1).pvalue, weights) > 100


def test_chi_square_is_raised_to_what_its_counts_allow():
    reach = 2 * stats.norm.sf((18 * 5) ** (1 / 6))
    assert 0.03 < reach < 0.04
    each_a_little = np.repeat([1, 9], 10)  # 20 tokens, 5 expected of each: no count is strange by itself
    fit = goodness_of_fit(each_a_little, np.full(20, 0.05))
    assert (fit.method, fit.pvalue) == ("chi-square, raised", pytest.approx(reach))
    one_token = goodness_of_fit([30, *[4] * 10, *[3] * 10], np.full(21, 1 / 21))
    assert one_token.method == "exact binomial" and one_token.pvalue < 1e-9


# --- power


def test_power_by_hand():
    # z(0.025) = 1.959964, z(0.2) = 0.841621; √(.25/100) = 0.05.
    assert detectable_bias(100, alpha=0.05, power=0.8) == pytest.approx((1.959964 + 0.841621) * 0.05, rel=1e-6)
    assert draws_for(0.01, alpha=0.05, power=0.8) == 19623  # ⌈0.25 · 2.801585² / 0.0001⌉
    assert detectable_bias(100, alpha=0.05, tests=5) == detectable_bias(100, alpha=0.01)


@pytest.mark.parametrize("bias", [0.05, 0.02])
def test_power_is_what_is_promised(bias):
    alpha, power, tries = 1e-3, 0.9, 2000
    n = draws_for(bias, alpha=alpha, power=power)
    heads = np.random.default_rng(2).binomial(n, 0.5 + bias, size=tries)
    found = 2 * np.minimum(stats.binom.cdf(heads, n, 0.5), stats.binom.sf(heads - 1, n, 0.5)) <= alpha
    low, high = wrongly(power, tries)
    assert (
        low - 0.01 * tries <= found.sum() <= high + 0.01 * tries
    )  # the normal approximation is good to a point in 100
    missed = np.random.default_rng(3).binomial(n // 4, 0.5 + bias, size=tries)  # control: a quarter of the draws
    assert (2 * stats.binom.sf(missed - 1, n // 4, 0.5) <= alpha).sum() < low / 2


# --- distance


def test_distance_by_hand():
    # Two draws of a fair coin: |k/2 − ½| is ½, 0, ½ with ¼, ½, ¼, so ½ Σ E = ½ · 2 · ¼.
    assert total_variation_estimate([2, 0], [0.5, 0.5]) == (0.5, pytest.approx(0.25))
    # One draw: |k − 0.7| is 0.3 with 0.7 and 0.7 with 0.3, for either token.
    assert total_variation_estimate([1, 0], [0.7, 0.3]) == (pytest.approx(0.3), pytest.approx(0.42))


@pytest.mark.parametrize(("size", "floor"), [(4, 0.007), (50, 0.028)])
def test_the_noise_floor_is_met(size, floor):
    law = P if size == 4 else np.full(50, 1 / 50)
    seen = [total_variation_estimate(c, law) for c in np.random.default_rng(4).multinomial(10_000, law, size=2000)]
    estimates, floors = np.array(seen).T
    assert np.ptp(floors) == 0 and floors[0] == pytest.approx(floor, abs=5e-4)  # figures of the field
    assert estimates.mean() == pytest.approx(floors[0], abs=5 * estimates.std() / 2000**0.5)


# --- looking while draws arrive


def alarm(law, tokens, alpha):
    """Draw at which the test first rejects, or None."""
    test = AnytimeTest(law, alpha)
    return next((i for i, token in enumerate(tokens, 1) if test.update(int(token))), None)


def test_looking_at_every_draw_raises_no_more_false_alarms():
    rng, tries, alpha = np.random.default_rng(5), 500, 0.05
    draws = rng.choice(2, p=[0.7, 0.3], size=(tries, 300))
    alarms = sum(alarm([0.7, 0.3], row, alpha) is not None for row in draws)
    assert alarms <= wrongly(alpha, tries)[1]
    heads = np.cumsum(draws == 0, axis=1)[:, 9:]  # control: a binomial test at each look, from the tenth draw on
    n = np.arange(10, 301)
    each = 2 * np.minimum(stats.binom.cdf(heads, n, 0.7), stats.binom.sf(heads - 1, n, 0.7)) <= alpha
    assert each.any(axis=1).sum() > 2 * wrongly(alpha, tries)[1]


def test_it_finds_a_bias_and_the_evidence_is_a_ratio_of_probabilities():
    assert alarm([0.7, 0.3], np.random.default_rng(6).choice(2, p=[0.61, 0.39], size=5000), 1e-6) is not None
    test = AnytimeTest([0.7, 0.3], prior=1)
    test.update([0, 1, 0])
    # Under the uniform mixture: ½ · ⅓ · ½; under p: .7 · .3 · .7.
    assert np.exp(test.log_evidence) == pytest.approx((1 / 12) / (0.7 * 0.3 * 0.7))
    assert test.draws == 3 and not test.rejected
    assert test.update([]) is False and test.draws == 3


def test_the_impossible_rejects_at_once():
    assert alarm([1, 0], [0, 0, 1], 1e-6) == 3


# --- the report

WRONG = [2600, 3200, 2800, 1400]  # what a draw from p itself after each rejection gives, where P is due
RIGHT = [4020, 2980, 1990, 1010]


def test_a_report_says_all_that_is_asked_of_a_result():
    said = report(RIGHT, P, seed=7)
    lines = repr(said).splitlines()
    assert lines[0] == "10,000 draws, seed 7"
    assert lines[1].split("  ")[0] == "token" and len(lines) == 1 + 1 + 4 + 5
    low, high = clopper_pearson(4020, 10_000)
    wide = simultaneous_band(RIGHT)[0]
    assert re.split("  +", lines[2]) == [
        "A", "4,020", "0.4", "0.402", f"{low:.4g} to {high:.4g}", f"{wide[0]:.4g} to {wide[1]:.4g}",
    ]  # fmt: skip
    pvalue = stats.chisquare(RIGHT, 10_000 * P).pvalue
    assert f"all tokens together (chi-square): p-value {pvalue:.2g}" in lines
    assert "total variation from p: 0.003, where the right law shows 0.0066 on average" in lines
    assert f"any token off by {said.detectable:.2g} or more" in repr(said)
    assert lines[-1] == "verdict at α = 1e-06, half for each test: no deviation found" and said.passed


def test_a_biased_sampler_fails_its_report():
    said = report(WRONG, P, tokens=list("wxyz"))
    assert not said.passed
    assert repr(said).endswith("these draws do not follow p") and "(w, too rarely)" in repr(said)
    assert said.smallest == pytest.approx(4 * 2 * stats.binom.cdf(2600, 10_000, 0.4))
    assert report([100, 0, 1], [0.5, 0.5, 0.0]).smallest == 0  # the impossible happened
    assert "(C, too often)" in repr(report([100, 0, 1], [0.5, 0.5, 0.0]))


def test_each_test_has_half_of_alpha():
    least = report([9, 1], [0.5, 0.5]).fit.pvalue
    assert least < report([9, 1], [0.5, 0.5]).smallest
    verdicts = [report([9, 1], [0.5, 0.5], alpha=alpha).passed for alpha in (1.9 * least, 2.1 * least)]
    assert verdicts == [True, False]


def test_a_deviation_of_all_tokens_together_fails_the_report():
    law, step = np.full(40, 1 / 40), np.resize([1, -1], 40)
    said = report(100_000 // 40 + 150 * step, law)
    assert said.smallest > 0.05, "no token by itself is strange"
    assert said.fit.method == "chi-square, raised" and not said.passed


def test_false_alarms_and_power_of_a_report():
    rng, tries, alpha = np.random.default_rng(8), 1500, 0.02
    for draws in (12, 1000):
        fails = sum(not report(c, P, alpha=alpha).passed for c in rng.multinomial(draws, P, size=tries))
        assert fails <= wrongly(1.2 * alpha, tries)[1]  # χ² has half of alpha, and is off by at most a half
    bias = report([400, 300, 200, 100], P, alpha=alpha).detectable
    wrong = P + bias * np.array([1, -1 / 3, -1 / 3, -1 / 3])
    found = sum(not report(c, P, alpha=alpha).passed for c in rng.multinomial(1000, wrong, size=1000))
    assert found >= wrongly(0.99, 1000)[0]


@pytest.mark.parametrize(("draws", "law"), [(50, P), (1000, P), (1000, [0.9, 0.09, 0.01]), (10_000, [0.999, 0.001])])
def test_the_smallest_bias_is_exact(draws, law):
    law = np.asarray(law)
    counts = np.round(draws * law).astype(int)
    said = report(counts, law, alpha=1e-3)
    k = np.arange(draws + 1)

    def power(token, p):
        tails = np.minimum(stats.binom.cdf(k, draws, law[token]), stats.binom.sf(k - 1, draws, law[token]))
        return stats.binom.pmf(k, draws, p)[2 * tails * len(law) <= 1e-3 / 2].sum()

    def least(b):
        return min(power(i, p) for i in range(len(law)) for p in (law[i] + b, law[i] - b) if 0 <= p <= 1)

    assert least(said.detectable * 1.0001) >= 0.99 > least(said.detectable * 0.98)


def test_too_few_draws_promise_nothing():
    said = report([1, 1], [0.9, 0.1])
    assert said.detectable is None and "2 draws are too few for this α" in " ".join(repr(said).split())


def test_a_report_as_a_table_can_be_read_aloud_and_holds_no_markup_of_others():
    shown = report(RIGHT, P, tokens=["<b>", "&", '"', "plain"])._repr_html_()
    assert shown.count('<th scope="col">') == 6 and shown.count('<th scope="row">') == 4
    assert "<caption>10,000 draws, no seed given</caption>" in shown
    assert '<th scope="row">&lt;b&gt;</th>' in shown and "<b>" not in shown
    assert shown.count("<td>") == 4 * 5 and shown.count("<li>") == 5


def test_of_many_tokens_the_strangest_are_shown():
    counts = np.full(1000, 50)
    counts[[3, 700]] = 10, 90
    lines = repr(report(counts, np.full(1000, 1e-3))).splitlines()
    assert lines[0] == "50,000 draws, no seed given; of 1,000 tokens, the 40 with smallest p-values"
    assert len(lines) == 1 + 1 + 40 + 5 and {line.split()[0] for line in lines[2:42]} > {"3", "700"}


def test_an_export_is_enough_to_compute_the_report_anew(tmp_path):
    law, names = np.array([1 / 3, 1 / 7, 1 - 1 / 3 - 1 / 7, 0]), ["a,b", 'quote"', "line\nfeed", "ü"]
    said = report([33, 15, 52, 0], law, seed=np.int64(2026), alpha=1e-3, level=0.9, tokens=names)
    facts = json.loads(said.export(tmp_path / "r.json").read_text(encoding="utf-8"))
    again = {"alpha": facts["alpha"], "level": facts["level"], "seed": facts["seed"], "tokens": facts["tokens"]}
    assert repr(report(facts["counts"], facts["p"], **again)) == repr(said)
    assert facts["results"]["passed"] is said.passed and facts["results"]["interval"] == said.interval.tolist()
    assert facts["draws"] == 100 and {"specdec_kit", "scipy", "numpy", "python"} < facts.keys()
    with open(said.export(tmp_path / "r.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["token"] for row in rows] == names and {row["seed"] for row in rows} == {"2026"}
    assert [int(row["count"]) for row in rows] == [33, 15, 52, 0]
    assert [float(row["p"]) for row in rows] == law.tolist(), "to the last digit"
    assert {(row["draws"], row["alpha"], row["level"]) for row in rows} == {("100", "0.001", "0.9")}


def test_an_export_is_whole_or_not_there(tmp_path):
    said = report(RIGHT, P)
    with pytest.raises(ValueError, match=r"^r.txt ends neither in .csv nor in .json: choose one of the two$"):
        said.export(tmp_path / "r.txt")
    (tmp_path / "r.csv").mkdir()  # a folder cannot be replaced by a file
    with pytest.raises(OSError):
        said.export(tmp_path / "r.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def test_a_report_keeps_its_own_numbers():
    counts = np.array(RIGHT)
    said = report(counts, P)
    counts[:] = 1
    assert said.draws == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"counts": [1, 2, 3]}, "there are 3 counts and 4 probabilities: give one count for each token"),
        ({"counts": [0.1, 0.2, 0.3, 0.4]}, "give a vector of whole numbers"),
        ({"p": [0.4, 0.3, 0.2, 0.2]}, "sums to"),
        ({"level": 95}, "level is 95: give a confidence between 0 and 1, such as 0.95"),
        ({"alpha": 0}, "alpha is 0: give a false-alarm rate between 0 and 1, such as 1e-6"),
        ({"tokens": "abc"}, "there are 3 tokens and 4 counts: give one name for each count"),
        ({"seed": 1.5}, "seed is 1.5: give the whole number, or the words, by which the draws can be repeated"),
        ({"seed": True}, "seed is True: give the whole number"),
    ],
)
def test_a_report_refuses_by_name(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        report(**{"counts": RIGHT, "p": P, **arguments})


def test_a_seed_may_be_words():
    assert repr(report(RIGHT, P, seed="child 3 of 2026")).startswith("10,000 draws, seed child 3 of 2026\n")


# --- without SciPy


def test_what_is_missing_without_scipy_is_said_in_one_sentence():
    code = "import sys; sys.modules['scipy'] = None; import specdec_kit, specdec_kit.uncertainty"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "During handling" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        'ModuleNotFoundError: scipy is not installed: `pip install "specdec-kit[lab]"` brings it'
    )


# --- bad input


@pytest.mark.parametrize("counts", [[], [0, 0], [-1, 2], [0.5, 0.5], [[1, 2]]])
def test_counts_that_are_none(counts):
    for use in (simultaneous_band, lambda c: goodness_of_fit(c, [0.5, 0.5])):
        with pytest.raises(ValueError, match="give a vector of whole numbers"):
            use(counts)


def test_other_bad_input_is_named():
    with pytest.raises(ValueError, match="level is 95"):
        wilson(3, 10, 95)
    with pytest.raises(ValueError, match="3 counts and 2 probabilities"):
        goodness_of_fit([1, 2, 3], [0.5, 0.5])
    with pytest.raises(InvalidDistribution):
        goodness_of_fit([1, 2], [0.5, 0.6])
    with pytest.raises(ValueError, match="bias is 0"):
        draws_for(0)
    with pytest.raises(ValueError, match="alpha is 0"):
        AnytimeTest([0.5, 0.5], alpha=0)
    for tokens in (2, [0, -1], [0.5]):
        with pytest.raises(ValueError, match="are no tokens of this law: they are the integers 0 … 1"):
            AnytimeTest([0.5, 0.5]).update(tokens)
    with pytest.raises(ValueError, match="11 of 10 draws"):
        clopper_pearson(11, 10)


# --- by resampling


class Given:
    """A source that has nothing but `random`, and gives what it is told."""

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)

    def random(self, shape):
        return self.numbers.reshape(shape)


def mean(rows):
    return rows.mean(axis=-1)


def test_a_sample_that_does_not_vary_leaves_no_doubt():
    assert bootstrap(mean, [3.0] * 7, rng=np.random.default_rng(0)) == (3, 3, 3)
    assert bootstrap(lambda x: np.median(x, axis=-1), [5], rng=np.random.default_rng(0)) == (5, 5, 5)


def test_all_resamples_of_two_rows_by_hand():
    # Uniforms below ½ pick the first row. The four resamples have the means 0, 2, 2 and 4, each with ¼.
    source = Given([[0, 0.49], [0.49, 0.5], [0.5, 0], [0.999999, 0.5]])
    assert bootstrap(mean, [0, 4], rng=source, resamples=4, level=0.999) == (
        2,
        pytest.approx(0.003),
        pytest.approx(3.997),
    )
    # Between the order statistics a quantile goes straight: at 1/6 it is half way from 0 to 2.
    assert bootstrap(mean, [0, 4], rng=source, resamples=4, level=2 / 3) == (2, pytest.approx(1), pytest.approx(3))
    assert bootstrap(mean, [0, 4], rng=source, resamples=4, level=1 / 4) == (2, 2, 2)


@pytest.mark.parametrize(("level", "low", "high"), [(0.4, 2, 2), (0.6, 0, 4), (0.95, 0, 4)])
def test_the_law_of_two_rows_that_are_drawn(level, low, high):
    # Of 4,000 resamples a quarter has the mean 0. That over 30 % have it, or under 20 %, so that the quantile at 0.3 or
    # 0.2 is another, has a chance below 10⁻¹².
    assert max(stats.binom.sf(1199, 4000, 0.25), stats.binom.cdf(800, 4000, 0.25)) < 1e-12
    assert bootstrap(mean, [4, 0], rng=np.random.default_rng(1), level=level) == (2, low, high)


@pytest.mark.parametrize("rows", [40])
def test_coverage_of_the_bootstrap(rows):
    rng, tries = np.random.default_rng(9), 1500
    inside = {0.95: 0, 0.8: 0}
    for _ in range(tries):
        sample = rng.normal(size=rows)
        for level in inside:
            _, low, high = bootstrap(mean, sample, rng=rng, level=level, resamples=600)
            inside[level] += low <= 0 <= high
    # A resample has the variance (n − 1) s² / n², where s² / n is due of a mean: it covers as Student's t falls within
    # z √((n − 1)/n). Its quantiles are taken to be normal, which is good to a point in 100.
    for level, count in inside.items():
        due = 1 - 2 * stats.t.sf(stats.norm.isf((1 - level) / 2) * np.sqrt(1 - 1 / rows), rows - 1)
        low, high = wrongly(due, tries)
        assert low - 0.01 * tries <= count <= high + 0.01 * tries
    assert inside[0.8] < wrongly(0.92, tries)[0] - 0.01 * tries, "control: less confidence covers less"


def test_rows_that_belong_together_are_drawn_together():
    def share(a, b):
        return a.sum(axis=-1) / b.sum(axis=-1)

    rows = np.array([1.0, 2.0, 4.0, 8.0])
    assert bootstrap(share, 3 * rows, rows, rng=np.random.default_rng(0)) == (3, 3, 3)
    value, low, high = bootstrap(share, 3 * rows, rows[::-1], rng=np.random.default_rng(0))
    assert value == 3 and high - low > 3, "control: rows that do not belong together"
    seen = []
    bootstrap(lambda a, b: seen.append((a, b)) or mean(a), [1, 2, 3], [10, 20, 30], rng=np.random.default_rng(0))
    assert [a.shape for a, _ in seen] == [(4000, 3), (1, 3)] and all((10 * a == b).all() for a, b in seen)
    assert all((np.unique(a) == [1, 2, 3]).all() for a, _ in seen), "each row may come"


def test_a_bootstrap_draws_by_random_alone_and_is_repeated_by_its_seed():
    sample = [1.0, 2.0, 5.0, 9.0]

    def found(seed):
        return bootstrap(mean, sample, rng=np.random.default_rng(seed), resamples=50)

    numbers = np.random.default_rng(3).random((50, 4))
    assert found(3) == found(3) == bootstrap(mean, sample, rng=Given(numbers), resamples=50) != found(4)


@pytest.mark.parametrize("samples", [[], [[]], [[1, 2], [1, 2, 3]], [[[1, 2], [3, 4]]], [3.0]])
def test_a_bootstrap_of_what_are_no_rows_is_refused(samples):
    with pytest.raises(
        ValueError, match=r"^the samples have the shapes \[.*\]: give vectors, at least one and all of "
    ):
        bootstrap(lambda *rows: rows[0].sum(axis=-1), *samples, rng=np.random.default_rng(0))


def test_a_bootstrap_names_a_level_that_is_none():
    with pytest.raises(ValueError, match="level is 95: give a confidence between 0 and 1"):
        bootstrap(mean, [1, 2], rng=np.random.default_rng(0), level=95)
