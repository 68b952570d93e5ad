"""Figures that say in words what they show.

Each function returns a `Figure`: the picture, the numbers it shows as text, and a sentence for a screen reader. `show`
displays the three. A notebook stores them, nbval compares the text, and nothing is told by colour alone.
"""

import io
import logging
import string
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from specdec_kit.distributions import as_law, as_pair
from specdec_kit.evidence import readable
from specdec_kit.extras import needed

# Matplotlib lists the fonts once, in a browser at each start, and would say so on stderr in the midst of a lesson.
logging.getLogger("matplotlib.font_manager").addFilter(lambda record: "font cache" not in record.getMessage())

with needed("lab"):
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas
    from matplotlib.image import imsave
    from matplotlib.ticker import MaxNLocator

# One look for one thing, in every lesson: colours of Okabe and Ito (distinguishable without colour vision), and a
# hatch or marker of its own for print.
LOOK: dict[str, dict[str, Any]] = {
    "accepted": {"facecolor": "#0072B2", "hatch": ""},
    "rejected": {"facecolor": "#E69F00", "hatch": "///"},
    "residual": {"facecolor": "#009E73", "hatch": "..."},
    "target": {"facecolor": "#56B4E9", "hatch": ""},
    "draft": {"facecolor": "#CC79A7", "hatch": "\\\\\\"},
    "observed": {"facecolor": "#D55E00", "hatch": "xxx"},
}
OTHERS: Sequence[dict[str, Any]] = (  # for what has no look of its own
    {"facecolor": "#F0E442", "hatch": "--"},
    {"facecolor": "#BBBBBB", "hatch": "oo"},
    {"facecolor": "#777777", "hatch": "++"},
    {"facecolor": "#FFFFFF", "hatch": "**"},
)
LINES: Sequence[dict[str, Any]] = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    {"color": "#009E73", "marker": "^", "linestyle": ":"},
    {"color": "#CC79A7", "marker": "D", "linestyle": "-."},
)
# What others are held against, and what was seen: one look each, among lines as among bars.
LEVEL: dict[str, Any] = {"color": "black", "linewidth": 1.2, "linestyle": "--"}
LEVELS = ("no gain", "one α for all")
POINT: dict[str, Any] = {"marker": "D", "color": LOOK["observed"]["facecolor"], "markeredgecolor": "black"}
DPI = 110
_METADATA: Any = {"Software": None}  # its version would change the file
_STYLE: Any = {
    "font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "hatch.linewidth": 0.7,
    "figure.constrained_layout.h_pad": 0.06, "figure.constrained_layout.w_pad": 0.06,
}  # fmt: skip


@dataclass
class Figure:
    """A picture with its words."""

    canvas: Canvas
    """The matplotlib figure."""
    numbers: str
    """What the picture shows, as text: a line for each thing shown."""
    alt: str
    """What a screen reader says for the picture."""

    def png(self) -> bytes:
        """The picture as PNG, at `DPI` dots an inch."""
        file = io.BytesIO()
        with matplotlib.rc_context(_STYLE):
            self.canvas.set_dpi(DPI)
            # The same picture as by savefig, which draws all of it once before, in vain.
            FigureCanvasAgg(self.canvas).print_png(file, metadata=_METADATA)
        return file.getvalue()


class Stage:
    """Draws figures that differ inside of their axes alone, in a third of the time: ticks and legend are drawn once.

    Parameters
    ----------
    first : Figure
        Its size, axes, ticks and legend are those of all that follow.
    """

    def __init__(self, first: Figure):
        self._canvas = first.canvas
        self._canvas.set_dpi(DPI)
        self._painter = FigureCanvasAgg(self._canvas)
        inside = [artist for ax in self._canvas.axes for artist in _inside(ax)]
        with matplotlib.rc_context(_STYLE):
            self._painter.draw()  # which places the axes, for good
            self._canvas.set_layout_engine("none")
            shown = [artist for artist in inside if artist.get_visible()]
            for artist in shown:
                artist.set_visible(False)
            self._painter.draw()
        for artist in shown:
            artist.set_visible(True)
        self._empty = self._painter.copy_from_bbox(self._canvas.bbox)

    def png(self, figure: Figure) -> bytes:
        """The same bytes as `figure.png()`."""
        figure.canvas.set_dpi(DPI)
        self._painter.restore_region(self._empty)
        with matplotlib.rc_context(_STYLE):
            for ax, place in zip(figure.canvas.axes, self._canvas.axes, strict=True):
                ax.set_position(place.get_position())
                for artist in sorted(_inside(ax), key=lambda one: one.zorder):
                    artist.draw(self._painter.get_renderer())
        file = io.BytesIO()
        imsave(file, np.asarray(self._painter.buffer_rgba()), format="png", dpi=DPI, metadata=_METADATA)
        return file.getvalue()


def _inside(ax: Any) -> list[Any]:
    return [*ax.patches, *ax.collections, *ax.lines, *ax.texts, ax.title, *ax.spines.values()]


def bundle(figure: Figure, alt: str | None = None, stage: Stage | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Output data and metadata of a figure, as Jupyter stores them; drawn on a `stage` if there is one."""
    said = figure.alt if alt is None else alt
    if not said.strip():
        raise ValueError("the alt text is empty: say in a sentence what the figure shows")
    picture = figure.png() if stage is None else stage.png(figure)
    text = b64encode(picture).decode()  # not each kernel does that: the one in a browser does not
    return {"image/png": text, "text/plain": figure.numbers}, {"image/png": {"alt": said}}


def show(figure: Figure, alt: str | None = None) -> None:
    """Display a figure: the picture with its numbers and alt text, and below it, folded, the same in words.

    JupyterLab gives a picture no alt text (4.6), so the words are what a screen reader finds there.

    Parameters
    ----------
    figure : Figure
        From one of the functions below.
    alt : str, optional
        What a screen reader says; the figure's own sentence without it.
    """
    from IPython.display import display

    data, metadata = bundle(figure, alt)
    display(data, metadata=metadata, raw=True)
    said = metadata["image/png"]["alt"]
    display({"text/html": in_words(said, figure.numbers), "text/plain": said}, raw=True)


def in_words(said: str, numbers: str) -> str:
    """The words of a figure as HTML, folded: what it shows, then its numbers, each of them once."""
    shows = said.removesuffix(". ".join(numbers.split("\n")) + ".").strip()
    return (
        f'<details class="specdec-words"><summary>The figure in words</summary><p>{escape(shows)}</p>'
        f'<pre style="white-space: pre-wrap; word-break: normal">{escape(numbers)}</pre></details>'
    )


def names(count: int) -> list[str]:
    """Names of the tokens where none are given: A, B, C, … then numbers."""
    return list(string.ascii_uppercase[:count]) if count <= 26 else [str(i) for i in range(count)]


def _axes(width: float, height: float) -> tuple[Canvas, Any]:
    canvas = Canvas(figsize=(width, height), layout="constrained")
    return canvas, canvas.subplots()


def _listed(shown: Mapping[str, Any]) -> str:
    *most, last = shown
    return f"{', '.join(most)} and {last}" if most else last


def _at_most_four(shown: Mapping[str, Any]) -> None:
    if len(shown) > 4:
        raise ValueError(f"{len(shown)} at once cannot be told apart: show at most four")


def mass_bars(p: ArrayLike, q: ArrayLike, tokens: Sequence[str] | None = None) -> Figure:
    """Where each unit of draft mass goes: accepted or rejected on the left, and the restored target on the right.

    Parameters
    ----------
    p, q : array_like, shape (vocabulary,)
        Target and draft laws.
    tokens : sequence of str, optional
        Names of the tokens.
    """
    target, draft = (np.asarray(law, dtype=np.float64) for law in as_pair(p, q))
    tokens = names(len(target)) if tokens is None else list(tokens)
    kept = np.minimum(target, draft)
    surplus, lacking = draft - kept, target - kept
    rejected = surplus.sum()
    with matplotlib.rc_context(_STYLE):
        canvas, ax = _axes(max(6.4, 1.5 * len(target) + 1), 3.6)
        at, width = np.arange(len(target)), 0.36
        edge = {"edgecolor": "black", "linewidth": 0.8, "width": width}
        ax.bar(at - 0.2, kept, **LOOK["accepted"], **edge, label="accepted, min(p, q)")
        ax.bar(at - 0.2, surplus, bottom=kept, **LOOK["rejected"], **edge, label="rejected, (q − p)₊")
        ax.bar(at + 0.2, kept, **LOOK["accepted"], **edge)
        ax.bar(at + 0.2, lacking, bottom=kept, **LOOK["residual"], **edge, label="from the residual, (p − q)₊")
        for x, total in zip(at, draft, strict=True):
            ax.text(x - 0.2, total + 0.01, f"q = {total:.3g}", ha="center", va="bottom", fontsize=9)
        for x, total in zip(at, target, strict=True):
            ax.text(x + 0.2, total + 0.01, f"p = {total:.3g}", ha="center", va="bottom", fontsize=9)
        ax.set_xticks(at, [f"{t}\ndraft → output" for t in tokens])
        # Two tokens keep one scale, so that a moved slider moves the bars and not the axis.
        ax.set_ylim(0, 1.08 if len(target) == 2 else max(target.max(), draft.max()) * 1.12)
        ax.set_ylabel("probability")
        ax.set_title(f"{kept.sum():.3g} accepted, {rejected:.3g} rejected and drawn anew", fontsize=11, y=1)
        canvas.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    lines = [
        f"{t}: draft {readable(draft[i])} = {readable(kept[i])} accepted + {readable(surplus[i])} rejected; "
        f"output {readable(target[i])} = {readable(kept[i])} accepted + {readable(lacking[i])} from the residual"
        for i, t in enumerate(tokens)
    ]
    lines.append(f"in all: {readable(kept.sum())} accepted, {readable(rejected)} rejected")
    said = "Two stacked bars for each token: what becomes of the draft's mass, and what the output is made of. "
    return Figure(canvas, "\n".join(lines), said + ". ".join(lines) + ".")


def law_bars(laws: Mapping[str, ArrayLike], tokens: Sequence[str] | None = None) -> Figure:
    """Several laws side by side.

    Parameters
    ----------
    laws : mapping from str to array_like, shape (vocabulary,)
        At most four; a name of `LOOK` ("target", "draft", "observed", …) gets its look.
    tokens : sequence of str, optional
        Names of the tokens.
    """
    vectors = {name: np.asarray(as_law(law, name), dtype=np.float64) for name, law in laws.items()}
    count = len(next(iter(vectors.values())))
    tokens = names(count) if tokens is None else list(tokens)
    _at_most_four(laws)
    spare = iter(OTHERS)
    with matplotlib.rc_context(_STYLE):
        canvas, ax = _axes(max(6.0, 0.45 * count * len(vectors) + 2), 3.2)
        width = 0.8 / len(vectors)
        for i, (name, law) in enumerate(vectors.items()):
            look = LOOK.get(name) or next(spare)
            at = np.arange(count) + (i - (len(vectors) - 1) / 2) * width
            ax.bar(at, law, width, **look, edgecolor="black", linewidth=0.6, label=name)
        ax.set_xticks(np.arange(count), tokens)
        ax.set_ylabel("probability")
        canvas.legend(loc="outside upper center", ncols=len(vectors), frameon=False, fontsize=9)
    lines = [
        f"{name}: " + ", ".join(f"{t} {readable(round(float(v), 4))}" for t, v in zip(tokens, law, strict=True))
        for name, law in vectors.items()
    ]
    said = f"Bars side by side for each token, its probability under {_listed(vectors)}. "
    return Figure(canvas, "\n".join(lines), said + ". ".join(lines) + ".")


def frequencies(
    counts: ArrayLike, p: ArrayLike, tokens: Sequence[str] | None = None, what: str = "frequency"
) -> Figure:
    """Observed frequencies with two standard errors on each side, over the bars of the law they should follow.

    Parameters
    ----------
    counts : array_like of int, shape (vocabulary,)
        How often each token was drawn.
    p : array_like, shape (vocabulary,)
        The target law; the standard error of a frequency is √(p(1 − p)/N).
    tokens : sequence of str, optional
        Names of the tokens.
    what : str
        What the points are called.
    """
    seen, target = np.asarray(counts), np.asarray(as_law(p), dtype=np.float64)
    total = int(seen.sum())
    if total == 0:
        raise ValueError("no draws were counted: a frequency needs at least one")
    impossible = np.flatnonzero((target == 0) & (seen > 0))
    if impossible.size:
        token = int(impossible[0])
        raise ValueError(f"token {token} has p = 0 and was drawn {seen[token]} times: count another law")
    freq, error = seen / total, np.sqrt(target * (1 - target) / total)
    tokens = names(len(target)) if tokens is None else list(tokens)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where(error > 0, (freq - target) / error, 0.0)
    with matplotlib.rc_context(_STYLE):
        canvas = Canvas(figsize=(max(6.4, 0.35 * len(target) + 2), 4.2), layout="constrained")
        top, bottom = canvas.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        at = np.arange(len(target))
        top.bar(at, target, 0.7, **LOOK["target"], edgecolor="black", linewidth=0.6, label="target p")
        top.errorbar(
            at, freq, 2 * error, fmt="none", ecolor="black", elinewidth=1.2, capsize=7, label="± 2 SE", zorder=3
        )
        top.plot(at, freq, **POINT, linestyle="", markersize=5, label=what, zorder=4)
        top.set_ylabel("probability")
        top.set_title(f"{total:,} draws", fontsize=11)
        bottom.axhspan(-2, 2, color="0.88", label="within 2 SE of p")
        bottom.axhline(0, color="black", linewidth=0.8)
        bottom.plot(at, off, **POINT, linestyle="", markersize=5)
        bottom.set_ylim(-1.15 * max(3.0, np.abs(off).max()), 1.15 * max(3.0, np.abs(off).max()))
        bottom.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        bottom.set_ylabel("off by (SE)")
        bottom.set_xticks(at, tokens)
        bottom.set_xlabel("token")
        canvas.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    lines = [
        f"{t}: p {readable(round(float(target[i]), 4))}, {what} {readable(round(float(freq[i]), 4))}, "
        f"off by {round(float(off[i]), 1) + 0.0:+.1f} SE"
        for i, t in enumerate(tokens)
    ]
    worst = float(np.abs(off).max())
    return Figure(
        canvas,
        "\n".join(lines),
        f"Bars of the target law with the {what} of {total:,} draws as points; "
        f"the farthest point is {worst:.1f} standard errors from its bar. " + ". ".join(lines) + ".",
    )


def curves(
    x: Sequence[float],
    ys: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    ylim: tuple[float, float] | None = None,
    logx: bool = False,
    at: float | None = None,
    within: Mapping[str, ArrayLike] | None = None,
) -> Figure:
    """Lines over a common axis, each with its own colour, marker and dash; what is one of `LEVELS`, dashed in black.

    Parameters
    ----------
    x : sequence of float
        Common positions.
    ys : mapping from str to sequence of float
        One line for each name, at most four.
    xlabel, ylabel : str
        What the axes show, with unit.
    ylim : tuple of float, optional
        Ends of the vertical axis.
    logx : bool
        Whether equal steps of the horizontal axis are equal factors.
    at : float, optional
        A position to mark.
    within : mapping from str to array_like, shape (points, 2)
        Ends of intervals, by the name of the line whose points lie in them.
    """
    _at_most_four(ys)
    ends = {name: np.asarray(pair, dtype=np.float64) for name, pair in (within or {}).items()}
    looks = iter(LINES)
    with matplotlib.rc_context(_STYLE):
        canvas, ax = _axes(6.4, 3.2)
        for name, y in ys.items():
            look = LEVEL if name in LEVELS else {**next(looks), "markersize": 5}
            # A marker on the edge is shown whole, and what leaves the picture ends there.
            leaves = ylim is not None and not (ylim[0] <= min(y) and max(y) <= ylim[1])
            ax.plot(x, y, **look, label=name, clip_on=leaves, zorder=3)
            if name in ends:
                off = np.abs(ends[name].T - np.asarray(y, dtype=np.float64))
                ax.errorbar(x, y, off, fmt="none", ecolor=look["color"], elinewidth=1.2, capsize=5)
        if at is not None:
            ax.axvline(at, color="black", linewidth=1.2, linestyle=(0, (1, 2)))
        ax.set(xlabel=xlabel, ylabel=ylabel)
        if ylim is not None:
            ax.set_ylim(*ylim)
        if logx:
            doubling = all(isinstance(v, int | np.integer) and v > 0 and v & (v - 1) == 0 for v in x)
            ax.set_xscale("log", base=2 if doubling else 10)
            if doubling:  # 1, 2, 4, 8 say more than powers of ten
                ax.set_xticks(x, [str(v) for v in x])
        elif all(isinstance(v, int | np.integer) for v in x):  # a place or a count is whole
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        canvas.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    lines = [f"{xlabel}: {', '.join(readable(v) for v in x)}"]
    for name, y in ys.items():
        lines.append(f"{name}: {', '.join(readable(round(float(v), 4)) for v in y)}")
        if name in ends:
            lines.append(f"{name}, within: {', '.join(f'{low:.4g} to {high:.4g}' for low, high in ends[name])}")
    said = f"Lines of {ylabel} against {xlabel}: {'; '.join(f'{name} {_course(y)}' for name, y in ys.items())}. "
    return Figure(canvas, "\n".join(lines), said + ". ".join(lines) + ".")


def _course(y: Sequence[float]) -> str:
    """Where a line goes, in words."""
    values = np.round(np.asarray(y, dtype=np.float64), 4)
    first, last, least, most = (readable(float(v)) for v in (values[0], values[-1], values.min(), values.max()))
    if least == most:
        return f"stays at {first}"
    steps = np.diff(values)
    if (steps >= 0).all() or (steps <= 0).all():
        return f"{'rises' if first == least else 'falls'} from {first} to {last}"
    return f"goes from {first} to {last}, between {least} and {most}"


def histogram(samples: Mapping[str, ArrayLike], *, xlabel: str, bins: int = 10) -> Figure:
    """How often values of [0, 1] fall into each of some equal parts, beside what a uniform law gives.

    Parameters
    ----------
    samples : mapping from str to array_like, shape (any,)
        Values in [0, 1], such as p-values; at most four sets, a name of `LOOK` gets its look.
    xlabel : str
        What the values are.
    bins : int
        Number of parts.
    """
    _at_most_four(samples)
    shares = {}
    for name, values in samples.items():
        seen = np.asarray(values, dtype=np.float64)
        if seen.size == 0 or not ((seen >= 0) & (seen <= 1)).all():
            raise ValueError(f"{name} holds {seen.size} values, not all of them between 0 and 1: give at least one")
        shares[name] = np.histogram(seen, bins, (0, 1))[0] / seen.size
    edges, spare = np.linspace(0, 1, bins + 1), iter(OTHERS)
    with matplotlib.rc_context(_STYLE):
        canvas, ax = _axes(6.8, 3.2)
        width = 0.84 / bins / len(shares)
        for i, (name, share) in enumerate(shares.items()):
            at = edges[:-1] + 0.08 / bins + width * (i + 0.5)
            ax.bar(at, share, width, **(LOOK.get(name) or next(spare)), edgecolor="black", linewidth=0.6, label=name)
        ax.axhline(1 / bins, **LEVEL, label="uniform")
        ax.set_xticks(edges)
        ax.set(xlabel=xlabel, ylabel="share")
        canvas.legend(loc="outside upper center", ncols=len(shares) + 1, frameon=False, fontsize=9)
    lines = [f"{xlabel}, {bins} equal parts of 0 to 1; uniform: {readable(round(1 / bins, 4))} in each"]
    lines += [f"{name}: {', '.join(readable(round(float(v), 4)) for v in share)}" for name, share in shares.items()]
    said = f"Bars side by side for each part, the share of {_listed(shares)} in it; a dashed line where uniform lies. "
    return Figure(canvas, "\n".join(lines), said + ". ".join(lines) + ".")


def intervals(
    p: ArrayLike, estimate: ArrayLike, interval: ArrayLike, band: ArrayLike, tokens: Sequence[str] | None = None
) -> Figure:
    """How far estimates and their intervals lie from the law: thick for each token by itself, thin for all together.

    Parameters
    ----------
    p : array_like, shape (vocabulary,)
        The law.
    estimate : array_like, shape (vocabulary,)
        Frequencies.
    interval, band : array_like, shape (vocabulary, 2)
        Lower and upper ends.
    tokens : sequence of str, optional
        Names of the tokens.
    """
    law = np.asarray(as_law(p), dtype=np.float64)
    middle, one, together = (np.asarray(a, dtype=np.float64) for a in (estimate, interval, band))
    tokens = names(len(law)) if tokens is None else list(tokens)
    at = np.arange(len(law))
    with matplotlib.rc_context(_STYLE):
        canvas, ax = _axes(6.8, 0.19 * len(law) + 1.7)
        ax.axvline(0, **LEVEL, label="p", zorder=2.5)
        ax.hlines(at, *(together.T - law), color="black", linewidth=1, label="interval, all together")
        ax.hlines(at, *(one.T - law), color="0.55", linewidth=5, label="each by itself")
        ax.plot(middle - law, at, **POINT, linestyle="", markersize=5, label="estimate", zorder=3)
        ax.set_yticks(at, tokens)
        ax.set_ylim(len(law) - 0.5, -0.5)
        ax.set_xlabel("estimate less p")
        canvas.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    inside = [(ends[:, 0] <= law) & (law <= ends[:, 1]) for ends in (one, together)]
    told = at if len(law) <= 12 else np.flatnonzero(~inside[0] | ~inside[1])  # of many, those that stand out
    lines = [
        f"{tokens[i]}: p {law[i]:.4g}, estimate {middle[i]:.4g}, by itself {one[i, 0]:.4g} to {one[i, 1]:.4g}"
        f"{'' if inside[0][i] else ' (misses p)'}, all together {together[i, 0]:.4g} to {together[i, 1]:.4g}"
        f"{'' if inside[1][i] else ' (misses p)'}"
        for i in told
    ]
    lines.append(
        f"p is missed by {int((~inside[0]).sum())} of {len(law)} intervals by themselves, "
        f"by {int((~inside[1]).sum())} of those for all together"
    )
    said = (
        "How far estimates lie from p, a row for each token: a thick interval by itself, a thin one for all together. "
    )
    return Figure(canvas, "\n".join(lines), said + ". ".join(lines) + ".")


class Strip(NamedTuple):
    """What one uniform decides: 0 to 1 in parts, each with what happens where the uniform falls into it."""

    title: str
    parts: Sequence[tuple[str, float, str]]
    """Name, width and look (of `LOOK`, or "" for none) of each part."""
    u: float
    outcome: str
    """What happened, in a word or two."""
    words: str
    """All of it in a sentence."""


def strips(rows: Sequence[Strip], upto: int | None = None, room: int | None = None) -> Figure:
    """Uniforms and what each decides, one below the other.

    Parameters
    ----------
    rows : sequence of Strip
        In the order in which the uniforms were drawn.
    upto : int, optional
        How many of them to show; all if not given.
    room : int, optional
        For how many rows there is room; for these if not given.
    """
    shown = list(rows[:upto])
    with matplotlib.rc_context(_STYLE):
        room = len(rows) if room is None else room
        canvas, ax = _axes(6.8, 0.42 * room + 0.9)
        for y, row in enumerate(shown):
            left = 0.0
            for name, width, look in row.parts:
                if width == 0:
                    continue
                style = LOOK[look] if look else {"facecolor": "white"}
                ax.barh(y, width, 0.56, left, **style, edgecolor="black", linewidth=0.8)
                if width >= 0.08:
                    box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.15"}
                    places = [left + part * width for part in (0.5, 0.25, 0.75)]  # in the middle, but not over u
                    x = max(places, key=lambda x: min(abs(x - row.u), 0.07))
                    ax.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box if look else None)
                left += width
            ax.plot([row.u] * 2, [y - 0.4, y + 0.4], "v-", markevery=[0], color="black", linewidth=2.2, markersize=7)
            ax.text(-0.02, y, row.title, ha="right", va="center", fontsize=10)
            ax.text(1.02, y, row.outcome, ha="left", va="center", fontsize=10)
        ax.set(xlim=(-0.3, 1.3), ylim=(room - 0.4, -0.6), xlabel="u, the uniform drawn (▼)", yticks=[])
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        ax.spines["left"].set_visible(False)
        ax.spines["bottom"].set_bounds(0, 1)
    lines = [f"{len(shown)} of {len(rows)} uniforms"]
    lines += [f"{n}. {row.words}" for n, row in enumerate(shown, 1)]
    said = "A strip from 0 to 1 for each uniform, cut into what it may decide, with a mark where it fell. "
    return Figure(canvas, "\n".join(lines), said + ". ".join(lines) + ".")


def alarm(deviations: ArrayLike, right: ArrayLike, off: ArrayLike, least: float) -> Figure:
    """How likely each deviation of a count is if p is right and if it is off, and from where on it raises an alarm.

    Parameters
    ----------
    deviations : array_like, shape (points,)
        From what is expected under p, in standard errors, in order.
    right, off : array_like, shape (points,)
        How likely each is, in parts of the likeliest.
    least : float
        The least deviation that raises an alarm.
    """
    at, one, other = (np.asarray(values, dtype=np.float64) for values in (deviations, right, off))
    late, edge = at >= least - 1e-9, {"edgecolor": "black", "linewidth": 0.8}
    peak = float(at[other.argmax()])
    with matplotlib.rc_context(_STYLE):
        canvas, ax = _axes(6.8, 3.2)
        ax.fill_between(at, one, **LOOK["target"], **edge, label="p is right")
        ax.fill_between(at, other, facecolor="white", alpha=0.7, **edge, label="p is off, missed")
        ax.fill_between(at[late], other[late], **LOOK["observed"], **edge, label="p is off, seen")
        ax.axvline(least, **LEVEL, label="alarm from here on")
        if peak > 15:
            ax.text(14.8, 0.5, f"p is off, seen:\nfarther out, at {peak:.0f} →", ha="right", va="center", fontsize=10)
        ax.set(xlim=(-5, 15), ylim=(0, 1.08), yticks=[], ylabel="how likely")
        ax.set_xlabel("count less what is expected, in standard errors")
        canvas.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    line = f"in standard errors: likeliest 0 if p is right, {peak:.3g} if it is off; alarm from {least:.3g} on"
    said = "How likely each count is: a hump if p is right, one if p is off, and a line where the alarm begins."
    return Figure(canvas, line, f"{said} {line}.")
