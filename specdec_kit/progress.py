"""What is left to do in a reader's copies: ``make check``, or ``python -m specdec_kit.progress``.

Each exercise has a check in its cell. What it said when the copy was last run and saved is read here; nothing is run.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from specdec_kit.copies import MANIFEST, ROOT

CHECK = re.compile(r"^\s*(?:\w+ = )?selfcheck\.check_\w+\(", flags=re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", flags=re.MULTILINE)
SAID = re.compile(r"^(passed|not yet): (.*)$", flags=re.MULTILINE)


class Exercise(NamedTuple):
    """An exercise of a copy."""

    title: str
    """The heading that it stands under."""
    passed: bool
    says: str
    """What its check said last; that it was not run, where it said nothing."""


def exercises(notebook: Any) -> Iterator[Exercise]:
    """Exercises of a notebook, in their order.

    Parameters
    ----------
    notebook : dict
        As its JSON says.
    """
    title = ""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            title = (HEADING.findall(source) or [title])[-1]
        elif cell["cell_type"] == "code" and CHECK.search(source):
            said = SAID.findall(_printed(cell))
            passed, says = said[-1] if said else ("", "not run yet, or not saved since")
            yield Exercise(title, passed == "passed", says)


def _printed(cell: Any) -> str:
    outputs = cell.get("outputs", [])
    return "\n".join("".join(one.get("text") or one.get("data", {}).get("text/plain", "")) for one in outputs)


def left(folder: Path) -> Iterator[str]:
    """Lines that say, for each copy of a folder, how many exercises are done, and of each other one why not.

    Parameters
    ----------
    folder : Path
        A reader's work folder.
    """
    done = total = 0
    for path in sorted(folder.glob("*.ipynb")):
        try:
            found = list(exercises(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            yield f"{path.name} cannot be read as a notebook: rename it, and `make copies` makes a fresh one"
            continue
        passed = sum(one.passed for one in found)
        done, total = done + passed, total + len(found)
        yield f"{path.stem}: {passed} of {len(found)} done"
        yield from (f"    {one.title}: {one.says}" for one in found if not one.passed)
    yield f"{done} of {total} exercises done"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``python -m specdec_kit.progress``."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_kit.progress", description="Say what is left to do in your copies of the lessons."
    )
    parser.add_argument("--of", type=Path, default=ROOT / "work", metavar="FOLDER", help="your copies (default: work)")
    folder = parser.parse_args(arguments).of
    if not (folder / MANIFEST).is_file():
        sys.exit(f"There are no copies in {folder.name}/ yet: run `make copies`, or python -m specdec_kit.copies.")
    print(*left(folder), sep="\n")


if __name__ == "__main__":
    main()
