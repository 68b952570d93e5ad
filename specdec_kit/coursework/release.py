"""The lessons as an nbgrader course, and as zips: ``make release``, or ``python -m specdec_kit.coursework.release``.

The course folder holds ``source/`` (lessons with solutions and nbgrader's metadata), ``release/`` (what nbgrader makes
of it for students), ``zips/``, ``gradebook.db``, and two files that are written once and then the teacher's. Everything
else is written where it differs, so a second release touches nothing.
"""

import argparse
import hashlib
import io
import logging
import os
import secrets
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from specdec_kit import __version__
from specdec_kit.copies import ANSWER, MANIFEST, ROOT, write_bytes
from specdec_kit.coursework.course import CONFIG, GRADE, LESSONS, SETTINGS, Invalid, settings, written
from specdec_kit.coursework.exercises import BY_HAND, EXERCISES
from specdec_kit.waiting import progress_bar

WHEEL = f"specdec_kit-{__version__}-py3-none-any.whl"

HANDOUT = Path(__file__).parent / "handout"


def template(name: str, **words: str) -> str:
    """Text of a file of ``handout/``, with each ``{word}`` that is given replaced."""
    text = (HANDOUT / name).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", value)
    return text


# ---- one notebook ----


def source(notebook: Any, lesson: str, points: Mapping[str, float]) -> Any:
    """Turn a worked lesson into nbgrader's source: a solution cell and a grade cell for each exercise.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Changed in place, and returned.
    lesson : str
        Its name.
    points : mapping from str to float
        Of each function, and of what a person grades.
    """
    import nbformat.v4

    hands = {hand.cell: points[hand.what] for hand in BY_HAND if hand.lesson == lesson}
    setup = template("setup.txt", wheel=WHEEL, version=__version__).rstrip()
    cells = [nbformat.v4.new_code_cell(setup, id="setup", metadata={"tags": ["setup"]})]
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        elif "solution" in cell.metadata.get("tags", []):
            cell.source = ANSWER
        exercises = [one for one in EXERCISES if (one.lesson, one.cell) == (lesson, cell.id)]
        if exercises:
            hand = hands.get(cell.id)
            cell.metadata["nbgrader"] = _nbgrader(cell.id, solution=True, points=hand)
            by = "" if hand is None else f" A person grades the cell above, too: {_points(hand)}."
            for one in exercises:
                name, worth = f"{GRADE}{one.function}", points[one.function]
                text = template("grade.txt", function=one.function, points=_points(worth), by_hand=by).rstrip()
                meta = {"nbgrader": _nbgrader(name, solution=False, points=worth)}
                cells.append(nbformat.v4.new_code_cell(text, id=name, metadata=meta))
    notebook.cells = cells
    return notebook


def _points(points: float) -> str:
    return f"{points:g} point{'s' * (points != 1)}"


def _nbgrader(grade_id: str, *, solution: bool, points: float | None) -> dict[str, Any]:
    graded = {} if points is None else {"points": points}
    return {
        "schema_version": 3, "grade_id": grade_id, "solution": solution, "grade": points is not None,
        "locked": not solution, "task": False, **graded,
    }  # fmt: skip


# ---- the course folder ----


def release(course: Path, lessons: Path, wheel: bytes) -> list[str]:
    """Write or refresh a course folder.

    Parameters
    ----------
    course : Path
        Made if it is not there.
    lessons : Path
        Folder of the worked notebooks.
    wheel : bytes
        The kit, as `built_wheel` gives it.

    Returns
    -------
    list of str
        Names of the files that were written.

    Raises
    ------
    Invalid
        Where the settings are wrong, or a lesson can no longer be graded as before.
    """
    import nbformat

    done = []

    def keep(name: str, content: bytes) -> None:
        if write(course / name, content):
            done.append(name)

    course.mkdir(parents=True, exist_ok=True)
    if not (course / SETTINGS).exists():
        keep(SETTINGS, written(secrets.randbits(48)).encode())
    if not (course / CONFIG).exists():
        keep(CONFIG, template("nbgrader_config.txt").encode())
    _, points = settings(course)
    released = {}
    with progress_bar("lessons", len(LESSONS)) as gone_on:
        for lesson in LESSONS:
            made = source(nbformat.read(lessons / f"{lesson}.ipynb", as_version=4), lesson, points[lesson])
            path = course / "source" / lesson / f"{lesson}.ipynb"
            before = path.read_bytes() if path.exists() else None
            keep(f"source/{lesson}/{lesson}.ipynb", (nbformat.writes(made) + "\n").encode())
            out = course / "release" / lesson / f"{lesson}.ipynb"
            if not (course / "gradebook.db").exists() or older(out, path):
                try:
                    assign(course, lesson)
                except Invalid:
                    if before is not None:  # as what the gradebook knows
                        path.write_bytes(before)
                    raise
                done.append(f"release/{lesson}/{lesson}.ipynb")
            released[f"{lesson}.ipynb"] = out.read_bytes()
            gone_on()
    for lesson in LESSONS:
        one = {f"{lesson}.ipynb": released[f"{lesson}.ipynb"]}
        keep(f"zips/{lesson}.zip", zipped({**one, **beside(f"{lesson}.ipynb"), WHEEL: wheel}))
    classroom = {
        ".github/workflows/classroom.yml": template("classroom.yml").encode(),
        ".gitignore": b".venv/\n.ipynb_checkpoints/\n",
    }
    keep("zips/all.zip", zipped({**released, **beside(f"{LESSONS[0]}.ipynb"), **classroom, WHEEL: wheel}))
    return done


def assign(course: Path, lesson: str) -> None:
    """Let nbgrader write the students' version of a lesson, and its points into the gradebook."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    config = nbgrader_config(course)
    directory = CourseDirectory(config=config)
    directory.assignment_id = lesson
    with quiet() as said:
        try:
            GenerateAssignment(coursedir=directory, config=config, force=True).start()
        except NbGraderException:
            why = " ".join(said)
            if "submissions associated" in why:
                raise Invalid(
                    f"{lesson} has other exercises than those that were graded in {course.name}/: "
                    "keep that folder for its course, and release into another one (--into)"
                ) from None
            last = [line for line in why.strip().split("\n") if "Error: " in line]
            raise Invalid(f"nbgrader cannot release {lesson}: {last[-1] if last else why}") from None


def nbgrader_config(course: Path) -> Any:
    """What the course's ``nbgrader_config.py`` says, as a traitlets Config."""
    from traitlets.config.loader import PyFileConfigLoader

    try:
        return PyFileConfigLoader(CONFIG, path=str(course.resolve())).load_config()
    except Exception as problem:  # the file is a teacher's
        raise Invalid(f"{course.name}/{CONFIG} fails: {type(problem).__name__}: {problem}") from None


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Let nbgrader run, with what it logs off the screen; the list has its errors."""
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR:
                said.append(record.getMessage())

    logger, handler, path = logging.getLogger("traitlets"), Kept(), os.environ.get("PATH", "")
    handlers, propagate = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [handler], False
    # It runs the command `alembic`, which stands beside this Python, whether or not its environment is activated.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what its libraries tell each other
            yield said
    finally:
        logger.handlers, logger.propagate, os.environ["PATH"] = handlers, propagate, path


def older(made: Path, *of: Path) -> bool:
    """Whether a file is missing, or older than one that it is made of."""
    return not made.exists() or any(made.stat().st_mtime_ns < one.stat().st_mtime_ns for one in of)


def write(path: Path, content: bytes) -> bool:
    """Write a file where it differs; return whether it did."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return True


# ---- zips ----


def beside(first: str) -> dict[str, bytes]:
    """What lies beside the notebooks of a zip; `first` is the one to open."""
    what = "a lesson" if first != f"{LESSONS[0]}.ipynb" else "start here"
    texts = {
        "README.txt": template("README.txt", what=what, wheel=WHEEL, first=first),
        "Makefile": template("Makefile", first=first),
        "requirements.txt": f"./{WHEEL}[lab]\n",
        MANIFEST: "{}\n",  # marks a reader's folder: evidence is kept here, and `make check` reads it
    }
    return {name: text.encode() for name, text in texts.items()}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Zip files so that the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr, entry.create_system = 0o644 << 16, 3
            packed = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name], compress_type=packed)
    return buffer.getvalue()


def built_wheel(course: Path) -> bytes:
    """Build the kit's wheel into the course folder, where its files have changed since.

    Raises
    ------
    Invalid
        Where it cannot be built.
    """
    hashed = hashlib.sha256()
    for top in ("pyproject.toml", "README.md", "LICENSE", "specdec_kit", "data"):
        for path in [ROOT / top, *sorted((ROOT / top).rglob("*"))]:
            if path.is_file() and path.suffix != ".pyc":
                hashed.update(path.relative_to(ROOT).as_posix().encode() + b"\n")
                hashed.update(hashlib.sha256(path.read_bytes()).digest())
    wheel, stamp = course / "wheel" / WHEEL, course / "wheel" / "built-from"
    if not wheel.is_file() or not stamp.is_file() or stamp.read_text() != hashed.hexdigest():
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
            done = subprocess.run([*pip, "--wheel-dir", folder, str(ROOT)], capture_output=True, text=True)
            if done.returncode:
                raise Invalid(f"pip cannot build the kit's wheel: {done.stderr.strip()[-400:]}")
            write(wheel, (Path(folder) / WHEEL).read_bytes())
            write(stamp, hashed.hexdigest().encode())
    return wheel.read_bytes()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``python -m specdec_kit.coursework.release``."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_kit.coursework.release", description="Write the lessons as an nbgrader course."
    )
    parser.add_argument("--into", type=Path, default=ROOT / "course", metavar="FOLDER", help="default: course")
    course = parser.parse_args(arguments).into.resolve()
    lessons = ROOT / "notebooks"
    if not lessons.is_dir():
        sys.exit("The lessons are not here: they come with a clone of the repository, not with the installed package.")
    try:
        done = release(course, lessons, built_wheel(course))
    except ImportError:
        sys.exit('nbgrader is not installed: run `make release`, or pip install -e ".[teach]".')
    except Invalid as problem:
        sys.exit(f"{problem}.")
    except OSError as problem:
        sys.exit(f"Not everything could be written: {problem}.")
    except KeyboardInterrupt:
        print("Broken off: the same command writes what is still missing.", file=sys.stderr)
        sys.exit(130)
    print(*(f"{course.name}/{name}" for name in done), sep="\n", end="\n" if done else "")
    print(f"{course.name}/ is {'up to date' if not done else 'released'}: hand out its zips/, or use it with nbgrader.")


if __name__ == "__main__":
    main()
