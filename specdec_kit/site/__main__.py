"""Run ``python -m specdec_kit.site``."""

import argparse
import sys
from pathlib import Path

from specdec_kit.copies import ROOT
from specdec_kit.site.build import build
from specdec_kit.site.pyodide import SOURCE


def main() -> None:
    """Build the site and say where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m specdec_kit.site", description="Build a static site of the executed lessons."
    )
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="where to, replacing it (default: build/site)")
    parser.add_argument(
        "--lite", nargs="?", const=SOURCE, metavar="PYODIDE",
        help=f"let the lessons run in the browser too, with Pyodide from a folder or address (default: {SOURCE}); "
        "then the site is in build/lite",
    )  # fmt: skip
    chosen = parser.parse_args()
    into = (chosen.into or ROOT / "build" / ("lite" if chosen.lite else "site")).resolve()
    if not (ROOT / "notebooks").is_dir():
        sys.exit("The lessons are not here: they come with a clone of the repository, not with the installed package.")
    try:
        build(ROOT, into, chosen.lite)
    except (ModuleNotFoundError, RuntimeError, ValueError) as error:
        sys.exit(f"No site was built: {error}.")
    print(f"The site is in {into}: open {into / 'index.html'} in a browser.")
    if chosen.lite:
        print(f'To run the lessons, serve it: python -m http.server --directory "{into}".')


if __name__ == "__main__":
    main()
