"""Expected beside observed, predictions kept before results, and records that someone else can check."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from specdec_kit import evidence
from specdec_kit.evidence import (
    FILE,
    Unexpected,
    discrepancy,
    expect,
    fingerprint,
    predict,
    prediction,
    read_value,
    readable,
    record,
    records,
)
from specdec_kit.lines import WIDTH

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def outside(tmp_path, monkeypatch):
    """A folder that is nobody's work folder, and a kernel that has just started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evidence, "_in_memory", [])
    evidence._say_once.cache_clear()
    return tmp_path


@pytest.fixture
def work(tmp_path):
    (tmp_path / ".copies.json").write_text("{}")
    return tmp_path


def lines(folder):
    """The entries of the file, read strictly: JSON has no NaN."""
    text = (folder / FILE).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line, parse_constant=pytest.fail) for line in text.split("\n")[:-1]]


def fresh_process(code, cwd, **environment):
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert not done.returncode, done.stderr
    return done.stdout


# --- how values are written ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (1_000_000, "1000000"),
        (0.1 + 0.2, "0.3"),
        (2 / 3, "0.666667"),
        (1234567.0, "1.23457e+06"),
        (-1 / 8, "-0.125"),
        (1e-13, "0"),
        (-3e-17, "0"),
        (-0.0, "0"),
        (2e-12, "2e-12"),
        (NAN, "nan"),
        (-INF, "-inf"),
        (Fraction(7, 10), "7/10"),
        (Fraction(4, 2), "2"),
        (Fraction(1, 10**6), "1/1000000"),
        (Fraction(1, 10**6 + 1), "9.99999e-07"),
        (Fraction(6004799503160661, 2**54), "0.333333"),
        (Decimal("0.25"), "0.25"),
        (np.float64(0.7), "0.7"),
        (np.float32(0.5), "0.5"),
        (np.int64(3), "3"),
        (np.bool(True), "True"),
        (np.array(0.5), "0.5"),
        (np.array([0.7, 0.1 + 0.2, -1e-17]), "[0.7, 0.3, 0]"),
        (np.array([Fraction(1, 3), Fraction(2, 3)]), "[1/3, 2/3]"),
        ([[0.5, 1], (0, True)], "[[0.5, 1], [0, True]]"),
        ({0: Fraction(1, 2), "B": 0.1 + 0.2}, "{0: 1/2, B: 0.3}"),
        ({(0, 1): [0.5]}, "{(0, 1): [0.5]}"),
        ("seven", "seven"),
        (True, "True"),
        (None, "None"),
        ([], "[]"),
        ({3}, "{3}"),
        (np.random.default_rng(1), "Generator(PCG64)"),
    ],
)
def test_a_value_is_written_as_a_person_would(value, text):
    assert readable(value) == text


# --- how values are compared -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "observed", "gap"),
    [
        (1, 1.0, 0),
        (0.5, 0.75, 0.25),
        (Fraction(1, 2), Fraction(3, 4), 0.25),
        (Fraction(7, 10), 0.7, 0),
        ([0.5, 0.5], np.array([0.25, 0.5]), 0.25),
        ([[1, 2], [3, 4]], [[1, 2], [3, 8]], 4),
        ((1, 2), [1, 2], 0),
        ([], [], 0),
        ([1, 2], [1, 2, 3], INF),
        (1, [1], INF),
        ([1, 2], [[1, 2]], INF),
        (NAN, NAN, 0),
        ([NAN, 1], np.array([NAN, 3]), 2),
        (NAN, 0, INF),
        (1, NAN, INF),
        (INF, INF, 0),
        (INF, -INF, INF),
        ({}, {}, 0),
        ({0: 0.5, 1: 0.5}, {0: 0.75, 1: 0.25}, 0.25),
        ({0: 0.5}, {0: 0.5, 1: 0.125}, 0.125),
        ({0: 0.5, 1: 0.125}, {0: 0.5}, 0.125),
        ({0: 0.5, 1: 0}, {0: 0.5}, 0),
        ({0: [0.5, 0.5]}, {0: [0.5, 0.25]}, 0.25),
        ({0: 1}, [1], INF),
        ("yes", "yes", 0),
        ("yes", "no", INF),
        ("1", 1, INF),
        (["A", 0.5], ["A", 0.75], 0.25),
        (["A", 0.5], ["B", 0.5], INF),
        (True, np.bool(True), 0),
        (True, False, INF),
        ([0, False, 1], [0, True, 1], INF),
        (1, True, 0),
        (None, None, 0),
        (None, 0, INF),
        (np.array([0.7, 0.3]), None, INF),
        (np.array([0.7, 0.3]), np.array([None, None]), INF),
        ([0.7, 0.3], np.array(["a", "b"]), INF),
        ([0.7, 0.3], [0.7, [0.3]], INF),
        ([np.zeros((2, 2)), np.zeros((2, 3))], 0, INF),
        (0.7, object(), INF),
    ],
)
def test_the_discrepancy_is_the_largest_difference(expected, observed, gap):
    assert discrepancy(expected, observed) == gap
    assert discrepancy(observed, expected) == gap


# --- expect ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "observed", "atol", "line"),
    [
        (0.7, 0.7, {}, "x: expected 0.7, observed 0.7"),
        (0.3, 0.1 + 0.2, {}, "x: expected 0.3, observed 0.3"),
        (0.5, 0.75, {"atol": 0.25}, "x: expected 0.5, observed 0.75 (within 0.25)"),
        (Fraction(7, 10), Fraction(7, 10), {"atol": 0}, "x: expected 7/10, observed 7/10"),
        ({0: 0.7, 1: 0.3}, {0: Fraction(7, 10), 1: Fraction(3, 10)}, {"atol": 0},
         "x: expected {0: 0.7, 1: 0.3}, observed {0: 7/10, 1: 3/10}"),
        ("AB", "AB", {}, "x: expected AB, observed AB"),
    ],
)  # fmt: skip
def test_expect_prints_both_values(capsys, expected, observed, atol, line):
    expect("x", expected, observed, **atol)
    assert capsys.readouterr().out == line + "\n"


@pytest.mark.parametrize(
    ("expected", "observed", "atol", "message"),
    [
        (0.5, 0.75, {}, "x: expected 0.5, observed 0.75. They differ by 0.25; at most 1e-12 is allowed."),
        (0.5, 0.75, {"atol": 0.2}, "x: expected 0.5, observed 0.75. They differ by 0.25; at most 0.2 is allowed."),
        (0.3, 0.1 + 0.2, {"atol": 0}, "x: expected 0.3, observed 0.3. They differ by 5.55e-17; at most 0 is allowed."),
        (0.5, NAN, {}, "x: expected 0.5, observed nan."),
        (0.5, 0.5, {"atol": NAN}, "x: expected 0.5, observed 0.5. They differ by 0; at most nan is allowed."),
        ([1, 0], [1, 0, 0], {}, "x: expected [1, 0], observed [1, 0, 0]."),
        (True, False, {}, "x: expected True, observed False."),
        (0.5, None, {}, "x: expected 0.5, observed None."),
    ],
)
def test_expect_fails_and_names_both_values(capsys, expected, observed, atol, message):
    with pytest.raises(Unexpected) as failure:
        expect("x", expected, observed, **atol)
    assert str(failure.value) == message
    assert isinstance(failure.value, AssertionError)
    assert not capsys.readouterr().out


def in_one_line(printed):
    """What a long line of `expect` says, without its breaks."""
    return printed.replace(":\n    expected", ": expected").replace("\n    observed", ", observed")


def test_a_long_line_is_broken_at_its_values(capsys):
    expect("law of both tokens", [0.123456] * 5, [0.123456] * 5)
    values = "[" + ", ".join(["0.123456"] * 5) + "]"
    assert capsys.readouterr().out == f"law of both tokens:\n    expected {values}\n    observed {values}\n"
    expect("coverage of Wald's interval, p = 0.1, 10 draws", 0.65, 0.649687, atol=0.0005)
    broken = (
        "coverage of Wald's interval, p = 0.1, 10 draws:\n    expected 0.65\n    observed 0.649687 (within 0.0005)\n"
    )
    assert capsys.readouterr().out == broken


def test_whatever_is_long_fits_a_narrow_window_with_its_numbers_whole(capsys):
    long = [round(n / 7, 5) for n in range(60)]
    predict("law " * 30, long)
    expect("law " * 30, long, long)
    record("law " * 30, expected=long, observed=long)
    printed = capsys.readouterr().out
    _, *shown = printed.splitlines()  # the first says what was committed
    assert max(map(len, shown)) <= WIDTH and len(shown) > 30
    assert " ".join(printed.split()).count(readable(long)) == 1 + 3 + 3


@pytest.mark.parametrize(
    ("made", "observed", "ending"),
    [
        (0.7, 0.7, "you predicted 0.7: right"),
        (0.3, 0.1 + 0.2, "you predicted 0.3: right"),
        ("70%", Fraction(7, 10), "you predicted 0.7: right"),
        ("7/10", 0.7, "you predicted 0.7: right"),
        (Fraction(7, 10), 0.7, "you predicted 0.7: right"),
        (0.5, 0.75, "you predicted 0.5: off by 0.25"),
        ([0.5, 0.5], np.array([0.75, 0.25]), "you predicted [0.5, 0.5]: off by 0.25"),
        ((Fraction(1, 2), Fraction(1, 2)), [0.5, 0.5], "you predicted [0.5, 0.5]: right"),
        (np.float64(0.5), 0.5, "you predicted 0.5: right"),
        ({0: 0.7, 1: 0.3}, {0: Fraction(7, 10), 1: Fraction(3, 10)}, "you predicted {0: 0.7, 1: 0.3}: right"),
        ({0: 0.5, 1: 0.5}, {0: 0.75, 1: 0.25}, "you predicted {0: 0.5, 1: 0.5}: off by 0.25"),
        ("about half", 0.5, "you predicted about half: not the same"),
        ([0.5], 0.5, "you predicted [0.5]: not the same"),
    ],
)
@pytest.mark.parametrize("folder", ["outside", "work"])
def test_a_committed_prediction_is_shown_beside(request, capsys, made, observed, ending, folder):
    request.getfixturevalue(folder)
    predict("x", made)
    expect("y", observed, observed)
    expect("x", observed, observed)
    committed, other, line = in_one_line(capsys.readouterr().out).splitlines()
    assert committed.startswith("Committed: ") and committed.endswith("Now run on and compare.")
    assert "predicted" not in other
    assert line == f"x: expected {readable(observed)}, observed {readable(observed)}; {ending}"


# --- predict ---------------------------------------------------------------------------------------------------------


def test_the_last_prediction_counts():
    assert prediction("x") is None
    predict("x", 1)
    predict("x", 2)
    predict("y", 3)
    assert prediction("x") == 2 and prediction("y") == 3


def test_zero_and_false_are_predictions():
    predict("zero", 0)
    predict("never", False)
    assert prediction("zero") == 0 and prediction("never") is False


def test_a_prediction_says_its_unit(capsys):
    predict("length", 3, unit="tokens")
    assert capsys.readouterr().out == "Committed: 3. Now run on and compare.\n"


def test_without_a_notebook_predict_says_how(capsys):
    predict("length", unit="tokens")
    predict("share")
    assert capsys.readouterr().out.splitlines() == [
        "Your prediction: length (tokens).",
        'Commit it with predict("length", your_value).',
        "Your prediction: share.",
        'Commit it with predict("share", your_value).',
    ]
    assert prediction("length") is None


@pytest.mark.parametrize("missing", ["ipywidgets", "IPython", "matplotlib"])
def test_without_what_a_box_needs_predict_says_how(tmp_path, missing):
    code = f'import sys; sys.modules["{missing}"] = None; from specdec_kit.evidence import predict; predict("share")'
    asked = 'Your prediction: share.\nCommit it with predict("share", your_value).\n'
    assert fresh_process(code, tmp_path) == asked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.7", 0.7),
        (" 7/10 ", 0.7),
        ("70%", 0.7),
        ("62.5 %", 0.625),
        ("1e-3", 0.001),
        ("-2", -2),
        ("[0.7, 0.3]", [0.7, 0.3]),
        ("(7/10, 30%)", [0.7, 0.3]),
        ("[1]", [1]),
        ("about half", "about half"),
        ("1/0", "1/0"),
        ("nan", "nan"),
        ("0,7", "0,7"),
        ("%", "%"),
        ("[", "["),
    ],
)
def test_what_a_reader_types_is_read(text, value):
    assert read_value(text) == value


@pytest.mark.parametrize("text", ["", "  \t", "[]", "[0.7, ]"])
def test_nothing_typed_says_what_to_type(text):
    with pytest.raises(ValueError, match=r"^nothing is typed yet: write a number, such as 0\.7 or 7/10$"):
        read_value(text)


# --- record ----------------------------------------------------------------------------------------------------------


def test_a_record_holds_everything_that_a_check_needs(work, capsys):
    predict("share of A", 0.5)
    before = datetime.now(UTC).replace(microsecond=0)
    record("share of A", expected=Fraction(7, 10), observed=np.float64(0.75),
           inputs={"q": np.array([0.4, 0.6]), "p": [0.7, 0.3]}, seed=7, draws=10_000)  # fmt: skip
    after = datetime.now(UTC)
    assert capsys.readouterr().out.endswith(
        "\nRecorded share of A, seed 7, 10,000 draws"
        "\n    predicted 0.5, expected 7/10, observed 0.75, discrepancy 0.05\n"
    )
    made, kept = lines(work)
    assert made.keys() == {"kind", "name", "value", "unit", "time"}
    time = datetime.fromisoformat(kept.pop("time"))
    assert before <= time <= after and time.utcoffset().total_seconds() == 0
    assert kept.pop("discrepancy") == pytest.approx(0.05, abs=1e-15)
    kept.pop("commit")  # below
    assert kept == {
        "kind": "record",
        "name": "share of A",
        "prediction": 0.5,
        "expected": "7/10",
        "observed": 0.75,
        "seed": 7,
        "draws": 10_000,
        "inputs_sha256": hashlib.sha256(b'{"p": [0.7, 0.3], "q": [0.4, 0.6]}').hexdigest(),
        "versions": {
            "specdec_kit": version("specdec-kit"),
            "numpy": version("numpy"),
            "python": ".".join(map(str, sys.version_info[:3])),
        },
    }


def test_a_record_without_seed_draws_and_inputs(capsys):
    record("x", expected=1, observed=[1, 2])
    assert capsys.readouterr().out == "Recorded x\n    no prediction, expected 1, observed [1, 2], discrepancy inf\n"
    [kept] = records()
    assert kept["discrepancy"] == "not comparable"
    assert kept["seed"] is kept["draws"] is kept["prediction"] is None
    assert kept["inputs_sha256"] == hashlib.sha256(b"null").hexdigest()


def test_numbers_of_numpy_are_kept_as_plain_ones(work):
    record("x", expected=np.int64(1), observed=np.float32(0.5), seed=np.int64(7), draws=np.array([1, 2]).sum())
    kept = lines(work)[0]
    assert (kept["expected"], kept["observed"], kept["seed"], kept["draws"]) == (1, 0.5, 7, 3)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (NAN, "nan"),
        ([INF, -INF], ["inf", "-inf"]),
        (np.array([0.5, NAN]), [0.5, "nan"]),
        ({(0, 1): Fraction(1, 3)}, {"(0, 1)": "1/3"}),
        ((True, None, "A"), [True, None, "A"]),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_the_file_is_strict_json(work, value, kept):
    record("x", expected=value, observed=value)
    assert lines(work)[0]["observed"] == kept
    assert lines(work)[0]["discrepancy"] == 0


@pytest.fixture
def clone(tmp_path):
    """A repository with the kit in it, and nothing else."""
    shutil.copytree(
        Path(evidence.__file__).parent, tmp_path / "clone" / "specdec_kit", ignore=shutil.ignore_patterns("__pycache__")
    )
    root = tmp_path / "clone"
    git(root, "init", "--quiet")
    return root


def git(root, *arguments):
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_commit_is_that_of_the_clone(clone):
    def commit():
        code = "from specdec_kit.evidence import commit_of_kit; print(commit_of_kit())"
        return fresh_process(code, clone.parent, PYTHONPATH=str(clone), PYTHONDONTWRITEBYTECODE="1").strip()

    assert commit() == "None", "nothing is committed"
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "kit")
    head = git(clone, "rev-parse", "HEAD")
    assert len(head) == 40 and commit() == head
    (clone / "notes.txt").touch()
    assert commit() == head, "a file that git does not track is no change"
    with open(clone / "specdec_kit" / "sampling.py", "a") as file:
        file.write("# changed\n")
    assert commit() == head + "+changes"
    git(clone, "rm", "--quiet", "--cached", "specdec_kit/evidence.py")
    assert commit() == "None", "a kit that git does not track has no commit, though it lies in a clone"


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert evidence.commit_of_kit.__wrapped__() is None


def test_a_fingerprint_tells_the_last_bit():
    p = [0.7, 0.3]
    assert fingerprint(p) == hashlib.sha256(b"[0.7, 0.3]").hexdigest()
    assert fingerprint(np.array(p)) == fingerprint(tuple(p)) == fingerprint(p)
    assert fingerprint([np.nextafter(0.7, 1), 0.3]) != fingerprint(p)
    assert fingerprint([0.3, 0.7]) != fingerprint(p)
    assert fingerprint({"p": p, "q": 1}) == fingerprint({"q": 1, "p": p}) != fingerprint({"p": p, "r": 1})
    assert fingerprint(NAN) != fingerprint(None)


# --- where they are kept ---------------------------------------------------------------------------------------------


def test_outside_a_work_folder_nothing_is_written_anywhere(tmp_path):
    code = """
import sys
written = []
def hook(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & 3:  # for writing
        written.append(args[0])
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.truncate"):
        written.append(args[0])
import specdec_kit.evidence as evidence
sys.addaudithook(hook)
evidence.predict("x", 1)
evidence.record("x", expected=1, observed=2, inputs=[1], seed=1, draws=1)
print(len(evidence.records()), evidence.prediction("x"), written)
open("control", "w")
print(written)
"""
    *_, kept, control = fresh_process(code, tmp_path, PYTHONDONTWRITEBYTECODE="1").splitlines()
    assert kept == "1 1 []"
    assert control == "['control']" and os.listdir(tmp_path) == ["control"]


@pytest.mark.parametrize("below", [".", "figures/new"])
def test_in_the_work_folder_or_below_it_one_file_is_added_to(work, monkeypatch, below):
    (work / below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(work / below)
    before = b""
    for number in range(3):
        predict("x", number)
        record("x", expected=1, observed=number)
        now = (work / FILE).read_bytes()
        assert now.startswith(before) and now.count(b"\n") == 2 * (number + 1), "only ever added to"
        before = now
    assert {path.name for path in work.rglob("*") if path.is_file()} == {".copies.json", FILE}
    assert [entry["prediction"] for entry in records()] == [0, 1, 2]


@pytest.mark.parametrize("name", ["two\nlines", "\r", "a\u2028b\x85c\x0b", "拒否 (p − q)₊", '"quoted" \\', "<b>&amp;"])
def test_any_name_comes_back_as_it_was(work, name):
    predict(name, 1)
    record(name, expected=name, observed=name)
    [kept] = records()
    assert (kept["name"], kept["observed"], kept["prediction"]) == (name, name, 1)
    assert (work / FILE).read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    "damage", [b'{"kind": "record", "name": "to', b'{"kind": "rec\xe2\x82', b"[]", b"7", b"{}", b"\xff\xfe", b"NUL\0"]
)
def test_a_damaged_line_neither_blocks_nor_gets_lost(work, capsys, damage):
    record("first", expected=1, observed=1)
    with open(work / FILE, "ab") as file:
        file.write(damage)  # the power fails before the line's end
    record("second", expected=1, observed=1)
    assert [entry["name"] for entry in records()] == ["first", "second"]
    assert prediction("second") is None
    said = f"{FILE}, line 2, cannot be read and is passed over; the file is left as it is"
    assert capsys.readouterr().out.splitlines().count(said) == 1, "once, and not beside every result"
    assert damage in (work / FILE).read_bytes().split(b"\n")


def test_a_torn_but_whole_line_is_read(work):
    record("first", expected=1, observed=1)
    whole = (work / FILE).read_bytes()
    (work / FILE).write_bytes(whole.rstrip(b"\n"))
    record("second", expected=1, observed=1)
    assert [entry["name"] for entry in records()] == ["first", "second"]
    assert (work / FILE).read_bytes().startswith(whole)


def test_a_restarted_kernel_sees_what_was_kept(work, monkeypatch):
    predict("x", 0.5)
    record("x", expected=0.75, observed=0.75)
    code = 'from specdec_kit.evidence import *; expect("x", 1, 1); print(records()[0]["observed"])'
    assert fresh_process(code, work).splitlines() == [
        "x: expected 1, observed 1; you predicted 0.5: off by 0.5",
        "0.75",
    ]
    fresh_process('from specdec_kit.evidence import *; record("y", expected=1, observed=1)', work)
    monkeypatch.setattr(evidence, "_in_memory", [])
    assert [entry["name"] for entry in records()] == ["x", "y"]


def test_what_could_not_be_written_is_not_kept(work):
    (work / FILE).mkdir()
    for keep in (lambda: predict("x", 1), lambda: record("x", expected=1, observed=1)):
        with pytest.raises(OSError):
            keep()
    assert prediction("x") is None and not records()


def test_work_folders_do_not_mix(work, tmp_path_factory, monkeypatch):
    record("here", expected=1, observed=1)
    other = tmp_path_factory.mktemp("other")
    (other / ".copies.json").write_text("{}")
    monkeypatch.chdir(other)
    record("there", expected=1, observed=1)
    assert [entry["name"] for entry in records()] == ["there"]
    monkeypatch.chdir(work)
    assert [entry["name"] for entry in records()] == ["here"]


# --- records ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def two():
    predict("share <of> A", 0.5)
    record("share <of> A", expected=0.75, observed=0.75, seed=7, draws=1000)
    record("B & C", expected=[0.5, 0.5], observed=[0.5, 0.25])
    return records()


def test_records_as_text(two):
    assert repr(two) == (
        "name          prediction  expected    observed     discrepancy  seed  draws\n"
        "share <of> A  0.5         0.75        0.75         0            7     1000\n"
        "B & C                     [0.5, 0.5]  [0.5, 0.25]  0.25"
    )
    assert two[0]["seed"] == 7, "each is still a dict with every field"


def test_records_as_a_table(two):
    html = two._repr_html_()
    assert html.count("<tr>") == 3 and html.count('<th scope="col">') == 7
    assert "<td>share &lt;of&gt; A</td><td>0.5</td><td>0.75</td>" in html and "<td>B &amp; C</td><td></td>" in html
    assert "<of>" not in html


def test_no_records_yet():
    assert repr(records()) == "no records yet: run a cell with record(…)"
    assert records()._repr_html_() == "<p>no records yet: run a cell with record(…)</p>"


def test_an_export_holds_every_field(two, tmp_path):
    assert two.export("mine.json") == Path("mine.json")
    text = (tmp_path / "mine.json").read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=pytest.fail) == two
    page = two.export(tmp_path / "mine.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and two._repr_html_() in page
    assert "<of>" not in page and "&quot;inputs_sha256&quot;" in page
    assert {path.name for path in tmp_path.iterdir()} == {"mine.json", "mine.html"}


@pytest.mark.parametrize("name", ["mine.json", "mine.html"])
@pytest.mark.parametrize("step", ["write_text", "replace"])
def test_an_export_is_whole_or_not_at_all(two, tmp_path, monkeypatch, name, step):
    (tmp_path / name).write_text("old")

    def fail(path, content, **_):
        if step == "write_text":
            path.write_bytes(b"half of ")
        raise OSError("the disk is full")

    monkeypatch.setattr(Path if step == "write_text" else os, step, fail)
    with pytest.raises(OSError, match="the disk is full"):
        two.export(name)
    assert (tmp_path / name).read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["mine.txt", "mine", "mine.JSON.bak"])
def test_another_ending_is_refused(two, tmp_path, name):
    with pytest.raises(ValueError, match=rf"^{name} ends neither in \.json nor in \.html: choose one of the two$"):
        two.export(name)
    assert not os.listdir(tmp_path)
