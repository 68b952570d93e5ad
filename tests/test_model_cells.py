"""The cells of the lessons that run a language model: here they run it, and what they expect holds."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.models
NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
NO_MODEL = "No language model here"


def tagged(notebook):
    return [cell for cell in notebook.cells if "models" in cell.metadata.get("tags", ())]


LESSONS = [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if tagged(nbformat.read(path, as_version=4))]


def test_there_are_such_lessons():
    assert LESSONS


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_its_language_model(path):
    pytest.importorskip("torch", reason="PyTorch is not installed: make test-models brings it")
    notebook = nbformat.read(path, as_version=4)
    stored = [cell.outputs for cell in tagged(notebook)]
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    for cell, before in zip(tagged(notebook), stored, strict=True):
        said = "".join(output.get("text", "") for output in cell.outputs)
        assert NO_MODEL not in said, said
        assert NO_MODEL not in str(before) and bool(before) == bool(cell.outputs), "stored without a language model"
