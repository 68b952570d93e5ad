"""Read a text as it was written: which tokens were accepted drafts, which were corrected, which are bonus tokens."""

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from specdec_kit.acceptance import tally
from specdec_kit.blocks import Round

# A mark and a tint for each: black on these tints has a contrast of 14 : 1 or more, and the mark tells without colour.
_MARKS = {"accepted": ("", ""), "corrected": ("✗", "#BFE8DA"), "bonus": ("+", "#D3ECF9")}
_REJECTED = "#FBE3B5"
_LEGEND = "plain: accepted draft; [a✗b]: draft a rejected, b in its place; [+b]: bonus token"


class Transcript:
    """A text with what became of each token, for a notebook and as plain text.

    Parameters
    ----------
    rounds : sequence of Round
        As `specdec_kit.blocks.speculative_decode` returns them.
    decode : callable
        Text of a sequence of tokens.
    prompt : str
        Shown before the text.
    """

    def __init__(self, rounds: Iterable[Round], decode: Callable[[Sequence[int]], str], prompt: str = ""):
        self.rounds, self.decode, self.prompt = tuple(rounds), decode, prompt

    def pieces(self) -> list[tuple[str, str, str]]:
        """For each token its text, its mark and, where it was corrected, the text of the draft that was rejected."""
        found = []
        for one in self.rounds:
            for n, (token, mark) in enumerate(zip(one.tokens, one.marks, strict=True)):
                draft = self.decode([one.drafted[n]]) if mark == "corrected" else ""
                found.append((self.decode([token]), mark, draft))
        return found

    def __repr__(self) -> str:
        shown = {"corrected": "[{1}✗{0}]", "bonus": "[+{0}]"}
        text = "".join(
            word if mark == "accepted" else shown[mark].format(_visible(word), _visible(draft))
            for word, mark, draft in self.pieces()
        )
        return "\n".join([self.prompt + "│" + text, "", _LEGEND, self._sums()])

    def _repr_html_(self) -> str:
        parts = [f'<span style="font-weight: bold">{html.escape(self.prompt)}</span>']
        for word, mark, draft in self.pieces():
            sign, tint = _MARKS[mark]
            if mark == "accepted":
                parts.append(html.escape(word))
                continue
            if draft:
                parts.append(f'<del style="{_style(_REJECTED)}">{_inked(draft)}</del>')
            parts.append(
                f'<ins style="{_style(tint)}; text-decoration: none" title="{mark}">{sign}{_inked(word)}</ins>'
            )
        legend = (
            f'plain: accepted draft; <del style="{_style(_REJECTED)}">rejected draft</del> and '
            f'<ins style="{_style(_MARKS["corrected"][1])}; text-decoration: none">✗ what stands in its place</ins>; '
            f'<ins style="{_style(_MARKS["bonus"][1])}; text-decoration: none">+ bonus token</ins>'
        )
        text = '<div style="white-space: pre-wrap; font-family: monospace; line-height: 1.6">' + "".join(parts)
        return f"{text}</div><p>{legend}<br>{self._sums()}</p>"

    def _sums(self) -> str:
        sums, marks = tally(self.rounds), [mark for one in self.rounds for mark in one.marks]
        counts = ", ".join(f"{marks.count(mark)} {mark}" for mark in _MARKS)
        return f"{sums.tokens} tokens in {sums.rounds} rounds, {sums.tokens_per_round:.2f} a round: {counts}"


def _visible(text: str) -> str:
    """A space or a line's end, where it stands between marks, as a sign that can be seen."""
    return text.replace(" ", "␣").replace("\n", "⏎") if text.isspace() else text


def _inked(text: str) -> str:
    shown = html.escape(_visible(text))
    return shown + "\n" * text.count("\n") if text.isspace() else shown


def _style(tint: str) -> Any:
    return f"background: {tint}; color: #000"
