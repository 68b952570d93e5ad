"""Python for the browser: a folder with Pyodide, the kit, and what the lessons need.

The folder is complete: a page that loads Python from it asks no other server for anything. So a reader gets what was
tested, also in a room without a network.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from urllib.request import urlopen

SOURCE = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/"
"""Where Pyodide is published, in the version that the lessons are tested with."""
LOCK = "pyodide-lock.json"
CORE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
KERNEL = ("micropip", "ssl", "sqlite3", "comm", "jedi", "ipython")
"""What the kernel would otherwise fetch when it starts; the names are those that it asks for."""
FRONT_ENDS = ("jupyterlab-widgets", "widgetsnbextension")
"""What ipywidgets brings for a page: JupyterLite has it, and Python does without."""


class Pyodide:
    """The folder while it is written.

    Parameters
    ----------
    into : Path
        A folder that does not exist.
    source : str
        Where Pyodide comes from: an address, or a folder such as the unpacked release of the same version.

    Raises
    ------
    RuntimeError
        Here and below, where a file cannot be had, or is not the one that Pyodide's lock file names.
    """

    def __init__(self, into: Path, source: str = SOURCE):
        self.into, self.source = into, source
        into.mkdir(parents=True)
        for name in CORE:
            self._fetch(name)
        self.lock = json.loads(self._fetch(LOCK))
        self.theirs, self.lock["packages"] = self.lock["packages"], {}

    def add_kit(self, root: Path) -> list[str]:
        """Add the kit of the clone `root` and what its lessons need; the packages that the kernel is then to load."""
        self._add("wheel", "--no-build-isolation", str(root), extra="lab")
        for name in KERNEL:
            self._need(name, name)
        (self.into / LOCK).write_text(json.dumps(self.lock, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return ["specdec-kit", *KERNEL]

    def _need(self, name: str, requirement: str) -> None:
        """A package: Pyodide's own, which alone may be compiled, else one of pure Python."""
        if name in self.lock["packages"]:
            return
        if name in self.theirs:
            entry = self.lock["packages"][name] = self.theirs[name]
            if hashlib.sha256(self._fetch(entry["file_name"])).hexdigest() != entry["sha256"]:
                raise RuntimeError(f"{entry['file_name']} from {self.source} is not the file that {LOCK} names")
            for other in entry["depends"]:
                self._need(_canonical(other), other)
            return
        with suppress(PackageNotFoundError):  # the page gets the front end that is installed here
            requirement = f"{name}=={version(name)}"
        pure = ["--platform=any", "--implementation=py", "--abi=none", "--python-version", self.lock["info"]["python"]]
        self._add("download", "--only-binary=:all:", *pure, requirement)

    def _add(self, *command: str, extra: str = "") -> None:
        """The wheel that a command of pip makes or finds, with what it requires."""
        with tempfile.TemporaryDirectory() as folder:
            quiet = ["--quiet", "--disable-pip-version-check", "--no-deps"]
            where = ["--wheel-dir" if command[0] == "wheel" else "--dest", folder]
            if subprocess.run([sys.executable, "-m", "pip", *command, *quiet, *where], check=False).returncode:
                raise RuntimeError(f"pip did not give {command[-1]}, for the reasons above")
            [wheel] = Path(folder).iterdir()
            [package] = distributions(path=[str(wheel)])
            content = wheel.read_bytes()
            needs = dict(self._requirements(package.requires or [], extra))
            name, checksum = _canonical(package.name), hashlib.sha256(content).hexdigest()
            # Another content, another name: a browser may keep what it fetched.
            file_name = wheel.name.replace(f"-{package.version}-", f"-{package.version}-0{checksum[:12]}-")
        (self.into / file_name).write_bytes(content)
        self.lock["packages"][name] = {
            "name": name,
            "version": package.version,
            "file_name": file_name,
            "sha256": checksum,
            "install_dir": "site",
            "package_type": "package",
            "imports": [],
            "depends": sorted(needs),
            "unvendored_tests": False,
        }
        for other, requirement in needs.items():
            self._need(other, requirement)

    def _requirements(self, lines: list[str], extra: str) -> Iterator[tuple[str, str]]:
        """Name and requirement of what a package needs in a browser."""
        from packaging.requirements import Requirement

        python = self.lock["info"]["python"]
        there = {"sys_platform": "emscripten", "platform_system": "Emscripten", "os_name": "posix", "extra": extra}
        there |= {"python_version": python.rpartition(".")[0], "python_full_version": python}
        for needed in map(Requirement, lines):
            name = _canonical(needed.name)
            if name not in FRONT_ENDS and (needed.marker is None or needed.marker.evaluate(there)):
                yield name, f"{needed.name}{needed.specifier}"

    def _fetch(self, name: str) -> bytes:
        """A file of Pyodide's, which is kept."""
        try:
            if "://" in self.source:
                with urlopen(self.source.rstrip("/") + "/" + name, timeout=60) as answer:
                    content = answer.read()
            else:
                content = Path(self.source, name).read_bytes()
        except OSError as error:
            raise RuntimeError(f"{name} cannot be had from {self.source} ({error})") from None
        (self.into / name).write_bytes(content)
        return content


def _canonical(name: str) -> str:
    from packaging.utils import canonicalize_name

    return str(canonicalize_name(name))
