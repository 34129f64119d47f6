"""Whose version stands in a row of a benchmark."""

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("method", "package"),
    [("LIN", "scikit-learn"), ("RBF", "scikit-learn"), ("phi_2_d", "semimetric"), ("LIN newton", "semimetric")],
)
def test_linear_machines_by_our_newton_steps_are_ours(method, package):
    assert import_module("paper4").package_of(method) == package


def test_every_method_of_the_benchmark_of_clusterings_names_what_makes_its_clusters():
    clustering = import_module("clustering")
    found = {method: clustering.package_of(method) for method in clustering.METHODS}
    assert found.pop("k-means") == "scikit-learn"
    assert found.pop("k-medoids") == "kmedoids"
    assert {found.pop(f"{name}, k-means") for name in ("ITML", "MMC")} == {"metric-learn"}
    assert set(found.values()) == {"semimetric"}


def test_kept_rows_of_medoids_have_the_version_of_the_package_that_makes_them():
    report = import_module("report")
    versions = {
        row["version"] for row in report.read(report.RESULTS / "clustering.jsonl", "clustering") if row["method"] == "k-medoids"
    }
    assert versions
    assert all(version.startswith("kmedoids ") for version in versions)
