"""The lessons as an nbgrader course, and as zips: what students get, and that a second release touches nothing."""

import ast
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from specdec_kit import evidence, progress
from specdec_kit.copies import ROOT, blank
from specdec_kit.coursework import course as settings_of
from specdec_kit.coursework import release
from specdec_kit.coursework.course import LESSONS, SETTINGS, Invalid
from specdec_kit.coursework.exercises import BY_HAND, EXERCISES

pytest.importorskip("nbgrader")

LESSON = "01_two_token_derivation"


def read(*parts):
    return nbformat.read(Path(*parts), as_version=4)


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    return shutil.copytree(ROOT / "notebooks", tmp_path_factory.mktemp("clone") / "notebooks")


@pytest.fixture(scope="module")
def course(tmp_path_factory, lessons):
    folder = tmp_path_factory.mktemp("teacher") / "course"
    release.release(folder, lessons, b"the wheel")
    return folder


def state(folder):
    """Content and time of each file, but for the gradebook."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "gradebook.db"]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def changed(before, after):
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


# ---- what a student gets ----


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_released_lesson_is_a_readers_copy_with_a_cell_before_and_one_after_each_exercise(course, lesson):
    copy = blank(read(ROOT / "notebooks", f"{lesson}.ipynb"), lesson)
    cells = read(course, "release", lesson, f"{lesson}.ipynb").cells
    ours = [cell for cell in cells if cell.id != "setup" and not cell.id.startswith("grade-")]
    assert [(cell.id, cell.cell_type, cell.source) for cell in ours] == [
        (cell.id, cell.cell_type, cell.source) for cell in copy.cells
    ]
    assert cells[0].id == "setup" and cells[0].metadata.tags == ["setup"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells if cell.cell_type == "code")
    after = {cells[place].id: cells[place - 1].id for place in range(1, len(cells)) if cells[place].id[:6] == "grade-"}
    assert after == {f"grade-{one.function}": one.cell for one in EXERCISES if one.lesson == lesson}


@pytest.mark.parametrize("lesson", LESSONS)
def test_nothing_that_is_hidden_is_released(course, lesson):
    text = (course / "release" / lesson / f"{lesson}.ipynb").read_text(encoding="utf-8")
    assert not [word for word in ("SOLUTION", "HIDDEN", "RuntimeError") if word in text]
    assert (seed := str(settings_of.settings(course).seed)) not in text and len(seed) > 5
    source = (course / "source" / lesson / f"{lesson}.ipynb").read_text(encoding="utf-8")
    assert all(word in source for word in ("SOLUTION", "HIDDEN", "RuntimeError")), "words that would be found"


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_metadata_of_the_source_are_those_of_the_exercises_alone(course, lesson):
    found = {}
    for cell in read(course, "source", lesson, f"{lesson}.ipynb").cells:
        if "nbgrader" in cell.metadata:
            about = cell.metadata.nbgrader
            assert about.schema_version == 3 and about.task is False and about.locked is not about.solution
            assert about.grade_id == cell.id
            found[cell.id] = (about.solution, about.get("points") if about.grade else None)
    by_hand = {hand.cell: hand.points for hand in BY_HAND}
    ours = [one for one in EXERCISES if one.lesson == lesson]
    assert found == {one.cell: (True, by_hand.get(one.cell)) for one in ours} | {
        f"grade-{one.function}": (False, one.points) for one in ours
    }


def test_the_gradebook_knows_the_points(course):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        totals = {assignment.name: assignment.max_score for assignment in book.assignments}
    for lesson in LESSONS:
        points = [one.points for one in (*EXERCISES, *BY_HAND) if one.lesson == lesson]
        assert totals[lesson] == sum(points)


# ---- again ----


def test_a_second_release_touches_no_file(course, lessons):
    before = state(course)
    assert release.release(course, lessons, b"the wheel") == []
    assert not changed(before, state(course))


def test_a_changed_lesson_changes_its_own_files_and_the_zip_of_all(course, lessons):
    path = lessons / f"{LESSON}.ipynb"
    original, before = path.read_bytes(), state(course)
    path.write_bytes(original.replace(b"# Derive the rule", b"# Derive a rule"))
    wanted = {f"{kind}/{LESSON}/{LESSON}.ipynb" for kind in ("source", "release")} | {
        f"zips/{LESSON}.zip",
        "zips/all.zip",
    }
    assert set(release.release(course, lessons, b"the wheel")) == wanted
    assert changed(before, state(course)) == wanted
    path.write_bytes(original)
    release.release(course, lessons, b"the wheel")
    assert {name: content for name, (content, _) in state(course).items()} == {
        name: content for name, (content, _) in before.items()
    }


def test_an_interrupted_release_is_made_up_for(course, lessons, monkeypatch):
    path = lessons / f"{LESSON}.ipynb"
    original = path.read_bytes()
    path.write_bytes(original.replace(b"# Derive the rule", b"# Derive the one rule"))
    with monkeypatch.context() as patch:
        patch.setattr(release, "assign", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            release.release(course, lessons, b"the wheel")
    release.release(course, lessons, b"the wheel")
    assert b"the one rule" in (course / "release" / LESSON / f"{LESSON}.ipynb").read_bytes()
    path.write_bytes(original)
    release.release(course, lessons, b"the wheel")


def test_a_new_wheel_changes_the_zips_alone(course, lessons):
    zips = {f"zips/{name}.zip" for name in (*LESSONS, "all")}
    assert set(release.release(course, lessons, b"a newer wheel")) == zips
    assert set(release.release(course, lessons, b"the wheel")) == zips


def test_a_teachers_files_are_never_overwritten_and_her_points_are_released(course, lessons):
    from nbgrader.api import Gradebook

    config, toml = course / "nbgrader_config.py", course / SETTINGS
    kept = config.read_text(), toml.read_text()
    config.write_text(kept[0] + "# mine\n")
    toml.write_text(kept[1].replace("account = 10", "account = 2.5"))
    release.release(course, lessons, b"the wheel")
    assert config.read_text().endswith("# mine\n") and "account = 2.5" in toml.read_text()
    text = (course / "release" / LESSON / f"{LESSON}.ipynb").read_text(encoding="utf-8")
    assert "# Graded here: account, 2.5 points." in text
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        assert book.find_assignment(LESSON).max_score == 40 - 10 + 2.5
    config.write_text(kept[0])
    toml.write_text(kept[1])
    release.release(course, lessons, b"the wheel")


# ---- the settings ----


def test_each_course_has_a_seed_of_its_own(tmp_path):
    (tmp_path / SETTINGS).write_text(settings_of.written(17))
    assert settings_of.settings(tmp_path) == (17, settings_of.defaults())


def test_points_that_are_not_named_are_the_defaults(tmp_path):
    (tmp_path / SETTINGS).write_text(f'seed = 1\n[points."{LESSON}"]\naccount = 0\n')
    points = settings_of.defaults()
    points[LESSON]["account"] = 0
    assert settings_of.settings(tmp_path).points == points


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed = ", "cannot be read"),
        ("", "seed is None, but it must be a whole number from 0 on"),
        ("seed = true", "seed is True"),
        ("seed = -1", "seed is -1"),
        ("sead = 1", "'sead' is unknown; known are seed, points"),
        ("seed = 1\npoints = 3", "points is 3"),
        ("seed = 1\n[points.lesson]", "points of 'lesson' is unknown; known are 00_start_here"),
        (f"seed = 1\n[points]\n{LESSON} = 3", f"the points of {LESSON} are 3"),
        (f"seed = 1\n[points.{LESSON}]\nacount = 3", "points of 'acount' is unknown; known are account, half_accepted"),
        (f"seed = 1\n[points.{LESSON}]\naccount = -3", "account is -3, but points are a number from 0 on"),
        (f"seed = 1\n[points.{LESSON}]\naccount = nan", "account is nan"),
        (f'seed = 1\n[points.{LESSON}]\naccount = "3"', "account is '3'"),
        (f"seed = 1\n[points.{LESSON}]\naccount = true", "account is True"),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(tmp_path, text, says):
    (tmp_path / SETTINGS).write_text(text)
    with pytest.raises(Invalid) as caught:
        settings_of.settings(tmp_path)
    assert SETTINGS in str(caught.value) and says in str(caught.value) and "\n" not in str(caught.value)


def test_a_configuration_that_fails_is_named(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n1 / 0\n")
    with pytest.raises(Invalid, match=r"nbgrader_config\.py fails: ZeroDivisionError"):
        release.nbgrader_config(tmp_path)


# ---- the first cell ----


def test_the_first_cell_says_in_one_sentence_what_the_kernel_lacks(course):
    from nbclient import NotebookClient

    setup = read(course, "release", LESSON, f"{LESSON}.ipynb").cells[0].source
    breaks = [
        "import sys, types",
        "sys.modules['specdec_kit'] = None",
        "sys.modules['specdec_kit'] = types.SimpleNamespace(__version__='0.0.9')",
        "sys.version_info = (3, 9, 1)",
    ]
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for one in breaks for source in (one, setup)]
    NotebookClient(notebook, allow_errors=True, timeout=120).execute()
    fine, missing, old, python = [cell.outputs for cell in notebook.cells[1::2]]
    assert fine == []
    for outputs, words in (
        (missing, ("specdec_kit", f'%pip install "{release.WHEEL}[lab]"', "restart the kernel", "choose the kernel")),
        (old, ("specdec_kit", f'%pip install "{release.WHEEL}[lab]"', "restart the kernel", "choose the kernel")),
        (python, ("This kernel is Python 3.9", "3.11 or newer", "choose another kernel")),
    ):
        assert [one.output_type for one in outputs] == ["error"]
        [shown] = outputs[0].traceback  # which is what is shown
        assert shown == outputs[0].evalue and "\n" not in shown and all(word in shown for word in words)
    ast.parse(setup, feature_version=(3, 7))


# ---- stock nbgrader ----


def test_stock_nbgrader_gives_nothing_and_says_why(course, tmp_path):
    from nbgrader.api import Gradebook
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    lesson, stock = LESSONS[0], tmp_path / "course"
    shutil.copytree(course, stock)
    handed_in = stock / "submitted" / "a" / lesson
    handed_in.mkdir(parents=True)
    shutil.copy(stock / "source" / lesson / f"{lesson}.ipynb", handed_in)  # with the solutions
    config = Config()
    config.CourseDirectory.root = str(stock)
    directory = CourseDirectory(config=config, assignment_id=lesson)
    with release.quiet():
        Autograde(coursedir=directory, config=config).start()
    with Gradebook(f"sqlite:///{stock}/gradebook.db") as book:
        assert book.find_submission(lesson, "a").score == 0
    cells = {cell.id: cell for cell in read(stock, "autograded", "a", lesson, f"{lesson}.ipynb").cells}
    [said] = cells["grade-die"].outputs
    assert said.ename == "RuntimeError" and "without the course's nbgrader_config.py: run `make grade`" in said.evalue


# ---- the zips ----


def test_a_zip_is_a_readers_folder(course, tmp_path, monkeypatch, capsys):
    with zipfile.ZipFile(course / "zips" / f"{LESSON}.zip") as archive:
        archive.extractall(tmp_path)
    names = {".copies.json", "Makefile", "README.txt", "requirements.txt", f"{LESSON}.ipynb", release.WHEEL}
    assert {path.name for path in tmp_path.iterdir()} == names
    notebook = (course / "release" / LESSON / f"{LESSON}.ipynb").read_bytes()
    assert (tmp_path / f"{LESSON}.ipynb").read_bytes() == notebook
    monkeypatch.chdir(tmp_path)
    assert evidence.work_folder() == Path.cwd()
    progress.main(["--of", "."])
    assert f"{LESSON}: 0 of 4 done" in capsys.readouterr().out
    assert (tmp_path / "requirements.txt").read_text() == f"./{release.WHEEL}[lab]\n"
    readme = (tmp_path / "README.txt").read_text()
    assert f'pip install "{release.WHEEL}[lab]"' in readme and f"jupyterlab {LESSON}.ipynb" in readme
    if shutil.which("make"):
        for goal, does in (("lab", f"-m jupyterlab {LESSON}.ipynb"), ("check", "-m specdec_kit.progress --of .")):
            assert does in subprocess.run(["make", "-n", goal], capture_output=True, text=True, check=True).stdout


def test_the_zip_of_all_is_a_classroom(course):
    yaml = pytest.importorskip("yaml")
    with zipfile.ZipFile(course / "zips" / "all.zip") as archive:
        names = archive.namelist()
        work = yaml.safe_load(archive.read(".github/workflows/classroom.yml"))
    assert names == sorted(names) and {".gitignore", *(f"{lesson}.ipynb" for lesson in LESSONS)} < set(names)
    runs = [step["run"] for step in work["jobs"]["checks"]["steps"] if "run" in step]
    assert runs[-1] == "python -m specdec_kit.coursework.visible ."


def test_a_zip_says_nothing_of_when_it_was_made():
    files = {"b.txt": b"1", "a.whl": b"2"}
    made = release.zipped(files)
    assert made == release.zipped(dict(reversed(files.items())))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert [entry.filename for entry in archive.infolist()] == ["a.whl", "b.txt"]
        assert {entry.date_time for entry in archive.infolist()} == {(2020, 1, 1, 0, 0, 0)}


def test_the_wheel_is_built_where_the_kit_changed_and_has_the_files_of_coursework(tmp_path, monkeypatch):
    try:
        made = release.built_wheel(tmp_path)
    except Invalid as problem:
        pytest.skip(f"no wheel can be built here: {problem}")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        names = set(archive.namelist())
    wanted = {path.relative_to(ROOT).as_posix() for path in release.HANDOUT.iterdir()}
    assert wanted < names and "specdec_kit/coursework/visible.py" in names
    monkeypatch.setattr(release.subprocess, "run", None)  # a second time there is nothing to build
    assert release.built_wheel(tmp_path) == made
    (tmp_path / "wheel" / "built-from").write_text("other files")
    with pytest.raises(TypeError):
        release.built_wheel(tmp_path)


# ---- the command ----


def test_the_command_says_what_it_wrote_and_what_is_wrong(course, lessons, monkeypatch, capsys):
    monkeypatch.setattr(release, "ROOT", lessons.parent)
    monkeypatch.setattr(release, "built_wheel", lambda _: b"the wheel")
    release.main(["--into", str(course)])
    assert "course/ is up to date" in capsys.readouterr().out
    kept = (course / SETTINGS).read_text()
    (course / SETTINGS).write_text("seed = 0.5\n")
    with pytest.raises(SystemExit, match=r"seed is 0\.5"):
        release.main(["--into", str(course)])
    (course / SETTINGS).write_text(kept)
    monkeypatch.setitem(sys.modules, "nbgrader.converters", None)
    (course / "gradebook.db").rename(course / "away")
    with pytest.raises(SystemExit, match="nbgrader is not installed: run `make release`"):
        release.main(["--into", str(course)])
    (course / "away").rename(course / "gradebook.db")
    monkeypatch.setattr(release, "ROOT", lessons)
    with pytest.raises(SystemExit, match="The lessons are not here"):
        release.main(["--into", str(course)])


def test_the_command_says_that_it_was_broken_off(course, monkeypatch, capsys):
    monkeypatch.setattr(release, "built_wheel", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(SystemExit) as left:
        release.main(["--into", str(course)])
    assert left.value.code == 130
    assert capsys.readouterr().err == "Broken off: the same command writes what is still missing.\n"


# ---- the visible checks of a repository ----


@pytest.mark.skipif(os.name == "nt", reason="the checks run in processes that are forked")
def test_the_visible_checks_say_a_line_for_each_exercise(tmp_path, capsys):
    from specdec_kit.coursework import visible

    with pytest.raises(SystemExit, match="There is no lesson in"):
        visible.main([str(tmp_path)])
    lesson = LESSONS[0]
    notebook = read(ROOT / "notebooks", f"{lesson}.ipynb")
    nbformat.write(notebook, tmp_path / f"{lesson}.ipynb")
    with pytest.raises(SystemExit) as done:
        visible.main([str(tmp_path)])
    assert done.value.code == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{lesson}, Exercise 1: a loaded die: passed: die is right.",
        "1 of 1 exercises done",
    ]
    nbformat.write(blank(notebook, lesson), tmp_path / f"{lesson}.ipynb")
    (tmp_path / f"{LESSON}.ipynb").write_text(json.dumps({"cells": 1}))
    with pytest.raises(SystemExit) as done:
        visible.main([str(tmp_path)])
    assert done.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{lesson}, Exercise 1: a loaded die: not yet: die is not written yet.",
        f"{LESSON}: This submission could not be read: it is no notebook.",
        "0 of 2 exercises done",
    ]
