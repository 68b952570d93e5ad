"""What nbgrader does differently in this course: `Restore` and `Grade`, set by `configure` in ``nbgrader_config.py``.

nbgrader would run a student's notebook in a kernel and believe what stands in its outputs. Here no notebook is run: its
cells are cleaned of everything that nbgrader believes, and `Grade` writes the outputs of the grade cells itself.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_output
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearOutput,
    LimitOutput,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)
from nbgrader.utils import is_grade, is_solution

from specdec_kit.copies import without_solutions
from specdec_kit.coursework import submissions
from specdec_kit.coursework.course import GRADE, settings
from specdec_kit.coursework.feedback import CODE, Feedback
from specdec_kit.coursework.submissions import Mark

BEGIN, END = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"


def configure(config: Any, course: Path) -> None:
    """Set what nbgrader, its formgrader and its exchange need for a course folder.

    Parameters
    ----------
    config : traitlets.config.Config
        What ``get_config()`` gives in ``nbgrader_config.py``.
    course : Path
        The folder.
    """
    config.CourseDirectory.root = str(course.resolve())
    config.Autograde.exporter_class = Submission
    config.GenerateFeedback.exporter_class = Feedback
    config.CSSHTMLHeaderPreprocessor.style = CODE
    config.Autograde.sanitize_preprocessors = [
        Restore, ClearOutput, OverwriteKernelspec, OverwriteCells, CheckCellMetadata,
    ]  # fmt: skip
    config.Autograde.autograde_preprocessors = [
        Grade, LimitOutput, SaveAutoGrades, AssignLatePenalties, CheckCellMetadata,
    ]  # fmt: skip


class Submission(NotebookExporter):
    """Reads any file that was submitted: one that is no notebook becomes one that says so."""

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> Any:
        """Convert a submission, or then the notebook that nbgrader made of it."""
        path = Path(filename)
        submitted = getattr(self.parent, "_sanitizing", True)
        notebook = submissions.read(path) if submitted else nbformat.read(path, as_version=4)
        return self.from_notebook_node(notebook, resources=resources, **kw)


class Restore(NbGraderPreprocessor):
    """Put the course's cells back into a submission, and take out all that nbgrader would believe of it."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Restore a submission."""
        names = resources["nbgrader"]
        source = Path("source", names["assignment"], f"{names['notebook']}.ipynb")  # nbgrader stands in its course
        return restored(submissions.plain(nb), nbformat.read(source, as_version=4)), resources


def restored(notebook: Any, source: Any) -> Any:
    """Put the nbgrader cells of a lesson's source into a plain notebook.

    A solution cell is the student's last one that defines the function of the exercise; its grade cell comes after it.
    Where there is none, both stand at the end, the solution cell as it was released. Markdown that is not the lesson's
    is shown as it was typed: rendered, it could bring a script into the browser of who grades it.
    """
    texts = {cell.source for cell in source.cells if cell.cell_type == "markdown"}
    cells = [
        {**cell, "source": _typed(cell.source)} if cell.cell_type == "markdown" and cell.source not in texts else cell
        for cell in notebook.cells
    ]
    cells = nbformat.from_dict(cells)
    after = defaultdict(list)
    solution: Any = None
    exercises: list[tuple[Any, Any]] = []
    for cell in source.cells:
        if is_solution(cell):
            solution = cell
        elif is_grade(cell):
            exercises.append((solution, cell))
    # Two functions may stand in one cell of a student's; a person's grade must have it then.
    for solution, graded in sorted(exercises, key=lambda pair: not is_grade(pair[0])):
        place = _definition(cells, graded.metadata.nbgrader.grade_id.removeprefix(GRADE))
        if place is None:
            place = len(cells)
            cells.append({**solution, "source": without_solutions(solution.source)})
        elif "nbgrader" not in cells[place].metadata:
            cells[place] = {**cells[place], "metadata": {"nbgrader": solution.metadata.nbgrader}}
        cells[place] = nbformat.from_dict(cells[place])
        after[place].append(graded)
    cells = [one for place, cell in enumerate(cells) for one in (cell, *after[place])]
    return nbformat.from_dict({**notebook, "metadata": source.metadata, "cells": cells})


def _typed(text: str) -> str:
    """Markdown that shows `text` as it is, in a fence that nothing in it closes."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    return f"{fence}\n{text}\n{fence}"


def _definition(cells: list[Any], function: str) -> int | None:
    """Place of the last code cell that defines a function."""
    name = re.escape(function)
    defines = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{name}\b|^{name}[ \t]*=", flags=re.MULTILINE)
    places = [place for place, cell in enumerate(cells) if cell.cell_type == "code" and defines.search(cell.source)]
    return places[-1] if places else None


class Grade(NbGraderPreprocessor):
    """Write into each grade cell what became of its exercise, in the outputs from which nbgrader reads points.

    An error is none of them, a number as many, and anything else all of them.
    """

    known: ClassVar[dict[tuple[str, str], dict[str, Mark]]] = {}
    """What was graded beforehand, by lesson and checksum."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Grade a restored submission."""
        lesson = resources["nbgrader"]["assignment"]
        graded = {}
        for cell in nb.cells:
            if is_grade(cell) and not is_solution(cell):
                graded[cell.metadata.nbgrader.grade_id.removeprefix(GRADE)] = cell
                cell.source = without_hidden(cell.source)
                cell.outputs = _outputs(Mark(False, "The grader did not come to this exercise.", 0), 0)
        own = submissions.own(nb)
        marks = self.known.get((lesson, submissions.checksum(own)))
        if marks is None:
            marks = submissions.mark(own, lesson, settings(Path.cwd()).seed)
        for function, mark in marks.items():
            if function in graded:
                cell = graded[function]
                cell.outputs = _outputs(mark, cell.metadata.nbgrader.points)
        return nb, resources


def without_hidden(source: str) -> str:
    """Source of a grade cell as a student sees it."""
    return source.partition(BEGIN)[0].rstrip("\n")


def _outputs(mark: Mark, points: float) -> list[Any]:
    if not mark.passed:
        return [new_output("error", ename="NotYet", evalue=mark.says, traceback=[f"NotYet: {mark.says}"])]
    said = new_output("stream", name="stdout", text=f"passed: {mark.says}\n")
    if mark.share >= 1:
        return [said]
    reached = min(points, round(points * mark.share, 2))
    return [said, new_output("execute_result", data={"text/plain": repr(reached)}, execution_count=None)]
