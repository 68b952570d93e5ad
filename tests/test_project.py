"""The project's files agree with each other, and nothing of one machine is in them."""

import ast
import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
import yaml

from specdec_kit import law

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOP = {
    "README.md", "INSTRUCTORS.md", "environment.yml", "pyproject.toml", "Makefile", "LICENSE", "CHANGELOG.md",
    ".gitattributes", ".gitignore", ".binder", ".ci", ".github", "notebooks", "specdec_kit", "data", "tests",
}  # fmt: skip

# A module imports from those before it alone; two stand by themselves.
LAYERS = [
    "files", "lines", "extras", "waiting", "distributions", "sampling", "law", "streams", "clocks", "blocks", "schemes",
    "acceptance", "transcript", "uncertainty", "faults", "round_faults", "models", "mysteries", "drafts",
    "language_models", "torch_blocks", "random_models", "greedy", "timing", "recordings", "workloads", "evidence",
    "investigation", "timing_run", "watch", "diagnosis", "battery", "token_audit", "round_audit", "cache_audit",
    "audit", "adapters", "plots", "widgets", "controls", "explorers", "selfcheck", "environment", "copies", "progress",
]  # fmt: skip
ALONE = {"environment", "copies"}
# Those of specdec_kit/coursework, which comes after all of these.
COURSEWORK = [
    "plain", "slices", "sandbox", "remote", "exercises", "grading", "course", "submissions", "release",
    "feedback", "preprocessors", "grade", "visible",
]  # fmt: skip
# What a module may import from further down, where it is used only: the box of `predict`, the version to keep, the
# command.
DEFERRED = {
    "evidence": {"widgets", "__version__"}, "uncertainty": {"__version__"}, "investigation": {"__version__"},
    "timing": {"timing_run"},
}  # fmt: skip


def tracked():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a clone")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


# --- environment.yml and pyproject.toml ----------------------------------------------------------------------------


def environment_faults(environment):
    """What the conda environment has other bounds for than the package and its extra `lab`."""
    extras = PROJECT["optional-dependencies"]
    nbval = [bound for bound in extras["test"] if bound.startswith("nbval")]
    here = [bound.partition(";")[0] for bound in extras["lab"] if "== 'emscripten'" not in bound]  # none for a browser
    wanted = {f"python{PROJECT['requires-python']}", "pip", *PROJECT["dependencies"], *here, *nbval}
    listed = yaml.safe_load(environment)["dependencies"]
    found = {bound for bound in listed if isinstance(bound, str)}
    by_pip = [entry["pip"] for entry in listed if isinstance(entry, dict)]
    faults = [f"{bound} is only in pyproject.toml" for bound in sorted(wanted - found)]
    faults += [f"{bound} is only in environment.yml" for bound in sorted(found - wanted)]
    return faults + ([] if by_pip == [["-e ."]] else [f"pip installs {by_pip}, not the package alone"])


def test_the_conda_environment_has_the_bounds_of_the_package():
    assert not environment_faults((ROOT / "environment.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("old", "new"),
    [("python>=3.11", "python>=3.10"), ("numpy>=2.0", "numpy"), ("  - scipy>=1.13\n", ""), ("nbval>=", "nbval=="),
     ("tqdm>=4.66", "tqdm>=4.66\n  - pandas>=2"), ("- -e .", "- specdec-kit")],
)  # fmt: skip
def test_a_changed_bound_is_found(old, new):
    environment = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert old in environment
    assert environment_faults(environment.replace(old, new))


def binder_faults(environment):
    """In what Binder's environment is other than the conda environment, but for one Python and no package by pip."""
    ours = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    ours["dependencies"] = [
        PROJECT["requires-python"].replace(">=", "python=") if str(bound).startswith("python") else bound
        for bound in ours["dependencies"]
        if isinstance(bound, str)
    ]
    theirs = yaml.safe_load(environment)
    return {name for name in ours | theirs if ours.get(name) != theirs.get(name)}


def test_binder_has_the_bounds_of_the_conda_environment():
    environment = (ROOT / ".binder/environment.yml").read_text(encoding="utf-8")
    assert not binder_faults(environment)
    for old, new in [("python=3.11", "python>=3.11"), ("numpy>=2.0", "numpy"), ("conda-forge", "defaults")]:
        assert old in environment
        assert binder_faults(environment.replace(old, new))


@pytest.mark.skipif(os.name == "nt", reason="Binder is Linux")
def test_what_binder_runs_last_makes_the_copies(tmp_path):
    """With a pip that only says what it was asked: the package is at hand here."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.write_text(f'#!/bin/sh\n[ "$2" = pip ] && echo "$@" >>pip.txt || exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for name in ("notebooks", "specdec_kit"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([ROOT / ".binder/postBuild"], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    assert (tmp_path / "pip.txt").read_text().split() == ["-m", "pip", "install", "--no-deps", "--editable", "."]
    assert (tmp_path / "work/00_start_here.ipynb").is_file()


# --- make ------------------------------------------------------------------------------------------------------------

make = pytest.mark.skipif(os.name == "nt" or not shutil.which("make"), reason="there is no make here")


def run_make(*arguments, cwd=ROOT, **environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False
    )


@make
def test_make_lists_every_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = {name for line in re.findall(r"^\.PHONY: (.*)", makefile, flags=re.MULTILINE) for name in line.split()}
    commands = {name for name in phony if not name.startswith(".")}
    assert {"help", "lab", "test"} <= commands
    shown = run_make().stdout
    assert dict(re.findall(r"^make (\S+) +(\S.*)$", shown, flags=re.MULTILINE)).keys() == commands
    assert shown == run_make("help").stdout


@make
def test_make_asks_for_the_python_of_the_package():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert PROJECT["requires-python"] == ">=" + ".".join(
        re.search(r"version_info < \((\d+), (\d+)\)", makefile).groups()
    )
    assert set(re.findall(r"Python (\d+\.\d+) or newer", makefile)) == {PROJECT["requires-python"].removeprefix(">=")}


@make
@pytest.mark.parametrize(
    ("shim", "words"),
    [
        (
            "sitecustomize.py: import sys; sys.version_info = (3, 8, 10)",
            "and {python} is Python 3.8.10: name a newer one",
        ),
        ("ensurepip.py: raise ImportError", "{python} lacks venv or ensurepip"),
        ("venv.py: raise ImportError", "{python} lacks venv or ensurepip"),
        (None, "there is no nowhere/python3 here: install it, or name one"),
    ],
)
@pytest.mark.parametrize("command", ["lab", "test"])
def test_make_says_in_one_sentence_what_is_missing(tmp_path, shim, words, command):
    for file in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path)
    python, environment = "nowhere/python3", {}
    if shim:
        file, _, code = shim.partition(": ")
        (tmp_path / file).write_text(code)
        # The running Python, not its venv, whose own sitecustomize could come first.
        python, environment = getattr(sys, "_base_executable", sys.executable), {"PYTHONPATH": str(tmp_path)}
    done = run_make(command, f"PYTHON={python}", cwd=tmp_path, **environment)
    sentence, *rest = done.stderr.splitlines()
    assert done.returncode == 2 and words.format(python=python) in sentence and f"make {command}" in sentence
    assert all(line.startswith("make") for line in rest), "what make itself adds"
    assert not done.stdout and not (tmp_path / ".venv").exists()


# --- the package -----------------------------------------------------------------------------------------------------


def test_importing_the_package_loads_numpy_alone():
    code = """
import sys
from importlib.metadata import packages_distributions
installed = set(packages_distributions())
before = set(sys.modules)
import specdec_kit
print(*{name.partition(".")[0] for name in set(sys.modules) - before} & installed)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {"specdec_kit"} == {"numpy"}


def imports(source):
    """Each module or name that a file imports from the kit, and whether it does so inside a function."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(part for part in ("specdec_kit" if node.level else "", node.module) if part)
            names = [f"{package}.{alias.name}" for alias in node.names] if package == "specdec_kit" else [package]
        else:
            continue
        for kit, _, name in (name.partition(".") for name in names):
            if kit == "specdec_kit":
                yield name.partition(".")[0], id(node) in inside


def layer_faults(module, source):
    """Imports of the kit that a module may not make, wherever in the file they stand."""
    above = [] if module in ALONE else LAYERS[: LAYERS.index(module)]
    below = DEFERRED.get(module, set())
    return [name for name, deferred in imports(source) if name not in above and not (deferred and name in below)]


def test_every_module_imports_upward_alone():
    modules = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "specdec_kit").glob("*.py")}
    del modules["__init__"]
    assert modules.keys() <= set(LAYERS), "a new module needs its place in LAYERS"
    faults = {module: layer_faults(module, source) for module, source in modules.items()}
    assert not {module: found for module, found in faults.items() if found}


def coursework_faults(module, source):
    """Imports of specdec_kit.coursework that one of its modules may not make."""
    found = re.findall(r"^\s*(?:from|import) +specdec_kit\.coursework(?: +import +(.+)|\.(\w+))", source, flags=re.M)
    names = [name.strip() for several, one in found for name in (several or one).split(",")]
    return [name for name in names if name not in COURSEWORK[: COURSEWORK.index(module)]]


def test_every_module_of_the_coursework_imports_upward_alone():
    modules = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "specdec_kit" / "coursework").glob("*.py")}
    del modules["__init__"]
    assert modules.keys() == set(COURSEWORK), "a new module needs its place in COURSEWORK"
    faults = {module: coursework_faults(module, source) for module, source in modules.items()}
    assert not {module: found for module, found in faults.items() if found}
    for line in ("from specdec_kit.coursework.grade import main", "from specdec_kit.coursework import plain, visible",
                 "    import specdec_kit.coursework.remote"):  # fmt: skip
        assert coursework_faults("sandbox", line)
    assert not coursework_faults("remote", "from specdec_kit.coursework import plain\nfrom specdec_kit import law")
    assert layer_faults("selfcheck", "from specdec_kit.coursework.plain import loads")


@pytest.mark.parametrize(
    "line",
    ["from specdec_kit.audit import audit_sampler", "import specdec_kit.audit", "from specdec_kit import audit",
     "from . import audit", "from .audit import Report", "from specdec_kit import overlap", "import specdec_kit",
     "from specdec_kit.blocks import speculative_round", "def f():\n    from specdec_kit import audit"],
)  # fmt: skip
def test_an_import_downward_is_found(line):
    assert layer_faults("blocks", line)
    assert layer_faults("copies", line)


def test_an_import_upward_passes():
    fine = (
        "import numpy\nfrom specdec_kit.sampling import categorical\nfrom specdec_kit import law\nfrom .law import Law"
    )
    assert not layer_faults("blocks", fine)
    assert layer_faults("copies", fine)


def test_a_deferred_import_is_deferred_and_made():
    for module, names in DEFERRED.items():
        for name in names:
            assert layer_faults(module, f"from specdec_kit import {name}")
            assert (name, True) in imports((ROOT / "specdec_kit" / f"{module}.py").read_text(encoding="utf-8"))


# --- what is in the repository ---------------------------------------------------------------------------------------


def test_the_top_level_is_as_designed():
    assert {Path(name).parts[0] for name in tracked()} <= TOP


def test_there_is_no_lock_file():
    assert not [name for name in tracked() if re.search(r"\.lock$|[-.]lock\.\w+$", name)]


def strangers(text, names):
    """Those of the paths or hosts that stand in a text, as whole names."""
    return [name for name in names if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text)]


def of_this_machine():
    """Folders of this machine, and hosts that packages come from, here and elsewhere."""
    folders = {str(ROOT), str(ROOT.parent), str(Path.home()), tempfile.gettempdir()}
    hosts = {
        "pypi.org/" + "simple",
        "files.python" + "hosted.org",
        "registry.npm" + "js.org",
        "conda.anaconda" + ".org",
    }
    configured = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    hosts |= set(re.findall(r"https?://(?:[^/@\s']*@)?([^/:\s']+)", configured)) - {"pypi.org"}
    return [name for name in folders if len(name) > 4] + sorted(hosts)


def test_no_file_names_this_machine_or_a_registry():
    names = of_this_machine()
    # The patterns of .gitignore start at the top of the repository, not of the disk.
    texts = {name: (ROOT / name).read_bytes().decode("utf-8", "ignore") for name in tracked() if name != ".gitignore"}
    found = {name: strangers(text, names) for name, text in texts.items()}
    assert not {name: what for name, what in found.items() if what}


def test_a_stranger_is_found():
    name = str(ROOT)
    assert strangers(f"see {name}/data.", [name])
    assert strangers(f'"{name}"', [name])
    assert not strangers("/lab/tree/00.ipynb ./tree/a", ["/tree"])


# --- what the documents promise ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "run", [lambda: doctest.testfile(str(ROOT / "README.md"), module_relative=False), lambda: doctest.testmod(law)]
)
def test_the_examples_give_what_they_say(run):
    done = run()
    assert done.attempted and not done.failed


def test_an_example_that_is_wrong_is_noticed(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("    >>> 1 + 1\n    3\n", encoding="utf-8")
    assert doctest.testfile(str(page), module_relative=False, report=False).failed == 1


def test_who_cites_the_kit_names_its_version():
    [cited] = re.findall(r"version = \{(.*?)\}", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert cited == PROJECT["version"]
