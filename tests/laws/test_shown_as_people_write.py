"""Values are shown as people write them: numbers, dates, yes and no; and what prints as a table has HTML for notebooks."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import semimetric as sm
from semimetric.data.schema import Schema

pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame(
    {
        "rent": [21_560.0, 21_570.0, 900.5, 950.0] * 10,
        "since": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-03-01 12:30", "2024-04-01"] * 10, format="ISO8601"),
        "balcony": [True, False, True, True] * 10,
        "district": ["<north>", "south", None, "south"] * 10,
    }
)
D = sm.gower(FRAME)
INDEX = sm.NeighborIndex(D).fit(FRAME)


class Cells(HTMLParser):
    """The cells of all tables of a page, and the tags that are open at its end."""

    def __init__(self):
        super().__init__()
        self.cells, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def cells_of(value):
    """The cells that a notebook shows of a value."""
    page = Cells()
    page.feed(value._repr_html_())
    assert not page.open
    return page.cells


def test_explanations_have_no_powers_of_ten_and_no_midnight():
    found = INDEX.explain(FRAME.iloc[0], n_neighbors=len(FRAME))
    cells = cells_of(found)
    text = repr(INDEX.explain(FRAME.iloc[0], ids=[1, 2]))
    for said in ("21,560", "900.5", "2024-01-01", "2024-03-01 12:30", "yes", "no", "<north>", "(missing)"):
        assert said in text
    assert not re.search(r"e\+|00:00", text + " ".join(cells))


def test_a_schema_is_a_table_of_its_columns():
    schema = Schema.fit(FRAME.assign(note=[f"note {k}" for k in range(40)]), missing="auto", drop=["note"])
    cells = cells_of(schema)
    assert cells[:4] == ["column", "read as", "values", "gaps"]
    assert cells[4:8] == ["rent", "numbers", "", ""]
    assert cells[12:16] == ["balcony", "yes or no", "", ""]
    assert cells[16:] == ["district", "categories", "<north>, south", "yes"]
    assert "left out: note" in schema._repr_html_()
    assert "1,950 more columns" in Schema.numeric([f"x{k}" for k in range(2000)])._repr_html_()


def test_truth_values_are_shown_as_such_and_read_again():
    schema = Schema.fit(FRAME[["balcony"]])
    codes = schema.encode(FRAME[["balcony"]])
    shown = schema.display(codes)
    assert shown[:2, 0].tolist() == [True, False]
    assert (schema.encode(shown) == codes).all()
    assert schema == Schema.numeric(["balcony"])  # it compares as a number does
    assert schema.display(np.array([[0.5]]))[0, 0] == 0.5
    gaps = Schema.fit(pd.DataFrame({"balcony": [True, None, False]}), missing="auto")
    assert (gaps.kinds, gaps.features[0].truth, gaps.missing) == (("numeric",), True, (True,))


def test_what_is_found_is_a_table(tmp_path):
    found = INDEX.search(FRAME[:12], 3)
    cells = cells_of(found)
    assert cells[:5] == ["query", "1.", "2.", "3.", "exact distances"]
    assert len(cells) == 5 * 11  # of ten queries
    assert cells[6].startswith(f"{found.ids[0, 0]} at ")
    assert "12 queries with 3 items each" in found._repr_html_()


def test_proofs_and_tables_are_tables():
    report = D.certify()
    cells = cells_of(report)
    assert cells[:2] == ["axiom", "proof"]
    assert dict(zip(cells[2::2], cells[3::2], strict=True)) == {n.replace("_", " "): p for n, p in report.proofs.items()}
    tables = D.tables()
    cells = cells_of(tables)
    assert cells[4::4] == list(tables) == list(D.feature_names)
    assert isinstance(tables, dict)


def test_the_range_of_times_is_of_dates():
    assert "2024-01-01 to 2024-04-01" in D._repr_html_()


def test_a_file_keeps_truth_values(tmp_path):
    plain = sm.gower(FRAME[["rent", "balcony"]])
    for d in (D, plain):
        d.save(tmp_path / "d.smm")
        again = sm.load(tmp_path / "d.smm").schema
        assert [f.truth for f in again.features] == [f.truth for f in d.schema.features]


def test_a_category_that_is_called_other_is_not_one_that_is_new():
    table = pd.DataFrame({"plan": ["(other)", "((other))", "basic"] * 10, "pay": np.arange(30.0)})
    schema = Schema.fit(table)
    assert schema.features[0].unseen_name == "(((other)))"
    new = schema.encode(pd.DataFrame({"plan": ["gold", "(other)"], "pay": [1.0, 2.0]}))
    shown = schema.display(new)
    assert shown[:, 0].tolist() == ["(((other)))", "(other)"]
    assert (schema.encode(shown) == new).all()
    frame = schema.frame(shown, np.arange(2))
    assert (schema.encode(frame) == new).all()
    levels = sm.gower(table).tables()["plan"].levels[0]
    assert len(set(levels)) == len(levels) == 4
    index = sm.NeighborIndex(sm.gower(table)).fit(table.assign(plan=["gold", "(other)", "basic"] * 10))
    again = index.get_items([0, 1], as_frame=True)
    assert (index.kneighbors(again, 1)[0] == 0).all()
    assert index.explain(again.iloc[[0]], n_neighbors=1).item[0] == "(((other)))"


def test_a_report_writes_dates_and_truth_values_as_people_do():
    text = sm.report(D, FRAME).to_markdown()
    assert "2024-01-01 to 2024-04-01" in text
    assert "no to yes" in text
    assert not re.search(r"00:00|True|False|e\+0", text.partition("Evidence")[0])


def test_items_of_a_frame_come_back_as_a_frame():
    found = INDEX.get_items([3, 1, 2], as_frame=True)
    assert list(found.index) == [3, 1, 2]
    want = FRAME.loc[[3, 1, 2]].astype({"district": found["district"].dtype, "since": found["since"].dtype})
    assert found.equals(want)
    assert [str(t).split("[")[0] for t in found.dtypes] == ["float64", "datetime64", "bool", "category"]
    assert (D.pairwise(found, FRAME[:5]) == D.pairwise(FRAME.loc[[3, 1, 2]], FRAME[:5])).all()
    other = sm.NeighborIndex(D).fit(FRAME.assign(district="west")).get_items([0], as_frame=True)
    assert other["district"].tolist() == ["(other)"]
    numbers = sm.NeighborIndex("l1").fit(FRAME[["rent"]].to_numpy()).get_items(7, as_frame=True)
    assert (list(numbers), numbers.iloc[0, 0], list(numbers.index)) == (["x0"], 950.0, [7])


@pytest.mark.slow
@pytest.mark.parametrize("model", [sm.SemimetricClassifier(), sm.SemimetricClassifier(predictor="neighbors", n_neighbors=3)])
def test_a_fitted_row_is_not_its_own_neighbour_where_asked(model):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(80), "b": rng.choice(["u", "v", None], 80)})
    X.loc[5] = X.loc[4]
    model.fit(X, X["a"] > 0.5)
    assert model.explain_neighbors(X.iloc[9], 3).indices[0] == 9
    without = model.explain_neighbors(X.iloc[9], 3, exclude_self=True)
    assert (len(without.indices), 9 in without.indices) == (3, False)
    assert list(without.indices) == list(model.explain_neighbors(X.iloc[9], 4).indices[1:])
    assert list(model.explain_neighbors(X.iloc[4], 1, exclude_self=True).indices) == [5]  # a twin is a neighbour
    new = X.iloc[9].replace({X.iloc[9]["a"]: 0.123})
    assert list(model.explain_neighbors(new, 3, exclude_self=True).indices) == list(model.explain_neighbors(new, 3).indices)
