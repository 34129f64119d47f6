"""Descriptions of the parameters that linear machines share: `with_shared_parameters` puts them into docstrings."""

LINEAR_PARAMETERS = """
embedding : FeatureMap, "linear" or None, default None
   What embeds the rows. None is `PL1Embedding()`, which writes every feature as weights of its two nearest knots, of at
   most 8; "linear" keeps the features as they are, for comparison. An embedding that is not fitted is cloned and fitted
   on X, y; a fitted one is used as it is.
C : float, default 1.0
   Weight of the losses. What is large depends on the rows: where C |phi|² is far above 10, margins are nearly hard and
   many passes are needed. So long rows need a small C: on the 54 features of covtype_75k the rows of PL2 have
   |phi|² = 1,300, and those of ``PL2Embedding(zero_preserving=True)``, which make the same functions, 46.
solver : {"dual", "newton", "pegasos"}, default "dual"
   Dual coordinate descent, until the duality gap is within ``tol``; or Pegasos, which keeps no dual variables. "newton" is for
   squared losses and at most 5,000 columns: ten or twenty steps, of which each solves with the second moments of the rows that
   cost something (Keerthi & DeCoste 2005). Scales of columns and large C do not slow it down, so it is the choice for a few
   hundred columns or less, such as those of `ConicEmbedding`. Where C |phi|² is beyond 1e15 or so, rounding can end it before
   the gap is within ``tol``, which a warning says.
fit_intercept : bool, default True
    Whether rows have one column more, a constant, whose weight makes the intercept.
intercept_scaling : float, default 1.0
   Value of the column whose weight is penalised like the others and makes the intercept (B of Maji 2011).
positive : bool or list of int or str, default False
   Which weights must not be negative: True for all but the intercept's, or numbers or names of features, for the columns
   that depend on these alone. With a `ConicEmbedding` they make a weighted norm (Ceylan & Birbil 2020), and with a
   `BSplineEmbedding` of ``penalty_order=1``, whose weights are differences, functions that never fall. It needs the solver
   "dual".
tol : float, default 1e-4
    Relative duality gap at which "dual" and "newton" stop.
max_iter : int or None, default None
   Most passes over the rows: None is 1,000 for "dual" and 20 for "pegasos", which always makes all of them. With "newton"
   steps of each column of weights, of about two passes; None is 200.
warm_start : bool, default False
   Whether to start from the dual variables (with "newton" and "pegasos" from the weights) of the fit before, which are kept
   for that. Weights that were trained for another objective, such as another C, count as one pass of "pegasos".
block_size : int or None, default None
   Number of rows that are embedded at a time: fewer rows need less memory, and more passes. None takes as many as an
   eighth of the bytes of X holds, but at least 128 KiB and at most 32 MiB.
n_jobs : int or None, default None
   Number of threads in predictions: None is one, -1 all.
random_state : int, RandomState or None, default 0
    Orders the rows.
verbose : bool or None, default None
   Whether to show progress bars; None shows them at a terminal and in notebooks for work of more than ten seconds.
"""
