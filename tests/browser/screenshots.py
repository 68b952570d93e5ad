"""Photograph every lesson in JupyterLab: `python tests/browser/screenshots.py FOLDER [part of a lesson's name ...]`.

Each lesson is shown as it is stored, and as a reader's copy after Run All Cells; at two widths, in both themes, and in
pieces as tall as the window. The pictures are for looking at, and are never committed.
"""

import json
import sys
import tempfile
from pathlib import Path

from lab import LONG, ROOT, Reader, running_chromium, running_lab

TALL, OVERLAP = 1800, 60
SETTING = "@jupyterlab/apputils-extension:themes"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def pieces(reader, into):
    """Scroll through the lesson and photograph each windowful."""
    scroller = reader.panel.locator(".jp-WindowedPanel-outer")
    top, piece = 0, 0
    while True:
        # Twice: cells that come into view for the first time may still change their height.
        for _ in range(2):
            scroller.evaluate("(node, top) => node.scrollTo(0, top)", top)
            reader.page.wait_for_timeout(300)
        reader.panel.screenshot(path=f"{into}_{piece:02}.png")
        here, height, end = scroller.evaluate("node => [node.scrollTop, node.clientHeight, node.scrollHeight]")
        last = reader.panel.locator(".jp-Cell").last.bounding_box()
        if last["y"] + last["height"] < TALL or here + height >= end:
            return
        top, piece = here + height - OVERLAP, piece + 1


def main(folder, *parts):
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    names = [path.name for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    names = [name for name in names if not parts or any(part in name for part in parts)]
    with tempfile.TemporaryDirectory() as place, running_lab(Path(place)) as lab, running_chromium() as chromium:
        for theme, title in THEMES.items():
            lab.ask(f"/lab/api/settings/{SETTING}", "PUT", {"raw": json.dumps({"theme": title})})
            for width in (1280, 800):
                page = chromium.new_page(viewport={"width": width, "height": TALL})
                page.set_default_timeout(1000 * LONG)
                for name in names:
                    for where in ("notebooks", "work"):
                        reader = Reader(page, lab)
                        reader.open(name, where, "/doc/tree/{}?reset")
                        if where == "work" and not any(cell.get("outputs") for cell in reader.cells().values()):
                            reader.run_all()
                            reader.save()
                        pieces(reader, into / f"{Path(name).stem}_{where}_{theme}_{width}")
                        print(f"{name} in {where}, {theme}, {width}", flush=True)
                page.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
