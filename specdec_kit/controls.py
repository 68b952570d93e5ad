"""Sliders under which a figure moves: native ones of the browser, each with a name that is read out."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from IPython.display import display

from specdec_kit import plots
from specdec_kit.evidence import readable
from specdec_kit.widgets import place

try:
    import anywidget
    import traitlets
except ImportError:  # then only the static views are shown
    anywidget = None  # type: ignore[assignment]

if anywidget is not None:
    # The sliders of ipywidgets have no name that a screen reader finds, and its Play no names on its buttons.
    class Controls(anywidget.AnyWidget):
        """What `controls.js` shows; all of it but the choices themselves."""

        _esm = Path(__file__).with_name("controls.js")
        _css = Path(__file__).with_name("controls.css")
        fields: Any = traitlets.List().tag(sync=True)
        at = traitlets.List(traitlets.Int()).tag(sync=True)
        most = traitlets.List(traitlets.Int()).tag(sync=True)
        pace = traitlets.Int().tag(sync=True)
        now = traitlets.Unicode().tag(sync=True)


PACE = 1500  # milliseconds a step of Play


class Field(NamedTuple):
    """A slider."""

    name: str
    tip: str
    """What it moves, in words."""
    choices: Sequence[Any]
    """In order."""
    start: Any
    """Where it stands at first."""
    show: Callable[[Any], str] = readable
    """How a choice is written."""

    @property
    def all(self) -> list[Any]:
        """The choices, with the start where it is none of them."""
        return sorted({*self.choices, self.start})


def explore(
    fields: Sequence[Field], figure: Callable[..., plots.Figure], last: Callable[..., Any] | None = None
) -> None:
    """Display sliders, what they stand for in words, and a figure that follows them.

    The figure is an output like any other: it is stored as it stands, and complete without the sliders. Where there
    are no widgets it is all that is displayed.

    Parameters
    ----------
    fields : sequence of Field
        The sliders.
    figure : callable
        Makes the figure of a value of each. The last line of its numbers is read out when it changes.
    last : callable, optional
        Tells, given a value of each, the choice at which the first slider ends; then there is a button to play it.
    """
    values = [field.start for field in fields]
    first = figure(*values)
    if anywidget is None:
        plots.show(first)
        return
    choices = [field.all for field in fields]
    controls = Controls(
        fields=[
            {"name": field.name, "tip": field.tip, "shown": [field.show(choice) for choice in field.all]}
            for field in fields
        ],
        at=[those.index(value) for those, value in zip(choices, values, strict=True)],
        most=[len(those) - 1 for those in choices],
        pace=PACE if last else 0,
        now=_summary(first),
    )

    def chosen() -> list[Any]:
        return [those[index] for those, index in zip(choices, controls.at, strict=True)]

    def end_of_first(_: Any = None) -> None:
        if last is not None:
            index, end = controls.at[0], choices[0].index(last(*chosen()))
            stay = index == controls.most[0]  # who was at the end is at the new end
            controls.most = [end, *controls.most[1:]]
            controls.at = [end if stay else min(index, end), *controls.at[1:]]

    end_of_first()
    said = ", ".join(f"{field.name} = {field.show(value)}" for field, value in zip(fields, values, strict=True))
    place(controls, f"To move: {said}.")
    stage = plots.Stage(first)
    data, metadata = plots.bundle(first, stage=stage)
    view = display(data, metadata=metadata, raw=True, display_id=True)

    def redraw() -> None:
        new = figure(*chosen())
        data, metadata = plots.bundle(new, stage=stage)
        view.update(data, metadata=metadata, raw=True)
        controls.now = _summary(new)

    controls.observe(end_of_first, "at")
    controls.observe(_debounced(redraw), "at")


def _summary(figure: plots.Figure) -> str:
    return figure.numbers.splitlines()[-1]


def _debounced(redraw: Callable[[], None], seconds: float = 0.02) -> Callable[[Any], None]:
    """A handler that redraws once, when a slider has rested for a moment, and not for each step of a drag."""
    waiting: list[asyncio.TimerHandle] = []
    drawing = threading.Lock()

    def draw() -> None:
        # JupyterLab sends the first step of a drag to the kernel's main thread and the others to another one. Two
        # pictures drawn at once may arrive in the wrong order, and the older one would stay.
        with drawing:
            redraw()

    def later(_: Any) -> None:
        for handle in waiting:
            handle.cancel()
        waiting[:] = [asyncio.get_event_loop().call_later(seconds, draw)]

    return later
