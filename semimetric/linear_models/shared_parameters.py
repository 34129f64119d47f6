"""Descriptions of the parameters that linear machines share: `with_shared_parameters` puts them into docstrings."""

__all__ = ["LINEAR_PARAMETERS"]

LINEAR_PARAMETERS = """
embedding : FeatureMap, "linear" or None, default None
    What embeds the rows. None is `PL1Embedding()`, every feature as its two nearest of at most 8 knots; "linear" is the
    features themselves, the control. One that is not fitted is cloned and fitted on X, y; a fitted one is used as it is.
C : float, default 1.0
    Weight of the losses. What is large depends on the rows: where C |phi|² is far above 10, margins are nearly hard and
    passes are many. Long rows want a small C: PL2's on the 54 features of covtype_75k have |phi|² = 1,300, those of
    ``PL2Embedding(zero_preserving=True)``, the same functions, 46.
solver : {"dual", "pegasos"}, default "dual"
    Dual coordinate descent, to a certified gap; or Pegasos, which keeps no variable a row.
fit_intercept : bool, default True
    Whether rows have one column more, a constant, whose weight makes the intercept.
intercept_scaling : float, default 1.0
    Value of the column whose weight, penalised like the others, makes the intercept (B of paper 1).
tol : float, default 1e-4
    Relative duality gap at which "dual" stops.
max_iter : int or None, default None
    Most passes over the rows: None is 1,000 for "dual"; 20 for "pegasos", which takes them all.
warm_start : bool, default False
    Start from the dual variables (or the weights, "pegasos") of the fit before; they are kept for that. Weights of another
    objective, such as another C, count as one pass.
block_size : int or None, default None
    Rows that are embedded at a time: fewer need less memory, and more passes. None is as many as an eighth of the bytes of
    X holds, 128 KiB at least and 32 MiB at most.
n_jobs : int or None, default None
    Threads of predictions: None is one, -1 all.
random_state : int, RandomState or None, default 0
    Orders the rows.
verbose : bool, default False
    Progress bars.
"""
