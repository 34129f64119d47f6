"""Statistics that compare methods on many data sets (Demšar 2006; Benavoli et al. 2014).

Errors stand in tables of shape (n_sets, n_methods); infinity stands for a method that failed on a set, and ranks last.
"""

import numpy as np
from scipy.stats import chi2, rankdata, studentized_range, t, wilcoxon

ROPE = 0.005


def ranks(errors: np.ndarray) -> np.ndarray:
    """The rank of each method on each set, 1 the lowest error, equal errors their mean rank: shape (n_sets, n_methods)."""
    return rankdata(np.round(errors, 12), axis=1)


def friedman(errors: np.ndarray) -> tuple[float, float]:
    """Friedman's statistic, corrected for ties, and its p by chi-squared: are all methods equally good?"""
    n, k = errors.shape
    r = ranks(errors)
    spread = (r**2).sum() - n * k * (k + 1) ** 2 / 4
    if spread == 0:
        return 0.0, 1.0
    statistic = (k - 1) * ((r.sum(0) - n * (k + 1) / 2) ** 2).sum() / spread
    return float(statistic), float(chi2.sf(statistic, k - 1))


def nemenyi(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """The critical difference: mean ranks that lie further apart differ significantly at this level."""
    q = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def signed_rank(ours: np.ndarray, other: np.ndarray) -> float:
    """Two-sided p of Wilcoxon's signed-rank test over the sets; 1 where no set tells them apart."""
    difference = np.round(ours - other, 12)
    return float(wilcoxon(difference, zero_method="zsplit").pvalue) if difference.any() else 1.0


def bayesian_signed_rank(ours: np.ndarray, other: np.ndarray, rope: float = ROPE, draws: int = 20_000) -> tuple[float, ...]:
    """Probabilities that ours is lower, that both are within the rope, and that ours is higher.

    The differences of the sets, and a 0 as the prior, have weights of a Dirichlet distribution; a draw is counted where most of
    the weight of the means of two differences (each also with itself) lies.
    """
    z = np.concatenate([[0.0], other - ours])
    pairs = (z[:, None] + z) / 2
    weights = np.random.default_rng(0).dirichlet(np.ones(len(z)), draws)
    lower, higher = (((weights @ part) * weights).sum(1) for part in (pairs > rope, pairs < -rope))
    most = np.argmax([lower, 1 - lower - higher, higher], axis=0)
    return tuple((np.bincount(most, minlength=3) / draws).tolist())


def significance(ours: np.ndarray, other: np.ndarray) -> float:
    """p of ours being worse on one set, by the corrected resampled t-test (Nadeau & Bengio 2003): splits of 70/30 overlap."""
    difference = ours - other
    n = len(difference)
    spread = np.sqrt((1 / n + 0.3 / 0.7) * difference.var(ddof=1)) if n > 1 else 0.0
    return float(t.sf(difference.mean() / spread, n - 1)) if spread > 0 else 1.0
