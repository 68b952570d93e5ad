"""The last page: every figure of the lessons, with its numbers and the place where it stands."""

import re
from collections.abc import Mapping
from typing import Any

from specdec_kit.site.pages import pictures, title


def gallery(lessons: Mapping[str, Any]) -> str:
    """The gallery as Markdown; `lessons` are the worked notebooks by name, in order."""
    parts = ["# Gallery of figures", "What the lessons show, in their order, each with the place where it stands."]
    for lesson, notebook in lessons.items():
        here = list(pictures(notebook, lesson))
        if here:
            parts.append(f"## {lesson[:2]} {title(notebook)}")
        for picture in here:
            caption = literal(picture.alt.split(". ")[0].rstrip("."))
            place = f"[Figure {picture.number} in its lesson](#{picture.label})"
            parts += [f"### {picture.number} {picture.heading}", f"{caption}. {place}", picture.markdown(target=False)]
    return "\n\n".join(parts) + "\n"


def literal(text: str) -> str:
    """The text in Markdown as it stands: none of its signs means anything."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))
