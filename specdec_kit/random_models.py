"""Networks of a real model's shape with random weights: their time is that of the real one, and their text is noise.

How long a pass takes depends on the shapes of its matrices and not on the numbers in them. So without a download the
cost of a target and a draft of any size can be measured. What random weights cannot give is the draft's acceptance, for
the two know nothing of each other: `set_acceptance` sets it.
"""

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.blocks import Model, Round, Tokens, score, token_verification
from specdec_kit.distributions import Law, as_law
from specdec_kit.extras import needed
from specdec_kit.language_models import LanguageModel, device_and_dtype
from specdec_kit.torch_blocks import check_share


class Shape(NamedTuple):
    """What the matrices of a model of Llama's kind are as large as."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    tied: bool
    """Whether the first matrix and the last are one."""

    @property
    def parameters(self) -> int:
        """How many weights there are."""
        keys = self.hidden // self.heads * self.kv_heads
        layer = self.hidden * (2 * self.hidden + 2 * keys + 3 * self.intermediate + 2)
        return (1 if self.tied else 2) * self.vocabulary * self.hidden + self.layers * layer + self.hidden


# From the smallest to the largest. Each but the first has the shape that the config.json of a published model gives.
SIZES = {
    "tiny": Shape(64, 4, 4, 2, 192, 256, True),  # for tests
    "135M": Shape(576, 30, 9, 3, 1536, 49_152, True),  # HuggingFaceTB/SmolLM2-135M
    "1B": Shape(2048, 16, 32, 8, 8192, 128_256, True),  # meta-llama/Llama-3.2-1B
    "3B": Shape(3072, 28, 24, 8, 8192, 128_256, True),  # meta-llama/Llama-3.2-3B
    "8B": Shape(4096, 32, 32, 8, 14_336, 128_256, False),  # meta-llama/Llama-3.1-8B
}


def random_llama(size: str, *, device: str | None = None, dtype: str = "float32", seed: int = 0) -> LanguageModel:
    """Model of Llama's kind with random weights, made where it is to run; its text means nothing.

    Parameters
    ----------
    size : str
        One of `SIZES`: "tiny", "135M", "1B", "3B", "8B".
    device : str, optional
        "cpu" if not given; "cuda" is the first graphics card of NVIDIA's.
    dtype : str
        What it computes in: "float32", "float64", "bfloat16", "float16".
    seed : int
        Of the weights, which are the same again in the same dtype on a device of the same kind.

    Returns
    -------
    LanguageModel
        Its tokens are "0", "1", …; none ends a text. It reads 8,192 tokens at most.

    Raises
    ------
    ModuleNotFoundError
        Where the extra ``models`` is not installed.
    ValueError
        Where there is no such size, device or dtype.
    MemoryError
        Where the device is too small.

    Notes
    -----
    The weights are normal with the standard deviation 1 / √hidden, so that the logits have one near 1 at every size:
    finite in each dtype, and laws that differ from model to model.
    """
    with needed("models"):
        import torch
        from transformers import AutoModelForCausalLM, LlamaConfig
    if size not in SIZES:
        raise ValueError(f"size is {size!r}: choose one of {', '.join(SIZES)}")
    shape = SIZES[size]
    place, kind = device_and_dtype(device, dtype)
    config = LlamaConfig(
        hidden_size=shape.hidden, num_hidden_layers=shape.layers, num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads, intermediate_size=shape.intermediate, vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied, max_position_embeddings=8192, initializer_range=shape.hidden**-0.5,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    bytes_needed = shape.parameters * kind.itemsize
    try:
        # Asked for in one piece first, which a device that is too small refuses at once.
        torch.empty(bytes_needed, dtype=torch.uint8, device=place)
        with torch.random.fork_rng([place] if place.type == "cuda" else []), place:
            torch.manual_seed(seed)
            return LanguageModel(AutoModelForCausalLM.from_config(config, dtype=kind), _numbers(shape.vocabulary))
    except RuntimeError as error:
        if not (isinstance(error, torch.OutOfMemoryError) or "memory" in str(error)):
            raise
    # Raised out here, for PyTorch's error would keep what was made so far, and no smaller model would fit beside it.
    smaller = [name for name, other in SIZES.items() if other.parameters < shape.parameters][-1:]
    remedy = " or ".join([*map(repr, smaller), *(["dtype='bfloat16'"] if kind.itemsize > 2 else [])])
    raise MemoryError(
        f"size is {size!r}, whose weights take {bytes_needed / 1e9:.1f} GB in {dtype}, more than {place} has left: "
        f"choose {remedy or 'another device'}"
    )


def _numbers(size: int) -> Any:
    """A tokenizer whose tokens are the numbers below `size`, with spaces between them."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(WordLevel({str(token): token for token in range(size)}))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def set_acceptance(
    share: Any, scheme: Callable[[Model, Model, Tokens, int, Any], Round] = token_verification
) -> Callable[[Model, Model, Tokens, int, Any], Round]:
    """Scheme whose acceptance is set: at the drafted places the block is verified against m q + (1 − m) p.

    Both networks run as ever, so that their time is honest; the acceptance is chosen, and the text is not the target's.
    With m = `share`, a draft passes with the chance

        Σ min(m q + (1 − m) p, q) = Σ (m q + (1 − m) min(p, q)) = m + (1 − m) Σ min(p, q),

    so at least with m, and with m alone where the two laws have no token in common. The last row of a block, which no
    draft was drawn for, is p itself. It is a scheme, and no model, because only within a round are p and q both known.

    Parameters
    ----------
    share : float or Fraction
        m, from 0 to 1.
    scheme : callable
        How the block is then verified: `specdec_kit.blocks.token_verification`, or one of `specdec_kit.schemes`. On a
        device use ``on_device(share=…)`` of `specdec_kit.torch_blocks` instead.

    Returns
    -------
    callable
        For the parameter `scheme` of `specdec_kit.blocks.speculative_decode`.

    Raises
    ------
    ValueError
        Where `share` is out of its range.
    """
    check_share(share)

    def mixed(target: Model, draft: Model, context: Tokens, gamma: int, rng: Any) -> Round:
        laws: list[Law] = []

        def remembered(text: Tokens) -> Law:
            laws.append(as_law(draft(text), "draft"))
            return laws[-1]

        def rows(text: Tokens, drafted: Tokens) -> Law:
            p = score(target, text, drafted, laws)
            m = Fraction(share) if p[0].dtype == object else float(share)
            return np.array([m * q + (1 - m) * row for row, q in zip(p, laws, strict=False)] + p[len(laws) :])

        mix: Any = SimpleNamespace(score=rows)
        return scheme(mix, remembered, context, gamma, rng)

    return mixed
