"""The pages of feedback, so that everybody can read them: nbgrader's own, mended where axe finds them at fault."""

import re
from typing import Any

from nbconvert.exporters import HTMLExporter

from specdec_kit.coursework.course import GRADE

CODE = "xcode"
"""A style of Pygments whose colours have a contrast of 4.5 on the grey of a cell; that of Jupyter has not."""
_STYLE = """<style>
a, div.nbgrader_cell .panel-heading a { color: #1a5085; text-decoration: underline }
.panel-primary > .panel-heading { background: #23527c }
div.nbgrader_cell .panel-heading :is(a, code) { color: #fff; background: none }
li.late-penalty { color: #a02020 }
pre { white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere } /* nothing scrolls that keys cannot reach */
</style>
</head>"""


class Feedback(HTMLExporter):
    """nbgrader's feedback in a language that is named, with links that are seen and that say where they lead."""

    def from_notebook_node(self, nb: Any, resources: Any = None, **kw: Any) -> Any:
        """Convert a graded notebook."""
        page, resources = super().from_notebook_node(nb, resources, **kw)
        page = page.replace("<html>", '<html lang="en">', 1).replace("</head>", _STYLE, 1)
        page = page.replace('<div class="panel-heading">', '<div class="panel-heading" role="banner">', 1)
        page = re.sub(r'(href="#comment-([^"]+)">Comment)<', r"\1 on \2<", page)
        return re.sub(rf'(href="#{GRADE}(\w+)">)Test cell<', r"\1\2<", page), resources
