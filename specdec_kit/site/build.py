"""Write the pages into a folder of their own and let Sphinx make the site."""

import shutil
import tempfile
from pathlib import Path

from specdec_kit.extras import needed
from specdec_kit.site.front import front
from specdec_kit.site.gallery import gallery
from specdec_kit.site.lite import FOLDER, build_lite
from specdec_kit.site.pages import PICTURES, page, pictures

HERE = Path(__file__).resolve().parent
MARK = "_static/site.css"  # a folder with this file is a site that was built here


def write_pages(root: Path, into: Path, runs: bool = False) -> None:
    """Write the sources of the site: a page for each notebook of the clone `root`, front page, gallery and pictures.

    Where a lesson `runs` in the browser too, its page says so.
    """
    import nbformat

    lessons = {path.stem: nbformat.read(path, as_version=4) for path in sorted((root / "notebooks").glob("*.ipynb"))}
    texts = {lesson: page(notebook, lesson, runs) for lesson, notebook in lessons.items()}
    texts["index"] = front((root / "README.md").read_text(encoding="utf-8"), lessons, runs)
    texts["gallery"] = gallery(lessons)
    (into / PICTURES).mkdir(parents=True)
    for name, text in texts.items():
        (into / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")
    for lesson, notebook in lessons.items():
        for picture in pictures(notebook, lesson):
            (into / picture.path).write_bytes(picture.png)
    for path in (root / ".github").glob("*.png"):  # of the README
        shutil.copy(path, into / PICTURES)


def build(root: Path, into: Path, pyodide: str | None = None) -> None:
    """Build the site of the clone `root` in the folder `into`, anew.

    Parameters
    ----------
    root, into : Path
        The clone, and the folder.
    pyodide : str, optional
        Where Pyodide comes from, for lessons that also run in the browser (`specdec_kit.site.pyodide.Pyodide`).

    Raises
    ------
    ValueError
        Where `into` holds something that is no site of ours, and would be lost.
    ModuleNotFoundError
        Where the extra `site`, or `lite`, is not installed.
    RuntimeError
        Where Sphinx warns, of a link that leads nowhere for example; Sphinx itself has said why. Or where Python for
        the browser cannot be had.
    """
    with needed("site"):
        import furo  # noqa: F401
        import myst_parser  # noqa: F401
        from sphinx.cmd.build import build_main

    if into.exists() and not ((into / MARK).exists() or (into.is_dir() and not any(into.iterdir()))):
        raise ValueError(f"{into} holds something else, which a site would replace: name a new folder")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "source"), Path(folder, "site")
        write_pages(root, source, pyodide is not None)
        options = ["--quiet", "--fail-on-warning", "--keep-going", "--conf-dir", str(HERE), "--doctree-dir"]
        if build_main([*options, str(Path(folder, "doctrees")), str(source), str(made)]):
            raise RuntimeError("the site was not built, for the reasons above")
        if pyodide is not None:
            build_lite(root, made / FOLDER, pyodide)
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(made, into, ignore=shutil.ignore_patterns(".buildinfo", "objects.inv"))
