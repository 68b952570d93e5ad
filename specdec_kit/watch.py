"""Someone's code under watch: whatever it does, the audit gets a value or a sentence, and goes on.

A call may raise, never end, return what is no token, change its inputs, draw from global random state, or read the
clock. Each becomes a `Trouble`, whose text says what happened.
"""

import ctypes
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self
from unittest import mock

import numpy as np

from specdec_kit.law import NotWalkable

_MONOTONIC = time.monotonic  # kept, since a call may run with the clock moved


class Trouble(Exception):
    """What a call did instead of its work: a sentence without its subject, which is the sampler."""


class TooLong(Trouble):
    """A call that did not return."""


class _OutOfTime(BaseException):
    """Raised in a call that takes too long; not an Exception, so that `except Exception` lets it pass."""


class Watch:
    """Calls a function, and ends a call that takes longer than `patience` seconds.

    Use it in a ``with`` block. A second thread looks at the time and raises in the first one; a call that waits inside
    C code is ended as soon as it comes back.
    """

    def __init__(self, function: Callable[..., Any], patience: float):
        self.function, self.patience = function, patience
        self._since: float | None = None
        self._over, self._thread = threading.Event(), threading.get_ident()
        self._lock, self._rung = threading.Lock(), False

    def __enter__(self) -> Self:
        with suppress(RuntimeError):  # Python in a browser has no threads; there a call without end is not ended
            threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(min(0.1, self.patience / 4)):
            with self._lock:
                if self._since is not None and _MONOTONIC() - self._since > self.patience:
                    self._rung = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self._thread), ctypes.py_object(_OutOfTime)
                    )

    def _settle(self) -> None:
        """End the watch over a call. What was raised, and is still on its way, arrives in here."""
        with self._lock:
            self._since = None
            rung, self._rung = self._rung, False
        if rung:
            for _ in range(10_000):
                pass

    def __call__(self, *args: Any) -> Any:
        return self.over(self.function, *args)

    def over(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call another function under the same watch."""
        try:
            try:
                self._since = _MONOTONIC()
                return function(*args)
            finally:
                self._settle()
        except _OutOfTime:
            with suppress(_OutOfTime):
                self._settle()
            raise TooLong(f"it has not returned after {self.patience:g} seconds: every loop needs an end") from None
        except (Trouble, NotWalkable, NotImplementedError):
            raise
        except (Exception, SystemExit) as problem:
            raise Trouble(f"it raises {type(problem).__name__}: {problem}") from problem


def as_token(value: Any, size: int) -> int:
    """The token that a sampler returned, as an int.

    Raises
    ------
    Trouble
        Where it is no integer, or none of 0 … size − 1.
    """
    token = value
    if type(value) is int and 0 <= value < size:  # by far the most frequent
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a NumPy number, or an array of no axes
        token = value.item()
    if isinstance(token, int) and not isinstance(token, bool) and 0 <= token < size:
        return token
    kind = f", a {type(value).__name__}" if isinstance(token, float | bool) else ""
    raise Trouble(f"it returns {value!r}{kind}, which is no token: return a number from 0 to {size - 1}")


# ---- what a call must leave alone, and must not read ----


def _states() -> list[Any]:
    """Every global random state: NumPy's, Python's, and PyTorch's if it is loaded."""
    _, key, *rest = np.random.get_state()  # noqa: NPY002 - read, not drawn from
    states: list[Any] = [np.asarray(key).tobytes(), rest, random.getstate()]
    torch = sys.modules.get("torch")
    return [*states, torch.get_rng_state().numpy().tobytes()] if torch else states


@contextmanager
def untouched(*inputs: Any) -> Iterator[None]:
    """Raise `Trouble` if the block changes one of the arrays, or draws from global random state."""
    before, states = [np.array(x) for x in inputs], _states()
    yield
    if not all(np.array_equal(x, kept, equal_nan=True) for x, kept in zip(inputs, before, strict=True)):
        raise Trouble("it changes p or q in place; work on a copy")
    if _states() != states:
        raise Trouble("it draws from global random state (np.random, random or torch): draw from rng alone")


_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")


@contextmanager
def clock(stopped: bool = False) -> Iterator[None]:
    """Within the block the clocks of the module time have stopped, or go wrong by a million seconds."""
    wrong: dict[str, Any] = {name: _wrong(name, stopped) for name in _CLOCKS}
    with mock.patch.multiple(time, **wrong):
        yield


def _wrong(name: str, stopped: bool) -> Callable[[], Any]:
    read = getattr(time, name)
    at, by = read(), 1_000_003 * (10**9 if name.endswith("ns") else 1)
    return (lambda: at) if stopped else (lambda: read() + by)
