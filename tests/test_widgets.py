"""Sliders, boxes and buttons in a real kernel, moved and pressed by the messages that JupyterLab sends."""

import asyncio
import base64
import json
import queue
import re
import shutil
import subprocess
import time
from contextlib import suppress
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from jupyter_client import KernelManager

from specdec_kit import controls, plots, widgets
from specdec_kit.distributions import as_law
from specdec_kit.lines import wrapped

NONE_REJECTED = "in all: 1 accepted, 0 rejected\noverlap 1, rejected 0; nothing is rejected, and no residual is drawn"
WIDGET = "application/vnd.jupyter.widget-view+json"
# p = [.7, .3], q = [.4, .6], by hand.
AT_FIRST = (
    "A: draft 0.4 = 0.4 accepted + 0 rejected; output 0.7 = 0.4 accepted + 0.3 from the residual\n"
    "B: draft 0.6 = 0.3 accepted + 0.3 rejected; output 0.3 = 0.3 accepted + 0 from the residual\n"
    "in all: 0.7 accepted, 0.3 rejected\n"
    "overlap 0.7, rejected 0.3; residual law A 1, B 0; accepted + rejected × residual = A 0.7, B 0.3"
)


class Kernel:
    """A kernel with what a front end knows of it: the widgets' models, and the messages since a cell was run."""

    def __init__(self, folder):
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(folder))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.models = {}
        self.subshell = None  # where messages to widgets go; None is the main thread

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code):
        """Run a cell; return its outputs."""
        self.models.clear()
        self.messages = []
        self.client.execute_interactive(code, output_hook=self.take, timeout=60)
        failed = [m["content"]["evalue"] for m in self.messages if m["msg_type"] == "error"]
        assert not failed, failed
        return [m["content"] for m in self.messages if m["msg_type"] in ("stream", "display_data")]

    def take(self, message):
        content = message["content"]
        self.messages.append(message)
        if message["msg_type"] == "comm_open":
            self.models[content["comm_id"]] = dict(content["data"]["state"])
        elif message["msg_type"] == "comm_msg" and content["data"]["method"] in ("update", "echo_update"):
            self.models[content["comm_id"]].update(content["data"]["state"])

    def wait(self, done, seconds=30):
        """Take messages until `done` says so of the last one."""
        until = time.monotonic() + seconds
        while True:
            message = self.client.get_iopub_msg(timeout=max(0, until - time.monotonic()))
            self.take(message)
            if done(message):
                return

    def settle(self, text, seconds=0.3):
        """Take messages until a figure with this text is there; then any that still come within a moment."""
        self.wait(lambda message: text in message["content"].get("data", {}).get("text/plain", ""))
        with suppress(queue.Empty):
            self.wait(lambda message: False, seconds)

    def model(self, name, **state):
        """Id of the one widget of a kind with this state."""
        [found] = [
            key for key, model in self.models.items()
            if model["_model_name"] == f"{name}Model" and state.items() <= model.items()
        ]  # fmt: skip
        return found

    def send(self, key, **data):
        """Send what a front end sends for a widget, and wait until the kernel has dealt with it."""
        sent = self.client.session.msg("comm_msg", {"comm_id": key, "data": data})
        sent["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(sent)
        self.wait(
            lambda message: (
                message["parent_header"].get("msg_id") == sent["header"]["msg_id"]
                and message["content"].get("execution_state") == "idle"
            )
        )

    def open_subshell(self):
        """Open a second thread for messages; JupyterLab does, and sends it all but the first step of a drag."""
        self.client.control_channel.send(self.client.session.msg("create_subshell_request"))
        return self.client.get_control_msg(timeout=30)["content"]["subshell_id"]

    def set(self, key, value):
        self.send(key, method="update", state={"value": value}, buffer_paths=[])

    def run_quietly(self, code):
        """Run a cell and forget what it said."""
        self.client.execute_interactive(code, output_hook=lambda message: None, timeout=60)

    def move(self, name, to, of=None):
        """Move a slider to what it then reads, or bars to a law; of the one explorer, or of one given by its id."""
        key = of or self.model("Any")
        state = self.models[key]
        n = [field["name"] for field in state["fields"]].index(name)
        at = [*state["at"]]
        at[n] = state["fields"][n]["shown"].index(to) if "shown" in state["fields"][n] else to
        self.send(key, method="update", state={"at": at}, buffer_paths=[])

    def reads(self):
        """What the sliders of the one explorer read; of bars, the law."""
        state = self.models[self.model("Any")]
        return {
            field["name"]: field["shown"][at] if "shown" in field else at
            for field, at in zip(state["fields"], state["at"], strict=True)
        }

    def said(self):
        """What the one explorer announces."""
        return self.models[self.model("Any")]["now"]

    def updates(self):
        return [m["content"] for m in self.messages if m["msg_type"] == "update_display_data"]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / ".copies.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def kernel(work):
    kernel = Kernel(work)
    try:
        kernel.run(
            "import numpy as np\n"
            "from specdec_kit import plots\n"
            "from specdec_kit.evidence import expect, predict, prediction\n"
            "from specdec_kit.explorers import mass_explorer, power_explorer, round_player, speedup_explorer\n"
            "from specdec_kit.recordings import recording"
        )
        yield kernel
    finally:
        kernel.close()


def is_png(output):
    return base64.b64decode(output["data"]["image/png"]).startswith(b"\x89PNG")


# --- figures and sliders ---------------------------------------------------------------------------------------------


def test_show_stores_picture_numbers_and_alt_text_and_the_words_below(kernel):
    output, words = kernel.run("plots.show(plots.mass_bars([0.7, 0.3], [0.4, 0.6]))")
    assert AT_FIRST.rpartition("\n")[0] in words["data"]["text/html"]
    assert is_png(output) and output["data"].keys() == {"image/png", "text/plain"}
    assert output["data"]["text/plain"] == AT_FIRST.rpartition("\n")[0]
    assert output["metadata"]["image/png"]["alt"].endswith("in all: 0.7 accepted, 0.3 rejected.")


@pytest.fixture
def explorer(kernel):
    kernel.outputs = kernel.run("mass_explorer(np.array([0.7, 0.3]), np.array([0.4, 0.6]))")
    return kernel


def test_the_explorer_stores_a_figure_that_needs_no_slider(explorer):
    sliders, figure = explorer.outputs
    assert sliders["data"]["text/plain"] == "To move: p = A 0.7 B 0.3, q = A 0.4 B 0.6."
    assert sliders["data"][WIDGET]["model_id"] == explorer.model("Any")
    assert is_png(figure) and figure["data"]["text/plain"] == AT_FIRST
    alt = figure["metadata"]["image/png"]["alt"]
    assert alt.startswith("Two stacked bars for each token: ") and alt.endswith(". ".join(AT_FIRST.split("\n")) + ".")


def test_the_bars_stand_at_the_laws_and_look_like_them(explorer):
    assert explorer.reads() == {"p": [0.7, 0.3], "q": [0.4, 0.6]}
    fields = explorer.models[explorer.model("Any")]["fields"]
    assert [field["start"] for field in fields] == [[0.7, 0.3], [0.4, 0.6]]
    assert [field["tokens"] for field in fields] == [["A", "B"]] * 2
    assert [field["colour"] for field in fields] == [plots.LOOK[law]["facecolor"] for law in ("target", "draft")]
    assert [field["hatched"] for field in fields] == [False, True], "not by colour alone"


@pytest.mark.parametrize("law", ["[F(7, 10), F(3, 10)]", "[1, 0]", "np.array([0.7, 0.3], dtype=np.float32)"])
def test_any_kind_of_number_makes_bars(kernel, law):
    bars, _ = kernel.run(f"from fractions import Fraction as F\nmass_explorer({law}, {law})")
    assert "/" not in bars["data"]["text/plain"] and sum(kernel.reads()["p"]) == 1
    kernel.move("q", [0.5, 0.5])
    kernel.settle("B: draft 0.5")


def test_moved_bars_redraw_the_same_output(explorer):
    before = explorer.outputs[1]
    explorer.move("q", [0.7, 0.3])
    explorer.settle("in all: 1 accepted")
    [update] = explorer.updates()
    assert update["transient"]["display_id"] == before["transient"]["display_id"]
    assert update["data"]["text/plain"].endswith(NONE_REJECTED), "q = p"
    assert is_png(update) and update["data"]["image/png"] != before["data"]["image/png"]
    assert update["metadata"]["image/png"]["alt"].endswith(f"{NONE_REJECTED.splitlines()[-1]}.")
    assert explorer.said() == NONE_REJECTED.splitlines()[-1]


@pytest.fixture(params=["main thread", "subshell"])
def thread(kernel, request):
    """Where the steps of a drag go, but for the first."""
    yield kernel.open_subshell() if request.param == "subshell" else None
    kernel.subshell = None


def test_the_last_of_many_quick_moves_wins(explorer, thread):
    for step in range(20, -1, -1):
        explorer.move("q", [step / 20, 1 - step / 20])
        explorer.subshell = thread
        explorer.move("p", [1 - step / 20, step / 20])
    explorer.settle("in all: 0 accepted, 1 rejected")
    texts = [update["data"]["text/plain"] for update in explorer.updates()]
    # p = [1, 0], q = [0, 1]: nothing in common.
    assert texts[-1].splitlines() == [
        "A: draft 0 = 0 accepted + 0 rejected; output 1 = 0 accepted + 1 from the residual",
        "B: draft 1 = 0 accepted + 1 rejected; output 0 = 0 accepted + 0 from the residual",
        "in all: 0 accepted, 1 rejected",
        "overlap 0, rejected 1; residual law A 1, B 0; accepted + rejected × residual = A 1, B 0",
    ]
    assert len(texts) < 21, "a drag is not drawn step by step"


def test_a_long_drag_is_followed_before_it_rests():
    async def drag():
        drawn = asyncio.Event()
        controls._debounced(drawn.set, rest=1e6, longest=0.05)(None)
        await asyncio.wait_for(drawn.wait(), 30)

    asyncio.run(drag())


def test_two_explorers_do_not_disturb_each_other(kernel):
    *_, second = kernel.run("mass_explorer([0.7, 0.3], [0.4, 0.6])\nmass_explorer([0.5, 0.5], [0.5, 0.5])")
    kernel.move("q", [1, 0], kernel.model("Any", at=[[0.5, 0.5]] * 2))
    kernel.settle("in all: 0.5 accepted")
    [update] = kernel.updates()
    assert update["transient"]["display_id"] == second["transient"]["display_id"]
    assert "in all: 0.5 accepted, 0.5 rejected" in update["data"]["text/plain"]


# --- the rule of the bars --------------------------------------------------------------------------------------------

# By hand: what is left goes out in the old proportions, equally where there are none.
GIVES_WAY = {
    "two": ([0.7, 0.3], 0, 0.75, [0.75, 0.25]),
    "three, up": ([0.5, 0.3, 0.2], 0, 0.75, [0.75, 0.15, 0.1]),
    "three, down": ([0.5, 0.3, 0.2], 1, 0.0, [F(5, 7), 0, F(2, 7)]),
    "to 1": ([0.5, 0.3, 0.2], 2, 1.0, [0, 0, 1]),
    "from 1": ([0, 1, 0, 0], 1, 0.4, [0.2, 0.4, 0.2, 0.2]),
    "a bar at 0 stays there": ([0.6, 0, 0.4], 0, 0.2, [0.2, 0, 0.8]),
    "a bar from 0": ([0.6, 0, 0.4], 1, 0.5, [0.3, 0.5, 0.2]),
    "not moved": ([0.1, 0.2, 0.7], 2, 0.7, [0.1, 0.2, 0.7]),
}  # fmt: skip
STEPS = [(0.7, 1, 0.75), (0.7, -5, 0.45), (0.24, 1, 0.25), (0.24, -1, 0.2), (0.02, -1, 0), (0.97, 1, 1), (0.9, 5, 1),
         (0.24, 20, 1), (0.24, -20, 0), (0, 1, 0.05), (1 / 3, 5, 0.55)]  # fmt: skip


@pytest.fixture(scope="module")
def page_says():
    """What a function of the page answers, call by call; the browser tests move the bars themselves."""
    if not shutil.which("node"):
        pytest.skip("there is no node here: the browser tests alone try the rule")
    script = Path(controls.__file__).with_name("controls.js").read_bytes()

    def ask(function, calls):
        code = (
            f'import * as page from "data:text/javascript;base64,{base64.b64encode(script).decode()}";'
            f"console.log(JSON.stringify({json.dumps(calls)}.map((given) => page.{function}(...given))));"
        )
        command = ["node", "--input-type=module", "--eval", code]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)

    return ask


def test_the_other_bars_give_way_as_by_hand(page_says):
    answers = page_says("giveWay", [[law, n, mass] for law, n, mass, _ in GIVES_WAY.values()])
    for answer, (*_, due) in zip(answers, GIVES_WAY.values(), strict=True):
        assert answer == pytest.approx([float(mass) for mass in due], abs=1e-12)


def test_bars_stay_a_law_however_they_are_moved(page_says):
    rng = np.random.default_rng(7)
    laws = [rng.dirichlet(np.full(count, 0.3)).round(2) for count in (2, 3, 4, 5, 6) for _ in range(40)]
    laws = [law / law.sum() for law in laws]
    calls = [[law.tolist(), int(rng.integers(len(law))), int(rng.integers(21)) / 20] for law in laws]
    for answer, (law, n, mass) in zip(page_says("giveWay", calls), calls, strict=True):
        as_law(answer)
        others, before = np.delete(answer, n), np.delete(law, n)
        assert answer[n] == mass and others.sum() == pytest.approx(1 - mass, abs=1e-11)
        wanted = before / before.sum() if before.any() else np.full(len(before), 1 / len(before))
        assert others == pytest.approx((1 - mass) * wanted, abs=1e-11)


def test_a_bar_steps_from_twentieth_to_twentieth(page_says):
    answers = page_says("stepped", [[mass, by] for mass, by, _ in STEPS])
    assert answers == [due for *_, due in STEPS]


def test_equal_laws_by_different_ways_are_equal(page_says):
    # To [.4, .4, .2] by way of A and by way of C; a rest of 1e-17 would still be drawn from.
    [by_a] = page_says("giveWay", [[[0.7, 0.2, 0.1], 0, 0.4]])
    [by_c] = page_says("giveWay", [[[0.2, 0.2, 0.6], 2, 0.2]])
    assert by_a == by_c == [0.4, 0.4, 0.2]


# --- the other explorers ---------------------------------------------------------------------------------------------

CALLS = {
    "mass": "mass_explorer([0.7, 0.3], [0.4, 0.6])",
    "round": "round_player([0.7, 0.3], [0.4, 0.6], 2, seed=1)",
    "power": "power_explorer()",
    "speed-up": "speedup_explorer(recording('amd-epyc-2-cores'))",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_explorer_stores_a_figure_complete_by_itself_and_names_what_can_be_moved(kernel, call):
    controls, figure = kernel.run(call)
    words = figure["data"]["text/plain"].splitlines()
    assert is_png(figure) and words[-1] in figure["metadata"]["image/png"]["alt"]
    assert controls["data"]["text/plain"].startswith("To move: ")
    fields = kernel.models[kernel.model("Any")]["fields"]
    assert len(fields) >= 2
    for field in fields:
        reads = kernel.reads()[field["name"]]
        reads = reads if "shown" in field else f"A {reads[0]} B {reads[1]}"
        assert f"{field['name']} = {reads}" in controls["data"]["text/plain"]
        if "shown" in field:
            assert len(field["tip"].split()) > 2 and len(set(field["shown"])) == len(field["shown"])
    assert kernel.said() == words[-1], "what is shown is announced as text"


def test_a_step_shows_as_many_uniforms(kernel):
    # Seed 1 draws 0.512, 0.950, 0.144, …: two drafts B, and the first passes, for 0.144 × 0.6 < 0.3.
    kernel.run(CALLS["round"])
    kernel.move("step", "3")
    kernel.settle("3 of 5 uniforms")
    assert kernel.said() == "3. test 1: u q(B) = 0.144 × 0.6 = 0.086 is below p(B) = 0.3: B accepted"
    kernel.move("step", "1")
    kernel.settle("1 of 5 uniforms")
    assert kernel.updates()[-1]["data"]["text/plain"].splitlines() == ["1 of 5 uniforms", kernel.said()]


def test_another_seed_is_another_round_and_stays_at_its_end(kernel):
    kernel.run(CALLS["round"])
    assert kernel.models[kernel.model("Any")]["most"] == [4, 99] and kernel.reads()["step"] == "5"
    kernel.move("seed", "4")
    # 0.943, 0.511: two drafts B; 0.976 × 0.6 is over 0.3, so the first falls, and one more uniform ends the round.
    kernel.settle("4 of 4 uniforms")
    assert kernel.models[kernel.model("Any")]["most"] == [3, 99]
    assert kernel.reads() == {"step": "4", "seed": "4"}
    assert kernel.said().endswith("The round writes A (corrected)")
    kernel.move("seed", "1")
    kernel.settle("5 of 5 uniforms")
    kernel.move("step", "2")
    kernel.settle("2 of 5 uniforms")
    kernel.move("seed", "4")
    kernel.settle("2 of 4 uniforms")


def test_the_page_and_the_kernel_speak_of_the_same_traits():
    script = (Path(controls.__file__).parent / "controls.js").read_text(encoding="utf-8")
    spoken = set(re.findall(r'model\.[gs]et\("(\w+)"', script))
    assert spoken == {"fields", "at", "most", "pace", "now"} <= controls.Controls.class_traits(sync=True).keys()


def test_only_a_round_is_played(kernel):
    for name, call in CALLS.items():
        kernel.run(call)
        assert (kernel.models[kernel.model("Any")]["pace"] > 0) == (name == "round")


def test_more_draws_see_more(kernel):
    kernel.run(CALLS["power"])
    assert kernel.reads() == {"N": "1,000", "α": "1e-06", "bias": "0.05"}
    assert kernel.said() == "Would you have seen a bias of 0.05? No: with probability 0.04."
    kernel.move("N", "10,000")
    kernel.settle("10,000 draws")
    assert kernel.said() == "Would you have seen a bias of 0.05? Yes: with probability 1."


def test_a_larger_batch_gains_less(kernel):
    kernel.run(CALLS["speed-up"])
    assert "with the recorded cost 2.01: faster than without drafts" in kernel.said()
    kernel.move("batch", "16")
    kernel.settle("16 at once")
    # Lesson 06: one text gains 2.01, sixteen lose, 0.96.
    assert "with the recorded cost 0.96: no faster than without drafts" in kernel.said()


# --- predictions -----------------------------------------------------------------------------------------------------


def kept(work):
    file = work / "evidence.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


@pytest.fixture
def box(kernel, request):
    """A box for a prediction, under the test's own name; what stands in its text, button and answer."""
    kernel.name = request.node.name
    kernel.outputs = kernel.run(f'predict("{kernel.name}", unit="tokens")')
    kernel.text, kernel.button = kernel.model("Text"), kernel.model("Button")
    kernel.answer = kernel.models[kernel.models[kernel.model("VBox")]["children"][-1].removeprefix("IPY_MODEL_")]
    return kernel


def press(box, typed=None):
    if typed is not None:
        box.set(box.text, typed)
    box.send(box.button, method="custom", content={"event": "click"})
    return box.answer["value"]


def closed(box):
    return [box.models[key]["disabled"] for key in (box.text, box.button)]


def test_a_box_is_one_output_with_text_for_where_there_are_no_widgets(box):
    [output] = box.outputs
    assert output["data"].keys() == {"text/plain", WIDGET}
    label = f"Your prediction: {box.name} (tokens)"
    assert output["data"]["text/plain"] == wrapped(f"{label}. Type it in the box and press Commit.")
    assert output["data"][WIDGET]["model_id"] == box.model("VBox")
    assert box.model("Label", value=label) and box.answer["value"] == ""
    assert box.models[box.button]["tooltip"] == f"Commit the prediction of {box.name}"


@pytest.mark.parametrize("typed", [None, "", "   "])
def test_an_empty_box_says_what_to_type_and_stays_open(box, work, typed):
    before = kept(work)
    assert press(box, typed) == "Not committed: nothing is typed yet: write a number, such as 0.7 or 7/10."
    assert closed(box) == [False, False] and kept(work) == before
    assert press(box, "3") == "Committed: 3. Now run on and compare."
    assert closed(box) == [True, True]


@pytest.mark.parametrize(
    ("typed", "value", "beside"),
    [
        ("7/10", 0.7, "you predicted 0.7: right"),
        ("50%", 0.5, "you predicted 0.5: off by 0.2"),
        ("most of them", "most of them", "you predicted most of them: not the same"),
    ],
)
def test_a_committed_prediction_is_kept_and_shown_beside_the_result(box, work, typed, value, beside):
    assert press(box, typed).startswith("Committed: ")
    entry = kept(work)[-1]
    assert (entry["kind"], entry["name"], entry["value"], entry["unit"]) == ("prediction", box.name, value, "tokens")
    [output] = box.run(f'expect("{box.name}", 0.7, 0.7)')
    said = output["text"].replace("\n    observed", ", observed").replace("\n    ", " ")
    assert said == f"{box.name}: expected 0.7, observed 0.7; {beside}\n"


def test_a_prediction_committed_before_is_shown_in_the_box(box):
    press(box, "5")
    box.run(f'predict("{box.name}")')
    assert box.model("Label", value="Committed before: 5.") and box.model("Label", value=f"Your prediction: {box.name}")
    assert box.models[box.model("Button")]["disabled"] is False, "a second thought is allowed"


def test_a_prediction_that_cannot_be_kept_says_so_and_stays_open(box, work):
    file = work / "evidence.jsonl"
    file.exists() and file.rename(work / "aside")
    file.mkdir()
    try:
        said = press(box, "5")
    finally:
        file.rmdir()
        (work / "aside").exists() and (work / "aside").rename(file)
    assert said.startswith("Not committed: ") and closed(box) == [False, False]
    assert press(box) == "Committed: 5. Now run on and compare."


# --- without widgets -------------------------------------------------------------------------------------------------


def test_without_widgets_each_shows_its_static_view(kernel):
    kernel.run("from unittest.mock import patch\nfrom specdec_kit import controls, plots, widgets")
    calls = "\n    ".join([*CALLS.values(), 'predict("share of A", unit="probability")'])
    without = 'patch.object(widgets, "ipywidgets", None), patch.object(controls, "anywidget", None)'
    outputs = kernel.run(f"with {without}:\n    {calls}")
    *shown, said = outputs
    figures, words = shown[::2], shown[1::2]
    assert not kernel.models and all(one["data"]["text/html"].startswith("<details") for one in words)
    assert all(is_png(figure) and figure["metadata"]["image/png"]["alt"] for figure in figures)
    with_widgets = [kernel.run(call)[1] for call in CALLS.values()]
    assert [one["data"] for one in figures] == [one["data"] for one in with_widgets], "the same, to the byte"
    assert said["text"] == (
        'Your prediction: share of A (probability).\nCommit it with predict("share of A", your_value).\n'
    )


def test_without_a_notebook_there_is_no_box():
    assert widgets.prediction_box("share of A", "probability") is False
