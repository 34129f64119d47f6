"""Does a learned scale foretell which of two eggs people find more like a third?

17,611 answers about 300 eggs that differ in one number (triplets_alien_eggs: salmon, BSD-3), the test answers as marked there.
With one feature every Mahalanobis distance, whatever learned it, is the plain difference. The learners have default settings;
the number of answers to train on is varied to show what the warp costs and gains.
"""

import numpy as np
from report import data, once, report

from semimetric import TripletLearner

EGGS = data("triplets_alien_eggs")
ITEMS, TRIPLETS, TEST = EGGS["stimulus"].reshape(-1, 1).astype(float), EGGS["triplets"], EGGS["is_test"].astype(bool)


def foretold(values: np.ndarray) -> float:
    """Percent of the test answers, of a distance that is |value - value|."""
    head, near, far = values[TRIPLETS[TEST]].T
    return 100 * float(np.mean(np.abs(head - near) < np.abs(head - far)))


def main() -> None:
    rows = [{"model": "any Mahalanobis distance", "answers": 0, "percent foretold": foretold(ITEMS[:, 0])}]
    rows.append({"model": "logarithm", "answers": 0, "percent foretold": foretold(np.log(ITEMS[:, 0] - ITEMS.min() + 1e-2))})
    train = np.random.default_rng(0).permutation(np.flatnonzero(~TEST))
    for n in (1_000, 4_000, len(train)):
        for name, parameters in (("semimetric", {}), ("semimetric, full table", {"tables": "full"})):
            learner = TripletLearner(preprocessor=ITEMS, **parameters)
            seconds, model = once(lambda learner=learner, n=n: learner.fit(TRIPLETS[train[:n]]))
            score = 100 * model.score(TRIPLETS[TEST])
            rows.append({"model": name, "answers": n, "percent foretold": score, "seconds": seconds})
    report("triplets: alien eggs", rows)


if __name__ == "__main__":
    main()
