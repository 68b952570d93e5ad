"""The checks of lesson 06's exercises: right answers pass, wrong ones are told why."""

from fractions import Fraction

import numpy as np
import pytest

from specdec_kit import selfcheck

# --- timing fairly


def spent(device, name):
    device.synchronise()
    start = device.now()
    device.submit(name)
    device.synchronise()
    return device.now() - start


def in_turns(summary, runs=400, warm=1):
    def time_ratio(device, slow, quick):
        found = {slow: [], quick: []}
        for name in [slow, quick] * runs:
            found[name].append(spent(device, name))
        return summary(found[slow][warm:]) / summary(found[quick][warm:])

    return time_ratio


def by_its_clock(device, slow, quick):
    found = {slow: [], quick: []}
    for _ in range(300):
        for name in (quick, slow):
            found[name].append(device.time(lambda name=name: device.submit(name)))
    return np.median(found[slow]) / np.median(found[quick])


def ratios_of_neighbours(device, slow, quick):
    return np.median([spent(device, slow) / spent(device, quick) for _ in range(500)])


def long_runs(device, slow, quick):
    """Many orders, one wait: short enough not to heat up, and back and forth."""

    def ten(name):
        device.synchronise()
        start = device.now()
        for _ in range(10):
            device.submit(name)
        device.synchronise()
        return device.now() - start

    ten(slow), ten(quick)
    found = {slow: [], quick: []}
    for name in [slow, quick, quick, slow] * 20:
        found[name].append(ten(name))
    return sum(found[slow]) / sum(found[quick])


@pytest.mark.parametrize(
    "time_ratio",
    [in_turns(np.median), in_turns(np.sum), in_turns(np.mean, 300, 5), by_its_clock, ratios_of_neighbours, long_runs],
)
def test_fair_timing_passes_however_it_is_written(time_ratio):
    verdict = selfcheck.check_time_ratio(time_ratio)
    assert verdict, verdict


def not_waiting(device, slow, quick):
    found = []
    for name in (slow, quick):
        start = device.now()
        device.submit(name)
        found.append(device.now() - start)
    return found[0] / found[1]


def waiting_before_alone(device, slow, quick):
    found = []
    for name in (slow, quick):
        device.synchronise()
        start = device.now()
        device.submit(name)
        found.append(device.now() - start)
    return found[0] / found[1]


def once(device, slow, quick):
    spent(device, slow), spent(device, quick)
    return spent(device, slow) / spent(device, quick)


def one_after_the_other(device, slow, quick):
    found = [np.median([spent(device, name) for _ in range(200)]) for name in (slow, quick)]
    return found[0] / found[1]


@pytest.mark.parametrize(
    ("time_ratio", "advice"),
    [
        (not_waiting, "Wait for the device before each look at its clock"),
        (waiting_before_alone, "Wait for the device before each look at its clock"),
        (
            lambda device, slow, quick: spent(device, slow) / spent(device, quick),
            "The first run of each kind is slower",
        ),
        (in_turns(np.mean, 20, 0), "The first run of each kind is slower"),
        (once, "One run says little where runs differ"),
        (one_after_the_other, "run the two in turns"),
        (lambda *given: 1 / in_turns(np.median)(*given), "the other way round"),
        (lambda device, slow, quick: 1.25, "was never run: device.submit"),
        (lambda device, slow, quick: spent(device, slow), 'quick was never run: device.submit("quick") orders'),
        (lambda device, slow, quick: float("nan") * spent(device, slow) * spent(device, quick), "yours is nan"),
        (lambda device, slow, quick: spent(device, "fast"), "ValueError: 'fast' cannot be run"),
        (lambda device: 1, "it raises TypeError"),
        (lambda device, slow, quick: None, "it raises TypeError"),
    ],
)
def test_unfair_timing_is_told_its_trap(time_ratio, advice):
    verdict = selfcheck.check_time_ratio(time_ratio)
    assert not verdict and advice in verdict.says, verdict


def unwritten(*_):
    raise NotImplementedError


@pytest.mark.parametrize("check", [selfcheck.check_time_ratio, selfcheck.check_speedup, selfcheck.check_crossover])
def test_what_is_not_written_is_said_to_be_so(check):
    assert check(unwritten).says == "unwritten is not written yet."


# --- the speed-up


def tokens(alpha, gamma):
    return sum(alpha**n for n in range(gamma + 1))


def closed(alpha, gamma, c, costs):
    brought = gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)
    return brought / (costs[gamma] + gamma * c)


@pytest.mark.parametrize(
    "speedup",
    [
        closed,
        lambda alpha, gamma, c, costs: np.cumprod([1, *[alpha] * gamma]).sum() / (np.array(costs)[gamma] + c * gamma),
        lambda alpha, gamma, c, costs: tokens(Fraction(alpha), gamma) / (Fraction(costs[gamma]) + gamma * Fraction(c)),
    ],
)
def test_the_speedup_passes_however_it_is_written(speedup):
    assert selfcheck.check_speedup(speedup)


@pytest.mark.parametrize(
    ("speedup", "advice"),
    [
        (lambda a, g, c, costs: tokens(a, g) / (1 + g * c), "the textbook form"),
        (lambda a, g, c, costs: tokens(a, g) / (costs[max(g - 1, 0)] + g * c), "a round of gamma drafts costs"),
        (lambda a, g, c, costs: tokens(a, g) / (costs[g] + (g + 1) * c), "not once more"),
        (lambda a, g, c, costs: tokens(a, g) / costs[g], "add gamma times c"),
        (lambda a, g, c, costs: (tokens(a, g) - 1) / (costs[g] + g * c), "the corrected one or the bonus"),
        (lambda a, g, c, costs: (1 + g * a) / (costs[g] + g * c), "only if those before it are"),
        (lambda a, g, c, costs: (costs[g] + g * c) / tokens(a, g), "one over it"),
        (lambda a, g, c, costs: tokens(a, g) / (costs[g] + c), "called gamma times, and each call costs c"),
        (lambda a, g, c, costs: (1 - a ** (g + 1)) / (1 - a) / (costs[g] + g * c), "ZeroDivisionError"),
        (lambda a, g, c, costs: tokens(a, g) / (costs(g + 1) + g * c), "it raises TypeError"),
        (lambda a, g, c, costs: None, "yours is None"),
    ],
)
def test_a_speedup_that_is_wrong_is_told_why(speedup, advice):
    verdict = selfcheck.check_speedup(speedup)
    assert not verdict and advice in verdict.says, verdict


# --- the batch without a gain


def scan(tokens, plain, drafted):
    for batch in sorted(plain):
        if drafted[batch] >= tokens * plain[batch]:
            return batch
    return None


@pytest.mark.parametrize(
    "crossover",
    [scan, lambda t, plain, drafted: min((b for b in plain if t * plain[b] / drafted[b] <= 1), default=None)],
)
def test_the_crossover_passes_however_it_is_written(crossover):
    assert selfcheck.check_crossover(crossover)


@pytest.mark.parametrize(
    ("crossover", "advice"),
    [
        (lambda t, p, d: next((b for b in sorted(p) if t * p[b] > d[b]), None), "the first batch with a gain"),
        (lambda t, p, d: next((b for b in sorted(p)[::-1] if t * p[b] > d[b]), None), "the last batch with a gain"),
        (lambda t, p, d: next((b for b in sorted(p) if p[b] <= d[b]), None), "A round brings several tokens"),
        (lambda t, p, d: next((b for b in sorted(p) if t * p[b] < d[b]), None), "At equal times nothing is gained"),
        (lambda t, p, d: next((b for b in p if t * p[b] <= d[b]), None), "in order of size"),
        (lambda t, p, d: min(b for b in p if t * p[b] <= d[b]), "ValueError"),
        (lambda t, p, d: 8, "is due; yours is 8"),
        (lambda t, p, d: p[3], "KeyError"),
    ],
)
def test_a_crossover_that_is_wrong_is_told_why(crossover, advice):
    verdict = selfcheck.check_crossover(crossover)
    assert not verdict and advice in verdict.says, verdict
