"""Prove, measure and break speculative decoding.

The names below need NumPy alone. Lessons take the rest from its module: `specdec_kit.evidence`, `.models`, `.plots`, …
"""

from specdec_kit.distributions import (
    InvalidDistribution,
    NoResidual,
    acceptance_probability,
    overlap,
    residual,
    softmax,
    temperature,
    top_k,
    top_p,
    total_variation,
)
from specdec_kit.law import Law, NotWalkable, TooManyBranches, exact_law
from specdec_kit.sampling import Draws, categorical, direct_sample, inverse_cdf, speculative_sample

__version__ = "0.1.0"

__all__ = [
    "Draws",
    "InvalidDistribution",
    "Law",
    "NoResidual",
    "NotWalkable",
    "TooManyBranches",
    "acceptance_probability",
    "categorical",
    "direct_sample",
    "exact_law",
    "inverse_cdf",
    "overlap",
    "residual",
    "softmax",
    "speculative_sample",
    "temperature",
    "top_k",
    "top_p",
    "total_variation",
]
