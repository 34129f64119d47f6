"""Files of tables: what cannot be read whole and without a doubt is refused, and what is written is whole."""

import os
import subprocess
import sys

import numpy as np
import pytest
from cases import assert_refused
from command_line import call, paths

from semimetric import StorageError
from semimetric.cli import table_files
from semimetric.cli.table_files import check_memory, read_table, write_table

pd = pytest.importorskip("pandas")


def written(folder, content, name="t.csv"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(folder / name)


def test_trailing_separators_do_not_move_columns(tmp_path):
    frame = read_table(written(tmp_path, "a,b\n1,2,\n3,4,\n"))
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_marks_and_ends_of_lines_are_no_content(start, end, tmp_path):
    frame = read_table(written(tmp_path, start + end.join(["a,b", "1,é", ""])), ["b"])
    assert frame.to_dict("list") == {"a": [1], "b": ["é"]}


def test_cells_may_hold_line_breaks_and_quotes(tmp_path):
    frame = read_table(written(tmp_path, 'a,b\n1,"x\ny ""z"""\n'), ["b"])
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
    assert_refused(lambda: read_table(written(tmp_path, content)), given, required)


def test_a_folder_is_no_table(tmp_path):
    (tmp_path / "t.csv").mkdir()
    assert_refused(lambda: read_table(str(tmp_path / "t.csv")), "there is a folder, not a file", "check the path")


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path):
    with open(tmp_path / "t.csv", "wb") as file:
        file.write(b"a,b\n")
        file.truncate(2**42)  # of holes, which take no room
    refused = assert_refused(lambda: read_table(str(tmp_path / "t.csv")), "has 4.0 TiB", "of memory are free", "out_of_core")
    assert "\n" not in str(refused)


def test_what_fits_depends_on_what_is_free(tmp_path, monkeypatch):
    path = written(tmp_path, "a,b\n" + "1,2\n" * 1000)
    monkeypatch.setattr(table_files, "_free_memory", lambda: 4000.0)
    assert_refused(lambda: read_table(path), "has 3.9 KiB", "but 3.9 KiB of memory are free", "take fewer rows")
    monkeypatch.setattr(table_files, "_free_memory", lambda: 9000.0)
    assert len(read_table(path)) == 1000
    check_memory(9000.0, "this", "")


def test_a_table_of_all_distances_must_fit_too(folder, monkeypatch, capsys):
    monkeypatch.setattr(table_files, "_free_memory", lambda: 50_000.0)
    code, out, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"), "--id", "name")
    assert (code, out) == (1, "")
    assert "a table of 3600 distances takes 225 KiB or more" in err
    assert "--pairs" in err


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
    assert read_table(str(tmp_path / name)).equals(frame)


OUTPUTS = {
    "a table": ("distance model.smm items.csv --output items.csv", "items.csv is what the command reads, and would be lost"),
    "the same by another way": ("distance model.smm items.csv --output ./link.csv", "is what the command reads"),
    "items": ("fit items.csv pairs.csv --output items.csv", "items.csv is what the command reads"),
    "a model": ("plot model.smm --term width --output model.smm", "model.smm is what the command reads"),
    "queries": ("query none items.csv --output items.csv", "items.csv is what the command reads"),
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
    assert read_table(str(target)).a.tolist() == [2]
    assert os.listdir(tmp_path / "far") == [f"out.{suffix}"]
