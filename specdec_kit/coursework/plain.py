"""Values as plain data, which cross from one process to another as text: no code comes along, as it would by pickle.

JSON has None, bool, int, float, str and list; anything else stands as ``{"kind": [kind, …]}``.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from specdec_kit.models import Chain


class NotPlain(TypeError):
    """A value that cannot be handed over as data."""


def as_plain(value: Any) -> Any:
    """What stands for a value in JSON.

    Parameters
    ----------
    value : object
        None, a bool, number, string or Fraction; a list, tuple, range or mapping of such values; a NumPy array of
        numbers or of such values; or a `specdec_kit.models.Chain`.

    Raises
    ------
    NotPlain
        Where it is anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):  # of a subclass the plain value alone
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, list):
        return [as_plain(one) for one in value]
    if isinstance(value, tuple | range):
        return {"kind": ["tuple", [as_plain(one) for one in value]]}
    if isinstance(value, Mapping):
        return {"kind": ["dict", [[as_plain(key), as_plain(one)] for key, one in value.items()]]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufO":
        dtype = "O" if value.dtype.kind == "O" else value.dtype.str
        return {"kind": ["array", dtype, list(value.shape), [as_plain(one) for one in value.ravel().tolist()]]}
    if isinstance(value, Fraction):
        return {"kind": ["fraction", value.numerator, value.denominator]}
    if isinstance(value, Chain):
        return {"kind": ["chain", as_plain(value.table), as_plain(value.start)]}
    raise NotPlain(f"a {type(value).__name__} cannot be handed over: return numbers, lists, tuples, dicts or arrays")


def from_plain(plain: Any) -> Any:
    """The value that `as_plain` wrote.

    Raises
    ------
    NotPlain
        Where nothing is written so.
    """
    if isinstance(plain, list):
        return [from_plain(one) for one in plain]
    if not isinstance(plain, dict):
        return plain
    try:
        match plain["kind"]:
            case ["tuple", list(items)]:
                return tuple(from_plain(one) for one in items)
            case ["dict", list(pairs)]:
                return {from_plain(key): from_plain(one) for key, one in pairs}
            case ["array", str(dtype), list(shape), list(items)] if dtype == "O" or np.dtype(dtype).kind in "biuf":
                array = np.empty(len(items), dtype)
                for n, one in enumerate(items):
                    array[n] = from_plain(one)
                return array.reshape(shape)
            case ["fraction", int(over), int(under)]:
                return Fraction(over, under)
            case ["chain", table, start]:
                return Chain(from_plain(table), from_plain(start))
    except (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError):
        pass
    raise NotPlain("what was handed over cannot be read")


def dumps(value: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(value).encode() + b"\n"


def loads(line: bytes) -> Any:
    """What a line of JSON says.

    Raises
    ------
    NotPlain
        Where it is no JSON, or nested too deeply.
    """
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise NotPlain("what was handed over cannot be read") from None
