"""Turns, intervals, cost curves and speed-ups, on clocks that are simulated: no real time is asserted anywhere."""

from contextlib import contextmanager
from fractions import Fraction as F
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from specdec_kit import timing, timing_run
from specdec_kit.blocks import Round, speculative_decode
from specdec_kit.clocks import SimulatedDevice
from specdec_kit.law import exact_law
from specdec_kit.models import Chain
from specdec_kit.timing import (
    CostCurve,
    Sample,
    best_gamma,
    cost_curve,
    forward_pass,
    measure,
    median,
    predicted_speedup,
    ratio,
    roofline,
    seconds_of_rounds,
    time_text,
    times,
    whole_round,
)

near = pytest.approx


def rng(seed=0):
    return np.random.default_rng(seed)


class Told:
    """A clock that believes what a run says of itself."""

    def time(self, run):
        return run()


JOBS = {"a": lambda: 1.0, "b": lambda: 2.0, "c": lambda: 3.0}


# ---- turns


def turns(samples, size=3):
    return [tuple(one.job for one in samples[n : n + size]) for n in range(0, len(samples), size)]


def test_each_turn_has_each_job_once_in_an_order_of_its_own():
    samples = measure(JOBS, rng=rng(), repeats=50, warmup=2, clock=Told())
    assert len(samples) == 3 * 52 and all(type(one) is Sample for one in samples)
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns(samples))
    assert [one.warm for one in samples] == [False] * 6 + [True] * 150
    assert all(one.seconds == JOBS[one.job]() for one in samples)
    # An order is missed by 52 turns with the chance 6 (5/6)^52 < 5 × 10⁻⁴ over seeds; this seed is fixed.
    assert len(set(turns(samples))) == 6
    assert samples == measure(JOBS, rng=rng(), repeats=50, warmup=2, clock=Told()), "a seed repeats the orders"
    assert turns(samples) != turns(measure(JOBS, rng=rng(1), repeats=50, warmup=2, clock=Told()))


def test_by_default_the_wall_clock_times_twenty_turns_and_two_before_them():
    made = []
    samples = measure({"a": lambda: made.append(1)}, rng=rng())
    assert len(made) == 22 and sum(one.warm for one in samples) == 20 and all(one.seconds >= 0 for one in samples)


@pytest.mark.parametrize(("until", "counted"), [(-1.0, 1), (0.5, 2), (1.5, 3), (float("inf"), 6)])
def test_no_turn_begins_after_the_time_is_up_except_the_first(monkeypatch, until, counted):
    asked = iter(range(100))  # the first time it is asked it is 0, then 1, …
    monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: next(asked)))
    samples = measure(JOBS, rng=rng(), repeats=6, warmup=1, clock=Told(), until=until)
    assert len(samples) == 3 * (1 + counted) and all(sorted(turn) == ["a", "b", "c"] for turn in turns(samples))
    assert sum(one.warm for one in samples) == 3 * counted


def test_each_run_moves_the_bar_on(monkeypatch):
    said = []

    @contextmanager
    def bar(what, total):
        said.append((what, total))
        yield lambda: said.append("on")

    monkeypatch.setattr(timing, "progress_bar", bar)
    measure(JOBS, rng=rng(), repeats=2, warmup=1, clock=Told(), progress="passes")
    assert said == [("passes", 9), *9 * ["on"]]


@pytest.mark.parametrize(
    ("jobs", "options", "said"),
    [
        ({}, {}, "0 jobs, 20 repeats, 2 to warm up"),
        (JOBS, {"repeats": 0}, "3 jobs, 0 repeats, 2 to warm up"),
        (JOBS, {"warmup": -1}, "3 jobs, 20 repeats, -1 to warm up"),
    ],
)
def test_nothing_to_measure_is_refused(jobs, options, said):
    with pytest.raises(ValueError, match=rf"^{said}: give at least one job and one repeat$"):
        measure(jobs, rng=rng(), clock=Told(), **options)


def heating():
    """Jobs of a device that gets half as slow again with each second of work; the true ratio is 2."""
    device = SimulatedDevice({"slow": 0.02, "quick": 0.01}, launch=0, drift=0.5)
    return device, {name: lambda name=name: device.submit(name) for name in device.seconds}


@pytest.mark.parametrize("seed", range(5))
def test_what_drifts_falls_on_all_jobs_alike(seed):
    device, jobs = heating()
    samples = measure(jobs, rng=rng(seed), repeats=40, clock=device)
    found = times(samples, "slow").sum() / times(samples, "quick").sum()
    # Over the whole of it the device slows down by a factor of less than 2. Within a turn the second job is slower by
    # at most half of the seconds that the first one took: 0.04 / 2.
    assert 1.5 < samples[-1].seconds / (0.02 if samples[-1].job == "slow" else 0.01) < 2
    assert 2 / 1.02 <= found <= 2 * 1.02

    device, jobs = heating()
    one_after_the_other = {name: sum(device.time(jobs[name]) for _ in range(42)) for name in ("quick", "slow")}
    assert one_after_the_other["slow"] / one_after_the_other["quick"] > 2 * 1.2, "control"


# ---- intervals


def test_times_are_those_of_the_warm_runs_of_a_job():
    samples = [Sample("a", False, 9.0), Sample("a", True, 1.0), Sample("b", True, 5.0), Sample("a", True, 2.0)]
    assert times(samples, "a").tolist() == [1, 2] and times(samples, "b").tolist() == [5]
    assert times(samples, "c").shape == (0,)


@pytest.mark.parametrize(("seconds", "due"), [([3, 1, 2], 2), ([10, 1, 2, 3], 2.5), ([1, 1, 50], 1)])
def test_a_median_by_hand_lies_in_its_interval(seconds, due):
    value, low, high = median(seconds, rng())
    assert value == due and min(seconds) <= low <= due <= high <= max(seconds)
    assert low < high, "three rows leave doubt"
    assert median([4.0] * 5, rng()) == (4, 4, 4)


def test_more_rows_and_less_confidence_make_a_narrower_interval():
    seconds = rng(1).random(200)
    widths = [
        high - low
        for _, low, high in (median(seconds[:20], rng()), median(seconds, rng()), median(seconds, rng(), level=0.5))
    ]
    assert all(wide > 1.5 * narrow for wide, narrow in pairwise(widths))


def test_a_ratio_is_one_of_sums_and_its_rows_stay_together():
    value, low, high = ratio([1, 10], [1, 5], rng())
    assert value == 11 / 6, "the mean of the two ratios would be 1.5"
    assert (low, high) == (1, 2), "either row twice"
    quick = np.array([1.0, 2.0, 3.0, 10.0])
    assert ratio(2 * quick, quick, rng()) == (2, 2, 2), "each text takes twice as long: there is no doubt"
    value, low, high = ratio(2 * quick, quick[::-1], rng())
    assert value == 2 and high - low > 1, "control: the same times, not of the same texts"


# ---- the cost of a pass

SAMPLES = [
    Sample(4, False, 99.0), Sample(1, False, 99.0), Sample(1, True, 1.0), Sample(4, True, 4.0), Sample(4, True, 4.0),
    Sample(1, True, 3.0), Sample(1, True, 2.0), Sample(4, True, 60.0), Sample(9, False, 1.0),
]  # fmt: skip


def test_a_curve_goes_straight_between_the_medians_of_the_warm_runs():
    curve = CostCurve(SAMPLES)
    assert curve.sizes == [1, 4] and curve.samples == tuple(SAMPLES)
    assert [curve.seconds(n) for n in (1, 4, 2.5)] == [2, 4, 3] and curve.seconds(2) == near(2 + 2 / 3)
    assert [curve(n) for n in (1, 4, 2.5)] == [1, 2, 1.5], "in passes over one token"
    assert repr(curve) == "CostCurve(1: 1, 4: 2)"


@pytest.mark.parametrize("n", [0, 0.5, 4.1, 9, float("nan")])
def test_a_curve_does_not_guess(n):
    with pytest.raises(ValueError, match=rf"^n is {n}: the passes that were measured are over 1 to 4 tokens$"):
        CostCurve(SAMPLES)(n)


@pytest.mark.parametrize("samples", [[], SAMPLES[:1], [Sample(1, False, 1.0), Sample(4, True, 1.0)]])
def test_a_curve_without_its_unit_is_refused(samples):
    with pytest.raises(
        ValueError, match=r"^there are passes over \[4?\] tokens: measure one over 1 as well, the unit$"
    ):
        CostCurve(samples)


def test_a_curve_is_measured_up_to_where_the_device_is_done():
    device = SimulatedDevice({str(n): 0.010 + 0.002 * n for n in (1, 2, 4)}, launch=0, cold=1)

    class Impatient:
        def time(self, run):
            start = device.now()
            run()
            return device.now() - start + 1e-9

    def run(n):
        device.submit(str(n))

    curve = cost_curve(run, (1, 2, 4), rng=rng(), repeats=3, warmup=1, clock=device)
    assert len(curve.samples) == 12
    assert [curve(n) for n in (1, 2, 4)] == near([1, 14 / 12, 18 / 12]), "without the second of the cold runs"
    wrong = cost_curve(run, (1, 2, 4), rng=rng(), repeats=3, clock=Impatient())
    assert wrong(4) == near(1), "control: a clock that does not wait sees no difference"
    with pytest.raises(ValueError, match="the unit"):
        cost_curve(run, (2, 4), rng=rng(), clock=device)


# ---- the speed-up


@pytest.mark.parametrize("alpha", [F(1, 10), F(6, 10), F(95, 100)])
@pytest.mark.parametrize("gamma", [0, 1, 5, 10])
@pytest.mark.parametrize("c", [F(0), F(2, 10), F(3, 2)])
def test_where_any_pass_costs_the_same_it_is_theorem_3_8(alpha, gamma, c):
    due = (1 - alpha ** (gamma + 1)) / ((1 - alpha) * (gamma * c + 1))
    assert predicted_speedup(float(alpha), gamma, float(c)) == near(float(due), rel=1e-13)
    assert predicted_speedup(float(alpha), gamma, float(c), lambda n: 1) == near(float(due), rel=1e-13)


def test_more_drafts_can_be_worse_than_none():
    # (1 − .6⁶) / (.4 · 2) and (1 − .6¹¹) / (.4 · 3)
    assert predicted_speedup(0.6, 5, 0.2) == near(1.19, abs=0.005)
    assert predicted_speedup(0.6, 10, 0.2) == near(0.83, abs=0.005)


def test_the_cost_of_the_pass_enters_by_hand():
    asked = []

    def cost(n):
        asked.append(n)
        return {1: 1.0, 3: 1.5, 5: 2.0}[n]

    assert predicted_speedup(0.5, 2, 0.25, cost) == near(1.75 / (1.5 + 0.5)) and asked == [3], "γ drafts and one more"
    assert predicted_speedup(1.0, 4, 0.25, cost) == near(5 / 3)
    assert predicted_speedup(0.0, 2, 0.25, cost) == near(1 / 2)
    assert predicted_speedup(0.7, 0, 9.0, cost) == 1, "no drafts, no difference"
    assert predicted_speedup(1.0, 4, 0.25) == near(5 / 2)
    curve = CostCurve(SAMPLES)  # 1 and, over four tokens, 2
    assert predicted_speedup(1.0, 3, 0.5, curve) == near(4 / 3.5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1.2, 2, 0.1), "alpha is 1.2: give the chance that a draft passes"),
        ((0.5, -1, 0.1), "gamma is -1: give a whole number of drafts"),
        ((0.5, 2, -0.1), "c is -0.1: give what a call of the draft costs, at least 0, in passes of the target"),
        ((0.5, 2, float("nan")), "c is nan: give what a call of the draft costs"),
    ],
)
def test_a_prediction_names_what_is_out_of_range(arguments, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        predicted_speedup(*arguments)


@pytest.mark.parametrize("alpha", [F(3, 10), F(5, 10), F(9, 10)])
@pytest.mark.parametrize("c", [F(0), F(1, 20), F(1, 2)])
def test_the_best_number_of_drafts_is_that_of_a_search_in_fractions(alpha, c):
    speedups = [sum(alpha**k for k in range(gamma + 1)) / (1 + gamma * c) for gamma in range(17)]
    assert best_gamma(float(alpha), float(c)) == speedups.index(max(speedups))


def test_the_best_number_of_drafts_by_hand():
    cost = {1: 1, 2: 1.1, 3: 1.2, 4: 2, 5: 3}.__getitem__
    # α = ½: 1, 1.5 / 1.1, 1.75 / 1.2, 1.875 / 2, 1.9375 / 3
    assert best_gamma(0.5, 0, cost, most=4) == 2
    assert best_gamma(0.5, 0, cost, most=1) == 1 and best_gamma(0.5, 0, cost, most=0) == 0
    assert best_gamma(0.5, 1, cost, most=4) == 0, "drafts that never pay"
    assert best_gamma(1, 0.1) == 16, "the most that is asked about"
    assert best_gamma(1, 1) == best_gamma(0, 0) == 0, "all are equal: the least"


def test_seconds_of_rounds_by_hand():
    # Passes over 4 tokens and over 1 take 4 and 2 seconds: 2 (4 + 3 · 0.5) + 5 · 2
    assert seconds_of_rounds({3: 2, 0: 5}, CostCurve(SAMPLES), 0.5) == 21
    assert seconds_of_rounds({}, CostCurve(SAMPLES), 0.5) == 0


def test_the_roofline_by_hand():
    device = {"weights": 100, "operations": 4, "bandwidth": 10, "peak": 2}
    # The weights take 10 seconds and each row 2: the ridge is at 100 · 2 / (4 · 10) = 5 rows.
    assert roofline(np.array([1, 4, 5, 6, 10]), **device).tolist() == [10, 10, 10, 12, 20]
    assert roofline(7, **device) == 14


# ---- whole texts

TARGET = Chain([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
DRAFT = Chain([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.2, 0.5, 0.3]])


class Counted:
    """A clock whose runs take 1, 2, … seconds; it tells what was called within each."""

    def __init__(self, log=()):
        self.log, self.within = log, []

    def time(self, run):
        before = len(self.log)
        run()
        self.within.append(list(self.log)[before:])
        return float(len(self.within))


def test_a_timed_text_is_the_one_that_decoding_writes():
    options = {"gamma": 3, "max_new_tokens": 40}
    done = time_text(TARGET, DRAFT, (0, 1), clock=Counted(), rng=rng(5), **options)
    assert done.rounds == speculative_decode(TARGET, DRAFT, (0, 1), rng=rng(5), **options).rounds
    assert done.rounds != time_text(TARGET, DRAFT, (0, 1), clock=Counted(), rng=rng(6), **options).rounds, "control"
    assert (done.prompt, done.decoding, done.seconds) == (1, 2, 3)
    plain = time_text(TARGET, DRAFT, (), rng=rng(), gamma=0, max_new_tokens=4)
    assert len(plain.rounds) == 4 and plain.prompt >= 0 and plain.decoding >= 0


class Noted:
    """A model that notes what it is asked, and when it is to forget."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def __call__(self, context):
        self.log.append((self.name, len(context)))
        return TARGET(context)

    def forget(self):
        self.log.append((self.name, "forget"))


@pytest.mark.parametrize("fresh", [True, False])
def test_a_fresh_text_begins_with_empty_caches_and_its_prompt_is_timed_apart(fresh):
    log = []
    clock = Counted(log)
    options = {"clock": clock, "gamma": 1, "max_new_tokens": 1, "shrink": False, "rng": rng()}
    time_text(Noted("target", log), Noted("draft", log), (0, 1, 2), **options, **{} if fresh else {"fresh": False})
    assert clock.within[0] == [("target", 3)], "the prompt is read, and nothing else"
    assert clock.within[1] == [("draft", 3), ("target", 3), ("target", 4)]
    assert sorted(log[: len(log) - 4]) == ([("draft", "forget"), ("target", "forget")] if fresh else [])


class Scored:
    """A model with `score`, which notes what it is given."""

    def __init__(self):
        self.seen = []

    def __call__(self, context):
        return TARGET(context)

    def score(self, context, drafts):
        self.seen.append((context, drafts))
        return np.array([TARGET((*context, *drafts[:n])) for n in range(len(drafts) + 1)])


def test_a_whole_round_over_n_tokens_takes_the_first_n_minus_1_drafts():
    target, given = Scored(), (2, 1, 0, 2)
    run = whole_round(target, (0, 1), given, rng())
    done = [run(n) for n in (1, 3, 5, 3)]
    assert target.seen == [((0, 1), given[: n - 1]) for n in (1, 3, 5, 3)]
    assert [one.drafted for one in done] == [(), (2, 1), given, (2, 1)]
    assert all(len(one.tokens) == one.accepted + 1 for one in done)
    assert whole_round(TARGET, (0,), (), rng())(1).drafted == ()


def test_a_whole_round_tests_its_drafts_as_any_round_does():
    halves = Chain([[0.5, 0.25, 0.25]] * 3)
    law = exact_law(lambda source: whole_round(halves, (0,), (1, 0), source)(3))
    # The first draft passes with 1/4 and the second with 1/2; the last token is drawn from what is left, or from p.
    rejected = {Round((1, 0), 0, (token,), "rejection"): mass for token, mass in ((0, F(1, 2)), (2, F(1, 4)))}
    second = {Round((1, 0), 1, (1, token), "rejection"): F(1, 16) for token in (1, 2)}
    whole = {Round((1, 0), 2, (1, 0, token), "all accepted"): F(1, 8) * mass for token, mass in enumerate(
        (F(1, 2), F(1, 4), F(1, 4))
    )}  # fmt: skip
    assert law == rejected | second | whole


def test_a_whole_round_goes_by_the_scheme_that_is_given():
    asked = []

    def scheme(target, draft, context, gamma, source):
        asked.append((target, context, gamma, source, [draft(context + (2, 1)[:n]).tolist() for n in range(gamma)]))
        return "done"

    source = rng()
    assert whole_round(TARGET, (0,), (2, 1), source, scheme)(3) == "done"
    assert asked == [(TARGET, (0,), 2, source, [[0, 0, 1], [0, 1, 0]])]


# ---- passes of a network


@pytest.mark.models
@pytest.mark.parametrize("batch", [1, 3])
def test_a_pass_goes_over_n_tokens_behind_a_cache_that_stays_as_it_was(batch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-models` brings it")
    from specdec_kit.random_models import random_llama

    model = random_llama("tiny", dtype="float64")
    calls = []

    class Spy:
        device = model.model.device

        def __call__(self, ids, *, cache, **options):
            before = cache.get_seq_length()
            found = model.model(ids, cache=cache, **options)
            calls.append((tuple(ids.shape), before, ids, found.logits, cache))
            return found

    run = forward_pass(SimpleNamespace(model=Spy(), vocabulary=model.vocabulary), batch, cached=20, seed=3)
    for n in (1, 5, 1, 9):
        run(n)
        assert calls[-1][-1].get_seq_length() == 20, "the cache is as it was"
    assert [call[:2] for call in calls] == [((batch, 20), 0), *(((batch, n), 20) for n in (1, 5, 1, 9))]
    first = calls[0][2]
    for _, _, ids, logits, _ in calls[1:]:
        assert logits.shape == (batch, ids.shape[1], 256), "a row of logits for each new token"
        with torch.inference_mode():
            plain = model.model(torch.cat([first, ids], 1), use_cache=False).logits[:, 20:]
            alone = model.model(ids, use_cache=False).logits
        torch.testing.assert_close(logits, plain, rtol=0, atol=1e-9)
        assert (logits - alone).abs().max() > 0.1, "control: without what is cached it would be another pass"
    assert len({tuple(call[2].flatten().tolist()) for call in calls}) == 5, "new tokens each time"
    again = []
    other = SimpleNamespace(model=lambda ids, **_: again.append(ids), vocabulary=model.vocabulary)
    other.model.device = model.model.device
    forward_pass(other, batch, cached=20, seed=3)
    assert torch.equal(again[0], first), "the seed gives the tokens"


# ---- the command


def test_the_command_is_that_of_timing_run(monkeypatch):
    monkeypatch.setattr(timing_run, "main", lambda: 7)
    assert timing.main() == 7
