"""Descriptions of the parameters that learners of a distance share: `with_shared_parameters` puts them into docstrings."""

LEARNER_PARAMETERS = """
n_knots : int, sequence of int or "auto", default "auto"
    Knots a feature: one number for all, or one for each. "auto" chooses on held-out data whose items are not learned from.
knots : {"quantile", "uniform", "kmeans"} or sequence of arrays, default "quantile"
    How knots are placed, or the knots themselves (of the raw features, then of the directions). Of pairs, triplets and
    quadruplets they are placed among the distinct items, of which each counts once: whether items are given as points or by row
    numbers, how often, in which order and in which parts makes no difference. Labelled items count a row each.
groups : "singles" (default), "pairs", int, "auto", AutoGroups, JointGroups or sequence of tuples of int or str
    Features modelled jointly, by number or by column name of a frame; several in a group need ``tables="full"``. An integer k
    makes a joint table of every k features, as "pairs" does for 2 (Pele & Ben-Aliz 2016, section 4). "auto" finds
    pairs worth a joint table beside the single features, within the budget that `AutoGroups` states: from the model of single
    features on, the pair that could lower the loss most is added as long as the error on held-out items falls by more than one
    standard error. Features that no group names count outside their range only (``outside=``), and positivity is then not
    claimed.
preprocessor : array-like of shape (n_items, n_features), frame, callable or None, default None
    The items, if they are named instead of given as points: by row number, or by label of the index of a pandas frame. Labels
    are text or times; integers are row numbers, whatever the index holds. A callable is given the distinct names, shape
    (n_names,), and returns a table with one row for each. Tuples of points of shape (n_tuples, size, n_features) are taken too.
delta : float, default 1e-6
    Lower bound of the weights that involve raw features, relative to the mean weight of the weighted L1 prior; at 0
    positivity is not claimed.
outside : {"extend", "clip"}, default "extend"
    Outside the range of the training items a feature goes on with the slope that the distance has at that end, measured
    over the last fifth of the range; or, with "clip", a value there counts as the end of the range, but for a slope of
    ``delta`` over the range that keeps different points apart (Pele & Ben-Aliz 2016, Alg. 1). `Semimetric.outside` reports
    how often that happens. A feature whose training items already lie beyond the knots that it is given was learned as if
    they were at its end, so it is clipped, with a `SemimetricWarning` that counts them.
penalty : {"auto", "ridge", "ridge-zero", "roughness", "roughness-2", "lasso"}, Penalty, sequence or None, default "auto"
    "ridge" shrinks towards the weighted L1 distance that fits the data best, "ridge-zero" and "lasso" towards 0, and
    "roughness" and "roughness-2" penalise the differences of tables of order 1 and 2. "auto" is a ridge and, where tables are
    full, tensor differences of order 1 and differences under a common shift. Vertices of tables that no data touch are set to
    the weighted L1 distance by "auto", "ridge" and None. "lasso" and "ridge-zero" set them to their lower bound: a distance
    between regions that no pair joins is then close to 0.
alpha : float or "auto", default "auto"
    Strength of a penalty given by name. "auto" chooses on held-out data. Under ``penalty="auto"`` at 1e-2 little is left of
    tables but the weighted L1 distance, at 1e-3 much of what is not monotone is smoothed away, and where data are many and
    exact 1e-7 to 1e-5 are what they ask for.
categorical_features : "auto" (default), None, or sequence of int or str
    Features that are categories: a table of every two. "auto" takes the columns of a frame whose dtype is categorical;
    columns of text must be named, else they are an error (see `Schema.fit`). A category that the fit did not have is at
    the mean distance that was learned between the category beside it and the others, and all such are one.
periodic : dict of int or str to float, or None, default None
    Features that wrap around, and their periods: ``{"hour": 24}``.
missing : {"error", "level"}, default "error"
    Refuse missing values (NaN, None, NA), or give them a level of their own in every feature. Where the data show none, its
    distance to any other value is that of the weighted L1 distance across half the range of the feature.
constraints : sequence of Monotone, Bounded, TranslationInvariant, Concave, AtLeast, AtMost, default ()
    What else is known of the distance; each says in its docstring what it guarantees and why. Tables are held whole.
prior : Semimetric or None, default None
    A distance to start from, such as ``gower(X)`` or that of another fit: penalties draw tables to those of this distance at
    their knots, times the one number that fits the examples best, in place of the weighted L1 distance of the data; the fewer
    the examples, the more it says. It is a sum over single features, of the same names and kinds; directions start from 0.
n_jobs : int or None, default None
    Threads: None is one, -1 all.
random_state : int or None, default 0
    Seed of samples, splits and k-means.
effort : {"fast", "default", "thorough"}, default "default"
    How far is looked for what is "auto": how many settings are compared, in how many folds, on how many rows. The numbers are
    in docs/effort.md; ``choices_`` says what was done, and how many fits "thorough" would make.
verbose : bool or None, default None
    Progress bars: None shows them at a terminal and in notebooks for work that is likely to take more than ten seconds, True
    everywhere and at once, False never. Fits that may take minutes say so first, by the same rule.
"""

REGRESSION_PARAMETERS = """
directions : None (default), "pca", array of shape (n_directions, n_features), transformer with ``components_``, or list
    Features that join the raw ones: `UniformDirections`, `HistogramFeatures`, any linear scikit-learn map, the leaves of
    `PartitionFeatures("random")` or of trees that are fitted, or a list of such transformers.
tables : {"full", "warped"}, default "full"
    Full tables, or one monotone scale a feature: fewer weights, a metric, and an exact `transform` into L1.
axioms : {"semimetric", "metric", "quasimetric", "premetric", None}, default "semimetric"
    What is guaranteed for all points. "metric" adds the triangle inequality: full tables keep it by rows of the program, one
    for every three grid points, and scales (``tables="warped"``) by construction. "quasimetric" is a metric without symmetry
    and "premetric" a semimetric without symmetry. None drops every guarantee, and targets may be negative. The last three
    need ``tables="full"``.
symmetry : {"tie", "swap"}, default "tie"
    Tied columns, or the paper's lexicographic swap (not continuous for groups of two or more features).
link : {"identity", "sqrt", "power", "concave"}, float, PowerLink or ConcaveLink, default "identity"
    The function that makes the distance of the sum that is learned. With "sqrt" the tables learn the squared distance. A
    number p is for the power ``sum ** p``, and "power" chooses p from 1, 0.9, ..., 0.5 on held-out pairs: below 1 a large
    difference counts less than the small ones that it is made of. Up to p = 1 a metric stays a metric. So that the program
    stays convex, residuals are expanded to first order at their targets: where the sum is (1 + e) times what the target asks
    for, the residual is that of the distance but for (1 - p) e / 2 of it. Distances below a tenth of the mean count as there.
    "concave" goes on from "power": it learns an increasing concave function of pieces, and the sum, in turn, as long as that
    lowers the loss of the pairs and gains more than one standard error on held-out pairs. It takes no ``constraints``.
loss : {"squared", "absolute", "huber"} or Loss, default "squared"
    What a pair's residual costs. Losses other than the squared one count large residuals less.
relative : bool or float, default False
    Divide the residual of a pair by max(its target, floor); True takes the floor 0.1, in units of the mean target.
solver : {"auto", "gram", "newton", "interior_point", "first_order", "splitting", "cutting_plane", "reference"} or Solver, \
default "auto"
    "auto" chooses by the loss and the number of weights, and ``solution_`` says which it took. `Gram` and `Splitting` need the
    squared loss, `Newton` a loss that curves. Triangle rows are handled by `CuttingPlane` around any solver that takes rows.
base_distances : sequence of callables, default ()
    Known distances that join the sum with weights >= 0; the tables learn what they miss. The sum is a semimetric if
    they are. Bounds for nearest-neighbour search cannot see inside a callable: searching such a model means
    evaluating them for every candidate.
base_exponents : float, sequence of float, or "auto", default 1.0
    The exponents at which base distances join the sum (with ``link="sqrt"``, those of their squares). "auto" chooses one for
    all of them from 1, 0.9, ..., 0.5 on held-out pairs, together with the link if that is open too.
"""

COMPARISON_PARAMETERS = """
directions : "auto" (default), "discriminant", "pca", None, array, transformer with ``components_``, or list
    Linear features that join the raw ones. "discriminant" adds up to 10 piecewise-linear directions in which far pairs differ
    most and near ones least; "auto" adds them unless raw features alone err less on held-out tuples by more than a standard
    error. It adds none to a single feature, nor where ``knots`` are given. Discriminants combine numbers that no item of the
    tuples lacks. An array has the shape (n_directions, n_features); see `UniformDirections`, `HistogramFeatures`, and, for
    leaves of trees, `PartitionFeatures`.
tables : {"warped", "full", "auto"}, default "warped"
    One monotone scale a feature: a metric, with an exact `transform` into L1. Or full tables. Categories, periodic features
    and what may be missing have tables in either case, and the distance is then a semimetric unless ``axioms`` asks for more.
    "auto" takes full tables of the raw features where they err less on held-out tuples by more than a standard error, as where
    large differences count no more than moderate ones; `transform` is there if it takes scales. It is "warped" with the axioms
    "metric", and "full" with "quasimetric" or joint groups.
axioms : {"semimetric", "metric", "quasimetric"}, default "semimetric"
    What is guaranteed for all points. "metric" adds the triangle inequality, which scales have anyway and which full tables
    keep by rows of the program. "quasimetric" is a metric without symmetry, and needs full tables.
loss : {"squared_hinge", "hinge"} or Loss, default "squared_hinge"
    The squared hinge is solved by `Newton`, the hinge by `InteriorPoint`; without a penalty the latter
    is a linear program.
solver : {"auto", "newton", "interior_point", "first_order", "cutting_plane", "reference"} or Solver, default "auto"
    "auto" chooses by the loss and the number of weights, and ``solution_`` says which it took. `Newton` needs a loss that
    curves. Triangle rows are handled by `CuttingPlane` around any solver that takes rows.
"""

VOTE_PARAMETERS = """
n_neighbors : int or "auto", default "auto"
    Neighbours that vote, and all that are tied with the last of them; of fewer items all vote.
weights : {"auto", "uniform", "distance", "kernel"}, default "auto"
    Votes count alike, by 1 / distance (neighbours at distance 0 then vote alone), or by a kernel exp(-(d - d_1) / h) of the
    distance and that of the nearest, whose width h is chosen: a distance, or a multiple of that to the 5th or 45th neighbour.
algorithm : {"exact", "approximate", "brute"}, default "exact"
    How neighbours are searched. "exact" proves that no other item is nearer, "approximate" refines the items whose cells are
    typically nearest, and "brute" computes every distance. The distances returned are exact in each case.
n_jobs : int or None, default None
    Threads of the search, and of a learner whose own ``n_jobs`` is None: None is one, -1 all.
effort : {"fast", "default", "thorough"} or None, default None
    How far the learner looks for what is "auto", in place of its own ``effort``; None leaves the learner as it is.
"""
