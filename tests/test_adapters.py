"""Samplers of other shapes: batches, verifiers of drafted blocks, PyTorch's draws, and the rule of transformers."""

import math
import sys
import types
from functools import cache

import numpy as np
import pytest

from specdec_kit.adapters import batched, torch_draws, transformers_round, verifier
from specdec_kit.audit import audit_decoder, audit_sampler
from specdec_kit.sampling import inverse_cdf
from specdec_kit.streams import Scripted


def lacking(p, q):
    return np.maximum(p - q, 0)


# ---- batches of rows


def batch(p, q, rng, *, u=None, of=lambda row: row, instead=lacking):
    """Speculative sampling row by row, with given uniforms, by the laws of row `of`, and with a residual to choose."""
    tokens = []
    for row, uniforms in enumerate(rng.random((len(p), 3)) if u is None else u):
        a, b = p[of(row)], q[of(row)]
        x = int(inverse_cdf(b, uniforms[0]))
        rest = instead(a, b)
        keeps = uniforms[1] * b[x] < a[x] or not rest.any()
        tokens.append(x if keeps else int(inverse_cdf(rest, uniforms[2])))
    return np.array(tokens)


def by_first_laws(p, q, rng):
    return batch(p, q, rng, of=lambda row: 0)


def with_shared_uniforms(p, q, rng):
    return batch(p, q, rng, u=[rng.random(3)] * len(p))


def redrawing_p(p, q, rng):
    return batch(p, q, rng, instead=lambda p, q: p)


def in_a_column(p, q, rng):
    return batch(p, q, rng)[:, None]


@cache
def sampled(sampler):
    return audit_sampler(batched(sampler), draws=2_000)


def named(report, name):
    return [check for check in report.checks if check.name.removeprefix("first token, ") == name]


def test_a_right_batch_passes_and_its_rows_are_looked_at():
    report = sampled(batch)
    assert report.passed and not report.findings and report.name == "batch"
    (rows,) = named(report, "rows of a batch")
    assert rows.passed and rows.pvalue == "exact"


def test_one_row_is_a_batch_of_one_and_rows_are_all():
    p, q = np.array([[0.2, 0.8], [1.0, 0.0], [0.0, 1.0]]), np.full((3, 2), 0.5)
    one = batched(batch)
    for seed in range(20):
        tokens = one.rows(p, q, np.random.default_rng(seed))
        assert tokens == batch(p, q, np.random.default_rng(seed)).tolist() and tokens[1:] == [0, 1]
        assert one(p[0], q[0], np.random.default_rng(seed)) == batch(p[:1], q[:1], np.random.default_rng(seed))[0]


def test_rows_that_are_judged_by_the_laws_of_another_are_found():
    (found,) = sampled(by_first_laws).findings
    assert found.name == "rows of a batch" and "each row needs its own laws" in found.advice


def test_rows_that_share_uniforms_are_found_where_they_are_wrong():
    report = sampled(with_shared_uniforms)
    assert report.kinds == {"joint law": "fault"}
    (found,) = report.findings
    assert found.name == "rows of a batch" and "random numbers of its own" in found.advice


def test_rows_that_share_uniforms_do_not_pass():
    assert not sampled(with_shared_uniforms).passed


def test_a_wrong_rule_in_a_batch_is_named():
    report = sampled(redrawing_p)
    assert report.kinds["law"] == "fault"
    assert report.findings[0].advice.startswith("A rejected draft is replaced by a draw from p; draw it from")


def test_another_shape_than_one_token_a_row_is_said():
    (found, *_) = sampled(in_a_column).findings
    assert found.advice == ("It raises ValueError: 1 rows gave tokens of shape (1, 1), where one token a row is due.")


# ---- verifiers of drafted blocks


def engine(p, q, drafts, rng, *, after=-1, place=lambda kept: kept):
    """Verification as engines write it: whole arrays, and the last token by the largest p / exponential noise."""
    rows, gamma = drafts.shape
    row, at = np.arange(rows), np.arange(gamma)
    passes = rng.random((rows, gamma)) * q[row[:, None], at, drafts] < p[row[:, None], at, drafts]
    kept = np.where(passes.all(axis=1), gamma, passes.argmin(axis=1))
    last = p[row, place(kept)]
    rest = lacking(last, q[row, np.minimum(kept, gamma - 1)])
    last = np.where(((kept < gamma) & rest.any(axis=1))[:, None], rest, last)
    tokens = np.full((rows, gamma + 1), -1)
    tokens[:, :gamma] = np.where(at < kept[:, None], drafts, after)
    tokens[row, kept] = (last / rng.exponential(size=last.shape)).argmax(axis=1)
    return tokens


def in_lists(p, q, drafts, rng):
    return [[x for x in row if x != -1] for row in engine(p, q, drafts, rng).tolist()]


def one_place_on(p, q, drafts, rng):
    return engine(p, q, drafts, rng, place=lambda kept: np.minimum(kept + 1, drafts.shape[1]))


def padded_with_zeros(p, q, drafts, rng):
    return engine(p, q, drafts, rng, after=0)


def with_tokens_after_the_padding(p, q, drafts, rng):
    tokens = engine(p, q, drafts, rng)
    tokens[:, -1] = np.where(tokens[:, -1] < 0, 0, tokens[:, -1])
    return tokens


def half_of_the_rows(p, q, drafts, rng):
    return engine(p, q, drafts, rng)[: (len(drafts) + 1) // 2]


@cache
def verified(verify):
    return audit_decoder(verifier(verify), draws=400)


@pytest.mark.parametrize("verify", [engine, in_lists])
def test_a_right_verifier_passes_and_its_rows_are_looked_at(verify):
    report = verified(verify)
    assert report.passed and not report.findings and report.name == verify.__name__
    assert "rng.exponential" in report.cannot_walk
    (rows,) = named(report, "rows of a batch")
    assert rows.passed


@pytest.mark.parametrize(
    ("verify", "kind", "words"),
    [
        (one_place_on, "joint law", "Where draft 1 is rejected, its place is filled from the row of the place after"),
        (padded_with_zeros, "joint law", "It keeps tokens after a rejection"),
        (with_tokens_after_the_padding, "tokens", "a token follows the -1 that ends a row: ["),
        (half_of_the_rows, "law", " rows of tokens: one a block is due"),
    ],
)
def test_a_wrong_verifier_is_found_and_explained(verify, kind, words):
    report = verified(verify)
    assert any(kind in of and found == "fault" for of, found in report.kinds.items())
    assert any(words in check.advice for check in report.findings)


def test_a_verifier_gets_the_laws_that_its_drafts_were_drawn_from():
    table = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.75]])
    guess = table[::-1]
    seen = {}

    def verify(p, q, drafts, rng):
        seen.update(p=p, q=q, drafts=drafts)
        return [[0, -1, -1]]

    round_ = verifier(verify)
    # 0.9, 0.1 draw 2, then 0 of the draft's rows after 1 and after 2.
    assert round_(lambda text: table[text[-1]], lambda text: guess[text[-1]], [1], 2, Scripted([0.9, 0.1])) == (0,)
    assert seen["drafts"].tolist() == [[2, 0]]
    assert np.array_equal(seen["q"], [[guess[1], guess[2]]]) and np.array_equal(seen["p"], [table[[1, 2, 0]]])


# ---- PyTorch


def same_as(rng, bits):
    """Uniforms of that many bits, as the next ones of `rng` give them."""
    return np.floor(rng.random(6) * 2**bits) / 2**bits


@pytest.mark.models
def test_torch_draws_its_uniforms_from_rng():
    torch = pytest.importorskip("torch")
    due = same_as(np.random.default_rng(3), 24)
    like = torch.zeros(2, 3)
    for draw in [
        lambda: torch.rand(2, 3), lambda: torch.rand((2, 3)), lambda: torch.rand(size=(2, 3)),
        lambda: torch.rand(torch.Size([2, 3]), device="cpu"), lambda: torch.rand_like(like),
        lambda: torch.empty(2, 3).uniform_(),
    ]:  # fmt: skip
        with torch_draws(np.random.default_rng(3)):
            drawn = draw()
        assert drawn.dtype == torch.float32 and drawn.shape == (2, 3)
        assert drawn.double().flatten().tolist() == due.tolist()
        assert (drawn.double() * 2**24 % 1 == 0).all()
    for dtype, bits in [(torch.float64, 53), (torch.float16, 11), (torch.bfloat16, 8)]:
        with torch_draws(np.random.default_rng(3)):
            drawn = torch.rand(6, dtype=dtype)
        assert drawn.dtype == dtype and drawn.tolist() == same_as(np.random.default_rng(3), bits).tolist()


@pytest.mark.models
def test_a_float32_uniform_can_be_zero_and_is_never_one():
    torch = pytest.importorskip("torch")
    with torch_draws(Scripted([2**-25, 1 - 2**-53])):
        assert torch.rand(2).tolist() == [0, 1 - 2**-24]


@pytest.mark.models
def test_torch_draws_tokens_and_noise_from_rng():
    torch = pytest.importorskip("torch")
    with torch_draws(Scripted([0.2, 0.6, 0.0, 0.25, 0.5])):
        # The weights need not sum to 1: up to .25 it is 0, up to .5 it is 1.
        assert torch.multinomial(torch.tensor([1.0, 1.0, 2.0]), 1).tolist() == [0]
        two = torch.multinomial(torch.tensor([[1.0, 1.0, 2.0], [0.0, 0.0, 1.0]]), num_samples=1)
        assert two.tolist() == [[2], [2]] and two.dtype == torch.int64
        tensor = torch.empty(1)
        assert tensor.uniform_(2, 6) is tensor and tensor.tolist() == [3]
        assert torch.empty(1, dtype=torch.float64).exponential_(2).item() == pytest.approx(math.log(2) / 2)


@pytest.mark.models
@pytest.mark.parametrize("weights", [[float("nan"), 1.0], [-0.5, 1.0], [0.0, 0.0], [float("inf"), 1.0]])
def test_weights_that_are_no_law_raise(weights):
    torch = pytest.importorskip("torch")
    with torch_draws(np.random.default_rng(0)), pytest.raises(RuntimeError, match="negative, not finite, or sum to 0"):
        torch.multinomial(torch.tensor(weights), 1)


@pytest.mark.models
def test_what_torch_draws_does_not_serve_is_said():
    torch = pytest.importorskip("torch")
    with torch_draws(np.random.default_rng(0)), pytest.raises(ValueError, match="with num_samples=1"):
        torch.multinomial(torch.ones(3), 2)


@pytest.mark.models
def test_the_same_seed_gives_the_same_numbers_and_another_gives_others():
    torch = pytest.importorskip("torch")

    def drawn(seed):
        with torch_draws(np.random.default_rng(seed)):
            return [torch.rand(4).tolist(), torch.empty(4).exponential_().tolist()]

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.models
def test_torch_is_left_as_it_was():
    torch = pytest.importorskip("torch")

    def now():
        return torch.rand, torch.rand_like, torch.multinomial, torch.Tensor.uniform_, torch.Tensor.exponential_

    before, state = now(), torch.get_rng_state()
    with torch_draws(np.random.default_rng(0)):
        assert not set(now()) & set(before)
        torch.rand(3), torch.multinomial(torch.ones(3), 1), torch.empty(2).uniform_(), torch.empty(2).exponential_()
    assert now() == before and torch.equal(torch.get_rng_state(), state)
    with pytest.raises(ZeroDivisionError), torch_draws(np.random.default_rng(0)):
        1 / 0  # noqa: B018
    assert now() == before


@pytest.mark.models
def test_a_verifier_may_answer_with_tensors():
    torch = pytest.importorskip("torch")

    def in_tensors(p, q, drafts, rng):
        return torch.from_numpy(engine(p, q, drafts, rng))

    tokens = verifier(in_tensors)(lambda text: [0.5, 0.5], lambda text: [0.5, 0.5], (0,), 2, np.random.default_rng(0))
    assert len(tokens) == 3 and all(type(x) is int for x in tokens)


# ---- transformers


@pytest.fixture(scope="module")
def speculative_sampling():
    torch, utils = pytest.importorskip("torch"), pytest.importorskip("transformers.generation.utils")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield utils._speculative_sampling
    torch.set_num_threads(threads)


@pytest.mark.models
def test_the_rule_of_transformers_is_right_but_for_a_zero(speculative_sampling):
    report = audit_decoder(transformers_round(), draws=400, patience=30)
    assert report.kinds == {"boundary": "fault"}
    (found,) = report.findings
    assert found.name == "first token, u = 0" and "u = 0" in found.advice and "2²⁴" in found.advice
    laws = [check for check in report.checks if check.pvalue is not None]
    assert len(laws) > 20 and all(check.passed for check in laws)


@pytest.mark.models
def test_the_ensemble_of_transformers_has_another_law(speculative_sampling):
    import torch

    def ensemble(p, q, drafts, rng):
        def logits(laws):
            return torch.from_numpy(laws.astype(np.float32)).log()[None]

        kept = []
        for rows, draft_rows, drafted in zip(p, q, drafts, strict=True):
            with torch_draws(rng):
                tokens, _ = speculative_sampling(
                    torch.from_numpy(drafted)[None], logits(draft_rows), len(drafted), logits(rows),
                    assistant_ensemble_weight=0.7,
                )  # fmt: skip
            kept.append(tokens[0].tolist())
        return kept

    report = audit_decoder(verifier(ensemble), patience=30)
    assert report.kinds["law"] == report.kinds["joint law"] == "fault"
    assert "lossy by design" in report.findings[0].advice
    # By hand: it returns 0.7 p + 0.3 q, whose total variation from p is 0.3 times that of q.
    seen = next(check for check in named(report, "the law") if check.case.startswith("p = [0.4, 0.3, 0.2, 0.1]"))
    assert seen.tv == pytest.approx(0.3 * 0.4, abs=0.05)


@pytest.mark.models
def test_the_rule_of_transformers_leaves_torch_its_threads(speculative_sampling):
    import torch

    torch.set_num_threads(2)
    tokens = transformers_round()(lambda text: [0.5, 0.5], lambda text: [0.5, 0.5], (0,), 2, np.random.default_rng(0))
    assert len(tokens) == 3 and torch.get_num_threads() == 2
    torch.set_num_threads(1)


# ---- what is missing


@pytest.mark.parametrize("use", [lambda: torch_draws(None).__enter__(), transformers_round])
def test_a_missing_torch_is_one_sentence(monkeypatch, use):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'^torch is not installed: `pip install "specdec-kit\[models\]"`'):
        use()


def test_a_missing_transformers_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    for name in [name for name in sys.modules if name.split(".")[0] == "transformers"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModuleNotFoundError, match=r'^transformers is not installed: `pip install "specdec-kit\[mod'):
        transformers_round()
