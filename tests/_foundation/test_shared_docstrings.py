"""Shared descriptions of parameters arrive whole in the docstring of a class, and in nothing else."""

import inspect
import subprocess
import sys

import pytest

from semimetric import DistanceRegressor
from semimetric._foundation.shared_docstrings import with_shared_parameters

SHARED = """
n_jobs : int or None, default None
    Threads: None is one,
    -1 all.

    A paragraph.
verbose : bool, default False
    Progress bars.
"""


def test_a_placeholder_becomes_the_entry_and_lines_below_it_add_to_it():
    @with_shared_parameters(SHARED)
    class Learner:
        """Learns.

        Parameters
        ----------
        {verbose}
            Of every pass.
        {n_jobs}
        """

    assert inspect.getdoc(Learner) == (
        "Learns.\n\nParameters\n----------\nverbose : bool, default False\n    Progress bars.\n    Of every pass.\n"
        "n_jobs : int or None, default None\n    Threads: None is one,\n    -1 all.\n\n    A paragraph."
    )


def test_the_later_text_counts_and_braces_in_a_line_are_left():
    @with_shared_parameters(SHARED, "verbose : {0, 1}, default 0")
    class Learner:
        """Learns.

        {verbose}
        {1, 2}, and {verbose} in a line.
        """

    assert inspect.getdoc(Learner) == "Learns.\n\nverbose : {0, 1}, default 0\n{1, 2}, and {verbose} in a line."


def test_a_class_without_a_docstring_is_left_as_it_is():
    class Learner:
        pass

    assert with_shared_parameters(SHARED)(Learner) is Learner
    assert Learner.__doc__ is None


def test_a_parameter_that_no_text_describes_is_an_error():
    class Learner:
        """{alpha}"""

    with pytest.raises(KeyError, match="alpha"):
        with_shared_parameters(SHARED)(Learner)


def test_the_package_is_imported_without_docstrings():
    code = "import semimetric, sys; sys.exit(semimetric.DistanceRegressor.__doc__ is not None)"
    assert subprocess.run([sys.executable, "-OO", "-c", code], check=False).returncode == 0


def test_no_placeholder_is_left_in_a_docstring():
    assert "{n_knots}" not in (DistanceRegressor.__doc__ or "")
    assert "n_knots : int, sequence of int or" in DistanceRegressor.__doc__
