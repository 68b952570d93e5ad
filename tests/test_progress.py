"""What is left in a reader's copies: read from what the checks last said, in copies as JupyterLab saves them."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from specdec_kit import progress
from specdec_kit.copies import MANIFEST, make_copies

LESSONS = Path(__file__).resolve().parent.parent / "notebooks"
DONE = "passed: twice is right on 3 cases."
WRONG = "not yet: on 2, 4 is due; yours is 3."


def lesson(*said):
    """A notebook with an exercise for each thing that a check said: printed, or as the cell's value, or not at all."""
    cells = [new_markdown_cell("# A lesson\n\nwords"), new_code_cell("selfcheck = 1")]
    for number, words in enumerate(said, 1):
        cells.append(new_markdown_cell(f"### Exercise {number}: twice\n\n*Difficulty: easy · 5 minutes*"))
        printed = number % 2
        source = "verdict = selfcheck.check_twice(twice)\nprint(verdict)" if printed else "selfcheck.check_twice(twice)"
        kind = {"text": words} if printed else {"data": {"text/plain": words}, "execution_count": 1}
        outputs = [new_output("stream" if printed else "execute_result", **kind)] if words else []
        cells.append(new_code_cell(f"def twice(n):\n    return n + n\n\n\n{source}", outputs=outputs))
        cells.append(new_code_cell("if verdict:\n    print('passed: on')"))
    return new_notebook(cells=cells)


def found(notebook):
    return list(progress.exercises(json.loads(nbformat.writes(notebook))))


def test_each_exercise_says_what_its_check_said_last():
    assert found(lesson(DONE, WRONG, "")) == [
        ("Exercise 1: twice", True, "twice is right on 3 cases."),
        ("Exercise 2: twice", False, "on 2, 4 is due; yours is 3."),
        ("Exercise 3: twice", False, "not run yet, or not saved since"),
    ]


def test_a_cell_that_only_prints_passed_is_no_exercise():
    told = new_code_cell("print('passed: all')", outputs=[new_output("stream", text="passed: all\n")])
    assert not found(new_notebook(cells=[told]))


def test_of_several_lines_the_last_verdict_counts():
    assert [one.passed for one in found(lesson(f"{DONE}\nworking\n{WRONG}", f"{WRONG}\n{DONE}"))] == [False, True]


def test_the_worked_lessons_have_all_passed_and_fresh_copies_none(tmp_path):
    worked = [found(nbformat.read(path, as_version=4)) for path in sorted(LESSONS.glob("*.ipynb"))]
    assert all(worked) and all(one.passed for exercises in worked for one in exercises)
    make_copies(LESSONS, tmp_path)
    *lines, last = progress.left(tmp_path)
    count = sum(map(len, worked))
    assert last == f"0 of {count} exercises done"
    assert len(lines) == len(worked) + count
    assert sum(line.startswith("    Exercise ") for line in lines) > count / 2, "most stand under an exercise's heading"
    assert not [line for line in lines if line.startswith("    :")], "and each under some heading"


def test_lines_for_a_folder(tmp_path):
    nbformat.write(lesson(DONE, WRONG), tmp_path / "01_some.ipynb")
    nbformat.write(lesson(DONE), tmp_path / "02_more.ipynb")
    assert list(progress.left(tmp_path)) == [
        "01_some: 1 of 2 done",
        "    Exercise 2: twice: on 2, 4 is due; yours is 3.",
        "02_more: 1 of 1 done",
        "2 of 3 exercises done",
    ]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"cells": [1]}', b'{"cells": [{"source": 1}]}', b"\xff"])
def test_a_copy_that_is_no_notebook_is_said_and_the_others_are_read(tmp_path, content):
    (tmp_path / "01_bad.ipynb").write_bytes(content)
    nbformat.write(lesson(DONE), tmp_path / "02_good.ipynb")
    first, *rest = progress.left(tmp_path)
    assert first.startswith("01_bad.ipynb cannot be read as a notebook: rename it")
    assert rest == ["02_good: 1 of 1 done", "1 of 1 exercises done"]


def test_the_command_reads_and_changes_nothing(tmp_path):
    nbformat.write(lesson(WRONG), tmp_path / "01_some.ipynb")
    (tmp_path / MANIFEST).write_text("{}")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = subprocess.run(
        [sys.executable, "-m", "specdec_kit.progress", "--of", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 of 1 exercises done" and not done.stderr
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_without_copies_it_says_how_to_make_them(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        progress.main(["--of", str(tmp_path / "work")])
    assert "There are no copies in work/ yet: run `make copies`" in str(ended.value)
