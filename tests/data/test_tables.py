"""Tables are split into features, ids and labels, and their columns of text may be categories."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric.data.schema import Schema
from semimetric.data.tables import split_table

pd = pytest.importorskip("pandas")
FRAME = pd.DataFrame({"name": ["01", "b", "c"], "kind": [1.0, 2.0, 1.0], "colour": ["red", None, "blue"], "width": [1, 2, 3]})


def test_a_table_is_split_into_features_ids_and_labels():
    table = split_table(FRAME, id="name", label="kind")
    assert list(table.frame.columns) == ["colour", "width"]
    assert (table.ids.tolist(), table.labels.tolist(), table.is_named) == (["01", "b", "c"], ["1", "2", "1"], True)
    numbered = split_table(FRAME)
    assert (numbered.ids.tolist(), numbered.labels, numbered.is_named) == ([0, 1, 2], None, False)
    assert list(numbered.frame.columns) == list(FRAME.columns)


def test_what_is_no_id_or_label_is_refused():
    assert_refused(lambda: split_table(FRAME, id="key", name="t.csv"), "t.csv has no column 'key'", "its columns are name")
    assert_refused(lambda: split_table(FRAME, id="kind"), "the id '1' is on more than one row", "every item needs its own")
    assert_refused(lambda: split_table(FRAME, label="colour"), "row 1 of X has no colour", "fill it in")
    assert_refused(lambda: split_table(FRAME, id="name", label="name"), "both the column 'name'", "two columns are required")


@pytest.mark.parametrize("frame", [FRAME[["colour", "width"]], FRAME[["colour", "width"]].to_numpy()])
def test_columns_of_text_are_categories(frame):
    schema = Schema.fit(frame, missing="level")
    assert schema.kinds == ("categorical", "numeric")
    np.testing.assert_array_equal(schema.encode(frame), [[1, 1], [np.nan, 2], [0, 3]])
    assert_refused(lambda: Schema.fit(frame, categorical_features="text"), "categorical_features", "'auto'")
