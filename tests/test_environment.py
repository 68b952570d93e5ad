"""The check of the environment says what is missing or too old, and what to do about it."""

from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace

import pytest

from specdec_kit import environment

REMEDY = 'run `make lab` in the folder of the course, or here `%pip install -e "..[lab]"`, then restart the kernel'
NEEDS = ["numpy", "anywidget", "ipywidgets", "jupyterlab", "matplotlib", "scipy", "tqdm"]


def check(capsys):
    well = environment.check_environment()
    return well, capsys.readouterr().out.splitlines()


def pretend(monkeypatch, name, found):
    """`found` as the version of one package, or no such package where it is None."""

    def answer(asked):
        if asked != name:
            return version(asked)
        if found is None:
            raise PackageNotFoundError(asked)
        return found

    monkeypatch.setattr(environment, "version", answer)


def test_all_is_well_here(capsys):
    well, lines = check(capsys)
    assert well is True
    assert [line.split()[0] for line in lines] == ["Python", *NEEDS], "what the lessons need, and no tool of the tests"
    assert all(line.endswith(": ok") for line in lines)


@pytest.mark.parametrize("name", NEEDS)
def test_a_missing_package_is_named_with_the_remedy(capsys, monkeypatch, name):
    pretend(monkeypatch, name, None)
    well, lines = check(capsys)
    assert well is False
    [line] = [line for line in lines if not line.endswith(": ok")]
    assert line.startswith(f"{name} >=") and line.endswith(f": missing; {REMEDY}")


@pytest.mark.parametrize(("name", "found"), [("numpy", "1.26.4"), ("matplotlib", "3.8.99"), ("tqdm", "4.9")])
def test_a_package_that_is_too_old_is_named_with_the_remedy(capsys, monkeypatch, name, found):
    pretend(monkeypatch, name, found)
    well, lines = check(capsys)
    assert well is False
    [line] = [line for line in lines if not line.endswith(": ok")]
    assert line.startswith(f"{name} >=") and line.endswith(f": {found} is too old; {REMEDY}")


@pytest.mark.parametrize("found", ["2.0", "2.10.1", "3.0.0rc1", "99"])
def test_a_new_enough_package_is_ok(capsys, monkeypatch, found):
    pretend(monkeypatch, "numpy", found)
    assert check(capsys)[0] is True


def test_one_fault_does_not_hide_another(capsys, monkeypatch):
    def nothing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(environment, "version", nothing)
    _, lines = check(capsys)
    assert [line.split()[0] for line in lines if "missing" in line] == NEEDS


@pytest.mark.parametrize(("python", "well"), [((3, 10, 14), False), ((3, 11, 0), True), ((4, 0, 0), True)])
def test_an_old_python_is_named(capsys, monkeypatch, python, well):
    found = ".".join(map(str, python))
    monkeypatch.setattr(environment, "sys", SimpleNamespace(version_info=python, version=f"{found} (main)"))
    answer, lines = check(capsys)
    assert answer is well
    assert lines[0] == f"Python 3.11 or newer: {'ok' if well else f'this is {found}; install a newer one'}"
    assert len(lines) == 1 + len(NEEDS)


def test_a_kit_that_is_only_on_the_path_is_not_installed(capsys, monkeypatch):
    def no_metadata(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(environment, "requires", no_metadata)
    well, lines = check(capsys)
    assert well is False and lines[-1] == f"specdec-kit: not installed; {REMEDY}"


def test_without_packaging_the_check_still_says_what_to_do(capsys, monkeypatch):
    monkeypatch.setattr(environment, "find_spec", {"packaging": None}.__getitem__)
    assert check(capsys) == (False, [f"packaging: missing; {REMEDY}"])
