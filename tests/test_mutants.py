"""The list of mutants does not rot, and the harness tells killed from surviving and from neither."""

import ast

import mutants
import pytest
from mutants import MUTANTS, ROOT, Mutant, Result, trial

SURVIVOR = Mutant("a comment", "distributions", "from typing import Any", "from typing import Any  # as before")
CRASH = Mutant("no Python", "distributions", "from typing import Any", "from typing import")


def few_tests(folder, mutant):
    return ["tests/test_distributions.py", "-k", "values_by_hand"]


def one_lesson(folder, mutant):
    return [*mutants.lessons(folder, mutant)[:4], "notebooks/00_start_here.ipynb"]


def test_there_are_mutants_of_each_module():
    assert len(MUTANTS) >= 20 and len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert {mutant.file for mutant in MUTANTS} == mutants.UNIT.keys()
    core = {"distributions", "sampling", "law"}
    assert not [mutant.name for mutant in MUTANTS if mutant.file in core and (not mutant.lesson or mutant.tests)]


def test_each_mutant_is_another_program():
    sources = {m.file: (ROOT / "specdec_kit" / f"{m.file}.py").read_text(encoding="utf-8") for m in MUTANTS}
    assert not [m.name for m in MUTANTS if sources[m.file].count(m.old) != 1], "these texts are to stand there once"
    trees = {file: ast.dump(ast.parse(source)) for file, source in sources.items()}
    mutated = {m.name: ast.dump(ast.parse(sources[m.file].replace(m.old, m.new))) for m in MUTANTS}
    assert not [m.name for m in MUTANTS if mutated[m.name] == trees[m.file]]
    assert len(set(mutated.values())) == len(MUTANTS)


@pytest.mark.parametrize("old", ["no such text", "return"])
def test_a_text_that_does_not_stand_there_once_is_an_error(old):
    with pytest.raises(ValueError, match=r"stands \d+ times in law.py"):
        trial(Mutant("m", "law", old, "pass"), few_tests)


@pytest.mark.parametrize("suite", [few_tests, one_lesson])
def test_killed_surviving_and_neither(suite):
    overlap = MUTANTS[0]
    killed = trial(overlap, suite)
    assert killed.killed is True
    # The failing test by name. In a lesson it is a cell: so kernels import the copy, not what is installed.
    assert killed.by.startswith("test_distributions.py::test_" if suite is few_tests else "00_start_here.ipynb::Cell")
    survived = trial(SURVIVOR, suite)
    assert (survived.killed, survived.by) == (False, "nobody")


def test_a_run_without_a_failing_test_is_no_verdict():
    for mutant, suite, code in ((CRASH, few_tests, 2), (None, lambda *_: ["tests/test_law.py", "-k", "no_such"], 5)):
        result = trial(mutant, suite)
        assert (result.killed, result.by) == (None, f"no verdict, exit code {code}")


def test_the_likeliest_to_notice_go_first(tmp_path):
    (tmp_path / "notebooks").mkdir()
    for name in ("00_a.ipynb", "01_b.ipynb", "02_c.ipynb"):
        (tmp_path / "notebooks" / name).touch()
    mutant = Mutant("m", "law", "", "", "02")
    assert mutants.lessons(tmp_path, mutant)[-3:] == [f"notebooks/{n}.ipynb" for n in ("02_c", "00_a", "01_b")]
    assert mutants.unit_tests(tmp_path, mutant)[0] == "tests/test_law.py"
    audited = mutants.unit_tests(tmp_path, Mutant("m", "battery", "", "", "", "control"))
    assert audited[:2] == ["tests/test_battery.py", "tests/test_audit.py"] and audited[-2:] == ["-k", "control"]
    everything = mutants.unit_tests(tmp_path, None)
    assert {*audited[:2], "tests/test_law.py", "tests/test_blocks.py"} < {*everything} and "-k" not in everything


def test_only_what_a_lesson_is_to_notice_is_run_by_lessons(monkeypatch, capsys):
    noticed, not_met = Mutant("noticed", "law", "", ""), Mutant("not met", "blocks", "", "", "")
    monkeypatch.setattr(mutants, "trial", lambda mutant, suite: Result(mutant is not None, suite.__name__, ""))
    monkeypatch.setattr("sys.argv", ["mutants.py"])
    for chosen, lines in (([noticed, not_met], ["2 of 2", "1 of 1", "5 runs"]), ([not_met], ["1 of 1", "2 runs"])):
        monkeypatch.setattr(mutants, "MUTANTS", chosen)
        assert mutants.main() == 0
        out = capsys.readouterr().out.splitlines()
        assert [line.partition(" killed")[0].partition(" in")[0] for line in out if line[:1].isdigit()] == lines


@pytest.mark.parametrize(
    ("control", "mutant", "fine"),
    [(False, True, True), (True, True, False), (False, False, False), (False, None, False)],
)
def test_only_killed_mutants_and_a_passing_control_are_fine(monkeypatch, capsys, control, mutant, fine):
    killed = {None: control, MUTANTS[0]: mutant}
    monkeypatch.setattr(mutants, "trial", lambda mutant, suite: Result(killed[mutant], "test_x.py::test_y", "said"))
    monkeypatch.setattr(mutants, "MUTANTS", MUTANTS[:1])
    monkeypatch.setattr("sys.argv", ["mutants.py"])
    assert mutants.main() == (0 if fine else 1)
    out = capsys.readouterr().out
    assert f"{int(mutant is True)} of 1 killed" in out
    # The last lines name what is wrong, as the end is what is read of a long run.
    last = out.rstrip().splitlines()[-1]
    assert fine == last.endswith(" s") and fine != ("test_x.py::test_y" in last)


def test_what_failed_is_tried_once_more_by_itself(monkeypatch, capsys):
    tried = []

    def trial(mutant, suite):
        tried.append(mutant)
        first = tried.count(mutant) == 1
        return Result(first if mutant is None else not first, "busy" if first else "test_x.py::test_y", "said")

    only = Mutant("only", "law", "", "", "")
    monkeypatch.setattr(mutants, "trial", trial)
    monkeypatch.setattr(mutants, "MUTANTS", [only])
    monkeypatch.setattr("sys.argv", ["mutants.py", "--jobs", "1"])
    assert mutants.main() == 0 and tried == [None, only, None, only]
    out = capsys.readouterr().out
    assert out.count("tried again, unit tests") == 2 and "1 of 1 killed; unmutated: passes" in out
