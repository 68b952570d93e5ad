"""The command that times: what it records, what it leaves out and says so, and what it does when it is stopped."""

import csv
import gc
import json
import os
import platform
import re
import socket
import subprocess
import sys
import weakref
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime
from importlib.util import find_spec
from io import StringIO
from itertools import groupby, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import specdec_kit
from specdec_kit import timing_run
from specdec_kit.clocks import HostClock
from specdec_kit.drafts import PromptLookup
from specdec_kit.evidence import commit_of_kit
from specdec_kit.recordings import Recorder, Recording, Step
from specdec_kit.timing_run import QUICK, Pair, Plan, Remembering, Session, Way, folder_of, main, out_of_memory, parse
from specdec_kit.workloads import WORKLOADS

CHARACTERS = ["--quick", "--target", "characters"]
FILES = ["provenance.json", "steps.csv", "texts.csv"]


def run(*arguments):
    """Exit status, and what was said on stdout and on stderr."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([str(argument) for argument in arguments])
    return status, out.getvalue(), err.getvalue()


def only(folder):
    """The one recording in a folder."""
    (found,) = folder.iterdir()
    return Recording(found)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A whole run with the character models: its folder and what it said."""
    out = tmp_path_factory.mktemp("timing")
    return out, run(*CHARACTERS, "--record", "--out", out)


@pytest.fixture
def session(tmp_path):
    """A session whose plan and rows a test may look at."""
    plan = Plan(sizes=(1, 2, 4, 8), batches=(1, 4, 16), repeats=3, prompts=2, tokens=30, text_repeats=1, sweep=())
    return Session(Recorder(tmp_path / "toy", {}), plan, "cpu", 0, float("inf"), quiet=True)


# ---- a whole run


def test_a_run_leaves_three_files_in_a_folder_named_after_the_device(recorded):
    out, (status, said, _) = recorded
    assert status == 0
    recording = only(out)
    assert recording.name == folder_of(recording.provenance, out).name
    assert sorted(path.name for path in (out / recording.name).iterdir()) == FILES
    assert f"recorded in {out.name}/{recording.name}: list its files in data/README.md" in said
    assert said.startswith(f"{recording!r}\n")


def test_it_says_where_the_times_come_from(recorded):
    out, _ = recorded
    said = only(out).provenance
    assert (said["format"], said["finished"], said["seed"], said["notes"]) == (1, True, 0, [])
    device = said["device"]
    assert device["kind"] == "cpu" and device["cores"] == os.cpu_count() and device["name"].strip()
    info = Path("/proc/cpuinfo")
    if info.exists() and "model name" in info.read_text():
        assert device["name"] in info.read_text()
    assert said["system"] == platform.system() and said["threads"] >= 1
    versions = {"python": platform.python_version(), "numpy": np.__version__, "specdec-kit": specdec_kit.__version__}
    assert said["versions"].items() >= versions.items()
    assert ("torch" in said["versions"]) == bool(find_spec("torch"))
    assert said["commit"] == commit_of_kit()
    started = datetime.fromisoformat(said["started"])
    assert started.utcoffset().total_seconds() == 0 and said["seconds"] >= 0
    assert said["command"] == f"python -m specdec_kit.timing --quick --target characters --record --out {out.name}"


def private(text, *folders):
    """What a text tells of the machine it was made on and must not."""
    return [
        word for word in (*map(str, folders), str(Path.home()), str(Path.cwd()), socket.gethostname()) if word in text
    ]


def test_it_says_nothing_of_whose_machine_it_was(recorded):
    out, _ = recorded
    for name in FILES:
        assert private((out / only(out).name / name).read_text(encoding="utf-8"), out, out.parent) == []
    assert private(f"--out {out}/x on {socket.gethostname()}", out) == [str(out), socket.gethostname()], "control"


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["--out", "/home/someone/x"], "--out x"),
        (["--out=/home/someone/x"], "--out=x"),
        (["--target", "/models/smol", "--draft=/models/small"], "--target smol --draft=small"),
        (
            ["--target", "HuggingFaceTB/SmolLM2-135M", "--share", "0.7"],
            "--target HuggingFaceTB/SmolLM2-135M --share 0.7",
        ),
        ([], ""),
    ],
)
def test_the_command_is_kept_without_the_folders_of_a_path(monkeypatch, arguments, command):
    kept = []
    monkeypatch.setattr(timing_run, "record", lambda options, plan, said, until: kept.append(said["command"]) or 0)
    assert main(arguments) == 0
    monkeypatch.setattr(sys, "argv", ["timing.py", *arguments])
    assert main() == 0
    assert kept == [f"python -m specdec_kit.timing {command}".strip()] * 2


def test_steps_and_texts_are_numbered_together_without_gaps(recorded):
    recording = only(recorded[0])
    rows = [*recording.steps, *recording.texts]
    assert sorted(row.order for row in rows) == list(range(len(rows)))
    assert [row.order for row in recording.steps] == sorted(row.order for row in recording.steps)


def test_each_step_is_timed_as_often_as_the_plan_says(recorded):
    recording = only(recorded[0])
    counts = Counter((step.what, step.tokens, step.warm) for step in recording.steps)
    due = {}
    for greedy in ("", ", greedy"):
        due |= {(f"round{greedy}", n, True): QUICK.repeats for n in QUICK.sizes}
        due |= {(f"round{greedy}", n, False): 2 for n in QUICK.sizes}
        due |= {(f"draft order 1{greedy}", 1, True): 2 * QUICK.repeats, (f"draft order 1{greedy}", 1, False): 2}
    assert counts == due
    assert {(step.model, step.batch) for step in recording.steps} == {("characters", 1)}


def keys(recording):
    return [(text.workload, text.prompt, text.temperature, text.method, text.repeat) for text in recording.texts]


def test_each_text_is_written_once_in_each_repeat(recorded):
    found = Counter(keys(only(recorded[0])))
    assert found == Counter(product(WORKLOADS, range(QUICK.prompts), (1.0, 0.0), ("direct", "order 1"), (0,)))


def test_the_numbers_of_a_text_fit_together(recorded):
    for text in only(recorded[0]).texts:
        rounds = sum(text.drafted.values())
        assert text.tokens == QUICK.tokens == text.accepted + rounds, "each round adds one token of the target"
        assert 0 <= text.accepted <= text.tested <= sum(size * count for size, count in text.drafted.items())
        assert text.gamma == (4 if text.method == "order 1" else 0) >= max(text.drafted)
        assert text.seed == text.prompt and text.prompt_seconds > 0 and text.seconds > 0


def test_where_the_first_prompt_is_shorter_than_a_round_its_tokens_come_again(session):
    pair = timing_run.character_pair()._replace(encode=lambda text: (1, 2, 3))
    timing_run.time_rounds(session, pair, 0)
    sizes = {step.tokens for step in session.recorder.rows["steps.csv"] if step.what == "round"}
    assert sizes == set(session.plan.sizes) and max(sizes) > 4, "more drafts than the prompt has tokens"


def test_each_case_is_shown_with_what_was_measured_and_predicted(recorded):
    out, (_, said, _) = recorded
    cases = only(out).cases()
    assert len(cases) == 4 and len(said.splitlines()) == 6
    for case in cases:
        start = f"{case.workload}, temperature {case.temperature:g}, order 1: "
        (line,) = [line for line in said.splitlines() if line.startswith(start)]
        assert re.fullmatch(r"[\d.]+ times as fast \([\d.]+ – [\d.]+\), predicted [\d.]+", line.removeprefix(start))


def written(recording):
    """What does not depend on the clock."""
    return {key: text[9:13] for key, text in zip(keys(recording), recording.texts, strict=True)}


def test_a_seed_repeats_the_rounds_and_the_order(recorded, tmp_path):
    assert run(*CHARACTERS, "--record", "--out", tmp_path / "again")[0] == 0
    assert run(*CHARACTERS, "--record", "--seed", "1", "--out", tmp_path / "other")[0] == 0
    first, again, other = (only(folder) for folder in (recorded[0], tmp_path / "again", tmp_path / "other"))
    assert written(first) == written(again) != written(other)
    assert keys(first) == keys(again) and Counter(keys(first)) == Counter(keys(other))
    assert keys(first) != keys(other), "another seed, another order"
    assert first.provenance["seed"] == 0 and other.provenance["seed"] == 1


def test_each_repeat_has_rounds_and_texts_of_its_own(tmp_path, monkeypatch):
    plan = QUICK._replace(text_repeats=3, prompts=1, tokens=12, repeats=6, sizes=(1, 5))
    monkeypatch.setattr(timing_run, "QUICK", plan)
    assert run(*CHARACTERS, "--record", "--out", tmp_path)[0] == 0
    recording = only(tmp_path)
    found = keys(recording)
    assert Counter(found) == Counter(product(WORKLOADS, (0,), (1.0, 0.0), ("direct", "order 1"), range(3)))
    repeats = [[key[:4] for key in found[n : n + 8]] for n in (0, 8, 16)]
    assert [key[4] for key in found] == [0] * 8 + [1] * 8 + [2] * 8
    assert repeats[0] != repeats[1] != repeats[2] != repeats[0], "each repeat in an order of its own"
    numbers = written(recording)
    drawn = [[numbers[workload, 0, 1.0, "order 1", repeat] for workload in WORKLOADS] for repeat in range(3)]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0], "each repeat draws its own texts"
    assert [text.seed for text in recording.texts] == [0] * 8 + [100] * 8 + [200] * 8

    # Before each repeat come as many of the rounds: two cold turns and two that count, and twice as many of the drafts.
    kinds = {row.order: row[2] if isinstance(row, Step) else "text" for row in (*recording.steps, *recording.texts)}
    counts = [(kind, len(list(group))) for kind, group in groupby(kinds[order][:5] for order in range(len(kinds)))]
    assert counts == [("round", 4 * 4), ("draft", 2 * 6), ("text", 8)] * 3


@pytest.mark.parametrize(("minutes", "notes"), [("0", 2), ("9", 0)])
def test_repeats_for_which_there_is_no_time_are_said(tmp_path, monkeypatch, minutes, notes):
    monkeypatch.setattr(timing_run, "QUICK", QUICK._replace(text_repeats=3, prompts=1, tokens=4, sizes=(1, 5)))
    assert run(*CHARACTERS, "--minutes", minutes, "--record", "--out", tmp_path)[0] == 0
    recording = only(tmp_path)
    assert recording.provenance["finished"] is True and len(recording.texts) == (0 if notes else 24)
    assert recording.provenance["notes"] == [
        "characters: texts end in repeat 1, the time was up.", "characters: 1 of 3 repeats, the time was up.",
    ][:notes]  # fmt: skip


def test_without_record_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(timing_run, "DATA_FOLDERS", (tmp_path / "none", tmp_path / "data"))
    status, said, _ = run(*CHARACTERS)
    assert status == 0 and "times as fast" in said and "recorded" not in said
    assert list(tmp_path.iterdir()) == []
    assert run(*CHARACTERS, "--record")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["timing"], "control: with it something is, beside no clone"


# ---- where a recording goes


@pytest.mark.parametrize(
    ("device", "slug"),
    [
        ({"kind": "cpu", "name": "Intel(R) Xeon(R) CPU @ 2.20GHz", "cores": 4}, "intel-r-xeon-r-cpu-2-20ghz-4-cores"),
        ({"kind": "cuda", "name": "NVIDIA H200", "cores": 16}, "nvidia-h200"),
    ],
)
def test_a_folder_is_named_after_its_device(tmp_path, monkeypatch, device, slug):
    said = {"device": device}
    assert folder_of(said, tmp_path) == tmp_path / slug
    assert folder_of(said, tmp_path, "My Laptop, 2") == tmp_path / "my-laptop-2"
    monkeypatch.setattr(timing_run, "DATA_FOLDERS", (tmp_path / "none", tmp_path / "data"))
    assert folder_of(said, None) == Path("timing") / slug, "where there is no clone"
    (tmp_path / "data").mkdir()
    assert folder_of(said, None) == tmp_path / "data" / "timing" / slug


# ---- what it refuses


@pytest.mark.parametrize(
    ("arguments", "plan", "minutes"),
    [
        ([], Plan(), float("inf")),
        (["--quick"], QUICK, float("inf")),
        (["--device", "cuda:1"], timing_run.CARD, 7),
        (["--device", "cuda", "--minutes", "0"], timing_run.CARD, 0),
        (["--device", "cuda", "--quick"], QUICK, 7),
    ],
)
def test_how_much_is_timed_and_for_how_long(arguments, plan, minutes):
    assert timing_run.plan_of(parse(arguments)) == (plan, minutes)
    assert len({Plan(), QUICK, timing_run.CARD}) == 3, "control"


def refused(arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "") and err.startswith("Nothing was timed: ") and err.count("\n") == 1
    return err


def test_a_card_without_pytorch_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for extra in ([], ["--record", "--out", tmp_path]):
        assert "torch is not installed: `pip install" in refused([*CHARACTERS, "--device", "cuda", *extra])
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_is_unknown_is_one_sentence(tmp_path):
    assert "device is 'gpu'" in refused([*CHARACTERS, "--device", "gpu", "--record", "--out", tmp_path])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.models
def test_a_card_that_is_not_there_is_one_sentence():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-models` brings it")
    if torch.cuda.is_available():
        pytest.skip("there is a card here")
    assert "PyTorch finds no CUDA device here" in refused(["--quick", "--device", "cuda"])


def test_as_a_module_it_ends_with_its_status():
    def module(*arguments):
        command = [sys.executable, "-m", "specdec_kit.timing", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = module("--device", "cuda:99")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Nothing was timed: ") and done.stderr.count("\n") == 1
    asked = module("--help")
    assert asked.returncode == 0 and asked.stdout.startswith("usage: python -m specdec_kit.timing")
    assert "--record" in asked.stdout


@pytest.mark.parametrize("error", [ValueError, MemoryError, OSError])
def test_an_error_after_the_first_rows_does_not_say_that_nothing_was_timed(tmp_path, monkeypatch, error):
    def broken(*_):
        raise error("size is '70B': choose one of tiny")

    monkeypatch.setattr(timing_run, "time_texts", broken)
    status, out, err = run(*CHARACTERS, "--record", "--out", tmp_path / "begun")
    assert (status, out) == (1, "") and "Nothing was timed" not in err
    recording = only(tmp_path / "begun")
    assert len(recording.steps) > 0 and recording.provenance["finished"] is False
    (note,) = recording.provenance["notes"]
    kept = f"{len(recording.steps)} rows are kept in {recording.name}"
    assert re.fullmatch(rf"size is '70B': choose one of tiny, after \d+ seconds; {kept}\.", note)
    assert err.splitlines()[-1] == note
    monkeypatch.setattr(timing_run, "time_rounds", broken)
    refused([*CHARACTERS, "--record", "--out", tmp_path / "other"])
    assert not (tmp_path / "other").exists()


# ---- stopped


@pytest.mark.parametrize("record", [True, False])
def test_a_run_that_is_stopped_keeps_its_rows(tmp_path, monkeypatch, record):
    monkeypatch.chdir(tmp_path)
    timed, made = timing_run.timed, []

    def stopped(*arguments, **options):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(timed(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(timing_run, "timed", stopped)
    status, out, err = run(*CHARACTERS, *(["--record", "--out", tmp_path] if record else []))
    assert (status, out) == (130, "")
    if not record:
        assert re.fullmatch(r"Broken off, after \d+ seconds; nothing is kept\.", err.splitlines()[-1])
        assert list(tmp_path.iterdir()) == []
        return
    recording = only(tmp_path)
    assert recording.provenance["finished"] is False and len(recording.texts) == 3
    assert [text.blocks for text in recording.texts] == [text.blocks for text in made]
    rows = len(recording.steps) + 3
    assert len(recording.steps) == 2 * len(QUICK.sizes) * (QUICK.repeats + 2) + 2 * (2 * QUICK.repeats + 2)
    (note,) = recording.provenance["notes"]
    assert re.fullmatch(rf"Broken off, after \d+ seconds; {rows} rows are kept in {recording.name}\.", note)
    assert err.splitlines()[-1] == note


# ---- late


def test_where_the_time_is_up_it_says_what_was_left_out(tmp_path):
    status, _, err = run(*CHARACTERS, "--minutes", "0", "--record", "--out", tmp_path)
    recording = only(tmp_path)
    assert status == 0 and recording.provenance["finished"] is True and recording.texts == []
    assert recording.provenance["notes"] == ["characters: texts end in repeat 1, the time was up."]
    assert "characters: texts end in repeat 1, the time was up.\n" in err
    counts = Counter((step.what, step.tokens, step.warm) for step in recording.steps)
    assert {count for (*_, warm), count in counts.items() if warm} == {1}, "one turn of each step"


@pytest.mark.parametrize("texts", range(1, 12, 2))
def test_texts_may_end_anywhere(tmp_path, monkeypatch, texts):
    late = property(lambda self: len(self.recorder.rows["texts.csv"]) >= texts)
    monkeypatch.setattr(Session, "late", late)
    status, said, err = run(*CHARACTERS, "--record", "--out", tmp_path)
    recording = only(tmp_path)
    assert status == 0 and recording.provenance["finished"] is True and len(recording.texts) == texts
    assert "Nothing was timed" not in err and said.startswith("Recording(")
    for case in recording.cases():
        assert np.isfinite([*recording.measured(case), recording.predicted(case)]).all()


def test_repeated_prompts_that_are_left_out_are_said(session):
    session.until = -1.0
    timing_run.time_repeated_prompts(session, timing_run.character_pair())
    assert session.notes == ["characters: no repeated prompts, the time was up."] and session.recorder.count == 0


# ---- out of memory


@pytest.mark.parametrize(
    ("error", "due"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 10 bytes."), True),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried to allocate 2.00 GiB."), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (RuntimeError(), False),
        (ValueError("the memory of a goldfish"), False),
    ],
)
def test_an_error_of_memory_is_told_from_others(error, due):
    assert out_of_memory(error) is due


@pytest.mark.models
def test_pytorchs_own_error_of_memory_is_one():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-models` brings it")
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert out_of_memory(caught.value) and out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not out_of_memory(caught.value)


NETWORK = Pair("net", SimpleNamespace(), (), tuple)


def passes(most, error):
    """Passes that go up to so many tokens, all texts of the batch together."""

    def made(model, batch, cached):
        assert model is NETWORK.target and cached == 128

        def run(n):
            if batch * n > most:
                raise error

        return run

    return made


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory. Tried to allocate")])
def test_passes_that_do_not_fit_are_left_out_and_said(session, monkeypatch, error):
    monkeypatch.setattr(timing_run, "forward_pass", passes(8, error))
    timing_run.time_passes(session, NETWORK)
    found = Counter((step.batch, step.tokens) for step in session.recorder.rows["steps.csv"])
    assert found == {(1, 1): 5, (1, 2): 5, (1, 4): 5, (1, 8): 5, (4, 1): 5, (4, 2): 5}
    assert session.notes == [
        f"net: a pass over {n} tokens in a batch of {batch} is out of memory."
        for batch, n in ((4, 8), (4, 4), (16, 8), (16, 4), (16, 2), (16, 1))
    ]
    assert session.recorder.provenance["notes"] == session.notes


def test_where_all_passes_fit_nothing_is_said_and_large_batches_have_a_third_of_the_turns(session, monkeypatch):
    monkeypatch.setattr(timing_run, "forward_pass", passes(10**9, MemoryError()))
    timing_run.time_passes(session, NETWORK)
    rows = session.recorder.rows["steps.csv"]
    warm = Counter((step.batch, step.tokens) for step in rows if step.warm)
    assert warm == {(batch, n): {1: 3, 4: 3, 16: 1}[batch] for batch in (1, 4, 16) for n in (1, 2, 4, 8)}
    assert session.notes == [] and {step.what for step in rows} == {"pass"}


def test_an_error_that_is_none_of_memory_stays_itself(session, monkeypatch):
    monkeypatch.setattr(timing_run, "forward_pass", passes(8, RuntimeError("shapes do not fit")))
    with pytest.raises(RuntimeError, match=r"^shapes do not fit$"):
        timing_run.time_passes(session, NETWORK)
    assert session.notes == []


def test_passes_for_which_there_is_no_time_are_said(session, monkeypatch):
    monkeypatch.setattr(timing_run, "forward_pass", passes(8, MemoryError()))
    session.until = -1.0
    timing_run.time_passes(session, NETWORK)
    assert session.notes == ["net: no passes from batch 1 on, the time was up."] and session.recorder.count == 0


# ---- a prompt that was read before


def test_a_lookup_that_remembers_finds_the_tokens_of_its_memory():
    lookup = Remembering(10)
    assert lookup.proposal((9, 2, 3)) is PromptLookup(10).proposal((9, 2, 3)) is None and lookup.seen == (9, 2, 3)
    lookup.memory = (1, 2, 3, 4)
    assert lookup.proposal((9, 2, 3)) == 4 and lookup((9, 2, 3))[4] == 1 and lookup.gamma(5)((9, 2, 3), ()) == 5
    assert lookup.proposal((2, 3, 5, 2, 3)) == 5, "of two matches the later one, which is the text's own"
    assert lookup.proposal((3, 8, 1, 2, 3)) == 4, "a longer match before a later one"
    assert lookup.seen == (3, 8, 1, 2, 3) and Remembering(10).memory == (), "the memory is not shared"


def test_a_repeated_prompt_looks_fast(session, monkeypatch):
    fresh, time_text = [], timing_run.time_text

    def noted(*arguments, **options):
        fresh.append(options["fresh"])
        return time_text(*arguments, **options)

    monkeypatch.setattr(timing_run, "time_text", noted)
    timing_run.time_repeated_prompts(session, timing_run.character_pair())
    rows = session.recorder.rows["texts.csv"]
    assert [(row.prompt, row.repeat) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert fresh == [True, False] * 2
    assert {row[1:3] + row[4:7] for row in rows} == {("characters", "repeated prompt", 0.0, "lookup that remembers", 7)}
    rounds = [sum(row.drafted.values()) for row in rows]
    # Greedily the same text is written again, so that nearly all of it is found: 30 tokens, up to 8 in a round.
    assert rounds[1] < rounds[0] and rounds[3] < rounds[2] and max(rounds[1], rounds[3]) <= 8


# ---- which models


def names(session, *arguments):
    return [pair.name for pair in timing_run.pairs(parse(arguments), session.plan, session)]


def test_where_smollm2_is_missing_the_characters_are_timed_and_it_is_said(session, monkeypatch):
    def missing(device, plan):
        raise ModuleNotFoundError('torch is not installed: `pip install "specdec-kit[models]"` brings it')

    monkeypatch.setattr(timing_run, "smollm2_pair", missing)
    assert (
        names(session) == ["characters"] == names(session, "--target", "characters")
        and names(session, "--target", "none") == []
    )
    assert session.notes == [
        'SmolLM2 is not timed: torch is not installed: `pip install "specdec-kit[models]"` brings it.'
    ]
    with pytest.raises(ModuleNotFoundError):
        names(session, "--target", "smollm2")
    monkeypatch.setattr(timing_run, "shape_pair", lambda *_: NETWORK)
    assert names(session, "--device", "cuda") == ["net"], "on a card tables tell nothing"


def test_on_a_card_the_largest_llama_that_fits_is_timed_too(session, monkeypatch):
    monkeypatch.setattr(timing_run, "smollm2_pair", lambda device, plan: NETWORK._replace(name=f"smollm2 on {device}"))

    def shape(target, draft, share, device):
        if target == "8B":
            raise MemoryError("8B is too large")
        return NETWORK._replace(name=f"{target} by {draft}, {share} on {device}")

    monkeypatch.setattr(timing_run, "shape_pair", shape)
    assert names(session, "--device", "cuda:1", "--share", "0.5") == ["smollm2 on cuda:1", "3B by 1B, 0.5 on cuda:1"]
    assert session.notes == ["8B is too large; the next smaller one is taken."]
    assert names(session, "--target", "llama-tiny") == ["tiny by tiny, 0.7 on cpu"]
    assert names(session, "--target", "llama-3B", "--draft", "llama-1B") == ["3B by 1B, 0.7 on cpu"]
    with pytest.raises(MemoryError):
        names(session, "--target", "llama-8B")


def test_a_pair_is_gone_before_the_next_is_made(session, monkeypatch):
    class Model:
        pass

    alive, made = [], []

    def pairs(*_):
        for name in ("first", "second"):
            gc.collect()
            alive.append([model() is not None for model in made])
            target = Model()
            made.append(weakref.ref(target))
            pair = [Pair(name, target, (), tuple)]
            del target
            yield pair.pop()

    timed = []
    monkeypatch.setattr(timing_run, "pairs", pairs)
    for name in ("time_rounds", "time_texts"):
        monkeypatch.setattr(timing_run, name, lambda session, pair, repeat: timed.append(pair.name))
    session.recorder.provenance["versions"] = {}
    timing_run.run(parse(["--target", "x"]), session.plan, session)
    assert timed == ["first", "first", "second", "second"] and alive == [[], [False]]


# ---- language models

SMALL = QUICK._replace(repeats=1, batches=(1, 8), prompts=4, tokens=64, megabytes=1, side=64, rows=2, vocabulary=600)


@pytest.fixture
def torch(monkeypatch, one_thread):
    """PyTorch, where it is installed. Nothing is compiled, which takes long."""
    monkeypatch.setattr(one_thread, "compile", lambda run, **options: run)
    return one_thread


@pytest.mark.models
def test_random_networks_run_from_end_to_end_and_accept_what_was_set(torch, tmp_path, monkeypatch):
    monkeypatch.setattr(timing_run, "QUICK", SMALL)
    status, said, _ = run("--quick", "--target", "llama-tiny", "--draft", "llama-tiny", "--record", "--out", tmp_path)
    recording = only(tmp_path)
    assert status == 0 and recording.provenance["finished"] is True and recording.provenance["notes"] == []
    assert recording.provenance["threads"] == 1 and recording.provenance["versions"]["torch"] == torch.__version__
    rows = [*recording.steps, *recording.texts]
    assert sorted(row.order for row in rows) == list(range(len(rows)))
    name = "llama tiny by tiny, acceptance set to 0.7 and more"
    assert {(step.model, step.what) for step in recording.steps} == {
        *(("device", what) for what in ("copy", "matmul", "verify", "verify, compiled")),
        *((name, what) for what in ("start", "round", "draft draft", "pass", "direct", "generate")),
    }
    assert recording.curve("pass", model=name, batch=8).sizes == list(SMALL.sizes)
    starts = [(step.tokens, step.warm) for step in recording.steps if step.what == "start"]
    assert starts == [(n, n > 0) for n in range(10)], "the first pass is cold"
    assert Counter(keys(recording)) == Counter(product(WORKLOADS, range(4), (1.0,), ("direct", "draft"), (0,)))
    assert said.count("times as fast") == 2

    drafted = [text for text in recording.texts if text.method == "draft"]
    tested, accepted = (sum(getattr(text, name) for text in drafted) for name in ("tested", "accepted"))
    assert tested > 300
    # Each test passes with 0.7 or more. False alarm: 10⁻⁹ for each number of tests, of which there are at most 512.
    assert stats.binom.cdf(accepted, tested, 0.7) > 1e-9
    assert stats.binom.cdf(accepted, tested, 0.95) < 1e-9, "control: a share of 0.95 would not be believed"
    direct = [text for text in recording.texts if text.method == "direct"]
    assert all((text.blocks, text.tested) == ("0x64", 0) for text in direct)


@pytest.mark.models
def test_where_nothing_can_be_compiled_the_rest_is_timed_and_it_is_said(torch, session, monkeypatch):
    def compiler(run, **options):
        def fails(*arguments):
            raise OSError("no compiler")

        return fails

    monkeypatch.setattr(torch, "compile", compiler)
    session.plan = SMALL
    timing_run.time_verification(session)
    found = Counter((step.what, step.batch, step.tokens, step.warm) for step in session.recorder.rows["steps.csv"])
    assert found == {("verify", 2, 600, True): 4, ("verify", 2, 600, False): 2}
    assert session.notes == ["The verification is not compiled here: OSError."]


@pytest.fixture
def folder(torch, tmp_path):
    """A tiny network and its tokenizer of characters, saved as from_pretrained reads them."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import PreTrainedTokenizerFast

    from specdec_kit.random_models import random_llama

    ids = {"?": 0} | {chr(code): code for code in range(1, 256) if chr(code) != "?"}
    ids["no character"] = ord("?")
    tokenizer = Tokenizer(WordLevel(ids, unk_token="?"))
    tokenizer.pre_tokenizer = Split(Regex(r"[\s\S]"), "isolated")
    saved = tmp_path / "models" / "tiny-network"
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?").save_pretrained(saved)
    random_llama("tiny").model.save_pretrained(saved)
    return saved


@pytest.mark.models
def test_a_model_from_a_folder_is_named_without_its_path(folder, tmp_path, monkeypatch):
    plan = SMALL._replace(batches=(1,), prompts=1, tokens=6, sizes=(1, 2, 8), sweep=(2,))
    monkeypatch.setattr(timing_run, "QUICK", plan)
    out = tmp_path / "out"
    assert run("--quick", "--target", folder, "--record", "--out", out)[0] == 0
    recording = only(out)
    assert {text.model for text in recording.texts} == {"tiny-network by tiny-network"}
    methods = {(text.method, text.workload, text.temperature) for text in recording.texts}
    assert methods == {
        *product(("direct", "lookup", "draft"), WORKLOADS, (1.0, 0.0)),
        ("lookup, gamma 2", "copy-heavy", 1.0),
    }
    whats = {step.what for step in recording.steps if step.what.startswith("draft")}
    assert whats == {f"draft {way}{greedy}" for way in ("lookup", "draft") for greedy in ("", ", greedy")}, "once each"
    for name in FILES:
        assert private((out / recording.name / name).read_text(encoding="utf-8"), tmp_path) == []
    with open(out / recording.name / "texts.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(recording.texts) == 13
    assert json.loads((out / recording.name / "provenance.json").read_text())["command"] == (
        "python -m specdec_kit.timing --quick --target tiny-network --record --out out"
    )


@pytest.mark.models
def test_equal_sizes_have_unequal_weights(torch):
    pair = timing_run.shape_pair("tiny", "tiny", 0.5, "cpu")
    draft = pair.ways[1].draft
    assert np.abs(pair.target((1, 2, 3)) - draft((1, 2, 3))).sum() > 0.1, "else every draft would pass"


def test_on_a_host_numpy_verifies_and_the_way_without_drafts_has_none():
    assert timing_run.on("cpu") is None
    target = SimpleNamespace(vocabulary=("a", "b"))
    other = object()
    ways = timing_run.lookups(target, Plan(sweep=(2,)), ("n-gram", other))
    assert [(way.name, way.most, way.sweep) for way in ways] == [
        ("direct", 0, False), ("lookup", 7, False), ("n-gram", 4, False), ("lookup, gamma 2", 2, True),
    ]  # fmt: skip
    assert ways[2].draft is other and ways[0].gamma == 0 and type(ways[0]) is Way
    assert [way.gamma((0, 1, 0), ()) for way in (ways[1], ways[3])] == [7, 2]
    assert [way.gamma((0, 1), ()) for way in (ways[1], ways[3])] == [0, 0], "where nothing matches nothing is drafted"


def test_a_session_has_the_clock_of_its_device_and_a_stream_for_each_purpose(session):
    assert isinstance(session.clock, HostClock) and not session.late
    streams = [session.rng(*purpose).random(3).tolist() for purpose in ((1,), (1,), (2,), (5, 0), (5, 1))]
    assert streams[0] == streams[1] and len({tuple(numbers) for numbers in streams}) == 4
