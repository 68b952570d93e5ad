"""The other side: processes in which a student's functions run, and from which nothing but plain data comes back.

A *zygote* imports NumPy, SciPy and the kit, and nothing of any student. For each exercise it forks a child, within
milliseconds and with a clean kit. The child puts limits on itself, raises a fence (`fence`), runs the statements that
the functions need, and then answers requests, a line of JSON each, until its socket closes or it is killed.

What a child says is never taken as proof: whoever runs in it can say anything. `specdec_kit.coursework.exercises` asks
for answers and draws, and judges them on the grader's side.
"""

import ast
import builtins
import linecache
import os
import re
import signal
import socket
import sys
import types
from codeop import Compile
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from specdec_kit import selfcheck
from specdec_kit.clocks import SimulatedDevice
from specdec_kit.coursework.plain import as_plain, dumps, from_plain, loads
from specdec_kit.coursework.slices import Statement, broken, needed
from specdec_kit.investigation import Drawn, Investigation, OverBudget
from specdec_kit.round_faults import write

MEGABYTE = 2**20
LARGEST = 64 * MEGABYTE
"""Bytes of a message, at most."""
KIT = Path(__file__).resolve().parent.parent


def lines(connection: socket.socket) -> Any:
    """Each line that comes, at most `LARGEST` bytes of it."""
    stream = connection.makefile("rb")
    while line := stream.readline(LARGEST):
        yield line


# ---- the fence ----

READABLE = tuple(str(Path(one).resolve()) for one in (sys.prefix, sys.base_prefix, KIT, KIT.parent / "data"))
SYSTEM = ("/dev/null", "/dev/urandom", "/usr/share/zoneinfo", "/etc/localtime", "/proc/self/statm", "/proc/stat")
REFUSED = (
    "ctypes.", "socket.", "subprocess.", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn",
    "os.spawn", "os.startfile", "os.system", "pty.", "signal.pthread_kill", "sqlite3.", "webbrowser.", "ftplib.",
    "http.", "smtplib.", "urllib.", "os.setxattr", "os.chown", "os.chmod", "os.link", "os.symlink", "resource.",
)  # fmt: skip
WRITES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.utime", "shutil.")


# What does the same, and no hook is told of it.
TAKEN = {
    "os": ("pidfd_open", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "setpriority"),
    "signal": ("pidfd_send_signal",),
    "subprocess": ("_posixsubprocess", "_fork_exec"),
}
MODULES = ("_posixsubprocess", "posix", "_signal", "readline")


def fence(home: str) -> None:
    """Refuse, from now on, what no exercise needs: other programs, the network, files elsewhere than in `home`.

    An audit hook of Python, which cannot be taken away again. It keeps out what is written in Python; against compiled
    code a container or a user of its own is needed (INSTRUCTORS.md).
    """
    for name, parts in TAKEN.items():
        for part in parts:
            vars(sys.modules[name]).pop(part, None)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # no more to be imported
    own, readable, refused, writes = home + os.sep, (*READABLE, home), REFUSED, WRITES

    def inside(path: Any, folders: Sequence[str]) -> bool:
        real = os.path.realpath(os.fsdecode(path))
        return any(real == folder or real.startswith(folder + os.sep) for folder in folders)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int):
                return
            changes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if changes and os.fsdecode(path) != "/dev/null":
                if not (os.path.realpath(os.fsdecode(path)) + os.sep).startswith(own):
                    raise PermissionError(f"graded code may not write {os.fsdecode(path)!r}")
            elif os.fsdecode(path) not in SYSTEM and not inside(path, readable):
                raise PermissionError(f"graded code may not read {os.fsdecode(path)!r}")
        elif event.startswith(refused):
            raise PermissionError(f"graded code may not call {event}")
        elif event.startswith(writes) and not all(
            inside(one, (home,)) for one in arguments if isinstance(one, str | bytes | os.PathLike)
        ):
            raise PermissionError(f"graded code may not call {event} outside its own folder")

    sys.addaudithook(hook)


def limit(cpu: int, megabytes: int) -> None:
    """Limit this process: seconds of the processor, memory beyond what it has, size of files; never raise a limit."""
    import resource

    def lower(which: int, soft: int, hard: int) -> None:
        most = resource.getrlimit(which)[1]
        both = (soft, hard) if most == resource.RLIM_INFINITY else (min(soft, most), min(hard, most))
        resource.setrlimit(which, both)

    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
        most = pages * resource.getpagesize() + megabytes * MEGABYTE
        lower(resource.RLIMIT_AS, most, most)
    lower(resource.RLIMIT_CPU, cpu, cpu + 1)  # by SIGXCPU; who ignores it is killed
    lower(resource.RLIMIT_FSIZE, 16 * MEGABYTE, 16 * MEGABYTE)
    lower(resource.RLIMIT_CORE, 0, 0)


# ---- what can be done with an investigation ----

STEPS = ("predict", "draw", "conclude", "reveal", "show_counterexample", "try_transfer")
"""What can be done with an investigation."""
DRAWN = "drawn of the log"
"""Draws are handed over by their place in the log."""


# ---- what a student's function gets in place of the grader's own ----


class Device:
    """The grader's device from afar: a queue and a clock, and nothing else to look into."""

    def __init__(self, ask: Callable[[str, Any], Any]):
        self._ask = ask
        self._ordered: list[str] = []  # what needs no answer waits for the next question
        self._seconds: float | None = None  # the last answer, which holds until something is ordered
        self._idle = False  # so that waiting changes nothing

    def submit(self, name: str) -> None:
        """Order a run; the call returns at once."""
        self._ordered.append(str(name))
        self._seconds, self._idle = None, False

    def synchronise(self) -> None:
        """Wait until the queue is empty."""
        if not self._idle:
            self._ordered.append("")
            self._seconds, self._idle = None, True

    def now(self) -> float:
        """Seconds on the host's clock, which does not wait."""
        if self._seconds is None:
            ordered, self._ordered = self._ordered, []
            self._seconds = float(self._ask("now", ordered))
        return self._seconds

    time = SimulatedDevice.time


class Mirror(Investigation):
    """The grader's investigation from afar: each step is made there, which has the draws, and then here as well."""

    def __init__(self, ask: Callable[[str, Any], Any]):
        super().__init__()
        self._ask = ask

    def _step(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        answer = self._ask("step", (name, tuple(map(self._stands, arguments)),
                                    {key: self._stands(one) for key, one in keywords.items()}))  # fmt: skip
        self._drawn = answer
        return getattr(super(), name)(*arguments, **keywords)

    def _stands(self, value: Any) -> Any:
        return (DRAWN, self.log.index(value)) if isinstance(value, Drawn) else value

    def _texts(self, *_: Any) -> Any:
        return self._drawn


def _mirrored(name: str) -> Callable[..., Any]:
    def method(self: Mirror, *arguments: Any, **keywords: Any) -> Any:
        return self._step(name, arguments, keywords)

    method.__name__ = name
    return method


for _name in STEPS:
    setattr(Mirror, _name, _mirrored(_name))


# ---- the child ----


class Child:
    """Answers requests about the functions of one notebook."""

    def __init__(self, connection: socket.socket):
        self.connection, self.requests = connection, lines(connection)
        self.namespace: dict[str, Any] = {}
        self.troubles: list[str] = []
        self.compile = Compile()  # keeps in mind what a cell imports from __future__
        self.case = Mirror(self.ask)
        # Kept before anything of the student's runs.
        self.checks = {name: one for name, one in vars(selfcheck).items() if name.startswith("check_")}

    def send(self, message: Any) -> None:
        self.connection.sendall(dumps(message))

    def serve(self) -> None:
        """Until the socket closes."""
        for line in self.requests:
            request = loads(line)
            try:
                answer = {"value": as_plain(getattr(self, request.pop("do"))(**request))}
            except BaseException as problem:
                answer = {"raised": [type(problem).__name__, str(problem)[:2000]]}
            self.send(answer)

    def load(self, cells: list[str], given: list[str], functions: list[str]) -> None:
        """Run what these functions need of the cells."""
        module = types.ModuleType("__main__")
        module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = module
        self.namespace = module.__dict__
        self.namespace["display"] = lambda *shown, **how: None  # which a notebook has without an import
        statements, failed = needed(cells, functions, given), broken(cells)
        for statement in statements:
            self.run(statement)
        written = set().union(*(one.uses.binds for one in statements if one.cell >= 0))
        for name in set(functions) - written:  # what stands for it is the lesson's stub
            for one in failed:
                if re.search(rf"\b{name}\b", cells[one.cell]):
                    self.namespace.pop(name, None)
                    self.troubles.append(f"code cell {one.cell + 1} is no Python: {one.why}")

    def run(self, statement: Statement) -> None:
        """Run a statement, so that its source can be looked up; what comes after may do without it."""
        whose = f"code cell {statement.cell + 1}" if statement.cell >= 0 else "the lesson"
        name, above = f"<{whose}, line {statement.code.lineno}>", statement.code.lineno - 1
        text = ["\n"] * above + [f"{line}\n" for line in statement.text.split("\n")]
        linecache.cache[name] = len(text), None, text, name
        try:
            exec(self.compile(ast.Module([statement.code], []), name, "exec"), self.namespace)  # type: ignore[arg-type]
        except BaseException as problem:
            self.troubles.append(f"{whose} raises {type(problem).__name__}: {problem}"[:500])

    def function(self, name: str) -> Callable[..., Any]:
        if name not in self.namespace:
            why = f": {self.troubles[-1]}" if self.troubles else ""
            raise NameError(f"there is no {name} in this notebook{why}")
        function: Callable[..., Any] = self.namespace[name]
        return function

    def ask(self, what: str, value: Any) -> Any:
        """What the grader answers; an error of its is raised here."""
        self.send({"ask": [what, as_plain(value)]})
        answer = loads(next(self.requests))
        if "raised" in answer:
            kind, text = answer["raised"]
            raise {"OverBudget": OverBudget}.get(kind, ValueError)(text)
        return from_plain(answer["value"])

    def arguments(self, plain: list[Any]) -> list[Any]:
        return [Device(self.ask) if one == {"kind": ["device"]} else from_plain(one) for one in plain]

    # -- requests

    def call(self, name: str, args: list[Any]) -> Any:
        return self.function(name)(*self.arguments(args))

    def verdict(self, name: str, check: str, keywords: Any) -> Any:
        found = self.checks[check](self.function(name), **from_plain(keywords))
        return bool(found), str(found.says)

    def draws(self, name: str, times: int, seed: int, args: list[Any]) -> Any:
        function, rng, given = self.function(name), np.random.default_rng(seed), self.arguments(args)
        return [function(*map(copy, given), rng) for _ in range(times)]

    def texts(self, name: str, times: int, seed: int, args: list[Any]) -> Any:
        function, rng = self.function(name), np.random.default_rng(seed)
        target, draft, context, gamma, n = self.arguments(args)
        return [write(function, target, draft, context, gamma, n, rng) for _ in range(times)]

    def work(self, name: str, revealed: list[str]) -> None:
        for one in revealed:
            if one not in self.case.revealed:
                Investigation.reveal(self.case, one)
        self.function(name)(self.case)


# ---- the zygote ----


def _become_child(connection: socket.socket, cpu: int, megabytes: int, home: str) -> NoReturn:
    """What the forked process does, all its life."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        os.chdir(home)
        os.environ.update(HOME=home, TMPDIR=home, MPLCONFIGDIR=home)
        limit(cpu, megabytes)
        child = Child(connection)
        fence(os.path.realpath(home))
        child.serve()
    finally:
        os._exit(0)


def zygote(descriptor: int) -> None:
    """Fork a child for each request: a line with its limits, beside its socket and a pipe that tells how it ends."""
    for name in ("IPython.core.inputtransformer2", "scipy.stats", "specdec_kit.audit", "shutil", "subprocess"):
        import_module(name)  # once, for all children

    control = socket.socket(fileno=descriptor)
    ends: dict[int, int] = {}  # the pipe of each child that still runs

    def reap(*_: Any) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pipe = ends.pop(ended[0])
                with suppress(BrokenPipeError):  # nobody asks any more
                    os.write(pipe, f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())
                os.close(pipe)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: it is for the grader, who then closes the socket
    signal.signal(signal.SIGCHLD, reap)
    while True:
        message, descriptors, *_ = socket.recv_fds(control, 4096, 2)
        if not message:
            return
        cpu, megabytes, home = message.decode().split(" ", 2)
        connection, pipe = descriptors
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if not pid:
            control.close()
            for one in (pipe, *ends.values()):
                os.close(one)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            _become_child(socket.socket(fileno=connection), int(cpu), int(megabytes), home)
        ends[pid] = pipe
        os.close(connection)
        os.write(pipe, f"{pid}\n".encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
