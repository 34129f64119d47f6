"""Names that somebody may have meant."""

import numpy as np

from semimetric._foundation.names import did_you_mean


def test_up_to_three_names_that_are_spelt_alike_are_offered():
    known = ["f000", "f001", "f010", "g9", 3]
    assert did_you_mean("f0010", known) == "; did you mean 'f001', 'f000' or 'f010'?"
    assert did_you_mean("F001", known).startswith("; did you mean 'f001'")
    assert did_you_mean("g8", ["g9", "zebra"]) == ""  # half of the letters are not much alike
    assert did_you_mean("bottel", ["bottle", "zebra"]) == "; did you mean 'bottle'?"
    assert did_you_mean("ab", ["abc", "abd"]) in ("; did you mean 'abd' or 'abc'?", "; did you mean 'abc' or 'abd'?")


def test_nothing_is_offered_for_numbers_or_where_nothing_is_alike():
    assert did_you_mean(17, ["17"]) == ""
    assert did_you_mean("wine", ["123", "456"]) == ""
    assert did_you_mean("wine", []) == ""


def test_of_many_names_the_one_that_was_meant_is_found():
    known = np.array([f"item{k:06d}" for k in range(60_000)])
    assert did_you_mean("item05432", known) == "; did you mean 'item054320', 'item054321' or 'item054322'?"
    assert "'item054321'" in did_you_mean("ITEM054321", known.tolist())
