"""The reader's copies: made, refreshed, and never taken from whoever edited them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from specdec_kit import copies

ROOT = Path(__file__).resolve().parent.parent
NAME = "01_a_lesson.ipynb"

SOLVED = """def third(x):
    if x:
        ### BEGIN SOLUTION
        y = x / 3
        return y
        ### END SOLUTION
    return 0


### BEGIN SOLUTION
third(1)
### END SOLUTION"""

STUBBED = """def third(x):
    if x:
        # YOUR CODE HERE
        raise NotImplementedError()
    return 0


# YOUR CODE HERE
raise NotImplementedError()"""


def lesson(code=SOLVED):
    return new_notebook(
        cells=[
            new_markdown_cell("# Divide", id="title"),
            new_code_cell(
                code,
                id="third",
                execution_count=1,
                metadata={"tags": ["raises-exception"]},
                outputs=[new_output("stream", name="stdout", text="0.333\n")],
            ),
            new_markdown_cell("Because.", id="why", metadata={"tags": ["solution"]}),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )


class Course:
    """A folder of lessons with a reader's folder beside it."""

    def __init__(self, root):
        self.lessons, self.work = root / "notebooks", root / "work"
        self.copy, self.manifest = self.work / NAME, self.work / ".copies.json"
        self.lessons.mkdir()
        self.write()

    def write(self, notebook=None, name=NAME):
        nbformat.write(notebook or lesson(), self.lessons / name)

    def run(self):
        return copies.make_copies(self.lessons, self.work)

    def state(self):
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in self.work.iterdir()}


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def test_a_copy_has_no_solutions_and_no_outputs(course):
    assert course.run() == [f"work/{NAME}: made"]
    expected = lesson(STUBBED)
    expected.cells[1].update(outputs=[], execution_count=None)
    expected.cells[2].source = "*Your answer here.*"
    assert course.copy.read_bytes() == (nbformat.writes(expected) + "\n").encode()
    assert {path.name for path in course.work.iterdir()} == {NAME, ".copies.json"}


def test_a_second_run_is_silent_and_writes_nothing(course):
    course.run()
    before = course.state()
    assert course.run() == []
    assert course.state() == before


def test_only_what_is_missing_is_made(course):
    course.run()
    course.write(name="02_another.ipynb")
    assert course.run() == ["work/02_another.ipynb: made"]
    course.copy.unlink()
    assert course.run() == [f"work/{NAME}: made"]


def test_an_unedited_copy_follows_its_lesson(course):
    course.run()
    course.write(lesson("third = None"))
    assert course.run() == [f"work/{NAME}: refreshed"]
    assert nbformat.read(course.copy, 4).cells[1].source == "third = None"
    assert course.run() == []


def test_new_outputs_alone_are_no_newer_version(course):
    course.run()
    before = course.state()
    changed = lesson(SOLVED.replace("x / 3", "x * (1 / 3)"))
    changed.cells[1].outputs[0].text = "0.3333\n"
    course.write(changed)
    assert course.run() == []
    assert course.state() == before


def test_a_copy_that_was_merely_opened_still_follows_its_lesson(course):
    course.run()
    opened = nbformat.read(course.copy, 4)
    opened.metadata.kernelspec.display_name = "Python 3 (ipykernel)"
    opened.metadata.language_info = {"name": "python", "version": "3.11.7"}
    nbformat.write(opened, course.copy)
    assert course.run() == []
    course.write(lesson("third = None"))
    assert course.run() == [f"work/{NAME}: refreshed"]


def test_a_copy_that_was_run_is_kept(course):
    course.run()
    ran = nbformat.read(course.copy, 4)
    ran.cells[1].execution_count = 1
    nbformat.write(ran, course.copy)
    course.write(lesson("third = None"))
    assert "kept" in course.run()[0]
    assert nbformat.read(course.copy, 4).cells[1].execution_count == 1


def test_an_edited_copy_is_kept_in_silence(course):
    course.run()
    course.copy.write_text("mine")
    before = course.state()
    assert course.run() == []
    assert course.state() == before


def test_an_edited_copy_of_a_newer_lesson_is_kept_with_a_word(course):
    course.run()
    course.copy.write_text("mine")
    course.write(lesson("third = None"))
    for _ in range(2):
        [line] = course.run()
        assert line.startswith(f"work/{NAME}: kept") and "newer" in line and "rename yours and run this again" in line
        assert course.copy.read_text() == "mine"
    course.copy.rename(course.work / "mine.ipynb")
    assert course.run() == [f"work/{NAME}: made"]
    assert (course.work / "mine.ipynb").read_text() == "mine"


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "3", f'{{"{NAME}": 3}}', "{}", "\xff", None])
def test_a_damaged_manifest_means_kept(course, damage):
    course.run()
    course.copy.write_text("mine")
    if damage is None:
        course.manifest.unlink()
    else:
        course.manifest.write_text(damage, encoding="latin-1")
    [line] = course.run()
    assert line.startswith(f"work/{NAME}: kept") and "rename yours" in line
    assert course.copy.read_text() == "mine"
    assert course.run() == [], "said once"
    course.write(lesson("third = None"))
    assert "newer" in course.run()[0]
    assert course.copy.read_text() == "mine"


def test_a_damaged_manifest_forgets_no_unedited_copy(course):
    course.run()
    before = course.manifest.read_bytes()
    course.manifest.write_text("{")
    assert course.run() == []
    assert course.manifest.read_bytes() == before


def test_a_readers_own_notebook_is_left_alone(course):
    course.work.mkdir()
    (course.work / "mine.ipynb").write_text("mine")
    course.copy.write_text("mine too")
    assert "kept" in course.run()[0]
    assert (course.work / "mine.ipynb").read_text() == "mine" and course.copy.read_text() == "mine too"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("### BEGIN SOLUTION\n1", "'### BEGIN SOLUTION'"),
        ("1\n### END SOLUTION", "'### END SOLUTION'"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION", "'### BEGIN SOLUTION'"),
        ("### BEGIN SOLUTION\n### END SOLUTION\n### END SOLUTION", "'### END SOLUTION'"),
    ],
)
def test_an_unbalanced_marker_is_named_and_nothing_is_written(course, code, words):
    course.write(lesson(code), name="02_unbalanced.ipynb")
    with pytest.raises(
        ValueError, match=rf"^02_unbalanced\.ipynb, cell 2 \(third\): {words} stands without its partner$"
    ):
        course.run()
    assert not course.work.exists()


def test_a_lesson_that_is_no_notebook_is_named_and_nothing_is_written(course):
    (course.lessons / "02_conflict.ipynb").write_text("<<<<<<< HEAD\n{}")
    with pytest.raises(ValueError, match=r"^02_conflict\.ipynb is not a notebook"):
        course.run()
    assert not course.work.exists()


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failed_write_leaves_the_old_copy(course, monkeypatch, step):
    course.run()
    before = course.state()
    course.write(lesson("third = None"))

    def fail(path, content):
        if step == "write_bytes":
            path.write_text("half of ")
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Path if step == "write_bytes" else os, step, fail)
        with pytest.raises(OSError, match="the disk is full"):
            course.run()
    assert course.state() == before
    assert course.run() == [f"work/{NAME}: refreshed"]


def test_a_run_that_stopped_before_its_manifest_is_taken_up(course, monkeypatch):
    course.run()
    course.write(lesson("third = None"))
    write = copies.write_bytes
    with monkeypatch.context() as patch:
        patch.setattr(copies, "write_bytes", lambda path, content: path.name == NAME and write(path, content))
        course.run()
    assert course.run() == []
    course.write(lesson("third = 3"))
    assert course.run() == [f"work/{NAME}: refreshed"]


@pytest.fixture
def clone(course):
    """A clone that holds the module, its lesson, and no more."""
    root = course.lessons.parent
    (root / "specdec_kit").mkdir()
    (root / "specdec_kit" / "__init__.py").touch()
    shutil.copy(copies.__file__, root / "specdec_kit")
    return root


def command(*arguments, cwd):
    module = [sys.executable, "-m", "specdec_kit.copies"]
    done = subprocess.run([*module, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_command_copies_into_work_or_the_folder_named(clone):
    for arguments, folder in (((), "work"), (("--into", "mine"), "mine")):
        assert command(*arguments, cwd=clone) == (0, f"{folder}/{NAME}: made\n", "")
        assert command(*arguments, cwd=clone) == (0, "", "")
        assert {path.name for path in (clone / folder).iterdir()} == {NAME, ".copies.json"}
        assert json.loads((clone / folder / ".copies.json").read_text()).keys() == {NAME}


@pytest.mark.parametrize(
    ("into", "words"), [("notebooks", "name another one"), ("file", "Not every copy could be written")]
)
def test_the_command_says_in_one_sentence_what_stops_it(clone, into, words):
    (clone / "file").touch()
    code, out, err = command("--into", into, cwd=clone)
    assert code == 1 and not out and words in err and err.count("\n") == 1
    assert not (clone / "notebooks" / ".copies.json").exists()


def test_a_fault_of_a_lesson_is_one_sentence(course, clone):
    course.write(lesson("### BEGIN SOLUTION"))
    code, out, err = command(cwd=clone)
    assert code == 1 and not out and err.startswith(f"No copy was made: {NAME}, cell 2") and err.count("\n") == 1


def test_an_installed_package_says_that_it_has_no_lessons(clone):
    shutil.rmtree(clone / "notebooks")
    code, out, err = command(cwd=clone)
    assert code == 1 and not out and "come with a clone" in err and err.count("\n") == 1
    assert not (clone / "work").exists()


def test_the_real_lessons_can_be_copied(tmp_path):
    lessons = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(copies.make_copies(ROOT / "notebooks", tmp_path)) == len(lessons)
    for path in lessons:
        worked, copy = nbformat.read(path, 4), nbformat.read(tmp_path / path.name, 4)
        assert [cell.id for cell in copy.cells] == [cell.id for cell in worked.cells]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in copy.cells)
        assert not any(copies.BEGIN in cell.source for cell in copy.cells)


def test_git_ignores_the_readers_folder():
    done = subprocess.run(["git", "check-ignore", "work/.copies.json", f"work/{NAME}"], cwd=ROOT, capture_output=True)
    if done.returncode == 128:
        pytest.skip("not a clone")
    assert done.stdout.decode().split() == ["work/.copies.json", f"work/{NAME}"]
