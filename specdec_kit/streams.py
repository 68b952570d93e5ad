"""Two stand-ins for a generator, to see where random numbers go: one writes them down, one hands out given ones."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.sampling import inverse_cdf


class Ledger:
    """A generator that notes every uniform it hands out.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the uniforms come from.
    """

    def __init__(self, rng: Any):
        self._rng = rng
        self._since: list[float] = []

    def random(self, size: Any = None) -> Any:
        """Uniforms in [0, 1), as `numpy.random.Generator.random` gives them."""
        drawn = self._rng.random(size)
        self._since += np.ravel(drawn).tolist()
        return drawn

    def choice(self, a: Any, size: Any = None, *, p: ArrayLike) -> Any:
        """Tokens of law `p` by inverse CDF, one uniform each, as `numpy.random.Generator.choice` draws them."""
        drawn = inverse_cdf(p, self.random(size))
        return drawn if isinstance(a, int | np.integer) else np.asarray(a)[drawn]

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: a ledger is kept in uniforms."""
        raise TypeError("the ledger notes uniforms only: draw by rng.random() or rng.choice(n, p=…)")

    def taken(self) -> list[float]:
        """Uniforms handed out since this was last asked."""
        since, self._since = self._since, []
        return since


class Scripted(Ledger):
    """A generator that hands out the given uniforms, in order, and no others: for boundaries such as u = 0.

    Parameters
    ----------
    uniforms : iterable of float
        Numbers in [0, 1).
    """

    def __init__(self, uniforms: Iterable[float]):
        self._left = [float(u) for u in uniforms]
        outside = [u for u in self._left if not 0 <= u < 1]
        if outside:
            raise ValueError(f"{outside[0]} is no uniform: script numbers of at least 0 and below 1")
        super().__init__(self)

    def random(self, size: Any = None) -> Any:
        """The next number of the script, or an array of the next ones."""
        count = 1 if size is None else int(np.prod(size))
        if count > len(self._left):
            raise ValueError(f"the script holds {len(self._left)} more uniforms and {count} are asked for: write more")
        drawn, self._left = self._left[:count], self._left[count:]
        self._since += drawn
        return drawn[0] if size is None else np.reshape(drawn, size)
