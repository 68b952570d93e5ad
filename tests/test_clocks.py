"""Clocks: a device with a queue by hand, a card whose events are faked, and orders counted."""

import sys
from contextlib import contextmanager
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from specdec_kit.clocks import CudaClock, HostClock, SimulatedDevice, clock_of, shuffled

near = pytest.approx


# ---- the host


def test_the_wall_clock_is_read_before_the_run_and_after_it(monkeypatch):
    events, readings = [], iter([7.0, 7.25])

    def perf_counter():
        events.append("read")
        return next(readings)

    monkeypatch.setattr("specdec_kit.clocks.time", SimpleNamespace(perf_counter=perf_counter))
    assert HostClock().time(lambda: events.append("run")) == 0.25
    assert events == ["read", "run", "read"]


def test_a_run_is_made_once():
    made = []
    assert HostClock().time(lambda: made.append(1)) >= 0
    assert made == [1]


# ---- a device that is simulated


def test_an_order_returns_at_once_and_the_queue_is_waited_for():
    device = SimulatedDevice({"pass": 0.030}, launch=0.001)
    device.submit("pass")
    assert device.now() == near(0.001)
    device.submit("pass")
    assert device.now() == near(0.002)
    device.synchronise()
    # The first begins after its order, at 0.001, and the second right behind it, at 0.031.
    assert device.now() == near(0.061)
    device.synchronise()
    assert device.now() == near(0.061), "nothing more to wait for"
    device.submit("pass")  # the queue is empty: this one begins after its order
    device.synchronise()
    assert device.now() == near(0.061 + 0.031) and device.runs == ["pass"] * 3


def test_a_clock_waits_before_it_starts_and_before_it_stops():
    device = SimulatedDevice({"pass": 0.030}, launch=0.001)

    def run():
        device.submit("pass")

    def impatient(waits_before, waits_after):
        """The same measurement with a wait left out."""
        run()
        device.synchronise() if waits_before else None
        start = device.now()
        run()
        device.synchronise() if waits_after else None
        return device.now() - start

    run()
    assert device.time(run) == near(0.031), "what was queued before does not count"
    assert impatient(True, True) == near(0.031)
    assert impatient(True, False) == near(0.001), "control: the order alone"
    device.synchronise()
    assert impatient(False, True) == near(0.060), "control: what was queued before"


def test_the_first_run_of_each_kind_is_cold():
    device = SimulatedDevice({"a": 0.01, "b": 0.02}, launch=0, cold=0.5)
    took = [device.time(lambda name=name: device.submit(name)) for name in "aabba"]
    assert took == near([0.51, 0.01, 0.52, 0.02, 0.01])


@pytest.mark.parametrize(
    ("launch", "cold", "due"),
    [
        (0.0, 0.0, [1, 1.1, 1.21]),  # each second makes it a tenth slower: after 0, 1 and 2.1 seconds of work
        (0.0, 0.5, [1.5, 1.15, 1.265]),  # after 0, 1.5 and 2.65
        (2.0, 0.0, [3, 3.1, 3.21]),  # it does not heat up while it waits for the host
    ],
)
def test_it_gets_slower_by_the_work_that_it_has_done(launch, cold, due):
    device = SimulatedDevice({"pass": 1.0}, launch=launch, cold=cold, drift=0.1)
    assert [device.time(lambda: device.submit("pass")) for _ in due] == near(due)


def test_noise_is_uniform_up_to_its_share_and_comes_from_rng_alone():
    def times(seed):
        device = SimulatedDevice({"pass": 2.0}, launch=0, noise=0.25, rng=np.random.default_rng(seed))
        return np.array([device.time(lambda: device.submit("pass")) for _ in range(2000)])

    np.testing.assert_allclose(times(3), 2 * (1 + 0.25 * np.random.default_rng(3).random(2000)), rtol=1e-9)
    assert times(3).tolist() == times(3).tolist() != times(4).tolist()
    shares = times(5) / 2 - 1
    assert shares.min() >= -1e-9 and shares.max() <= 0.25
    # False alarm: 10⁻⁶. A device whose noise reaches only 0.22 would be seen.
    assert stats.kstest(shares, "uniform", (0, 0.25)).pvalue > 1e-6
    assert stats.kstest(0.22 * shares / 0.25, "uniform", (0, 0.25)).pvalue < 1e-6


def test_an_unknown_run_is_named_and_does_nothing():
    device = SimulatedDevice({"pass": 0.03, "draft": 0.01})
    with pytest.raises(ValueError, match=r"^'copy' cannot be run: there are 'pass', 'draft'$"):
        device.submit("copy")
    assert device.now() == 0 and device.runs == []


@pytest.mark.parametrize("name", ["pass", "launch", "cold", "noise", "drift"])
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_number_below_0_is_named(name, value):
    seconds, options = {"pass": value}, {"rng": np.random.default_rng(0)}
    if name != "pass":
        seconds, options = {"pass": 1.0}, options | {name: value}
    with pytest.raises(ValueError, match=rf"^{name} is {value}: give a number that is at least 0$"):
        SimulatedDevice(seconds, **options)


def test_noise_without_a_source_is_refused():
    with pytest.raises(ValueError, match=r"^noise is 0.1 and there is no rng: give a numpy.random.Generator"):
        SimulatedDevice({"pass": 1.0}, noise=0.1)


# ---- a card


def fake_torch(log, cards=1):
    """As much of PyTorch as the clock of a card uses; it writes down what is asked of it, in order."""

    class Event:
        def __init__(self, enable_timing):
            self.made = sum(entry == "event" for entry in log)
            assert enable_timing
            log.append("event")

        def record(self):
            log.append(f"record {self.made}")

        def synchronize(self):
            log.append(f"wait for {self.made}")

        def elapsed_time(self, other):
            assert (self.made, other.made) == (0, 1)
            log.append("read")
            return 12.5  # milliseconds

    @contextmanager
    def on(device):
        log.append(f"on {device.index}")
        yield
        log.append("off")

    def device(name):
        kind, _, number = name.partition(":")
        return SimpleNamespace(type=kind, index=int(number) if number else None)

    cuda = SimpleNamespace(
        Event=Event, device=on, device_count=lambda: cards, is_available=lambda: cards > 0,
        synchronize=lambda: log.append("wait for all"),
    )  # fmt: skip
    return SimpleNamespace(cuda=cuda, device=device)


def test_a_card_is_timed_by_two_events_around_the_run(monkeypatch):
    log = []
    monkeypatch.setitem(sys.modules, "torch", fake_torch(log, cards=2))
    clock = clock_of("cuda:1")
    assert isinstance(clock, CudaClock) and log == []
    assert clock.time(lambda: log.append("run")) == 0.0125
    assert [entry for entry in log if entry != "event"] == [
        "on 1", "wait for all", "record 0", "run", "record 1", "wait for 1", "read", "off",
    ]  # fmt: skip


@pytest.mark.parametrize(("device", "cards"), [("cuda", 0), ("cuda:2", 2)])
def test_a_card_that_is_not_there_is_named(monkeypatch, device, cards):
    monkeypatch.setitem(sys.modules, "torch", fake_torch([], cards))
    with pytest.raises(ValueError, match=rf"^device is '{device}', and PyTorch finds "):
        clock_of(device)


def test_a_card_without_pytorch_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"^torch is not installed: `pip install \"specdec-kit\[models\]\"`"):
        clock_of("cuda")


@pytest.mark.models
def test_where_pytorch_has_no_card_it_says_so():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-models` brings it")
    if torch.cuda.is_available():
        pytest.skip("there is a card here")
    with pytest.raises(
        ValueError, match=r"^device is 'cuda', and PyTorch finds no CUDA device here: time on the CPU instead$"
    ):
        CudaClock()


def test_a_host_needs_no_pytorch_and_another_device_is_no_host(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert isinstance(clock_of("cpu"), HostClock)
    for device in ("gpu", "mps"):  # work that is queued elsewhere must not be timed as if the call waited for it
        with pytest.raises(ValueError, match=rf"^device is '{device}': "):
            clock_of(device)


# ---- orders


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_an_order_has_each_number_once_and_comes_again(count):
    order = shuffled(count, np.random.default_rng(1))
    assert sorted(order) == list(range(count)) and all(type(n) is int for n in order)
    assert order == shuffled(count, np.random.default_rng(1))


def by_swaps(count, rng):
    """The shuffle that everyone writes first: of its 27 ways, 5 lead to some orders and 4 to others."""
    order = list(range(count))
    for n in range(count):
        other = int(rng.random() * count)
        order[n], order[other] = order[other], order[n]
    return order


def test_all_orders_are_equally_likely():
    def pvalue(shuffle, seeds=20_000):
        counts = dict.fromkeys(permutations(range(3)), 0)
        for seed in range(seeds):
            counts[tuple(shuffle(3, np.random.default_rng(seed)))] += 1
        return min(1.0, 6 * min(stats.binomtest(count, seeds, 1 / 6).pvalue for count in counts.values()))

    # False alarm: 10⁻⁶, each order by its exact binomial and all six together.
    assert pvalue(shuffled) > 1e-6
    assert pvalue(by_swaps) < 1e-6, "control"
