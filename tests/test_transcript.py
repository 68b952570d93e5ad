"""Transcripts: every token with its mark, in plain text and in HTML, and the text itself left as it is."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_kit import transcript
from specdec_kit.blocks import Round, speculative_decode
from specdec_kit.models import shakespeare
from specdec_kit.transcript import Transcript

LETTERS = "abc \n<&[$\t"


def spelled(tokens):
    return "".join(LETTERS[token] for token in tokens)


def in_bytes(tokens):
    """Tokens that are bytes, of which a character may take several."""
    return bytes(tokens).decode(errors="replace")


ROUNDS = (
    Round((0, 1), 2, (0, 1, 2), "all accepted"),  # ab, and c as a bonus
    Round((3, 0), 0, (4,), "rejection"),  # a space rejected, a new line in its place
    Round((1, 5), 1, (1, 6), "rejection"),  # b, then < rejected for &
    Round((), 0, (3,), "all accepted"),  # no draft: a space as a bonus
    Round((0, 0, 0), 3, (0, 0), "cap"),  # cut: no token of the target's
    Round((2, 1, 0), 2, (2,), "end of sequence"),
)
TEXT = "abc\nb& aac"

MARKED = re.compile(r"\[(?:[^✗\]]*✗|\+)([^\]]*)\](\n*)")


def without_marks(shown):
    """Text of what `Transcript.__repr__` shows, of tokens that are no brackets."""

    def unmarked(found):
        word = found[1].translate({ord("␣"): " ", ord("⏎"): "\n", ord("⇥"): "\t", ord("∅"): ""})
        return word + found[2][word.count("\n") :]

    return MARKED.sub(unmarked, shown)


class Page(HTMLParser):
    """What an HTML output holds: its tags in order, and each text with the tags around it."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts, self.styles = [], [], [], []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.styles.append(dict(attrs).get("style", ""))
        if tag not in ("br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def text(self):
        """The decoded text: all in <pre>, but for the prompt, rejected drafts and signs."""
        kept, lines = "", 0
        for around, data in self.texts:
            if around[0] != "pre" or {"b", "del", "small"} & {*around}:
                continue
            if "ins" in around:
                data = data.translate({ord("␣"): " ", ord("⏎"): "\n", ord("⇥"): "\t", ord("∅"): ""})
                lines = data.count("\n")
            else:  # a line that a mark ends goes on after it
                assert data[:lines] == "\n" * lines
                data, lines = data[lines:], 0
            kept += data
        return kept


def shown_text(made):
    return repr(made).split("│", 1)[1].rsplit("\n\n", 1)[0]


# --- by hand


def test_a_transcript_by_hand():
    made = Transcript(ROUNDS, spelled, "say: ")
    assert made.pieces() == [
        ("a", "accepted", ""), ("b", "accepted", ""), ("c", "bonus", ""), ("\n", "corrected", " "),
        ("b", "accepted", ""), ("&", "corrected", "<"), (" ", "bonus", ""),
        ("a", "accepted", ""), ("a", "accepted", ""), ("c", "accepted", ""),
    ]  # fmt: skip
    assert repr(made).splitlines() == [
        "say: │ab[+c][␣✗⏎]",
        "b[<✗&][+␣]aac",
        "",
        "plain: accepted draft; [a✗b]: draft a rejected, b in its place; [+b]: bonus token b",
        "10 tokens in 6 rounds, 1.67 a round: 6 accepted, 2 corrected, 2 bonus",
    ]


def test_the_page_by_hand():
    page = Page(Transcript(ROUNDS, spelled, "say: ")._repr_html_())
    pre = [(around[-1], data) for around, data in page.texts if around[0] == "pre"]
    assert pre == [
        ("b", "say: │"), ("pre", "ab"), ("small", "+"), ("ins", "c"), ("small", "␣✗"), ("ins", "⏎"), ("pre", "\nb"),
        ("small", "<✗"), ("ins", "&"), ("small", "+"), ("ins", "␣"), ("pre", "aac"),
    ]  # fmt: skip
    below = "".join(data for around, data in page.texts if around[0] == "p")
    assert below == (
        "plain: accepted draft; a✗b: draft a rejected, b in its place; +b: bonus token b"
        "10 tokens in 6 rounds, 1.67 a round: 6 accepted, 2 corrected, 2 bonus"
    )


def test_on_the_page_lines_break_between_words():
    """JupyterLab's own style has a <pre> break anywhere, and a marked word no space before it."""
    words = (" one", " two", "ly", " three")

    def decode(tokens):
        return "".join(words[token] for token in tokens)

    shown = Transcript([Round((0,), 0, (1,), "cap"), Round((2,), 0, (2,), ""), Round((), 0, (3,), "")], decode)
    source = shown._repr_html_()
    assert "word-break: normal" in Page(source).styles[0]
    assert source.count("<wbr>") == 2 and "<wbr><del" in source
    assert Page(source).text() == " twoly three"


def test_no_rounds_are_an_empty_text():
    made = Transcript([], spelled, "say:")
    assert made.pieces() == []
    assert repr(made).startswith("say:│\n\nplain: ")
    assert repr(made).endswith("\n0 tokens in 0 rounds: 0 accepted, 0 corrected, 0 bonus")
    assert Page(made._repr_html_()).text() == ""


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (Round((), 0, (0,), "all accepted"), "[+a]"),
        (Round((0, 1), 2, (0, 1), "cap"), "ab"),
        (Round((0, 1), 1, (0,), "cap"), "a"),
        (Round((0, 1), 1, (0, 2), "end of sequence"), "a[b✗c]"),
        (Round((0, 1), 2, (0, 1, 2), "end of sequence"), "ab[+c]"),
        (Round((0, 1), 0, (2,), "cap"), "[a✗c]"),
    ],
)
def test_a_round_that_was_cut_shows_what_was_kept(one, shown):
    assert shown_text(Transcript([one], spelled)) == shown


# --- any rounds


@st.composite
def rounds(draw, size):
    token = st.integers(0, size - 1)
    found = []
    for _ in range(draw(st.integers(0, 5))):
        drafted = tuple(draw(st.lists(token, max_size=4)))
        accepted = draw(st.integers(0, len(drafted)))
        tokens = (*drafted[:accepted], draw(token))
        found.append(Round(drafted, accepted, tokens[: draw(st.integers(1, len(tokens)))], ""))
    return found


@given(rounds(len(LETTERS)), st.text(LETTERS, max_size=5))
def test_every_token_comes_once_and_the_text_is_the_decoded_text(made_of, prompt):
    made, tokens = Transcript(made_of, spelled, prompt), [token for one in made_of for token in one.tokens]
    assert [word for word, _, _ in made.pieces()] == [LETTERS[token] for token in tokens]
    assert [mark for _, mark, _ in made.pieces()] == [mark for one in made_of for mark in one.marks]
    page = Page(made._repr_html_())
    assert page.text() == spelled(tokens)
    assert page.texts[0] == (("pre", "b"), prompt + "│")


@given(rounds(LETTERS.index("[")))
def test_without_its_marks_the_plain_text_is_the_decoded_text(made_of):
    made = Transcript(made_of, spelled)
    assert without_marks(shown_text(made)) == spelled(token for one in made_of for token in one.tokens)


@given(rounds(256))
def test_characters_of_several_tokens_come_out_whole(made_of):
    made, tokens = Transcript(made_of, in_bytes), [token for one in made_of for token in one.tokens]
    assert "".join(word for word, _, _ in made.pieces()) == in_bytes(tokens)


def test_a_character_of_two_tokens_stands_with_the_second():
    first, second = "é".encode()
    made = Transcript([Round((first, 65), 1, (first, second), "rejection"), Round((), 0, (first,), "cap")], in_bytes)
    assert made.pieces() == [("", "accepted", ""), ("é", "corrected", "\ufffdA"), ("\ufffd", "bonus", "")]
    made = Transcript([Round((), 0, (byte,), "") for byte in (first, second)], in_bytes)
    assert shown_text(made) == "[+∅][+é]"


def test_a_decoder_that_strips_the_first_space_loses_no_other():
    made = Transcript([Round((3, 3, 0), 2, (3, 3, 1), "")], lambda tokens: spelled(tokens).removeprefix(" "))
    assert [word for word, _, _ in made.pieces()] == ["", " ", "b"]


def test_a_text_of_a_model_is_the_same_each_time():
    target, draft = shakespeare(3), shakespeare(1)
    written = speculative_decode(
        target, draft, target.encode("to be"), gamma=3, max_new_tokens=60, rng=np.random.default_rng(1)
    )
    made, again = (Transcript(iter(written.rounds), target.decode, "to be") for _ in range(2))
    assert repr(made) == repr(again) and made._repr_html_() == again._repr_html_()
    assert without_marks(shown_text(made)) == target.decode(written.tokens)
    assert Page(made._repr_html_()).text() == target.decode(written.tokens)


# --- HTML, for every reader


def test_no_tag_and_no_formula_comes_from_a_text():
    words = ["<script>alert(1)</script>", "</pre><b>", "&amp;", '" onclick="x', "$x$"]

    def decode(tokens):
        return "".join(words[token] for token in tokens)

    made_of = [Round((0, 1, 2, 3), 4, (0, 1, 2, 3, 4), ""), Round((0,), 0, (1,), ""), Round((4,), 0, (2,), "")]
    page = Page(Transcript(made_of, decode, "<i>$")._repr_html_())
    assert {*page.tags} == {"pre", "b", "del", "ins", "small", "p", "br"}
    assert page.text() == decode((0, 1, 2, 3, 4, 1, 2))
    assert page.texts[0][1] == "<i>$│"
    # JupyterLab looks for formulas everywhere but in <pre> and the like.
    assert not any("$" in data for around, data in page.texts if "pre" not in around)


def test_nothing_is_told_by_colour_alone():
    source = Transcript(ROUNDS, spelled)._repr_html_()
    bare = re.sub(r"<[^>]*>", "", source.split("</pre>")[0])
    for sign in ("+c", "␣✗⏎", "&lt;✗&amp;", "+␣"):
        assert sign in bare
    tints = re.findall(r'<(?:ins|del) style="background: (#\w{6})[^"]*" title="(\w+)">', source)
    assert {(name, tint) for tint, name in tints} == {*transcript._TINTS.items()}


def luminance(color):
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_ink_stands_out_from_every_tint():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    styles = [style for style in Page(Transcript(ROUNDS, spelled)._repr_html_()).styles if "background" in style]
    assert styles
    for style in styles:
        ground, ink = re.fullmatch(r"background: (#\w{6}); color: (#\w{6}); text-decoration: none", style).groups()
        assert contrast(ink, ground) >= 7
    assert min(contrast("#000000", tint) for tint in transcript._TINTS.values()) > 14
