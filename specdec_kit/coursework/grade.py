"""Grade submissions: ``make grade SUBMISSIONS=folder``, or ``python -m specdec_kit.coursework.grade folder``.

Every notebook that has a lesson's name, anywhere in ``folder/<student>/`` or in a zip there, is a submission. It is
copied to where nbgrader expects it and graded, unless it was already and nothing that it is graded by is newer. Grades
are nbgrader's, in ``gradebook.db``; ``grades.csv`` has a row for each student.
"""

import argparse
import csv
import io
import os
import shutil
import signal
import sys
import time
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, NamedTuple

from specdec_kit.copies import ROOT
from specdec_kit.coursework import submissions
from specdec_kit.coursework.course import AUTOGRADED, FEEDBACK, LESSONS, SETTINGS, SUBMITTED, Invalid, settings
from specdec_kit.coursework.release import nbgrader_config, older, quiet, write
from specdec_kit.coursework.submissions import Mark
from specdec_kit.waiting import progress_bar

KIT = tuple(Path(__file__).parent.parent.rglob("*.py"))
UNNAMEABLE = "+*?[]"
"""What nbgrader cannot have in the name of a student."""


class Found(NamedTuple):
    """A file that is named as a lesson."""

    student: str
    lesson: str
    time: float
    content: bytes


# ---- what was handed in ----


def collect(folder: Path, notes: list[str]) -> dict[tuple[str, str], Found]:
    """Find the submissions in a folder of students' folders; of two of the same lesson the newer one.

    Parameters
    ----------
    folder : Path
        ``folder/<student>/…``.
    notes : list of str
        Gets a sentence for each file that is passed over.
    """
    newest: dict[tuple[str, str], Found] = {}
    for student in sorted(path for path in folder.iterdir() if not path.name.startswith((".", "__"))):
        name = student.name
        if not student.is_dir():
            if student.suffix in (".ipynb", ".zip"):
                notes.append(f"{name} lies in no student's folder, and was passed over")
        elif set(name) & set(UNNAMEABLE) or name != name.strip():
            notes.append(f"{name!r} is no name for nbgrader: leave out {' '.join(UNNAMEABLE)} and spaces at its ends")
        else:
            for found in _files(student, notes):
                if found.lesson not in LESSONS:
                    notes.append(f"{name}: {found.lesson}.ipynb has no lesson's name, and was passed over")
                elif (name, found.lesson) not in newest or found.time > newest[name, found.lesson].time:
                    newest[name, found.lesson] = found
    return newest


def _files(student: Path, notes: list[str]) -> Iterator[Found]:
    for path in sorted(student.rglob("*")):
        hidden = any(part.startswith((".", "__")) for part in path.relative_to(student).parts)
        if hidden or path.is_symlink() or not path.is_file():
            continue
        try:
            if path.suffix == ".ipynb":
                with path.open("rb") as file:
                    content = file.read(submissions.LARGEST + 1)
                yield Found(student.name, path.stem, path.stat().st_mtime, content)
            elif path.suffix == ".zip":
                yield from _zipped(student.name, path)
        except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as problem:
            notes.append(f"{student.name}: {path.name} cannot be read: {problem}")


def _zipped(student: str, path: Path) -> Iterator[Found]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            inside = Path(entry.filename)
            hidden = any(part.startswith((".", "__")) and part != ".." for part in inside.parts)
            if inside.suffix == ".ipynb" and not hidden:
                with archive.open(entry) as file:  # never more than LARGEST, whatever it unpacks to
                    content = file.read(submissions.LARGEST + 1)
                yield Found(student, inside.stem, time.mktime((*entry.date_time, 0, 0, -1)), content)


# ---- grading ----


def grade(course: Path, jobs: int, notes: list[str]) -> int:
    """Grade what is in ``submitted/`` of a course folder, and write feedback; return how many notebooks were graded.

    What is graded already, and newer than all that it is graded by, stays.

    Parameters
    ----------
    course : Path
        As `specdec_kit.coursework.release` writes it.
    jobs : int
        How many processes.
    notes : list of str
        Gets a sentence for each submission that cannot be read, or not be graded.
    """
    from specdec_kit.coursework.preprocessors import Grade

    config, seed = nbgrader_config(course), settings(course).seed
    due = []
    for path in sorted((course / SUBMITTED).glob("*/*/*.ipynb")):
        student, lesson = path.parts[-3:-1]
        if lesson == path.stem and lesson in LESSONS:
            source = course / "source" / lesson / path.name
            if older(course / AUTOGRADED / student / lesson / path.name, path, source, course / SETTINGS, *KIT):
                due.append(path)
    keys: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in due:
        notebook = submissions.read(path)
        keys[path.stem, submissions.checksum(notebook)].append(path)
        if "unreadable" in notebook.metadata:
            notes.append(f"{_of(path)}: {notebook.metadata.unreadable}")
    tasks = {key: (paths[0], key[0], seed) for key, paths in keys.items()}
    graded = 0
    with closing(_parallel(_marks, tasks, jobs, "exercises")) as results:
        for key, found in results:  # nbgrader writes down some while others are checked
            if isinstance(found, Exception):
                problem = f"{type(found).__name__}: {found}"
                notes.extend(f"{_of(path)} was not graded: {problem}" for path in keys[key])
                continue
            Grade.known[key] = found
            for path in keys[key]:
                shutil.rmtree(course / AUTOGRADED / Path(*path.parts[-3:-1]), ignore_errors=True)
                graded += _convert("Autograde", course, config, path.stem, path.parts[-3], notes)
    give_feedback(course, config, jobs, notes)
    return graded


def _of(path: Path) -> str:
    return f"{path.parts[-3]}, {path.stem}"


def _marks(path: Path, lesson: str, seed: int) -> dict[str, Mark]:
    return submissions.mark(submissions.read(path), lesson, seed)


def _parallel(work: Callable[..., Any], tasks: dict[Any, tuple[Any, ...]], jobs: int, what: str) -> Generator[Any]:
    """What `work` gave for each task, or the exception that it raised, as they come."""
    again = []
    if not tasks:
        return
    with progress_bar(what, len(tasks)) as gone_on:
        with _processes(jobs) as pool:
            futures = {pool.submit(work, *arguments): key for key, arguments in tasks.items()}
            for future in as_completed(futures):
                problem = future.exception()
                if isinstance(problem, BrokenProcessPool):  # one task took a process with it, and so the whole pool
                    again.append(futures[future])
                    continue
                gone_on()
                yield futures[future], problem or future.result()
        for key in again:
            with _processes(1) as pool:
                future = pool.submit(work, *tasks[key])
                problem = future.exception()
                gone_on()
                yield key, problem or future.result()


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes, ended with the block if that is broken off; Ctrl+C is for the process that has them."""
    others = set(active_children())
    with ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield pool
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise


def _convert(step: str, course: Path, config: Any, lesson: str, student: str, notes: list[str]) -> bool:
    """Run a converter of nbgrader on a lesson of a student, or of all who have no result yet ("*"); whether it went."""
    from nbgrader import converters
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    directory = CourseDirectory(config=config)
    directory.assignment_id, directory.student_id = lesson, student
    with quiet() as said:
        try:
            getattr(converters, step)(coursedir=directory, config=config).start()
        except NbGraderException as problem:
            why = [line for line in "\n".join(said).split("\n") if "Error: " in line] or [str(problem)]
            notes.append(f"{student}, {lesson}: nbgrader's {step} fails: {why[-1]}")
            return False
    return True


def give_feedback(course: Path, config: Any, jobs: int, notes: list[str]) -> None:
    """Write feedback where there is none, where it is older than its grade, and where a person graded."""
    touched = _graded_by_hand(config)
    lessons = defaultdict(list)
    for path in sorted((course / AUTOGRADED).glob("*/*/*.ipynb")):
        student, lesson = path.parts[-3:-1]
        page = course / FEEDBACK / student / lesson / f"{lesson}.html"
        if older(page, path) or (student, lesson) in touched:
            shutil.rmtree(page.parent, ignore_errors=True)
            lessons[lesson].append(student)
    with closing(_parallel(_feedback, {lesson: (course, lesson) for lesson in lessons}, jobs, "feedback")) as results:
        for _, said in results:
            notes.extend([str(said)] if isinstance(said, Exception) else said)


def _feedback(course: Path, lesson: str) -> list[str]:
    notes: list[str] = []
    _convert("GenerateFeedback", course, nbgrader_config(course), lesson, "*", notes)
    return notes


# ---- the gradebook ----


def _gradebook(config: Any) -> Any:
    from nbgrader.api import Gradebook
    from nbgrader.coursedir import CourseDirectory

    directory = CourseDirectory(config=config)
    return Gradebook(directory.db_url, directory.course_id)


def _graded_by_hand(config: Any) -> set[tuple[str, str]]:
    """Student and lesson of each submission in which a person left a score or a comment."""
    from nbgrader.api import Comment, Grade

    with quiet(), _gradebook(config) as book:
        left = [
            row
            for kind, column in (
                (Grade, Grade.manual_score), (Grade, Grade.extra_credit), (Comment, Comment.manual_comment),
            )
            for row in book.db.query(kind).filter(column.isnot(None))
        ]  # fmt: skip
        return {(row.notebook.student.id, row.notebook.assignment.assignment.name) for row in left}


def export(course: Path) -> tuple[int, int]:
    """Write ``grades.csv``, and nbgrader's own export beside it.

    Returns
    -------
    tuple of int
        How many students there are, and how many answers wait for a person.
    """
    from nbgrader.api import Grade, SubmittedAssignment
    from nbgrader.plugins import CsvExportPlugin

    config = nbgrader_config(course)
    with quiet(), _gradebook(config) as book:
        scores: dict[str, dict[str, float]] = {student.id: {} for student in book.students}
        for one in book.db.query(SubmittedAssignment):
            scores[one.student.id][one.assignment.name] = max(0.0, one.score - (one.late_submission_penalty or 0))
        of = sum(assignment.max_score for assignment in book.assignments if assignment.name in LESSONS)
        waiting = book.db.query(Grade).filter(Grade.needs_manual_grade).count()
        CsvExportPlugin(config=config, to=str(course / "nbgrader.csv")).export(book)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["student", *LESSONS, "total", "of"])
    for student, reached in sorted(scores.items()):
        every = [reached.get(lesson) for lesson in LESSONS]
        numbers = ["" if score is None else f"{score:g}" for score in every]
        table.writerow([student, *numbers, f"{sum(score or 0 for score in every):g}", f"{of:g}"])
    write(course / "grades.csv", text.getvalue().encode())
    return len(scores), waiting


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``python -m specdec_kit.coursework.grade``."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_kit.coursework.grade", description="Grade the lessons that students handed in."
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="SUBMISSIONS",
        help="folder/<student>/…/<lesson>.ipynb, or zips there (default: what `nbgrader collect` put into the course)",
    )  # fmt: skip
    parser.add_argument("--course", type=Path, default=ROOT / "course", help="default: course")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2), help="processes (default: one a core)")
    asked = parser.parse_args(arguments)
    course = asked.course.resolve()
    folder = asked.folder or course / SUBMITTED
    try:
        if asked.jobs < 1:
            raise Invalid(f"--jobs is {asked.jobs}, but it must be 1 or more")
        if not all((course / "source" / lesson / f"{lesson}.ipynb").is_file() for lesson in LESSONS):
            raise Invalid(f"The lessons are not released in {course.name}/: run `make release` first")
        if not folder.is_dir():
            raise Invalid(f"There is no folder {folder}: name one with a folder for each student, SUBMISSIONS=folder")
        notes: list[str] = []
        found = collect(folder, notes)
        if not found:
            where = f"{LESSONS[0]}.ipynb in {folder}/<student>/"
            raise Invalid(". ".join([*notes, f"There is no submission: nothing like {where}"]))
        for (student, lesson), one in found.items():
            write(course / SUBMITTED / student / lesson / f"{lesson}.ipynb", one.content)
        graded = grade(course, asked.jobs, notes)
        students, waiting = export(course)
    except ImportError:
        sys.exit('nbgrader is not installed: run `make grade`, or pip install -e ".[teach]".')
    except Invalid as problem:
        sys.exit(f"{problem}.")
    except OSError as problem:
        sys.exit(f"Not everything could be written: {problem}.")
    except KeyboardInterrupt:
        print("Broken off: what is graded is kept, and the same command goes on from there.", file=sys.stderr)
        sys.exit(130)
    for note in notes:
        print(note.rstrip(".") + ".", file=sys.stderr)
    some, all_of = (f"{n} {what}{'s' * (n != 1)}" for n, what in ((graded, "notebook"), (students, "student")))
    print(f"{some} graded now, {all_of} in all: {course.name}/grades.csv, {course.name}/{FEEDBACK}/.")
    if waiting:
        wait = "1 answer waits" if waiting == 1 else f"{waiting} answers wait"
        print(f"{wait} for a person: nbgrader's formgrader shows them; then run this again.")
    if notes:
        sys.exit(1)


if __name__ == "__main__":
    main()
