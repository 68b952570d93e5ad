"""What of a notebook a function needs: each case says which statements those are, and most run them."""

import ast
import builtins
import inspect
import linecache
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from specdec_kit.copies import without_solutions
from specdec_kit.coursework.slices import broken, needed

LESSONS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
LOOP = "while True:\n    pass"
LEAVE = "import sys\nsys.exit()"


def texts(cells, *names, given=()):
    return [one.text for one in needed(cells, names, given)]


def run(statements, without=()):
    """The namespace after the statements, or after all but those whose text is in `without`."""
    space = {"__name__": "slice"}
    for one in statements:
        if one.text not in without:
            exec(compile(ast.Module([one.code], []), f"<cell {one.cell}>", "exec"), space)
    return space


def value(cells, *arguments, given=(), without=()):
    """What the function f of the cells returns, run with what it needs alone."""
    return run(needed(cells, ["f"], given), without)["f"](*arguments)


# The lessons


def code_cells(path):
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def exercises():
    """Lesson, code cell and function of each exercise: what its cell, the one with a solution, defines."""
    for path in LESSONS:
        for number, source in enumerate(code_cells(path)):
            if "### BEGIN SOLUTION" in source:
                (function,) = (one.name for one in ast.parse(source).body if isinstance(one, ast.FunctionDef))
                yield path, number, function


EXERCISES = list(exercises())
each_exercise = pytest.mark.parametrize(
    ("path", "number", "function"), EXERCISES, ids=[f"{path.stem[:2]}-{name}" for path, _, name in EXERCISES]
)
USES = re.compile(r"selfcheck\.|\bpredict\(\"|\bshow\(|\brecord\(|\bexpect\(|\bhand_in\b|\bInvestigation\(")


def test_all_solutions_of_the_lessons_are_among_the_exercises():
    assert len(EXERCISES) == sum(path.read_text(encoding="utf-8").count("### BEGIN SOLUTION") for path in LESSONS) > 20


@each_exercise
def test_what_an_exercise_of_the_lessons_needs_defines_it_and_nothing_else_of_the_lesson_runs(path, number, function):
    cells = code_cells(path)
    found = needed(cells, [function], [without_solutions(one) for one in cells])
    assert not [one.text for one in found if one.cell < 0], "the notebook lacks nothing"
    assert [one.cell for one in found if function in one.uses.binds] == [number]
    assert not [one.text for one in found if USES.search(one.text)]
    assert callable(run(found)[function])


@each_exercise
def test_it_does_without_the_other_cells_of_the_lesson_if_the_lesson_is_given(path, number, function):
    cells = code_cells(path)
    found = needed([cells[number]], [function], [without_solutions(one) for one in cells])
    assert all(one.cell < 0 for one in found[:-1])
    assert (found[-1].cell, found[-1].uses.binds) == (0, {function})
    assert not [one.text for one in found if USES.search(one.text)]
    assert callable(run(found)[function])


@each_exercise
def test_its_cell_has_lines_that_the_test_above_would_find(path, number, function):
    assert USES.search(code_cells(path)[number])


# What is needed


def test_only_what_the_function_needs_in_turn_in_the_order_of_the_cells():
    cells = [
        "import math\nimport os",
        "a = 1\nb = a + math.pi\nc = 3",
        "print(f())\nd = f()",
        "def f(): return b",
        LOOP,
    ]
    assert texts(cells, "f") == ["import math", "a = 1", "b = a + math.pi", "def f(): return b"]


@pytest.mark.parametrize("stray", [LOOP, LEAVE, "1 / 0", "def g(:", "(", "print(f(1))", "x = 1\0", "raise SystemExit"])
def test_what_stands_elsewhere_costs_nothing(stray):
    cells = [stray, "one = 1", stray, "def f(x): return x + one", stray]
    assert value(cells, 1) == 2
    assert texts(cells, "f") == ["one = 1", "def f(x): return x + one"]


def test_several_names_are_needed_at_once_and_each_statement_comes_once():
    assert texts(["def g(): return n\ndef f(): return n\nn = 1\nm = 2"], "f", "g", "f") == [
        "def g(): return n",
        "def f(): return n",
        "n = 1",
    ]


def test_a_function_redefined_in_a_later_cell_is_the_later_one():
    cells = ["def f(): return 1", "def f(): return 2"]
    assert texts(cells, "f") == cells
    assert value(cells) == 2


def test_what_is_local_to_a_function_is_not_needed():
    cells = [
        "x = y = z = e = k = LOOP",
        "def f(x):\n    y = [z for z in x]\n    try: k = 1\n    except ValueError as e: raise e\n    return y",
    ]
    assert texts(cells, "f") == cells[1:]


def test_a_comprehension_shadows_a_name_of_the_notebook():
    cells = ["x = 5", "squares = [x * x for x in range(3)]", "def f(): return squares"]
    assert texts(cells, "f") == cells[1:]
    assert value(["x = 5", "more = [x + y for y in range(3)]", "def f(): return more"]) == [5, 6, 7]


@pytest.mark.parametrize(
    "cell",
    [
        "def f(x=one): return x",
        "def f(*, x=one): return x",
        "def f():\n    def g(): return one\n    return g()",
        "def f(): return (lambda: [one for _ in 'a'][0])()",
        "def f(x: one = 1) -> one: return x",
        "from functools import partial\nf = partial(lambda x: x, one)",
        "f = lambda: one",
        "class F:\n    def __call__(self): return one\nf = F()",
        "class F:\n    value = one\n    def __call__(self): return self.value\nf = F()",
        "def keep(g): return lambda: g() * one\n@keep\ndef f(): return 1",
        "if one:\n    def f(): return 1\nelse:\n    def f(): return 2",
        "try:\n    import no_such_module\nexcept ImportError:\n    def f(): return one",
        "for f in [lambda: one]: pass",
        "with open(__import__('os').devnull): f = lambda: one",
        "(f := lambda: one)",
        "match [lambda: one]:\n    case [f]: pass",
        "f, g = (lambda: one), 2",
        "[f] = [lambda: one]",
        "import functools\n@functools.cache\ndef f(n=3): return one if n == 0 else f(n - 1)",
        "def f(n=3): return one if n == 0 else g(n - 1)\ndef g(n): return f(n)",
        "f: object = lambda: one",
        "while True:\n    f = lambda: one\n    break",
    ],
)
def test_however_a_name_is_bound_and_wherever_one_is_read(cell):
    cells = ["print('a')\none = 1\nprint(one)", cell, f"print(f())\n{LOOP}"]
    assert value(cells) == 1
    assert not [text for text in texts(cells, "f") if "print" in text]
    with pytest.raises(NameError):
        value(cells, without=["one = 1"])


def test_a_name_that_two_imports_or_either_branch_of_a_try_binds():
    cells = ["import os.path as way, json", "try:\n    import tomllib\nexcept ImportError:\n    tomllib = None"]
    cells += ["def f(): return way.sep, tomllib", LOOP]
    assert texts(cells, "f") == cells[:3]
    assert texts(["import os.path", "def f(): return os"], "f") == ["import os.path", "def f(): return os"]


def test_a_star_import_is_always_taken_and_so_is_how_to_compile():
    cells = ["from math import *", "import os", "from __future__ import annotations", "def f(): return floor(pi)"]
    assert texts(cells, "f") == [cells[0], cells[2], cells[3]]
    assert value(cells) == 3


def test_a_builtin_needs_nothing_unless_the_notebook_binds_it():
    assert texts(["def f(x): return sum(x)"], "f", given=["sum = 5"]) == ["def f(x): return sum(x)"]
    assert value(["def sum(x): return 7", "def f(x): return sum(x)"], [1]) == 7


def test_a_global_statement_needs_the_name():
    cells = ["count = 5", "def f():\n    global count\n    count += 1\n    return count", LOOP]
    assert texts(cells, "f") == cells[:2]
    assert value(cells) == 6


# What changes what is needed


@pytest.mark.parametrize(
    "change",
    [
        "table['a'] = 2",
        "table['a'] += 1",
        "table |= {'a': 2}",
        "table.update(a=2)",
        "table.setdefault('b', []).append(1); table['a'] = len(table)",
        "for n in (1, 2): table['a'] = n",
        "if table: table['a'] = 2",
        "for table['a'] in (1, 2): pass",
        "[table['a'], n] = 2, 3",
        "table = dict(a=2)",
        "class C: table['a'] = 2",
        "def fill(): table['a'] = 2\nfill()",
        "def fill():\n    global table\n    table = {'a': 2}\nfill()",
        "def fill(): table.update(a=2)\nfill()",
    ],
)
def test_what_changes_a_needed_name_is_needed(change):
    cells = ["table = {'a': 1}", change, "print(table)", "def f(): return table['a']", "print(table.get('a'))", LOOP]
    assert value(cells) == 2
    last = ast.get_source_segment(change, ast.parse(change).body[-1])
    assert value(cells, without=[last, *change.split("; ")]) == 1, "so the change made the difference"
    assert not [text for text in texts(cells, "f") if "print" in text]


def test_what_is_deleted_from_it_is_needed():
    cells = ["table = {'a': 1, 'b': 2}", "del table['a']", "def f(): return len(table)"]
    assert (value(cells), value(cells, without=[cells[1]])) == (1, 2)


def test_a_change_after_an_alias_was_made_is_needed_and_a_new_binding_is_not():
    cells = ["table = {'a': 1}", "def f(kept=table): return kept['a']", "table['a'] = 2", f"table = {{}}\n{LOOP}"]
    assert value(cells) == 2
    assert texts(cells, "f") == cells[:3]


def test_a_change_made_to_a_new_binding_does_not_reach_the_old_one():
    cells = ["table = {'a': 1}", "def f(kept=table): return kept['a']", "table = {}", "table['a'] = 2"]
    assert texts(cells, "f") == cells
    assert value(cells) == 1
    assert value(cells, without=[cells[2]]) == 2


def test_a_function_reads_what_is_bound_last_even_after_it():
    assert value(["n = 1", "def f(): return n", "n = 2"]) == 2


def test_an_augmented_assignment_changes_what_an_alias_holds():
    cells = ["a = [1]", "def f(kept=a): return kept", "a += [2]"]
    assert (value(cells), value(cells, without=[cells[2]])) == ([1, 2], [1])


@pytest.mark.parametrize("user", ["a = n", "a = [n for _ in 'a']", "class a:\n    n = [n for _ in 'a']\n    m = n"])
def test_a_new_binding_does_not_reach_what_was_made_before(user):
    cells = ["n = 1", user, f"for n in 'ab': print(n)\n{LOOP}", "def f(): return a"]
    assert texts(cells, "f") == ["n = 1", user, "def f(): return a"]


def test_a_call_of_a_function_that_changes_names_of_its_own_is_not_needed():
    cells = ["table = {}", "def g():\n    table = {}\n    table['a'] = 2", "g()", "def f(): return table"]
    assert texts(cells, "f") == [cells[0], cells[3]]


def test_a_loop_that_binds_what_it_reads_is_needed_only_for_what_it_binds():
    loop = "for q, due in ((1, 2), (3, 4)):\n    p = q\n    print(p, due)"
    cells = ["q = due = p = 1", "n = 0", loop, "a = p", "for p in 'ab': print(p)", "def f(): return a + n"]
    assert texts(cells, "f") == [cells[0], "n = 0", loop, "a = p", "def f(): return a + n"]
    assert texts([loop, "a = p", "def f(): return a"], "f", given=["p = q = due = 0"])[0] == loop
    assert value(["n = 2", "for i in range(1): n = n + i", "def f(): return n"]) == 2
    assert value(["n = 2", "for i in range(2):\n    if i > 5: n = 7\n    m = n", "def f(): return m"]) == 2


def test_a_method_of_a_module_does_not_change_it_but_an_assignment_does():
    cells = ["import random\nfrom os import path as plots", "random.seed(0)", "plots.show(1)", "random.half = 0.5"]
    cells += ["def f(): return random.half, plots.sep"]
    assert texts(cells, "f") == ["import random", "from os import path as plots", "random.half = 0.5", cells[-1]]
    assert texts(["def f(): return random", "random.seed(0)"], "f", given=["import random"]) == [
        "import random",
        "def f(): return random",
    ]


def test_an_imported_list_that_was_copied_to_its_name_is_changed_by_its_methods():
    cells = ["from sys import path", "path = list(path)", "path.append('here')", "def f(): return path[-1]"]
    assert value(cells) == "here"


def test_a_method_whose_value_is_used_changes_nothing():
    cells = ["a = [1]", "print(a.pop())", "b = a.copy()", "f(a).sort()", "def f(x): return a"]
    assert texts(cells, "f") == ["a = [1]", "def f(x): return a"]


def test_an_attack_on_a_module_that_the_function_does_not_use_is_left_out():
    assert texts(["import numpy as np", "np.allclose = lambda *_: True", "def f(): return 1"], "f") == [
        "def f(): return 1"
    ]


# What the lesson gives


def test_a_lost_import_is_taken_from_the_lesson():
    cells, given = ["def f(): return math.floor(2.5)"], ["import os", "import math\nimport sys", LOOP]
    found = needed(cells, ["f"], given)
    assert [(one.cell, one.text) for one in found] == [(~1, "import math"), (0, cells[0])]
    assert value(cells, given=given) == 2
    with pytest.raises(NameError):
        value(cells)


def test_a_moved_import_is_as_good_as_a_lost_one():
    cells = ["half = math.pi / 2", "import math", "def f(): return half"]
    assert value(cells, given=["import math"]) == pytest.approx(1.5708, abs=1e-4)


def test_the_notebook_comes_before_the_lesson():
    assert value(["n = 1", "def f(): return n"], given=["n = 2", "n += 1"]) == 1
    assert value(["def f(): return n"], given=["n = 2", "n += 1"]) == 3


def test_what_the_lesson_itself_needs_comes_with_it():
    given = ["a = 1", "def double(x): return x * a * 2", "b = double(3)", LOOP]
    assert texts(["def f(): return b"], "f", given=given) == [*given[:3], "def f(): return b"]
    cells = ["a = 5", "def f(): return b + double(1)"]
    assert value(cells, given=given) == 6 + 10, "b before the notebook began, double of its own a"


def test_a_deleted_function_is_the_stub_of_the_lesson():
    given = ["def f():\n    # YOUR CODE HERE\n    raise NotImplementedError()"]
    with pytest.raises(NotImplementedError):
        value(["def my_f(): return 1"], given=given)
    assert needed(["def my_f(): return 1"], ["f"]) == []


# Cells as they are


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline\ndef f(): return 1",
        "!pip install x\ndef f(): return 1",
        "%%time\ndef f(): return 1",
        "\n%%capture out\ndef f(): return 1\nimage?",
        "\n\n  \n%load_ext autoreload\n?f\ndef f(): return 1",
        "%time f = lambda: 1",
        "%%time\n%time f = lambda: 1",
        "    def f(): return 1",
        "\r\ndef f():\r\n    return 1\r\n",
    ],
)
def test_magics_and_shell_lines_are_left_out(cell):
    found = needed([cell], ["f"])
    assert len(found) == 1
    assert run(found)["f"]() == 1
    assert "f" in cell.replace("\r\n", "\n").split("\n")[found[0].code.lineno - 1], "lines are counted as in the cell"


def test_a_cell_of_another_language_binds_nothing():
    assert needed(["%%bash\nf=1", "%%writefile a.py\ndef f(): pass"], ["f"]) == []
    assert broken(["%%bash\nf=1", "%%writefile a.py\ndef f(): pass"]) == []


def test_without_ipython_a_cell_is_read_as_it_is():
    lines = "import sys; sys.modules['IPython.core.inputtransformer2'] = sys.modules['IPython'] = None\n"
    lines += "from specdec_kit.coursework.slices import broken, needed\n"
    lines += "cells = ['%matplotlib inline', '%%time\\ndef f(): return 1']\n"
    lines += "print(broken(cells), [one.text for one in needed(cells, ['f'])])"
    said = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout
    assert said == "[Broken(cell=0, why='invalid syntax, line 1')] ['def f(): return 1']\n"


def test_tracebacks_and_getsource_find_the_lines_of_the_cell(monkeypatch):
    cell = "import functools; x = 1\n\n@functools.cache\ndef f():\n    # why\n    return 1 / 0\n\nf()"
    monkeypatch.setitem(linecache.cache, "<cell 0>", (len(cell), None, cell.splitlines(keepends=True), "<cell 0>"))
    found = needed([cell], ["f"])
    assert [one.text for one in found] == [
        "import functools",
        "@functools.cache\ndef f():\n    # why\n    return 1 / 0",
    ]
    f = run(found)["f"]
    assert inspect.getsource(f) == found[1].text + "\n"
    with pytest.raises(ZeroDivisionError) as caught:
        f()
    assert caught.traceback[-1].lineno + 1 == 6


def test_text_of_a_statement_counts_characters_not_bytes():
    assert texts(["é = 'γ'; f = 'α'; print(f)"], "f") == ["f = 'α'"]


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("a = 1\n\ndef f(:", "invalid syntax, line 3"),
        ("\n\n%matplotlib inline\nx = = 1", "invalid syntax, line 4"),
        ("return 5", "'return' outside function, line 1"),
        ("x = 1\0", None),
        ("x = '\ud800'", None),
        ("x = " + "(" * 30_000, None),
        ("x = " + "-" * 30_000 + "1", "nested too deeply"),
        ("x = a" + ".b" * 30_000, "nested too deeply"),
        ("if a: pass\n" + "elif a: pass\n" * 30_000, "nested too deeply"),
    ],
)
def test_a_cell_that_is_no_python_is_said_and_the_others_count(cell, why):
    cells = ["def f(): return 1", cell]
    assert texts(cells, "f") == cells[:1]
    ((number, said),) = broken(cells)
    assert number == 1 and said and "\n" not in said
    if why:
        assert said == why


def test_of_a_cell_with_a_statement_that_cannot_be_compiled_the_rest_counts():
    cells = ["def f(): return n\nawait f()\nn = 3"]
    assert value(cells) == 3
    assert [one.why for one in broken(cells)] == ["'await' outside function, line 2"]


def test_warnings_about_a_students_code_are_no_errors_and_are_not_printed(recwarn):
    assert value(["def f(): return '\\d' is 1"]) is False
    del recwarn.list[:]  # those of running it here
    assert needed(["def f(): return '\\d' is 1"], ["f"])
    assert not recwarn.list


def test_a_long_notebook_of_single_steps_is_followed_to_its_end():
    cells = ["a0 = 1", *(f"a{n + 1} = a{n}" for n in range(3000)), "def f(): return a3000"]
    assert len(needed(cells, ["f"])) == 3002


def test_nothing_runs_while_it_is_looked_for():
    before = set(vars(builtins))
    needed(["import builtins\nbuiltins.f = f = 1\n1 / 0"], ["f"])
    assert set(vars(builtins)) == before
