"""A number too large for float64 is refused in words wherever it comes in: its row and column, or its parameter, is named."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from command_line import call

from semimetric import (
    AtMost,
    Columns,
    DistanceApproximator,
    DistanceRegressor,
    Grid,
    LargeMarginLearner,
    NeighborIndex,
    PairLearner,
    PL1Embedding,
    PowerLink,
    Program,
    SemimetricClassifier,
    SemimetricOutlierDetector,
    SemimetricRegressor,
    Tables,
    TripletLearner,
)

HUGE = 10**400
X = np.random.default_rng(0).random((12, 2))
PAIRS, Y, CLASSES = X.reshape(6, 2, 2), np.abs(X[::2] - X[1::2]).sum(axis=1), np.arange(12) % 2
PLAIN = {"n_knots": 3, "directions": None}
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": list("uv") * 6})
D = LargeMarginLearner(**PLAIN).fit(FRAME, CLASSES).semimetric_
INDEX = NeighborIndex(D).fit(FRAME)


def with_huge(values, row, value=HUGE):
    out = np.array(values, dtype=object)
    out[row] = value
    return out


SPOILT = FRAME.assign(b=with_huge(FRAME["b"], 7))
QUERY = {"a": HUGE, "b": 0.5, "kind": "u"}


def measured(**settings):
    return DistanceRegressor(**PLAIN | settings).fit(PAIRS, Y)


ROUTES = {
    "a frame of mixed columns": (lambda: LargeMarginLearner(**PLAIN).fit(SPOILT, CLASSES), "row 7 of X", "in 'b'"),
    "a frame of numbers": (lambda: LargeMarginLearner(**PLAIN).fit(SPOILT[["a", "b"]], CLASSES), "row 7 of X", "in 'b'"),
    "a frame of a map": (lambda: PL1Embedding().fit(SPOILT[["a", "b"]]), "row 7 of X", "in 'b'"),
    "a dict": (lambda: INDEX.kneighbors(QUERY, n_neighbors=2), "row 0 of X", "in 'a'"),
    "dicts": (lambda: INDEX.kneighbors([QUERY | {"a": 0.5}, QUERY], n_neighbors=2), "row 1 of X", "in 'a'"),
    "a series": (lambda: INDEX.kneighbors(pd.Series(QUERY), n_neighbors=2), "row 0 of X", "in 'a'"),
    "two dicts": (lambda: D(QUERY, QUERY), "row 0 of X", "in 'a'"),
    "targets": (lambda: DistanceRegressor(**PLAIN).fit(PAIRS, with_huge(Y, 3)), "row 3 of y", ""),
    "values": (lambda: SemimetricRegressor().fit(X, with_huge(X[:, 0], 3)), "row 3 of y", ""),
    "judgements": (lambda: PairLearner(**PLAIN).fit(PAIRS, with_huge([1, -1] * 3, 3)), "row 3 of y", ""),
    "weights of pairs": (
        lambda: DistanceRegressor(**PLAIN).fit(PAIRS, Y, sample_weight=with_huge(np.ones(6), 3)), "row 3 of sample_weight", ""
    ),
    "weights of triplets": (
        lambda: TripletLearner(**PLAIN).fit(X.reshape(4, 3, 2), sample_weight=with_huge(np.ones(4), 3)),
        "row 3 of sample_weight",
        "",
    ),
    "weights of classes": (lambda: SemimetricClassifier(class_weight={0: HUGE}).fit(X, CLASSES), "row 0 of class_weight", ""),
    "payload": (lambda: NeighborIndex(D).fit(FRAME, payload={"p": with_huge(X[:, 0], 4)}), "row 4 of payload", "in 'p'"),
    "knots": (lambda: measured(tables=Tables(knots=[[0.0, HUGE], [0.0, 1.0]])), "row 1 of knots[0]", ""),
    "knots of a grid": (lambda: Grid([[0.0, 1.0], [0.0, HUGE]]), "row 1 of knots[1]", ""),
    "a period": (lambda: measured(columns=Columns(periodic={0: HUGE})), "'x0' the period", "a finite number > 0"),
    "a constraint": (
        lambda: measured(program=Program(constraints=[AtMost([[[HUGE, 0.2], [0.8, 0.8]]], [1.0])])), "row 0 of pairs", "no"
    ),
    "alpha": (lambda: measured(alpha=HUGE), "alpha=1000", "finite number"),
    "n_knots": (lambda: measured(n_knots=10**5000), "n_knots=an integer", "integers between 2 and 65535"),
    "n_knots of a large margin": (lambda: LargeMarginLearner(n_knots=HUGE).fit(X, CLASSES), "n_knots=1000", "between 2 and"),
    "loss": (lambda: measured(loss=10**5000), "loss=an integer", "is not known"),
    "axioms": (lambda: measured(axioms=10**5000), "axioms=an integer", "is not known"),
    "a time budget": (
        lambda: LargeMarginLearner(**PLAIN, time_budget=HUGE).fit(X, CLASSES), "time_budget=1000", "a finite number > 0"
    ),
    "a link": (lambda: PowerLink(HUGE), "the exponent 1000", "makes no link"),
    "a radius": (lambda: INDEX.radius_neighbors(FRAME, radius=HUGE), "radius=1000", "a finite number"),
    "a limit": (lambda: D.counterfactual(FRAME[:1], FRAME[1:2], within=HUGE), "within=1000", "a finite number"),
    "a share": (lambda: SemimetricOutlierDetector(contamination=HUGE).fit(X), "contamination=1000", "a share"),
    "a function": (lambda: DistanceApproximator(lambda x, y: HUGE).fit(X), "int too large to convert to float", ""),
}  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
def test_a_number_too_large_for_floats_is_refused_where_it_comes_in(route):
    do, given, required = ROUTES[route]
    assert_refused(do, given, required)


def test_numbers_of_other_types_mean_their_floats():
    want = measured(alpha=0.5).semimetric_.weights
    np.testing.assert_array_equal(measured(alpha=np.float32(0.5)).semimetric_.weights, want)
    assert_refused(lambda: measured(alpha=Decimal("0.5")), "alpha=Decimal('0.5')", "finite number")


@pytest.mark.parametrize("cell", ["9" * 400, "-" + "9" * 400, "1e400", "9" * 5000], ids=lambda cell: str(len(cell)))
def test_a_cell_of_hundreds_of_digits_is_refused_at_the_command_line(cell, tmp_path, capsys):
    rows = [f"{k},{k % 7}.5,{k * k % 11}" for k in range(20)]
    items, spoilt = "id,a,b\n" + "\n".join(rows), "id,a,b\n" + "\n".join([*rows[:4], f"4,{cell},1", *rows[5:]])
    pairs = [f"{k},{k + 10},{k + 1}" for k in range(10)]
    bad = [*pairs[:3], f"3,13,{cell}", *pairs[4:]]
    for name, text in (("items", items), ("spoilt", spoilt)):
        (tmp_path / f"{name}.csv").write_text(text + "\n")
    for name, lines in (("pairs", pairs), ("bad", bad)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["left,right,distance", *lines]) + "\n")
    for first, second, place in (("spoilt", "pairs", "row 4"), ("items", "bad", "row 3")):
        code, out, err = call(
            capsys, "fit", tmp_path / f"{first}.csv", tmp_path / f"{second}.csv", "--id", "id", "--output", tmp_path / "m.smm"
        )
        assert (code, out) == (1, "")
        assert f"{place} of" in err
        assert "Traceback" not in err
