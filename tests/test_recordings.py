"""Recorded timings: what is written is read back, what is damaged is named, and a tiny recording by hand."""

import json
import os

import pytest

from specdec_kit import recordings as module
from specdec_kit.blocks import Round
from specdec_kit.models import DataError
from specdec_kit.recordings import (
    PROVENANCE,
    Case,
    Recorder,
    Recording,
    Step,
    Text,
    blocks_of,
    recordings,
)
from specdec_kit.recordings import (
    recording as recording_named,
)

near = pytest.approx
SAID = {"device": {"kind": "cpu", "name": "a toy", "cores": 2}, "notes": ["Größe"]}
FILES = ["steps.csv", "texts.csv", PROVENANCE]

# A recording by hand. A round over 1 token takes 2 seconds and over 3 tokens 4, a call of the draft half a second;
# greedy they take 1, 1.5 and a quarter.
TIMES = {
    ("round", 1): [2, 1, 9], ("round", 3): [4, 4, 4], ("draft lookup", 1): [0.5, 0.25, 7],
    ("round, greedy", 1): [1], ("round, greedy", 3): [1.5], ("draft lookup, greedy", 1): [0.25],
}  # fmt: skip
STEPS = [
    Step(0, "m", "round", 1, 1, False, 100.0),  # cold
    Step(1, "m", "round", 8, 1, True, 100.0),  # of another batch
    Step(2, "other", "round", 1, 1, True, 100.0),
    Step(3, "m", "pass", 1, 1, True, 100.0),
    Step(4, "m", "draft lookup", 1, 1, False, 100.0),  # cold
    Step(5, "m", "draft lookup", 1, 1, False, 100.0),
]
for (what, size), seconds in TIMES.items():
    STEPS += [Step(len(STEPS) + n, "m", what, 1, size, True, float(took)) for n, took in enumerate(seconds)]


def text(order, prompt, temperature, method, blocks, reading, writing, repeat=0, model="m"):
    return Text(
        order, model, "w", prompt, temperature, method, 2, repeat, 0, 9, blocks, 5, 4, float(reading), float(writing)
    )


TEXTS = [
    text(20, 0, 1.0, "direct", "0x4", 1, 9, 0),
    text(21, 0, 1.0, "direct", "0x4", 1, 30, 1),
    text(22, 0, 1.0, "direct", "0x4", 1, 12, 2),
    text(23, 1, 1.0, "direct", "0x3", 1, 7),
    text(24, 1, 1.0, "lookup", "1x2", 1, 5),
    text(25, 0, 1.0, "lookup", "0x1 2x2", 1, 3),
    text(26, 0, 1.0, "lookup, gamma 2", "2x1", 1, 2),
    text(27, 0, 0.0, "direct", "0x4", 0, 8),
    text(28, 0, 0.0, "lookup", "2x1", 0, 2),
    text(29, 0, 0.0, "direct", "0x4", 0, 8, model="other"),
    text(30, 0, 0.0, "lookup that remembers", "2x1", 0, 2)._replace(workload="repeated prompt"),
    text(31, 2, 0.0, "order 1", "2x1", 0, 2),  # of a prompt that was not written directly
]
SAMPLED, GREEDY = Case("m", "w", 1.0, "lookup"), Case("m", "w", 0.0, "lookup")
SWEEP = Case("m", "w", 1.0, "lookup, gamma 2")


def record(folder, steps=STEPS, texts=TEXTS, **said):
    """A whole recording in a folder; where it went."""
    recorder = Recorder(folder, SAID)
    recorder.add(*steps)
    recorder.add(*texts)
    recorder.write(**{"finished": True} | said)
    return recorder.folder


@pytest.fixture
def recording(tmp_path):
    return Recording(record(tmp_path / "toy"))


# ---- what is written and read


def test_blocks_are_counted_by_their_size():
    rounds = [Round(drafted, 0, (1,), "rejection") for drafted in ((1,) * 7, (1, 1), (1,) * 7, (), (1,) * 12)]
    assert blocks_of(rounds) == "0x1 2x1 7x2 12x1"
    assert text(0, 0, 1.0, "lookup", blocks_of(rounds), 0, 0).drafted == {0: 1, 2: 1, 7: 2, 12: 1}
    assert blocks_of([]) == "" and text(0, 0, 1.0, "lookup", "", 0, 0).drafted == {}
    assert text(0, 0, 1.0, "lookup", "", 1.5, 2).whole == 3.5


def test_what_is_recorded_is_read_back(recording):
    assert recording.steps == STEPS and recording.texts == TEXTS and recording.name == "toy"
    assert recording.provenance == {"format": 1, "finished": True, **SAID}
    assert repr(recording) == f"Recording(toy: a toy, {len(STEPS)} steps, {len(TEXTS)} texts)"
    for row in (recording.steps[0], recording.texts[0]):
        assert [type(value) for value in row] == [row.__annotations__[name] for name in row._fields]


def test_seconds_have_six_digits_and_names_any_characters(tmp_path):
    name = 'a "quoted" name, with a comma; ü'
    steps = [Step(n, name, "pass", 1, 1, True, took) for n, took in enumerate((1 / 3, 1e-7 / 3, 123.4567894, 0.0))]
    texts = [text(9, 0, 0.7, name, "", 2 / 3, 1e4 / 3)]
    found = Recording(record(tmp_path / "toy", steps, texts))
    assert [one.seconds for one in found.steps] == [0.333333, 3.33333e-8, 123.457, 0.0]
    assert {one.model for one in found.steps} == {name} and found.texts[0].method == name
    assert found.texts[0][-2:] == (0.666667, 3333.33) and found.texts[0].temperature == 0.7


def test_each_row_is_there_as_soon_as_it_is_added_and_a_run_that_was_broken_off_can_be_read(tmp_path):
    recorder = Recorder(tmp_path / "deep" / "toy", SAID)
    assert not (tmp_path / "deep").exists(), "nothing is written before there is something"
    for n, row in enumerate((*STEPS[:3], *TEXTS[:2]), 1):
        recorder.add(row)
        found = Recording(recorder.folder)
        assert recorder.count == len(found.steps) + len(found.texts) == n
        assert found.provenance["finished"] is False
    assert sorted(path.name for path in recorder.folder.iterdir()) == sorted(FILES)


@pytest.mark.parametrize("fails", [1, 2, 3])
def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path, monkeypatch, fails):
    recorder = Recorder(tmp_path / "toy", SAID)
    recorder.add(*STEPS)
    recorder.add(TEXTS[0])
    before = {name: (recorder.folder / name).read_bytes() for name in FILES}
    replaced, replace = [], os.replace

    def breaks(source, target):
        replaced.append(target)
        if len(replaced) == fails:
            raise OSError("the disk is full")
        replace(source, target)

    monkeypatch.setattr("specdec_kit.files.os.replace", breaks)
    with pytest.raises(OSError, match="the disk is full"):
        recorder.add(TEXTS[1])
    after = {path.name: path.read_bytes() for path in recorder.folder.iterdir()}
    assert after.keys() == before.keys(), "no file that was begun is left"
    assert [after[name] != before[name] for name in FILES] == [False, fails > 2, False]
    assert len(Recording(recorder.folder).texts) == (2 if fails > 2 else 1)
    monkeypatch.undo()
    recorder.add(TEXTS[2])
    assert Recording(recorder.folder).texts == TEXTS[:3], "nothing was lost"


def test_what_was_recorded_before_stays(tmp_path):
    first = record(tmp_path / "toy")
    before = {path.name: path.read_bytes() for path in first.iterdir()}
    others = [record(tmp_path / "toy", STEPS[:1], TEXTS[:1]) for _ in range(2)]
    assert [folder.name for folder in (first, *others)] == ["toy", "toy-2", "toy-3"]
    assert {path.name: path.read_bytes() for path in first.iterdir()} == before
    assert len(Recording(others[0]).steps) == 1


# ---- what is damaged


def lines(change):
    """A change of the lines of a file."""
    return lambda content: "\n".join(change(content.decode().split("\n"))).encode()


def cell(n, value):
    """A change of one cell of the second row."""

    def change(rows):
        cells = rows[2].split(",")
        cells[n] = value
        return [*rows[:2], ",".join(cells), *rows[3:]]

    return lines(change)


DAMAGES = [
    ("steps.csv", lines(lambda rows: [rows[0].replace("warm", "hot"), *rows[1:]])),
    ("steps.csv", lines(lambda rows: rows[1:])),
    ("steps.csv", lines(lambda rows: [*rows[:2], rows[2].rpartition(",")[0], *rows[3:]])),
    ("steps.csv", lines(lambda rows: [*rows[:2], rows[2] + ",1", *rows[3:]])),
    ("steps.csv", lines(lambda rows: [*rows[:2], "", *rows[2:]])),
    *(("steps.csv", cell(6, value)) for value in ("nan", "inf", "-0.1", "", "fast")),
    *(("steps.csv", cell(5, value)) for value in ("maybe", "true", "")),
    *(("steps.csv", cell(3, value)) for value in ("one", "1.5", "")),
    ("steps.csv", lambda content: b""),
    ("steps.csv", lambda content: content[:80]),
    ("steps.csv", lambda content: content.replace(b"round", b"r\xffund")),
    ("steps.csv", lambda content: content + b'9,"' + b"0,1\n" * 50_000),  # a quotation mark that nothing closes
    ("texts.csv", cell(14, "nan")),
    ("texts.csv", cell(4, "warm")),
    ("texts.csv", lines(lambda rows: [rows[0].replace("blocks,", ""), *rows[1:]])),
    *((PROVENANCE, lambda content, said=said: said) for said in (b"", b"[]", b"{}", b"null", b"\xff", b'"format"')),
    (PROVENANCE, lambda content: content[:-4]),
    (PROVENANCE, lambda content: content.replace(b'"device"', b'"divice"')),
    (PROVENANCE, lambda content: content.replace(b'"kind"', b'"kin"')),
]


@pytest.mark.parametrize(("name", "change"), [*DAMAGES, *((name, None) for name in FILES)])
def test_a_missing_or_damaged_file_is_named_with_its_remedy(tmp_path, name, change):
    folder = record(tmp_path / "toy")
    assert Recording(folder).steps, "whole it can be read"
    content = (folder / name).read_bytes()
    if change is None:
        (folder / name).unlink()
    else:
        assert change(content) != content
        (folder / name).write_bytes(change(content))
    with pytest.raises(DataError) as caught:
        Recording(folder)
    said = str(caught.value)
    assert said.startswith(f"toy/{name} is missing or damaged") and "\n" not in said
    assert said.endswith(": get it again with `git checkout -- data`, or record anew")


@pytest.mark.parametrize("number", [0, 2, "1", None])
def test_another_format_is_named(tmp_path, number):
    folder = record(tmp_path / "toy", format=number)
    with pytest.raises(DataError) as caught:
        Recording(folder)
    assert str(caught.value) == (
        f"toy was recorded in format {number!r}, and this version of the kit reads format 1: use the version that "
        "wrote it, or record anew with `python -m specdec_kit.timing --record`"
    )


# ---- what comes out, by hand


def test_curves_and_medians_by_hand(recording):
    curve = recording.curve("round", model="m")
    assert curve.sizes == [1, 3] and [curve.seconds(n) for n in (1, 2, 3)] == [2, 3, 4]
    assert recording.curve("round", model="m", batch=8).seconds(1) == 100
    assert len(recording.samples("round")) == 8 and len(recording.samples("round", model="m")) == 7
    assert recording.median("draft lookup") == 0.5 and recording.median("round", model="other") == 100
    assert recording.median("round", batch=8) == 100
    with pytest.raises(DataError, match=r"^toy has no steps 'copy': it has \['draft lookup', .*'round, greedy'\]$"):
        recording.median("copy")


def test_a_case_stands_beside_the_same_prompts_written_directly(recording):
    assert sorted(recording.cases()) == sorted([SAMPLED, GREEDY, SWEEP])
    assert recording.by_prompt(SAMPLED._replace(method="direct")) == {0: 18, 1: 8}, "of 10, 31 and 13 the mean"
    assert list(recording.by_prompt(SAMPLED).items()) == [(0, 4), (1, 6)], "prompts in order"
    assert recording.by_prompt(SAMPLED, lambda text: text.prompt_seconds) == {0: 1, 1: 1}


def test_measured_speed_ups_by_hand(recording):
    # (18 + 8) / (4 + 6); either prompt twice gives 18/4 and 8/6.
    assert recording.measured(SAMPLED) == (2.6, near(4 / 3), 4.5)
    assert recording.measured(GREEDY) == (4, 4, 4)
    assert recording.measured(SWEEP) == (6, 6, 6), "18 / 3: of the one prompt that both have"


def test_predicted_speed_ups_by_hand(recording):
    # Directly 1 + 4 · 2 and 1 + 3 · 2. By lookup 1 + 2 + 2 (4 + 2 · 0.5) and 1 + 2 (3 + 0.5).
    assert recording.predicted(SAMPLED) == near((9 + 7) / (13 + 8))
    # Greedily 4 · 1 against 1.5 + 2 · 0.25.
    assert recording.predicted(GREEDY) == near(2)
    # The same draft with another γ: 1 + 4 · 2 against 1 + 4 + 2 · 0.5.
    assert recording.predicted(SWEEP) == near(9 / 6)


def test_a_prediction_does_not_look_at_the_seconds_of_the_texts(tmp_path, recording):
    texts = [one._replace(seconds=7 * one.seconds + 1) for one in TEXTS]
    other = Recording(record(tmp_path / "other", texts=texts))
    assert other.predicted(SAMPLED) == recording.predicted(SAMPLED)
    assert other.measured(SAMPLED) != recording.measured(SAMPLED), "control"


# ---- all recordings


def test_all_recordings_of_a_kind_in_the_order_of_their_names(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "DATA_FOLDERS", (tmp_path / "installed", tmp_path / "data"))
    assert recordings() == recordings("cpu") == [], "nothing was recorded"
    with pytest.raises(ValueError, match=r"^no recording is named 'a-host': there are none$"):
        recording_named("a-host")
    for name, kind in (("c-card", "cuda"), ("b-host", "cpu"), ("a-host", "cpu")):
        record(tmp_path / "data" / "timing" / name, device=SAID["device"] | {"kind": kind})
    (tmp_path / "data" / "timing" / "0-begun").mkdir()  # a run that was broken off before its first row
    assert [one.name for one in recordings()] == ["a-host", "b-host", "c-card"]
    assert [one.name for one in recordings("cpu")] == ["a-host", "b-host"]
    assert [one.name for one in recordings("cuda")] == ["c-card"] and recordings("tpu") == []
    assert recording_named("b-host").name == "b-host" and recording_named("c-card").texts == TEXTS
    with pytest.raises(ValueError, match=r"^no recording is named 'd': there are 'a-host', 'b-host', 'c-card'$"):
        recording_named("d")
    record(tmp_path / "installed" / "timing" / "z-host")
    assert [one.name for one in recordings()] == ["z-host"], "of the data of an installed kit, where there are some"
    (tmp_path / "installed" / "timing" / "z-host" / PROVENANCE).write_text(json.dumps({"format": 3}))
    with pytest.raises(DataError, match=r"^z-host was recorded in format 3"):
        recordings("cuda")
