"""Files of tables: what cannot be read whole and without a doubt is refused, and what is written is whole."""

import gzip
import os
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from cases import assert_refused
from command_line import call, paths

from semimetric import StorageError
from semimetric.cli import main, tables
from semimetric.cli.parser import STANDARD_INPUT
from semimetric.cli.tables import check_memory, read_frame, write_table

pd = pytest.importorskip("pandas")


def written(folder, content, name="t.csv"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(folder / name)


def test_trailing_separators_do_not_move_columns(tmp_path):
    frame = read_frame(written(tmp_path, "a,b\n1,2,\n3,4,\n"))
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_marks_and_ends_of_lines_are_no_content(start, end, tmp_path):
    frame = read_frame(written(tmp_path, start + end.join(["a,b", "1,é", ""])), ["b"])
    assert frame.to_dict("list") == {"a": [1], "b": ["é"]}


def test_cells_may_hold_line_breaks_and_quotes(tmp_path):
    frame = read_frame(written(tmp_path, 'a,b\n1,"x\ny ""z"""\n'), ["b"])
    assert frame.b.tolist() == ['x\ny "z"']


BAD = {
    "more cells": ("a,b\n1,2,3\n4,5,6\n", "rows of more cells than its header has names (2)", "quote cells with commas"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "is text in UTF-16", "save it as such"),
    "NUL": (b"a\0,b\n1,2\n", "is binary: it has NUL characters", "text in UTF-8"),
    "Latin-1": ("a,b\n1,é\n".encode("latin-1"), "cannot be read as CSV ('utf-8' codec", "check its content"),
    "nothing": (b"", "cannot be read as CSV (No columns", "check its content"),
    "an open quote": ('a,b\n1,"2\n', "cannot be read as CSV", "check its content"),
    "a long line": (b"x" * (2**24 + 1), "has a first line of more than 16.0 MiB", "a header is required"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_table_is_refused(name, tmp_path):
    content, given, required = BAD[name]
    assert_refused(lambda: read_frame(written(tmp_path, content)), given, required)


def test_a_folder_is_no_table(tmp_path):
    (tmp_path / "t.csv").mkdir()
    assert_refused(lambda: read_frame(str(tmp_path / "t.csv")), "there is a folder, not a file", "check the path")


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path):
    with open(tmp_path / "t.csv", "wb") as file:
        file.write(b"a,b\n")
        file.truncate(2**42)  # of holes, which take no room
    refused = assert_refused(lambda: read_frame(str(tmp_path / "t.csv")), "has 4.0 TiB", "of memory are free", "out_of_core")
    assert "\n" not in str(refused)


def test_what_fits_depends_on_what_is_free(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b\n" + "1,2\n" * 1000)
    monkeypatch.setattr(tables, "_free_memory", lambda: 4000.0)
    assert_refused(lambda: read_frame(path), "has 3.9 KiB", "but 3.9 KiB of memory are free", "take fewer rows")
    monkeypatch.setattr(tables, "_free_memory", lambda: 9000.0)
    assert len(read_frame(path)) == 1000
    check_memory(9000.0, "this", "")


def test_a_table_of_all_distances_must_fit_too(folder, monkeypatch, capsys):
    monkeypatch.setattr(tables, "_free_memory", lambda: 50_000.0)
    code, out, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"), "--id", "name")
    assert (code, out) == (1, "")
    assert "a table of 3600 distances takes 225 KiB or more" in err
    assert "name the pairs of interest by --pairs, find the nearest by semimetric index and query" in err


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_that_cannot_be_written_leaves_the_old_one(name, tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.arange(3)})
    write_table(frame, str(tmp_path / name))
    before = (tmp_path / name).read_bytes()
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StorageError, match="No space left"):
        write_table(pd.DataFrame({"a": np.arange(9)}), str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == before
    assert read_frame(str(tmp_path / name)).equals(frame)


OUTPUTS = {
    "a table": ("distance model.smm items.csv --output items.csv", "items.csv is what the command reads, and would be lost"),
    "the same by another way": ("distance model.smm items.csv --output ./link.csv", "is what the command reads"),
    "items": ("fit items.csv pairs.csv --output items.csv", "items.csv is what the command reads"),
    "a model": ("plot model.smm --term width --output model.smm", "model.smm is what the command reads"),
    "queries": ("query model.smm items.csv --output items.csv", "items.csv is what the command reads"),
    "classes": ("fit items.csv --label name --output items.csv", "items.csv is what the command reads"),
    "a folder": ("distance model.smm items.csv --output .", ". is a folder; give the name of a file"),
    "no name": ("distance model.smm items.csv --output ", ". is a folder; give the name of a file"),
    "another kind": ("distance model.smm items.csv --output out.txt", "ends in .txt; tables end in"),
    "no picture": ("plot model.smm --term width --output out", "ends in no extension, which cannot be drawn"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_would_be_lost_is_refused_before_the_work(name, folder, tmp_path, monkeypatch, capsys):
    command, message = OUTPUTS[name]
    for file in ("items.csv", "pairs.csv", "model.smm"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "items.csv")
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *command.split(" "))
    assert (code, out) == (1, "")
    assert message in err
    assert (tmp_path / "items.csv").read_bytes() == (folder / "items.csv").read_bytes()


STREAMS = {
    "closed": (">&-", "semimetric: standard output is closed"),
    "full": (">/dev/full", "semimetric: standard output cannot be written (No space left on device); make room"),
    "help, full": ("--help >/dev/full", "semimetric: standard output cannot be written (No space left on device); make room"),
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.slow
def test_an_output_that_cannot_be_written_is_one_sentence(name, folder):
    redirected, message = STREAMS[name]
    line = f"{sys.executable} -m semimetric info {folder / 'model.smm'} {redirected}"
    done = subprocess.run(line, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_is_written_through_a_link(suffix, tmp_path):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / f"out.{suffix}", tmp_path / f"out.{suffix}"
    write_table(pd.DataFrame({"a": [1]}), str(target))
    link.symlink_to(target)
    write_table(pd.DataFrame({"a": [2]}), str(link))
    assert link.is_symlink()
    assert read_frame(str(target)).a.tolist() == [2]
    assert os.listdir(tmp_path / "far") == [f"out.{suffix}"]


class Stdin:
    """A standard input that holds some bytes, and can be read once, as a pipe can."""

    def __init__(self, content):
        self.buffer = BytesIO(content)


FORMS = {
    "t.csv": b"a,b\n1,x y\n2,007\n",
    "t.TSV": b"a\tb\n1\tx y\n2\t007\n",
    "t.csv.gz": gzip.compress(b"a,b\n1,x y\n2,007\n"),
    "t.tsv.gz": gzip.compress(b"a\tb\n1\tx y\n2\t007\n"),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
def test_forms_of_tables_are_read_alike(name, piped, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(FORMS[name]))
    path = STANDARD_INPUT if piped else written(tmp_path, FORMS[name], name)
    for _ in range(2):  # a command may read its table again
        assert read_frame(path, ["b"]).to_dict("list") == {"a": [1, 2], "b": ["x y", "007"]}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.pq"])
def test_what_is_written_is_read_and_is_the_same_whenever_it_is_written(name, tmp_path):
    frame = pd.DataFrame({"a": [0.1, 2.5], "b": ["x,y", "z\tw"]})
    contents = []
    for _ in range(2):
        write_table(frame, str(tmp_path / name))
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert read_frame(str(tmp_path / name)).equals(frame)


def test_parquet_comes_through_a_pipe_too(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(sys, "stdin", Stdin((tmp_path / "t.parquet").read_bytes()))
    assert read_frame(STANDARD_INPUT).a.tolist() == [1, 2]


BAD_FORMS = {
    "cut": ("t.csv.gz", FORMS["t.csv.gz"][:-9], "cannot be read as CSV", "check its content"),
    "not compressed": ("t.csv.gz", FORMS["t.csv"], "cannot be read as CSV", "check its content"),
    "commas": ("t.tsv", FORMS["t.csv"], "it seems to be separated by ','; separate it by tabs", ""),
    "tabs": ("t.csv", FORMS["t.TSV"], "it seems to be separated by '\\t'; separate it by commas, or name it .tsv", ""),
    "compressed twice": ("t.gz", FORMS["t.csv.gz"], "ends in .gz; tables end in .csv, .tsv, .csv.gz", ""),
}


@pytest.mark.parametrize("name", BAD_FORMS)
def test_what_is_not_as_its_name_says_is_refused(name, tmp_path):
    file, content, *words = BAD_FORMS[name]
    assert_refused(lambda: read_frame(written(tmp_path, content, file)), *words)


def test_how_far_a_file_unfolds_is_seen_before_it_is_read(tmp_path, monkeypatch):
    path = written(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * 10_000), "t.csv.gz")
    monkeypatch.setattr(tables, "_free_memory", lambda: 50_000.0)
    assert_refused(lambda: read_frame(path), "has 39.1 KiB", "of memory are free")


def test_a_damaged_or_closed_standard_input_is_refused(monkeypatch):
    for stdin, words in ((Stdin(FORMS["t.csv.gz"][:9]), "<stdin> cannot be"), (None, "standard input is closed")):
        monkeypatch.setattr(sys, "stdin", stdin)
        assert_refused(lambda: read_frame(STANDARD_INPUT), words, "")
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    assert_refused(lambda: read_frame(STANDARD_INPUT), "<stdin> cannot be read as CSV (No columns", "check its content")


def test_a_command_reads_a_pipe(folder, capsys, monkeypatch):
    given = [str(folder / "model.smm"), "--id", "name"]
    from_file = call(capsys, "distance", *given, folder / "items.csv")
    monkeypatch.setattr(sys, "stdin", Stdin((folder / "items.csv").read_bytes()))
    assert call(capsys, "distance", *given, "-") == from_file
    monkeypatch.setattr(sys, "stdin", Stdin(b"name,depth\na,1\n"))
    code, _, err = call(capsys, "distance", *given, "-")
    assert (code, err.split(" (")[0]) == (1, "semimetric: <stdin> has no column 'width'")


def test_only_one_table_comes_from_standard_input(capsys):
    with pytest.raises(SystemExit) as leave:
        main(["fit", "-", "/dev/stdin", "--output", "m.smm"])
    assert leave.value.code == 2
    assert "semimetric fit: two tables are -, but only one can come from standard input" in capsys.readouterr().err
