"""Clocks: how long something takes, up to the moment when the device has done it.

A call may return before its work is done: a graphics card takes orders into a queue. So a clock waits for its device
before it starts and before it stops. `SimulatedDevice` has such a queue on a clock of its own, for those who learn to
time, and for tests: what it is to show is known, and the same on every machine.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from specdec_kit.extras import needed


class Clock(Protocol):
    """Anything that times a run."""

    def time(self, run: Callable[[], Any]) -> float:
        """Seconds from the call of `run` until its work is done."""
        ...


class HostClock:
    """The wall clock, for work that is done when the call returns."""

    def time(self, run: Callable[[], Any]) -> float:
        """Seconds that `run` takes."""
        start = time.perf_counter()
        run()
        return time.perf_counter() - start


class CudaClock:
    """The clock of a graphics card: two CUDA events around the run, read when the second has been reached.

    Parameters
    ----------
    device : str
        As PyTorch names it: "cuda", "cuda:1", …

    Raises
    ------
    ModuleNotFoundError
        Where PyTorch is missing.
    ValueError
        Where there is no such card.
    """

    def __init__(self, device: str = "cuda"):
        with needed("models"):
            import torch
        if not torch.cuda.is_available():
            raise ValueError(f"device is {device!r}, and PyTorch finds no CUDA device here: time on the CPU instead")
        self.device, count = torch.device(device), torch.cuda.device_count()
        if (self.device.index or 0) >= count:
            raise ValueError(f"device is {device!r}, and PyTorch finds {count} here: their numbers begin at 0")

    def time(self, run: Callable[[], Any]) -> float:
        """Seconds of the card from the call of `run` until all that was ordered is done."""
        import torch

        with torch.cuda.device(self.device):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            start.record()
            run()
            stop.record()
            stop.synchronize()
            return float(start.elapsed_time(stop)) / 1000  # it counts in milliseconds


def clock_of(device: str) -> Clock:
    """Clock of a device that PyTorch names: "cpu", "cuda", "cuda:1", …

    Raises
    ------
    ModuleNotFoundError, ValueError
        As `CudaClock`; and a ValueError for another kind of device, for whose queue no clock here waits.
    """
    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"device is {device!r}: there are clocks for 'cpu' and 'cuda'")
    return CudaClock(device) if kind == "cuda" else HostClock()


class SimulatedDevice:
    """A device with a queue, on a clock that moves only when something is done.

    Parameters
    ----------
    seconds : mapping from str to float
        What it can run, and how long each takes once it is warm.
    launch : float
        Seconds of the host for an order; the work goes into the queue, and the call returns.
    cold : float
        Seconds more for the first run of each kind: to compile, to load.
    noise : float
        How much longer a run may take, as a share: uniform from 0 to that.
    drift : float
        How much slower it gets with each second of work, as a share: it heats up.
    rng : numpy.random.Generator, optional
        Source of the noise.

    Raises
    ------
    ValueError
        Where a time is negative, or there is noise and no `rng`.

    Examples
    --------
    >>> device = SimulatedDevice({"matmul": 0.030})
    >>> start = device.now()
    >>> device.submit("matmul")
    >>> round(device.now() - start, 6)  # the order alone
    1e-05
    >>> device.synchronise()
    >>> round(device.now() - start, 6)
    0.03001
    """

    def __init__(
        self, seconds: Mapping[str, float], *, launch: float = 1e-5, cold: float = 0.0, noise: float = 0.0,
        drift: float = 0.0, rng: Any = None,
    ):  # fmt: skip
        for name, value in {**seconds, "launch": launch, "cold": cold, "noise": noise, "drift": drift}.items():
            if not value >= 0:
                raise ValueError(f"{name} is {value}: give a number that is at least 0")
        if noise and rng is None:
            raise ValueError(f"noise is {noise} and there is no rng: give a numpy.random.Generator to draw it from")
        self.seconds, self.launch, self.cold, self.noise, self.drift = dict(seconds), launch, cold, noise, drift
        self.rng = rng
        self.runs: list[str] = []
        """What was run, in order."""
        self._host = self._free = self._worked = 0.0

    def now(self) -> float:
        """Seconds on the host's clock, which does not wait."""
        return self._host

    def submit(self, name: str) -> None:
        """Order a run; the call returns at once.

        Raises
        ------
        ValueError
            Where there is no such run.
        """
        if name not in self.seconds:
            raise ValueError(f"{name!r} cannot be run: there are {', '.join(map(repr, self.seconds))}")
        self._host += self.launch
        took = self.seconds[name] * (1 + self.drift * self._worked)
        took *= 1 + self.noise * self.rng.random() if self.noise else 1
        took += 0 if name in self.runs else self.cold
        self.runs.append(name)
        self._worked += took
        self._free = max(self._free, self._host) + took

    def synchronise(self) -> None:
        """Wait until the queue is empty."""
        self._host = max(self._host, self._free)

    def time(self, run: Callable[[], Any]) -> float:
        """Seconds from the call of `run` until its work is done: a clock, as the others are."""
        self.synchronise()
        start = self.now()
        run()
        self.synchronise()
        return self.now() - start


def shuffled(count: int, rng: Any) -> list[int]:
    """The numbers 0 … count − 1 in an order drawn from `rng`."""
    return [int(n) for n in np.argsort(rng.random(count), kind="stable")]
