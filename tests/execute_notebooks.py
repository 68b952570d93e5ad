"""Run the worked notebooks and store what they print: `python tests/execute_notebooks.py [notebook ...]`.

What differs from run to run or from machine to machine is left out: a notebook with the same results is the same file.
A notebook with a failing cell keeps its old file. Cells with the tag `models` run a language model: without PyTorch
they keep the output that they have.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}
WIDGET = "application/vnd.jupyter.widget-view+json"  # a random id of a model that nobody stores


def execute(path):
    """Run one notebook in its own folder and replace its file; raises what nbclient raises."""
    notebook = nbformat.read(path, as_version=4)
    kept = (
        {}
        if find_spec("torch")
        else {c.id: c.outputs for c in notebook.cells if "models" in c.metadata.get("tags", ())}
    )
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None

    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False, resources=place).execute()

    # Nothing else is kept: no versions, no widget state (that the client must collect, or output widgets fail in it).
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = kept.get(cell.id) or stable(cell.outputs)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def stable(outputs):
    """Outputs without what is volatile, consecutive pieces of one stream joined."""
    kept = []
    for output in outputs:
        output.pop("transient", None)
        output.get("data", {}).pop(WIDGET, None)
        if output.output_type == "error":
            # Frames name files of this machine, in words that differ between Python versions.
            output.traceback = [f"{output.ename}: {output.evalue}"]
        last = kept[-1] if kept else None
        if output.output_type == "stream" and last and last.get("name") == output.name:
            last.text += output.text
        else:
            kept.append(output)
    return kept


def main(paths):
    failed = 0
    for path in map(Path, paths or sorted(NOTEBOOKS.glob("*.ipynb"))):
        try:
            execute(path)
            print(f"{path.name}: executed")
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            failed += 1
            print(f"{path.name}: kept as it was, a cell failed\n{error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
