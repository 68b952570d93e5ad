"""Sliders and bars under which a figure moves: native ones of the browser, each with a name that is read out."""

import asyncio
import threading
import time
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
        at: Any = traitlets.List().tag(sync=True)
        most = traitlets.List(traitlets.Int()).tag(sync=True)
        pace = traitlets.Int().tag(sync=True)
        now = traitlets.Unicode().tag(sync=True)


PACE = 1500  # milliseconds a step of Play


class Field(NamedTuple):
    """A slider. Where it stands is the index of a choice."""

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

    @property
    def most(self) -> int:
        return len(self.all) - 1

    def at(self, choice: Any) -> Any:
        return self.all.index(choice)

    def value(self, at: Any) -> Any:
        return self.all[at]

    def sent(self) -> dict[str, Any]:
        return {"name": self.name, "tip": self.tip, "shown": [self.show(choice) for choice in self.all]}


class Bars(NamedTuple):
    """A law as bars to drag, one for each token. Where they stand is the law; `controls.js` keeps it one."""

    name: str
    tip: str
    """Which law it is, in words; a name of `specdec_kit.plots.LOOK`."""
    start: Sequence[float]
    """Where they stand at first."""

    @property
    def most(self) -> int:
        return 1

    def at(self, law: Any) -> Any:
        return list(law)

    def value(self, at: Any) -> Any:
        return at

    def show(self, law: Sequence[float]) -> str:
        tokens = plots.names(len(law))
        return " ".join(f"{token} {readable(round(mass, 3))}" for token, mass in zip(tokens, law, strict=True))

    def sent(self) -> dict[str, Any]:
        look = plots.LOOK[self.tip]
        return {
            "name": self.name,
            "tip": self.tip,
            "tokens": plots.names(len(self.start)),
            "start": self.at(self.start),
            "colour": look["facecolor"],
            "hatched": bool(look["hatch"]),
        }


def explore(
    fields: Sequence[Field | Bars], figure: Callable[..., plots.Figure], last: Callable[..., Any] | None = None
) -> None:
    """Display sliders or bars, what they stand for in words, and a figure that follows them.

    The figure is an output like any other: it is stored as it stands, and complete without the sliders. Where there
    are no widgets it is all that is displayed.

    Parameters
    ----------
    fields : sequence of Field or Bars
        What can be moved.
    figure : callable
        Makes the figure of a value of each. The last line of its numbers is read out when it changes.
    last : callable, optional
        Tells, given a value of each, the choice at which the first slider ends; then there is a button to play it.
    """
    first = figure(*(field.start for field in fields))
    if anywidget is None:
        plots.show(first)
        return
    controls = Controls(
        fields=[field.sent() for field in fields],
        at=[field.at(field.start) for field in fields],
        most=[field.most for field in fields],
        pace=PACE if last else 0,
        now=_summary(first),
    )

    def chosen() -> list[Any]:
        return [field.value(at) for field, at in zip(fields, controls.at, strict=True)]

    def end_of_first(_: Any = None) -> None:
        if last is not None:
            index, end = controls.at[0], fields[0].at(last(*chosen()))
            stay = index == controls.most[0]  # who was at the end is at the new end
            controls.most = [end, *controls.most[1:]]
            controls.at = [end if stay else min(index, end), *controls.at[1:]]

    end_of_first()
    place(controls, f"To move: {', '.join(f'{field.name} = {field.show(field.start)}' for field in fields)}.")
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


def _debounced(redraw: Callable[[], None], rest: float = 0.02, longest: float = 0.08) -> Callable[[Any], None]:
    """A handler that redraws once when what is moved has rested for a moment, and now and then in a long drag."""
    waiting: list[asyncio.TimerHandle] = []
    moved: list[float] = []  # when, since the last picture
    drawing = threading.Lock()

    def draw() -> None:
        # JupyterLab sends the first step of a drag to the kernel's main thread and the others to another one. Two
        # pictures drawn at once may arrive in the wrong order, and the older one would stay.
        with drawing:
            moved.clear()
            redraw()

    def later(_: Any) -> None:
        for handle in waiting:
            handle.cancel()
        moved.append(time.monotonic())
        wait = min(rest, max(0, moved[0] + longest - moved[-1]))
        waiting[:] = [asyncio.get_event_loop().call_later(wait, draw)]

    return later
