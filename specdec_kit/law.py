"""The exact output law of a sampler: every branch of its random choices, walked and weighed.

A sampler that draws only through its argument `rng` is a function of what `rng` answers. `exact_law` hands it a
generator whose answers are chosen, not drawn, and runs it once for each way the answers can fall:

* ``rng.random()`` answers with a `Uniform`, a number known only to lie in an interval, at first [0, 1). A comparison
  splits the interval at the threshold, into two branches with the lengths as their probabilities. From then on the
  number lies in its part, and a second comparison of the same number is judged by what the first one left.
* ``rng.choice`` and ``rng.integers`` branch once for each value.

A run that ends adds the product of its branch probabilities to its outcome. No seed, no sample, no tolerance.
"""

import copy
import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache, partial
from heapq import heappop, heappush
from numbers import Rational, Real
from typing import Any

import numpy as np

from specdec_kit.extras import needed


class NotWalkable(TypeError):
    """The sampler asks its generator for something that the walk cannot follow."""


class TooManyBranches(RuntimeError):
    """The walk was stopped before every branch had ended.

    Attributes
    ----------
    law : Law
        Mass found so far for each outcome: a lower bound, sound for the branches that did end.
    covered : Fraction
        Its total; the rest, 1 − covered, is unknown.
    """

    def __init__(self, message: str, law: "Law", covered: Fraction):
        super().__init__(message)
        self.law, self.covered = law, covered


class WalkInterrupted(KeyboardInterrupt):
    """The walk was broken off, by Ctrl+C say; it has `law` and `covered`, as `TooManyBranches` has."""

    def __init__(self, law: "Law", covered: Fraction):
        super().__init__(f"all but {float(1 - covered):.2g} of the mass was covered (.law, .covered)")
        self.law, self.covered = law, covered


class Law(dict[Hashable, Fraction]):
    """Probability of each outcome that can occur, as fractions; outcomes of probability 0 are not listed."""

    def __repr__(self) -> str:
        def readable(mass: Fraction) -> str:
            return str(mass) if mass.denominator <= 10**6 else f"{float(mass):.6g}"

        return "{" + ", ".join(f"{outcome!r}: {readable(self[outcome])}" for outcome in _in_order(self)) + "}"

    def map(self, function: Callable[[Any], Hashable]) -> "Law":
        """Law of `function(outcome)`: a marginal, a length, an event."""
        image = Law()
        for outcome, mass in self.items():
            value = function(outcome)
            image[value] = image.get(value, Fraction(0)) + mass
        return image

    def vector(self, size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Probabilities of the tokens 0 … size − 1 as float64, shape (size,)."""
        return np.array([float(self.get(token, 0)) for token in range(size)])

    def total_variation(self, other: "Mapping[Any, Any] | Iterable[Any]") -> Fraction:
        """½ Σ |self − other| against another law, or a vector of probabilities over the tokens 0, 1, …"""
        theirs = dict(other) if isinstance(other, Mapping) else dict(enumerate(other))
        return (
            sum(
                (abs(self.get(x, Fraction(0)) - as_fraction(theirs.get(x, 0))) for x in self.keys() | theirs),
                Fraction(0),
            )
            / 2
        )


def _in_order(outcomes: Iterable[Any]) -> list[Any]:
    try:
        return sorted(outcomes)
    except TypeError:  # outcomes of several types
        return sorted(outcomes, key=repr)


@lru_cache(maxsize=1 << 16)
def _read(x: float) -> Fraction:
    near = Fraction(x).limit_denominator(10**6)
    return near if abs(near - Fraction(x)) <= Fraction(abs(x)) / 2**46 else Fraction(x)


def as_fraction(x: Any) -> Fraction:
    """Read a number as the fraction it stands for.

    Parameters
    ----------
    x : number
        A fraction or an integer is taken as it is. A float within a relative 2⁻⁴⁶ (some hundred rounding errors) of a
        fraction whose denominator is at most a million is taken for that fraction: 0.1 + 0.2 is 3/10. Two such
        fractions lie at least 10⁻¹² apart, so they cannot be confused. Any other float is taken to the last bit.

    Returns
    -------
    Fraction

    Raises
    ------
    NotWalkable
        Where `x` is no finite real number.
    """
    if isinstance(x, Rational):  # of Python's integers, not of NumPy's, which overflow
        return Fraction(int(x.numerator), int(x.denominator))
    if hasattr(x, "item") and not isinstance(x, Real):  # an array or tensor that holds one number
        x = x.item()
    if isinstance(x, Real) and math.isfinite(x):
        return _read(float(x))
    raise NotWalkable(f"{x!r} is not a finite number, and a walk has to know every probability as a number")


class _Postponed(BaseException):
    """Ends a run whose branch has become improbable; not an Exception, so that `except Exception` lets it pass."""


def _global_states() -> tuple[Any, ...]:
    _, key, position, *_ = np.random.get_state()  # noqa: NPY002 - read, not drawn from
    return key[0], position, random.getstate()


def _check_global(before: tuple[Any, ...]) -> None:
    if before != _global_states():
        raise NotWalkable(
            "the sampler draws from global random state (np.random.… or the module random): draw from rng alone"
        )


def _refusal(what: str) -> NotWalkable:
    return NotWalkable(
        f"{what} cannot be walked: compare a uniform with a number, or draw by rng.choice or rng.integers; "
        "else count seeded draws"
    )


class _Walk:
    """The branches still to walk, likeliest first, and where the present run stands.

    A run repeats the choices of its path, then follows the likeliest branch and leaves the others for later.
    """

    def __init__(self, limit: int):
        self.before = _global_states()
        self.tie = itertools.count()
        self.todo: list[Any] = []
        self.put(Fraction(1), ())
        self.left = self.limit = limit

    def start(self) -> None:
        _, _, self.mass, self.path = heappop(self.todo)
        self.at = self.drawn = 0
        self.postponed = False
        self.refused: NotWalkable | None = None

    def draw(self) -> "Uniform":
        """Return a new uniform. A run that draws without end, and never branches, is given up."""
        self.drawn += 1
        if self.drawn > self.limit:
            self.left = 0
            self.put(self.mass, self.path)
            self.postpone()
        return Uniform(_Drawn(self))

    def choose(self, masses: list[Fraction]) -> int:
        """Index of the branch to take, of those with probabilities `masses` (all above 0; their sum is 1)."""
        likeliest = max(range(len(masses)), key=masses.__getitem__)
        if masses[likeliest] == 1:  # nothing to choose
            return likeliest
        self.left -= 1
        self.at += 1
        if self.at <= len(self.path):
            index, mass, count = self.path[self.at - 1]
            if len(masses) != count or masses[index] != mass:
                self.differs()
            return int(index)
        for index, mass in enumerate(masses):
            if index != likeliest:
                self.leave(index, mass, len(masses))
        # A loop may follow its likeliest branch for ever: once something far likelier waits, that goes first.
        here = self.mass * masses[likeliest]
        if self.left <= 0 or -self.todo[0][0] > 1000 * float(here):
            self.leave(likeliest, masses[likeliest], len(masses))
            self.postpone()
        self.path += ((likeliest, masses[likeliest], len(masses)),)
        self.mass = here
        return likeliest

    def leave(self, index: int, mass: Fraction, count: int) -> None:
        self.put(self.mass * mass, (*self.path, (index, mass, count)))

    def put(self, mass: Fraction, path: tuple[Any, ...]) -> None:
        heappush(self.todo, (-float(mass), next(self.tie), mass, path))

    def postpone(self) -> None:
        self.postponed = True
        raise _Postponed

    def refuse(self, what: str) -> NotWalkable:
        """Return the error to raise; it is noted as well, for a sampler that catches it."""
        self.refused = _refusal(what)
        return self.refused

    def differs(self) -> None:
        _check_global(self.before)
        raise NotWalkable(
            "given the same answers again, the sampler chose otherwise: it keeps state, or draws not from rng alone"
        )


class _Drawn:
    """What is known so far of one uniform: it lies in [low, high)."""

    __slots__ = ("high", "low", "walk")

    def __init__(self, walk: _Walk):
        self.walk, self.low, self.high = walk, Fraction(0), Fraction(1)

    def below(self, cut: Fraction) -> bool:
        if cut <= self.low or cut >= self.high:
            return cut >= self.high
        share = (cut - self.low) / (self.high - self.low)
        if self.walk.choose([share, 1 - share]) == 0:
            self.high = cut
            return True
        self.low = cut
        return False


def _refusing(what: str) -> Any:
    """A method that refuses `what`."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise self._walk.refuse(what)

    return refuse


class Uniform:
    """slope · u + offset, where u is a uniform of which only the interval it lies in is known."""

    __slots__ = ("_drawn", "_offset", "_slope")

    def __init__(self, drawn: _Drawn, slope: Fraction = Fraction(1), offset: Fraction = Fraction(0)):
        self._drawn, self._slope, self._offset = drawn, slope, offset

    @property
    def _walk(self) -> _Walk:
        return self._drawn.walk

    # Arithmetic keeps it a straight line in u. Arrays go back to NumPy, which comes again entry by entry.
    def _line(self, other: Any, slope: int, sign: int) -> Any:
        """The line slope · self + sign · other."""
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        if isinstance(other, Uniform):
            if other._drawn is not self._drawn:
                raise self._walk.refuse("adding or comparing two uniforms")
            return Uniform(
                self._drawn, slope * self._slope + sign * other._slope, slope * self._offset + sign * other._offset
            )
        return Uniform(self._drawn, slope * self._slope, slope * self._offset + sign * as_fraction(other))

    def __add__(self, other: Any) -> Any:
        return self._line(other, 1, 1)

    def __sub__(self, other: Any) -> Any:
        return self._line(other, 1, -1)

    def __rsub__(self, other: Any) -> Any:
        return self._line(other, -1, 1)

    def __neg__(self) -> Any:
        return self._line(0, -1, 0)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        if isinstance(other, Uniform):
            raise self._walk.refuse("multiplying two uniforms")
        factor = as_fraction(other)
        return Uniform(self._drawn, self._slope * factor, self._offset * factor)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        if isinstance(other, Uniform):
            raise self._walk.refuse("dividing by a uniform")
        return self * (1 / as_fraction(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def _below(self, other: Any, or_equal: bool) -> Any:
        """Whether self < other. Only a line that does not depend on u is equal to a number with any probability."""
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        if isinstance(other, Real) and not math.isfinite(other):
            return float(other) > 0
        line = self - other
        if line._slope == 0:
            return line._offset < 0 or (or_equal and line._offset == 0)
        cut = -line._offset / line._slope
        return self._drawn.below(cut) if line._slope > 0 else not self._drawn.below(cut)

    def _above(self, other: Any, or_equal: bool) -> Any:
        if isinstance(other, Real) and math.isnan(other):
            return False
        below = self._below(other, not or_equal)
        return below if below is NotImplemented else not below

    def __lt__(self, other: Any) -> Any:
        return self._below(other, False)

    def __le__(self, other: Any) -> Any:
        return self._below(other, True)

    def __gt__(self, other: Any) -> Any:
        return self._above(other, False)

    def __ge__(self, other: Any) -> Any:
        return self._above(other, True)

    def __eq__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) and other.ndim else self is other

    __hash__ = None  # type: ignore[assignment]

    def __floor__(self) -> int:
        ends = (self._slope * end + self._offset for end in (self._drawn.low, self._drawn.high))
        low, high = sorted(ends)
        for n in range(math.floor(low) + 1, math.ceil(high)):
            if self < n:
                return n - 1
        return max(math.floor(low), math.ceil(high) - 1)

    def __int__(self) -> int:
        return math.floor(self) if not self < 0 else -math.floor(-self)

    __trunc__ = __int__
    __float__ = _refusing("turning a uniform into a plain float (float(), math functions, storing it in a float array)")
    __pow__ = __rpow__ = _refusing("a power of a uniform")
    __rtruediv__ = _refusing("dividing by a uniform")
    __mod__ = __floordiv__ = _refusing("a remainder of a uniform")
    __bool__ = _refusing("the truth of a uniform, rather than of a comparison,")
    __round__ = _refusing("rounding a uniform")
    __abs__ = _refusing("the absolute value of a uniform")
    __format__ = _refusing("writing out a uniform")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(_refusing(f"{name} of a uniform"), self)  # NumPy looks for u.log, u.exp, … in an object

    def __repr__(self) -> str:
        return f"<uniform in [{self._drawn.low}, {self._drawn.high}), times {self._slope}, plus {self._offset}>"


class Uniforms(np.ndarray[Any, Any]):
    """An array of uniforms. NumPy's searchsorted compares one key with the next; here each key is sought by itself."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is not np.searchsorted:
            return super().__array_function__(func, types, args, kwargs)

        def search(a: Any, v: Any, *rest: Any, **options: Any) -> Any:
            found = np.empty(v.shape, dtype=np.int64)
            for at in np.ndindex(v.shape):
                found[at] = np.searchsorted(a, v[at], *rest, **options)
            return found

        return search(*args, **kwargs)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array.dtype != object:  # a comparison's answers are plain booleans
            array = array.view(np.ndarray)
        return array[()] if return_scalar else array


# Tries the arguments first, so that wrong ones give NumPy's own errors; what it draws is thrown away.
_NUMPY = np.random.default_rng(0)


@lru_cache(maxsize=64)
def _normalised(p: tuple[Any, ...]) -> tuple[list[int], list[Fraction]]:
    """Where a law has mass, and how much."""
    support = [i for i, x in enumerate(p) if x]
    masses = [as_fraction(p[i]) for i in support]
    total = sum(masses, Fraction(0))
    return support, [mass / total for mass in masses]


class EnumeratingGenerator(np.random.Generator):
    """A `numpy.random.Generator` whose answers are branches. Made by `exact_law`; what it cannot walk, it refuses."""

    _walk: _Walk

    def __init__(self, bits: np.random.BitGenerator) -> None:
        super().__init__(bits)  # not drawn from: __getattribute__ guards the way to it, exact_law looks afterwards

    def __getattribute__(self, name: str) -> Any:
        if name in EnumeratingGenerator.__dict__ or name.startswith("__") or name == "_walk":
            return object.__getattribute__(self, name)
        if name == "bit_generator":
            raise self._walk.refuse("rng.bit_generator")
        if hasattr(np.random.Generator, name):
            return partial(_refusing(f"rng.{name}"), self)
        raise AttributeError(f"numpy.random.Generator has no attribute {name!r}")

    __copy__ = __deepcopy__ = __reduce__ = _refusing("copying rng")

    def _fill(self, size: Any, draw: Callable[[], Any], dtype: Any) -> Any:
        if size is None:
            return draw()
        values = np.empty(size, dtype=dtype)
        for at in np.ndindex(values.shape):
            values[at] = draw()
        return values

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        if out is not None:
            raise self._walk.refuse("rng.random(out=…)")
        drawn = self._fill(size, self._walk.draw, object)
        return drawn if size is None else drawn.view(Uniforms)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if np.ndim(low) or np.ndim(high):
            raise self._walk.refuse("rng.uniform between arrays")
        return low + (high - low) * self.random(size)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        _NUMPY.integers(low, high, size, dtype, endpoint)
        if high is None:
            low, high = 0, low
        count = int(high) - int(low) + endpoint
        equal = [Fraction(1, count)] * count
        return self._fill(size, lambda: int(low) + self._walk.choose(equal), dtype)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        if not replace and size is not None:
            raise self._walk.refuse("rng.choice(replace=False)")
        weights = p if p is None or np.asarray(p).dtype != object else np.asarray(p, dtype=np.float64)
        _NUMPY.choice(a, size, replace, weights, axis, shuffle)
        values = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        if p is None:
            count = values.shape[axis]
            support, masses = list(range(count)), [Fraction(1, count)] * count
        else:
            support, masses = _normalised(tuple(p))
        chosen = self._fill(size, lambda: support[self._walk.choose(masses)], np.int64)
        return values.take(chosen, axis=axis)


def _outcome(value: Any) -> Hashable:
    """The sampler's result as a plain, hashable value: an int, a tuple of ints, …"""
    if isinstance(value, Uniform):
        raise _refusal("returning a uniform as the outcome")
    if hasattr(value, "tolist"):  # arrays, NumPy numbers, tensors
        value = value.tolist()
    if isinstance(value, list | tuple):
        parts = [_outcome(part) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)  # a named tuple keeps its names
    try:
        hash(value)
    except TypeError:
        raise NotWalkable(f"the sampler returned {value!r}: return a token, or a tuple of tokens") from None
    return value


def exact_law(sampler: Callable[..., Any], *args: Any, max_branches: int = 500_000, progress: bool = False) -> Law:
    """Output law of `sampler(*args, rng)`, by walking every branch of its random choices.

    Parameters
    ----------
    sampler : callable
        Draws from its last argument `rng` and from nothing else, by ``rng.random()`` (compared, scaled, shifted, or
        fed to searchsorted), ``rng.choice``, ``rng.integers`` and ``rng.uniform``, with or without ``size=``.
    *args
        What to call it with, before `rng`. Laws given as fractions are computed with as fractions wherever the
        sampler's own arithmetic keeps them; floats are read by `as_fraction` where they meet a uniform.
    max_branches : int
        How many branch points to pass in all (and uniforms to draw in one run); the likeliest branches go first. Half a
        million take some ten seconds.
    progress : bool
        Show the mass covered so far as a bar (needs tqdm).

    Returns
    -------
    Law
        A dict from outcome to Fraction; its values sum to 1.

    Raises
    ------
    NotWalkable
        Where the sampler asks for what the walk cannot follow (a normal, two uniforms compared, …), or does not
        repeat itself.
    TooManyBranches
        Where `max_branches` did not end every branch (a loop may have no end); it carries the law so far and the mass
        covered.
    WalkInterrupted
        Where it is broken off, by Ctrl+C say; it carries the same.

    Examples
    --------
    >>> def coin(rng):
    ...     return int(rng.random() < 0.3)
    >>> exact_law(coin)
    {0: 7/10, 1: 3/10}
    """
    law, covered = Law(), Fraction(0)
    bits = np.random.PCG64(0)
    rng, untouched = EnumeratingGenerator(bits), bits.state
    walk = rng._walk = _Walk(max_branches)
    inputs = [(arg, copy.deepcopy(arg)) for arg in args if isinstance(arg, np.ndarray | list)]
    bar = None
    if progress:
        with needed("lab"):
            from tqdm.auto import tqdm

        bar = tqdm(total=1.0, desc="mass covered", bar_format="{desc}: {percentage:.4f}% |{bar}| {elapsed}")
    try:
        while walk.todo:
            if walk.left <= 0:
                raise TooManyBranches(
                    f"stopped after {max_branches} branch points with all but {float(1 - covered):.2g} of the mass "
                    "covered: raise max_branches, ask for a smaller case, or use what was found (.law, .covered)",
                    law, covered,
                )  # fmt: skip
            walk.start()
            try:
                result = sampler(*args, rng)
            except _Postponed:
                continue
            if walk.refused is not None:
                raise walk.refused
            if not all(np.array_equal(arg, kept) for arg, kept in inputs):
                raise NotWalkable("the sampler changes its inputs in place: let it work on a copy")
            if walk.postponed:  # and a bare except caught it
                continue
            outcome = _outcome(result)
            if walk.at < len(walk.path):
                walk.differs()
            law[outcome] = law.get(outcome, Fraction(0)) + walk.mass
            covered += walk.mass
            if bar is not None:
                bar.update(float(covered) - bar.n)
        _check_global(walk.before)
        if bits.state != untouched:
            raise NotWalkable("the sampler reaches around rng to the bits below it: draw by rng.random()")
        return Law((outcome, law[outcome]) for outcome in _in_order(law))
    except KeyboardInterrupt:
        raise WalkInterrupted(law, covered) from None
    finally:
        if bar is not None:
            bar.close()
