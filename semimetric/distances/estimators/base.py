"""The base of every learner of a distance, and of those with a `transform`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_cells, as_vector, check_feature_names, record_features, validated
from ..._foundation.errors import InputError, NotSupportedError, silent, warn
from ..._foundation.estimator import NestedParameters, SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Stored, StoredIfSet
from ..._foundation.types import ArrayLike, Floats, Pairs, Tuples
from ..._foundation.validation import check_items, check_tuples
from ...data.feature_groups import JointGroups
from ...data.rows import item_rows, items_named, warn_of_integer_index
from ...data.schema import MISSING_ADVICE, Names, Schema, feature_names
from ...data.stored_frames import StoredFrame
from ..learning.options import Recipe
from ..learning.program import BuiltProgram
from ..learning.search import Choices
from ..learning.settings import MOVED, Columns, Program, Tables
from ..model.item_statistics import warn_outside_once
from ..model.semimetric import Semimetric
from ..programs.program import ConvexProgram
from ..solvers.base import Solution
from .part_tasks import refuse_parts

T = TypeVar("T", bound=Tuples)

_OF_FEATURES = ("n_knots", "tables__knots", "tables__groups", "program__constraints")  # which may name them by number
_MOST_FOLDS = 12  # more than "auto" ever compares on


def has_coordinates(learner: LearnedDistance) -> bool:
    """Return True if a learner has `transform`: by its parameters and, once fitted, by the tables of its distance.

    Scales of numbers and trees with one weight each have coordinates; those of categories and angles depend on the data. The
    AttributeError of a learner without `transform` has as its cause the error that says what is missing.
    """
    given = learner.parameter_source
    same = getattr(given, "link", "identity") in ("identity", "auto")  # which is the identity of scales
    if not same or not learner.has_scales or len(Tables.of(getattr(given, "tables", "warped")).base_distances):
        raise NotSupportedError(
            'transform is for models whose parameters make one scale a feature: tables="warped", link="identity", '
            "no base distances; set these, or use semimetric_.pairwise(X) as a precomputed metric"
        )
    return not hasattr(learner, "semimetric_") or bool(learner.semimetric_.coordinate_names)


def _encoder(schema: Schema | None) -> Callable[[Any], Floats] | None:
    return None if schema is None or schema.encoded or schema.known_by_names else schema.encode


def _has_numbers(value: Any) -> bool:
    """Return True for sequences, of sequences or of constraints, that name features by number, or by their order."""
    value = getattr(value, "features", getattr(value, "groups", value))
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, list | tuple) and any(isinstance(v, Real) or _has_numbers(v) for v in value)


def _check_printable(choices: Choices) -> None:
    """Refuse choices of which no table can be printed."""
    if max((len(c.losses) for c in choices), default=0) > _MOST_FOLDS:
        raise InputError(f"candidates have losses of more than {_MOST_FOLDS} folds, which nothing compares; restore the file")
    try:
        repr(choices)
    except (TypeError, ValueError, LookupError, ArithmeticError, StopIteration) as error:
        raise InputError(f"what was compared cannot be printed ({error}); restore the file") from error


class LearnedDistance(ShortRepr, SavedEstimator, NestedParameters):
    """A learner with `semimetric_`; the methods have metric-learn's names.

    Attributes
    ----------
    semimetric_ : Semimetric
        The learned distance: a frozen value, callable, that saves, plots and explains itself.
    solution_ : Solution
        Objective, certified gap, iterations, status and which solver was chosen.
    n_features_in_ : int
    """

    semimetric_: Stored[Semimetric]
    solution_: Stored[Solution]
    recipe_: Stored[Recipe]
    choices_: Stored[Choices]
    group_choices_: StoredIfSet[Choices]
    link_choices_: StoredIfSet[Choices]
    n_features_in_: Stored[int]
    feature_names_in_: StoredIfSet[NDArray[Any]]
    preprocessor: ArrayLike | Callable[[NDArray[Any]], Any] | None
    columns: Columns | None

    _learns_from_items: ClassVar[bool] = False  # and not from tuples, which have three axes or are row numbers

    _moved = MOVED

    def _nested(self) -> dict[str, Callable[[Any], BaseEstimator | None]]:
        made = {"columns": Columns.meant_by, "tables": Tables.meant_by, "program": Program.meant_by}
        return {name: make for name, make in made.items() if hasattr(self, name)}

    @property
    def parameter_source(self) -> Any:
        """The learner whose parameters say how to learn: this one, or the one that it is given."""
        return self

    @property
    def columns_given(self) -> Columns:
        """The kinds of the features that the parameters give."""
        return Columns.of(self.parameter_source.columns)

    def stored_parameters(self) -> dict[str, Any]:
        """Return the parameters as a file holds them, with a frame by its columns."""
        values = super().stored_parameters()
        if (frame := StoredFrame.of(values.get("preprocessor"), "preprocessor")) is not None:
            values["preprocessor"] = frame
        return values

    def check_restored(self) -> None:
        if hasattr(self, "recipe_"):
            self._recipe()
            self.recipe_.checked()
        check_names(self, self.semimetric_.n_features)
        for name in ("choices_", "group_choices_", "link_choices_", "table_choices_"):
            _check_printable(getattr(self, name, Choices()))

    def _recipe(self) -> Any:
        """Return the parameters as a recipe, all checked."""
        raise NotImplementedError

    def recipe_for_parts(self) -> Recipe:
        """Return the recipe by which `semimetric.out_of_core` learns from data in parts, after its check.

        Here it refuses, as most learners do not learn from parts.
        """
        raise refuse_parts(self)

    def _read(self, tuples: ArrayLike, kind: type[T]) -> tuple[T, Names]:
        """Return tuples to learn from, and the schema or the names of their features, which are recorded."""
        rows, items = item_rows(tuples, self.preprocessor, kind.name[:-1])
        schema = self._schema_of_tuples(rows, kind, items)
        checked = check_tuples(rows, kind, items, encode=_encoder(schema), advice=MISSING_ADVICE)
        names = self._names(rows if items is None else items, checked.items.shape[1], schema)
        return checked, schema or names

    def _known(self, tuples: ArrayLike, kind: type[T]) -> T:
        """Return tuples for the fitted model, encoded by its schema."""
        check_is_fitted(self, "semimetric_")
        d, (rows, items) = self.semimetric_, item_rows(tuples, self.preprocessor, kind.name[:-1])
        return check_tuples(
            rows, kind, items, n_features=self.n_features_in_, names=d.feature_names, encode=_encoder(d.schema),
            advice=MISSING_ADVICE,
        )  # fmt: skip

    def _schema(self, X: Any, *, name: str = "X") -> Schema | None:
        """Return the schema of a table X; None for an array if no parameter describes its columns, which are then numbers.

        If columns would be left out, parameters that name features by number are refused.
        """
        if self.only_numbers and not hasattr(X, "columns"):
            return None
        schema = self.columns_given.read(X, name)
        if schema.dropped and isinstance(self.columns_given.drop, str) and (parameter := self._numbered_by):
            raise InputError(
                f"{parameter} names features by number, and the columns {', '.join(schema.dropped)} of {name} are no features, "
                "so that the numbers of others would change; name features by their names, or say Columns(drop=)"
            )
        return schema

    @property
    def _numbered_by(self) -> str:
        """The parameter that names features by number, or by their order; "" if none does."""
        params = self.parameter_source.get_params()
        if not (params.get("directions") is None or isinstance(params["directions"], str)):
            return "directions="
        return next((f"{name}=" for name in _OF_FEATURES if _has_numbers(params.get(name))), "")

    def _schema_of_tuples(self, tuples: ArrayLike, kind: type[Tuples], items: Any) -> Schema | None:
        """Return `_schema` of the items of tuples, which are row numbers of ``items``, or points without."""
        if items is not None:
            warn_of_integer_index(tuples, self.preprocessor)
            return self._schema(items, name="preprocessor")
        if self.only_numbers:
            return None
        name = kind.name
        points = as_cells(tuples, name)
        is_table = points.ndim == 3 and points.shape[2] > 0
        return self._schema(points.reshape(-1, points.shape[2]), name=name) if is_table else None

    def read_items(self, X: Any, *, min_items: int) -> tuple[Floats, Schema]:
        """Return the table X to learn from as encoded items, with its schema, and record the names of its columns."""
        given = self._schema(X)
        read = partial(check_items, advice=MISSING_ADVICE) if given is None else given.encode
        items = read(X, min_items=min_items)
        names = self._names(X, items.shape[1], given)
        return items, given or Schema.numeric(names)

    @property
    def only_numbers(self) -> bool:
        """True if no parameter says that a feature of an array is anything but a number that is there."""
        return self.columns_given.only_numbers

    def pair_distance(self, pairs: ArrayLike) -> Floats:
        """Return learned distances, shape (n_pairs,), float64; warn once if many items lie outside the range.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) row numbers or labels with ``preprocessor``
        """
        checked = self._known(pairs, Pairs)
        warn_outside_once(self.semimetric_, checked.used)
        return self.semimetric_.paired_by_index(checked.items, checked.index, n_jobs=getattr(self, "n_jobs", None))

    def pair_score(self, pairs: ArrayLike) -> Floats:
        """Return minus the distance: larger is more alike."""
        return -self.pair_distance(pairs)

    def score_pairs(self, pairs: ArrayLike) -> Floats:
        """Return `pair_distance`, by a name that metric-learn has given up; a FutureWarning says so."""
        warn("score_pairs is a name of before for distances; call pair_distance, or pair_score for similarities", FutureWarning)
        return self.pair_distance(pairs)

    def get_metric(self) -> Semimetric:
        """Return the distance as a callable of two vectors: a ``metric`` for scikit-learn and UMAP, and picklable.

        It does not change if the model is fitted again. A call takes microseconds for models of numbers, see
        `Semimetric.__call__`; for joint groups, categories, missing values and base distances, and for many points in any case,
        ``semimetric_.pairwise(X)`` with ``metric="precomputed"`` is faster.
        """
        check_is_fitted(self, "semimetric_")
        return self.semimetric_

    @property
    def columns_(self) -> Schema:
        """Kinds of the columns as they were read; printed, a line. ``columns_.dropped`` are those that were left out."""
        check_is_fitted(self, "semimetric_")
        return self.semimetric_.schema

    @property
    def groups_(self) -> tuple[tuple[int, ...], ...]:
        """Features that have a table together, or alone, by number: of directions those behind the raw features."""
        check_is_fitted(self, "semimetric_")
        return self.semimetric_.embedding.groups

    @property
    def has_scales(self) -> bool:
        """True if the parameters ask for one scale a feature, whatever the data are."""
        return Tables.of(self.parameter_source.tables).kind == "warped"

    @available_if(has_coordinates)
    def transform(self, X: ArrayLike) -> Floats:
        """Return coordinates whose L1 distance is the learned distance, for scales and for trees with one weight each.

        Parameters
        ----------
        X : array-like of shape (n_items, n_features), or (n_items,) row numbers or labels with ``preprocessor``
        """
        check_is_fitted(self, "semimetric_")
        return self.semimetric_.transform(self._points(X))

    def _points(self, X: Any) -> Any:
        return items_named(X, self.preprocessor)

    @available_if(has_coordinates)
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return names of the columns of `transform`: features, directions ("discriminant0"), leaves ("tree3 leaf 5")."""
        check_is_fitted(self, "semimetric_")
        check_feature_names(self, input_features)
        return np.array(self.semimetric_.coordinate_names, dtype=object)

    def _record(self, semimetric: Semimetric, solution: Solution, built: BuiltProgram | str) -> None:
        """Record what was learned; an interrupted solution is recorded too, and then KeyboardInterrupt is raised."""
        self.semimetric_, self.solution_, self._built = semimetric, solution, built
        solution.raise_if_interrupted(kept=True)

    @property
    def program_(self) -> ConvexProgram:
        """The convex program that ``semimetric_`` solves, with its constraints, in the units of ``solution_``.

        ``program_.to_cvxpy()`` is the problem for CVXPY, to add terms to; `semimetric_from_weights` makes a distance of its
        solution. A model holds the program in the process that fitted it, if its arrays take at most 64 MiB. Pickles, copies
        and saved files do not hold it.

        Raises
        ------
        AttributeError
            If the model holds no program; the message says why.
        """
        return self._held_program().program

    def semimetric_from_weights(self, weights: ArrayLike) -> Semimetric:
        """Return the distance that weights of ``program_`` make, in the unit of the data, as the fit makes its own.

        Parameters
        ----------
        weights : array-like of shape (n,)
            In the units of the program, as the solution of ``program_.to_cvxpy()``. They are moved into the constraints by the
            tolerance of a solver.

        Raises
        ------
        AttributeError
            If the model holds no program; the message says why.
        InputError
            If they are not n finite numbers, or violate the constraints by more than a tolerance.
        """
        return self._held_program().semimetric(as_vector(weights, "weights"))

    def _held_program(self) -> BuiltProgram:
        check_is_fitted(self, "semimetric_")
        built = getattr(self, "_built", "pickles, copies and files do not hold it; fit again")
        if isinstance(built, str):
            raise AttributeError(f"this {type(self).__name__} holds no program: {built}")
        return built

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_built"}

    @property
    def auto_numbers(self) -> dict[str, bool]:
        """True for "knots" and "alpha" if used and "auto": given knots have numbers, and given penalties strengths."""
        given = self.parameter_source
        return {
            "knots": isinstance(given.n_knots, str) and isinstance(Tables.of(given.tables).knots, str),
            "alpha": isinstance(given.alpha, str) and isinstance(Program.of(given.program).penalty, str),
        }

    def _own_knots(self) -> AbstractContextManager[None]:
        """Silence the "fewer knots" warning while the number of knots is chosen automatically."""
        source = self.parameter_source
        groups = Tables.of(source.tables).groups
        given = not isinstance(source.n_knots, str) or (isinstance(groups, JointGroups) and groups.n_knots is not None)
        return silent(*(() if given else ("fewer knots",)))

    def _numbers(self) -> dict[str, Any]:
        """Return the values of n_knots and alpha that are not "auto", by name."""
        given = {}
        for name in ("n_knots", "alpha"):
            value = getattr(self.parameter_source, name)
            if isinstance(value, str) and value != "auto":
                raise InputError(f'{name}={value!r} must be a number or "auto"')
            if not isinstance(value, str):
                given[name] = value.tolist() if isinstance(value, np.ndarray) else value
        return given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        columns = self.columns_given
        tags.input_tags.allow_nan = columns.may_miss
        tags.input_tags.sparse = self._learns_from_items
        tags.input_tags.categorical = columns.categorical is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "semimetric_")

    def _names(self, source: Any, n_features: int, schema: Schema | None = None) -> Sequence[str]:
        """Return the names of the features, and record them if ``source`` is a frame with these columns."""
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        names = schema.names if schema is not None and schema.dropped else feature_names(source, n_features)
        if getattr(source, "columns", None) is not None and len(names) == n_features:
            self.feature_names_in_ = np.array(names, dtype=object)
        return names


class LearnedCoordinates(TransformerMixin, LearnedDistance):
    """A learner from items, a transformer of scikit-learn: `transform` checks features as its other transformers do."""

    def transform(self, X: ArrayLike) -> Floats:
        """Return coordinates whose L1 distance is the learned distance.

        A scale is a coordinate, and a tree has one for each of its leaves; ``semimetric_.transform`` makes them sparse. The
        parameters must ask for no other tables, so that a pipeline knows before. A model fitted to categories or angles lacks
        it, unless any two of the categories are equally far apart, as two are.

        Parameters
        ----------
        X : array-like or frame of shape (n_items, n_features), or (n_items,) row numbers or labels with ``preprocessor``
        """
        check_is_fitted(self, "semimetric_")
        d, X = self.semimetric_, items_named(X, self.preprocessor)
        if d.schema.table(X) is not X:  # a frame whose columns are taken by name
            return d.transform(X)
        if not d.schema.plain:
            record_features(self, X, reset=False)
            return d.transform(X)
        return d.transform(validated(self, X, reset=False, dtype=np.float64))


# The mixin wraps the transform that a class defines for `set_output`, and would wrap a condition inside, where nobody asks it.
for _name in ("transform", "fit_transform"):
    setattr(LearnedCoordinates, _name, available_if(has_coordinates)(getattr(LearnedCoordinates, _name)))
