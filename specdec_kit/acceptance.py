"""How many tokens a round brings: what the acceptance predicts, and how to measure the acceptance.

References
----------
.. [1] Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from specdec_kit.blocks import Round


def expected_tokens(alpha: Any, gamma: int) -> Any:
    """Tokens a round if each draft passes with chance `alpha`, whatever came before: (1 − α^(γ+1)) / (1 − α).

    [1]_, equation 1. As a sum, 1 + α + … + α^γ: the draft at place n is reached and kept with α^n, and one token more
    always comes. So it holds at α = 1 as well, and of fractions it is a fraction.

    Parameters
    ----------
    alpha : float, Fraction or ndarray
        Chance that a draft passes, 0 … 1.
    gamma : int
        How many tokens are drafted, at least 0.

    Raises
    ------
    ValueError
        Where `alpha` is no chance, or `gamma` is no number of drafts.
    """
    if not np.all((alpha >= 0) & (alpha <= 1)):
        raise ValueError(f"alpha is {alpha}: give the chance that a draft passes, from 0 to 1")
    if not (isinstance(gamma, int) and gamma >= 0):
        raise ValueError(f"gamma is {gamma!r}: give a whole number of drafts, at least 0")
    return sum(alpha**n for n in range(gamma + 1))


class Tally(NamedTuple):
    """Sums over rounds."""

    rounds: int
    drafted: int
    """Tokens that the draft proposed."""
    tested: int
    """Those of them that were reached: the accepted ones, and in each round perhaps one that was not."""
    accepted: int
    """Those that passed."""
    tokens: int
    """Tokens that were kept, with those that the target added."""

    @property
    def alpha(self) -> float:
        """Share of the tested drafts that passed: the estimate of α. Those after a rejection were never tested."""
        return self.accepted / self.tested if self.tested else float("nan")

    @property
    def accepted_per_drafted(self) -> float:
        """Share of all drafts that passed. It falls as γ grows, at the same α: it is not α."""
        return self.accepted / self.drafted if self.drafted else float("nan")

    @property
    def tokens_per_round(self) -> float:
        """Tokens for one pass of the target."""
        return self.tokens / self.rounds if self.rounds else float("nan")


def tally(rounds: Iterable[Round]) -> Tally:
    """Sum up the rounds of one text or of many."""
    total = Tally(0, 0, 0, 0, 0)
    for one in rounds:
        tested = min(one.accepted + 1, len(one.drafted))
        row = (1, len(one.drafted), tested, one.accepted, len(one.tokens))
        total = Tally(*(a + b for a, b in zip(total, row, strict=True)))
    return total


def by_place(rounds: Iterable[Round]) -> tuple[list[int], list[int]]:
    """For each place in the block, how many drafts were tested there and how many of them passed."""
    tested: list[int] = []
    passed: list[int] = []
    for one in rounds:
        for n in range(min(one.accepted + 1, len(one.drafted))):
            if n == len(tested):
                tested.append(0)
                passed.append(0)
            tested[n] += 1
            passed[n] += n < one.accepted
    return tested, passed
