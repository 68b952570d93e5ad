"""The checks of the notebooks on a student's repository: ``python -m specdec_kit.coursework.visible FOLDER``.

A line for each exercise, as in the notebook; the exit status is 1 while something is left. For GitHub Classroom, and
for a student who wants to know all at once. Nothing is graded here: a teacher's checks have cases of their own.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from specdec_kit.coursework import submissions
from specdec_kit.coursework.course import LESSONS
from specdec_kit.coursework.exercises import EXERCISES


def checked(folder: Path) -> Iterator[tuple[bool, str]]:
    """Whether each exercise of the lessons in a folder passes, and the line that says so."""
    for lesson in LESSONS:
        path = folder / f"{lesson}.ipynb"
        if not path.is_file():
            continue
        notebook = submissions.read(path)
        if "unreadable" in notebook.metadata:
            yield False, f"{lesson}: {notebook.metadata.unreadable}"
            continue
        marks = submissions.mark(notebook, lesson, seed=None)
        for one in EXERCISES:
            if one.lesson == lesson:
                mark = marks[one.function]
                yield mark.passed, f"{lesson}, {one.title}: {'passed' if mark.passed else 'not yet'}: {mark.says}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``python -m specdec_kit.coursework.visible``."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_kit.coursework.visible", description="Run the checks of the lessons in a folder."
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the notebooks are")
    folder = parser.parse_args(arguments).folder
    done = total = 0
    for passed, line in checked(folder):
        print(line, flush=True)
        done, total = done + passed, total + 1
    if not total:
        sys.exit(f"There is no lesson in {folder}: its notebooks are {', '.join(f'{name}.ipynb' for name in LESSONS)}.")
    print(f"{done} of {total} exercises done")
    sys.exit(int(done < total))


if __name__ == "__main__":
    main()
