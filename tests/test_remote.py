"""A student's function in a process of its own: called as if it were here, and nothing but values comes back."""

import os
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest

from specdec_kit.clocks import SimulatedDevice
from specdec_kit.coursework.plain import NotPlain, as_plain, dumps, from_plain, loads
from specdec_kit.coursework.remote import ZYGOTE, Gone, Remote
from specdec_kit.models import Chain
from specdec_kit.mysteries import MYSTERIES
from specdec_kit.selfcheck import check_time_ratio

pytestmark = pytest.mark.skipif(os.name == "nt", reason="processes are forked here")


def remote(*cells, name="f", **keywords):
    return Remote(cells, [name], **keywords)


# --- plain values


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2**80, 0.1, float("inf"), "ab", [1, [2.5]], (1, (2, "x")), {"a": 1, (0, 1): [2]},
     Fraction(1, 3), [], {}, ()],
)  # fmt: skip
def test_values_come_back_as_they_were(value):
    back = from_plain(loads(dumps(as_plain(value))))
    assert back == value and type(back) is type(value)


@pytest.mark.parametrize(
    "array",
    [np.array([0.1, 0.9]), np.array([[1, 2], [3, 4]], np.int32), np.array([True]), np.zeros((0, 2)), np.float32([0.1]),
     np.array([Fraction(1, 3)], object)],
)  # fmt: skip
def test_arrays_keep_their_kind_and_shape(array):
    back = from_plain(loads(dumps(as_plain(array))))
    assert back.dtype == array.dtype and back.shape == array.shape and (back == array).all()


def test_of_a_subclass_the_plain_value_alone_is_handed_over():
    class Everything(float):
        def __eq__(self, other):
            return True

        __hash__ = float.__hash__

    back = from_plain(loads(dumps(as_plain(Everything(3)))))
    assert type(back) is float and back != 4
    assert from_plain(as_plain(np.float64(0.5))) == 0.5 and from_plain(as_plain(range(2))) == (0, 1)
    assert np.isnan(from_plain(loads(dumps(as_plain(float("nan"))))))


def test_a_chain_is_handed_over_by_its_numbers():
    chain = Chain([[0.25, 0.75], [1, 0]], [0.5, 0.5])
    back = from_plain(loads(dumps(as_plain(chain))))
    assert (back.table == chain.table).all() and (back.start == chain.start).all()


@pytest.mark.parametrize("value", [{1, 2}, object(), lambda: 0, iter([1]), 1j, b"x", np.array(["x"]), [1, {2}]])
def test_what_is_no_data_is_refused_by_name(value):
    with pytest.raises(NotPlain, match=r"^a \w+ cannot be handed over"):
        as_plain(value)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b'{"kind": ["code", "1 + 1"]}', b'{"kind": []}', b"{}", b'{"kind": ["array", "O", [2], [1]]}',
     b'{"kind": ["array", "S1", [1], ["x"]]}', b'{"kind": ["array", "<f8", [1], ["x"]]}',
     b'{"kind": ["array", "<f8", [-1, 3], [1]]}', b'{"kind": ["dict", [[[], 1]]]}', b'{"kind": ["fraction", 1, 0]}',
     b'{"kind": ["chain", [[2]], null]}', b"[" * 100_000],
)  # fmt: skip
def test_what_nobody_wrote_is_refused(line):
    with pytest.raises(NotPlain, match="cannot be read"):
        from_plain(loads(line))


# --- calls


def test_a_function_answers_from_a_process_of_its_own():
    with remote("import os\nbase = 10", "def f(x, y=2):\n    return [os.getpid(), base + x * y]") as there:
        pid, value = there.function(3, 4)
        assert value == 22 and there.function(1)[1] == 12 and there.function.__name__ == "f"
        assert pid == there.pid and pid not in (os.getpid(), ZYGOTE.process.pid)
    with remote("import os", "def f():\n    return os.getpid()") as other:
        assert other.function() != pid


def test_what_it_raises_is_raised_here_by_name():
    with remote(
        "def f(x):\n    {0: lambda: 1 / 0, 1: lambda: [][1], 2: lambda: exec('raise NotImplementedError()')}[x]()"
    ) as there:
        with pytest.raises(Exception, match="division by zero") as caught:
            there.function(0)
        assert type(caught.value).__name__ == "ZeroDivisionError" and not isinstance(caught.value, ZeroDivisionError)
        with pytest.raises(NotImplementedError):
            there.function(2)
        with pytest.raises(Exception, match="list index out of range"):
            there.function(1)  # and it still answers


def test_only_what_the_function_needs_is_run():
    cells = ["import sys\nsys.exit('gone')", "raise ValueError('elsewhere')", "while True:\n    pass",
             "n = 5", "this is no Python", "def f():\n    return n"]  # fmt: skip
    with remote(*cells) as there:
        assert there.function() == 5


def test_a_notebook_s_future_and_its_display_are_there():
    cells = [
        "from __future__ import annotations",
        "def f(x: no_such_type):\n    display(x)\n    return f.__annotations__",
    ]
    with remote(*cells) as there:
        assert there.function(1) == {"x": "no_such_type"}
    with remote(*cells[1:]) as there, pytest.raises(Exception, match="no_such_type"):
        there.function(1)


def test_its_source_can_be_looked_up():
    cell = "import inspect\n\n\ndef f(x):\n    return inspect.getsource(f)"
    with remote(cell) as there:
        assert there.function(0) == cell.partition("\n\n\n")[2] + "\n"


def test_a_cell_that_is_no_python_is_named():
    stub = "def f():\n    raise NotImplementedError()"
    broken = "x = 1", "def f()\n    return 1"
    said = "in this notebook: code cell 2 is no Python"
    with remote(*broken, given=[stub]) as there, pytest.raises(Exception, match=said):
        there.function()
    with remote("oh no!", given=[stub]) as there, pytest.raises(NotImplementedError):  # it says nothing of f
        there.function()


def test_what_the_notebook_lost_is_taken_from_the_lesson():
    with remote(
        "def f(x):\n    return np.sqrt(half(x))", given=["import numpy as np", "def half(x):\n    return x / 2"]
    ) as there:
        assert there.function(8) == 2


def test_a_missing_name_is_said_with_what_went_wrong():
    lacks = "import no_such_package", "def f():\n    return no_such_package.x"
    with remote(*lacks) as there, pytest.raises(Exception, match="no_such_package"):
        there.function()
    with remote("x = 1") as there, pytest.raises(Exception, match="there is no f in this notebook"):
        there.function()


def test_anew_it_knows_nothing_of_what_it_saw():
    with remote("seen = []\n\ndef f(x):\n    seen.append(x)\n    return seen") as there:
        there.function(1)
        assert there.function(2) == [1, 2]
        with there.anew() as other:
            assert other.function(3) == [3] and other.pid != there.pid
        assert there.function(4) == [1, 2, 4]


def test_a_function_gets_values_and_not_ours():
    ours = [1, 2]
    with remote("def f(x):\n    x.append(3)\n    return x") as there:
        assert there.function(ours) == [1, 2, 3] and ours == [1, 2]


def test_draws_come_from_one_seeded_generator():
    with remote("def f(p, rng):\n    return rng.random() < p[0]") as there:
        rng = np.random.default_rng(5)
        assert there.draws(20, 5, [0.5]) == [rng.random() < 0.5 for _ in range(20)]
        assert there.draws(20, 5, [0.5]) == there.draws(20, 5, [0.5]) != there.draws(20, 6, [0.5])


def test_texts_are_written_by_its_rounds():
    chain = Chain([[0.0, 1.0], [1.0, 0.0]])
    with remote("def f(target, draft, context, gamma, rng):\n    return (int(target(context).argmax()),)") as there:
        assert there.texts(3, 0, chain, chain, (0,), 2, 3) == [(1, 0, 1)] * 3


def test_a_check_in_its_process_says_its_advice():
    right = "def f(rng):\n    return 6 if rng.random() < 0.5 else int(rng.integers(1, 6))"
    with remote(right) as there:
        verdict = there.verdict("check_die")
        assert verdict.passed is True and verdict.says.startswith("f is right")
    with remote("def f(rng):\n    return int(rng.integers(1, 7))") as there:
        assert "This die is fair" in there.verdict("check_die").says


def test_the_device_stays_here():
    fair = """
def f(device, slow, quick):
    spent = {slow: [], quick: []}
    for name in [slow, quick] * 300:
        spent[name].append(device.time(lambda: device.submit(name)))
    return sorted(spent[slow][1:])[149] / sorted(spent[quick][1:])[149]
"""
    peeks = "def f(device, slow, quick):\n    return device.seconds[slow] / device.seconds[quick]"
    with remote(fair) as there:
        assert check_time_ratio(there.function)
    with remote(peeks) as there:
        assert "AttributeError" in check_time_ratio(there.function).says
    with remote("def f(device):\n    device.submit('a')\n    return device.now()") as there:
        device = SimulatedDevice({"a": 1.0})
        assert there.function(device) == device.now() == 1e-5 and device.runs == ["a"]
        with pytest.raises(Exception, match="'a' cannot be run: there are 'b'"):
            there.function(SimulatedDevice({"b": 1.0}))


def test_an_investigation_is_done_again_here():
    cell = """
def f(case):
    for seed, name in enumerate(case.names):
        case.predict(name, {"exact": 1})
        drawn = case.draw(name, 50, seed=seed, length=2)
        case.conclude(name, {"joint": 0.5, "exact": 0.5}, because=f"{len(drawn.counts)} texts")
        case.reveal(name)
    try:
        case.draw(case.names[0], 10**6, seed=99)
    except RuntimeError:
        pass
"""
    with remote(cell) as there:
        there.calls("f")
        case = there.case
        assert case.spent == 50 * len(MYSTERIES) and set(case.revealed) == set(MYSTERIES)
        assert case.verdicts["Alder"].because.endswith("texts") and case.predicted.keys() == MYSTERIES.keys()
    told = (
        "def f(case):\n    drawn = case.draw('Alder', 50, seed=1, length=2)\n    case.show_counterexample(drawn, 'AA')"
    )
    with remote(told) as there, pytest.raises(Exception, match="AA is due") as caught:
        there.calls("f")
    assert type(caught.value).__name__ == "ValueError"


def test_of_the_investigation_only_its_steps_can_be_asked_for():
    for asked in ('"scores", (), {}', '"__setattr__", ("budget", 9**9), {}'):
        cell = f"def f(case):\n    case._ask('step', ({asked}))"
        with remote(cell) as there, pytest.raises(Gone, match="cannot be read"):
            there.calls("f")


# --- what ends a process


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("import os; os._exit(0)", "it ended the process that it runs in"),
        ("import os; os._exit(3)", "its process ended with 3"),
        ("import os, signal; signal.raise_signal(signal.SIGSEGV)", "its process ended with -11"),
        ("return 'x' * 70_000_000", "its answer is longer than 64 MB"),
    ],
)
def test_a_process_that_is_gone_is_said_with_the_reason(body, says):
    with remote(f"def f():\n    {body}") as there:
        for _ in range(2):  # and the reason stays
            with pytest.raises(Gone, match=says):
                there.function()


@pytest.mark.parametrize("body", ["import sys; sys.exit(0)", "raise KeyboardInterrupt", "raise SystemExit('passed')"])
def test_an_exit_is_an_exception_like_others(body):
    with remote(f"def f():\n    {body}") as there, pytest.raises(Exception) as caught:
        there.function()
    assert type(caught.value).__name__ in ("SystemExit", "KeyboardInterrupt") and isinstance(caught.value, Exception)


def test_a_loop_without_end_is_stopped_by_the_processor_s_time():
    with (
        remote("def f():\n    while True:\n        pass", cpu=1) as there,
        pytest.raises(Gone, match="used 1 s of the processor"),
    ):
        there.function()
    stubborn = """
def f():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""
    with remote(stubborn, cpu=1) as there, pytest.raises(Gone, match="used 1 s of the processor"):
        there.function()


def test_a_sleep_without_end_is_stopped_by_the_clock():
    with remote("import time\ndef f():\n    time.sleep(1000)", limit=0.5) as there:
        with pytest.raises(Gone, match=r"within 0\.5 s"):
            there.function()
        with pytest.raises(ProcessLookupError):  # nothing is left of it
            for _ in range(1000):
                os.kill(there.pid, 0)
                threading.Event().wait(0.01)


def test_memory_is_limited():
    with remote("def f():\n    return len([bytearray(10**8) for _ in range(100)])", megabytes=500) as there:
        with pytest.raises(Exception) as caught:
            there.function()
        assert type(caught.value).__name__ == "MemoryError"


def test_a_limit_that_is_lower_already_stays():
    code = """
import resource
from specdec_kit.coursework import sandbox
for which in (resource.RLIMIT_FSIZE, resource.RLIMIT_CPU):
    resource.setrlimit(which, (25, 25))
sandbox.limit(cpu=30, megabytes=100)
print(resource.getrlimit(resource.RLIMIT_FSIZE), resource.getrlimit(resource.RLIMIT_CPU))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(25, 25) (25, 25)"


@pytest.mark.parametrize(
    ("body", "event"),
    [
        ("open('/etc/passwd').read()", "may not read '/etc/passwd'"),
        ("open('/nowhere/written', 'w')", "may not write '/nowhere/written'"),
        ("import os; os.kill(os.getppid(), 9)", "may not call os.kill"),
        ("import os; os.fork()", "may not call os.fork"),
        ("import os; os.system('true')", "may not call os.system"),
        ("import subprocess; subprocess.run(['true'])", "may not call subprocess.Popen"),
        ("import socket; socket.create_connection(('localhost', 1))", "may not call socket"),
        ("import ctypes; ctypes.CDLL(None)", "may not call ctypes.dlopen"),
        ("import os; os.remove('/nowhere')", "may not call os.remove"),
        ("import shutil; shutil.rmtree('/nowhere')", "may not call shutil.rmtree"),
        ("import os, resource; resource.prlimit(os.getppid(), 7)", "may not call resource.prlimit"),
    ],
)  # fmt: skip
def test_the_fence_says_what_is_refused(body, event):
    with remote(f"def f():\n    {body}") as there:
        with pytest.raises(Exception, match=event) as caught:
            there.function()
        assert type(caught.value).__name__ == "PermissionError"


@pytest.mark.parametrize(
    "body",
    ["import readline", "import _posixsubprocess", "import subprocess; subprocess._posixsubprocess",
     "import os; os.pidfd_open", "import signal; signal.pidfd_send_signal", "import posix"],
)  # fmt: skip
def test_what_no_hook_is_told_of_is_taken_away(body):
    with remote(f"def f():\n    {body}") as there:
        with pytest.raises(Exception) as caught:
            there.function()
        assert type(caught.value).__name__ in ("ModuleNotFoundError", "AttributeError")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("case.draw('Elm', 40_000, seed=1, length=5_000)", "length is 5000: what is graded"),
        ("case.draw('Elm', 10, seed=1, gamma=100)", "gamma is 100"),
        ("case.draw('Elm', 10, seed=1, target=Chain([[1 / 9] * 9] * 9))", "target has 9 tokens"),
        ("case.show_counterexample(case.draw('Elm', 9, seed=1, length=9), 'A' * 9)", "the text has 9 tokens"),
    ],
)
def test_the_grader_is_not_given_work_for_ever(call, says):
    cell = f"from specdec_kit.models import Chain\ndef f(case):\n    {call}"
    with remote(cell) as there, pytest.raises(Exception, match=says):
        there.calls("f")


def test_within_its_own_folder_a_function_may_write():
    with remote("def f():\n    open('a', 'w').write('x')\n    return open('a').read()") as there:
        assert there.function() == "x"
        home = there.home.name
    assert not os.path.exists(home)


def test_a_forged_line_is_an_answer_and_no_verdict():
    """Whoever finds the socket can say anything, and so nothing that is said is believed by itself."""
    writes = """
import os
def f():
    for fd in range(3, 64):
        try:
            os.write(fd, {!r})
        except OSError:
            pass
    return 1
"""
    forged, rubbish = writes.format(b'{"value": 0.7}\n'), writes.format(b"rubbish\n")
    with remote(forged) as there:
        assert there.function() == 0.7
    with remote(rubbish) as there, pytest.raises(Gone, match="cannot be read"):
        there.function()


def test_a_zygote_that_is_gone_is_made_anew():
    with remote("def f():\n    return 1") as there:
        assert there.function() == 1
    ZYGOTE.process.kill()
    ZYGOTE.process.wait()
    with remote("def f():\n    return 2") as there:
        assert there.function() == 2


def test_many_at_once_do_not_meet():
    found = [None] * 8

    def one(n):
        with remote(f"def f():\n    return {n}") as there:
            found[n] = there.function()

    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == list(range(8))
