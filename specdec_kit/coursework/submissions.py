"""A submission: a notebook of which nothing can be taken for granted, and what became of its exercises.

The machine reads of it what its cells say, and nothing else: outputs, ids and metadata are the student's to write.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

LARGEST = 50_000_000  # bytes; a worked lesson has less than one million
OWN = "own-"


class Mark(NamedTuple):
    """What became of an exercise."""

    passed: bool
    says: str
    share: float
    """How much of its points is reached, 0 … 1."""


def read(path: Path) -> Any:
    """Read a notebook as `plain` says; where that cannot be, a notebook whose one cell says why."""
    try:
        if path.stat().st_size > LARGEST:
            return _instead(f"it has over {LARGEST // 10**6} MB; clear its outputs")
        return plain(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return _instead("it is no notebook")


def _instead(why: str) -> Any:
    sentence = f"This submission could not be read: {why}."
    notebook = plain({"cells": [{"cell_type": "markdown", "source": sentence}]})
    notebook.metadata["unreadable"] = sentence
    return notebook


def plain(notebook: Any) -> Any:
    """Copy the cells of a notebook, as they were numbered, without outputs, ids and metadata.

    Parameters
    ----------
    notebook : dict
        As its JSON says, whatever it says.

    Returns
    -------
    nbformat.NotebookNode

    Raises
    ------
    ValueError
        Where it has no cells.
    """
    import nbformat.v4

    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict) and "worksheets" in notebook:  # format 3, of before 2015
        try:
            return plain(nbformat.convert(nbformat.from_dict(notebook), 4))
        except Exception as problem:  # which of them, nobody promises
            raise ValueError(f"it cannot be converted: {problem}") from None
    if not isinstance(cells, list):
        raise ValueError("there are no cells")
    made = nbformat.v4.new_notebook()
    for cell in cells:
        source = cell.get("source") if isinstance(cell, dict) else None
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if isinstance(source, str) and cell.get("cell_type") in ("code", "markdown"):  # what is no cell says nothing
            new = nbformat.v4.new_code_cell if cell["cell_type"] == "code" else nbformat.v4.new_markdown_cell
            # A lone surrogate is legal in JSON, and cannot be written to a file.
            source = source.encode("utf-8", "replace").decode()
            made.cells.append(new(source, id=f"{OWN}{len(made.cells) + 1}"))
    return made


def own(notebook: Any) -> Any:
    """Copy of a notebook with its student's cells alone, as `plain` numbered them."""
    import nbformat

    return nbformat.NotebookNode(notebook, cells=[cell for cell in notebook.cells if cell.id.startswith(OWN)])


def checksum(notebook: Any) -> str:
    """SHA-256 of the code of a plain notebook."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


def mark(notebook: Any, lesson: str, seed: int | None) -> dict[str, Mark]:
    """Grade a plain notebook: of each function of the lesson's exercises what became of it.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        As `plain` or `own` gives it.
    lesson : str
        Name of the lesson.
    seed : int or None
        Of the hidden cases; None for the visible ones.
    """
    from specdec_kit.coursework import grading

    return {
        done.exercise.function: Mark(done.verdict.passed is True, done.verdict.says[:4000], done.share)
        for done in grading.grade(notebook, lesson, seed=seed)
    }
