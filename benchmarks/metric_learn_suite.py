"""How much of metric-learn's own test suite passes with this package's learners in the place of its own?

The source distribution of metric-learn 0.7.0 is downloaded by pip, or given by ``--source``, and its tests are run from a
temporary folder. When they are collected, its learners ITML, SCML, LSML and LMNN are ours (PairLearner, TripletLearner,
QuadrupletLearner, LargeMarginLearner), and so is the base of the pair learner that the tests themselves define; tests of other
learners are left out. Our learners have fixed numbers instead of "auto", for speed alone.

The tests run twice: strictly, as they stand, and without the assertions that compare the text of an error or a warning with
that of metric-learn. What fails the first time alone fails by wording only: what is accepted and refused is the same. Every
strict failure has its reason in the list `REASONS`, by the name of the test function, and is printed with it; a failure without
one, or a reason for a test that no longer fails, ends the run with the status 1. One line with the counts is appended to
``results/metric_learn_suite.jsonl``.
"""

import argparse
import ast
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "metric_learn_suite.jsonl"
RELEASE = "metric-learn==0.7.0"
NO_MATRIX = "the distance is no matrix: there are neither components_ nor get_mahalanobis_matrix(), to be read or set"
WHOLE_INPUT = "metric-learn's message prints all of the input; ours says its shape, and which is required"
PRIOR = "prior= is a distance here, neither a matrix, which could be singular, nor the name of one"
OTHER_ARGUMENTS = "it shows arguments of metric-learn's learner; ours has others"
REASONS = {
    "TestStringRepr::test_itml": OTHER_ARGUMENTS,
    "TestStringRepr::test_lmnn": OTHER_ARGUMENTS,
    "TestStringRepr::test_lsml": OTHER_ARGUMENTS,
    "TestTransformerMetricConversion::test_lmnn": NO_MATRIX,
    "test_calibrate_threshold_extreme": "its learner has a decision_function and no distance, by which ours calibrates",
    "test_check_input_pairs_learners_invalid_y": "metric-learn's message does not say which values y has; ours does",
    "test_components_is_2D": NO_MATRIX,
    "test_deterministic_initialization": NO_MATRIX + "; and " + PRIOR,
    "test_embed_dim": WHOLE_INPUT,
    "test_embed_is_linear": "transform follows one curve a feature: it is not linear",
    "test_embed_toy_example": NO_MATRIX,
    "test_error_message_t_pair_distance_or_score": "it calls the private _check_preprocessor; and " + WHOLE_INPUT,
    "test_error_message_tuple_size": "it reads the private _tuple_size; and " + WHOLE_INPUT,
    "test_found_score_is_best_score": "it takes minus decision_function for the distance, from which ours subtracts threshold_",
    "test_found_score_is_best_score_duplicates": "as test_found_score_is_best_score",
    "test_get_metric_equivalent_to_explicit_mahalanobis": NO_MATRIX,
    "test_get_metric_works_does_not_raise": "it gives rows (1, n_features), which SciPy refuses too, and sets components_",
    "test_no_zero_prediction": "it sets components_ for a Euclidean distance, of which it needs two that are equal",
    "test_pair_distance_dim": WHOLE_INPUT,
    "test_pair_distance_pairwise": "squares of our distances have a higher rank than those of a linear transform",
    "test_pair_distance_toy_example": NO_MATRIX,
    "test_raise_big_number_of_features": "three triplets of four features are too few for SCML's basis; ours makes none",
    "test_raise_not_fitted_error_if_not_fitted": NO_MATRIX,
    "test_score_pairs_warning": "metric-learn's warning names a release of its own, and a method that does not exist",
    "test_singular_array_init_or_prior_strictpd": PRIOR,
    "test_singular_covariance_init_or_prior_strictpd": PRIOR,
    "test_unset_threshold": "fit always sets threshold_; only the learner that the test makes does not",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, help="the .tar.gz of metric-learn, or the folder that it unpacks to")
    parser.add_argument("--list", action="store_true", help="print the name of every test that fails")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = unpacked(arguments.source or download(folder), folder)
        start = time.perf_counter()
        strictly = run(source)
        leave_words_out(source)
        without_words = run(source)
        seconds = time.perf_counter() - start
    failed = sorted(name for name, outcome in strictly.items() if outcome == "failed")
    in_words = [name for name in failed if without_words.get(name) != "failed"]
    counts, in_words_alone = (Counter(map(function_of, names)) for names in (failed, in_words))
    if arguments.list:
        print(*failed, "", sep="\n")
    for function, count in sorted(counts.items()):
        words = " (wording only)" if in_words_alone[function] == count else ""
        print(f"{count} x {function}{words}: {REASONS.get(function, 'no reason is listed')}")
    line = {
        "benchmark": "metric-learn suite", "release": RELEASE, "tests": len(strictly), "failed_strictly": len(failed),
        "failed_by_wording_only": len(in_words), "failed_otherwise": len(failed) - len(in_words), "failures": counts,
        "seconds": round(seconds, 1), "date": datetime.now(UTC).isoformat(), "version": version("semimetric"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }  # fmt: skip
    print(
        f"{len(failed)} of {len(strictly)} tests fail strictly: {len(in_words)} by wording only, "
        f"{len(failed) - len(in_words)} otherwise"
    )
    if not strictly or set(counts) != set(REASONS):
        sys.exit(f"no test ran, or these have no reason, or one that is not needed: {sorted(set(counts) ^ set(REASONS))}")
    with RESULTS.open("a") as file:
        file.write(json.dumps(line) + "\n")


def download(folder: Path) -> Path:
    """The source distribution, fetched by pip."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", RELEASE, "-d", str(folder)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.tar.gz"))


def unpacked(source: Path, folder: Path) -> Path:
    """A copy in ``folder`` of what a source distribution holds: the packages ``metric_learn`` and ``test``."""
    target = folder / "source"
    if source.is_dir():
        shutil.copytree(source, target / source.name)
    else:
        with tarfile.open(source) as archive:
            archive.extractall(target, filter="data")
    found = next(target.iterdir())
    (found / "test" / "__init__.py").touch()  # which the distribution lacks, and its tests import one another by
    return found


def leave_words_out(source: Path) -> None:
    """Take out of the tests what compares the text of an error or a warning."""

    class Silent(ast.NodeTransformer):
        def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802
            text = ast.unparse(node.test)
            return ast.Pass() if "str(" in text and (".value)" in text or ".message)" in text) else node

    for path in (source / "test").glob("test_*.py"):
        path.write_text(ast.unparse(ast.fix_missing_locations(Silent().visit(ast.parse(path.read_text())))))


def run(source: Path) -> dict[str, str]:
    """The outcome of every test that touches a learner of ours, by its name."""
    outcomes = source / "outcomes.json"
    outcomes.unlink(missing_ok=True)
    paths = os.pathsep.join([str(source), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    options = ["-q", "--no-header", "--tb=no", "-rN", "-W", "ignore", "-p", "no:cacheprovider", "-p", Path(__file__).stem]
    command = [sys.executable, "-m", "pytest", *options, str(source / "test")]
    environment = os.environ | {"PYTHONPATH": paths, "METRIC_LEARN_OUTCOMES": str(outcomes)}
    subprocess.run(command, cwd=source, env=environment, check=False)
    return json.loads(outcomes.read_text()) if outcomes.exists() else {}


def function_of(name: str) -> str:
    """The name of the test function, without its file and parameters, and with its class if it has one."""
    return name.partition("::")[2].partition("[")[0]


# What follows is called by pytest, which runs with this file as a plugin.


def pytest_configure(config) -> None:  # noqa: ANN001
    accept_what_they_call()
    swap_learners()


def accept_what_they_call() -> None:
    """Give pytest and scikit-learn the arguments back that they had when the tests were written."""
    import warnings
    from inspect import signature

    import pytest
    import sklearn.utils.validation as validation

    warns = pytest.warns

    def warns_or_not(expected=Warning, *args, **options):  # noqa: ANN001, ANN002, ANN003, ANN202
        return warnings.catch_warnings(record=True) if expected is None else warns(expected, *args, **options)

    pytest.warns = warns_or_not

    def renamed(check):  # noqa: ANN001, ANN202
        def call(*args, force_all_finite=True, **options):  # noqa: ANN001, ANN002, ANN003, ANN202
            return check(*args, ensure_all_finite=force_all_finite, **options)

        return call

    import metric_learn._util as util

    for name in ("check_array", "check_X_y"):
        if "force_all_finite" not in signature(getattr(validation, name)).parameters:
            setattr(util, name, renamed(getattr(validation, name)))


def swap_learners() -> None:
    """Put our learners under the names of metric-learn's."""
    import metric_learn
    import metric_learn.base_metric as base
    import numpy as np

    from semimetric import Grid, LargeMarginLearner, PairLearner, QuadrupletLearner, Semimetric, TripletLearner
    from semimetric.distances.pairs.monotone_scales import WarpedEmbedding

    class Pairs(PairLearner):
        """The base of pair learners, with the name that metric-learn gives the check of arguments."""

        _validate_calibration_params = staticmethod(PairLearner.validate_calibration_params)

    class Learned:
        """What stands for a learned Mahalanobis distance: the L1 distance of the items of the pairs."""

        def _prepare_inputs(self, pairs, y, type_of_inputs):  # noqa: ANN001, ANN202
            grid = Grid.fit(np.concatenate(pairs), n_knots=2)
            embedding = WarpedEmbedding(grid)
            names = tuple(f"x{k}" for k in range(grid.n_features))
            self.n_features_in_ = grid.n_features
            self.semimetric_ = Semimetric(embedding, embedding.prior(np.ones(grid.n_features)), np.ones(grid.n_features), names)
            return np.asarray(pairs), y

    fixed = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped"}
    for name, ours in {"ITML": Pairs, "SCML": TripletLearner, "LSML": QuadrupletLearner, "LMNN": LargeMarginLearner}.items():
        named = type(name, (ours,), {"__module__": __name__})
        globals()[name] = named  # where pickle finds it

        def make(learner=named, **theirs):  # noqa: ANN001, ANN003, ANN202
            return learner(**fixed)

        setattr(metric_learn, name, make)
    base._PairsClassifierMixin, base.MahalanobisMixin = Pairs, Learned


NOT_PARAMETRIZED = {
    "TestStringRepr::test_itml", "TestStringRepr::test_lsml", "TestStringRepr::test_lmnn", "TestFitTransform::test_lmnn",
    "TestTransformerMetricConversion::test_lmnn", "TestSklearnCompat::test_lmnn", "test_raise_big_number_of_features",
}  # fmt: skip


def touches_ours(item) -> bool:  # noqa: ANN001
    """Whether a test is of a learner that is ours."""
    if item.path.stem == "test_pairs_classifiers" and not hasattr(item, "callspec"):
        return True
    if not hasattr(item, "callspec"):
        return any(item.nodeid.endswith(name) for name in NOT_PARAMETRIZED)
    estimator = item.callspec.params.get("estimator")
    if estimator is None:
        return item.path.stem == "test_pairs_classifiers"
    kinds = (estimator if isinstance(estimator, type) else type(estimator)).__mro__
    return any(kind.__module__.startswith("semimetric.") for kind in kinds)


def pytest_collection_modifyitems(items) -> None:  # noqa: ANN001
    items[:] = [item for item in items if touches_ours(item)]


_outcomes: dict[str, str] = {}


def pytest_runtest_logreport(report) -> None:  # noqa: ANN001
    if report.when == "call" or report.failed:
        _outcomes[report.nodeid] = "failed" if report.failed else _outcomes.get(report.nodeid, report.outcome)


def pytest_sessionfinish() -> None:
    Path(os.environ["METRIC_LEARN_OUTCOMES"]).write_text(json.dumps(_outcomes))


if __name__ == "__main__":
    main()
