"""Grade one notebook: what each of its exercises reaches, and why."""

import hashlib
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.copies import ROOT, blank
from specdec_kit.coursework.exercises import EXERCISES, Exercise
from specdec_kit.coursework.remote import Remote
from specdec_kit.selfcheck import Fault, Verdict


class Outcome(NamedTuple):
    """What one exercise reached."""

    exercise: Exercise
    verdict: Verdict
    share: float
    """Of its points, from 0 to 1."""

    @property
    def points(self) -> float:
        return self.exercise.points * self.share


def code(notebook: Any) -> list[str]:
    """Sources of the code cells, in order."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@lru_cache
def given(lesson: str) -> tuple[str, ...]:
    """Code of the lesson itself without solutions, for what a notebook has lost; nothing where there is no clone."""
    import nbformat

    path = ROOT / "notebooks" / f"{lesson}.ipynb"
    return tuple(code(blank(nbformat.read(path, as_version=4), lesson))) if path.is_file() else ()


def grade(notebook: Any, lesson: str, *, seed: int | None, limit: float = 120.0) -> list[Outcome]:
    """Check the exercises of a student's notebook, each in a process of its own.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        It is not executed: of its code only what the functions need is, and stored outputs say nothing.
    lesson : str
        Which lesson it is a copy of, such as "01_two_token_derivation".
    seed : int or None
        Of the hidden cases, together with the notebook's own code; None for the cases of the visible checks.
    limit : float
        Seconds of one process, at most.

    Returns
    -------
    list of Outcome
        In the lesson's order. No points without a check that passed, here and not in the student's process.
    """
    cells = code(notebook)
    own = int.from_bytes(hashlib.sha256(json.dumps(cells).encode()).digest()[:8], "big")
    ours = [one for one in EXERCISES if one.lesson == lesson]
    outcomes = []
    for _, together in groupby(ours, key=lambda one: one.shares or one.cell):
        group = list(together)
        with Remote(cells, [one.function for one in group], given=given(lesson), limit=limit) as remote:
            for one in group:
                rng = None if seed is None else np.random.default_rng([seed, own, EXERCISES.index(one)])
                outcomes.append(_outcome(one, remote, rng))
    return outcomes


@contextmanager
def _in_time(remote: Remote) -> Iterator[None]:
    """End the block, too, after the limit: what the grader itself does may be work that a student made for it."""

    def ring(*_: Any) -> None:
        raise remote._late()

    if threading.current_thread() is not threading.main_thread():  # elsewhere no signal comes
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, remote.limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _outcome(exercise: Exercise, remote: Remote, rng: Any) -> Outcome:
    try:
        with _in_time(remote):
            verdict = exercise.check(remote, rng)
            share = (exercise.share(remote) if exercise.share else 1.0) if verdict.passed is True else 0.0
    except NotImplementedError:
        verdict, share = Verdict(False, f"{exercise.function} is not written yet."), 0.0
    except Fault as fault:
        verdict, share = Verdict(False, f"{fault}."), 0.0
    except Exception as problem:  # of the student's code, by its name
        verdict, share = Verdict(False, f"it raises {type(problem).__name__}: {problem}"), 0.0
    return Outcome(exercise, verdict, min(max(float(share), 0.0), 1.0))
