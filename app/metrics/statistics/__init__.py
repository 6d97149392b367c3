"""Statistics that a reviewer would accept, all in one place.

Shares of episodes and pairs of mazes are a few lines each and stand on every page; what compares
runs takes scipy, see `samples`.
"""

from app.metrics.statistics.pairs import Paired, Pairing, holm, p_words, pair_up
from app.metrics.statistics.samples import (
    RankCorrelation,
    Spread,
    bootstrap_mean,
    mean_interval,
    rank_correlation,
    spread,
)
from app.metrics.statistics.shares import (
    mcnemar_exact,
    mean_pass_at_k,
    pass_at_k,
    wilson_interval,
)

__all__ = [
    "Paired",
    "Pairing",
    "RankCorrelation",
    "Spread",
    "bootstrap_mean",
    "holm",
    "mcnemar_exact",
    "mean_interval",
    "mean_pass_at_k",
    "p_words",
    "pair_up",
    "pass_at_k",
    "rank_correlation",
    "spread",
    "wilson_interval",
]
