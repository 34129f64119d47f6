"""Descriptions of the parameters that embeddings share: `with_shared_parameters` puts them into docstrings."""

DENSE_PARAMETERS = """
missing : {"error", "zeros", "indicator"}, default "error"
    NaN is refused, adds nothing, or has a column of its own.
dtype : float64 or float32, default float64
n_jobs : int or None, default None
    The number of threads.
"""

KNOT_PARAMETERS = """
n_knots : int or one int a feature, each >= 2, default 8
    The most knots of a feature; a feature with fewer distinct values has those, a constant one a single column of 1.
knots : {"kmeans", "quantile", "uniform", "tree"} or one array a feature, default "kmeans"
    Minimum, maximum and k-means centres (the paper's), of all such knots those of least inertia; quantiles; equal steps; the
    thresholds of a decision tree of n_knots - 1 leaves, grown on the feature alone for the y of `fit`; or increasing numbers.
missing : {"error", "zeros", "indicator"}, default "error"
    What NaN is: refused; without any entry; or a level of its own in every feature, also where the fit has seen none.
zero_preserving : bool, default False
    Whether 0 adds nothing: it is one knot more of every feature, and has no column (Pele et al. 2013, section 3.1). The others
    are placed from the values that are not 0. X may be sparse, and the rows have entries for its non-zeros only.
dtype : {float64, float32}, default float64
    Type of the rows that `transform` returns.
sparse_output : bool or "auto", default "auto"
    Whether `transform` returns a sparse matrix. "auto" does, but an array where `set_output`, or scikit-learn's
    configuration, asks for a table of pandas or polars, which holds no sparse matrix.
n_jobs : int or None, default None
    Threads: None is one, -1 all.
random_state : int or None, default 0
    Draws the sample of 100,000 rows that knots are placed from where there are more.
"""
