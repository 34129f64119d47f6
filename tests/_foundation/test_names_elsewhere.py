"""Names of other packages and what serves for them here."""

from semimetric._foundation.names_elsewhere import name_here


def test_a_name_of_metric_learn_is_answered_by_one_of_ours():
    assert name_here("LMNN").startswith("did you mean LargeMarginLearner? LMNN is a name of metric-learn")
    assert "QuadrupletLearner" in name_here("LSML")
    assert name_here("nothing") == ""
