"""The lessons in JupyterLite: JupyterLab as a page, with Python in the browser and no server behind it.

A reader finds copies as `make lab` makes them, with gaps where the exercises are, and the worked lessons in a folder
beside. What they write is kept in their browser.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from specdec_kit.copies import make_copies
from specdec_kit.extras import needed
from specdec_kit.site.pyodide import SOURCE, Pyodide

FOLDER = "run"
"""Where JupyterLite is, beside the pages."""
WORKED = "worked"
EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "@jupyterlite/pyodide-kernel-extension", "anywidget")
"""What JupyterLab is extended by; whatever else is installed here stays out."""
LINES = {"name": "jsonl", "extensions": [".jsonl"], "mimeTypes": ["text/plain"], "fileFormat": "text"}
"""What evidence is kept in; JupyterLite would take its many lines for one value."""
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # all cells are there, to search and read out
}


def address(lesson: str) -> str:
    """Where a lesson runs, as a page links to it."""
    return f"{FOLDER}/lab/index.html?path={lesson}.ipynb"


def build_lite(root: Path, into: Path, pyodide: str = SOURCE) -> None:
    """Write JupyterLite with the lessons of the clone `root` into the folder `into`.

    Parameters
    ----------
    root, into : Path
        The clone, and a folder that does not exist.
    pyodide : str
        Where Pyodide comes from, see `specdec_kit.site.pyodide.Pyodide`.

    Raises
    ------
    ModuleNotFoundError
        Where the extra `lite` is not installed.
    RuntimeError
        Where Pyodide or a package cannot be had, or JupyterLite is not built; its reasons are shown.
    """
    with needed("lite"):
        import anywidget  # noqa: F401
        import hatchling  # noqa: F401
        import jupyterlite_core  # noqa: F401
        import jupyterlite_pyodide_kernel  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        make_copies(root / "notebooks", here / "files")
        shutil.copytree(root / "notebooks", here / "files" / WORKED, ignore=lambda _, names: _others(names))
        packages = Pyodide(here / "static" / "pyodide", pyodide).add_kit(root)
        silent = {"PYTHONWARNINGS": "ignore:tqdm"}  # which warns that it has no threads, and does without
        kernel = {"loadPyodideOptions": {"packages": packages, "env": silent}}
        _write(here / "overrides.json", SETTINGS)
        _write(here / "jupyter-lite.json", {
            "jupyter-lite-schema-version": 0,
            "jupyter-config-data": {
                "appName": "specdec-kit",
                "litePluginSettings": {"@jupyterlite/pyodide-kernel-extension:kernel": kernel},
            },
        })  # fmt: skip
        extensions = Path(sys.prefix, "share", "jupyter", "labextensions")
        _write(here / "jupyter_lite_config.json", {
            "LiteBuildConfig": {
                "apps": ["lab"],
                "federated_extensions": [str(extensions / name) for name in EXTENSIONS],
                "extra_file_types": {"jsonl": LINES},
                "ignore_sys_prefix": ["federated_extensions"],
                "no_sourcemaps": True,
                "no_unused_shared_packages": True,
                "output_dir": str(into),
            },
            "ContentsManager": {"allow_hidden": True},  # .copies.json, beside which evidence is kept
        })  # fmt: skip
        command = [sys.executable, "-m", "jupyterlite_core", "build"]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"JupyterLite was not built:\n{done.stdout}{done.stderr}")


def _others(names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".ipynb")]


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
