"""Photograph the mass bars of lesson 01 for README.md: `python tests/browser/readme_picture.py`."""

import tempfile
from pathlib import Path

from lab import LONG, ROOT, Reader, running_chromium, running_lab


def main():
    with tempfile.TemporaryDirectory() as place, running_lab(Path(place)) as lab, running_chromium() as chromium:
        page = chromium.new_page(viewport={"width": 900, "height": 1200})
        page.set_default_timeout(1000 * LONG)
        reader = Reader(page, lab)
        reader.open("01_two_token_derivation.ipynb", address="/doc/tree/{}?reset")
        for which in ("imports", "laws", "explorer"):
            reader.run_cell(which)
        page.get_by_label("q(A)").wait_for()
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(1000)  # the figure is the last to come
        reader.cell("explorer").screenshot(path=ROOT / ".github/mass_bars.png")


if __name__ == "__main__":
    main()
