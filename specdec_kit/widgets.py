"""The box of `predict`, and how a widget is displayed beside what stands for it where there are none."""

from typing import Any

from IPython import get_ipython
from IPython.display import display

from specdec_kit import evidence
from specdec_kit.lines import wrapped

try:
    import ipywidgets
except ImportError:  # then only the static views are shown
    ipywidgets = None

_WIDGET = "application/vnd.jupyter.widget-view+json"


def place(widget: Any, said: str) -> None:
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
    place(
        ipywidgets.VBox([label, ipywidgets.HBox([box, button]), answer]),
        wrapped(f"{label.value}. Type it in the box and press Commit."),
    )
    return True
