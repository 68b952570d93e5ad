"""Expected and observed side by side; predictions made before results; records that can be checked later.

In a reader's work folder (the one that `specdec_kit.copies` makes) predictions and records are kept in
``evidence.jsonl``, one line each, only ever added to. Anywhere else they last as long as the kernel.
"""

import hashlib
import html
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from numbers import Number, Rational
from pathlib import Path
from typing import Any

import numpy as np

from specdec_kit.files import write_whole
from specdec_kit.lines import WIDTH, wrapped

FILE = "evidence.jsonl"

_in_memory: list[dict[str, Any]] = []


class Unexpected(AssertionError):
    """An observed value that is not the expected one."""


# ---- how values are compared and written ----


def readable(value: Any) -> str:
    """Write a value the way a person would: six digits, small fractions as fractions, rounding noise as 0."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool | str) or value is None:
        return str(value)
    if isinstance(value, Rational) and Fraction(value).denominator <= 10**6:
        return str(value)
    if isinstance(value, Number):
        number = complex(value).real  # type: ignore[call-overload]
        return "0" if abs(number) < 1e-12 else f"{number:.6g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {readable(value[key])}" for key in value) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(readable(part) for part in value) + "]"
    return str(value)


def discrepancy(expected: Any, observed: Any) -> float:
    """Largest difference between two values of the same shape; inf where they cannot be compared, 0 where equal.

    Mappings are compared over the union of their keys, a key that is missing counting as 0.
    """
    if isinstance(expected, Mapping) and isinstance(observed, Mapping):
        keys = [*expected, *(key for key in observed if key not in expected)]
        return max((discrepancy(expected.get(key, 0), observed.get(key, 0)) for key in keys), default=0.0)
    try:
        a, b = (np.asarray(x, dtype=object) for x in (expected, observed))
        if a.shape != b.shape:
            return float("inf")
        return max((_gap(x, y) for x, y in zip(a.flat, b.flat, strict=True)), default=0.0)
    except (TypeError, ValueError):  # entries that differ and are no numbers
        return float("inf")


def _gap(x: Any, y: Any) -> float:
    if isinstance(x, bool | np.bool) or isinstance(y, bool | np.bool):
        return 0.0 if x == y else float("inf")
    if x != x or y != y:  # NaN is the same as NaN and as nothing else
        return 0.0 if x != x and y != y else float("inf")
    return 0.0 if x == y else float(abs(x - y))


def expect(name: str, expected: Any, observed: Any, atol: float = 1e-12) -> None:
    """Print what was expected beside what was observed, and fail where they differ.

    Parameters
    ----------
    name : str
        What the value is. A prediction committed under the same name is shown with it.
    expected, observed : number, array_like, mapping, str or bool
        The value known beforehand (by hand, from the exact law) and the value just computed.
    atol : float
        Largest difference allowed, in the unit of the value; 0 asks for equality.

    Raises
    ------
    Unexpected
        Where any entry differs by more than `atol`, or the shapes differ.
    """
    gap = discrepancy(expected, observed)
    if not gap <= atol:
        by = "" if gap == float("inf") else f" They differ by {gap:.3g}; at most {atol:g} is allowed."
        raise Unexpected(f"{name}: expected {readable(expected)}, observed {readable(observed)}.{by}")
    within = f" (within {atol:g})" if atol > 1e-9 else ""
    seen = f"observed {readable(observed)}{within}{_as_predicted(name, observed)}"
    line = f"{name}: expected {readable(expected)}, {seen}"
    print(line if len(line) <= WIDTH else wrapped(f"{name}:\n    expected {readable(expected)}\n    {seen}"))


def _as_predicted(name: str, observed: Any) -> str:
    made = prediction(name)
    if made is None:
        return ""
    if isinstance(observed, Mapping):  # JSON keeps every key as a string
        observed = {str(key): part for key, part in observed.items()}
    gap = discrepancy(made, observed)
    off = "right" if gap <= 1e-9 else "not the same" if gap == float("inf") else f"off by {gap:.3g}"
    return f"; you predicted {readable(made)}: {off}"


# ---- where a reader's evidence is kept ----


def work_folder() -> Path | None:
    """The reader's work folder that the current folder lies in, or None."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".copies.json").is_file()), None)


def _keep(entry: dict[str, Any]) -> None:
    folder = work_folder()
    if folder is not None:
        with open(folder / FILE, "a+b") as file:
            # A line that was cut short (power lost while writing) must not swallow this one.
            torn = file.tell() > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
            file.write((b"\n" if torn else b"") + json.dumps(entry, ensure_ascii=False).encode() + b"\n")
    _in_memory.append(entry)


def _kept() -> list[dict[str, Any]]:
    folder = work_folder()
    if folder is None or not (folder / FILE).is_file():
        return _in_memory
    entries = []
    for number, line in enumerate((folder / FILE).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            entry["kind"], entry["name"]
        except (ValueError, TypeError, KeyError):
            _say_once(f"{FILE}, line {number}, cannot be read and is passed over; the file is left as it is")
        else:
            entries.append(entry)
    return entries


@cache
def _say_once(sentence: str) -> None:
    print(sentence)


def _plain(value: Any, fraction: type = str) -> Any:
    """The value as JSON can hold it; a fraction as the string "7/10", or as a float."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Fraction):
        return fraction(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part, fraction) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, fraction) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)  # JSON has no NaN
    return value if isinstance(value, bool | int | float | str) or value is None else repr(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ---- predict ----


def read_value(text: str) -> Any:
    """Read what a reader typed: 0.7, 7/10, 70%, [0.7, 0.3] or words.

    Raises
    ------
    ValueError
        Where nothing was typed.
    """
    text = text.strip()
    if not text:
        raise ValueError("nothing is typed yet: write a number, such as 0.7 or 7/10")
    if text[0] in "[(" and text[-1] in "])":
        return [read_value(part) for part in text[1:-1].split(",")]
    try:
        return float(Fraction(text.removesuffix("%").strip())) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        return text


def prediction(name: str) -> Any:
    """The prediction last committed under `name`, or None."""
    made = [entry for entry in _kept() if entry["kind"] == "prediction" and entry["name"] == name]
    return made[-1].get("value") if made else None


def commit_prediction(name: str, value: Any, unit: str = "") -> str:
    """Keep a prediction, text as `read_value` reads it; return the sentence that says so."""
    value = read_value(value) if isinstance(value, str) else value
    _keep({"kind": "prediction", "name": name, "value": _plain(value, float), "unit": unit, "time": _now()})
    return f"Committed: {readable(value)}. Now run on and compare."


def predict(name: str, value: Any = None, *, unit: str = "") -> None:
    """Ask for a prediction before a result is shown.

    In JupyterLab a box and a button appear; without widgets (or to do it in code) give the value.

    Parameters
    ----------
    name : str
        What is predicted: the name that `expect` and `record` use for the result.
    value : number, sequence or str, optional
        The prediction itself, committed at once.
    unit : str
        What it is measured in.
    """
    if value is not None:
        print(commit_prediction(name, value, unit))
        return
    try:
        from specdec_kit.widgets import prediction_box
    except ImportError:
        prediction_box = None  # type: ignore[assignment]
    if prediction_box is None or not prediction_box(name, unit):
        print(wrapped(f"Your prediction: {name}{f' ({unit})' if unit else ''}."))
        print(f'Commit it with predict("{name}", your_value).')


# ---- record ----


@cache
def commit_of_kit() -> str | None:
    """Commit of the clone that the kit runs from, with "+changes" where files differ from it; None without git."""
    here = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=10)
        tracked = subprocess.run(
            ["git", "ls-files", "--error-unmatch", __file__], cwd=here, capture_output=True, timeout=10
        )
        changed = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=here, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if head.returncode or tracked.returncode:
        return None
    return head.stdout.strip() + ("+changes" if changed.stdout else "")


def fingerprint(inputs: Any) -> str:
    """SHA-256 of the inputs: of their JSON form, in which a float is written with every digit it has."""
    return hashlib.sha256(json.dumps(_plain(inputs), sort_keys=True).encode()).hexdigest()


def record(
    name: str, *, expected: Any, observed: Any, inputs: Any = None, seed: int | None = None, draws: int | None = None
) -> None:
    """Keep a result with all that someone needs to check it.

    Parameters
    ----------
    name : str
        What was measured; the prediction of the same name goes with it.
    expected, observed : number, array_like, mapping, str or bool
        What theory says, and what was seen.
    inputs : number, array_like or mapping, optional
        What the result was computed from; its fingerprint is kept.
    seed, draws : int, optional
        How the random numbers began, and how many samples were drawn.

    Notes
    -----
    Kept are: prediction, expected, observed, their largest discrepancy, seed, draws, SHA-256 of the inputs, versions of
    the kit, NumPy and Python, the commit of the kit where there is one, and the time (UTC).
    """
    from specdec_kit import __version__

    gap = discrepancy(expected, observed)
    made = prediction(name)
    _keep({
        "kind": "record",
        "name": name,
        "prediction": made,
        "expected": _plain(expected),
        "observed": _plain(observed),
        "discrepancy": gap if np.isfinite(gap) else "not comparable",
        "seed": _plain(seed),
        "draws": _plain(draws),
        "inputs_sha256": fingerprint(inputs),
        "versions": {"specdec_kit": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "commit": commit_of_kit(),
        "time": _now(),
    })  # fmt: skip
    guess = "no prediction" if made is None else f"predicted {readable(made)}"
    seeded = "" if seed is None else f", seed {seed}"
    drawn = "" if draws is None else f", {draws:,} draws"
    values = f"expected {readable(expected)}, observed {readable(observed)}, discrepancy {readable(gap)}"
    print(wrapped(f"Recorded {name}{seeded}{drawn}\n    {guess}, {values}"))


class Records(list[dict[str, Any]]):
    """Records as a table, in a notebook and as text; each entry is a dict with every field."""

    columns = ("name", "prediction", "expected", "observed", "discrepancy", "seed", "draws")

    def _rows(self) -> list[list[str]]:
        return [["" if row.get(c) is None else readable(row[c]) for c in self.columns] for row in self]

    def __repr__(self) -> str:
        if not self:
            return "no records yet: run a cell with record(…)"
        rows = [list(self.columns), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.columns))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{html.escape(repr(self))}</p>"
        head = "".join(f'<th scope="col">{c}</th>' for c in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self._rows())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write the records to a file, whole or not at all.

        Parameters
        ----------
        path : path
            Ends in ``.json`` (every field) or ``.html`` (a page with the table, then every field).

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            Where the name ends otherwise.
        """
        path = Path(path)
        everything = json.dumps(list(self), indent=1, ensure_ascii=False)
        if path.suffix == ".json":
            text = everything + "\n"
        elif path.suffix == ".html":
            text = (
                '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Evidence</title>\n'
                "<style>body{font:16px/1.5 sans-serif;margin:2rem}td,th{padding:.2rem .8rem;text-align:left;"
                "border-bottom:1px solid #999}pre{overflow:auto}</style>\n<h1>Evidence</h1>\n"
                f"{self._repr_html_()}\n<h2>Every field</h2>\n<pre>{html.escape(everything)}</pre>\n</html>\n"
            )
        else:
            raise ValueError(f"{path.name} ends neither in .json nor in .html: choose one of the two")
        return write_whole(path, text)


def records() -> Records:
    """All records so far, oldest first."""
    return Records(entry for entry in _kept() if entry["kind"] == "record")
