"""A gallery of whole rounds, and of decoders: right on one token, perhaps, and wrong on the next.

A round is ``round_(target, draft, context, gamma, rng) -> tuple of tokens``, as `specdec_kit.blocks.speculative_round`;
a decoder takes what `specdec_kit.blocks.speculative_decode` takes. Each restates a public report on top of `propose`,
`score` and `verify`, which together are right: what it does instead stands in its own lines. Rounds differ in length,
so compare texts: ``exact_law(write, round_, target, draft, context, gamma, n)`` with the same of the target alone,
``exact_law(write, speculative_round, target, draft, context, 0, n)``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from specdec_kit import blocks
from specdec_kit.blocks import Decoded, Tokens, speculative_round
from specdec_kit.faults import Fault, _draw, _lacking, _residual, register

Drafts = list[tuple[int, Any]]

ROUNDS: dict[str, Fault] = {}
DECODERS: dict[str, Fault] = {}
_round, _decoder = partial(register, ROUNDS), partial(register, DECODERS)


def write(
    round_: Callable[..., Tokens], target: Any, draft: Any, context: Tokens, gamma: int, n: int, rng: Any
) -> Tokens:
    """First `n` tokens after `context`, over as many rounds as it takes."""
    text: Tokens = ()
    while len(text) < n:
        text += tuple(round_(target, draft, context + text, gamma, rng))
    return text[:n]


# ---- a round in three parts ----


def tokens(drafts: Drafts) -> Tokens:
    """The drafted tokens, without their laws."""
    return tuple(x for x, _ in drafts)


def propose(draft: Any, context: Tokens, gamma: int, rng: Any) -> Drafts:
    """γ drafts, each with the law that it was drawn from."""
    return list(zip(*blocks.propose(draft, context, gamma, lambda q: _draw(q, rng.random())), strict=True))


def score(target: Any, context: Tokens, drafts: Drafts) -> list[Any]:
    """The target's γ + 1 rows: its law at the place of each draft, and after the last."""
    return blocks.score(target, context, tokens(drafts), [q for _, q in drafts])


def verify(drafts: Drafts, rows: Sequence[Any], rng: Any, *, u: Sequence[Any] = (), lacking: Any = ()) -> Tokens:
    """Test each draft by its row; end with a residual draw, or with a bonus token.

    Where given, `u` holds the tests' uniforms, and `lacking` the rows that residuals are taken from.
    """
    for n, (x, q) in enumerate(drafts):
        if (u[n] if u else rng.random()) * q[x] < rows[n][x]:
            continue
        rest = _lacking((lacking or rows)[n], q)
        if rest.any():  # else p = q but for rounding
            return (*tokens(drafts[:n]), _draw(rest, rng.random()))
    return (*tokens(drafts), _draw(rows[-1], rng.random()))


# ---- the wrong row ----


@_round("wrong", "Rows are one late: each draft but the first is judged by the row before its own.",
        "a relative of mlx-node #11")  # fmt: skip
def rows_one_late(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    rows = score(target, context, drafts)
    return verify(drafts, [rows[0], *rows[:-1]], rng)


@_round("wrong", "Rows are one early: each draft is judged by the row after it.", "mlx-node #11")
def rows_one_early(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    rows = score(target, context, drafts)
    return verify(drafts, [*rows[1:], rows[-1]], rng)


@_round("wrong", "Keeps the first draft untested: verification begins with the row after it.", "lattice #243, #258")
def first_draft_untested(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    rows = score(target, context, drafts)
    return verify(drafts, [drafts[0][1], *rows[1:]], rng)


@_round("wrong", "The residual is taken from the row after that of the rejected draft.",
        "a relative of openvino.genai #4190")  # fmt: skip
def residual_of_next_row(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    rows = score(target, context, drafts)
    return verify(drafts, rows, rng, lacking=rows[1:])


@_round("wrong", "The bonus token is drawn from the row of the last draft.", "a relative of mlx-node #11")
def bonus_of_last_row(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    rows = score(target, context, drafts)
    return verify(drafts, [*rows[:-1], rows[-2]], rng)


@_round("wrong", "The bonus token is drawn from the draft.", "none")
def bonus_from_draft(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    rows = score(target, context, drafts)
    return verify(drafts, [*rows[:-1], draft(context + tokens(drafts))], rng)


@_round("wrong", "Draws the last token from a residual in any case: after γ accepted drafts, from that of the last.",
        "none")  # fmt: skip
def forced_residual(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    *rows, last = score(target, context, drafts)
    forced = _lacking(rows[-1], drafts[-1][1])
    return verify(drafts, [*rows, forced if forced.any() else last], rng)


@_round("wrong", "Min-p (half of the likeliest) is applied to the bonus token alone.", "vllm #42744, #42802")
def min_p_on_bonus_alone(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    *rows, last = score(target, context, drafts)
    return verify(drafts, [*rows, np.where(2 * last < max(last), 0, last)], rng)


# ---- what comes after a rejection ----


@_round("wrong", "Goes on after a rejection: the later drafts followed the rejected one.", "none")
def goes_on_after_rejection(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    *rows, last = score(target, context, drafts)
    kept = [
        x if rng.random() * q[x] < p[x] else _draw(_residual(p, q), rng.random())
        for (x, q), p in zip(drafts, rows, strict=True)
    ]
    return (*kept, _draw(last, rng.random()))


@_round("wrong", "Appends the bonus token after a rejection as well.", "none")
def bonus_after_rejection(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    rows = score(target, context, drafts)
    block = verify(drafts, rows, rng)
    return block if len(block) > gamma else (*block, _draw(rows[-1], rng.random()))


# ---- the declared q is not the law that the drafts were drawn from ----


def _beam(draft: Any, context: Tokens, gamma: int, width: int = 2) -> Tokens:
    """Likeliest block that a beam search finds."""
    beams: list[tuple[Tokens, Any]] = [((), 1)]
    for _ in range(gamma):
        longer = [((*xs, x), mass * q) for xs, mass in beams for x, q in enumerate(draft(context + xs))]
        beams = sorted(longer, key=lambda beam: -beam[1])[:width]
    return beams[0][0]


@_round("wrong", "Drafts by beam search, which has no chance in it, and declares q.", "ml-recurrent-drafter #6")
def beam_draft(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    xs = _beam(draft, context, gamma)
    drafts = [(x, np.asarray(draft(context + xs[:n]))) for n, x in enumerate(xs)]
    return verify(drafts, score(target, context, drafts), rng)


@_round("exact", "Drafts by beam search, and declares each token as certain.", "EAGLE #329; ml-recurrent-drafter #6")
def certain_beam(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    size = len(draft(context))
    drafts = [(x, np.where(np.arange(size) == x, 1.0, 0.0)) for x in _beam(draft, context, gamma)]
    return verify(drafts, score(target, context, drafts), rng)


# ---- randomness is reused ----


@_round("wrong", "Seeds again before each test: one uniform at every position.", "feifeibear/LLMSpeculativeSampling")
def one_uniform_for_all(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    return verify(drafts, score(target, context, drafts), rng, u=[rng.random()] * gamma)


# ---- state ----


class _Cache:
    """Tokens by position, in a cache that is not rolled back: a rejected draft stays where its successor belongs.

    It is emptied where a context is not what the last round left, so that every text starts afresh.
    """

    def __init__(self) -> None:
        self.held: Tokens = ()
        self.left: Tokens = ()
        self.seen: Tokens = ()

    def behind(self, model: Any, context: Tokens) -> Any:
        """`model` as it answers from the cache."""
        held = self.held if context == self.left else ()
        self.seen = (held + context[len(held) :])[: len(context)]
        return lambda longer: model(self.seen + longer[len(context) :])

    def fill(self, drafts: Drafts, left: Tokens) -> None:
        self.held, self.left = self.seen + tokens(drafts), left


_of_target, _of_draft = _Cache(), _Cache()


@_round("wrong", "The target's cache is not rolled back: the next round sees the rejected draft.",
        "huggingface/transformers #48280; mlx-lm #1109")  # fmt: skip
def stale_target_cache(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    block = verify(drafts, score(_of_target.behind(target, context), context, drafts), rng)
    _of_target.fill(drafts, context + block)
    return block


@_round("slow", "The draft's cache is not rolled back: the law is right, acceptance is lost.",
        "vllm #9730; mlxcel #994")  # fmt: skip
def stale_draft_cache(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(_of_draft.behind(draft, context), context, gamma, rng)
    block = verify(drafts, score(target, context, drafts), rng)
    _of_draft.fill(drafts, context + block)
    return block


# ---- looks wrong, has the right law ----


@_round("slow", "Leaves the bonus token out.", "none")
def no_bonus(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    return verify(drafts, score(target, context, drafts), rng)[: max(gamma, 1)]


@_round("slow", "Returns the first token of each block alone.", "none")
def first_token_alone(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    return verify(drafts, score(target, context, drafts), rng)[:1]


@_round("exact", "Tests the drafts after a rejection too, and counts them: the count is wrong, the text is not.",
        "vllm #2658; flashinfer #879")  # fmt: skip
def tests_every_draft(target: Any, draft: Any, context: Tokens, gamma: int, rng: Any) -> Tokens:
    drafts = propose(draft, context, gamma, rng)
    return verify(drafts, score(target, context, drafts), rng, u=[rng.random() for _ in drafts])


# ---- decoders: where a text ends ----


@_decoder("wrong", "Looks for EOS at the end of a block alone, and writes on after one inside it.",
          "huggingface/transformers #47912; koboldcpp #1276")  # fmt: skip
def writes_past_eos(
    target: Any, draft: Any, prompt: Tokens, *, gamma: int, max_new_tokens: int, rng: Any, eos: int | None = None
) -> Decoded:
    text: Tokens = ()
    while len(text) < max_new_tokens and text[-1:] != (eos,):
        text += speculative_round(target, draft, (*prompt, *text), gamma, rng)
    return Decoded(text[:max_new_tokens], ())


@_decoder("wrong", "Keeps the whole last block: more tokens than were asked for.", "lattice #242")
def writes_too_much(
    target: Any, draft: Any, prompt: Tokens, *, gamma: int, max_new_tokens: int, rng: Any, eos: int | None = None
) -> Decoded:
    text: Tokens = ()
    while len(text) < max_new_tokens and eos not in text:
        text += speculative_round(target, draft, (*prompt, *text), gamma, rng)
    return Decoded(text[: text.index(eos) + 1] if eos in text else text, ())
