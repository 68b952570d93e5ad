"""Sliders and buttons. Each stands over a view that is complete without them: nothing hides behind a click."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from IPython import get_ipython
from IPython.display import display
from numpy.typing import ArrayLike

from specdec_kit import evidence, plots
from specdec_kit.distributions import as_pair

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


def mass_explorer(p: ArrayLike, q: ArrayLike) -> None:
    """The mass bars of two laws over two tokens, with a slider for p(A) and one for q(A).

    Parameters
    ----------
    p, q : array_like, shape (2,)
        Where the sliders stand at first, and what the static view shows.
    """
    target, draft = as_pair(p, q)
    if target.shape != (2,):
        raise ValueError(f"p has shape {target.shape}: the explorer moves laws over two tokens, shape (2,)")
    if ipywidgets is None:
        plots.show(plots.mass_bars(target, draft))
        return

    def slider(letter: str, law: str, start: float) -> Any:
        says = {"description": f"{letter}(A)", "tooltip": f"Probability of A in the {law} law"}
        return ipywidgets.FloatSlider(start, min=0, max=1, step=0.05, readout_format=".2f", **says)

    of_p, of_q = slider("p", "target", float(target[0])), slider("q", "draft", float(draft[0]))

    def figure() -> plots.Figure:
        a, b = of_p.value, of_q.value
        return plots.mass_bars(np.array([a, 1 - a]), np.array([b, 1 - b]))

    data, metadata = plots.bundle(figure())
    _place(ipywidgets.HBox([of_p, of_q]), f"Sliders: p(A) = {of_p.value:.2f}, q(A) = {of_q.value:.2f}.")
    view = display(data, metadata=metadata, raw=True, display_id=True)

    def redraw() -> None:
        data, metadata = plots.bundle(figure())
        view.update(data, metadata=metadata, raw=True)

    moved = _debounced(redraw)
    of_p.observe(moved, "value")
    of_q.observe(moved, "value")
