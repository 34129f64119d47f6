"""The laws of the method, for random grids, groups, points and weights."""

import cases
import cvxpy
import numpy as np
import pytest
import reference
import strategies as own
from axiom_rows import diagonal_rows, symmetry_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import made
from scipy import sparse

from semimetric import DistanceApproximator, DistanceRegressor, HistogramFeatures, Program, Semimetric, Tables, load
from semimetric._foundation.types import Pairs
from semimetric._kernels.simplex import Groups, group_rows_of_vectors
from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding
from semimetric.distances.programs.design_matrix import PairDesign
from semimetric.distances.programs.losses import Squared
from semimetric.distances.programs.penalties import PenaltyColumns, Ridge
from semimetric.distances.programs.program import ConvexProgram

GRID_OF_TWO = Grid([[0.0, 1.0, 3.0], [0.0, 2.0]])

every_embedding = pytest.mark.parametrize("make", cases.EMBEDDINGS.values(), ids=cases.EMBEDDINGS)
every_recipe = pytest.mark.parametrize("name", cases.RECIPES)


def semimetric_of(embedding, w, epsilon=0.25):
    n = embedding.grid.n_features
    slopes = np.tile([epsilon, 3.0 * epsilon], (n, 1))  # below and above the range
    return Semimetric(embedding, w, slopes, tuple(f"x{k}" for k in range(n)))


def tables_of(embedding, w):
    """{group: table} written apart from `tables`, so that touched vertices have one too."""
    if isinstance(embedding, WarpedEmbedding) or embedding.whole:
        return {t.features: t.values for t in embedding.tables(w)}
    out = {}
    for v, part in zip(embedding.vertices, np.split(w, embedding._first_column[1:-1]), strict=True):
        table = v.weighted_l1(embedding.grid, np.arange(v.n_points**2), embedding.unseen_slopes)
        table[v.keys] = part
        upper = np.triu(table.reshape(v.n_points, -1), 1)
        out[v.group] = upper + upper.T
    return out


def slow_distance(embedding, x, y, w):
    knots, total = embedding.grid.knots, 0.0
    x, y = (np.clip(v, embedding.grid.low, embedding.grid.high) for v in (x, y))
    swaps = getattr(embedding, "symmetry", "tie") == "swap"  # by cells and fractions, which tell no values 1e-38 apart
    x, y = (embedding.grid.positions(v[None])[0] for v in (x, y)) if swaps else (x, y)
    knots = embedding.grid.position_grid.knots if swaps else knots
    for group, table in tables_of(embedding, w).items():
        left, right = reference.swapped(list(x), list(y), group) if swaps else (x, y)
        total += reference.table_lookup(reference.pair_row(left, right, knots, group), table)
    return total


def identity_groups(grid):
    """One group of all features, for the kernel of single vectors."""
    n = grid.n_features
    strides = np.append(np.cumprod(grid.sizes[:0:-1])[::-1], 1)
    return Groups(np.arange(n + 1), np.zeros(n, np.int64), strides.astype(np.int64), np.array([0, n + 1]))


@given(st.data(), own.grids())
def test_coefficients_are_barycentric_and_reproduce_linear_functions(data, grid):
    X = data.draw(own.points(grid, 4))
    located = grid.locate(X)
    order, shape = np.argsort(located.fraction, axis=1, kind="stable"), (len(X), grid.n_features + 1)
    vertices, values = np.empty(shape, np.int64), np.empty(shape)
    group_rows_of_vectors(located, np.arange(len(X)), order, identity_groups(grid), vertices, values)
    assert (values >= 0).all()
    np.testing.assert_allclose(values.sum(axis=1), 1.0, rtol=1e-15)
    corners = np.array(np.meshgrid(*grid.knots, indexing="ij")).reshape(grid.n_features, -1).T
    clipped = np.clip(X, grid.low, grid.high)
    np.testing.assert_allclose(np.einsum("rk,rkf->rf", values, corners[vertices]), clipped, atol=1e-12)
    for x, vertex, value in zip(X, vertices, values, strict=True):
        got = {int(v): float(c) for v, c in zip(vertex, value, strict=True) if c > 0}
        want = {reference.number(v, grid.sizes): c for v, c in reference.id_vector(x, grid.knots).items() if c > 0}
        assert got == pytest.approx(want, abs=1e-15)


@every_embedding
@settings(max_examples=25)
@given(data=st.data())
def test_matrix_products_and_slow_twin_agree(make, data):
    grid = data.draw(own.grids(max_knots=3))
    embedding = make(grid)
    X, Y, w = data.draw(own.points(grid, 3)), data.draw(own.points(grid, 3)), data.draw(own.weights(embedding.n_columns))
    x, y, r = embedding.locate(X), embedding.locate(Y), np.arange(3)
    rows, matrix = embedding.rows(x, r, y, r), embedding.csr(x, r, y, r)
    slow = [slow_distance(embedding, a, b, w) for a, b in zip(X, Y, strict=True)]
    np.testing.assert_allclose(rows.matvec(w), slow, atol=1e-12)
    np.testing.assert_allclose(matrix @ w + rows.offset, slow, atol=1e-12)
    np.testing.assert_allclose(embedding.paired(x, r, y, r, w), slow, atol=1e-12)
    np.testing.assert_allclose(np.diag(embedding.pairwise(x, y, w)), slow, atol=1e-12)
    np.testing.assert_allclose(embedding.contributions(x, r, y, r, w).sum(axis=1), slow, atol=1e-12)
    back = np.zeros(embedding.n_columns + 1)
    rows.add_rmatvec(np.array([1.0, -2.0, 0.5]), back)
    np.testing.assert_allclose(back[:-1], matrix.T @ [1.0, -2.0, 0.5], atol=1e-12)
    gram = np.zeros((embedding.n_columns + 1,) * 2)
    rows.add_gram(np.array([1.0, 2.0, 0.5]), gram)
    want = (matrix.T @ (matrix * np.array([[1.0], [2.0], [0.5]]))).toarray()
    np.testing.assert_allclose(np.tril(gram[:-1, :-1]), np.tril(want), atol=1e-12)


@every_embedding
@settings(max_examples=25)
@given(data=st.data())
def test_symmetry_and_the_zero_diagonal_hold_to_the_bit(make, data):
    grid = data.draw(own.grids())
    embedding = make(grid)
    X = data.draw(own.points(grid, 4))
    d = semimetric_of(embedding, data.draw(own.weights(embedding.n_columns)))
    assert (d.paired(X, X[::-1]) == d.paired(X[::-1], X)).all() or not embedding.symmetric
    assert (d.paired(X, X) == 0).all() or not embedding.zero_diagonal
    table = d.pairwise(X)
    assert (table == table.T).all() or not embedding.symmetric
    assert (np.diag(table) == 0).all() or not embedding.zero_diagonal
    assert (table >= 0).all()


@every_embedding
@settings(max_examples=25)
@given(data=st.data())
def test_different_points_are_apart_where_positivity_is_claimed(make, data):
    grid = data.draw(own.grids(min_knots=2))
    embedding = make(grid)
    d = semimetric_of(embedding, data.draw(own.weights(embedding.n_columns, low=0.01)))
    X, Y = data.draw(own.points(grid, 4)), data.draw(own.points(grid, 4))
    assert d.axioms.positive
    apart = np.abs(X - Y).max(axis=1) > 1e-9
    assert (d.paired(X, Y)[apart] > 0).all()


@every_recipe
def test_contributions_sum_to_the_distance_before_the_link(name, rng):
    model, items, _, _ = cases.fitted(name)
    X, Y = rng.random((20, 3)) * 1.4 - 0.2, rng.random((20, 3)) * 1.4 - 0.2
    d = model.semimetric_
    terms = d.contributions(X, Y)
    assert terms.shape == (20, len(d.terms))
    total = d.link_function.invert(d.paired(X, Y))
    np.testing.assert_allclose(terms.sum(axis=1), total, rtol=1e-9, atol=1e-12)
    assert d.contributions(X[0], Y[0]) == pytest.approx(terms[0])
    parts = d.contributions(X, Y, by="features")
    assert parts.shape == (20, len(d.contribution_names("features")))
    np.testing.assert_allclose(parts.sum(axis=1), total, rtol=1e-9, atol=1e-12)
    assert d.contributions(X[0], Y[0], by="features") == pytest.approx(parts[0])


@every_recipe
def test_pairwise_equals_paired_and_the_call(name, rng):
    d = cases.fitted(name)[0].semimetric_
    X, Y = rng.random((7, 3)) * 1.4 - 0.2, rng.random((5, 3)) * 1.4 - 0.2
    table = d.pairwise(X, Y)
    rows, columns = (k.ravel() for k in np.indices(table.shape))
    np.testing.assert_allclose(table.ravel(), d.paired(X[rows], Y[columns]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(d.pairwise(X, Y, n_jobs=2), table, rtol=1e-12, atol=1e-12)
    assert d(X[2], Y[3]) == pytest.approx(table[2, 3], rel=1e-9)


@every_recipe
def test_a_saved_distance_loads_identical_to_the_bit(name, tmp_path, rng):
    model, items, index, _ = cases.fitted(name)
    d, path = model.semimetric_, tmp_path / "model.semimetric"
    d.save(path)
    again = load(path, base_distances=[b.function.function for b in d.base_distances])
    X = np.vstack([items, rng.random((20, 3)) * 3 - 1])
    assert (again.pairwise(X) == d.pairwise(X)).all()
    assert (again.contributions(X, X[::-1]) == d.contributions(X, X[::-1])).all()
    assert (again.axioms, again.terms, repr(again)) == (d.axioms, d.terms, repr(d))


@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_explicit_rows_hold_exactly_on_tables_with_the_axiom(groups, rng):
    free = PairEmbedding(GRID_OF_TWO, groups, symmetry="none", zero_diagonal=False)
    tables = [rng.random((v.n_points,) * 2) for v in free.vertices]
    symmetric = np.concatenate([(t + t.T).ravel() for t in tables])
    hollow = np.concatenate([(t - np.diag(np.diag(t))).ravel() for t in tables])
    raw = np.concatenate([t.ravel() for t in tables])
    for rows, good in ((symmetry_rows(free), symmetric), (diagonal_rows(free), hollow)):
        assert not (rows @ good).any()
        assert (rows @ raw != 0).all()


def minimum_by_cvxpy(program, equalities=None):
    """The program written out in CVXPY, with further rows ``equalities @ w == 0``: weights and objective."""
    w = cvxpy.Variable(program.design.shape[1])
    objective = program.loss.expression(cvxpy, program.design.csr() @ w - program.y, program.sample_weight)
    objective += sum(penalty.expression(cvxpy, w, program.columns) for penalty in program.penalties)
    rows = [w >= program.lower] + ([] if equalities is None else [equalities @ w == 0])
    problem = cvxpy.Problem(cvxpy.Minimize(objective), rows)
    problem.solve(solver="CLARABEL")
    return np.maximum(w.value, program.lower), problem.value


@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_tied_columns_equal_explicit_rows(groups):
    """Symmetry and the zero diagonal by construction, and as equalities in CVXPY, give the same distance."""
    items, index, y = cases.sample(n_pairs=60, n_features=2)
    grid, found = Grid.fit(items, n_knots=3), []
    tied = PairEmbedding(grid, groups)
    free = PairEmbedding(grid, groups, symmetry="none", zero_diagonal=False)
    explicit = sparse.vstack([symmetry_rows(free), diagonal_rows(free)])
    for embedding, share, rows in ((tied, 1.0, None), (free, 0.5, explicit)):  # the ridge counts (a, b) and (b, a) once
        n = embedding.n_columns
        columns = PenaltyColumns(n, np.zeros(n), *(np.full(n, v) for v in (1.0, 1.0, share, 1.0)), embedding.differences)
        design = PairDesign(embedding, Pairs(items, index))
        ridge = (Ridge(1e-3, towards="zero"),)
        program = ConvexProgram(design, y / y.mean(), np.full(len(y), 1 / len(y)), Squared(), ridge, columns, np.zeros(n))
        found.append(minimum_by_cvxpy(program, rows))
    distances = [semimetric_of(e, w).pairwise(items) for e, (w, _) in zip((tied, free), found, strict=True)]
    np.testing.assert_allclose(distances[0], distances[1], atol=2e-3)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-3)


@settings(max_examples=15)
@given(
    order=st.permutations(range(4)),
    cuts=st.lists(st.integers(5, 145), min_size=3, max_size=3, unique=True).map(sorted),
    tables=st.sampled_from(["full", "warped"]),
    penalty=st.sampled_from(["ridge", "lasso"]),  # the lasso depends on the unit of the targets, the ridge does not
)
def test_partial_fit_in_any_order_of_blocks_equals_fit(order, cuts, tables, penalty):
    items, index, y = cases.sample()
    weight = 1.0 + np.arange(len(y)) % 3
    options = {"knots": [[0.0, 0.3, 0.6, 1.0]] * 3, "penalty": penalty, "alpha": 1e-2, "tables": tables}
    options |= {"preprocessor": items}
    whole, parts = made(DistanceRegressor, **options).fit(index, y, weight), made(DistanceRegressor, **options)
    blocks = np.split(np.arange(len(y)), cuts)
    for k in order:
        parts.partial_fit(index[blocks[k]], y[blocks[k]], weight[blocks[k]])
    np.testing.assert_allclose(parts.semimetric_.weights, whole.semimetric_.weights, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(parts.semimetric_.epsilon, whole.semimetric_.epsilon, rtol=1e-6)


@settings(max_examples=15)
@given(st.data(), own.grids(min_knots=2), st.sampled_from(["full", "warped"]))
def test_weighted_l1_is_recovered_exactly_for_any_knots(data, grid, tables):
    slopes = data.draw(st.lists(st.floats(0.1, 5.0), min_size=grid.n_features, max_size=grid.n_features))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    items = rng.uniform(grid.low, grid.high, (60, grid.n_features))
    index = rng.integers(0, 60, (400, 2))
    y = np.abs(items[index[:, 0]] - items[index[:, 1]]) @ slopes
    model = DistanceRegressor(
        tables=Tables(tables, knots=grid.knots, delta=0.0),
        program=Program(penalty="ridge-zero"),
        alpha=1e-9,
        preprocessor=items,
    ).fit(index, y)
    np.testing.assert_allclose(model.predict(index), y, atol=1e-4 * y.mean())


@settings(max_examples=15)
@given(st.integers(2, 7), st.integers(0, 99))
def test_emd_on_a_line_is_exact(n_bins, seed):
    rng = np.random.default_rng(seed)
    positions = np.cumsum(rng.uniform(0.5, 2.0, n_bins))
    histograms = rng.dirichlet(np.ones(n_bins), 60)
    features = HistogramFeatures(positions)
    Z = features.fit_transform(histograms)
    index = rng.integers(0, 60, (300, 2))
    y = np.array([reference.emd_1d(histograms[i], histograms[j], positions) for i, j in index])
    np.testing.assert_allclose(np.abs(Z[index[:, 0]] - Z[index[:, 1]]).sum(axis=1), y, atol=1e-12)
    model = DistanceRegressor(
        tables=Tables("warped", delta=0.0),
        n_knots=2,
        directions=features,
        program=Program(penalty="ridge-zero"),
        alpha=1e-10,
        preprocessor=histograms,
    ).fit(index, y)
    np.testing.assert_allclose(model.predict(index), y, atol=1e-3 * y.mean())


@given(st.data(), own.grids())
def test_warped_distances_obey_the_triangle_inequality(data, grid):
    embedding = WarpedEmbedding(grid)
    d = semimetric_of(embedding, data.draw(own.weights(embedding.n_columns)))
    X, Y, Z = (data.draw(own.points(grid, 5)) for _ in range(3))
    assert d.axioms.triangle
    assert (d.paired(X, Y) + d.paired(Y, Z) - d.paired(X, Z) >= -1e-12).all()
    np.testing.assert_allclose(np.abs(d.transform(X) - d.transform(Y)).sum(axis=1), d.paired(X, Y), atol=1e-12)


@settings(max_examples=10)
@given(st.integers(0, 999), st.integers(1, 2), st.integers(2, 4))
def test_vertices_approximate_any_lipschitz_distance(seed, n_features, n_cells):
    """The error is at most L times the diameter of a cell, and halving the cells halves that bound."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, n_features))
    lipschitz = np.abs(A).sum(axis=0).max()  # in the L1 norm of (x, y)
    items = rng.uniform(-1, 1, (30, n_features))
    bounds = []
    for cells in (n_cells, 2 * n_cells):
        model = DistanceApproximator(
            lambda x, y: np.abs(np.sin(A @ x) - np.sin(A @ y)).sum(),
            DistanceRegressor(tables=Tables(groups=[tuple(range(n_features))], knots="uniform", delta=0.0), n_knots=cells + 1),
            method="vertices",
        ).fit(items)
        true = np.abs(np.sin(items @ A.T)[:, None] - np.sin(items @ A.T)[None]).sum(axis=2)
        bounds.append(lipschitz * 2 * sum(np.diff(k).max() for k in model.semimetric_.embedding.grid.knots))
        assert np.abs(model.semimetric_.pairwise(items) - true).max() <= bounds[-1]
    assert bounds[1] == pytest.approx(bounds[0] / 2)


@given(st.data(), own.grids(max_features=2, min_knots=2))
def test_the_smallest_value_over_a_cell_is_one_of_three(data, grid):
    """What search bounds rest on: y -> d(q, y) of one feature is smallest at an end of a cell or at q's own fraction."""
    embedding = PairEmbedding(grid, [(0,)])
    d = semimetric_of(embedding, data.draw(own.weights(embedding.n_columns)))
    q = data.draw(own.points(grid, 1))[0]
    knots, fraction = grid.knots[0], grid.locate([q]).fraction[0, 0]
    k = data.draw(st.integers(0, len(knots) - 2))
    low, width = knots[k], knots[k + 1] - knots[k]

    def at(t):
        return d(q, np.append(low + t * width, q[1:]))

    assert min(map(at, (0.0, fraction, 1.0))) <= reference.smallest(at, np.linspace(0, 1, 21)) + 1e-9


@given(st.data(), own.grids(max_features=3, min_knots=2))
def test_swapping_whole_vectors_inside_groups_is_symmetric(data, grid):
    embedding = PairEmbedding(grid, "pairs", symmetry="swap")
    d = semimetric_of(embedding, data.draw(own.weights(embedding.n_columns)))
    X, Y = data.draw(own.points(grid, 4)), data.draw(own.points(grid, 4))
    assert (d.paired(X, Y) == d.paired(Y, X)).all()
    assert d.axioms.continuous == (grid.n_features == 1)


@pytest.mark.parametrize("name", ["singles", "warped", "premetric"])
def test_weights_count_repetitions_and_zero_weight_drops_a_pair(name):
    items, index, y = cases.sample()
    options = cases.RECIPES[name] | {"preprocessor": items, "knots": [[0.0, 0.5, 1.0]] * 3}
    counts = np.arange(len(y)) % 3
    weighted = made(DistanceRegressor, **options).fit(index, y, sample_weight=counts)
    repeated = made(DistanceRegressor, **options).fit(np.repeat(index, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.semimetric_.weights, repeated.semimetric_.weights, rtol=1e-6, atol=1e-8)
