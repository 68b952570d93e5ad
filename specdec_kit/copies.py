"""The reader's copies of the lessons: without the solutions and outputs, in a folder that git ignores.

``python -m specdec_kit.copies`` makes what is missing in ``work/`` and refreshes what is older than its lesson, but
never touches a copy that its reader edited or ran. ``.copies.json`` beside the copies holds the checksum of each as it
was written: a copy that still has it is unedited, and a lesson that now yields another is newer. A copy without a
record counts as edited. The file also marks the folder as a reader's.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ".copies.json"

# nbgrader's delimiters and stub (its preprocessor ClearSolutions), so that a release by nbgrader reads the same.
BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"
STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
ANSWER = "*Your answer here.*"
ANEW = "for a fresh one, rename yours and run this again"


def without_solutions(source: str) -> str:
    """Replace each region from ``### BEGIN SOLUTION`` to ``### END SOLUTION`` by a stub, indented as its first line.

    Raises
    ------
    ValueError
        Where a marker lacks its partner.
    """
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        if BEGIN in line or END in line:
            if inside == (BEGIN in line):
                raise ValueError(f"{line.strip()!r} stands without its partner")
            inside = not inside
            if inside:
                indent = line[: len(line) - len(line.lstrip())]
                kept.extend(indent + stub for stub in STUB)
        elif not inside:
            kept.append(line)
    if inside:
        raise ValueError(f"'### {BEGIN}' stands without its partner")
    return "\n".join(kept)


def blank(notebook: Any, name: str) -> Any:
    """Turn a worked notebook into a reader's: no solutions, no outputs, no counts; cell ids and tags stay.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Changed in place, and returned.
    name : str
        What an error calls it.

    Raises
    ------
    ValueError
        Where a solution marker lacks its partner; the message names the notebook and the cell.
    """
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "code":
            try:
                cell.source = without_solutions(cell.source)
            except ValueError as error:
                raise ValueError(f"{name}, cell {number} ({cell.get('id')}): {error}") from None
            cell.outputs, cell.execution_count = [], None
        elif cell.cell_type == "markdown" and "solution" in cell.metadata.get("tags", []):
            cell.source = ANSWER
    return notebook


def make_copies(lessons: Path, into: Path) -> list[str]:
    """Make or refresh the copy of each notebook of `lessons` in the folder `into`.

    Returns
    -------
    list of str
        One line for each copy that was made, refreshed, or kept although its lesson is newer.

    Raises
    ------
    ValueError
        Where a lesson is no notebook or its solution markers do not pair up; then nothing was written.
    """
    import nbformat

    fresh: dict[str, bytes] = {}
    for lesson in sorted(lessons.glob("*.ipynb")):
        try:
            notebook = nbformat.reads(lesson.read_text(encoding="utf-8"), as_version=4)
        except ValueError as error:
            raise ValueError(f"{lesson.name} is not a notebook: {error}") from None
        fresh[lesson.name] = (nbformat.writes(blank(notebook, lesson.name)) + "\n").encode()

    into.mkdir(parents=True, exist_ok=True)
    records = _records(into / MANIFEST)
    now, lines = dict(records), []
    for name, content in fresh.items():
        copy, newest, known = into / name, _checksum(content), records.get(name)
        found = _checksum(copy.read_bytes()) if copy.exists() else None
        if found in (None, known, newest):  # not there, or unedited
            if found != newest:
                write_bytes(copy, content)
                lines.append(f"{into.name}/{name}: {'refreshed' if found else 'made'}")
            now[name] = newest
        elif known is None:
            lines.append(f"{into.name}/{name}: kept, as nothing says that it was made here; {ANEW}")
            now[name] = newest
        elif known != newest:
            lines.append(f"{into.name}/{name}: kept as you edited it, though its lesson is newer; {ANEW}")
    if now != records or not (into / MANIFEST).exists():
        write_bytes(into / MANIFEST, (json.dumps(now, indent=1, sort_keys=True) + "\n").encode())
    return lines


def _checksum(content: bytes) -> str:
    """Checksum of the cells alone: JupyterLab adds its kernel's metadata to a notebook that is merely opened."""
    with suppress(ValueError, KeyError, TypeError):  # where it is no notebook, all of it counts
        content = json.dumps(json.loads(content)["cells"], sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def _records(manifest: Path) -> dict[str, str]:
    """Checksum of each copy as it was written; empty where the file is missing or damaged."""
    try:
        found = json.loads(manifest.read_bytes())
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def write_bytes(path: Path, content: bytes) -> None:
    """Write all of it or nothing: an interrupted write leaves the old file."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``python -m specdec_kit.copies``."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_kit.copies", description="Make your copies of the lessons."
    )
    parser.add_argument("--into", type=Path, default=ROOT / "work", metavar="FOLDER", help="where to (default: work)")
    into = parser.parse_args(arguments).into.resolve()
    lessons = ROOT / "notebooks"
    if not lessons.is_dir():
        sys.exit("The lessons are not here: they come with a clone of the repository, not with the installed package.")
    if into == lessons:
        sys.exit("The worked lessons themselves are in that folder: name another one.")
    try:
        for line in make_copies(lessons, into):
            print(line)
    except ValueError as error:
        sys.exit(f"No copy was made: {error}.")
    except OSError as error:
        sys.exit(f"Not every copy could be written: {error}.")


if __name__ == "__main__":
    main()
