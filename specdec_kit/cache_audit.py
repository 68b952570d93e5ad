"""The audit of a model that keeps a cache: it must answer as if it had none."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from specdec_kit.battery import Check, Interrupted, Report, name_of, sentence
from specdec_kit.waiting import progress_bar
from specdec_kit.watch import Trouble, Watch

Context = tuple[int, ...]

_ADVICE = {
    "the text grows": "It is wrong where the text only grows: look at the positions, and at the mask, of new tokens.",
    "tokens are taken back": (
        "After tokens were taken back it answers as if they were still there: cut the cache to the part that the new "
        "context shares with the old one."
    ),
    "another text": "It answers for a text that came before: clear the cache where the context does not go on from it.",
    "the same again": "Asked again, it answers otherwise: the same context must give the same law.",
    "a changed answer": "It hands out its own cache, which the caller then changes: return a copy.",
}


def walk(vocabulary: int, steps: int, rng: Any) -> Iterator[tuple[str, Context]]:
    """Contexts as decoding asks for them: they grow, are taken back, start anew, or stay; each with what happened."""
    texts: list[Context] = [(0,)]
    text = texts[0]
    for _ in range(steps):
        what = ("the text grows", "tokens are taken back", "another text", "the same again")[int(rng.random() * 4)]
        longer = tuple(int(x) for x in np.floor(rng.random(1 + int(rng.random() * 4)) * vocabulary))
        if what == "the text grows":
            text += longer
        elif what == "tokens are taken back":
            # Some tokens go, and others come, so that the length may well stay the same.
            kept = max(1, len(text) - 1 - int(rng.random() * 4))
            text = (*text[:kept], (text[kept] + 1) % vocabulary, *longer) if kept < len(text) else text + longer
        elif what == "another text":
            texts.append(text)
            text = longer if rng.random() < 0.5 else texts[int(rng.random() * len(texts))]
        yield what, text


class CacheAudit:
    """Fills `report`."""

    def __init__(self, model: Any, plain: Any, vocabulary: int, atol: float, steps: int, seed: int, patience: float):
        self.report = Report(name_of(model), alpha=1e-6)
        off: dict[str, Check] = {}
        asked: set[str] = set()
        rng = np.random.default_rng(seed)
        plan = [*walk(vocabulary, steps, rng), ("a changed answer", ())]
        bar = progress_bar(f"audit of {self.report.name}, contexts", len(plan))
        try:
            with Watch(model, patience) as self.call, bar as gone_on:
                for what, context in plan:
                    gone_on()
                    if what in off:
                        continue
                    try:
                        if what == "a changed answer":
                            context = tuple(int(x) for x in rng.random(6) * vocabulary)
                            self.law(context, vocabulary)[:] = 0.0
                        seen, due = self.law(context, vocabulary), np.asarray(plain(context), dtype=float)
                    except Trouble as trouble:
                        off[what] = Check("cache", what, False, advice=sentence(str(trouble)))
                        continue
                    asked.add(what)
                    tv = float(np.abs(seen - due).sum() / 2)
                    if not tv <= atol:
                        case = f"{what}, {len(context)} tokens"
                        off[what] = Check("cache", case, False, tv=tv, pvalue="exact", advice=_ADVICE[what])
        except KeyboardInterrupt:
            raise Interrupted(self.report) from None
        finally:  # what was seen is kept, whatever comes between
            passed = {what: Check("cache", what, True, pvalue="exact") for what in _ADVICE if what in asked}
            self.report.checks = list((passed | off).values())

    def law(self, context: Context, vocabulary: int) -> Any:
        law = self.call(context)
        if np.shape(law) != (vocabulary,):
            raise Trouble(f"it returns a law of shape {np.shape(law)}: {vocabulary} probabilities are due")
        return law if isinstance(law, np.ndarray) else np.asarray(law, dtype=float)


def audit_cache(
    model: Callable[[Context], Any],
    plain: Callable[[Context], Any],
    *,
    vocabulary: int,
    atol: float = 1e-6,
    steps: int = 400,
    seed: int = 0,
    patience: float = 30.0,
) -> Report:
    """Audit a model that keeps a cache against the same model without one.

    Contexts come as decoding asks for them: the text grows, rejected tokens are taken back and others come in their
    place, another text begins, the same context comes again.

    Parameters
    ----------
    model, plain : callable
        ``model(context) -> law`` on a tuple of token ids, with the cache and without.
    vocabulary : int
        Number of tokens.
    atol : float
        Total variation that passes; a model in float32 may need 1e-3.
    steps : int
        How many contexts to ask for.
    seed : int
        Seed of the contexts.
    patience : float
        Seconds after which one call counts as never ending.

    Returns
    -------
    Report
    """
    return CacheAudit(model, plain, vocabulary, atol, steps, seed, patience).report
