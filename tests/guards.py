"""What every worked notebook must be: `python tests/guards.py [notebook ...]` lists what is wrong.

Each guard takes a notebook and its name, and returns one sentence for each fault. Strict nbval, which runs the
notebooks again, is blind to these: a lost picture, an unexecuted cell, a tag that hides nothing.
"""

import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import nbformat.v4

from specdec_kit.copies import BEGIN, END, blank
from specdec_kit.lines import WIDTH

TESTS = Path(__file__).resolve().parent
NOTEBOOKS = TESTS.parent / "notebooks"
IGNORED = TESTS / "ignored_outputs.md"

LONGEST = 12
FAILS = {"raises-exception", "nbval-raises-exception"}
IGNORES = {"nbval-ignore-output", "pytest-validate-ignore-output", "nbval-skip", "skip-execution"}
LONG_LINES = {("05_draft_blocks.ipynb", "live-sampled")}  # a text as the model writes it, piece by piece
OPENING = ("What you'll do", "What you'll learn", "What you'll need", "Time")
CLOSING = ["On your own", "In practice", "Further reading"]

ABSOLUTE = re.compile(
    r"""file:///
    | (?<![\w./~*)\]}-]) / (?:home|root|usr|tmp|work|opt|var|etc|mnt|media|srv|private|content|kaggle|Users|Volumes)\b
    | (?<![^\s"'`(=]) / \w[\w.-]+ / \w
    | (?<!\w) [A-Z] :\\ \w""",
    re.VERBOSE,
)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]*\$", re.DOTALL)


def read(path):
    """A notebook as it is stored: nbformat.read would mend missing cell ids in silence."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def places(notebook, name, kind=None):
    """Each cell, or each of one kind, with the words that name it."""
    for number, cell in enumerate(notebook.cells, start=1):
        if kind in (None, cell.cell_type):
            yield f"{name}, cell {number} ({cell.get('id')})", cell


def tags(cell):
    return set(cell.metadata.get("tags", []))


def headings(notebook, name):
    """Place, cell, level and text of each markdown heading, code fences left out."""
    for place, cell in places(notebook, name, "markdown"):
        prose = re.sub(r"^(```|~~~).*?^\1", "", cell.source, flags=re.DOTALL | re.MULTILINE)
        for match in re.finditer(r"^(#{1,6}) +(.*?)\s*$", prose, flags=re.MULTILINE):
            yield place, cell, len(match[1]), match[2]


def texts(cell):
    """Everything that a person reads in a cell: its source, and what its outputs print."""
    yield cell.source
    for output in cell.get("outputs", []):
        yield output.get("text", "")
        yield from (value for kind, value in output.get("data", {}).items() if kind.startswith("text/"))
        yield from (output.get("evalue", ""), *output.get("traceback", []))


def unexecuted(notebook, name):
    return [
        f"{place} was not executed: run tests/execute_notebooks.py."
        for place, cell in places(notebook, name, "code")
        if cell.execution_count is None
    ]


def out_of_order(notebook, name):
    counts = [cell.execution_count for _, cell in places(notebook, name, "code") if cell.execution_count is not None]
    if counts == list(range(1, len(counts) + 1)):
        return []
    return [f"{name} was executed in the order {counts}: run it from its top, all at once."]


def other_run(notebook, name):
    return [
        f"{place} shows a result of run {number}, and was run as {cell.execution_count}: execute it anew."
        for place, cell in places(notebook, name, "code")
        for number in (output.get("execution_count") for output in cell.outputs)
        if number is not None and number != cell.execution_count
    ]


def wrong_kernel(notebook, name):
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    return [] if kernel == "python3" else [f"{name} has the kernelspec {kernel!r}, not 'python3'."]


def missing_figure(notebook, name):
    return [
        f"{place} calls show(), but no picture with its words below it is stored."
        for place, cell in places(notebook, name, "code")
        if re.search(r"^[^#\n]*\bshow\(", cell.source, flags=re.MULTILINE)
        and not any(
            "image/png" in output.get("data", {}) and "<details" in below.get("data", {}).get("text/html", "")
            for output, below in pairwise(cell.outputs)
        )
    ]


def undescribed_figure(notebook, name):
    found = []
    for place, cell in places(notebook, name, "code"):
        for output in cell.outputs:
            numbers = output.get("data", {}).get("text/plain", "")
            for kind in (kind for kind in output.get("data", {}) if kind.startswith("image/")):
                if not output.metadata.get(kind, {}).get("alt", "").strip():
                    found.append(f"{place} stores a picture without alt text.")
                if numbers.startswith("<") or not re.search(r"\d", numbers):
                    found.append(f"{place} stores a picture without its numbers as text/plain.")
    return found


def error_tag(notebook, name):
    found = []
    for place, cell in places(notebook, name, "code"):
        fails = any(output.output_type == "error" for output in cell.outputs)
        if fails and not tags(cell) & FAILS:
            found.append(f"{place} fails without the tag raises-exception.")
        if not fails and tags(cell) & FAILS:
            found.append(f"{place} is tagged {', '.join(sorted(tags(cell) & FAILS))}, but does not fail.")
    return found


def stderr(notebook, name):
    return [
        f"{place} writes to stderr: {output.text.strip()[:80]!r}."
        for place, cell in places(notebook, name, "code")
        for output in cell.outputs
        if output.get("name") == "stderr"
    ]


def long_line(notebook, name):
    """Text that JupyterLab shows and would break inside words; beside a picture or HTML the text is not shown."""
    return [
        f"{place} prints a line of {len(line)} letters, over {WIDTH}: {line[:40]!r}… (specdec_kit.lines.wrapped)."
        for place, cell in places(notebook, name, "code")
        if (name, cell.get("id")) not in LONG_LINES
        for output in cell.outputs
        if not {"image/png", "text/html"} & output.get("data", {}).keys()
        for text in (output.get("text", ""), output.get("data", {}).get("text/plain", ""), output.get("evalue", ""))
        for line in text.splitlines()
        if len(line) > WIDTH
    ]


def absolute_path(notebook, name):
    return [
        f"{place} holds an absolute path: {text[match.start() : match.start() + 40].splitlines()[0]!r}."
        for place, cell in places(notebook, name)
        for text in (MATH.sub("", text) for text in texts(cell))
        for match in [ABSOLUTE.search(text)]
        if match
    ]


def cell_id(notebook, name):
    found = [f"{place} has no id." for place, cell in places(notebook, name) if not cell.get("id")]
    ids = Counter(cell.get("id") for cell in notebook.cells if cell.get("id"))
    found += [f"{name} has {count} cells with the id {key!r}." for key, count in ids.items() if count > 1]
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        found.append(f"{name} is of notebook format {notebook.nbformat}.{notebook.nbformat_minor}: ids came with 4.5.")
    return found


def widget_state(notebook, name):
    return [f"{name} stores the state of its widgets."] if "widgets" in notebook.metadata else []


def long_cell(notebook, name):
    """Over twelve lines, of whatever kind, solutions in full."""
    return [
        f"{place} has {lines} lines, over {LONGEST}: one idea a cell, long functions to the package."
        for place, cell in places(notebook, name, "code")
        if (lines := len(cell.source.splitlines())) > LONGEST
    ]


def opening(notebook, name):
    before = ""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            break
        before += cell.source.replace("’", "'") + "\n"
    order = ".*?".join(rf"\*\*{heading}[.:]?\*\*" for heading in OPENING)
    if re.search(order, before, flags=re.DOTALL):
        return []
    return [f"{name} does not open with {', '.join(f'**{heading}**' for heading in OPENING)}, in this order."]


def closing(notebook, name):
    if [text for *_, level, text in headings(notebook, name) if level == 2][-3:] == CLOSING:
        return []
    return [f"{name} does not close with {', '.join(f'## {heading}' for heading in CLOSING)}, in this order."]


def title(notebook, name):
    titles = [cell for *_, cell, level, _ in headings(notebook, name) if level == 1]
    if len(titles) == 1 and titles[0] is notebook.cells[0] and titles[0].source.startswith("# "):
        return []
    return [f"{name} has {len(titles)} titles (# ...): it needs one, at its very top."]


def skipped_level(notebook, name):
    found, last = [], 6
    for place, _, level, text in headings(notebook, name):
        if level > last + 1:
            found.append(f"{place} goes from level {last} to {level} at {text!r}.")
        last = level
    return found


def solution_marker(notebook, name):
    found = [
        f"{place} has a solution marker outside code, where nbgrader would cut all the same."
        for place, cell in places(notebook, name, "markdown")
        if BEGIN in cell.source or END in cell.source
    ]
    try:
        blank(nbformat.from_dict(notebook), name)
    except ValueError as error:
        found.append(f"{error}.")
    return found


def exercise(notebook, name):
    return [
        f"{place} states no difficulty and time: write *Difficulty: easy · 10 minutes* (or medium, hard)."
        for place, cell, level, text in headings(notebook, name)
        if level == 3
        and text.startswith("Exercise")
        and not re.search(r"\*Difficulty: (easy|medium|hard) · \d+(–\d+)? minutes\*", cell.source)
    ]


def comment_marker(notebook, name):
    return [
        f"{place} steers nbval by a comment: use a cell tag."
        for place, cell in places(notebook, name, "code")
        if re.search(r"^\s*#+\s*(NBVAL|PYTEST_VALIDATE)_", cell.source, flags=re.MULTILINE)
    ]


GUARDS = (
    unexecuted, out_of_order, other_run, wrong_kernel, missing_figure, undescribed_figure, error_tag, stderr, long_line,
    absolute_path, cell_id, widget_state, long_cell, opening, closing, title, skipped_level, solution_marker, exercise,
    comment_marker,
)  # fmt: skip


def problems(notebook, name):
    return [problem for guard in GUARDS for problem in guard(notebook, name)]


def ignored(notebooks):
    """Notebook and cell id of each output that nbval is told to ignore; `notebooks` maps a name to a notebook."""
    return [(name, cell.get("id")) for name, nb in notebooks.items() for cell in nb.cells if tags(cell) & IGNORES]


def unjustified(notebooks, table):
    """Ignored outputs that the table lacks, and rows of the table that name no ignored output or no reason."""
    rows = [
        [part.strip(" `") for part in line.strip(" |").split("|")] for line in table.splitlines() if line[:1] == "|"
    ]
    reasons = {tuple(row[:2]): row[2:] for row in rows[2:]}
    cells = ignored(notebooks)
    found = [f"{name} ignores the output of cell {key}: say why in {IGNORED.name}." for name, key in cells
             if (name, key) not in reasons]  # fmt: skip
    found += [
        f"{IGNORED.name} lists {' '.join(row)}, whose output is not ignored." for row in reasons if row not in cells
    ]
    found += [f"{IGNORED.name} gives no reason for {' '.join(row)}." for row, why in reasons.items() if not any(why)]
    return found


def main(paths):
    every = {path.name: read(path) for path in map(Path, paths or sorted(NOTEBOOKS.glob("*.ipynb")))}
    found = [problem for name, notebook in every.items() for problem in problems(notebook, name)]
    if not paths:
        found += unjustified(every, IGNORED.read_text(encoding="utf-8"))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(every)} notebooks: {len(found)} problems, {len(ignored(every))} ignored outputs.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
