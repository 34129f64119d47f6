"""What is wrong with the names of files and columns is told before anything large is imported."""

import subprocess
import sys

import pytest
from command_line import call

from semimetric.cli.table_names import check_arguments

LARGE = {"joblib", "narwhals", "numba", "numpy", "pandas", "scipy", "sklearn"}
CODE = """
import sys
from semimetric.cli import main
code = main(sys.argv[1:])
print('MODULES', *{name.partition('.')[0] for name in sys.modules})
sys.exit(code)
"""


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("\ufeffname,a,b\nx,1,2\ny,3,4\n", encoding="utf-8")
    (tmp_path / "pairs.tsv").write_text("left\tright\tdistance\nx\ty\t1\n")
    (tmp_path / "model.smm").write_bytes(b"no model")
    (tmp_path / "folder.csv").mkdir()


WRONG = {
    "a missing table": ("fit nothing.csv pairs.tsv --output m.smm", "there is no file nothing.csv; check the path"),
    "a folder": ("fit folder.csv --label a", "there is a folder, not a file folder.csv"),
    "an extension": ("fit items.xlsx --label a", "items.xlsx ends in .xlsx; tables end in .csv"),
    "a label": ("fit items.csv --label kind", "items.csv has no column 'kind'; its columns are name, a, b"),
    "an id": ("fit items.csv pairs.tsv --id key --output m.smm", "items.csv has no column 'key'; its columns are name, a, b"),
    "a target": (
        "fit items.csv pairs.tsv --id name --target d --output m.smm",
        "pairs.tsv has no column 'd'; its columns are left",
    ),
    "a missing model": ("distance nothing.smm items.csv", "nothing.smm: No such file or directory"),
    "a missing index": ("query nothing.index items.csv", "nothing.index: No such file or directory"),
    "missing queries": ("query model.smm nothing.csv", "there is no file nothing.csv"),
    "missing items": ("neighbors model.smm items.csv --items nothing.csv", "there is no file nothing.csv"),
    "a missing picture": ("plot nothing.smm --term a --output a.png", "nothing.smm: No such file or directory"),
}


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("name", WRONG)
def test_it_is_told_in_one_sentence(name, capsys):
    words, sentence = WRONG[name]
    code, out, err = call(capsys, *words.split())
    assert (code, out) == (1, "")
    assert sentence in err


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("name", ["a missing table", "a label", "a missing model"])
def test_nothing_large_is_imported_for_it(name):
    done = subprocess.run([sys.executable, "-c", CODE, *WRONG[name][0].split()], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert WRONG[name][1] in done.stderr
    assert LARGE.isdisjoint(done.stdout.rpartition("MODULES")[2].split())


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("content", [b"", b"\nname,a\n", b'"name,a', b"a,a\n", b"name;a\n", b"\xff\xfen\x00a", b"a,,b\n"])
def test_a_header_that_cannot_be_trusted_is_left_to_reading(content, tmp_path):
    (tmp_path / "strange.csv").write_bytes(content)
    (tmp_path / "strange.csv.gz").write_bytes(content)
    for name in ("strange.csv", "strange.csv.gz"):
        arguments = type("A", (), {"command": "fit.run_fit_labels", "items": name, "label": "kind", "id": None})
        check_arguments(arguments)
