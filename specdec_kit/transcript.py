"""Read a text as it was written: which tokens were accepted drafts, which were corrected, which are bonus tokens."""

import html
from collections.abc import Callable, Iterable, Sequence

from specdec_kit.acceptance import tally
from specdec_kit.blocks import Round

# Black on each tint has a contrast of over 14 : 1; the signs ✗ and + tell the same without colour.
_INK = "#000000"
_TINTS = {"rejected": "#FBE3B5", "corrected": "#BFE8DA", "bonus": "#D3ECF9"}
_SIGNS = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥"})


class Transcript:
    """A text with what became of each token, for a notebook and as plain text.

    Between marks spaces and line ends are shown by signs, and a token without a text of its own (a part of a character
    that later ones complete) as ∅.

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
        """For each token its text, its mark and, where it was corrected, the text of the draft that was rejected.

        A text is what the token adds to those before it, since a character may take several tokens; one after another
        they are the decoded text.
        """
        found: list[tuple[str, str, str]] = []
        tokens: list[int] = []
        text = ""
        for one in self.rounds:
            for n, (token, mark) in enumerate(zip(one.tokens, one.marks, strict=True)):
                draft = self.decode([*tokens, one.drafted[n]])[len(text) :] if mark == "corrected" else ""
                tokens.append(token)
                longer = self.decode(tokens).rstrip("\N{REPLACEMENT CHARACTER}")  # a character that is not yet whole
                found.append((longer[len(text) :], mark, draft))
                text = longer
        if found:  # it may never become whole
            word, mark, draft = found[-1]
            found[-1] = (word + self.decode(tokens)[len(text) :], mark, draft)
        return found

    def __repr__(self) -> str:
        text = "".join(
            word if mark == "accepted" else _bracketed(word, mark, draft) for word, mark, draft in self.pieces()
        )
        legend = _legend(lambda draft: _bracketed("b", "corrected" if draft else "bonus", draft))
        return f"{self.prompt}│{text}\n\n{legend}\n{self._sums()}"

    def _repr_html_(self) -> str:
        text = "".join(
            html.escape(word) if mark == "accepted" else _tinted(word, mark, draft)
            for word, mark, draft in self.pieces()
        )
        legend = _legend(lambda draft: _tinted("b", "corrected" if draft else "bonus", draft))
        # What stands in <pre> is left alone by MathJax, whatever dollar signs there are. Lines end between words, where
        # JupyterLab's own style breaks a <pre> anywhere.
        return (
            '<pre style="white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere; line-height: 1.6">'
            f"<b>{html.escape(self.prompt)}│</b>{text}</pre><p>{legend}<br>{self._sums()}</p>"
        )

    def _sums(self) -> str:
        sums, marks = tally(self.rounds), [mark for one in self.rounds for mark in one.marks]
        counts = ", ".join(f"{marks.count(mark)} {mark}" for mark in ("accepted", "corrected", "bonus"))
        mean = f", {sums.tokens_per_round:.2f} a round" if sums.rounds else ""
        return f"{sums.tokens} tokens in {sums.rounds} rounds{mean}: {counts}"


def _legend(marked: Callable[[str], str]) -> str:
    return f"plain: accepted draft; {marked('a')}: draft a rejected, b in its place; {marked('')}: bonus token b"


def _bracketed(word: str, mark: str, draft: str) -> str:
    """The token between marks; lines end where the token ends them, after the marks."""
    before = f"{_visible(draft)}✗" if mark == "corrected" else "+"
    return f"[{before}{_visible(word)}]" + "\n" * word.count("\n")


def _tinted(word: str, mark: str, draft: str) -> str:
    """The same on tints, with the rejected draft small, so that the text can be read past it.

    A line may end before a word that is marked, since the sign for its space is none to break at.
    """
    rejected, sign = "", "<small>+</small>"
    if mark == "corrected":
        rejected, sign = _span("del", "rejected", f"<small>{html.escape(_visible(draft))}✗</small>"), ""
    tinted = rejected + _span("ins", mark, sign + html.escape(_visible(word))) + "\n" * word.count("\n")
    return "<wbr>" * word.startswith(" ") + tinted


def _span(tag: str, mark: str, content: str) -> str:
    style = f"background: {_TINTS[mark]}; color: {_INK}; text-decoration: none"
    return f'<{tag} style="{style}" title="{mark}">{content}</{tag}>'


def _visible(text: str) -> str:
    return text.translate(_SIGNS) or "∅"
