"""Random networks of real shapes, and acceptance that is set: exactly over chains, and counted over networks."""

import subprocess
import sys
from fractions import Fraction as F

import numpy as np
import pytest

from specdec_kit.blocks import speculative_decode, token_verification
from specdec_kit.distributions import overlap
from specdec_kit.law import exact_law
from specdec_kit.models import Chain
from specdec_kit.random_models import SIZES, random_llama, set_acceptance
from specdec_kit.schemes import block_verification, target_matching
from specdec_kit.torch_blocks import on_device, verify_blocks
from specdec_kit.uncertainty import goodness_of_fit

P, Q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(1, 10), F(2, 10), F(3, 10), F(4, 10)]
SHARES = [F(0), F(1, 4), F(1, 2), F(1)]


@pytest.fixture
def torch(one_thread):
    """PyTorch, where it is installed."""
    return one_thread


# ---- acceptance that is set, over chains


def always(law):
    return Chain([law] * len(law), law)


@pytest.mark.parametrize("share", SHARES)
def test_the_acceptance_is_the_share_and_the_overlap_of_what_is_left(share):
    # By hand: Σ min(p, q) = 0.6, so that m + (1 − m) 0.6 is 0.6, 0.7, 0.8 and 1.
    due = {F(0): F(6, 10), F(1, 4): F(7, 10), F(1, 2): F(8, 10), F(1): F(1)}[share]
    rounds = exact_law(set_acceptance(share), always(P), always(Q), (), 1)
    assert sum(one.accepted * mass for one, mass in rounds.items()) == due
    for token in range(4):
        first = sum(mass for one, mass in rounds.items() if one.tokens[0] == token)
        assert first == share * Q[token] + (1 - share) * P[token], "verified against the mixture"
        bonus = sum(mass for one, mass in rounds.items() if len(one.tokens) == 2 and one.tokens[1] == token)
        assert bonus == due * P[token], "after the last draft stands the target itself"


@pytest.mark.parametrize("share", SHARES)
def test_at_each_place_it_is_the_overlap_there(share):
    target = Chain([[F(1, 2), F(1, 4), F(1, 4)], [F(1, 4), F(1, 4), F(1, 2)], [F(1, 3), F(1, 2), F(1, 6)]])
    draft = Chain([[F(1, 4), F(1, 8), F(5, 8)], [F(1, 2), F(1, 8), F(3, 8)], [F(1, 6), F(1, 6), F(2, 3)]])
    rounds = exact_law(set_acceptance(share), target, draft, (0,), 2)
    # By hand: the overlaps after 0, 1, 2 are 5/8, 3/4 and 1/2; what passes after 0 has the law m q + (1 − m) min(p, q).
    overlaps = [F(5, 8), F(3, 4), F(1, 2)]
    kept = [share * q + (1 - share) * min(p, q) for p, q in zip(target((0,)), draft((0,)), strict=True)]
    one = share + (1 - share) * overlaps[0]
    assert sum(kept) == one
    both = sum(mass * (share + (1 - share) * other) for mass, other in zip(kept, overlaps, strict=True))
    assert sum(mass for done, mass in rounds.items() if done.accepted >= 1) == one
    assert sum(mass for done, mass in rounds.items() if done.accepted == 2) == both


def test_share_0_is_the_target_and_a_float_will_do():
    plain = exact_law(token_verification, always(P), always(Q), (), 2)
    assert exact_law(set_acceptance(0), always(P), always(Q), (), 2) == plain
    assert exact_law(set_acceptance(0.25), always(P), always(Q), (), 1) == exact_law(
        set_acceptance(F(1, 4)), always(P), always(Q), (), 1
    )
    floats = [always(np.array(law, dtype=float)) for law in (P, Q)]
    for share in (0.3, F(3, 10)):
        done = speculative_decode(
            *floats, (), gamma=3, max_new_tokens=50, rng=np.random.default_rng(0), scheme=set_acceptance(share)
        )
        assert len(done.tokens) == 50
    assert set_acceptance(0.5)(*floats, (), 0, np.random.default_rng(0)).drafted == ()


@pytest.mark.parametrize("scheme", [target_matching, block_verification])
def test_other_schemes_verify_against_the_mixture_too(scheme):
    rounds = exact_law(set_acceptance(F(1, 2), scheme), always(P), always(Q), (), 1)
    for token in range(4):
        first = sum(mass for one, mass in rounds.items() if one.tokens[0] == token)
        assert first == (P[token] + Q[token]) / 2


def test_laws_without_a_token_in_common_agree_by_the_share_alone():
    apart = always([F(1), F(0)]), always([F(0), F(1)])
    rounds = exact_law(set_acceptance(F(1, 3)), *apart, (), 1)
    assert sum(one.accepted * mass for one, mass in rounds.items()) == F(1, 3)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_named(share):
    with pytest.raises(ValueError, match=rf"^share is {share}: give a number from 0, the target as it is, to 1, which"):
        set_acceptance(share)


# ---- and over networks

CONTEXT = (17, 4, 200, 31)


@pytest.fixture
def pair(torch):
    return tuple(random_llama("tiny", dtype="float64", seed=seed) for seed in (0, 1))


@pytest.mark.models
@pytest.mark.parametrize("share", [0.0, 0.3, F(3, 4), 1.0])
def test_on_a_device_the_drafted_places_are_mixed_and_the_last_is_not(pair, share):
    target, draft = pair
    seen = []

    def verify(*given):
        seen.append([tensor.numpy() for tensor in given[:2]])
        return verify_blocks(*given)

    done = on_device(share=share, verify=verify)(target, draft, CONTEXT, 2, np.random.default_rng(0))
    (p,), (q,) = seen[0]
    own = target.score(CONTEXT, done.drafted)
    laws = np.array([draft(CONTEXT + done.drafted[:n]) for n in range(2)])
    np.testing.assert_allclose(q, laws, rtol=0, atol=1e-12)
    np.testing.assert_allclose(p[:2], float(share) * laws + float(1 - share) * own[:2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(p[2], own[2], rtol=0, atol=1e-12)
    assert np.abs(own[:2] - laws).sum() > 0.1, "no mixing would be seen"


@pytest.mark.models
@pytest.mark.parametrize("make", [lambda share: on_device(share=share), set_acceptance])
def test_the_measured_acceptance_is_the_one_that_was_set(pair, make):
    share, draws, rng = 0.5, 1_000, np.random.default_rng(5)
    common = float(overlap(*(model(CONTEXT) for model in pair)))
    passed = sum(make(share)(*pair, CONTEXT, 1, rng).accepted for _ in range(draws))

    def pvalue(alpha):
        return goodness_of_fit([passed, draws - passed], [alpha, 1 - alpha]).pvalue

    # False alarm: 10⁻⁶. The overlap is near 0.45, and the acceptance near 0.73.
    assert pvalue(share + (1 - share) * common) > 1e-6
    assert pvalue(common) < 1e-6 and pvalue(share) < 1e-6, "no mixing, and the share alone, would be seen"


@pytest.mark.models
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("make", [lambda share: on_device(share=share), set_acceptance])
def test_share_1_accepts_all(torch, dtype, make):
    target, draft = (random_llama("tiny", dtype=dtype, seed=seed) for seed in (0, 1))
    done = speculative_decode(
        target, draft, CONTEXT, gamma=3, max_new_tokens=100, rng=np.random.default_rng(0), scheme=make(1)
    )
    assert all(one.accepted == len(one.drafted) for one in done.rounds) and len(done.rounds) == 25


# ---- random networks


@pytest.mark.models
@pytest.mark.parametrize(
    ("size", "published"),
    [("135M", 134_515_008), ("1B", 1_235_814_400), ("3B", 3_212_749_824), ("8B", 8_030_261_248), ("tiny", None)],
)
def test_each_size_has_as_many_weights_as_the_published_model(torch, monkeypatch, size, published):
    import transformers

    found = []

    class OnPaper(transformers.AutoModelForCausalLM):
        """Builds without numbers, on the device "meta"."""

        @classmethod
        def from_config(cls, config, **options):
            with torch.device("meta"):
                found.append(super().from_config(config, **options))
            return found[0]

    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *shape, **options: empty(*shape, **options | {"device": "meta"}))
    monkeypatch.setattr(transformers, "AutoModelForCausalLM", OnPaper)
    model = random_llama(size, dtype="bfloat16")
    assert sum(weights.numel() for weights in found[0].parameters()) == SIZES[size].parameters
    assert published in (SIZES[size].parameters, None)
    assert len(model.vocabulary) == SIZES[size].vocabulary and model.model.dtype == torch.bfloat16
    assert all(weights.dtype == torch.bfloat16 for weights in found[0].parameters())


def test_the_sizes_stand_in_order():
    counts = [shape.parameters for shape in SIZES.values()]
    assert counts == sorted(counts) and len(set(counts)) == len(counts)


@pytest.mark.models
def test_the_seed_gives_the_weights_and_nothing_else_does(torch):
    torch.manual_seed(3)
    due = torch.rand(3)
    torch.manual_seed(3)
    first, again, other = (random_llama("tiny", seed=seed).logits(CONTEXT) for seed in (7, 7, 8))
    assert torch.equal(torch.rand(3), due), "PyTorch's own random numbers go on as if nothing had been"
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.5
    # The logits have a standard deviation near 1, so that the laws are neither flat nor certain.
    assert 0.8 < first.std() < 1.25


@pytest.mark.models
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_logits_are_finite_in_each_dtype(torch, dtype):
    model = random_llama("tiny", dtype=dtype)
    assert repr(model) == f"LanguageModel(LlamaForCausalLM, 256 tokens, {dtype} on cpu)"
    assert 0.8 < model.logits(CONTEXT, (9,) * 60).std() < 1.25
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.models
def test_a_text_is_numbers_and_none_ends_it(torch):
    model = random_llama("tiny")
    assert model.vocabulary == tuple(map(str, range(256))) and model.eos is None
    assert model.encode("3 255 0") == (3, 255, 0) and model.decode((3, 255, 0)) == "3 255 0"


@pytest.mark.models
def test_what_there_is_not_is_named(torch):
    with pytest.raises(ValueError, match=r"^size is '70B': choose one of tiny, 135M, 1B, 3B, 8B$"):
        random_llama("70B")
    with pytest.raises(ValueError, match=r"^dtype is 'half': choose one of float32"):
        random_llama("tiny", dtype="half")
    with pytest.raises(ValueError, match=r"^device is 'gpu': PyTorch knows no such device"):
        random_llama("tiny", device="gpu")


@pytest.mark.models
@pytest.mark.parametrize("where", ["asked for", "made"])
@pytest.mark.parametrize(
    ("size", "dtype", "said"),
    [("8B", "float32", "32.1 GB in float32, more than cpu has left: choose '3B' or dtype='bfloat16'"),
     ("1B", "bfloat16", "2.5 GB in bfloat16, more than cpu has left: choose '135M'"),
     ("tiny", "float16", "0.0 GB in float16, more than cpu has left: choose another device")],
)  # fmt: skip
def test_a_device_that_is_too_small_is_said_with_the_next_smaller_size(torch, monkeypatch, where, size, dtype, said):
    import transformers

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 224.00 MiB.")

    monkeypatch.setattr(torch, "empty", full if where == "asked for" else lambda *_, **__: None)
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_config", full)
    with pytest.raises(MemoryError) as caught:
        random_llama(size, dtype=dtype)
    assert str(caught.value) == f"size is {size!r}, whose weights take {said}"
    assert caught.value.__context__ is None, "PyTorch's error would keep what was made so far"


@pytest.mark.models
def test_the_memory_of_the_cpu_is_asked_for_first_and_another_error_stays_itself(torch, monkeypatch):
    import transformers

    from specdec_kit.random_models import Shape

    monkeypatch.setitem(SIZES, "vast", Shape(2**20, 1000, 2**13, 8, 2**22, 2**20, False))
    with pytest.raises(MemoryError, match=r"^size is 'vast', .*: choose '8B' or dtype='bfloat16'$"):
        random_llama("vast")

    def broken(*_, **__):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_config", broken)
    with pytest.raises(RuntimeError, match=r"^shapes do not fit$"):
        random_llama("tiny")


@pytest.mark.parametrize(
    "code", ["random_models import random_llama as f; f('tiny')", "torch_blocks import *; on_device()"]
)
def test_without_pytorch_it_says_what_brings_it(code):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['torch'] = None; from specdec_kit.{code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == (
        'ModuleNotFoundError: torch is not installed: `pip install "specdec-kit[models]"` brings it'
    )
