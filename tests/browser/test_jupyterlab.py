"""The lessons as a reader meets them: in JupyterLab, in a browser, with a mouse and a keyboard."""

import base64
import json

import pytest
from lab import ROOT

from specdec_kit.explorers import mass_figure

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser")
expect = playwright.expect

START, RULE = "00_start_here.ipynb", "01_two_token_derivation.ipynb"
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


def said(cell):
    """What the outputs of a saved cell say: text, and the alt texts of pictures."""
    parts = []
    for output in cell["outputs"]:
        parts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
        parts.append(output.get("metadata", {}).get("image/png", {}).get("alt", ""))
    return "\n".join("".join(part) for part in parts)


def test_the_first_page_is_the_first_lesson_and_asks_nothing(reader):
    reader.open(START, address="/")
    expect(reader.page).to_have_url(f"{reader.lab.address}/lab/tree/{reader.lab.work.name}/{START}")
    expect(reader.panel.get_by_role("heading", name="Start here", exact=False).first).to_be_visible()
    reader.run_all()  # by the end of which every question about news or kernels would have been asked
    expect(reader.page.locator(".jp-Dialog, .Toastify__toast")).to_have_count(0)


@pytest.mark.parametrize("name", LESSONS)
def test_a_fresh_copy_runs_to_its_end(reader, name):
    reader.open(name)
    reader.run_all()
    cells = reader.save()
    code = [cell for cell in cells.values() if cell["cell_type"] == "code" and cell["source"]]
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    gaps = [cell for cell in code if "NotImplementedError" in "".join(cell["source"])]
    assert gaps and all("is not written yet" in said(cell) for cell in gaps)
    for picture in reader.panel.locator(".jp-RenderedImage img").all():
        assert picture.evaluate("image => image.complete && image.naturalWidth") > 100


def test_a_prediction_is_kept(reader):
    name, result = "A's in ten draws", "you predicted 6: off by 2"
    reader.open(START)
    for which in ("kit", "environment", "imports", "predict"):
        reader.run_cell(which)
    asked = reader.output("predict")
    asked.get_by_role("textbox").fill("6")
    asked.get_by_role("button", name="Commit").click()
    expect(asked).to_contain_text("Committed: 6")
    expect(asked.get_by_role("textbox")).to_be_disabled()
    reader.run_cell("run")
    expect(reader.output("run")).to_contain_text(result)
    kept = [json.loads(line) for line in (reader.lab.work / "evidence.jsonl").read_text().splitlines()]
    assert [(entry["kind"], entry["name"], entry["value"]) for entry in kept] == [("prediction", name, 6)]

    reader.save()
    reader.page.reload()
    reader.ready()
    expect(reader.output("run")).to_contain_text(result)
    expect(reader.output("predict")).to_contain_text("Committed: 6")

    reader.menu("Kernel", "Restart Kernel and Clear Outputs of All Cells…")
    reader.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(reader.output("run")).to_have_text("")
    reader.ready()
    reader.run_all()
    expect(reader.output("predict")).to_contain_text("Committed before: 6.")
    expect(reader.output("run")).to_contain_text(result)


def test_a_saved_lesson_is_whole_when_opened_without_its_kernel(reader):
    reader.open(RULE)
    for which in ("imports", "laws", "predict-accepted", "explorer"):
        reader.run_cell(which)
    reader.output("predict-accepted").get_by_role("textbox").fill("0.7")
    reader.output("predict-accepted").get_by_role("button", name="Commit").click()
    expect(reader.output("predict-accepted")).to_contain_text("Committed: 0.7")
    reader.save()
    reader.lab.end_kernels()
    reader.open(RULE)
    expect(reader.output("predict-accepted")).to_contain_text("Committed: 0.7")
    expect(reader.output("explorer").get_by_role("slider")).to_have_count(4)
    expect(reader.output("explorer").locator("img")).to_be_visible()


def test_an_empty_prediction_is_not_kept(reader):
    reader.open(START)
    for which in ("kit", "environment", "imports", "predict"):
        reader.run_cell(which)
    asked = reader.output("predict")
    asked.get_by_role("button", name="Commit").click()
    expect(asked).to_contain_text("Not committed: nothing is typed yet")
    assert not (reader.lab.work / "evidence.jsonl").exists()


def test_quick_presses_end_at_the_right_picture(reader):
    reader.open(RULE)
    for which in ("imports", "laws", "explorer"):
        reader.run_cell(which)
    output = reader.output("explorer")

    def shows(p, q, *numbers):
        """The picture is that of p and q, and what is saved with it says the same in words."""
        png = base64.b64encode(mass_figure(p, q).png()).decode()
        expect(output.locator("img")).to_have_attribute("src", f"data:image/png;base64,{png}")
        words = said(reader.save()["explorer"])
        assert all(words.count(number) == 2 for number in numbers), words  # in the text and in the alt text

    shows([0.7, 0.3], [0.4, 0.6], "in all: 0.7 accepted, 0.3 rejected")  # before anything is moved
    output.get_by_role("slider", name="q(A)").focus()
    for _ in range(3):  # so that several pictures are on their way at once
        reader.page.keyboard.press("ArrowLeft")
    shows([0.7, 0.3], [0.25, 0.75], "0.25 accepted + 0.45 from the residual", "in all: 0.55 accepted, 0.45 rejected")


def test_an_exercise_gives_advice_until_it_is_right(reader):
    reader.open(RULE)
    for which in ("imports", "laws", "account"):
        reader.run_cell(which)
    verdict = reader.output("account")
    expect(verdict).to_contain_text("not yet: account is not written yet")
    gap = "".join(reader.save()["account"]["source"])
    stub = "    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert stub in gap
    kept = "    kept = np.minimum(p, q)\n"
    for answer, says in (
        (
            "    return np.minimum(p, q)",
            "not yet: on [0.6, 0.4], [0.3, 0.7] [0.7, 0.6, 0.4] is due; yours is [0.3, 0.4]",
        ),
        (f"{kept}    return [kept.sum(), *kept]", "not yet: The rejected mass is missing"),
        (f"{kept}    return [kept.sum(), *(kept + np.maximum(np.subtract(p, q), 0))]", "passed: account is right"),
    ):
        reader.write_cell("account", gap.replace(stub, answer))
        reader.run_cell("account")
        expect(verdict).to_contain_text(says)
