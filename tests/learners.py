"""Learners whose settings are given flat, by the names of a recipe: tests list them in tables and merge these."""

from inspect import signature

from semimetric import Columns, DistanceApproximator, DistanceRegressor, Program, Tables, Triplets

VALUES = {
    "columns": (Columns, {"categorical_features": "categorical", "periodic": "periodic", "missing": "missing", "drop": "drop"}),
    "tables": (
        Tables,
        {n: n for n in ("groups", "knots", "factors", "symmetry", "outside", "delta", "base_distances", "base_exponents")},
    ),
    "program": (Program, {name: name for name in ("penalty", "constraints", "prior", "relative", "solver")}),
    "triplets": (Triplets, {"n_impostors": "n_impostors", "mu": "mu", "n_passes": "n_passes", "base": "base"}),
}


def nested(kind, **settings):
    """The arguments of a learner, of which flat settings are made."""
    for name, (make, names) in VALUES.items():
        given = {names[key]: settings.pop(key) for key in names if key in settings}
        if given and name == "tables":
            given["kind"] = settings.pop("tables", signature(kind).parameters["tables"].default)
        if given:
            settings[name] = make(**given)
    return settings


def made(kind, *arguments, **settings):
    """An unfitted learner with flat settings; those of an approximator that are not its own are its learner's."""
    if not issubclass(kind, DistanceApproximator):
        return kind(*arguments, **nested(kind, **settings))
    own = {key: settings.pop(key) for key in signature(kind).parameters if key in settings}
    seed = {key: own[key] for key in ("random_state",) if key in own}
    learner = DistanceRegressor(**nested(DistanceRegressor, **settings), **seed) if settings or seed else None
    return kind(*arguments, **own, learner=learner)
