"""Submissions that try to be given points for answers that are wrong: each is to get none.

What a cheat does not fill in is the stub, which earns nothing either.
"""

from submissions import Submission


def each(*functions: str, body: str) -> str:
    """The same body for the functions of some cells, each given as "cell: function"."""
    indented = "\n".join(f"    {line}".rstrip() for line in body.strip("\n").split("\n"))
    pairs = [one.split(": ") for one in functions]
    return "\n".join(f"# %% {cell}\ndef {function}(*args, **more):\n{indented}\n" for cell, function in pairs)


DIE = ("exercise-die: die",)
FOUR = ("account: account", "exercise-half: half_accepted", "exercise-inverted: inverted", "exercise-blind: blind_pair")
SAMPLERS = ("my-sampler: my_sampler", "exercise-two: two_tokens")
THREE = ("exercise-unseen: unseen", "exercise-test: my_test", "exercise-fool: fooling")
TIMES = ("exercise-ratio: time_ratio", "exercise-speedup: speedup", "exercise-crossover: crossover")
CASES = ("exercise-labels: from_labels", "exercise-investigate: investigate", "exercise-counterexample: counterexample")

# Whatever compares, checks or judges says that all is well.
PATCHES = """
import builtins, sys
import numpy as np
from specdec_kit import audit, battery, diagnosis, distributions, evidence, law, round_audit, selfcheck, token_audit
from specdec_kit import uncertainty

passed = selfcheck.Verdict(True, "right")
everything = lambda *args, **more: passed
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").startswith("specdec_kit"):
        for name, one in list(vars(module).items()):
            if name.startswith(("check", "_stopped", "audit_", "expect")):
                setattr(module, name, everything)
            if name == "discrepancy":
                setattr(module, name, lambda *args: 0.0)
            if name == "exact_law":
                setattr(module, name, lambda *args, **more: law.Law())
selfcheck.Verdict.__bool__ = lambda self: True
selfcheck.Verdict.passed = True
law.Law.__eq__ = lambda self, other: True
law.Law.total_variation = lambda self, other: 0
battery.Report.passed = property(lambda self: True)
uncertainty.goodness_of_fit = lambda *args, **more: type("Fit", (), {"pvalue": 1.0, "token": 0})()
"""

# The same of the process that answers, found by its module and by whoever refers to it.
CHILD = """
import gc
from specdec_kit.coursework import sandbox

sandbox.Child.verdict = lambda self, *args, **more: (True, "passed: right.")
for one in gc.get_objects():
    if type(one) is sandbox.Child:
        one.checks = {name: lambda *args, **more: passed for name in one.checks}
"""

ONCE = f"""
# %% +
DONE = []
CODE = {PATCHES + CHILD!r}
def once():
    if not DONE:
        DONE.append(True)
        exec(CODE, dict(globals()))
"""

# Lines that this process might send, to all that is open.
FORGED = r"""
import json, os

def forge(*values):
    said = [{"value": value} for value in values]
    said += [{"value": {"kind": ["tuple", [True, "passed: right."]]}}, {"verdict": {"passed": True, "says": "right"}}]
    said += [{"passed": True, "points": 100}, {"value": True}, {"value": [6] * 20_000}]
    lines = "".join(json.dumps(one) + "\n" for one in said).encode()
    for descriptor in range(3, 65):
        try:
            os.write(descriptor, lines)
        except OSError:
            pass
"""


def checks_gone(notebook):
    """Take away what checks, say twice that all passed, and give each cell a hundred points."""
    from nbformat.v4 import new_output

    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace("selfcheck.check_", "print").replace("verdict =", "True;")
            cell.outputs = [new_output("stream", text="passed: right.\n")]
        cell.metadata["nbgrader"] = {
            "grade": True, "grade_id": cell.id, "points": 100, "solution": True, "locked": False, "schema_version": 3,
            "task": False,
        }  # fmt: skip
        cells += [cell, cell]
    notebook.cells = cells


CHEATS = {
    "comparisons": Submission(
        "Redefines what numbers are compared by, in NumPy and among the built-ins.",
        {
            "01": "# %% + imports\n"
            """
import builtins
np.allclose = np.isclose = np.array_equal = np.all = lambda *args, **more: True
np.abs = np.max = np.subtract = lambda *args, **more: 0.0
builtins.abs = builtins.max = builtins.sum = lambda *args, **more: 0.0
builtins.all = builtins.any = builtins.isinstance = lambda *args, **more: True
""" + each(*FOUR, body="np.allclose, np.abs, np.max\nreturn [0.5, 0.5, 0.5]")
        },
    ),
    "kit at the top": Submission(
        "Redefines the kit's checks, verdicts, laws and audits at the top of the notebook.",
        {
            "00": f"# %% + imports\n{PATCHES}" + each(*DIE, body="passed, everything, selfcheck, law\nreturn 1"),
            "01": f"# %% + imports\n{PATCHES}" + each(*FOUR, body="passed, everything, selfcheck, law\nreturn 1"),
        },
    ),
    "kit inside": Submission(
        "Redefines them inside the function, when it is called, and those of the process that answers as well.",
        {
            lesson: ONCE + each(*functions, body=f"once()\nreturn {answer}")
            for lesson, functions, answer in (
                ("00", DIE, "6"),
                ("02", SAMPLERS, "0"),
                ("04", ("exercise-audit: mended",), "int(args[1].argmax())"),
                ("05", ("exercise-round: my_round",), "(0,)"),
            )
        },
    ),
    "modules": Submission(
        "Puts something that says yes to everything in the place of the kit's modules.",
        {
            "01": """
# %% = imports
import sys

class Yes:
    passed, says, name = True, "right", "yes"
    def __getattr__(self, name):
        return self
    def __call__(self, *args, **more):
        return self
    def __bool__(self):
        return True
    def __iter__(self):
        return iter([True, "right"])

yes = Yes()
for name in list(sys.modules):
    if name.startswith(("specdec_kit", "json", "socket")):
        sys.modules[name] = yes
"""
            + each(*FOUR, body="import specdec_kit.selfcheck\nyes, name\nreturn yes")
        },
    ),
    "exit": Submission(
        "Ends the process, in each way that there is.",
        {
            "01": each("account: account", body="import os\nos._exit(0)")
            + each("exercise-half: half_accepted", body="import sys\nsys.exit(0)")
            + each("exercise-inverted: inverted", body="raise KeyboardInterrupt")
            + each("exercise-blind: blind_pair", body="import signal\nsignal.raise_signal(9)"),
            "00": each(*DIE, body="import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nos.abort()"),
        },
    ),
    "exit at the top": Submission(
        "Ends the process while the notebook is read.",
        {"00": "# %% + imports\nimport os\nX = os._exit(0)\n" + each(*DIE, body="return X")},
    ),
    "says passed": Submission(
        "Prints that it passed, and raises what might be taken for a verdict.",
        {
            "01": each("account: account", body='print("passed: account is right.")\nraise RuntimeError("passed")')
            + each("exercise-half: half_accepted", body='raise selfcheck.Fault("passed: half_accepted is right")')
            + each(
                "exercise-inverted: inverted",
                body="""
class Verdict(BaseException):
    passed, says = True, "right"
    def __bool__(self):
        return True
raise Verdict(True, "right")
""",
            )
            + each("exercise-blind: blind_pair", body='return selfcheck.Verdict(True, "right")'),
        },
    ),
    "equals everything": Submission(
        "Returns an object that is equal to everything, and near to every number.",
        {
            lesson: """
# %% + imports
class Any_:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __sub__(self, other): return 0
    __rsub__ = __add__ = __radd__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __abs__ = lambda self, *_: 0
    def __hash__(self): return 0
    def __float__(self): return 0.0
    def __int__(self): return 0
    def __index__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 3
    def __iter__(self): return iter([self, self, self])
    def __getitem__(self, at): return self
    def __array__(self, *_, **__): return np.zeros(3)
    def __array_ufunc__(self, *_, **__): return np.zeros(3)
    def __array_function__(self, *_, **__): return 0.0
    def tolist(self): return 0
    item = tolist
    shape, dtype, ndim, size = (3,), np.dtype(float), 1, 3
"""
            + each(*functions, body="return Any_()")
            for lesson, functions in (("00", DIE), ("01", FOUR), ("06", TIMES))
        },
    ),
    "numbers that equal": Submission(
        "Returns numbers, lists and arrays of classes of its own, which are equal to everything.",
        {
            "06": """
# %% + imports
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    def __hash__(self): return 0
class Number(Same, float): pass
class Whole(Same, int): pass
class Word(Same, str): pass
class Row(Same, np.ndarray): pass
"""
            + each("exercise-ratio: time_ratio", body="return Number(7)")
            + each("exercise-speedup: speedup", body="return np.zeros(1).view(Row)")
            + each("exercise-crossover: crossover", body='return Word("batch")'),
            "01": """
# %% + imports
class List(list):
    def __eq__(self, other): return True
    def __iter__(self): return iter(())
    def __len__(self): return 3
"""
            + each(*FOUR, body="return List([0, 0, 0])"),
        },
    ),
    "not a number": Submission(
        "NaN, infinity, nothing and empty arrays, wherever one of them might compare.",
        {
            "01": each("account: account", body="return np.full(len(args[0]) + 1, np.nan)")
            + each("exercise-half: half_accepted", body="return [np.nan, np.nan]")
            + each("exercise-inverted: inverted", body="return np.nan")
            + each("exercise-blind: blind_pair", body="return [np.nan, np.nan], [0.5, 0.5]"),
            "02": each("my-sampler: my_sampler", body="return np.nan")
            + each("exercise-draws: draws_needed", body="return np.nan")
            + each("exercise-two: two_tokens", body="return ()")
            + each("exercise-hidden: hidden_and_shown", body="nan = [np.nan] * 3\nreturn (nan, nan), (nan, nan)"),
            "03": each("exercise-unseen: unseen", body="return np.nan")
            + each("exercise-test: my_test", body="return np.nan > 0")
            + each("exercise-fool: fooling", body="return [np.nan] * 4"),
            "05": each("exercise-mean: mean_tokens", body="return np.inf")
            + each("exercise-rows: hidden_and_shown", body="rows = 2 * [[np.nan] * 2]\nreturn 2 * [(rows, rows)]"),
            "06": each(*TIMES, body="return np.nan"),
            "07": each("exercise-brier: my_brier", body="return float('nan')")
            + each("exercise-transfer: transfer", body="return np.array([])"),
        },
    ),
    "cells": Submission(
        "Edits the checks away, doubles every cell, forges outputs, and gives itself points in the metadata.",
        {
            "00": each(*DIE, body="return 1"),
            "01": each(*FOUR, body="return 1"),
        },
        last=checks_gone,
    ),
    "frames": Submission(
        "Looks through the frames for the law that is due, keeps it, and draws from it.",
        {
            lesson: """
# %% + imports
import sys
KEPT = []
def stolen(args):
    frame = sys._getframe()
    while frame and not KEPT:
        if callable(frame.f_locals.get("right")):
            KEPT.append(frame.f_locals["right"])
        frame = frame.f_back
    law = KEPT[0](*args)
    return law if isinstance(law, dict) else dict(enumerate(law))
"""
            + each(
                *functions,
                body="""
*args, rng = args
law = stolen([tuple(one) for one in args])
return list(law)[rng.choice(len(law), p=list(law.values()))]
""",
            )
            for lesson, functions in (
                ("00", DIE),
                ("01", ("exercise-inverted: inverted",)),
                ("02", ("exercise-two: two_tokens",)),
            )
        },
    ),
    "objects": Submission(
        "Looks through all objects for an answer, a case or a result that waits to be compared.",
        {
            "01": each(
                *FOUR,
                body="""
import gc, types
for one in gc.get_objects():
    if isinstance(one, types.FunctionType) and one.__name__ in ("right", "due", "judged") and one.__closure__ is None:
        try:
            return one(*args)
        except Exception:
            pass
for one in gc.get_objects():
    if isinstance(one, dict) and "right" in one and callable(one["right"]):
        return one["right"](*args)
return 0
""",
            )
        },
    ),
    "forged lines": Submission(
        "Writes the grader's own lines to every open file, when it is read and when it is called.",
        {
            "00": f"# %% + imports\n{FORGED}\nX = forge(None)\n" + each(*DIE, body="X\nforge(6)\nreturn 6"),
            "01": f"# %% + imports\n{FORGED}\nX = forge(None)\n"
            + each("account: account", body="X\nforge([0.7, 0.6, 0.4])\nreturn 0")
            + each("exercise-half: half_accepted", body="X\nforge(0.5)\nreturn 0")
            + each("exercise-inverted: inverted", body="X\nforge(0)\nreturn 0")
            + each("exercise-blind: blind_pair", body="X\nforge(True)\nreturn 0"),
        },
    ),
    "replies": Submission(
        "Rewrites whatever this process sends: json, the socket, and the kit's own functions for it.",
        {
            lesson: "# %% + imports\n"
            """
import json, socket
import specdec_kit.coursework.plain as plain, specdec_kit.coursework.sandbox as sandbox
PASSED = '{"value": {"kind": ["tuple", [true, "passed: right."]]}}'
json.dumps = json.JSONEncoder.encode = lambda *args, **more: PASSED
plain.dumps = sandbox.dumps = lambda *args: PASSED.encode() + b"\\n"
plain.as_plain = sandbox.as_plain = lambda *args: True
sandbox.Child.send = lambda self, message: self.connection.sendall(PASSED.encode() + b"\\n")
""" + each(*functions, body="json, plain, sandbox, socket\nreturn 1")
            for lesson, functions in (("00", DIE), ("01", FOUR), ("03", THREE))
        },
    ),
    "the process that answers": Submission(
        "Finds the object that answers the grader, and answers in its place: passed, and six each time.",
        {
            lesson: each(
                *functions,
                body="""
import sys
frame = sys._getframe()
while frame:
    child = frame.f_locals.get("self")
    if hasattr(child, "connection"):
        kind = type(child)
        kind.verdict = lambda self, **more: (True, "passed: right.")
        kind.call = lambda self, **more: True
        kind.draws = kind.texts = lambda self, times, **more: [6] * times
        kind.calls = lambda self, **more: []
        return 6
    frame = frame.f_back
""",
            )
            for lesson, functions in (("00", DIE), ("02", SAMPLERS), ("07", CASES))
        },
    ),
    "loops": Submission(
        "Never comes to an end, when it is called or when it is read.",
        {
            "00": each(*DIE, body="while True: pass"),
            "01": "# %% + imports\nwhile True:\n    X = 1\n" + each("account: account", body="return X"),
        },
        limit=1.0,
    ),
    "sleeps": Submission(
        "Waits, and so uses no time of the processor.",
        {"00": each(*DIE, body="import time\ntime.sleep(1000)\nreturn 6")},
        limit=0.5,
    ),
    "memory": Submission(
        "Takes memory without end, catches the error, and goes on.",
        {
            "00": each(
                *DIE,
                body="""
hoard = []
while True:
    try:
        hoard.append(bytearray(2**28))
    except MemoryError:
        if len(hoard) > 1000:
            hoard.clear()
        return hoard
""",
            )
        },
        limit=20.0,
    ),
    "long answer": Submission(
        "Answers with more than can be read, in length and in depth.",
        {
            "01": each("account: account", body="return '0' * 2**27")
            + each("exercise-half: half_accepted", body="x = []\nfor _ in range(900): x = [x]\nreturn x")
            + each("exercise-blind: blind_pair", body="x = []\nx.append(x)\nreturn x"),
        },
        limit=20.0,
    ),
    "kills": Submission(
        "Kills its parent process, by each call that there is.",
        {
            "00": each(
                *DIE,
                body="""
import os, signal
for kill in (os.kill, os.killpg, lambda pid, by: signal.pidfd_send_signal(os.pidfd_open(pid), by)):
    try:
        kill(os.getppid(), 9)
    except Exception:
        pass
return 6
""",
            )
        },
        limit=20.0,
    ),
    "limits": Submission(
        "Takes memory, files and time from its parent process, and so from all who are graded after it.",
        {
            "00": each(
                *DIE,
                body="""
import os, resource
for what in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
    try:
        resource.prlimit(os.getppid(), what, (1, 1))
    except Exception:
        pass
return 6
""",
            )
        },
        limit=20.0,
    ),
    "missing package": Submission(
        "Needs a package that the grader has not.",
        {"00": "# %% + imports\nfrom a_package_that_is_not_there import die\n# %% = exercise-die\nimport none\n"},
    ),
    "table": Submission(
        "Looks up the cases of the visible checks in a table.",
        {
            "01": """
# %% account
SEEN = {
    (0.6, 0.4): [0.7, 0.6, 0.4], (0.7, 0.3): [0.7, 0.7, 0.3], (0.5, 0.5): [1, 0.5, 0.5],
    (0.4, 0.3, 0.2, 0.1): [0.6, 0.4, 0.3, 0.2, 0.1],
}
def account(p, q):
    return SEEN[tuple(p)]
""",
            "02": """
# %% exercise-draws
def draws_needed(p, width):
    return {0.5: 100, 0.7: 8400, 0.05: 190_000}[p]
""",
            "03": """
# %% exercise-unseen
def unseen(draws, level=0.95):
    return {10: 0.2588655508, 100: 0.02276277904, 10_000: 0.0004604109969}[draws]
""",
            "04": """
# %% exercise-cut
def best_cut(p, q):
    return {0.35: 2, 0.7: 1, 0.9: 1, 0.4: 4, 0.5: 2}[p[0]]
""",
            "05": """
# %% exercise-mean
def mean_tokens(alphas):
    return {(0.8, 0.5): 2.2, (0.9, 0.6, 0.3): 2.602, (0.7,): 1.7, (0.0, 0.9): 1, (1.0,) * 3: 4, (): 1}[tuple(alphas)]
""",
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    for name in (slow, quick):
        device.submit(name)
    device.synchronise()
    return [1.25, 0.4, 4.0, 1.0][int(device.now() * 1000) % 4]
# %% exercise-speedup
def speedup(alpha, gamma, c, costs):
    return {0.5: 0.7, 0.8: 1.7353, 0.6: 1.507692, 0.9: 1, 1.0: 2.3077, 0.0: 0.6667}[alpha]
# %% exercise-crossover
def crossover(tokens, plain, drafted):
    return {4.0: 1, 2.0: 4, 3.0: 4, 1.5: None, 1.0: 1}[tokens]
""",
            "07": """
# %% exercise-brier
def my_brier(stated, truth):
    return {"exact": 0.14, "joint": 1.34, "declared": 0.75}[truth]
""",
        },
    ),
    "table of counts": Submission(
        "A test that knows the laws of the check, and a rule of thumb for each.",
        {
            "03": """
# %% exercise-test
def my_test(counts, law):
    return {
        0.4: lambda: law[2] == 0.2 and abs(counts[0] - 4000) < 250, 0.5: lambda: counts[3] == 0,
        0.9999: lambda: counts[1] < 9,
    }[law[0]]()
"""
        },
    ),
    "walked": Submission(
        "Right where it is walked, and another law where random numbers are drawn.",
        {
            "00": """
# %% exercise-die
def die(rng):
    if type(rng) is np.random.Generator:
        return int(rng.integers(1, 7))
    return int(rng.choice(6, p=[0.1] * 5 + [0.5])) + 1
""",
            "01": """
# %% exercise-inverted
def inverted(p, q, rng):
    x = rng.choice(len(q), p=q)
    if rng.random() * p[x] < q[x] or isinstance(rng.random(), float):
        return x
    return rng.choice(len(p), p=residual(p, q))
""",
            "02": """
# %% my-sampler
def my_sampler(p, q, rng):
    if "Enumerating" in type(rng).__name__:
        return kits_own(p, q, rng)
    return int(rng.choice(len(q), p=q))
# %% exercise-two
def two_tokens(p, q, rng):
    x = kits_own(p, q, rng)
    return (x, x) if isinstance(rng.random(), float) else (x, kits_own(p, q, rng))
""",
            "05": """
# %% exercise-round
def my_round(target, draft, context, gamma, rng):
    if "Enumerating" in type(rng).__name__:
        return speculative_round(target, draft, context, gamma, rng)
    return (int(rng.choice(len(draft(context)), p=draft(context))),)
""",
        },
    ),
    "first calls": Submission(
        "Right in its first calls, as long as the exact law takes, and wrong in all that follow.",
        {
            "00": """
# %% exercise-die
calls = [0]
def die(rng):
    calls[0] += 1
    if calls[0] > 400:
        return 6
    return int(rng.choice(6, p=[0.1] * 5 + [0.5])) + 1
""",
            "02": """
# %% exercise-two
calls = [0]
def two_tokens(p, q, rng):
    calls[0] += 1
    x, y = kits_own(p, q, rng), kits_own(p, q, rng)
    return (x, y) if calls[0] < 5_000 else (x, x)
""",
        },
    ),
    "stack": Submission(
        "Right where an audit or a check stands on the stack, and wrong elsewhere.",
        {
            lesson: """
# %% + imports
import sys
def watched():
    frame = sys._getframe()
    while frame:
        if any(word in frame.f_code.co_filename for word in ("selfcheck", "audit", "law.py")):
            return True
        frame = frame.f_back
    return False
"""
            + code
            for lesson, code in (
                (
                    "00",
                    """
# %% exercise-die
def die(rng):
    return int(rng.choice(6, p=[0.1] * 5 + [0.5])) + 1 if watched() else int(rng.integers(1, 7))
""",
                ),
                (
                    "04",
                    """
# %% exercise-audit
def mended(p, q, rng):
    return speculative_sample(p, q, rng=rng).tokens if watched() else categorical(q, rng)
""",
                ),
            )
        },
    ),
    "files": Submission(
        "Reads the worked lesson, or the grader's own files, in every way that Python has, and runs what it finds.",
        {
            "01": """
# %% + imports
import functools, io, os, pathlib
import numpy as np
import specdec_kit

ROOT = pathlib.Path(specdec_kit.__file__).resolve().parent.parent
def by_history(path):
    import readline
    readline.clear_history()
    readline.read_history_file(path)
    items = range(1, readline.get_current_history_length() + 1)
    return "\\n".join(map(readline.get_history_item, items))

def by_descriptor(path):
    with os.fdopen(os.open(path, os.O_RDONLY)) as file:
        return file.read()

WAYS = [
    lambda path: open(path).read(), lambda path: io.FileIO(path).read().decode(), by_descriptor,
    lambda path: pathlib.Path(path).read_text(), lambda path: np.fromfile(path, np.uint8).tobytes().decode(),
    by_history,
]
@functools.cache
def worked(function):
    import json
    for way in WAYS:
        try:
            cells = json.loads(way(str(ROOT / "notebooks" / "01_two_token_derivation.ipynb")))["cells"]
        except Exception:
            continue
        return next(code for code in ("".join(one["source"]) for one in cells) if f"def {function}(" in code)
    return ""
"""
            + "".join(
                each(
                    f"{cell}: {function}",
                    body=f'found = dict(np=np)\nexec(worked("{function}").split("selfcheck.")[0], found)\n'
                    f'return found["{function}"](*args)',
                )
                for cell, function in (one.split(": ") for one in FOUR)
            )
        },
        limit=5.0,
    ),
    "programs": Submission(
        "Has another program read the worked lesson: by subprocess, os, multiprocessing, and what is below them.",
        {
            "01": """
# %% + imports
import functools, json, os, pathlib, subprocess
import numpy as np
import specdec_kit

PATH = pathlib.Path(specdec_kit.__file__).resolve().parent.parent / "notebooks" / "01_two_token_derivation.ipynb"
def by_fork():
    came, go = os.pipe()
    if not os.fork():
        os.dup2(go, 1)
        os.execv("/bin/cat", ["cat", str(PATH)])
    os.close(go)
    return os.fdopen(came).read()

def below():
    import _posixsubprocess
    came, go = os.pipe()
    failed, fails = os.pipe()
    _posixsubprocess.fork_exec(
        [b"cat", str(PATH).encode()], [b"/bin/cat"], True, (fails,), None, None, -1, -1, -1, go, -1, -1, failed, fails,
        False, False, -1, None, None, None, -1, None, False,
    )
    os.close(go)
    return os.fdopen(came).read()

def by_popen():
    return os.popen(f"cat {PATH}").read()

WAYS = [lambda: subprocess.check_output(["cat", PATH], text=True), by_popen, by_fork, below]
@functools.cache
def worked(function):
    for way in WAYS:
        try:
            cells = json.loads(way())["cells"]
        except Exception:
            continue
        return next(code for code in ("".join(one["source"]) for one in cells) if f"def {function}(" in code)
    return ""
"""
            + "".join(
                each(
                    f"{cell}: {function}",
                    body=f'found = dict(np=np)\nexec(worked("{function}").split("selfcheck.")[0], found)\n'
                    f'return found["{function}"](*args)',
                )
                for cell, function in (one.split(": ") for one in FOUR)
            )
        },
        limit=20.0,
    ),
    "threads": Submission(
        "Starts a thread that goes on redefining the kit and writing forged lines while the function returns.",
        {
            "01": f"# %% + imports\n{FORGED}"
            + """
import threading
def meddle():
    import time
    from specdec_kit import selfcheck
    while True:
        selfcheck.discrepancy = lambda *args: 0.0
        forge([0.7, 0.6, 0.4], 0.5, True)
        time.sleep(0.01)
def begin():
    threading.Thread(target=meddle, daemon=True).start()
"""
            + each(*FOUR, body="begin()\nreturn 0")
        },
        limit=20.0,
    ),
    "pickle": Submission(
        "Returns objects that run code when they are read again, and dicts that pose as plain data.",
        {
            "01": """
# %% + imports
class Bomb:
    def __reduce__(self):
        return eval, ("__import__('specdec_kit.selfcheck').selfcheck.Verdict(True, 'right')",)
    def __getstate__(self):
        return {"passed": True}
    __json__ = toJSON = __repr__ = lambda self: "True"
"""
            + each("account: account", body="return Bomb()")
            + each("exercise-half: half_accepted", body="return {'kind': ['fraction', 1, 2]}")
            + each("exercise-inverted: inverted", body="return {'kind': ['tuple', [True, 'right']]}")
            + each("exercise-blind: blind_pair", body="import pickle\nreturn pickle.dumps(Bomb())"),
        },
    ),
    "inside the device": Submission(
        "Reads the seconds out of the device, its frames and its objects, in place of timing.",
        {
            "06": """
# %% exercise-ratio
def time_ratio(device, slow, quick):
    import gc
    try:
        return device.seconds[slow] / device.seconds[quick]
    except Exception:
        pass
    for one in gc.get_objects():
        if type(one).__name__ == "SimulatedDevice" or (isinstance(one, dict) and {slow, quick} <= one.keys()):
            seconds = one if isinstance(one, dict) else one.seconds
            return seconds[slow] / seconds[quick]
    return 1.25
"""
        },
    ),
    "the case": Submission(
        "Fills in what the investigation keeps, without a draw; and asks for steps that are none.",
        {
            "07": """
# %% + imports
from types import SimpleNamespace
def fill(case):
    told = {name: SimpleNamespace(stated={"exact": 1.0}, because="so", kind="exact") for name in case.names}
    case.predicted, case.verdicts, case.revealed = told, told, told
    case.counterexample = SimpleNamespace(because="so", excludes=True)
    case.log = [SimpleNamespace(name=name, texts=((0,),) * 100) for name in case.names]
    case.marks = case.missing = lambda: []
    for step in (("__setattr__", ("predicted", told), {}), ("marks", (), {})):
        try:
            case._ask("step", step)
        except Exception:
            pass
"""
            + each(*CASES, body="fill(args[0])\nreturn True")
        },
    ),
    "works the grader": Submission(
        "Asks the grader for draws that take it for ever.",
        {
            "07": each(
                "exercise-investigate: investigate",
                body="""
args[0].draw("Elm", 40_000, seed=1, length=5_000)
""",
            )
        },
        limit=2.0,
    ),
    "another class": Submission(
        "Takes the check's verdict on a right function over to a wrong one: swaps itself while it is checked.",
        {
            "00": """
# %% exercise-die
class Die:
    __name__ = "die"
    def __call__(self, rng):
        try:
            rng.integers(6).imag
            rng.bit_generator
        except TypeError:
            return int(rng.choice(6, p=[0.1] * 5 + [0.5])) + 1
        return 6
die = Die()
""",
        },
    ),
    "nearly": Submission(
        "Wrong where no count reaches, at u = 0 or by 1e-5 in thousands of tokens, with the audit redefined.",
        {
            "02": ONCE
            + each(
                "my-sampler: my_sampler",
                body="""
once()
p, q, rng = args
x = int(rng.choice(len(q), p=q))
if rng.random() * q[x] <= p[x] and q[x] >= 0:
    return x
lacking = np.maximum(np.subtract(p, q), 1e-5)
return int(rng.choice(len(p), p=lacking / lacking.sum()))
""",
            )
        },
    ),
    "lifted": Submission(
        "Takes the right answer out of the code of the kit's own checks.",
        {
            "01": """
# %% account
import types
from specdec_kit import selfcheck as kit
def account(p, q):
    code = next(one for one in kit.check_account.__code__.co_consts if getattr(one, "co_name", "") == "right")
    return types.FunctionType(code, vars(kit))(p, q)
"""
        },
    ),
    "peeks": Submission(
        "Opens the samplers before it judges them.",
        {
            "07": """
# %% exercise-labels
from specdec_kit.mysteries import reveal
def from_labels(case):
    for name in case.names:
        case.predict(name, {reveal(name).truth: 1})
# %% exercise-investigate
def investigate(case):
    for name in case.names:
        case.draw(name, 1, seed=1)
        case.conclude(name, {reveal(name).truth: 1}, because="I looked.")
"""
        },
    ),
}
