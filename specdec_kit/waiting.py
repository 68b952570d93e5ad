"""Progress bars: what lasts says how far it is, where somebody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Within the block, each call of what it gives moves a bar on.

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
    notebook = type(sys.stderr).__module__.startswith("ipykernel")
    begun, bar, done = monotonic(), None, 0

    def gone_on() -> None:
        nonlocal bar, done
        done += 1
        if bar:
            bar.update()
        elif what and (terminal or notebook) and monotonic() - begun > (2 if terminal else 30):
            bar = _bar(desc=what, total=total, initial=done, leave=False)

    try:
        yield gone_on
    finally:
        if bar:
            bar.close()


def _bar(**options: Any) -> Any:
    """A bar of tqdm; imported when it is needed, since in a notebook it brings widgets along."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return None
    return tqdm(**options)
