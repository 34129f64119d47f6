"""Tables that people really have: a good one, spoilt in one or several of many ways."""

import gzip
import io

import numpy as np
import pandas as pd

HEADER = ["name", "width", "height", "shoe size", "colour", "species"]
PAIRS = ["left", "right", "distance"]


def good(rng, kind):
    """The rows of a table of items or of pairs, as text, the header first."""
    n = int(rng.integers(1, 30))
    if kind == "pairs":
        rows = [[f"item{rng.integers(40)}", f"item{rng.integers(40)}", f"{rng.random():.4g}"] for _ in range(n)]
        return [PAIRS, *rows]
    rows = [
        [f"item{k}", f"{10 * rng.random():.4g}", f"{rng.random():.4g}", str(rng.integers(35, 47)),
         ["red", "blue", "grün"][rng.integers(3)], ["cat", "dog"][rng.integers(2)]]
        for k in range(n)
    ]  # fmt: skip
    return [HEADER, *rows]


CELLS = [
    "", "NaN", "inf", "-inf", "1e300", "-1e300", "1e400", "1e-320", "9" * 30, str(2**63), str(-(2**63)), "0x1F", "1_000", "1,5",
    "TRUE", "2020-01-01", "NA", "None", " 3 ", "3.0.0", "-0", "+7", "١٢", "½", "red\nblue", 'a"b', "item0", "a,b", "\t", "é",
    "🎲", "x" * 3000, "-1", "0", "1e308", "5e-324", "1e17",
]  # fmt: skip
NAMES = ["é", "a b", "🎲", "a,b", 'q"', "`x`", "x\ny", "0", " name"]


def put(rows, rng, cell):
    if len(rows) > 1:
        row = rows[int(rng.integers(1, len(rows)))]
        row[int(rng.integers(len(row)))] = cell


def column_of(rows, rng, cell):
    """Replace a column by one cell everywhere."""
    k = int(rng.integers(min(map(len, rows))))
    for row in rows[1:]:
        row[k] = cell() if callable(cell) else cell


def rename(rows, rng, name):
    rows[0] = list(rows[0])
    rows[0][int(rng.integers(len(rows[0])))] = name


def lengthen(rows, rng, cells):
    rows[int(rng.integers(len(rows)))] += cells


def widen(rows, rng):
    for k in range(2000):
        for row in rows:
            row.append(f"c{k}" if row is rows[0] else "1")


# ways of spoiling the rows
ROWS = {
    "one cell": lambda rows, rng: put(rows, rng, CELLS[rng.integers(len(CELLS))]),
    "some cells": lambda rows, rng: [put(rows, rng, CELLS[rng.integers(len(CELLS))]) for _ in range(5)],
    "a column of one cell": lambda rows, rng: column_of(rows, rng, CELLS[rng.integers(len(CELLS))]),
    "a huge column": lambda rows, rng: column_of(rows, rng, lambda: f"{rng.normal() * 1e300:.6g}"),
    "a tiny column": lambda rows, rng: column_of(rows, rng, lambda: f"{rng.normal() * 1e-310:.6g}"),
    "large integers": lambda rows, rng: column_of(rows, rng, lambda: str(2**62 + int(rng.integers(1000)))),
    "dates": lambda rows, rng: column_of(rows, rng, lambda: f"2020-01-{rng.integers(1, 28):02d}"),
    "the same name twice": lambda rows, rng: rename(rows, rng, rows[0][0]),
    "no name": lambda rows, rng: rename(rows, rng, ""),
    "a strange name": lambda rows, rng: rename(rows, rng, NAMES[rng.integers(len(NAMES))]),
    "more cells": lambda rows, rng: lengthen(rows, rng, ["1", "2"]),
    "fewer cells": lambda rows, rng: rows[int(rng.integers(len(rows)))].pop(),
    "one more cell everywhere": lambda rows, rng: [row.append("5") for row in rows[1:]],
    "trailing separators": lambda rows, rng: [row.append("") for row in rows[1:]],
    "a header alone": lambda rows, rng: rows.__delitem__(slice(1, None)),
    "no header": lambda rows, rng: rows.pop(0),
    "one row": lambda rows, rng: rows.__delitem__(slice(2, None)),
    "rows twice": lambda rows, rng: rows.extend([list(row) for row in rows[1:]]),
    "the first column alone": lambda rows, rng: [row.__delitem__(slice(1, None)) for row in rows],
    "an index before": lambda rows, rng: [row.insert(0, "" if k == 0 else str(k - 1)) for k, row in enumerate(rows)],
    "many columns": widen,
}


def text_of(rows, separator=",", end="\n"):
    def quoted(cell):
        return f'"{cell.replace(chr(34), 2 * chr(34))}"' if any(c in cell for c in f'{separator}"\n\r') else cell

    return "".join(separator.join(map(quoted, row)) + end for row in rows)


def parquet(rows, change=lambda frame: frame):
    frame = pd.read_csv(io.StringIO(text_of([[str(k) for k in range(len(rows[0]))], *rows[1:]])), on_bad_lines="skip")
    names = [f"{name}{k}" if name in rows[0][:k] else name or str(k) for k, name in enumerate(rows[0])]
    frame.columns = names[: frame.shape[1]]
    file = io.BytesIO()
    try:
        change(frame).to_parquet(file)
    except OverflowError:  # integers that Parquet does not have
        frame.astype(str).to_parquet(file)
    return file.getvalue()


def array(rows):
    file = io.BytesIO()
    np.save(file, np.arange(6.0).reshape(2, 3))
    return file.getvalue()


# ways of writing the rows
BYTES = {
    "UTF-8": lambda rows: text_of(rows).encode(),
    "a byte order mark": lambda rows: text_of(rows).encode("utf-8-sig"),
    "UTF-16": lambda rows: text_of(rows).encode("utf-16"),
    "UTF-16 without a mark": lambda rows: text_of(rows).encode("utf-16-le"),
    "Latin-1": lambda rows: text_of(rows).encode("latin-1", "replace"),
    "CRLF": lambda rows: text_of(rows, end="\r\n").encode(),
    "CR": lambda rows: text_of(rows, end="\r").encode(),
    "semicolons": lambda rows: text_of(rows, separator=";").encode(),
    "tabs": lambda rows: text_of(rows, separator="\t").encode(),
    "spaces after commas": lambda rows: text_of(rows, separator=", ").encode(),
    "blank lines": lambda rows: text_of(rows, end="\n\n").encode(),
    "no line break at the end": lambda rows: text_of(rows).rstrip("\n").encode(),
    "a quote that is not closed": lambda rows: (text_of(rows) + '"item0,1').encode(),
    "NUL in the header": lambda rows: b"\0" + text_of(rows).encode(),
    "NUL in a row": lambda rows: text_of(rows).encode() + b"item39,\x001,2,3,red,cat\n",
    "nothing": lambda rows: b"",
    "blanks": lambda rows: b" \n\n\t\n",
    "cut off": lambda rows: text_of(rows).encode()[: len(text_of(rows)) // 2],
    "zipped": lambda rows: gzip.compress(text_of(rows).encode()),
    "noise": lambda rows: np.random.default_rng(len(rows)).bytes(2000),
    "an array": array,
    "Parquet called CSV": parquet,
    "a long line": lambda rows: b"x" * 3_000_000,
    "comments": lambda rows: b"# made by hand\n" + text_of(rows).encode(),
}
PARQUETS = {
    "Parquet": lambda frame: frame,
    "Parquet, float32": lambda frame: frame.astype({c: "float32" for c in frame.select_dtypes("number").columns}),
    "Parquet, categories": lambda frame: frame.astype("category"),
    "Parquet, nullable": lambda frame: frame.convert_dtypes(),
    "Parquet, times": lambda frame: frame.assign(when=pd.Timestamp("2020-01-01")),
    "Parquet, lists": lambda frame: frame.assign(lists=[[1.0, 2.0]] * len(frame)),
    "Parquet, an index": lambda frame: frame.set_index(frame.columns[0]),
    "Parquet, booleans": lambda frame: frame.assign(flag=[True] * len(frame)),
}


def drawn(rng):
    """How a table is spoilt, as values that JSON can hold."""
    kinds = list(BYTES) + list(PARQUETS)
    return {
        "kind": "pairs" if rng.random() < 0.25 else "items", "seed": int(rng.integers(2**31)),
        "rows": [str(rng.choice(list(ROWS))) for _ in range(rng.integers(0, 3))],
        "bytes": str(rng.choice(kinds)) if rng.random() < 0.5 else "UTF-8",
    }  # fmt: skip


def write(path, spec):
    """Write the table that `drawn` has described; Parquet under the name of a CSV file is one of the ways to spoil it."""
    rng = np.random.default_rng(spec["seed"])
    rows = [list(row) for row in good(rng, spec["kind"])]
    for way in spec["rows"]:
        if rows and min(map(len, rows)):
            ROWS[way](rows, rng)
    if not rows:
        path.write_bytes(b"")
    elif spec["bytes"] in PARQUETS:
        path.write_bytes(parquet([HEADER, *rows[1:]], PARQUETS[spec["bytes"]]))
    else:
        path.write_bytes(BYTES[spec["bytes"]](rows))
