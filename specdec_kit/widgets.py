"""Sliders and buttons. Each stands over a view that is complete without them: nothing hides behind a click."""

import asyncio
import html
import threading
from collections.abc import Callable, Sequence
from typing import Any

from IPython import get_ipython
from IPython.display import display

from specdec_kit import evidence, plots

try:
    import ipywidgets
except ImportError:  # then only the static views are shown
    ipywidgets = None

_WIDGET = "application/vnd.jupyter.widget-view+json"


def _place(widget: Any, said: str) -> None:
    """Display a widget with `said` as its text: what a page without widgets, and nbval, get to see."""
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    display({"text/plain": said, _WIDGET: view}, raw=True)


def _in_notebook() -> bool:
    return getattr(get_ipython(), "kernel", None) is not None


def prediction_box(name: str, unit: str) -> bool:
    """Show a box and a button to commit a prediction with; False where there is no notebook to show them in.

    Parameters
    ----------
    name, unit : str
        What is predicted, and what it is measured in.
    """
    if ipywidgets is None or not _in_notebook():
        return False
    earlier = evidence.prediction(name)
    label = ipywidgets.Label(f"Your prediction: {name}{f' ({unit})' if unit else ''}")
    hint = "a number, such as 0.7 or 7/10"
    box = ipywidgets.Text(placeholder=hint, tooltip=label.value, continuous_update=False)  # named for a screen reader
    button = ipywidgets.Button(description="Commit", tooltip=f"Commit the prediction of {name}", button_style="primary")
    answer = ipywidgets.Label("" if earlier is None else f"Committed before: {evidence.readable(earlier)}.")

    def commit(_: Any) -> None:
        try:
            answer.value = evidence.commit_prediction(name, evidence.read_value(box.value), unit)
        except (ValueError, OSError) as problem:
            answer.value = f"Not committed: {problem}."
        else:
            box.disabled = button.disabled = True

    button.on_click(commit)
    _place(
        ipywidgets.VBox([label, ipywidgets.HBox([box, button]), answer]),
        f"{label.value}. Type it in the box and press Commit.",
    )
    return True


def _debounced(redraw: Callable[[], None], seconds: float = 0.03) -> Callable[[Any], None]:
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


def control(kind: str, label: str, tooltip: str, **options: Any) -> Any:
    """A control of `ipywidgets`, with a label that is read whole and a tooltip that says what it moves."""
    style, layout = {"description_width": "initial"}, {"width": "24em"}
    return getattr(ipywidgets, kind)(description=label, tooltip=tooltip, style=style, layout=layout, **options)


def explore(controls: Sequence[Any], figure: Callable[[], plots.Figure], more: Sequence[Any] = ()) -> None:
    """Display controls, what they stand for in words, and a figure that follows them.

    The figure is an output like any other: it is stored as it stands, and complete without the controls.

    Parameters
    ----------
    controls : sequence of widgets
        Each with a description and a value.
    figure : callable
        Makes the figure of the present values. The last line of its numbers is announced when it changes.
    more : sequence of widgets
        To display behind the controls.
    """
    first = figure()
    stage, now = plots.Stage(first), ipywidgets.HTML(_announced(first))
    row = ipywidgets.HBox([*controls, *more], layout={"flex_flow": "row wrap"})
    values = ", ".join(f"{one.description} = {evidence.readable(one.value)}" for one in controls)
    _place(ipywidgets.VBox([row, now]), f"To move: {values}.")
    data, metadata = plots.bundle(first, stage=stage)
    view = display(data, metadata=metadata, raw=True, display_id=True)

    def redraw() -> None:
        new = figure()
        data, metadata = plots.bundle(new, stage=stage)
        view.update(data, metadata=metadata, raw=True)
        now.value = _announced(new)

    moved = _debounced(redraw)
    for one in controls:
        one.observe(moved, "value")


def play_button(step: Any, seconds: float = 1.5) -> Any:
    """A button that moves an integer slider on, a step at a time to its end; and pauses it.

    The widget Play of `ipywidgets` has buttons without a name, which a screen reader cannot tell apart.
    """
    button = ipywidgets.Button(icon="play", description="Play", tooltip="Show the steps one after the other")
    waiting: list[asyncio.TimerHandle] = []

    def wait() -> None:
        waiting[:] = [asyncio.get_event_loop().call_later(seconds, move)]

    def move() -> None:
        step.value += 1
        wait() if step.value < step.max else pause()

    def pause() -> None:
        waiting.pop().cancel()
        button.description, button.icon = "Play", "play"

    def pressed(_: Any) -> None:
        if waiting:
            pause()
            return
        button.description, button.icon = "Pause", "pause"
        if step.value == step.max:
            step.value = step.min
        wait()

    button.on_click(pressed)
    return button


def _announced(figure: plots.Figure) -> str:
    """What a screen reader says when the figure has changed."""
    return f'<div role="status">{html.escape(figure.numbers.splitlines()[-1])}</div>'
