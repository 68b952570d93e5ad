"""The top-level statements of a notebook that a function needs: what a grader runs, and nothing else.

A statement is needed where it binds or changes a name that a needed statement reads. Which names it reads and binds is
read from its compiled code, where Python itself has settled what is local; what it changes (``TABLE["a"] = 1``,
``TABLE.append(1)``) from its syntax. Nothing is run. The plots, prints, checks and loops that only use the function, or
have nothing to do with it, stay out.
"""

import ast
import builtins
import dis
import inspect
import math
import re
import warnings
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import NamedTuple

# These magics run the rest of their line or cell as it is; for any other, IPython makes a call that binds no name.
TIMED = re.compile(r"\A(\s*)%%(?:time|capture|prun)\b.*|^([ \t]*)%time\b[ \t]*", flags=re.MULTILINE)

READS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>"}  # scopes of their own before Python 3.12
SURE = (ast.For, ast.With, ast.withitem, ast.Assign, ast.Tuple, ast.List, ast.Starred)


class Uses(NamedTuple):
    """Global names that a statement deals with."""

    binds: set[str]
    """Bound or deleted when it runs."""
    imports: set[str]
    """Those of them that an import binds."""
    reads: set[str]
    """Read when it runs."""
    reads_later: set[str]
    """Read, or bound by ``global``, in a function's body or another inner scope, so at any time."""
    changes: set[str]
    """Changed by an assignment to an attribute or item, by an augmented assignment, or by ``del``."""
    calls: set[str]
    """Those that a method is called on, its value unused, so changed unless it is a module: ``x.append(1)``."""
    runs: set[str]
    """Functions that are called, their value unused."""
    changes_later: set[str]
    """Changed within a function's body, so when it is called."""


class Statement(NamedTuple):
    """A top-level statement of a notebook."""

    cell: int
    """Index of its cell from 0; ``~index`` (−1, −2, …) for a cell of the lesson itself."""
    code: ast.stmt
    """Its lines are counted as in its cell, so ``compile(ast.Module([code], []), name, "exec")`` finds them there."""
    text: str
    uses: Uses


class Broken(NamedTuple):
    """A cell, or a statement of it, that is no Python."""

    cell: int
    """Its index from 0."""
    why: str
    """Such as "invalid syntax, line 3"."""


def needed(cells: Sequence[str], names: Sequence[str], given: Sequence[str] = ()) -> list[Statement]:
    """Statements that some functions of a notebook need, themselves included, in the order in which to run them.

    Star imports and ``from __future__`` are always among them. What is no Python is passed over: `broken` lists it.

    Parameters
    ----------
    cells : sequence of str
        The sources of the notebook's code cells.
    names : sequence of str
        The functions' names.
    given : sequence of str
        Code cells of the lesson itself. For a name that is needed and not bound by then, its statements go first.

    Returns
    -------
    list of Statement
        First the lesson's, then the notebook's own; empty where nothing binds the names.
    """
    lesson = [one._replace(cell=~one.cell) for one in _read(given)[0]]
    both = lesson + _read(cells)[0]
    first = len(lesson)
    ours, theirs = _Index(both, range(first)), _Index(both, range(first, len(both)))

    chosen: set[int] = set()
    todo: list[tuple[str, float]] = [(name, math.inf) for name in names]  # a name, and before which statement

    def choose(number: int) -> None:
        if number not in chosen:
            chosen.add(number)
            uses = both[number].uses
            todo.extend((name, number) for name in uses.reads)
            todo.extend((name, math.inf) for name in uses.reads_later)
            if number < first:  # a function of the lesson's may be called before the notebook's own begin
                todo.extend((name, first) for name in uses.reads_later)

    for number in range(first, len(both)):
        if _concerns_all(both[number].code):
            choose(number)
    while todo:
        name, before = todo.pop()
        for number in theirs.take(name, before):
            choose(number)
        if theirs.first.get(name, math.inf) >= before and not hasattr(builtins, name):
            for number in ours.take(name, before):
                choose(number)
    return [both[number] for number in sorted(chosen)]


def broken(cells: Sequence[str]) -> list[Broken]:
    """What of a notebook is no Python, at most once a cell unless single statements of it are at fault.

    Parameters
    ----------
    cells : sequence of str
        The sources of its code cells.
    """
    return _read(cells)[1]


class _Index:
    """Which of some statements bind or change a name; each is handed out once."""

    def __init__(self, statements: Sequence[Statement], numbers: range) -> None:
        imports: set[str] = set()
        assigned: set[str] = set()
        effects: dict[str, set[str]] = defaultdict(set)
        for _, _, _, uses in statements:
            imports |= uses.imports
            assigned |= uses.binds - uses.imports
            for name in uses.binds:
                effects[name] |= uses.changes_later
        self.first: dict[str, int] = {}
        self.binding: dict[str, deque[int]] = defaultdict(deque)
        self.changing: dict[str, list[int]] = defaultdict(list)
        for number in numbers:
            uses = statements[number].uses
            for name in uses.binds:
                self.first.setdefault(name, number)
                self.binding[name].append(number)
            changes = uses.changes | (uses.calls - (imports - assigned))
            for name in changes.union(*(effects[run] for run in uses.runs if run in effects)):
                self.changing[name].append(number)

    def take(self, name: str, before: float) -> Iterator[int]:
        """What binds `name` before a statement, and all that changes it: an alias of it may have been kept."""
        yield from self.changing.pop(name, ())
        numbers = self.binding[name]
        while numbers and numbers[0] < before:
            yield numbers.popleft()


def _read(cells: Sequence[str]) -> tuple[list[Statement], list[Broken]]:
    """Statements of the cells, in order, and what is no Python."""
    statements: list[Statement] = []
    failed: list[Broken] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a student's "\d" is no concern here, and no error
        for number, source in enumerate(cells):
            try:
                tree, lines = _parsed(source)
            except Exception as error:  # also what a cell nested too deeply or with a null character raises
                failed.append(Broken(number, _why(error)))
                continue
            for code in tree.body:
                try:
                    statements.append(Statement(number, code, _text(code, lines), _uses(code)))
                except Exception as error:  # such as a return outside of any function
                    failed.append(Broken(number, _why(error)))
    return statements, failed


def _parsed(source: str) -> tuple[ast.Module, list[bytes]]:
    """Syntax tree and lines of a cell; where it is no Python as it stands, with its magics as IPython reads them."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = ast.parse(source)
    except SyntaxError:
        source = _without_magics(source)
        tree = ast.parse(source)
    return tree, source.encode().split(b"\n")


def _without_magics(source: str) -> str:
    source = TIMED.sub(r"\1\2", source)
    try:
        from IPython.core.inputtransformer2 import TransformerManager
    except ModuleNotFoundError:
        return source
    blank = source[: len(source) - len(source.lstrip())].count("\n")  # IPython drops them
    return "\n" * blank + TransformerManager().transform_cell(source)


def _why(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg}, line {error.lineno}" if error.lineno else error.msg
    return "nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)


def _text(code: ast.stmt, lines: list[bytes]) -> str:
    """Source of a statement, its decorators included."""
    start = min([code.lineno, *(one.lineno for one in getattr(code, "decorator_list", ()))])
    part = lines[start - 1 : code.end_lineno]
    part[-1] = part[-1][: code.end_col_offset]
    part[0] = part[0][code.col_offset :]
    return b"\n".join(part).decode()


def _uses(code: ast.stmt) -> Uses:
    """Global names of a statement."""
    uses = Uses(*(set() for _ in Uses._fields))
    always: set[str] = set()  # bound whatever happens, as in `for x in …: print(x)`: if also before it is read, …
    own: set[str] = set()  # … what came before the statement does not matter

    todo: list[tuple[ast.AST, bool, bool]] = [(code, False, True)]  # within a function? reached whatever happens?
    while todo:
        node, later, sure = todo.pop()
        changes = uses.changes_later if later else uses.changes
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                changes.update(_root(node))
            case ast.AugAssign(target=ast.Name(id=name)):
                changes.add(name)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                (uses.changes_later if later else uses.calls).update(_root(method))
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if not later:
                uses.runs.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names) if not later:
                uses.imports.update((one.asname or one.name).split(".")[0] for one in names)
            case ast.Name(id=name, ctx=ast.Store()) if sure:
                always.add(name)
        later |= isinstance(node, FUNCTIONS)
        sure &= isinstance(node, SURE)
        todo.extend((child, later, sure) for child in ast.iter_child_nodes(node))

    scopes = [(compile(ast.Module([code], []), "<cell>", "exec", dont_inherit=True, optimize=0), False)]
    for scope, later in scopes:  # it grows: functions, classes and comprehensions have scopes of their own
        top = scope is scopes[0][0]
        for step in dis.get_instructions(scope):
            name = step.argval
            if step.opname in READS:
                (uses.reads_later if later else own if name in uses.binds else uses.reads).add(name)
            elif step.opname in ("STORE_NAME", "DELETE_NAME") and top:
                uses.binds.add(name)
            elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                uses.reads_later.add(name)
                uses.changes_later.add(name)
        for one in scope.co_consts:
            if isinstance(one, CodeType):
                at_once = one.co_name in COMPREHENSIONS or not one.co_flags & inspect.CO_OPTIMIZED  # a class body
                scopes.append((one, later or not at_once))

    uses.reads.update(own - always)
    uses.changes_later.intersection_update(uses.reads_later)  # the others are local to a function
    return uses


def _root(node: ast.expr) -> set[str]:
    """{x} for x.a[0], also where methods are called on the way: x.setdefault(0, []).append."""
    while True:
        match node:
            case ast.Name(id=name):
                return {name}
            case ast.Call(func=ast.Attribute() as inner):
                node = inner
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case _:
                return set()


def _concerns_all(code: ast.stmt) -> bool:
    """Whether what it brings cannot be told by its names: a star import, or how the rest is to be compiled."""
    return any(
        isinstance(node, ast.ImportFrom) and (node.module == "__future__" or node.names[0].name == "*")
        for node in ast.walk(code)
    )
