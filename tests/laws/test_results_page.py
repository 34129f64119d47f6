"""The page of benchmark results draws its pictures from kept rows, and its text says what these rows say."""

import re
import runpy
import sys
from pathlib import Path

import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "results.md").read_text()
FIGURES = ROOT / "docs" / "figures" / "results"


@pytest.fixture(scope="module")
def results():
    """The names of the tool that draws the pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])  # the tool puts the folder of the benchmarks there
        yield runpy.run_path(str(ROOT / "tools" / "draw_results.py"))


def coarse(image, step=20):
    """The ink of a picture in squares of some pixels, in which text of another release of Matplotlib moves little."""
    rows, columns = (size // step for size in image.shape[:2])
    return 1 - image[: rows * step, : columns * step].reshape(rows, step, columns, step, 3).mean(axis=(1, 3, 4))


@pytest.mark.slow
def test_every_picture_is_drawn_from_kept_rows(results, tmp_path):
    drawn = results["draw"](tmp_path)
    assert re.findall(r"\(figures/results/(\w+\.png)\)", PAGE) == [path.name for path in drawn]
    for path in drawn:
        now, then = (pyplot.imread(file)[..., :3] for file in (path, FIGURES / path.name))
        rows, columns = (min(sizes) for sizes in zip(now.shape[:2], then.shape[:2], strict=True))
        assert now.shape[:2] == pytest.approx(then.shape[:2], abs=8)
        now, then = coarse(now[:rows, :columns]), coarse(then[:rows, :columns])
        assert abs(now - then).mean() < 0.4 * then.mean(), f"draw {path.name} anew: make figures"


def text_of(word):
    """The text below the heading that has this word, before its command, in one line."""
    (section,) = (text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:] if word in text.splitlines()[0])
    return " ".join(section.partition("```")[0].split())


def assert_says(word, *figures):
    text = text_of(word)
    assert not [figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d|[.,]\d)", text)], word


def test_errors_of_classes(results):
    errors = {method: f"{100 * error:.1f}" for method, (error, _) in results["means_of_classes"]().items()}
    best = min(error for method, error in errors.items() if "semimetric" not in method)
    assert_says("wrong", errors["semimetric"], errors["semimetric_readable"], best, errors["forest"], errors["extra_trees"])


def test_ranks_of_classes(results):
    ranks = results["ranks_of_classes"]()
    first, second, third, fourth = list(ranks)[:4]
    assert (first, second, third) == ("rfm", "semimetric", "semimetric_readable")
    assert_says("significant", *(f"{ranks[method]:.1f}" for method in (first, second, third, fourth)))
    difference = results["nemenyi"](len(ranks), len(results["rows_of_classes"]()[1]))
    assert f"({difference:.2f} ranks)" in PAGE
    assert ranks[third] - ranks[first] < difference < ranks[fourth] - ranks[second]  # the first two from the rest
    beyond = [method for method, rank in ranks.items() if rank - ranks[third] > difference]
    assert set(ranks) - {first, second, third, *beyond} == {"rbf"}  # the interpretable form from all but the SVM


def test_values(results):
    scores = {method: f"{r2:.3f}".lstrip("0") for method, (r2, _) in results["means_of_values"]().items()}
    assert_says("values", scores["semimetric"], scores["rfm"], scores["extra_trees"], scores["boosting"])
    assert max(scores.values()) == scores["rfm"]  # which the page says


def test_a_distance_in_place_of_the_earth_movers(results):
    row = {name: results["row"]("emd_digits", method=method) for name, method in (
        ("ours", "semimetric, defaults (349 terms)"), ("nnls", "SciPy NNLS, weighted L1 (455 features)"),
        ("sobolev", "Sobolev H^-1"), ("sliced", "sliced W1, 200 directions"), ("exact", "exact ot.emd2"))}  # fmt: skip
    errors = [f"{100 * row[name]['median_error']:.1f}" for name in ("ours", "nnls", "sobolev", "sliced")]
    times = f"{row['exact']['us_1_thread']:.0f}", f"{row['ours']['us_1_thread']:.2f}"
    assert_says("expensive", *errors, *times, f"{row['ours']['us_1_thread'] / row['sobolev']['us_1_thread']:.0f} times")


def test_calls_until_proved(results):
    shares = list(results["shares_of_calls"]().values())
    calls, times = [100 * share for share, _ in shares], sorted(100 * time for _, time in shares)
    assert_says("prove", f"{min(calls):.1f}", f"{max(calls):.0f} %", f"{times[0]:.0f}", f"{times[-2]:.0f} %")
    assert_says("prove", f"{times[-1] / 100:.0f} times")


def test_defaults_of_slow_distances(results):
    (section,) = (text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE) if text.startswith("What do defaults give"))
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if re.search(r"\(`\w+`\) \|", line)]
    of_data = {re.search(r"\(`(\w+)`\)", name).group(1): figures for name, *figures in lines}
    assert set(of_data) == {row["data"] for row in results["kept_rows"]("expensive")}

    def times(ratio):
        return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{float(f'{ratio:.1g}'):g}".lstrip("0")

    def percent(share):
        return f"{100 * share:.1f} %" if share >= 5e-4 else f"{100 * share:.1g} %"

    for name, figures in of_data.items():
        learned, proved = (results["row"]("expensive", data=name, method=method) for method in ("learned", "proved"))
        peers = {row["method"]: row["ms_query"] for row in results["kept_rows"]("expensive") if row["data"] == name}
        fastest = min(ms for method, ms in peers.items() if method in ("aeon", "tslearn", "rapidfuzz", "POT", "SciPy"))
        percents = [percent(share) for share in (learned["error"], learned["error_told"], proved["called"])]
        ratios = [times(fastest / row["ms_query"]) for row in (learned, proved)]
        assert figures == [f"{learned['recall']:.2f}".lstrip("0"), *percents, *ratios], name


def test_recall_and_queries(results):
    def queries(engine, setting, step, points=1_000_000):
        found = results["row"]("search_curves", points=points, engine=engine, setting=setting)
        return f"{round(found['queries_a_second'] / step) * step:,}", f"{found['recall']:.4f}"[1:]

    walk, far = queries("semimetric, graph", 40, 100), queries("semimetric, graph", 100, 100)
    lists, hnsw = queries("FAISS IVF flat", 4, 100), queries("hnswlib", 40, 100)
    assert_says("recall", queries("semimetric, exact", None, 10)[0], queries("FAISS flat", None, 1)[0], walk[0], far[0])
    assert_says("recall", lists[0], lists[1], hnsw[0], hnsw[1][:4], queries("pynndescent", 0.3, 1000)[0])
    few = [queries(engine, None, 10, points=100_000)[0] for engine in ("semimetric, exact", "FAISS flat")]
    assert_says("recall", *few)


def test_colours(results):
    stress = [
        f"{results['row']('colour', model=model)[key]:.1f}" for model, key in
        (("CIEDE2000", "centres"), ("semimetric", "centres"), ("semimetric, power link + CIEDE2000", "centres"),
         ("semimetric", "subsets"), ("semimetric, power link + CIEDE2000", "subsets"), ("power of CIEDE2000", "subsets"))
    ]  # fmt: skip
    assert_says("colours", *stress)


def test_growth(results):
    few, _, many = results["fits_by_size"]()
    assert_says("grow", f"{few['seconds']:.2f} s", f"{many['seconds']:.0f} s")
    assert_says("grow", *(f"{each['MiB_above_input']:.0f} MiB" for each in (few, many)))


def test_memory_of_an_index(results):
    held = {row["storage"]: row for row in results["kept_rows"]("memory", "memory: bytes a point of an index")}
    names = [f"{name}, bytes a point" for _, parts in results["PARTS"].values() for name in parts]
    by_default, short = (sum(held[storage][name] for name in names) for storage in ("float64", "uint16"))
    items, graph = (held["uint16"][f"{name}, bytes a point"] for name in ("items", "graph"))
    assert_says("memory does", *(f"{size:.0f}" for size in (by_default, short, short - items, items, graph)))
