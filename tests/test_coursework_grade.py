"""Submissions on their way through nbgrader: nothing in a notebook but its code can make a point, or stop the class."""

import csv
import json
import os
import re
import shutil
import sys
import time
import zipfile
from contextlib import closing
from multiprocessing import active_children
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from specdec_kit.copies import ROOT, blank
from specdec_kit.coursework import grade, grading, release, submissions
from specdec_kit.coursework.course import LESSONS
from specdec_kit.coursework.exercises import EXERCISES
from specdec_kit.coursework.submissions import Mark
from specdec_kit.selfcheck import Verdict

pytest.importorskip("nbgrader")
if os.name == "nt":
    pytest.skip("the grader needs fork and Unix sockets, and so Linux or macOS", allow_module_level=True)

from nbgrader.utils import determine_grade

from specdec_kit.coursework import preprocessors

LESSON, HAND = "01_two_token_derivation", "07_investigate"
FUNCTIONS = {lesson: [one.function for one in EXERCISES if one.lesson == lesson] for lesson in LESSONS}


def worked(lesson=LESSON):
    return nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", as_version=4)


def hand_in(folder, student, notebook, lesson=LESSON):
    path = folder / student / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(notebook, bytes):
        path.write_bytes(notebook)
    else:
        nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher") / "course"
    release.release(folder, ROOT / "notebooks", b"the wheel")
    return folder


@pytest.fixture
def course(released, tmp_path):
    """A course folder of the test's own, as it was released."""
    return Path(shutil.copytree(released, tmp_path / "course"))


def stub_the_grader(patch):
    """Have a grader that gives the shares of points that are returned here (all of them otherwise), in this process."""
    shares = {}

    def stubbed(notebook, lesson, *, seed):
        if any("take the grader down" in cell.source for cell in notebook.cells):
            raise RuntimeError("the grader is down")
        return [
            SimpleNamespace(
                exercise=one,
                share=(share := shares.get(one.function, 1.0)),
                verdict=Verdict(share > 0, f"{one.function} {'is right' if share else 'is wrong'} on <b>1</b> case."),
            )
            for one in EXERCISES
            if one.lesson == lesson
        ]

    def here(work, tasks, jobs, what):
        for key, arguments in tasks.items():
            try:
                yield key, work(*arguments)
            except Exception as problem:
                yield key, problem

    patch.setattr(grading, "grade", stubbed)
    patch.setattr(grade, "_parallel", here)
    patch.setattr(preprocessors.Grade, "known", {})
    return shares


@pytest.fixture
def stub(monkeypatch):
    return stub_the_grader(monkeypatch)


def run(folder, course, *options):
    """Run the command; its exit status."""
    try:
        grade.main([*([str(folder)] if folder else []), "--course", str(course), "--jobs", "2", *options])
    except SystemExit as left:
        return left.code
    return 0


def grades(course):
    with open(course / "grades.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def page(course, student, lesson=LESSON):
    return (course / "feedback" / student / lesson / f"{lesson}.html").read_text(encoding="utf-8")


# ---- from end to end, with the grader itself and its processes ----


def test_a_class_is_graded_from_a_folder_to_grades_and_feedback(course, tmp_path, capsys):
    lesson, folder = LESSONS[0], tmp_path / "handed in"
    hand_in(folder, "anna", worked(lesson), lesson)
    hand_in(folder, "ben", (course / "release" / lesson / f"{lesson}.ipynb").read_bytes(), lesson)
    assert run(folder, course) == 0
    printed = capsys.readouterr().out
    assert "2 notebooks graded now, 2 students in all: course/grades.csv, course/feedback/." in printed
    found = grades(course)
    assert (found["anna"][lesson], found["anna"]["total"]) == ("5", "5")
    assert (found["ben"][lesson], found["ben"]["total"], found["ben"][LESSON]) == ("0", "0", "")
    assert "passed: die is right" in page(course, "anna", lesson)
    assert "NotYet: die is not written yet." in page(course, "ben", lesson)
    rows = list(csv.DictReader((course / "nbgrader.csv").read_text().splitlines()))
    assert [row["score"] for row in rows if (row["assignment"], row["student_id"]) == (lesson, "anna")] == ["5.0"]

    before = {path: path.stat().st_mtime_ns for path in course.rglob("*") if path.is_file()}
    assert run(folder, course) == 0
    assert "0 notebooks graded now" in capsys.readouterr().out
    after = {path: path.stat().st_mtime_ns for path in course.rglob("*") if path.is_file()}
    touched = {path.name for path in after if before.get(path) != after[path]}
    assert touched <= {"nbgrader.csv", "gradebook.db"}


def test_a_page_of_feedback_names_its_language_and_where_its_links_lead(course, tmp_path, stub):
    hand_in(tmp_path / "in", "anna", (course / "release" / LESSON / f"{LESSON}.ipynb").read_bytes())
    assert run(tmp_path / "in", course) == 0
    text = page(course, "anna")
    assert re.findall("<html[^>]*>", text) == ['<html lang="en">']
    links = dict(re.findall(r'<li><a href="#([^"]*)">(.*?)</a>', text))
    assert {f"grade-{name}" for name in FUNCTIONS[LESSON]} < links.keys()
    assert all(place.removeprefix("grade-").removeprefix("comment-") in said for place, said in links.items())
    # Of its colours and all else see tests/browser/test_axe.py.
    assert "text-decoration: underline" in text.partition("</head>")[0]


# ---- points ----


def test_points_are_those_of_the_course_and_of_its_grader(course, tmp_path, stub):
    toml = course / "course.toml"
    toml.write_text(toml.read_text().replace("inverted = 10", "inverted = 7"))
    release.release(course, ROOT / "notebooks", b"the wheel")
    stub.update(account=0.0, inverted=0.5)
    hand_in(tmp_path / "in", "anna", worked())
    assert run(tmp_path / "in", course) == 0
    assert grades(course)["anna"][LESSON] == f"{5 + 0.5 * 7 + 15:g}"
    html = page(course, "anna")
    assert "NotYet: account is wrong on &lt;b&gt;1&lt;/b&gt; case." in html and "passed: inverted is right" in html
    assert "HIDDEN" not in html and "without the course" not in html


@pytest.mark.parametrize(
    ("mark", "points", "reached"),
    [
        (Mark(True, "all", 1.0), 10, 10), (Mark(True, "some", 0.5), 10, 5), (Mark(True, "none", 0.0), 10, 0),
        (Mark(True, "nearly", 0.9999), 0.336, 0.336), (Mark(False, "no", 0.0), 10, 0), (Mark(True, "all", 1.0), 0, 0),
    ],
)  # fmt: skip
def test_nbgrader_reads_from_a_grade_cell_what_the_grader_found(mark, points, reached):
    about = {"grade": True, "solution": False, "points": points, "grade_id": "grade-f", "locked": True}
    cell = new_code_cell("#", metadata={"nbgrader": about}, outputs=preprocessors._outputs(mark, points))
    assert determine_grade(cell) == (reached, points)


def test_a_grade_cell_that_the_grader_does_not_come_to_gets_nothing(released, monkeypatch):
    monkeypatch.setattr(preprocessors.submissions, "mark", lambda *_: {"account": Mark(True, "right", 1.0)})
    monkeypatch.chdir(released)
    source = nbformat.read(released / "source" / LESSON / f"{LESSON}.ipynb", as_version=4)
    notebook = preprocessors.restored(submissions.plain(worked()), source)
    where = {"nbgrader": {"assignment": LESSON, "notebook": LESSON}}
    graded, _ = preprocessors.Grade().preprocess(notebook, where)
    found = {cell.id: determine_grade(cell)[0] for cell in graded.cells if cell.id.startswith("grade-")}
    assert found == {"grade-account": 10, "grade-half_accepted": 0, "grade-inverted": 0, "grade-blind_pair": 0}


# ---- what a student may write into a notebook ----


def forge(notebook, **about):
    """A cell that claims to be a grade cell, with an output that says so."""
    meta = {
        "schema_version": 3,
        "grade": True,
        "solution": False,
        "locked": False,
        "points": 1000,
        "task": False,
        **about,
    }
    output = new_output("execute_result", data={"text/plain": "1000"})
    notebook.cells.append(new_code_cell("1000", metadata={"nbgrader": {**meta, **about}}, outputs=[output]))


def no_metadata(notebook):
    for cell in notebook.cells:
        cell.metadata = {}


def all_deleted(notebook):
    notebook.cells = []


def doubled(notebook):
    notebook.cells = [*notebook.cells, *notebook.cells]


def shuffled(notebook):
    notebook.cells = notebook.cells[::-1]


def own_points(notebook):
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(points=1000, grade=True, solution=False)


def own_ids(notebook):
    for cell in notebook.cells:
        cell.id = "grade-account"
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader["grade_id"] = "grade-account"


def all_text(notebook):
    notebook.cells = [new_markdown_cell(cell.source, metadata=cell.metadata) for cell in notebook.cells]


def edited_grade_cells(notebook):
    for cell in notebook.cells:
        if cell.id.startswith("grade-"):
            cell.source, cell.outputs = "1000", [new_output("execute_result", data={"text/plain": "1000"})]


def forged(notebook):
    forge(notebook, grade_id="grade-account")
    forge(notebook, grade_id="grade-mine")
    forge(notebook, grade_id="exercise-half", solution=True)
    forge(notebook, grade_id=7, schema_version=99)
    notebook.metadata["kernelspec"] = {"name": "mine", "display_name": "mine", "language": "R"}


def broken_code(notebook):
    notebook.cells.append(new_code_cell("%%bash\nrm x"))
    notebook.cells.append(new_code_cell("def account(:\n"))


TRICKS = [
    no_metadata, all_deleted, doubled, shuffled, own_points, own_ids, all_text, edited_grade_cells, forged, broken_code,
]  # fmt: skip


@pytest.fixture(scope="module")
def tricked(released, tmp_path_factory):
    """A whole class of tricks, graded at once by a grader that gives points for `account` alone."""
    with pytest.MonkeyPatch.context() as patch:
        course = Path(shutil.copytree(released, tmp_path_factory.mktemp("tricks") / "course"))
        folder = course.parent / "in"
        for trick in TRICKS:
            notebook = nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
            trick(notebook)
            path = folder / trick.__name__ / f"{LESSON}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(notebook), encoding="utf-8")
        stub_the_grader(patch).update(dict.fromkeys(FUNCTIONS[LESSON], 0.0), account=1.0)
        assert run(folder, course) == 0
    return course


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
def test_no_trick_with_cells_and_metadata_makes_or_costs_a_point(tricked, trick):
    assert grades(tricked)[trick.__name__][LESSON] == "10"
    graded = tricked / "autograded" / trick.__name__ / LESSON / f"{LESSON}.ipynb"
    about = [cell.metadata.nbgrader for cell in nbformat.read(graded, 4).cells if "nbgrader" in cell.metadata]
    assert sorted(one.grade_id for one in about if one.grade) == sorted(f"grade-{one}" for one in FUNCTIONS[LESSON])
    assert sum(one.points for one in about if one.grade) == 40


def test_a_grade_cell_stands_after_the_last_definition_of_its_function(released):
    source = nbformat.read(released / "source" / LESSON / f"{LESSON}.ipynb", as_version=4)
    cells = [
        "def account(p, q):\n    return 1", "x = 1", "def account(p, q):\n    2\n\ndef inverted(p, q, rng):\n    3",
        "accounts = 3", "half_accepted = lambda: [0.2, 0.8]",
    ]  # fmt: skip
    notebook = submissions.plain({"cells": [{"cell_type": "code", "source": one} for one in cells]})
    ids = [cell.id for cell in preprocessors.restored(notebook, source).cells]
    assert ids == [
        "own-1", "own-2", "own-3", "grade-account", "grade-inverted", "own-4", "own-5", "grade-half_accepted",
        "exercise-blind", "grade-blind_pair",
    ]  # fmt: skip


def test_a_notebook_is_not_run(course, tmp_path, stub):
    notebook, mark = worked(), tmp_path / "it ran"
    notebook.cells.insert(0, new_code_cell(f"open({str(mark)!r}, 'w')"))
    hand_in(tmp_path / "in", "anna", notebook)
    assert run(tmp_path / "in", course) == 0
    assert grades(course)["anna"][LESSON] == "40" and not mark.exists()


def test_what_a_student_writes_runs_no_script_in_the_teachers_browser(course, tmp_path, stub):
    notebook = worked()
    evil = "Look: <script>alert(1)</script><img src=x onerror=alert(2)> [here](javascript:alert(3))"
    for text in (evil, f"```\n{evil}", f"a\n\n$$\n{evil}\n$$", f"~~~\n`````\n{evil}", f"    x\n{evil}"):
        notebook.cells.append(new_markdown_cell(text))
    notebook.cells.append(new_code_cell(evil, outputs=[new_output("display_data", data={"text/html": "<b>MARK</b>"})]))
    hand_in(tmp_path / "in", "anna", notebook)
    assert run(tmp_path / "in", course) == 0
    html = page(course, "anna")
    assert html.count("Look: &lt;script&gt;") == 5 and "MARK" not in html
    assert not [bad for bad in ("<script>alert", "<img src=x onerror", 'href="javascript') if bad in html.lower()]
    assert "<h1" in html, "the lesson's own text is rendered"


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"{", b"[]", b"3", b'{"cells": 3}', b'{"worksheets": 3}', b"[" * 100_000, b'{"nbformat": 4}'],
)
def test_what_is_no_notebook_says_so(tmp_path, content):
    (tmp_path / "x.ipynb").write_bytes(content)
    notebook = submissions.read(tmp_path / "x.ipynb")
    assert notebook.metadata.unreadable == "This submission could not be read: it is no notebook."
    assert [cell.source for cell in notebook.cells] == [notebook.metadata.unreadable]


def test_a_notebook_that_is_too_large_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "LARGEST", 1_000_000)
    (tmp_path / "x.ipynb").write_bytes(b" " * 1_000_001)
    assert "it has over 1 MB; clear its outputs." in submissions.read(tmp_path / "x.ipynb").metadata.unreadable


def test_of_a_notebook_its_cells_are_read_and_nothing_else():
    code = {"cell_type": "code", "source": ["a = 1\n", "b"], "id": 3, "metadata": 5, "outputs": "x"}
    text = {"cell_type": "markdown", "source": "\ud800 x", "attachments": {}}
    junk = [3, None, {}, {"cell_type": "code"}, {"cell_type": "raw", "source": "x"}, {"cell_type": [], "source": "x"}]
    junk += [{"cell_type": "code", "source": [3]}, {"source": "x"}]
    notebook = submissions.plain({"cells": [*junk, code, *junk, text], "metadata": 7, "nbformat": "x"})
    assert [(cell.id, cell.cell_type, cell.source) for cell in notebook.cells] == [
        ("own-1", "code", "a = 1\nb"), ("own-2", "markdown", "? x"),
    ]  # fmt: skip
    nbformat.validate(notebook)
    again = submissions.plain(notebook)
    assert again == notebook and submissions.own(notebook) == notebook
    assert submissions.checksum(again) == submissions.checksum(notebook)


def test_a_notebook_of_format_3_is_read():
    cells = [{"cell_type": "code", "input": "a = 1", "outputs": [], "language": "python", "collapsed": False}]
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells, "metadata": {}}],
    }
    assert [cell.source for cell in submissions.plain(old).cells] == ["a = 1"]


def test_one_submission_never_stops_the_class(course, tmp_path, stub, capsys):
    folder = tmp_path / "in"
    hand_in(folder, "anna", worked())
    hand_in(folder, "ben", b"{")
    crash = worked()
    crash.cells.append(new_code_cell("# take the grader down"))
    hand_in(folder, "cleo", crash)
    stub.update(dict.fromkeys(FUNCTIONS[LESSON], 1.0))
    assert run(folder, course) == 1
    said = capsys.readouterr().err
    assert f"ben, {LESSON}: This submission could not be read: it is no notebook." in said
    assert f"cleo, {LESSON} was not graded: RuntimeError: the grader is down." in said
    found = grades(course)
    assert found["anna"][LESSON] == "40" and "cleo" not in found
    assert "This submission could not be read: it is no notebook." in page(course, "ben")


def test_a_process_that_dies_takes_its_own_task_alone():
    tasks = {text: (text,) for text in ("0", "__import__('os')._exit(1)", "1 / 0", "2**2")}
    done = dict(grade._parallel(eval, tasks, 2, "x"))
    found = [done[text] for text in tasks]
    assert found[0] == 0 and found[3] == 4
    assert [type(one).__name__ for one in found[1:3]] == ["BrokenProcessPool", "ZeroDivisionError"]


def test_what_is_broken_off_ends_its_processes_at_once():
    tasks = {text: (text,) for text in ("0", *(f"__import__('time').sleep({n})" for n in range(300, 304)))}
    begun = time.monotonic()
    with closing(grade._parallel(eval, tasks, 2, "x")) as results:
        assert next(results) == ("0", 0)
    assert not active_children() and time.monotonic() - begun < 300


def test_a_class_that_is_broken_off_goes_on_from_there(course, tmp_path, stub, capsys, monkeypatch):
    convert, folder = grade._convert, tmp_path / "in"
    for student in ("anna", "ben"):
        notebook = worked()
        notebook.cells.append(new_markdown_cell(student))
        hand_in(folder, student, notebook)

    def broken(step, course, config, lesson, student, notes):
        if student == "ben":
            raise KeyboardInterrupt
        return convert(step, course, config, lesson, student, notes)

    with monkeypatch.context() as patch:
        patch.setattr(grade, "_convert", broken)
        assert run(folder, course) == 130
    assert "Broken off: what is graded is kept" in capsys.readouterr().err
    assert [path.parts[-3] for path in (course / "autograded").glob("*/*/*.ipynb")] == ["anna"]
    assert run(folder, course) == 0
    assert "1 notebook graded now, 2 students in all" in capsys.readouterr().out


# ---- what a person grades ----


def test_what_a_person_grades_waits_for_her_and_is_kept(course, tmp_path, stub, capsys):
    from nbgrader.api import Gradebook

    folder = tmp_path / "in"
    hand_in(folder, "anna", worked(HAND), HAND)
    hand_in(folder, "ben", blank(worked(HAND), HAND), HAND)
    assert run(folder, course) == 0
    assert "1 answer waits for a person" in capsys.readouterr().out, "an answer that was not given is 0"
    assert grades(course)["anna"][HAND] == "90"
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        given = book.find_grade("exercise-investigate", HAND, HAND, "anna")
        given.manual_score, given.needs_manual_grade = 12, False
        book.find_comment("exercise-investigate", HAND, HAND, "anna").manual_comment = "Why so sure?"
        book.db.commit()
    assert "Why so sure?" not in page(course, "anna", HAND)
    hand_in(folder, "ben", worked(HAND), HAND)
    assert run(folder, course) == 0
    assert "1 answer waits for a person" in capsys.readouterr().out, "ben's, and not anna's again"
    assert grades(course)["anna"][HAND] == "102" and grades(course)["ben"][HAND] == "90"
    assert "Why so sure?" in page(course, "anna", HAND)


# ---- what is a submission ----


def test_submissions_are_found_wherever_they_lie_and_the_newest_counts(tmp_path):
    anna = tmp_path / "anna"
    for place, content, when in (
        ("a", b"old", 1_500_000_000), ("b/c", b"new", 1_600_000_000), ("d", b"older", 1_400_000_000),
        (".ipynb_checkpoints", b"hidden", 1_700_000_000), ("__MACOSX", b"hidden", 1_700_000_000),
    ):  # fmt: skip
        path = anna / place / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        os.utime(path, (when, when))
    with zipfile.ZipFile(anna / "all.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"x/{LESSON}.ipynb", (2019, 1, 1, 0, 0, 0)), "zipped, between")
        archive.writestr(zipfile.ZipInfo(f"../x/{HAND}.ipynb", (1980, 0, 0, 0, 0, 0)), "zipped")
        archive.writestr(f"__MACOSX/{LESSONS[0]}.ipynb", "hidden")
    notes = []
    found = grade.collect(tmp_path, notes)
    assert {key: one.content for key, one in found.items()} == {("anna", LESSON): b"new", ("anna", HAND): b"zipped"}
    assert notes == []


@pytest.mark.parametrize("name", ["Müller, Anna (12)", "anna's", "{x}", "a.b@c.de", "-x", "100%", "$HOME", "O'Neil ü"])
def test_an_odd_name_is_graded_as_any_other(course, tmp_path, stub, name):
    hand_in(tmp_path / "in", name, worked(LESSONS[0]), LESSONS[0])
    assert run(tmp_path / "in", course) == 0
    assert grades(course)[name]["total"] == "5" and "passed" in page(course, name, LESSONS[0])


def test_what_is_passed_over_is_said(tmp_path):
    for name in ("a+b", "c[d]", "e "):
        hand_in(tmp_path, name, b"{}")
    hand_in(tmp_path, "fred", b"{}", f"{LESSON} (1)")
    hand_in(tmp_path, ".git", b"{}")
    (tmp_path / "fred" / "x.zip").write_bytes(b"no zip")
    (tmp_path / f"{LESSON}.ipynb").write_bytes(b"{}")
    (tmp_path / "readme.txt").write_bytes(b"")
    notes = []
    assert grade.collect(tmp_path, notes) == {}
    assert notes == [
        f"{LESSON}.ipynb lies in no student's folder, and was passed over",
        "'a+b' is no name for nbgrader: leave out + * ? [ ] and spaces at its ends",
        "'c[d]' is no name for nbgrader: leave out + * ? [ ] and spaces at its ends",
        "'e ' is no name for nbgrader: leave out + * ? [ ] and spaces at its ends",
        f"fred: {LESSON} (1).ipynb has no lesson's name, and was passed over",
        "fred: x.zip cannot be read: File is not a zip file",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "There is no folder nowhere: name one with a folder for each student, SUBMISSIONS=folder."),
        (
            ["empty"],
            "There is no submission: nothing like 00_start_here.ipynb in empty/<student>/.",
        ),
        (["empty", "--jobs", "0"], "--jobs is 0, but it must be 1 or more."),
        (["empty", "--course", "empty"], "The lessons are not released in empty/: run `make release` first."),
        ([], "There is no folder {course}/submitted: name one with a folder for each student, SUBMISSIONS=folder."),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(released, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    with pytest.raises(SystemExit) as left:
        grade.main([*arguments, *([] if "--course" in arguments else ["--course", str(released)])])
    assert left.value.code == says.format(course=released)


def test_without_nbgrader_the_command_says_so(released, tmp_path, monkeypatch):
    hand_in(tmp_path, "anna", worked())
    monkeypatch.setitem(sys.modules, "specdec_kit.coursework.preprocessors", None)
    monkeypatch.setattr(grade, "write", lambda *_: False)
    assert "nbgrader is not installed" in run(tmp_path, released)


def test_other_exercises_than_those_that_were_graded_are_refused(course, tmp_path, stub, monkeypatch):
    hand_in(tmp_path / "in", "anna", worked(LESSONS[0]), LESSONS[0])
    assert run(tmp_path / "in", course) == 0
    path = course / "source" / LESSONS[0] / f"{LESSONS[0]}.ipynb"
    before = path.read_bytes()
    monkeypatch.setattr(release, "GRADE", "graded-")
    with pytest.raises(release.Invalid, match="has other exercises than those that were graded in course/"):
        release.release(course, ROOT / "notebooks", b"the wheel")
    assert path.read_bytes() == before


# ---- nbgrader's own ways ----


def test_the_course_goes_through_nbgraders_exchange(course, tmp_path, stub, monkeypatch):
    from nbgrader.auth import Authenticator
    from nbgrader.converters import Autograde, GenerateFeedback
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.exchange.default import (
        ExchangeCollect,
        ExchangeFetchAssignment,
        ExchangeReleaseAssignment,
        ExchangeSubmit,
    )  # fmt: skip
    from traitlets.config import Config

    exchange, home = tmp_path / "exchange", tmp_path / "home"
    exchange.mkdir()
    exchange.chmod(0o777)
    home.mkdir()
    teacher, student = release.nbgrader_config(course), Config()
    for config in (teacher, student):
        config.CourseDirectory.course_id = "specdec"
        config.Exchange.root = str(exchange)
        config.Exchange.cache = str(tmp_path / "cache")

    def step(kind, config):
        directory = CourseDirectory(config=config, assignment_id=LESSONS[0])
        with release.quiet():
            who = {"authenticator": Authenticator(config=config)} if kind.__name__.startswith("Exchange") else {}
            kind(coursedir=directory, config=config, **who).start()

    step(ExchangeReleaseAssignment, teacher)
    monkeypatch.chdir(home)
    step(ExchangeFetchAssignment, student)
    assert (home / LESSONS[0] / f"{LESSONS[0]}.ipynb").is_file()
    step(ExchangeSubmit, student)
    monkeypatch.chdir(course)
    step(ExchangeCollect, teacher)
    step(Autograde, teacher)
    step(GenerateFeedback, teacher)
    [name] = [path.name for path in (course / "feedback").iterdir()]
    assert "passed: die is right" in page(course, name, LESSONS[0])
    assert run(None, course) == 0, "and `make grade` goes on from there"
    assert grades(course)[name][LESSONS[0]] == "5"
