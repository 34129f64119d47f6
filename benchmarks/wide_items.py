"""From how many queries on do lists of near items pay, where there are few items of many columns?

Items, queries and learned distances are those of expensive.py, whose defaults learn from a fifth of its calls here. Exact
queries look at all items, or go through lists, which are made once. Columns: microseconds of the processor a query either way,
the median of five batches of all queries; milliseconds for making the lists; and after how many queries these are paid for.

    python benchmarks/wide_items.py [--only NAME ...]
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
from expensive import N_QUERIES, PROBLEMS, SEED
from report import report, use_one_thread

from semimetric import NeighborIndex, SemimetricWarning

NAMES = ("words", "clouds", "digits", "channels", "colours")
N_PAIRS, ROUNDS = 4_000, 5


def processor(call: Callable[[], object]) -> float:
    """Seconds of the processor."""
    start = time.process_time()
    call()
    return time.process_time() - start


def compared(name: str) -> list[dict]:
    """Both ways among a fourth, a half and all of the items of a problem, for 10 and 50 neighbours."""
    make, n = PROBLEMS[name]
    problem = make(np.random.default_rng(SEED), n, N_QUERIES)
    model = problem.learners["learned"].set_params(n_pairs=N_PAIRS).fit(problem.items)
    items, queries = (model.encode(X) if model.features is not None else X for X in (problem.items, problem.queries))
    rows = []
    for n_items in (len(items) // 4, len(items) // 2, len(items)):
        index = NeighborIndex(model.semimetric_, algorithm="brute").fit(items[:n_items])
        (segment,) = index.segments_
        made = processor(lambda segment=segment: segment.list_scan)
        for k in (10, 50):

            def by_lists(segment=segment, k=k) -> None:
                segment.list_scan.nearest(segment.view.block(segment.view.points(queries)), k, None)

            def by_all(index=index, k=k) -> None:
                index.kneighbors(queries, k)

            by_lists(), by_all()  # compiled before they are timed
            lists, every = (
                statistics.median(processor(call) for _ in range(ROUNDS)) / len(queries) for call in (by_lists, by_all)
            )
            row = {"data": name, "items": n_items, "columns": len(segment.view.features), "k": k, "all_us": every * 1e6}
            paid = made / (every - lists) if every > lists else None
            rows.append(row | {"lists_us": lists * 1e6, "made_ms": made * 1e3, "paid_after": paid})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(PROBLEMS), default=NAMES, metavar="NAME")
    options = parser.parse_args()
    use_one_thread()
    warnings.simplefilter("ignore", SemimetricWarning)
    for name in options.only:
        report(f"wide items: {name}", compared(name))


if __name__ == "__main__":
    main()
