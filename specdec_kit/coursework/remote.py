"""The grader's side: a student's function in a process of its own, called from here."""

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Self

from specdec_kit.clocks import SimulatedDevice
from specdec_kit.coursework.plain import NotPlain, as_plain, dumps, from_plain, loads
from specdec_kit.coursework.sandbox import DRAWN, LARGEST, STEPS
from specdec_kit.investigation import Investigation
from specdec_kit.selfcheck import Fault, Verdict

KIT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


LONGEST = 12
"""Tokens of a text or a block that is drawn for an investigation, at most."""


class Gone(Fault):
    """The process of a student's function is no more, and why."""


class _Zygote:
    """The process that all children are forked from; made at first use, and anew where it is gone."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        ours, theirs = socket.socketpair()
        # -I: neither the folder it starts in nor a variable of the environment may bring another module.
        code = f"import sys; sys.path.insert(0, {KIT!r})\nfrom specdec_kit.coursework import sandbox\n"
        environment = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if key in os.environ}
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", f"{code}sandbox.zygote({theirs.fileno()})"],
            pass_fds=[theirs.fileno()], env={**environment, **one_thread}, stdin=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        theirs.close()
        self.control = ours

    def fork(self, cpu: int, megabytes: int, home: str) -> tuple[socket.socket, Any, int]:
        """A new child: its socket, the pipe that tells how it ends, and its number."""
        for _ in range(3):  # the zygote may be gone, by a student's doing, and then there is another
            ours, theirs = socket.socketpair()
            ends, end = os.pipe()
            pipe = os.fdopen(ends, "r")
            with self.lock:
                if self.process is None or self.process.poll() is not None:
                    self.start()
                with suppress(OSError):
                    socket.send_fds(self.control, [f"{cpu} {megabytes} {home}".encode()], [theirs.fileno(), end])
                theirs.close()
                os.close(end)
                if first := pipe.readline():
                    return ours, pipe, int(first)
                self.stop()
            ours.close()
            pipe.close()
        raise RuntimeError("the grader could not start a process: is there memory left on this machine?")

    def stop(self) -> None:
        """End the zygote; the next child comes from another."""
        if self.process is not None:
            self.control.close()
            self.process.kill()
            self.process.wait()
            self.process = None


ZYGOTE = _Zygote()


class Remote:
    """Functions of a student's notebook, in a process that is made for them and ends with the ``with`` block.

    Parameters
    ----------
    cells : sequence of str
        Sources of the notebook's code cells, in order. Only what the functions need of them is run.
    functions : sequence of str
        Names of the functions. Where a method takes no name it means the first.
    given : sequence of str
        Those of the lesson itself, without solutions: they stand in for what the notebook has lost.
    limit : float
        Seconds until it is stopped, however little it does.
    cpu : int
        Seconds of the processor until it is stopped.
    megabytes : int
        Memory that it may take beyond what the kit has.
    """

    def __init__(
        self, cells: Sequence[str], functions: Sequence[str], *, given: Sequence[str] = (), limit: float = 120.0,
        cpu: int = 30, megabytes: int = 2048,
    ):  # fmt: skip
        self.names, self.limit, self.cpu, self.megabytes = list(functions), limit, cpu, megabytes
        self._load: dict[str, Any] = {"cells": list(cells), "given": list(given), "functions": self.names}
        self._loaded = False
        self._device: SimulatedDevice | None = None

    @property
    def name(self) -> str:
        return self.names[0]

    def anew(self) -> "Remote":
        """The same functions in another process, which has seen nothing of this one's."""
        return Remote(**self._load, limit=self.limit, cpu=self.cpu, megabytes=self.megabytes)

    def __enter__(self) -> Self:
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.socket, self.pipe, self.pid = ZYGOTE.fork(self.cpu, self.megabytes, self.home.name)
        self.end = time.monotonic() + self.limit
        self._unread, self._why = b"", ""
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self.socket.close()
        self.pipe.close()
        self.home.cleanup()

    # -- messages

    def _stop(self) -> None:
        for kill in (os.killpg, os.kill):
            with suppress(OSError):
                kill(self.pid, signal.SIGKILL)

    def _gone(self, why: str = "") -> Gone:
        """End the child, and say why there is no answer; the first reason stays."""
        if not self._why:
            how = 0 if why else self._ended()
            self._why = why or {
                0: "it ended the process that it runs in: return, do not exit",
                -signal.SIGXCPU: f"it used {self.cpu} s of the processor and was stopped: does every loop end?",
                -signal.SIGKILL: "its process was killed: does it use up its time, or its memory?",
            }.get(how, f"its process ended with {how}: does it fill the memory, or leave Python?")
            self._stop()
        return Gone(self._why)

    def _late(self) -> Gone:
        return self._gone(f"it did not come to an end within {self.limit:g} s and was stopped: does every loop end?")

    def _unreadable(self) -> Gone:
        return self._gone("what it answers cannot be read")

    def _ended(self) -> int:
        """How the child ended, by the zygote's word: an exit code, or a signal's number less than 0."""
        ready, _, _ = select.select([self.pipe], [], [], 5)
        return int(self.pipe.readline() or 0) if ready else 0

    def _send(self, message: Any) -> None:
        if self._why:
            raise self._gone()
        self.socket.settimeout(max(self.end - time.monotonic(), 0.01))
        try:
            self.socket.sendall(dumps(message))
        except TimeoutError:
            raise self._late() from None
        except OSError:
            raise self._gone() from None

    def _receive(self) -> Any:
        parts, size = [self._unread], len(self._unread)
        while b"\n" not in parts[-1]:
            left = self.end - time.monotonic()
            if left <= 0:
                raise self._late()
            self.socket.settimeout(left)
            try:
                parts.append(self.socket.recv(2**16))
            except TimeoutError:
                raise self._late() from None
            except OSError:
                raise self._gone() from None
            size += len(parts[-1])
            if not parts[-1]:
                raise self._gone()
            if size > LARGEST:
                raise self._gone(f"its answer is longer than {LARGEST // 2**20} MB")
        line, _, self._unread = b"".join(parts).partition(b"\n")
        return loads(line)

    def _ask(self, do: str, **values: Any) -> Any:
        """Ask the child for something, and answer what it asks on the way."""
        if not self._loaded:
            self._loaded = True
            self._ask("load", **self._load)
        self._send({"do": do, **values})
        while True:
            try:
                message = self._receive()
                if not isinstance(message, dict):
                    raise NotPlain("")
                if "value" in message:
                    return message["value"]
                if "ask" in message:
                    self._send(self._answer(*message["ask"]))
                    continue
                kind, text = message["raised"]
            except (NotPlain, KeyError, TypeError, ValueError):
                raise self._unreadable() from None
            raise _raised(str(kind), str(text))

    def _answer(self, what: str, value: Any) -> Any:
        """What the child wants to know: the clock of the device after what was ordered, or a step of the case."""
        asked = from_plain(value)
        answer: Callable[..., Any]
        if what == "now" and self._device is not None:
            answer = self._now
        elif what == "step" and asked[0] in STEPS:
            answer = self._step
        else:
            raise NotPlain("")
        try:
            return {"value": as_plain(answer(*asked))}
        except Exception as problem:  # of what was asked, which is the student's
            return {"raised": [type(problem).__name__, str(problem)]}

    def _now(self, *ordered: str) -> float:
        assert self._device is not None
        for name in ordered:
            if name:
                self._device.submit(name)
            else:
                self._device.synchronise()
        return self._device.now()

    def _step(self, step: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        def meant(one: Any) -> Any:  # draws stand by their place in the log
            return self.case.log[one[1]] if isinstance(one, tuple) and one[:1] == (DRAWN,) else one

        self._bounded(step, *args, **named)
        made = getattr(self.case, step)(*map(meant, args), **{key: meant(one) for key, one in named.items()})
        return made.texts if step == "draw" else None

    def _bounded(self, step: str, *args: Any, **named: Any) -> None:
        """Refuse draws that would take the grader for ever: it makes them itself."""
        for what in ("length", "gamma"):
            if step == "draw" and isinstance(named.get(what), int) and named[what] > LONGEST:
                raise ValueError(f"{what} is {named[what]}: what is graded draws at most {LONGEST} tokens at a time")
        for what in ("target", "draft"):
            if what in named and len(getattr(named[what], "table", ())) > 5:
                raise ValueError(f"{what} has {len(named[what].table)} tokens: what is graded draws from at most 5")
        if step == "show_counterexample":
            text = named.get("text", args[1] if len(args) > 1 else "")
            if isinstance(text, str) and len(text) > 6:
                raise ValueError(f"the text has {len(text)} tokens: a counterexample of at most 6 says more")

    def _arguments(self, args: Sequence[Any]) -> list[Any]:
        plain = []
        for one in args:
            if isinstance(one, SimulatedDevice):
                self._device = one
            plain.append({"kind": ["device"]} if isinstance(one, SimulatedDevice) else as_plain(one))
        return plain

    # -- what can be asked

    def other(self, name: str) -> Callable[..., Any]:
        """A function of the notebook, as one that can be called here."""

        def function(*args: Any) -> Any:
            return from_plain(self._ask("call", name=name, args=self._arguments(args)))

        function.__name__ = name
        return function

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The first of the functions, as one that can be called here."""
        return self.other(self.name)

    def verdict(self, check: str, **keywords: Any) -> Verdict:
        """What a check of `specdec_kit.selfcheck` says in the process of the function: advice, and no proof."""
        found = from_plain(self._ask("verdict", name=self.name, check=check, keywords=as_plain(keywords)))
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], str)):
            raise self._unreadable()
        return Verdict(found[0] is True, found[1][:2000])

    def draws(self, times: int, seed: int, *args: Any) -> list[Any]:
        """Results of so many calls with one seeded generator as the last argument."""
        found = self._ask("draws", name=self.name, times=times, seed=seed, args=self._arguments(args))
        return self._as_many(times, found)

    def texts(self, times: int, seed: int, *args: Any) -> list[Any]:
        """So many texts that `specdec_kit.round_faults.write` writes by the function, with one seeded generator.

        What `args` holds: target, draft, context, γ, and how many tokens each text has.
        """
        found = self._ask("texts", name=self.name, times=times, seed=seed, args=self._arguments(args))
        return self._as_many(times, found)

    def _as_many(self, times: int, plain: Any) -> list[Any]:
        found = from_plain(plain)
        if not isinstance(found, list) or len(found) != times:
            raise self._unreadable()
        return found

    # -- the investigation

    @cached_property
    def case(self) -> Investigation:
        """The grader's own investigation."""
        return Investigation()

    def calls(self, name: str) -> None:
        """Let a function of the notebook work on the investigation.

        Each step that it makes is made on `case`; what a step raises there is raised in the function.
        """
        self._ask("work", name=name, revealed=list(self.case.revealed))


def _raised(kind: str, text: str) -> Exception:
    """What the function raised there, to be raised here: by its name, without its code."""
    if kind == "NotImplementedError":
        return NotImplementedError(text)
    name = kind if kind.isidentifier() and len(kind) < 80 else "Exception"
    return type(name, (Exception,), {})(text)
