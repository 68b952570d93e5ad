"""A reader's JupyterLab, started by `make lab` on a copy of this folder, and Chromium to read with."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "reader"
LONG = 120  # seconds that a condition may take on a slow, shared core

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def find_chromium():
    names = "chromium", "chromium-browser", "google-chrome"
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def eventually(holds, what, seconds=LONG):
    """Ask until `holds()` is true; its value."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < end, f"{what}: not so after {seconds} s"
        time.sleep(0.2)
    return value


# ---- the server -----------------------------------------------------------------------------------------------------


class Lab:
    """A running JupyterLab over a clone of its own."""

    def __init__(self, clone, home, log):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.clone, self.work, self.log = clone, clone / "work", log
        self.address = f"http://127.0.0.1:{port}"
        strange = ("JUPYTER", "IPYTHON", "XDG_", "MAKE", "MFLAGS", "PYTEST", "PYTHON", "COVERAGE")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(strange)}
        # The clone comes first, for kernels too; `make` runs them with the Python that runs these tests.
        self.environment |= {"HOME": str(home), "PYTHONPATH": str(clone), "NO_PROXY": "127.0.0.1"}
        self.make = ["make", "-o", ".venv/.lab", f"py={sys.executable}"]
        arguments = f"--no-browser --ip=127.0.0.1 --port={port} --ServerApp.port_retries=0"
        with open(log, "wb") as file:
            self.process = subprocess.Popen(
                [*self.make, "lab", f"LAB_ARGS={arguments} --IdentityProvider.token={TOKEN}"],
                cwd=clone, env=self.environment, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip

    def ask(self, path, method="GET", body=None):
        request = urllib.request.Request(
            self.address + path,
            method=method,
            headers={"Authorization": f"token {TOKEN}"},
            data=None if body is None else json.dumps(body).encode(),
        )
        # Straight to the server, past any proxy.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=LONG) as answer:
            return json.loads(answer.read() or "null")

    def answers(self):
        assert self.process.poll() is None, "`make lab` ended at once"
        with suppress(OSError):
            return self.ask("/api/status")
        return None

    def end_kernels(self):
        for session in self.ask("/api/sessions"):
            self.ask(f"/api/sessions/{session['id']}", "DELETE")

    def fresh(self):
        """No kernels, no evidence, and copies as they are before anyone opened one."""
        self.end_kernels()
        shutil.rmtree(self.work)
        subprocess.run([*self.make, "copies"], cwd=self.clone, env=self.environment, check=True, capture_output=True)

    def changes(self):
        return subprocess.run(
            ["git", "status", "--porcelain"], cwd=self.clone, check=True, capture_output=True, text=True
        ).stdout

    def stop(self):
        """End the server, which ends its kernels; then whatever is left of it."""
        with suppress(OSError):
            self.ask("/api/shutdown", "POST")
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LONG)
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def clone_into(folder):
    """This folder's files as they are now, ignored ones left out, committed in a repository of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a clone")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    who = ["-c", "user.name=Reader", "-c", "user.email=reader@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "--quiet"], ["add", "--all"], [*who, "commit", "--quiet", "--message=as it is"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


@contextmanager
def running_lab(folder):
    clone, home = folder / "clone", folder / "home"
    clone.mkdir()
    home.mkdir()
    clone_into(clone)
    lab = Lab(clone, home, folder / "server.log")
    try:
        eventually(lab.answers, "the server answers")
        yield lab
    finally:
        lab.stop()


@contextmanager
def running_chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser")
    found = find_chromium()
    if not found:
        pytest.skip("There is no Chromium: install it (apt install chromium), or name one in the variable CHROMIUM.")
    with playwright.sync_playwright() as engine:
        playwright.expect.set_options(timeout=1000 * LONG)
        browser = engine.chromium.launch(executable_path=found, args=FLAGS)  # with a fresh profile, deleted at the end
        yield browser
        browser.close()


# ---- what a reader does ---------------------------------------------------------------------------------------------


class Reader:
    """One page of JupyterLab with a lesson open; cells go by the ids that they have in the file."""

    def __init__(self, page, lab):
        self.page, self.lab = page, lab
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        self.path, self.ids = None, []

    def open(self, name, folder="work", address="/lab/tree/{}?reset"):
        """Open a lesson, and wait until it is shown; as `address` says, nothing else is shown with it."""
        self.path = self.lab.clone / folder / name
        self.ids = list(self.cells())
        address = self.lab.address + address.format(f"{folder}/{name}")
        self.page.goto(f"{address}{'&' if '?' in address else '?'}token={TOKEN}")
        self.ready()

    def ready(self):
        """Wait until the lesson is shown whole and its kernel waits for work."""
        self.panel.locator(".jp-Cell").nth(len(self.ids) - 1).wait_for(state="attached")
        self.panel.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()

    def cells(self):
        """The cells of the lesson's file, by id."""
        return {cell["id"]: cell for cell in json.loads(self.path.read_text(encoding="utf-8"))["cells"]}

    def cell(self, which):
        return self.panel.locator(".jp-Cell").nth(self.ids.index(which))

    def output(self, which):
        return self.cell(which).locator(".jp-Cell-outputArea")

    def menu(self, *labels):
        for label in labels:
            self.page.get_by_role("menuitem", name=label, exact=True).click()

    def run_all(self):
        """Run > Run All Cells, in a lesson that shows no numbers yet, until all cells have run or one has failed."""
        self.menu("Run", "Run All Cells")
        self.all_ran()

    def all_ran(self):
        self.page.wait_for_function(
            """() => {
                const panel = document.querySelector(".jp-NotebookPanel:not(.lm-mod-hidden)");
                const numbers = [...panel.querySelectorAll(".jp-CodeCell .jp-InputPrompt")].map(x => x.textContent);
                const failed = panel.querySelector("[data-mime-type$=stderr], [data-mime-type$=error]");
                return !numbers.some(n => n.includes("*")) && (failed || /[0-9]/.test(numbers.at(-1)));
            }"""
        )
        self.ready()

    def run_cell(self, which):
        """Shift+Enter in the cell, until it has run."""
        prompt = self.cell(which).locator(".jp-InputPrompt")
        before = prompt.text_content()
        self.cell(which).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        eventually(lambda: re.search("[0-9]", now := prompt.text_content()) and now != before, f"cell {which} has run")

    def write_cell(self, which, source):
        self.cell(which).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)

    def save(self):
        """Save, to the server's answer; the cells that the file then holds, by id."""
        with self.page.expect_response(lambda answer: answer.request.method == "PUT" and self.path.name in answer.url):
            self.page.keyboard.press("ControlOrMeta+s")
        return self.cells()
