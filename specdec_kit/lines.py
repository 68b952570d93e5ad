"""Lines that a narrow window shows whole: JupyterLab breaks longer ones wherever they end, inside words and numbers."""

import re
import textwrap

WIDTH = 76
"""Letters of a line that fit into JupyterLab at 800 pixels."""
_TOGETHER = re.compile(r"[\[({][^\[\](){}]{,36}[\])}]| [−·] ")


def wrapped(text: str, further: int = 4) -> str:
    """Break the longer lines of a text at spaces; words, short brackets and the two sides of a − or · stay whole.

    Parameters
    ----------
    text : str
        Of one line or several; those of at most `WIDTH` letters stay as they are.
    further : int
        How much further in the rest of a broken line stands.
    """
    return "\n".join(line if len(line) <= WIDTH else _broken(line, further) for line in text.split("\n"))


def _broken(line: str, further: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + further)
    held = _TOGETHER.sub(lambda found: found[0].replace(" ", "\u00a0"), line)
    filled = textwrap.fill(held, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace("\u00a0", " ")
