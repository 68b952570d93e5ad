"""Prompts: what copies itself can be copied, and what is open cannot."""

import re

import pytest

from specdec_kit.drafts import PromptLookup
from specdec_kit.workloads import COPY_HEAVY, OPEN_ENDED, WORKLOADS

LOOKUP = PromptLookup(128, longest=10)  # of characters: about three tokens of a language model


def right(prompt, last=60):
    """How many of the last characters are those that the lookup proposes, and of how many."""
    tokens = [ord(char) for char in prompt]
    places = range(max(1, len(tokens) - last), len(tokens))
    return sum(LOOKUP.proposal(tokens[:n]) == tokens[n] for n in places), len(places)


def times_before(prompt):
    """How often the text stood before where it now breaks off, whatever the numbers were."""
    form = re.sub(r"\d+", "#", prompt)
    return form.count(form[-12:]) - 1


def test_there_are_two_workloads_of_eight_prompts():
    assert WORKLOADS == {"copy-heavy": COPY_HEAVY, "open-ended": OPEN_ENDED}
    assert len(COPY_HEAVY) == len(OPEN_ENDED) == 8 and len({*COPY_HEAVY, *OPEN_ENDED}) == 16
    assert all(prompt.isascii() for prompt in (*COPY_HEAVY, *OPEN_ENDED))


@pytest.mark.parametrize("prompt", COPY_HEAVY)
def test_a_prompt_that_copies_itself_breaks_off_inside_a_row_it_has_had_before(prompt):
    assert times_before(prompt) >= 4 and not prompt.endswith("\n")
    assert LOOKUP.proposal([ord(char) for char in prompt]) is not None
    found, places = right(prompt)
    assert places == 60 and found > 0.8 * places


@pytest.mark.parametrize("prompt", OPEN_ENDED)
def test_an_open_prompt_has_nothing_to_copy(prompt):
    found, places = right(prompt)
    assert times_before(prompt) == 0 and found < 0.5 * places
