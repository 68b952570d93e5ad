"""Progress bars: what lasts says how far it is, where somebody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[..., Any]]:
    """Within the block, each call of what it gives moves a bar on by one, or by the number given.

    It comes after two seconds in a terminal. In a notebook, where it would be one more output to store and to compare,
    only what lasts half a minute has one, and no lesson does. Nowhere else there is any, nor without tqdm.

    Parameters
    ----------
    what : str
        What is going on; without it there is no bar.
    total : int, optional
        How many calls there will be.
    """
    terminal = bool(sys.stderr) and sys.stderr.isatty()
    try:
        if not what or not (terminal or type(sys.stderr).__module__.startswith("ipykernel")):
            raise ModuleNotFoundError
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        yield lambda n=1: None
        return
    with tqdm(desc=what, total=total, delay=2 if terminal else 30, leave=False) as bar:
        yield bar.update
