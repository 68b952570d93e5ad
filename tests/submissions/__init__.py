"""Submissions for the tests of the grader: a reader's copies with edits, each written as text.

A text holds cells behind lines such as these:

    # %% exercise-die       the function of this cell, in place of its stub; what stands below it, the check, is kept
    # %% = exercise-die     all of this cell
    # %% - imports          nothing: this cell is deleted
    # %% + imports          a new cell after this one
    # %% +                  a new cell at the end
"""

import copy
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import nbformat
from nbformat.v4 import new_code_cell

from specdec_kit.copies import ROOT, blank

MARK = re.compile(r"^# %% ?([-+=]?) ?([\w-]*)\n", re.MULTILINE)
STUB = "raise NotImplementedError()"
LESSONS = tuple(path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb")))


class Submission(NamedTuple):
    """What a reader hands in."""

    what: str
    """What it is, or tries, in a line."""
    texts: Mapping[str, str]
    """Edits by lesson, which its number names."""
    lost: Mapping[str, str] = {}
    """Cells that are wrong, and a word that the advice on each must hold; the others of the lesson are as worked."""
    limit: float = 120.0
    """Seconds to give it, where it takes all that it gets."""
    last: Callable[[Any], None] | None = None
    """A last edit of each notebook."""


@cache
def _read(lesson: str) -> tuple[Any, Any]:
    """The worked lesson without its markers, and the reader's copy."""
    worked = nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", as_version=4)
    copied = blank(copy.deepcopy(worked), lesson)
    for cell in worked.cells:
        cell.source = re.sub(r"^ *### (BEGIN|END) SOLUTION\n", "", cell.source, flags=re.MULTILINE)
    return worked, copied


def lessons(one: Submission) -> list[str]:
    """Lessons that it covers, in order."""
    return [lesson for lesson in LESSONS if lesson[:2] in one.texts]


def submission(one: Submission) -> dict[str, Any]:
    """Notebooks of a submission, by lesson."""
    made = {}
    for lesson in lessons(one):
        worked, copied = _read(lesson)
        notebook = copy.deepcopy(worked if one.lost else copied)
        head, *parts = MARK.split(one.texts[lesson[:2]])
        assert not head.strip(), f"code before the first mark: {head!r}"
        for sign, cell, code in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            _edit(notebook.cells, copied.cells, sign, cell, code.strip("\n"))
        if one.last:
            one.last(notebook)
        made[lesson] = notebook
    return made


def _edit(cells: list[Any], copied: list[Any], sign: str, cell: str, code: str) -> None:
    if sign == "+" and not cell:
        cells.append(new_code_cell(code))
        return
    at = next(n for n, one in enumerate(cells) if one.id == cell)
    if sign == "+":
        cells.insert(at + 1, new_code_cell(code))
    elif sign == "-":
        del cells[at]
    elif sign == "=":
        cells[at].source = code
    else:
        stub = next(one.source for one in copied if one.id == cell)
        assert STUB in stub, f"{cell} is no exercise: mark it '# %% = {cell}'"
        cells[at].source = code + stub.split(STUB, 1)[1]
