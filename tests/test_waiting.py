"""A bar stands where somebody watches, once it has lasted; and what is broken off keeps what it had."""

import io
import itertools
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from specdec_kit import waiting
from specdec_kit.audit import Interrupted, audit_cache, audit_decoder, audit_sampler
from specdec_kit.blocks import speculative_round
from specdec_kit.faults import GALLERY
from specdec_kit.round_faults import ROUNDS
from specdec_kit.sampling import speculative_sample
from specdec_kit.waiting import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Notebook(io.StringIO):
    __module__ = "ipykernel.iostream"


def work(stderr, monkeypatch, seconds):
    """What is said of work that lasts so long, by a clock that is told."""
    told = iter(np.linspace(0, seconds, 11))
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(waiting, "monotonic", lambda: next(told))
    with progress_bar("work", 10) as gone_on:
        for _ in range(10):
            gone_on()
    return stderr.getvalue()


@pytest.mark.parametrize(
    ("stderr", "seconds", "first"),
    [(Terminal, 5, 5), (Terminal, 2, 0), (Notebook, 30, 0), (Notebook, 50, 7), (io.StringIO, 500, 0)],
)
def test_a_bar_comes_after_a_while_and_where_somebody_watches(monkeypatch, stderr, seconds, first):
    said = work(stderr(), monkeypatch, seconds)
    assert bool(said) == bool(first) and (f"| {first}/10 [" in said) == bool(first)
    assert said.endswith("\r") == bool(first), "it leaves nothing behind"


def test_without_a_name_or_without_tqdm_there_is_no_bar(monkeypatch):
    monkeypatch.setattr(waiting, "monotonic", itertools.count(step=9).__next__)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar("", 2) as gone_on:
        gone_on()
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with progress_bar("work", 2) as gone_on:
        gone_on()
    assert sys.stderr.getvalue() == ""


def test_what_is_short_imports_no_tqdm():
    code = (
        "import sys; from specdec_kit.waiting import progress_bar\n"
        "with progress_bar('work', 1) as gone_on: gone_on()\n"
        "sys.exit('tqdm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- audits that are broken off ----


def after(calls, function):
    """The function, at whose call of that number Ctrl+C is pressed."""
    made = []

    def run(*args):
        made.append(args)
        if len(made) == calls:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.01)
        return function(*args)

    return run


def right(p, q, rng):
    return int(speculative_sample(p, q, rng=rng).tokens)


def stopped(audit, *args, **options):
    with pytest.raises(KeyboardInterrupt) as caught:
        audit(*args, **options)
    assert isinstance(caught.value, Interrupted) and str(caught.value) == repr(caught.value.report)
    report = caught.value.report
    assert report.interrupted and not report.passed and not report
    return report


def calls(function, audit):
    """How many calls a whole audit makes."""
    made = []

    def counted(*args):
        made.append(args)
        return function(*args)

    return audit(counted), len(made)


def test_an_interrupted_audit_of_a_sampler_keeps_the_laws_that_it_judged():
    whole, made = calls(right, audit_sampler)
    assert whole.passed
    laws = len([check for check in whole.checks if check.kind == "law"])
    for share, some in ((0.001, False), (0.15, True), (0.999, True)):
        report = stopped(audit_sampler, after(int(share * made), right))
        kept = [check for check in report.checks if check.kind == "law"]
        assert bool(kept) == some and len(report.checks) < len(whole.checks) and len(kept) <= laws
        assert [str(check) for check in report.checks] == [str(check) for check in whole.checks[: len(report.checks)]]
        assert not report.findings and "interrupted (" in repr(report)


def test_an_interrupted_audit_says_what_it_knows_to_be_wrong():
    wrong = GALLERY["redraws_target"].sampler
    whole, made = calls(wrong, audit_sampler)
    report = stopped(audit_sampler, after(made // 2, wrong))
    assert "interrupted, and wrong (" in repr(report)
    assert {check.advice for check in report.findings} <= {check.advice for check in whole.findings}


def test_an_interrupted_audit_of_rounds_keeps_its_first_tokens_and_its_joint_laws():
    audit = lambda round_: audit_decoder(round_, draws=400)  # noqa: E731
    whole, made = calls(speculative_round, audit)
    early, late = (stopped(audit, after(int(share * made), speculative_round)) for share in (0.05, 0.9))
    assert {check.name.partition(",")[0] for check in early.checks} == {"1 … γ + 1 tokens", "first token"}
    assert "joint law" in {check.name for check in late.checks} and len(late.checks) < len(whole.checks)
    wrong = ROUNDS["rows_one_late"].sampler
    _, made = calls(wrong, audit)
    found = stopped(audit, after(int(0.5 * made), wrong)).findings
    assert any(check.name == "joint law" and check.pvalue == "exact" for check in found)


def test_an_interrupted_audit_of_a_cache_keeps_the_kinds_that_it_saw():
    def model(context):
        return np.full(3, 1 / 3)

    def taken_back(context):  # wrong at the 20th context
        asked.append(context)
        return np.array([1, 0, 0]) if len(asked) > 20 else model(context)

    asked = []
    report = stopped(audit_cache, after(40, model), model, vocabulary=3)
    assert {check.case for check in report.checks} >= {"the text grows", "another text"} and not report.findings
    assert "a changed answer" not in {check.case for check in report.checks}
    assert stopped(audit_cache, after(24, taken_back), model, vocabulary=3).findings
