"""The first page: what README.md says at its top, the lessons, and how to run them."""

import re
from collections.abc import Mapping
from typing import Any

from specdec_kit.site.lite import WORKED, address
from specdec_kit.site.pages import PICTURES, title

DO = "What you'll do"


def front(readme: str, lessons: Mapping[str, Any], runs: bool = False) -> str:
    """The first page as Markdown.

    Parameters
    ----------
    readme : str
        README.md; used are what comes before its first section, and its sections "Two commands" and "Other ways in".
    lessons : mapping from str to nbformat.NotebookNode
        The worked notebooks by name, in order.
    runs : bool
        Whether they run in the browser too.
    """
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", readme, flags=re.M | re.S))
    rows = [
        f"| [{lesson[:2]} {title(notebook)}]({lesson}.md) | {opening(notebook, DO)} "
        f"| {opening(notebook, 'Time').removesuffix(' minutes.')} |"
        for lesson, notebook in lessons.items()
    ]
    here = ""
    if runs:
        here = f"""**In your browser**, without installing anything: <a href="{address(next(iter(lessons)))}">open the
lessons</a>. Python itself is loaded into the page, about 60 MB. You get copies with gaps where the exercises are, and
the worked lessons in the folder `{WORKED}`. What you write is kept in this browser and nowhere else: download what you
want to keep.

**On your own computer:**

"""
    top = readme.partition("## ")[0].strip().replace("](.github/", f"]({PICTURES}/")
    return f"""{top}

## Read the lessons

Each lesson stands here as it was run, with what it printed. Try an exercise before you open its solution.

| lesson | what you'll do | minutes |
| --- | --- | ---: |
{chr(10).join(rows)}

All pictures of the lessons, with their numbers as text, are in [the gallery](gallery.md).

## Run them

Sliders move and predictions are kept where the lessons run{"." if runs else ": on your own computer."}

{here}{sections["Two commands"].strip()}

## Other ways in

{sections["Other ways in"].strip()}

```{{toctree}}
:hidden:

{chr(10).join(f"{lesson[:2]} {title(notebook)} <{lesson}>" for lesson, notebook in lessons.items())}
Gallery of figures <gallery>
```
"""


def opening(notebook: Any, heading: str) -> str:
    """What the notebook's first cell says under ``**heading.**``, on one line."""
    said = re.search(rf"\*\*{heading}\.\*\* (.*?)(?=\n\n|\Z)", notebook.cells[0].source.replace("’", "'"), flags=re.S)
    if said is None:
        raise ValueError(f"the notebook {title(notebook)!r} does not say **{heading}.** in its first cell: write it")
    return re.sub(r"\s+", " ", said[1]).replace("|", r"\|")
