import pickle

import numpy as np
import pytest

from semimetric import DistanceRegressor, SemimetricWarning
from semimetric._foundation import errors


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "warn"])
def test_one_base_catches_everything_that_is_raised_on_purpose(name):
    kind = getattr(errors, name)
    base = errors.SemimetricWarning if issubclass(kind, Warning) else errors.SemimetricError
    assert issubclass(kind, base)


@pytest.mark.parametrize(
    ("name", "builtin"), [("InputError", ValueError), ("StorageError", ValueError), ("MissingExtraError", ImportError)]
)
def test_errors_are_also_the_builtin_that_one_expects(name, builtin):
    assert issubclass(getattr(errors, name), builtin)


def test_a_failed_call_keeps_what_was_evaluated_through_pickling():
    error = errors.DistanceCallError("it failed", (3, 4), np.array([[0, 1]]), np.array([2.5]))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.pair) == ("it failed", (3, 4))
    assert (again.pairs == [[0, 1]]).all()
    assert (again.distances == [2.5]).all()


def test_a_warning_points_to_the_line_of_the_caller():
    pairs = np.random.default_rng(0).random((50, 2, 2)) * [1.0, 0.0]
    with pytest.warns(SemimetricWarning, match="feature x1 is constant") as caught:
        DistanceRegressor(n_knots=3, alpha=1e-3).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    assert {w.filename for w in caught} == {__file__}
