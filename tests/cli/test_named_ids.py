"""Ids that pairs name and no item has are told from the tables alone."""

import gzip
import subprocess
import sys
from argparse import Namespace

import pytest

from semimetric import InputError
from semimetric.cli.table_names import check_named_ids
from semimetric.data.keys import as_key

ITEMS = 'name,width\n"a,1",1\n\n03,2\n7.0,3\n'


def arguments(folder, pairs, **changes):
    (folder / "items.csv").write_text(ITEMS)
    (folder / "pairs.csv").write_text("left,right,distance\n" + pairs)
    given = {
        "items": "items.csv",
        "pairs": "pairs.csv",
        "other": None,
        "id": "name",
        "left": "left",
        "right": "right",
    } | changes
    paths = {name: str(folder / given[name]) for name in ("items", "pairs", "other") if given[name]}
    return Namespace(**given | paths)


def test_ids_are_read_as_the_tables_are(tmp_path):
    check_named_ids(arguments(tmp_path, '"a,1",03,1\n7,7.000,1\n'))
    with pytest.raises(InputError, match=r"'3' is no id of .*items\.csv; correct it"):
        check_named_ids(arguments(tmp_path, '7,3,1\n"a,1",03,1\n'))
    with pytest.raises(InputError, match="'a,l' is no id of .*; did you mean 'a,1'"):
        check_named_ids(arguments(tmp_path, '"a,l","a,1",1\n'))


def test_the_sides_may_name_items_of_two_tables_of_any_form(tmp_path):
    with gzip.open(tmp_path / "other.tsv.gz", "wt") as file:
        file.write("name\twidth\nx\t1\ny\t2\n")
    check_named_ids(arguments(tmp_path, "03,x,1\n7,y,1\n", other="other.tsv.gz"))
    with pytest.raises(InputError, match=r"'z' is no id of .*other\.tsv\.gz"):
        check_named_ids(arguments(tmp_path, "03,x,1\n7,z,1\n", other="other.tsv.gz"))


@pytest.mark.parametrize(
    "changes",
    [{"id": None}, {"id": "colour"}, {"left": "first"}, {"items": "items.parquet"}],
    ids=["row numbers", "no such column", "no such side", "Parquet"],
)
def test_what_is_not_certain_is_left_to_who_reads_the_tables(tmp_path, changes):
    (tmp_path / "items.parquet").write_bytes(b"PAR1")
    check_named_ids(arguments(tmp_path, "03,nobody,1\n", **changes))


def test_where_no_id_is_known_the_column_is_wrong_rather_than_the_ids(tmp_path):
    check_named_ids(arguments(tmp_path, "nobody,nothing,1\n"))


def test_the_two_items_of_a_picture_are_held_against_the_table(tmp_path):
    given = arguments(tmp_path, "")
    with pytest.raises(InputError, match="'8' is no id"):
        check_named_ids(Namespace(items=given.items, id="name", pair=["03", "8"]))


def test_nothing_large_is_imported_to_tell_it(tmp_path):
    given = arguments(tmp_path, "03,nobody,1\n")
    words = ["fit", given.items, given.pairs, "--id", "name", "--output", str(tmp_path / "m.smm")]
    code = "import sys; from semimetric.cli import main; code = main(sys.argv[1:]); print(code, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n"
    assert "'nobody' is no id of" in done.stderr


def test_numbers_are_the_same_id_however_they_are_written():
    assert [as_key(name) for name in (3, 3.0, "3.000", " 3 ", "03", "3.5")] == ["3", "3", "3", "3", "03", "3.5"]
