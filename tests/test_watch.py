"""Code under watch: calls that never end, raise or return what is no token, changed inputs, global state, clocks."""

import random
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from specdec_kit import watch
from specdec_kit.law import NotWalkable
from specdec_kit.watch import TooLong, Trouble, Watch, as_token, clock, untouched

# ---- calls


def forever(*_):
    while True:
        pass


def forever_in_spite_of_exceptions():
    while True:
        try:
            forever()
        except Exception:
            return "caught"


@pytest.mark.parametrize("function", [forever, forever_in_spite_of_exceptions])
def test_a_call_that_never_ends_is_ended(function):
    with Watch(function, 0.1) as call, pytest.raises(TooLong) as caught:
        call()
    assert str(caught.value) == "it has not returned after 0.1 seconds: every loop needs an end"


def test_the_next_call_is_watched_anew():
    with Watch(forever, 0.1) as call:
        for _ in range(2):
            with pytest.raises(TooLong):
                call()
            assert call.over(lambda: sum(range(1000))) == 499_500
        with pytest.raises(TooLong):
            call.over(forever, 1, 2)


def test_a_call_in_time_returns_what_it_returns():
    with Watch(lambda *args: args, 60) as call:
        assert call(1, "a") == (1, "a") and call.over(max, 2, 5) == 5


def test_without_threads_a_call_is_made_all_the_same(monkeypatch):
    """Python in a browser has none."""

    def refused(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with Watch(lambda *args: args, 60) as call:
        assert call(1, "a") == (1, "a")


def test_what_is_raised_too_late_does_not_leave_the_watch(monkeypatch):
    """The watching thread finds a call too long, and before it can raise the call returns."""
    begun, found, watched = time.monotonic(), threading.Event(), threading.get_ident()

    def slow_clock():
        now = time.monotonic()
        if threading.get_ident() != watched and now - begun > 0.1:
            found.set()
            time.sleep(0.1)
        return now

    monkeypatch.setattr(watch, "_MONOTONIC", slow_clock)
    with Watch(found.wait, 0.05) as call:
        with suppress(TooLong):
            call()
        time.sleep(0.2)
        assert sum(1 for _ in range(1000)) == 1000, "where it would arrive"


def test_a_watch_runs_under_a_profiler():
    """Where CPython is asked to raise nothing in a thread, a profiled loop stalls: so it must not be asked."""
    code = """
import cProfile
from specdec_kit.watch import Watch
def work():
    return sum(i for i in range(100))
with cProfile.Profile(), Watch(work, 60) as call:
    print(sum(call() for _ in range(100)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "495000\n"


def test_the_watching_thread_ends_with_the_block():
    before = set(threading.enumerate())
    with Watch(abs, 60) as call:
        (watching,) = set(threading.enumerate()) - before
        assert call(-1) == 1 and watching.daemon
    watching.join(60)
    assert not watching.is_alive()
    with pytest.raises(KeyError), Watch(abs, 60):
        (watching,) = set(threading.enumerate()) - before
        raise KeyError
    watching.join(60)
    assert not watching.is_alive()


def raising(error):
    def function():
        raise error

    return function


def endless_recursion():
    return endless_recursion()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (raising(ValueError("p sums to 2")), "it raises ValueError: p sums to 2"),
        (raising(SystemExit(3)), "it raises SystemExit: 3"),
        (raising(AssertionError), "it raises AssertionError: "),
        (endless_recursion, "it raises RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_what_a_call_raises_is_said(function, says):
    with Watch(function, 60) as call, pytest.raises(Trouble) as caught:
        call()
    assert str(caught.value).startswith(says) and not isinstance(caught.value, TooLong)


@pytest.mark.parametrize("kind", [NotWalkable, NotImplementedError, Trouble, KeyboardInterrupt])
def test_what_is_not_of_the_call_passes_through(kind):
    error = kind("no")
    with Watch(raising(error), 60) as call, pytest.raises(kind) as caught:
        call()
    assert caught.value is error


# ---- tokens


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2), np.array(2)])
def test_an_integer_is_a_token(value):
    token = as_token(value, 3)
    assert token == 2 and type(token) is int


def test_the_ends_of_the_vocabulary():
    assert as_token(0, 3) == 0 and as_token(2, 3) == 2
    for size in (0, 1, 2):
        with pytest.raises(Trouble, match=f"return a number from 0 to {size - 1}$"):
            as_token(2, size)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (True, "it returns True, a bool, which is no token: return a number from 0 to 2"),
        (np.True_, "a bool, which is no token"),
        (1.0, "it returns 1.0, a float, which is no token: return a number from 0 to 2"),
        (np.float64(1), "a float64, which is no token"),
        ("A", "it returns 'A', which is no token: return a number from 0 to 2"),
        (None, "it returns None, which is no token"),
        (-1, "it returns -1, which is no token"),
        (3, "it returns 3, which is no token"),
        (np.int64(3), "which is no token"),
        (np.array([1]), r"it returns array\([1]\), which is no token".replace("[1]", r"\[1\]")),
        ((1,), r"it returns \(1,\), which is no token"),
    ],
)
def test_anything_else_is_none(value, says):
    with pytest.raises(Trouble, match=says):
        as_token(value, 3)


def test_tokens_of_torch():
    torch = pytest.importorskip("torch")
    assert as_token(torch.tensor(2), 3) == 2
    for value in (torch.tensor([2]), torch.tensor(2.0), torch.tensor(3), torch.tensor(True)):
        with pytest.raises(Trouble, match="which is no token"):
            as_token(value, 3)


# ---- inputs and global state


def test_what_is_left_alone_passes():
    p = np.array([0.5, np.nan])
    with untouched(p, np.array([1.0])):
        np.random.default_rng(0).random(), random.Random(0).random(), p.sum()


@pytest.mark.parametrize("which", [0, 1])
def test_a_changed_input_is_said(which):
    laws = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    with pytest.raises(Trouble, match="it changes p or q in place"), untouched(*laws):
        laws[which][0] += 1e-9


@pytest.mark.parametrize(
    "draw", [np.random.random, random.random, lambda: np.random.seed(1), lambda: random.seed(1)],  # noqa: NPY002
    ids=["np.random", "random", "a seed of np.random", "a seed of random"],
)  # fmt: skip
def test_global_random_state_is_watched(draw):
    states = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        np.random.seed(2), random.seed(2)  # noqa: NPY002  whatever an earlier test left
        with pytest.raises(Trouble, match="it draws from global random state"), untouched():
            draw()
    finally:
        np.random.set_state(states[0]), random.setstate(states[1])  # noqa: NPY002


def test_global_random_state_of_torch_is_watched():
    torch = pytest.importorskip("torch")
    with pytest.raises(Trouble, match="global random state"), untouched():
        torch.rand(1)


# ---- clocks

CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_goes_wrong_or_stops_and_is_put_right(name):
    right, second = getattr(time, name), 10**9 if name.endswith("ns") else 1
    with clock():
        before, moved = right(), getattr(time, name)()
        assert moved - before > 1_000_000 * second
    assert getattr(time, name) is right
    with clock(stopped=True):
        at = getattr(time, name)()
        while right() <= at + second / 100:
            pass
        assert getattr(time, name)() == at
    with pytest.raises(KeyError), clock(stopped=True):
        raise KeyError
    assert getattr(time, name) is right


def test_patience_keeps_time_by_a_clock_of_its_own():
    with Watch(forever, 0.1) as call, clock(stopped=True), pytest.raises(TooLong):
        call()
    with Watch(lambda: 1, 60) as call, clock():
        assert call() == 1
