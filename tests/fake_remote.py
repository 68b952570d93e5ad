"""Stands in for `specdec_kit.coursework.remote.Remote`: functions run here, and the same plain values go between."""

from contextlib import contextmanager
from functools import cached_property

import numpy as np

from specdec_kit import selfcheck
from specdec_kit.clocks import SimulatedDevice
from specdec_kit.coursework.plain import as_plain, from_plain
from specdec_kit.investigation import Investigation
from specdec_kit.round_faults import write


def crossed(value):
    return value if isinstance(value, SimulatedDevice) else from_plain(as_plain(value))


class FakeRemote:
    """Functions, the first of which is meant where no name is given; `lies`: over there every check says passed."""

    def __init__(self, *functions, names=(), lies=False):
        self.functions = dict(zip(names or [one.__name__ for one in functions], functions, strict=True))
        self.name, self.lies = next(iter(self.functions)), lies

    @contextmanager
    def anew(self):
        yield self

    def other(self, name):
        def function(*args):
            return crossed(self.functions[name](*map(crossed, args)))

        function.__name__ = name
        return function

    @property
    def function(self):
        return self.other(self.name)

    def verdict(self, check, **keywords):
        if self.lies:
            return selfcheck.Verdict(True, "so it says")
        return getattr(selfcheck, check)(
            self.functions[self.name], **{key: crossed(one) for key, one in keywords.items()}
        )

    def draws(self, times, seed, *args):
        function, rng = self.functions[self.name], np.random.default_rng(seed)
        return crossed([function(*map(crossed, args), rng) for _ in range(times)])

    def texts(self, times, seed, *args):
        function, rng = self.functions[self.name], np.random.default_rng(seed)
        return crossed([write(function, *args, rng) for _ in range(times)])

    @cached_property
    def case(self):
        return Investigation()

    def calls(self, name):
        self.functions[name](self.case)
