"""Figures: the picture is there, its words say what it shows, and nothing is told by colour alone."""

import base64
import inspect
import itertools
import logging
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

from specdec_kit import plots

P, Q = [0.7, 0.3], [0.4, 0.6]
P4, Q4 = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
ENDS = [[0.38, 0.42], [0.31, 0.33], [0.18, 0.22], [0.05, 0.09]]  # the second and the last miss
WIDE = [[0.36, 0.44], [0.29, 0.35], [0.16, 0.24], [0.04, 0.095]]  # the last misses

STRIPS = [
    plots.Strip("draft 1", [("A", 0.4, "draft"), ("B", 0.6, "")], 0.3, "→ A", "draft 1: A is proposed"),
    plots.Strip("test 1: A", [("accept", 0.7, "accepted"), ("reject", 0.3, "rejected")], 0.8, "✗ rejected", "A falls"),
]
HUMPS = np.arange(-5, 12), np.exp(-(np.arange(-5, 12) ** 2) / 2), np.exp(-((np.arange(-5, 12) - 6) ** 2) / 2)

FIGURES = {
    "mass_bars": lambda: plots.mass_bars(P, Q),
    "mass_bars, p = q": lambda: plots.mass_bars(P, P),
    "mass_bars, no overlap": lambda: plots.mass_bars([1, 0], [0, 1]),
    "law_bars": lambda: plots.law_bars({"target": P4, "draft": Q4, "other": P4, "observed": Q4}),
    "frequencies": lambda: plots.frequencies([72, 28], P),
    "frequencies, 36 tokens": lambda: plots.frequencies([3] * 36, [1 / 36] * 36),
    "curves": lambda: plots.curves([0, 1], {"a": [0, 1], "b": [1, 0]}, xlabel="x", ylabel="y", ylim=(0, 1)),
    "curves, factors": lambda: plots.curves([1, 10], {"a": [0, 1]}, xlabel="x", ylabel="y", logx=True),
    "histogram": lambda: plots.histogram({"target": [0.1, 0.9], "mine": [0, 1]}, xlabel="p-value"),
    "intervals": lambda: plots.intervals(P4, P4, ENDS, WIDE, list("wxyz")),
    "curves, one place marked": lambda: plots.curves([0, 1], {"a": [0, 1]}, xlabel="x", ylabel="y", at=1),
    "curves, intervals and a level": lambda: plots.curves(
        [1, 2],
        {"one α for all": [0.4, 0.4], "accepted": [0.5, 0.7]},
        xlabel="place",
        ylabel="share",
        within={"accepted": [[0.4, 0.65], [0.6, 0.75]]},
    ),
    "strips": lambda: plots.strips(STRIPS),
    "strips, room for more": lambda: plots.strips(STRIPS, 1, 4),
    "alarm": lambda: plots.alarm(*HUMPS, 5),
    "alarm, far out": lambda: plots.alarm(HUMPS[0] + 20, *HUMPS[1:], 5),
}


@pytest.fixture(params=FIGURES)
def figure(request):
    return FIGURES[request.param]()


# --- every figure ----------------------------------------------------------------------------------------------------


def test_every_figure_has_a_picture_numbers_and_words(figure):
    png = figure.png()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82")
    assert len(png) > 5_000, "more than empty axes"
    assert any(letter.isdigit() for letter in figure.numbers)
    assert figure.alt.endswith(".") and len(figure.alt.split()) > 8
    assert all(line in figure.alt for line in figure.numbers.splitlines()), "the numbers are read out as well"
    assert "\n" not in figure.alt


def test_the_same_figure_is_the_same_file(figure):
    assert figure.png() == figure.png()
    assert b"matplotlib" not in figure.png().lower(), "its version would change the file"


def test_a_bundle_is_one_output_with_alt_text(figure):
    data, metadata = plots.bundle(figure)
    assert data == {"image/png": base64.b64encode(figure.png()).decode(), "text/plain": figure.numbers}
    assert metadata == {"image/png": {"alt": figure.alt}}
    assert plots.bundle(figure, "In other words.")[1] == {"image/png": {"alt": "In other words."}}


@pytest.mark.parametrize("alt", ["", " \n"])
def test_an_empty_alt_text_is_refused(alt):
    figure = plots.mass_bars(P, Q)
    for refused in (lambda: plots.bundle(figure, alt), lambda: plots.show(figure, alt)):
        with pytest.raises(ValueError, match=r"^the alt text is empty: say in a sentence what the figure shows$"):
            refused()
    figure.alt = alt
    with pytest.raises(ValueError, match="the alt text is empty"):
        plots.bundle(figure)


def test_show_displays_the_picture_and_then_its_words(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *data, **options: shown.append((*data, options)))
    figure = plots.mass_bars(P, Q)
    assert plots.show(figure) is None
    data, metadata = plots.bundle(figure)
    words = {"text/html": plots.in_words(figure.alt, figure.numbers), "text/plain": figure.alt}
    assert shown == [(data, {"metadata": metadata, "raw": True}), (words, {"raw": True})]
    plots.show(figure, "In other words.")
    assert shown[2][1]["metadata"]["image/png"]["alt"] == shown[3][0]["text/plain"] == "In other words."


def test_the_words_of_a_figure_are_folded_and_whole():
    page = ElementTree.fromstring(plots.in_words("Below 1 & above 0: p < q.", "p <b> 0.5\nq & 0.25"))
    assert page.tag == "details" and [part.tag for part in page] == ["summary", "p", "pre"]
    assert [part.text for part in page] == ["The figure in words", "Below 1 & above 0: p < q.", "p <b> 0.5\nq & 0.25"]


def test_the_words_of_a_figure_say_each_number_once(figure):
    shows, numbers = (part.text for part in ElementTree.fromstring(plots.in_words(figure.alt, figure.numbers))[1:])
    assert figure.alt == f"{shows} {'. '.join(numbers.splitlines())}." and numbers == figure.numbers


def test_inputs_are_not_changed():
    p, q, counts = np.array(P4), np.array(Q4), np.array([4, 3, 2, 1])
    for array in (p, q, counts):
        array.flags.writeable = False
    tokens, laws = list("wxyz"), {"target": p, "draft": q}
    plots.mass_bars(p, q, tokens), plots.law_bars(laws, tokens), plots.frequencies(counts, p, tokens)
    plots.curves(p, {"q": q}, xlabel="x", ylabel="y")
    assert tokens == list("wxyz") and laws.keys() == {"target", "draft"}


def test_no_window_toolkit_is_loaded():
    code = "import sys, specdec_kit.plots as plots; plots.mass_bars([1, 0], [0, 1]).png(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "matplotlib.figure" in modules and "matplotlib.pyplot" not in modules


def test_the_list_of_fonts_is_made_in_silence(caplog):
    said = "Matplotlib is building the font cache; this may take a moment."
    assert said in inspect.getsource(font_manager)
    logging.getLogger("matplotlib.font_manager").warning(said)
    logging.getLogger("matplotlib.font_manager").warning("findfont: no such font")
    assert [record.getMessage() for record in caplog.records] == ["findfont: no such font"]


# --- what each says --------------------------------------------------------------------------------------------------


def test_the_words_of_mass_bars():
    figure = plots.mass_bars(P, Q)
    assert figure.numbers.splitlines() == [
        "A: draft 0.4 = 0.4 accepted + 0 rejected; output 0.7 = 0.4 accepted + 0.3 from the residual",
        "B: draft 0.6 = 0.3 accepted + 0.3 rejected; output 0.3 = 0.3 accepted + 0 from the residual",
        "in all: 0.7 accepted, 0.3 rejected",
    ]
    assert figure.alt.startswith(
        "Two stacked bars for each token: what becomes of the draft's mass, and what the output is made of. "
        "A: draft 0.4 = "
    )
    assert figure.canvas.axes[0].get_title() == "0.7 accepted, 0.3 rejected and drawn anew"


def test_the_words_of_mass_bars_without_residual():
    *_, last = plots.mass_bars([0.35, 0.65], [0.35, 0.65], ["yes", "no"]).numbers.splitlines()
    assert last == "in all: 1 accepted, 0 rejected"
    assert plots.mass_bars([0.35, 0.65], [0.35, 0.65], ["yes", "no"]).numbers.startswith("yes: draft 0.35 = 0.35 acc")


def test_mass_bars_are_as_high_as_their_numbers():
    ax = plots.mass_bars(P, Q).canvas.axes[0]
    bars = [[(bar.get_y(), bar.get_height()) for bar in container] for container in ax.containers]
    kept, surplus, kept_again, lacking = np.round(bars, 12).tolist()
    assert kept == kept_again == [[0, 0.4], [0, 0.3]]
    assert surplus == [[0.4, 0], [0.3, 0.3]] and lacking == [[0.4, 0.3], [0.3, 0]]


def test_the_words_of_law_bars():
    figure = plots.law_bars({"target": [2 / 3, 1 / 3], "my own": [0.123456, 0.876544]}, ["x", "y"])
    assert figure.numbers == "target: x 0.6667, y 0.3333\nmy own: x 0.1235, y 0.8765"


def test_the_words_of_frequencies():
    # √(.7 · .3/100) = 0.0458: 0.79 is 1.96 of it above 0.7.
    figure = plots.frequencies([79, 21], P, what="share")
    assert figure.numbers == "A: p 0.7, share 0.79, off by +2.0 SE\nB: p 0.3, share 0.21, off by -2.0 SE"
    assert figure.alt.startswith(
        "Bars of the target law with the share of 100 draws as points; the farthest point is 2.0 standard errors from"
    )
    assert figure.canvas.axes[0].get_title() == "100 draws"


def test_frequencies_of_what_cannot_be_otherwise():
    assert plots.frequencies([5, 0], [1, 0]).numbers.splitlines() == [
        "A: p 1, frequency 1, off by +0.0 SE",
        "B: p 0, frequency 0, off by +0.0 SE",
    ]


@pytest.mark.parametrize(
    ("counts", "p", "message"),
    [
        ([7, 2, 1], [0.7, 0.3, 0], "token 2 has p = 0 and was drawn 1 times: count another law"),
        ([9, 1], [1, 0], "token 1 has p = 0 and was drawn 1 times: count another law"),
        ([0, 0], [0.5, 0.5], "no draws were counted: a frequency needs at least one"),
    ],
)
def test_frequencies_refuse_what_is_no_deviation(counts, p, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        plots.frequencies(counts, p)


@pytest.mark.parametrize("counts", [[71, 29], [87, 13], [95, 5]])
def test_deviations_have_whole_ticks(counts):
    figure = plots.frequencies(counts, P)
    figure.png()  # which says how many ticks there is room for
    bottom = figure.canvas.axes[1]
    low, high = bottom.get_ylim()
    ticks = [tick for tick in bottom.get_yticks() if low <= tick <= high]
    assert len(ticks) >= 3 and all(tick == int(tick) for tick in ticks)


def test_the_points_of_frequencies_lie_at_the_frequencies():
    top, bottom = plots.frequencies([79, 21], P).canvas.axes
    assert [0.79, 0.21] in [line.get_ydata().tolist() for line in top.lines]
    assert bottom.lines[-1].get_ydata() == pytest.approx([0.09 / 0.21**0.5 * 10, -0.09 / 0.21**0.5 * 10])
    low, high = bottom.get_ylim()
    assert low == -high and high > 3


def test_the_words_of_curves():
    figure = plots.curves([1, 2], {"a": [0.5, 1 / 3], "b": [0, 2]}, xlabel="γ", ylabel="speed-up")
    assert figure.numbers == "γ: 1, 2\na: 0.5, 0.3333\nb: 0, 2"
    assert figure.alt == (
        "Lines of speed-up against γ: a falls from 0.5 to 0.3333; b rises from 0 to 2. "
        "γ: 1, 2. a: 0.5, 0.3333. b: 0, 2."
    )


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1, 1, 1], "stays at 1"),
        ([0, 2, 3], "rises from 0 to 3"),
        ([3, 2, 2, 0], "falls from 3 to 0"),
        ([3, 1, 2, 0], "goes from 3 to 0, between 0 and 3"),  # it rises in between
        ([1, 0.2, 2, 1.5], "goes from 1 to 1.5, between 0.2 and 2"),
        ([1, 2, 1], "goes from 1 to 1, between 1 and 2"),
    ],
)
def test_where_a_line_goes_is_said_before_its_numbers(y, words):
    alt = plots.curves(range(len(y)), {"a": y}, xlabel="x", ylabel="y").alt
    assert alt.startswith(f"Lines of y against x: a {words}. x: 0, ")


def test_the_words_and_ends_of_intervals_around_a_line():
    figure = FIGURES["curves, intervals and a level"]()
    assert figure.numbers.splitlines() == [
        "place: 1, 2", "one α for all: 0.4, 0.4", "accepted: 0.5, 0.7", "accepted, within: 0.4 to 0.65, 0.6 to 0.75",
    ]  # fmt: skip
    [bars] = figure.canvas.axes[0].collections
    assert np.round(bars.get_segments(), 12).tolist() == [[[1, 0.4], [1, 0.65]], [[2, 0.6], [2, 0.75]]]


def test_a_marker_on_the_edge_is_whole_and_what_leaves_the_picture_ends_there():
    ax = plots.curves([0, 1], {"in": [0, 1], "out": [0, 1.01]}, xlabel="x", ylabel="y", ylim=(0, 1)).canvas.axes[0]
    assert [line.get_clip_on() for line in ax.lines] == [False, True]


def test_equal_factors_are_equal_steps():
    draw = {"xlabel": "x", "ylabel": "y"}
    assert plots.curves([1, 10], {"a": [0, 1]}, logx=True, **draw).canvas.axes[0].get_xscale() == "log"
    assert plots.curves([1, 10], {"a": [0, 1]}, **draw).canvas.axes[0].get_xscale() == "linear"


def test_doublings_are_named_one_by_one():
    def labels(x):
        axes = plots.curves(x, {"a": x}, xlabel="texts", ylabel="share", logx=True).canvas.axes[0]
        return [label.get_text() for label in axes.get_xticklabels()]

    assert labels([1, 2, 4, 16]) == ["1", "2", "4", "16"]
    for others in ([1, 2, 3], [1, 10], [0.5, 1], [1.0, 2.0]):
        assert labels(others) != [str(v) for v in others]


def test_whole_places_have_whole_ticks():
    def ticks(x):
        axes = plots.curves(x, {"a": x}, xlabel="place", ylabel="share").canvas.axes[0]
        return axes.xaxis.get_majorticklocs()

    assert all(tick == int(tick) for tick in ticks([1, 2, 3, 4]))
    assert any(tick != int(tick) for tick in ticks([1.0, 2.0, 3.0, 4.0]))


def test_the_words_and_bars_of_a_histogram():
    figure = plots.histogram({"right": [0.1, 0.3, 0.6, 1.0], "wrong": [0, 0, 0.1, 0.9]}, xlabel="p-value", bins=2)
    assert figure.numbers.splitlines() == [
        "p-value, 2 equal parts of 0 to 1; uniform: 0.5 in each", "right: 0.5, 0.5", "wrong: 0.75, 0.25",
    ]  # fmt: skip
    ax = figure.canvas.axes[0]
    assert [[bar.get_height() for bar in container] for container in ax.containers] == [[0.5, 0.5], [0.75, 0.25]]
    places = [(bar.get_x(), bar.get_x() + bar.get_width()) for container in ax.containers for bar in container]
    assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(sorted(places))), "no bar hides another"
    assert min(places)[0] >= 0 and max(places)[1] <= 1


@pytest.mark.parametrize("values", [[], [1.5], [-0.1], [float("nan")]])
def test_a_histogram_refuses_what_is_no_share(values):
    with pytest.raises(ValueError, match=f"^mine holds {len(values)} values, not all of them between 0 and 1: give"):
        plots.histogram({"mine": values}, xlabel="p-value")


def test_the_words_of_intervals():
    lines = FIGURES["intervals"]().numbers.splitlines()
    assert lines[0] == "w: p 0.4, estimate 0.4, by itself 0.38 to 0.42, all together 0.36 to 0.44"
    assert lines[1] == "x: p 0.3, estimate 0.3, by itself 0.31 to 0.33 (misses p), all together 0.29 to 0.35"
    assert lines[3].count("(misses p)") == 2
    assert lines[4] == "p is missed by 2 of 4 intervals by themselves, by 1 of those for all together"


def test_of_many_intervals_those_that_miss_are_told():
    law, ends = np.full(20, 0.05), np.tile([0.04, 0.06], (20, 1))
    ends[7] = 0.051, 0.07
    lines = plots.intervals(law, law, ends, np.tile([0.03, 0.07], (20, 1))).numbers.splitlines()
    assert lines == [
        "H: p 0.05, estimate 0.05, by itself 0.051 to 0.07 (misses p), all together 0.03 to 0.07",
        "p is missed by 1 of 20 intervals by themselves, by 0 of those for all together",
    ]


def test_a_marked_place_is_a_line_through_the_whole_figure():
    ax = FIGURES["curves, one place marked"]().canvas.axes[0]
    assert ax.lines[-1].get_xdata() == [1, 1] and ax.lines[-1].get_ydata() == [0, 1]


def test_the_words_and_bars_of_strips():
    figure = FIGURES["strips"]()
    assert figure.numbers.splitlines() == ["2 of 2 uniforms", "1. draft 1: A is proposed", "2. A falls"]
    ax = figure.canvas.axes[0]
    bars = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert np.round(bars, 12).tolist() == [[0, 0.4], [0.4, 0.6], [0, 0.7], [0.7, 0.3]]
    assert [list(line.get_xdata()) for line in ax.lines] == [[0.3, 0.3], [0.8, 0.8]]
    assert {"draft 1", "→ A", "test 1: A", "✗ rejected"} <= {text.get_text() for text in ax.texts}, (
        "not by colour alone"
    )
    labels = {text.get_text(): text.get_position()[0] for text in ax.texts}
    assert abs(labels["reject"] - 0.8) >= 0.07, "the name of a part stands beside u"


def test_the_words_and_areas_of_an_alarm():
    figure = FIGURES["alarm"]()
    assert figure.numbers == "in standard errors: likeliest 0 if p is right, 6 if it is off; alarm from 5 on"
    right, missed, seen = (area.get_paths()[0].vertices[:, 0] for area in figure.canvas.axes[0].collections)
    assert (seen.min(), right.min(), missed.min()) == (5, -5, -5)
    [said] = FIGURES["alarm, far out"]().canvas.axes[0].texts
    assert said.get_text() == "p is off, seen:\nfarther out, at 26 →"


def test_what_cannot_be_told_apart_is_refused():
    five = {str(i): P for i in range(5)}
    for draw, more in (
        (plots.law_bars, 0),
        (lambda ys: plots.curves([0, 1], ys, xlabel="x", ylabel="y"), 0),
        (lambda samples: plots.histogram(samples, xlabel="x"), 1),  # the line of the uniform law
    ):
        with pytest.raises(ValueError, match=r"^5 at once cannot be told apart: show at most four$"):
            draw(five)
        figure = draw({name: five[name] for name in "0123"})
        assert len(figure.canvas.legends[0].texts) == 4 + more


@pytest.mark.parametrize("draw", [plots.mass_bars, lambda p, q: plots.law_bars({"p": p, "q": q}), plots.frequencies])
def test_what_is_no_law_is_refused(draw):
    with pytest.raises(ValueError, match="sums to"):
        draw([0.5, 0.5], [0.5, 0.6])


@pytest.mark.parametrize(("count", "ends"), [(2, ("A", "B")), (26, ("A", "Z")), (27, ("0", "26"))])
def test_names_of_tokens(count, ends):
    found = plots.names(count)
    assert (found[0], found[-1]) == ends and len(set(found)) == count


# --- colours ---------------------------------------------------------------------------------------------------------


def luminance(colour):
    """Relative luminance, as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def look_alike(looks):
    """Pairs that neither hatch, marker and dash nor a print in grey can tell apart."""
    return [
        (a, b)
        for (a, one), (b, other) in itertools.combinations(looks.items(), 2)
        if all(one.get(sign) == other.get(sign) for sign in ("hatch", "marker", "linestyle"))
        and abs(
            luminance(one.get("facecolor", one.get("color"))) - luminance(other.get("facecolor", other.get("color")))
        )
        < 0.15
    ]


def test_luminance_and_contrast_as_wcag_has_them():
    assert luminance("white") == pytest.approx(1) and luminance("black") == 0
    assert luminance("#ff0000") == pytest.approx(0.2126) and luminance("#808080") == pytest.approx(0.2159, abs=1e-4)
    assert contrast("black", "white") == pytest.approx(21)


def test_every_two_looks_differ_without_colour():
    assert not look_alike(plots.LOOK)
    assert not look_alike(dict(enumerate(plots.LINES)))
    assert len({to_hex(look["facecolor"]) for look in plots.LOOK.values()}) == len(plots.LOOK)


def test_two_looks_that_differ_in_colour_alone_are_found():
    red_and_green = {"a": {"facecolor": "#b00000", "hatch": ""}, "b": {"facecolor": "#006000", "hatch": ""}}
    assert look_alike(red_and_green) == [("a", "b")]
    assert not look_alike({**red_and_green, "b": {"facecolor": "#006000", "hatch": "///"}})


def test_text_and_edges_stand_out(figure):
    figure.png()  # which writes the numbers on the axes
    texts = [text for text in figure.canvas.findobj(Text) if text.get_text().strip()]
    assert len(texts) > 9
    assert all(contrast(text.get_color(), figure.canvas.get_facecolor()) >= 7 for text in texts)
    assert all(text.get_fontsize() >= 9 for text in texts)
    bars = [
        bar for ax in figure.canvas.axes for container in ax.containers for bar in getattr(container, "patches", ())
    ]
    assert all(to_hex(bar.get_edgecolor()) == "#000000" and bar.get_linewidth() > 0 for bar in bars)
    assert all(contrast(look["color"], "white") >= 2.5 for look in plots.LINES)


def looks(figure):
    """What each thing in the legend of a figure looks like."""
    return {
        container.get_label(): (to_hex(container.patches[0].get_facecolor()), container.patches[0].get_hatch() or "")
        for ax in figure.canvas.axes
        for container in ax.containers
        if hasattr(container, "patches") and not container.get_label().startswith("_")
    }


def test_the_same_thing_looks_the_same_in_every_figure():
    due = {name: (to_hex(look["facecolor"]), look["hatch"]) for name, look in plots.LOOK.items()}
    mass = looks(plots.mass_bars(P, Q))
    assert {name.partition(",")[0]: look for name, look in mass.items()} == {
        "accepted": due["accepted"], "rejected": due["rejected"], "from the residual": due["residual"],
    }  # fmt: skip
    for order in (["target", "draft", "observed"], ["observed", "mine", "target"], ["mine", "target"]):
        found = looks(plots.law_bars({name: P for name in order}))
        assert {name: found[name] for name in order if name in due} == {
            name: due[name] for name in order if name in due
        }
        assert len(set(found.values())) == len(order)
    figure = plots.frequencies([79, 21], P)
    assert looks(figure)["target p"] == due["target"]
    assert {to_hex(ax.lines[-1].get_color()) for ax in figure.canvas.axes} <= {due["observed"][0], "#000000"}


def test_what_others_are_held_against_looks_the_same_in_every_figure():
    def look(line):
        return to_hex(line.get_color()), line.get_linestyle(), line.get_marker(), line.get_linewidth()

    level, line = FIGURES["curves, intervals and a level"]().canvas.axes[0].lines[:2]
    uniform, p = (FIGURES[name]().canvas.axes[0].lines[0] for name in ("histogram", "intervals"))
    assert look(level) == look(uniform) == look(p) == ("#000000", "--", "None", 1.2)
    assert line.get_marker() == plots.LINES[0]["marker"], "a level takes no look from the others"


def test_what_was_seen_looks_the_same_in_every_figure():
    top, bottom = plots.frequencies([79, 21], P).canvas.axes
    points = top.lines[-1], bottom.lines[-1], FIGURES["intervals"]().canvas.axes[0].lines[-1]
    assert len({(to_hex(line.get_color()), line.get_marker(), line.get_markeredgecolor()) for line in points}) == 1
    assert to_hex(points[0].get_color()) == to_hex(plots.LOOK["observed"]["facecolor"])


def test_accepted_mass_looks_the_same_on_both_sides():
    kept, _, again, _ = plots.mass_bars(P, Q).canvas.axes[0].containers
    assert [bar.get_facecolor() for bar in kept] == [bar.get_facecolor() for bar in again]


def test_two_tokens_keep_one_scale():
    assert {plots.mass_bars([a, 1 - a], Q).canvas.axes[0].get_ylim() for a in (0, 0.5, 1)} == {(0, 1.08)}
