"""A worked notebook as a page of Markdown, with its pictures beside it.

A picture keeps its alt text and has its numbers as text below it. A widget stands as its static view. Of an exercise
the reader sees what a copy has, a gap to fill; the solution and its output are folded below.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from specdec_kit.copies import ANSWER, BEGIN, END, without_solutions
from specdec_kit.site.lite import address

PICTURES = "figures"
"""Folder of the pictures, beside the pages."""


@dataclass(frozen=True)
class Picture:
    """A stored figure, and where it stands."""

    number: str
    """Lesson and place in it, such as 01.2."""
    heading: str
    """The heading that it stands under."""
    label: str
    """Name to link to, unique in the site."""
    png: bytes
    alt: str
    numbers: str
    """What it shows, as text."""

    @property
    def path(self) -> str:
        """Where the page looks for it."""
        return f"{PICTURES}/{self.label}.png"

    def markdown(self, target: bool = True) -> str:
        """The picture with its alt text, then its numbers, folded; `target` makes it a place to link to."""
        name = f":name: {self.label}\n" if target else ""
        alt = json.dumps(" ".join(self.alt.split()), ensure_ascii=False)  # quoted, or a # would end it
        image = fenced("", f"{name}:alt: {alt}", "{image} " + self.path)
        return f"{image}\n\n{folded(f'Figure {self.number} in numbers', fenced(self.numbers, '', '{code-block} text'))}"


def title(notebook: Any) -> str:
    """The lesson's title, its first heading."""
    return str(notebook.cells[0].source.split("\n", 1)[0].removeprefix("# "))


def page(notebook: Any, lesson: str, runs: bool = False) -> str:
    """The whole lesson as Markdown.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        A worked notebook with its outputs; it is not changed.
    lesson : str
        Its name, without the ending.
    runs : bool
        Whether it runs in the browser too; then a link below the title leads there.
    """
    here = {picture.label: picture for picture in pictures(notebook, lesson)}
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(_prose(cell))
        elif cell.cell_type == "code":
            outputs = [_output(output, here.get(f"{lesson}-{cell.id}-{i}")) for i, output in enumerate(cell.outputs)]
            parts.append(_code(cell.source, [text for text in outputs if text]))
    if runs:
        head, _, rest = parts[0].partition("\n")
        parts[0] = (
            f'{head}\n\n<p class="run"><a href="{address(lesson)}">Run this lesson in your browser</a></p>\n{rest}'
        )
    return "\n\n".join(parts) + "\n"


def pictures(notebook: Any, lesson: str) -> Iterator[Picture]:
    """Each stored figure of a notebook, from top to bottom."""
    heading, count = title(notebook), 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            found = re.findall(r"^#+ +(.*?)\s*$", re.sub(r"^```.*?^```", "", cell.source, flags=re.M | re.S), re.M)
            heading = found[-1] if found else heading
        for i, output in enumerate(cell.get("outputs", [])):
            data = output.get("data", {})
            if "image/png" in data:
                alt = output.metadata.get("image/png", {}).get("alt", "")
                if not alt.strip():
                    raise ValueError(f"{lesson}, cell {cell.id}: a picture has no alt text; show it by plots.show")
                count += 1
                yield Picture(
                    number=f"{lesson[:2]}.{count}",
                    heading=heading,
                    label=f"{lesson}-{cell.id}-{i}",
                    png=b64decode(data["image/png"]),
                    alt=alt,
                    numbers=data.get("text/plain", ""),
                )


def fenced(text: str, options: str, kind: str) -> str:
    """A block of Markdown in a fence that is longer than any in its text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return "\n".join(part for part in (fence + kind, options, text.rstrip("\n"), fence) if part)


def folded(summary: str, content: str, kind: str = "") -> str:
    """Content that opens when its summary is chosen."""
    return f'<details class="fold {kind}"><summary>{summary}</summary>\n\n{content}\n\n</details>'


def _prose(cell: Any) -> str:
    """A cell of text; links between notebooks become links between pages."""
    text = re.sub(r"\]\(([\w-]+)\.ipynb", r"](\1.md", cell.source)
    return f"{ANSWER}\n\n{folded('Solution', text)}" if "solution" in cell.metadata.get("tags", []) else text


def _code(source: str, outputs: list[str]) -> str:
    """A cell of code and its outputs; where it holds a solution, the gap first and all else folded."""
    worked = "\n\n".join([fenced(re.sub(rf" *### ({BEGIN}|{END})\n?", "", source), "", "python"), *outputs])
    if BEGIN not in source:
        return worked
    return f"{fenced(without_solutions(source), '', 'python')}\n\n{folded('Solution', worked, 'solution')}"


def _output(output: Any, picture: Picture | None) -> str:
    """One stored output: picture, table or text, whichever it has first."""
    if picture:
        return picture.markdown()
    data = output.get("data", {})
    if data.get("text/html", "").startswith('<details class="specdec-words">'):
        return ""  # a picture's words, which stand below it already
    if "text/html" in data:
        return fenced(f'<div class="output">{data["text/html"]}</div>', "", "{raw} html")
    text = output.get("text") or data.get("text/plain") or "\n".join(output.get("traceback", []))
    kind = "output" if "\n" in text.strip() else "output line"  # one line may wrap, columns may not
    return fenced(text, f":class: {kind}", "{code-block} text") if text.strip() else ""
