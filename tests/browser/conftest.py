"""Fixtures of the browser tests; what they are made of is in lab.py."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from lab import LONG, Reader, running_chromium, running_lab

LOG = pytest.StashKey[Path]()
SAID = pytest.StashKey[list]()

# Errors that the console may show, as patterns, each with the reason why it is no fault of the course. So far none.
ALLOWED = []


@pytest.fixture(scope="session")
def chromium():
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def lab(chromium, tmp_path_factory, request):
    if not shutil.which("make"):
        pytest.skip("there is no make here")
    if not (Path(sys.prefix) / "share/jupyter/lab/settings/overrides.json").is_file():
        pytest.fail("this Python was not set up by make, and its JupyterLab would ask about news: make test-browser")
    folder = tmp_path_factory.mktemp("lab")
    request.config.stash[LOG] = folder / "server.log"
    with running_lab(folder) as running:
        yield running


@pytest.fixture
def reader(lab, chromium, request):
    """A fresh page and fresh copies. At the end: no error in the console, and nothing changed that git tracks."""
    lab.fresh()
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(1000 * LONG)
    said = request.node.stash[SAID] = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text} ({message.location['url']})"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    yield Reader(page, lab)
    page.close()
    errors = [line for line in said if line.startswith("error") and not any(re.search(a, line) for a in ALLOWED)]
    assert not errors, "the console shows errors:\n" + "\n".join(errors)
    assert not lab.changes(), "git status is not clean"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.sections.append(("console of the page", "\n".join(item.stash.get(SAID, []))[-4000:]))
        log = item.config.stash.get(LOG, None)
        if log and log.exists():
            report.sections.append(("JupyterLab's log", log.read_text(errors="replace")[-8000:]))
    return report
