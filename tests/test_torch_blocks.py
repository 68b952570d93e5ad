"""Verification by PyTorch: against laws by hand, on grids of uniforms that count them exactly, and by the audit."""

from copy import deepcopy
from fractions import Fraction as F

import numpy as np
import pytest

from specdec_kit.adapters import verifier
from specdec_kit.audit import audit_decoder
from specdec_kit.blocks import Round, speculative_decode, token_verification
from specdec_kit.distributions import InvalidDistribution, temperature
from specdec_kit.drafts import PromptLookup, smollm2_ngram
from specdec_kit.greedy import triage
from specdec_kit.language_models import LanguageModel, WeightsMissing, load_smollm2, smollm2_folder
from specdec_kit.models import Chain, Processed
from specdec_kit.random_models import random_llama
from specdec_kit.streams import Ledger, Scripted
from specdec_kit.torch_blocks import CHUNK, draw, draw_lacking, on_device, verify_blocks
from specdec_kit.uncertainty import goodness_of_fit

pytestmark = [pytest.mark.models, pytest.mark.usefixtures("one_thread")]
torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make test-models` brings it")

P, Q = (0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4)
LAST, LAST32 = 1 - 2**-53, 1 - 2**-24
BIG = 128_256


def wide(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


# ---- wrong on purpose, for what the tests can see


def forgets_q(p, q, drafted, uniforms):
    accepted, _ = verify_blocks(p, q, drafted, uniforms)
    return accepted, draw(p[torch.arange(len(p)), accepted], uniforms[:, -1])


def at_most(p, q, drafted, uniforms):
    """Lets u = 0 pass where p = 0."""
    return verify_blocks(p + 1e-300, q, drafted, uniforms)


def one_place_on(p, q, drafted, uniforms):
    accepted, _ = verify_blocks(p, q, drafted, uniforms)
    row, gamma = torch.arange(len(p)), drafted.shape[1]
    at, short = accepted.clamp(max=gamma - 1), (accepted < gamma)[:, None]
    return accepted, draw_lacking(p[row, (accepted + 1).clamp(max=gamma)], q[row, at] * short, uniforms[:, -1])


# ---- the law by hand


def tallied(verify, dtype="float64"):
    """Law of the first token, chance to be accepted and law of the bonus, γ = 1, over a grid that meets each exactly.

    The tests pass with the chances 1, 1, 2/3 and 1/4, multiples of 1/12; the laws drawn from are multiples of 1/20.
    The uniforms are the middles of 12 and of 20 equal steps, so that rounding moves none of them over an edge.
    """
    tests, lasts = 12, 20
    grid = [(x, (i + 0.5) / tests, (j + 0.5) / lasts) for x in range(4) for i in range(tests) for j in range(lasts)]
    drafted = torch.tensor([[x] for x, _, _ in grid])
    p, q = (torch.tensor(law, dtype=getattr(torch, dtype)).expand(len(grid), 1, 4) for law in (P, Q))
    accepted, last = verify(p.expand(-1, 2, -1), q, drafted, wide([[u, v] for _, u, v in grid]))
    first, bonus, passed = [F(0)] * 4, [F(0)] * 4, F(0)
    for (x, _, _), kept, token in zip(grid, accepted.tolist(), last.tolist(), strict=True):
        mass = F(x + 1, 10) / (tests * lasts)  # q is (1, 2, 3, 4) / 10
        first[x if kept else token] += mass
        passed += mass * kept
        bonus[token] += mass * kept
    return first, passed, [mass / passed for mass in bonus]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_the_law_of_a_block_is_the_target_s(dtype):
    law = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)]
    assert tallied(verify_blocks, dtype) == (law, F(6, 10), law)
    # Control: drawing from p where a draft was rejected has, by hand, 0.1 + 0.4 · 0.4 = 0.26 of the first token, ….
    assert tallied(forgets_q, dtype)[0] == [F(26, 100), F(32, 100), F(28, 100), F(14, 100)]


def shifted_laws(rows, places, size, seed):
    """Laws in float64, no two alike."""
    rng = np.random.default_rng(seed)
    return torch.softmax(wide(rng.normal(size=(rows, places, size)) * 2), -1)


@pytest.mark.parametrize("size", [1, 2, 3, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK - 7])
def test_each_row_of_a_batch_is_what_the_walked_scheme_does_with_its_uniforms(size):
    rows, gamma = 60, 3
    p, q = shifted_laws(rows, gamma + 1, size, 1), shifted_laws(rows, gamma, size, 2)
    rng = np.random.default_rng(3)
    picks, uniforms = rng.random((rows, gamma)), rng.random((rows, gamma + 1))
    drafted = torch.stack([draw(q[:, n], wide(picks[:, n])) for n in range(gamma)], 1)
    accepted, last = (found.tolist() for found in verify_blocks(p, q, drafted, wide(uniforms)))

    def walked(row, shift=0):
        def target(context):
            return p[row, (len(context) + shift) % (gamma + 1)].numpy()

        def draft(context):
            return q[row, len(context)].numpy()

        def script():
            yield from picks[row]
            yield from uniforms[row, :gamma]

        # The last uniform comes right after the test that fails, or after all.
        for tests in range(gamma + 1):
            left = [*picks[row], *uniforms[row, :tests], uniforms[row, -1]]
            try:
                done = token_verification(target, draft, (), gamma, Scripted(left))
            except ValueError:
                continue  # the script ends too early: more tests are due
            if min(done.accepted + 1, gamma) == tests:
                return done
        raise AssertionError("no script fits")

    for row in range(rows):
        done = walked(row)
        assert done.drafted == tuple(drafted[row].tolist())
        assert (done.accepted, done.tokens[-1]) == (accepted[row], last[row])
    if size > 2:
        assert 0 < sum(accepted) < rows * gamma, "both ways out were taken"
        other = [walked(row, shift=1) for row in range(rows)]
        assert [done.accepted for done in other] != accepted, "rows in another order would be seen"


def test_a_block_of_no_drafts_is_a_draw_from_the_target():
    p = wide([[P]] * 10)
    none = torch.zeros((10, 0), dtype=torch.int64)
    accepted, last = verify_blocks(p, p[:, :0], none, wide([[(k + 0.5) / 10] for k in range(10)]))
    assert accepted.tolist() == [0] * 10 and last.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]


# ---- the draw


def on_a_grid(p, q, count=20_000):
    """How often each token is drawn by uniforms in the middle of equal steps."""
    u = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    step = 2_000
    drawn = [
        draw_lacking(p.expand(step, -1), q.expand(step, -1), u[n : n + step]) for n in range(0, count, step)
    ]  # fmt: skip
    return np.bincount(torch.cat(drawn).numpy(), minlength=len(p)) / count


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1, 2, 3, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK - 7])
def test_the_draw_has_the_residual_s_law_on_a_grid(size, dtype):
    p, q = (shifted_laws(1, 1, size, seed)[0, 0].to(getattr(torch, dtype)) for seed in (4, 5))
    for against in (q, torch.zeros_like(q)):
        due = np.maximum(p.numpy().astype(float) - against.numpy(), 0)
        if due.any():
            # Inverse CDF: the running sum is met within one step, so that a token's share is off by less than one.
            off = np.abs(on_a_grid(p, against) - due / due.sum()).max()
            assert off < 1.01 / 20_000
    if size > 2:
        residual = np.maximum((p - q).numpy(), 0)
        assert np.abs(on_a_grid(p, torch.zeros_like(q)) - residual / residual.sum()).max() > 0.01, "q is seen"


@pytest.mark.parametrize("uniform", ["float64", "float32"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_no_token_of_weight_0_at_either_end_of_the_uniforms(dtype, uniform):
    # Over a vocabulary of 128,256: one token that has weight, at each edge of a chunk, and down to the least number;
    # then rows where a chunk, the first tokens or the last have none.
    kind, last = getattr(torch, dtype), LAST if uniform == "float64" else LAST32
    places = [0, 1, CHUNK - 1, CHUNK, BIG - BIG % CHUNK - 1, BIG - BIG % CHUNK, BIG - 1]
    one = torch.zeros((2 * len(places), BIG), dtype=kind)
    for row, place in enumerate(places):
        one[row, place], one[row + len(places), place] = 1.0, 1e-37
    for u in (0.0, 0.5, last):
        ends = torch.full((len(one),), u, dtype=getattr(torch, uniform))
        assert draw(one, ends).tolist() == places * 2
        assert draw_lacking(one, one / 2, ends).tolist() == places * 2
        assert draw_lacking(one, one, ends).tolist() == [-1] * len(one)
    law = torch.softmax(torch.from_numpy(np.random.default_rng(6).normal(size=BIG) * 3), 0).repeat(4, 1)
    law[0, :1000], law[1, -1000:], law[2, ::2], law[3, CHUNK : 2 * CHUNK] = 0, 0, 0, 0
    law = law.to(kind)
    first = [(row > 0).nonzero()[0, 0].item() for row in law]
    for u in (0.0, 0.25, last):
        drawn = draw(law, torch.full((4,), u, dtype=getattr(torch, uniform)))
        assert (law.gather(1, drawn[:, None]) > 0).all()
        assert u or drawn.tolist() == first


def test_running_sums_that_rounding_lets_grow_select_no_token_of_weight_0(monkeypatch):
    # A parallel sum adds in another order: here each entry is off by a rounding error of its own.
    add = torch.Tensor.cumsum

    def shaken(weights, dim):
        ends = add(weights, dim)
        return ends * (1 + 1e-7 * torch.sin(torch.arange(ends.shape[dim], dtype=ends.dtype) * 7))

    monkeypatch.setattr(torch.Tensor, "cumsum", shaken)
    law = torch.zeros((1, 4 * CHUNK), dtype=torch.float32)
    law[0, [3, 2 * CHUNK]] = 0.5
    for u in np.linspace(0.5 - 1e-6, 0.5 + 1e-6, 400):
        assert draw(law, torch.tensor([u], dtype=torch.float32)).item() in (3, 2 * CHUNK)
    assert draw(law, torch.tensor([LAST32], dtype=torch.float32)).item() == 2 * CHUNK


# ---- the edges


@pytest.mark.parametrize("uniform", ["float64", "float32"])
def test_a_token_that_the_target_never_writes_does_not_pass_at_u_0(uniform):
    p, q = torch.tensor([[[0.0, 1.0], [0.5, 0.5]]]), torch.tensor([[[1.0, 0.0]]])
    u = torch.zeros((1, 2), dtype=getattr(torch, uniform))
    assert [found.tolist() for found in verify_blocks(p, q, torch.tensor([[0]]), u)] == [[0], [1]]
    if uniform == "float64":
        assert at_most(p.double(), q.double(), torch.tensor([[0]]), u)[0].tolist() == [1], "≤ would be seen"


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("uniform", "last"), [("float64", LAST), ("float32", LAST32)])
def test_a_draft_of_the_target_s_own_law_passes_whatever_the_uniform(dtype, uniform, last):
    law = torch.softmax(torch.arange(9.0), 0).to(getattr(torch, dtype)).expand(9, 3, 9)
    u = torch.full((9, 3), last, dtype=getattr(torch, uniform))
    drafted = torch.arange(9)[:, None].expand(9, 2)
    accepted, bonus = verify_blocks(law, law[:, :2], drafted, u)
    assert accepted.tolist() == [2] * 9 and bonus.tolist() == [8] * 9


def test_where_nothing_is_lacking_the_draft_stands():
    # jaymody 5: in float16 (.5, .3, .2) is below (.5005, .3, .2) throughout, and 0 / 0 was drawn from.
    p = torch.tensor([[[0.5, 0.3, 0.2]] * 3], dtype=torch.float16)
    q = torch.tensor([[[0.5005, 0.3, 0.2]] * 2], dtype=torch.float16)
    assert (p[:, :2] <= q).all() and (p[:, :2] < q).any()
    accepted, last = verify_blocks(p, q, torch.tensor([[1, 0]]), wide([[LAST, LAST, 0.0]]))
    assert (accepted.tolist(), last.tolist()) == ([1], [0])
    accepted, last = verify_blocks(p, q, torch.tensor([[1, 0]]), wide([[LAST, 0.5, 0.99]]))
    assert (accepted.tolist(), last.tolist()) == ([2], [2])


# ---- compiled


def examples():
    for size in (2, CHUNK + 1):
        for gamma in (0, 1, 3):
            q = shifted_laws(6, gamma, size, 8).float()
            drafted = torch.from_numpy(np.random.default_rng(9).integers(size, size=(6, gamma)))
            uniforms = wide(np.random.default_rng(10).random((6, gamma + 1)))
            yield shifted_laws(6, gamma + 1, size, 7).float(), q, drafted, uniforms


def same(found, due):
    return all(torch.equal(one, other) for one, other in zip(found, due, strict=True))


def test_it_is_one_graph_and_asks_for_no_number():
    torch._dynamo.reset()
    compiled = torch.compile(verify_blocks, fullgraph=True, backend="eager")
    for given in examples():
        assert same(compiled(*given), verify_blocks(*given))
        # A meta tensor has no numbers: what waits for one raises.
        assert [found.shape for found in verify_blocks(*(tensor.to("meta") for tensor in given))] == [(6,), (6,)]

    def branching(p, q, drafted, uniforms):
        return verify_blocks(p, q, drafted, uniforms) if uniforms[0, 0].item() < 2 else None

    with pytest.raises(torch._dynamo.exc.TorchDynamoException):
        torch.compile(branching, fullgraph=True, backend="eager")(*given)
    with pytest.raises(RuntimeError, match="meta"):
        branching(*(tensor.to("meta") for tensor in given))


def test_it_is_the_same_in_compiled_kernels():
    from torch._inductor.cpp_builder import get_cpp_compiler

    try:
        get_cpp_compiler()
    except Exception as error:
        pytest.skip(f"there is no C++ compiler here: {type(error).__name__}")
    torch._dynamo.reset()
    compiled = torch.compile(verify_blocks, fullgraph=True)
    given = list(examples())[-1]
    assert same(compiled(*given), verify_blocks(*given))


# ---- the audit


def engine(verify):
    """What the audit holds: laws and uniforms of NumPy in, tokens and -1 out."""

    def run(p, q, drafts, rng):
        rows, gamma = drafts.shape
        uniforms = wide(np.asarray(rng.random((rows, gamma + 1)), dtype=float))
        drafted = torch.from_numpy(drafts)
        accepted, last = verify(torch.from_numpy(p), torch.from_numpy(q), drafted, uniforms)
        tokens = torch.full((rows, gamma + 1), -1)
        tokens[:, :gamma] = torch.where(torch.arange(gamma) < accepted[:, None], drafted, -1)
        tokens[torch.arange(rows), accepted] = last
        return tokens.numpy()

    run.__name__ = verify.__name__
    return verifier(run)


def test_the_audit_passes_it():
    report = audit_decoder(engine(verify_blocks))
    assert report.passed, str(report)


@pytest.mark.parametrize("wrong", [forgets_q, at_most, one_place_on])
def test_the_audit_finds_what_is_wrong_on_purpose(wrong):
    report = audit_decoder(engine(wrong))
    assert not report.passed, str(report)


# ---- the scheme


CONTEXT = (17, 4, 200, 4, 31, 17)


@pytest.fixture(scope="module")
def pair():
    return tuple(random_llama("tiny", dtype="float64", seed=seed) for seed in (0, 1))


def test_a_round_takes_its_uniforms_from_rng_and_brings_tokens(pair):
    rng = Ledger(np.random.default_rng(0))
    for gamma in (0, 1, 3):
        done = on_device()(*pair, CONTEXT, gamma, rng)
        assert isinstance(done, Round) and len(done.drafted) == gamma and len(rng.taken()) == 2 * gamma + 1
        assert all(type(token) is int for token in (*done.drafted, *done.tokens, done.accepted))
        assert done.tokens[: done.accepted] == done.drafted[: done.accepted] and len(done.tokens) == done.accepted + 1
        assert done.reason == ("rejection" if done.accepted < gamma else "all accepted")


def test_a_round_is_the_walked_scheme_s_with_the_same_uniforms(pair):
    scheme, seen = on_device(), set()
    for seed in range(60):
        uniforms = np.random.default_rng(seed).random(7).tolist()
        done = scheme(*pair, CONTEXT, 3, Scripted(uniforms))
        used = [*uniforms[:3], *uniforms[3 : 3 + min(done.accepted + 1, 3)], uniforms[-1]]
        assert done == token_verification(*pair, CONTEXT, 3, Scripted(used))
        seen.add(done.accepted)
    assert seen == {0, 1, 2, 3}


DRAWS, ALPHA = 1_000, 1e-6


def test_the_first_two_tokens_have_the_target_s_law_at_the_temperature(pair):
    # False alarm: 2 · 10⁻⁶. At 0.5 the laws are far from uniform, and the two models' far from each other.
    heat, rng = 0.5, np.random.default_rng(11)
    laws = []
    for model in pair:
        first = temperature(model(CONTEXT), heat)
        after = [temperature(model((*CONTEXT, x)), heat) for x in range(len(first))]
        laws.append((first, first @ np.array(after)))
    counts, kept = np.zeros((2, len(pair[0].vocabulary)), dtype=int), 0
    for _ in range(DRAWS):
        done = speculative_decode(
            *pair, CONTEXT, gamma=2, max_new_tokens=2, rng=rng, scheme=on_device(heat), shrink=False
        )
        counts[0, done.tokens[0]] += 1
        counts[1, done.tokens[1]] += 1
        kept += done.rounds[0].accepted > 0
    assert DRAWS / 10 < kept < DRAWS * 9 / 10
    for place in (0, 1):
        assert goodness_of_fit(counts[place], laws[0][place]).pvalue > ALPHA
        assert goodness_of_fit(counts[place], laws[1][place]).pvalue < ALPHA, "the draft's law would be seen"
    assert goodness_of_fit(counts[0], pair[0](CONTEXT)).pvalue < ALPHA, "another temperature would be seen"


def greedily(model, context, count, eos=None):
    """Text token by token, and the logits it was chosen by."""
    plain, text, rows = LanguageModel(model.model, model.tokenizer, cache=False), (), []
    while len(text) < count and text[-1:] != (eos,):
        rows.append(plain.logits(context + text)[0])
        text += (int(rows[-1].argmax()),)
    return text, rows


@pytest.mark.parametrize("kind", ["another", "lookup", "itself in bfloat16"])
def test_at_temperature_0_it_writes_what_is_written_greedily(pair, kind):
    target, draft = pair
    if kind == "lookup":
        draft = PromptLookup(len(target.vocabulary))
    elif kind == "itself in bfloat16":
        draft = LanguageModel(deepcopy(target.model).bfloat16(), target.tokenizer)
    due, _ = greedily(target, CONTEXT, 40)
    done = speculative_decode(
        target, draft, CONTEXT, gamma=3, max_new_tokens=40, rng=np.random.default_rng(1), scheme=on_device(0.0)
    )
    assert done.tokens == due
    passed, drafted = sum(one.accepted for one in done.rounds), sum(len(one.drafted) for one in done.rounds)
    assert (passed > 0 or kind == "another") and (passed < drafted or kind == "itself in bfloat16")


def test_of_equal_logits_the_first_is_taken(pair, monkeypatch):
    target, draft = pair
    tied = torch.zeros((2, 256))
    tied[:, [5, 9]] = 1.0
    monkeypatch.setattr(target, "rows", lambda context, drafts: tied)
    done = on_device(0)(target, draft, CONTEXT, 1, np.random.default_rng(0))
    assert done.accepted == 0 and done.tokens == (5,)


def test_smollm2_writes_what_it_writes_greedily():
    try:
        smollm2_folder()
    except WeightsMissing as error:
        pytest.skip(str(error))
    model = load_smollm2()
    prompt = model.encode("The capital of France is")
    due, rows = greedily(model, prompt, 24, model.eos)
    done = speculative_decode(
        model, smollm2_ngram(), prompt, gamma=3, max_new_tokens=24, rng=np.random.default_rng(0), eos=model.eos,
        scheme=on_device(0.0),
    )  # fmt: skip
    found = triage(due, done.tokens, rows, model.logits(prompt, due[:-1]))
    assert found is None or found.near_tie, found
    assert 0 < sum(one.accepted for one in done.rounds) < sum(len(one.drafted) for one in done.rounds)
    wrong = (*due[:2], int(rows[2].argsort()[-2]), *due[3:])
    assert not triage(due, wrong, rows, model.logits(prompt, due[:-1])).near_tie, "a wrong token would be seen"


def test_another_way_to_verify_may_be_given(pair):
    asked = []

    def verify(p, q, drafted, uniforms):
        asked.append((p.shape, q.shape, drafted.shape, uniforms.shape))
        return verify_blocks(p, q, drafted, uniforms)

    for gamma in (0, 2):
        on_device(verify=verify)(*pair, CONTEXT, gamma, np.random.default_rng(0))
    assert asked == [((1, 1, 256), (1, 0, 256), (1, 0), (1, 1)), ((1, 3, 256), (1, 2, 256), (1, 2), (1, 3))]


# ---- bad input


def test_a_target_that_is_reshaped_or_no_language_model_is_refused(pair):
    target, draft = pair
    for wrong, kind in ((Processed(target, temperature=0.5), "Processed"), (Chain([[0.5, 0.5]] * 2), "Chain")):
        with pytest.raises(TypeError, match=rf"^the target is of type {kind}, whose laws may be .*: give a LanguageMo"):
            on_device()(wrong, draft, CONTEXT, 2, np.random.default_rng(0))


@pytest.mark.parametrize("heat", [-1, float("nan"), float("inf"), 1e-9])
def test_a_temperature_out_of_range_is_named(heat):
    with pytest.raises(ValueError, match=rf"^temperature is {heat}: give 0, which is greedy, or a number of at least"):
        on_device(heat)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_named(share):
    with pytest.raises(ValueError, match=rf"^share is {share}: give a number from 0"):
        on_device(share=share)


def test_a_draft_of_another_vocabulary_is_named(pair):
    with pytest.raises(InvalidDistribution, match=r"^draft returns a law of shape \(255,\), where the target has 256"):
        on_device()(pair[0], PromptLookup(255), CONTEXT, 2, np.random.default_rng(0))
    with pytest.raises(InvalidDistribution, match=r"^draft sums to 2"):
        on_device()(pair[0], lambda context: np.full(256, 1 / 128), CONTEXT, 2, np.random.default_rng(0))


@pytest.mark.parametrize("heat", [0.0, 1.0])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_logit_that_is_not_finite_is_said_and_not_remembered(heat, which, wrong):
    models = [random_llama("tiny", dtype="float64", seed=seed) for seed in (0, 1)]
    scheme, rng = on_device(heat), np.random.default_rng(0)
    due = models[which](CONTEXT)
    head = models[which].model.get_output_embeddings().weight
    kept = head[7].clone()
    with torch.no_grad():
        head[7] = wrong
        length = len(CONTEXT) + (2 if which == 0 else 0)
        with pytest.raises(FloatingPointError, match=rf"^after {length} tokens a logit is NaN or infinite: load the"):
            scheme(*models, CONTEXT, 2, rng)
        head[7] = kept
    assert models[which]._held is None
    np.testing.assert_allclose(models[which](CONTEXT), due, rtol=0, atol=1e-12)
