"""The kill matrix: every fault of the galleries is caught, and nothing exact is called wrong."""

import csv
import runpy
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parent.parent / "data"
SCRIPT = runpy.run_path(str(DATA / "build_kill_matrix.py"))
with (DATA / "kill_matrix.csv").open(encoding="utf-8") as file:
    MATRIX = {row["name"]: row for row in csv.DictReader(file)}
KINDS = SCRIPT["COLUMNS"][3:]


def test_the_matrix_has_every_entry_and_every_kind_of_check():
    assert {name: row["kind"] for name, row in MATRIX.items()} == {f.name: f.kind for f in SCRIPT["entries"]()}
    assert all(list(row) == SCRIPT["COLUMNS"] for row in MATRIX.values())


def unjust(row):
    """What is wrong with the audit's answer to an entry, by what the entry is."""
    faults = [kind for kind in KINDS if row[kind] == "fault"]
    if row["kind"] in ("exact", "slow") and (faults or row["passed"] == "no"):
        return "called wrong, and is exact"
    if row["kind"] == "slow" and row["speed"] != "note":
        return "slow, and not noticed"
    if row["kind"] not in ("exact", "slow") and (not faults or row["passed"] == "yes"):
        return "wrong, and not caught"
    return ""


def test_every_fault_is_caught_and_no_exact_scheme_is_flagged():
    assert not {name: unjust(row) for name, row in MATRIX.items() if unjust(row)}


def test_the_readme_counts_them():
    caught = sum(row["passed"] == "no" for row in MATRIX.values())
    words = (
        f"all {caught} that are wrong or lossy are caught, and none of the {len(MATRIX) - caught} whose law is right"
    )
    assert words in " ".join((DATA.parent / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("name", "change"),
    [("softmax_residual", {"law": ""}), ("softmax_residual", {"passed": "yes"}), ("no_bonus", {"speed": ""}),
     ("certain_draft", {"law": "fault"}), ("certain_draft", {"passed": "no"}),
     ("accepts_at_zero", {"boundary": "note"})],
)  # fmt: skip
def test_a_matrix_with_a_gap_is_noticed(name, change):
    assert unjust({**MATRIX[name], **change})


# A boundary is no matter of the law, nor is a seed.
ONLY = {"accepts_at_zero": ["boundary"], "zero_over_zero": ["rounding"], "draws_globally": ["purity", "seeds"],
        "writes_past_eos": ["decoder"], "writes_too_much": ["decoder"], "reuses_test": ["law"],
        "rows_one_late": ["joint law"], "bonus_from_draft": ["joint law"]}  # fmt: skip


@pytest.mark.parametrize("name", ONLY)
def test_a_fault_is_caught_where_it_lies_and_nowhere_else(name):
    assert [kind for kind in KINDS if MATRIX[name][kind] == "fault"] == ONLY[name]


@pytest.mark.parametrize("fault", list(SCRIPT["entries"]()), ids=lambda fault: fault.name)
def test_the_audit_finds_it_again(fault):
    assert {**dict.fromkeys(SCRIPT["COLUMNS"], ""), **SCRIPT["row"](fault)} == MATRIX[fault.name]


def test_a_build_that_is_broken_off_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path, written = tmp_path / "kill_matrix.csv", []
    path.write_text("as it was")

    def row(fault):
        written.append(fault)
        if len(written) == 3:
            raise KeyboardInterrupt
        return {"name": fault.name}

    monkeypatch.setitem(SCRIPT["main"].__globals__, "FILE", path)
    monkeypatch.setitem(SCRIPT["main"].__globals__, "row", row)
    with pytest.raises(KeyboardInterrupt):
        SCRIPT["main"]()
    assert [one.name for one in tmp_path.iterdir()] == [path.name] and path.read_text() == "as it was"
    written.extend(range(3))
    SCRIPT["main"]()
    assert len(path.read_text().splitlines()) == len(MATRIX) + 1
