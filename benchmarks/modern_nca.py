"""ModernNCA (Ye, Yin, Zhan & Chao 2025) in NumPy, with its published defaults.

Every feature x_f of an item is mapped to cos(2 pi c x_f) and sin(2 pi c x_f) with 77 learned frequencies c of its own, these by
one linear map, the same for all features, and max(0, .) to 34 numbers ("PLR lite", Gorishniy et al. 2022), and the numbers of
all features by one linear map to z of 128 numbers. An item takes class k with the probability

    sum_j [y_j = k] exp(-|z - z_j|) / sum_j exp(-|z - z_j|)

over the training items j. The mean of -log(probability of the item's own class + 1e-7) is minimised by AdamW over batches of
1,024 items; an item does not vote for itself, and beside the batch a random half of the other items votes. A stratified fifth
of the training items is held out: the weights of the epoch with the fewest errors on it are kept, and training ends after 20
epochs without an epoch that is as good, or after 200. For prediction all items vote, the held-out ones too.

Equal values of a feature are mapped once, which makes features of few values cheap. All numbers are of 32 bits. Batches of 256
items made no difference to sixteen small sets, each of which is one batch of 1,024.

    python benchmarks/modern_nca.py          compares the gradient with central differences in 64 bits
"""

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedShuffleSplit

FREQUENCIES, SCALE, EMBEDDED, OUT = 77, 0.04431360576139521, 34, 128
RATE, DECAY, BATCH, SHARE, EPOCHS, PATIENCE = 0.01, 2e-4, 1024, 0.5, 200, 20
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # of AdamW
EPS = 1e-7
Parameters = dict[str, np.ndarray]


class Codes:
    """A table of items with every value of a feature replaced by its number among all values of all features.

    Parameters
    ----------
    X : float array of shape (n_items, n_features)

    Attributes
    ----------
    values : float array of shape (n_values,)
    features : int array of shape (n_values,)
        The feature of each value.
    rows : int array of shape (n_items, n_features)
        The number of the value of an item in a feature.
    """

    def __init__(self, X: np.ndarray) -> None:
        columns = [np.unique(column, return_inverse=True) for column in X.T]
        sizes = [len(values) for values, _ in columns]
        self.values = np.concatenate([values for values, _ in columns])
        self.features = np.repeat(np.arange(len(columns)), sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.rows = np.stack([code + start for (_, code), start in zip(columns, starts, strict=True)], axis=1)

    def used(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the values that some items have, shape (n_used,), and the items' places among these."""
        rows = self.rows[items]
        present = np.zeros(len(self.values), bool)
        present[rows.ravel()] = True
        places = np.cumsum(present) - 1
        return np.flatnonzero(present), places[rows]


def start(n_features: int, rng: np.random.Generator, dtype: type = np.float32) -> Parameters:
    """Normal frequencies; both linear maps uniform within one over the root of the number of their inputs."""

    def linear(n_in: int, *shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(dtype) / np.sqrt(n_in).astype(dtype)

    return {
        "frequencies": (SCALE * rng.standard_normal((n_features, FREQUENCIES))).astype(dtype),
        "inner": linear(2 * FREQUENCIES, 2 * FREQUENCIES, EMBEDDED),
        "bias": linear(2 * FREQUENCIES, EMBEDDED),
        "outer": linear(n_features * EMBEDDED, n_features * EMBEDDED, OUT),
    }


class Embedding:
    """The places z of some items, shape (n_items, 128), and the gradient of a function of them."""

    def __init__(self, p: Parameters, codes: Codes, items: np.ndarray) -> None:
        self.p = p
        used, self.places = codes.used(items)
        self.features = codes.features[used]
        self.turns = (2 * np.pi * codes.values[used]).astype(p["bias"].dtype)[:, None]
        angles = self.turns * p["frequencies"][self.features]
        self.waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        self.table = np.maximum(self.waves @ p["inner"] + p["bias"], 0)
        self.mapped = self.table[self.places].reshape(len(items), -1)
        self.z = self.mapped @ p["outer"]

    def gradient(self, dz: np.ndarray) -> Parameters:
        """The derivatives of a function by the parameters, from those by z."""
        p, n = self.p, self.places.size
        d_mapped = (dz @ p["outer"].T).reshape(n, EMBEDDED)
        takes = csr_array((np.ones(n, dz.dtype), self.places.ravel(), np.arange(n + 1)), shape=(n, len(self.table)))
        d_table = (takes.T @ d_mapped) * (self.table > 0)
        d_waves = d_table @ p["inner"].T
        cos, sin = self.waves[:, :FREQUENCIES], self.waves[:, FREQUENCIES:]
        d_angles = (d_waves[:, FREQUENCIES:] * cos - d_waves[:, :FREQUENCIES] * sin) * self.turns
        starts = np.searchsorted(self.features, np.arange(len(p["frequencies"])))
        return {
            "frequencies": np.add.reduceat(d_angles, starts),
            "inner": self.waves.T @ d_table,
            "bias": d_table.sum(0),
            "outer": self.mapped.T @ dz,
        }


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Euclidean distances between rows, 0 where rounding would be all that is left of them."""
    norms = (a**2).sum(1)[:, None] + (b**2).sum(1)
    squares = norms - 2 * a @ b.T
    squares[squares < 4 * np.finfo(a.dtype).eps * norms] = 0
    return np.sqrt(squares)


def votes(d: np.ndarray) -> np.ndarray:
    """exp(-d) with the sum 1 in every row."""
    p = np.exp(d.min(1, keepdims=True) - d)
    return p / p.sum(1, keepdims=True)


def loss(z: np.ndarray, y: np.ndarray, n_batch: int) -> tuple[float, np.ndarray]:
    """The mean of -log(own class + 1e-7) over the first ``n_batch`` items by the votes of all others, and its gradient by z."""
    d = distances(z[:n_batch], z)
    np.fill_diagonal(d, np.inf)
    p, same = votes(d), y[:n_batch, None] == y
    own = (p * same).sum(1, keepdims=True)
    force = p * (same - own) / (own + EPS) / n_batch  # the derivative by d
    with np.errstate(divide="ignore", invalid="ignore"):
        force = np.where(d > 0, force / d, 0).astype(z.dtype)
    dz = force.sum(0)[:, None] * z - force.T @ z[:n_batch]
    dz[:n_batch] += force.sum(1)[:, None] * z[:n_batch] - force @ z
    return float(-np.log(own + EPS).mean()), dz


class ModernNCA:
    """A classifier of standardised numbers.

    Parameters
    ----------
    seed : int, default 0
        Of the first parameters, the held-out items, the batches and the items that vote in each.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> "ModernNCA":
        """Learn from items of shape (n_items, n_features) and classes 0, 1, ... of shape (n_items,)."""
        rng = np.random.default_rng(self.seed)
        self.X, self.y, self.classes_ = X, y, np.arange(y.max() + 1)
        self.p = start(X.shape[1], rng)
        codes, (train, held) = Codes(X), self._parts(rng)
        moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in self.p.items()}
        best, fewest, since, step = self._copy(), np.inf, 0, 0
        for _ in range(EPOCHS):
            for batch in np.split(rng.permutation(train), range(BATCH, len(train), BATCH)):
                step += 1
                self._step(codes, batch, rng.permutation(np.setdiff1d(train, batch)), moments, step)
            missed = self._missed(codes, train, held)
            since = 0 if missed <= fewest else since + 1
            if missed <= fewest:
                best, fewest = self._copy(), missed
            if since > PATIENCE:
                break
        self.p = best
        return self

    def _parts(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Items to learn from, and those held out; not stratified where a class has one item, or no place among these."""
        split = StratifiedShuffleSplit(1, test_size=0.2, random_state=int(rng.integers(2**31)))
        possible = np.bincount(self.y)[self.y].min() > 1 and len(self.y) // 5 >= len(self.classes_)
        return next(split.split(self.X, self.y if possible else np.zeros_like(self.y)))

    def _copy(self) -> Parameters:
        return {name: value.copy() for name, value in self.p.items()}

    def _step(self, codes: Codes, batch: np.ndarray, others: np.ndarray, moments: dict, step: int) -> None:
        """One step of AdamW."""
        items = np.concatenate([batch, others[: int(SHARE * len(others))]])
        embedding = Embedding(self.p, codes, items)
        gradient = embedding.gradient(loss(embedding.z, self.y[items], len(batch))[1])
        for name, value in self.p.items():
            g, (first, second) = gradient[name], moments[name]
            first += (1 - FIRST) * (g - first)
            second += (1 - SECOND) * (g * g - second)
            value *= 1 - RATE * DECAY
            value -= (RATE / (1 - FIRST**step)) * first / (np.sqrt(second / (1 - SECOND**step)) + TINY)

    def _missed(self, codes: Codes, train: np.ndarray, held: np.ndarray) -> float:
        """The share of held-out items that the others' votes give another class."""
        z = Embedding(self.p, codes, np.concatenate([train, held])).z
        return float((self._shares(z[len(train) :], z[: len(train)], self.y[train]).argmax(1) != self.y[held]).mean())

    def _shares(self, queries: np.ndarray, items: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_queries, n_classes), a thousand queries at a time."""
        member = (y[:, None] == self.classes_).astype(items.dtype)
        parts = np.split(queries, range(1000, len(queries), 1000))
        return np.concatenate([votes(distances(part, items)) @ member for part in parts])

    def predict_proba(self, T: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, shape (n_queries, n_classes)."""
        items, queries = (self._places(each) for each in (self.X, T))
        return self._shares(queries, items, self.y)

    def _places(self, X: np.ndarray) -> np.ndarray:
        """z of any items, two thousand at a time."""
        parts = np.split(X, range(2000, len(X), 2000))
        return np.concatenate([Embedding(self.p, Codes(part), np.arange(len(part))).z for part in parts])


def gradient_error(seed: int = 0) -> float:
    """The largest difference between the gradient and central differences in 64 bits, relative to the largest derivative."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 3, 30)
    X[:, 1] = np.round(X[:, 1])
    codes, items, p = Codes(X), rng.permutation(30)[:24], start(3, rng, np.float64)
    embedding = Embedding(p, codes, items)
    gradient = embedding.gradient(loss(embedding.z, y[items], 16)[1])
    worst, largest, h = 0.0, max(np.abs(g).max() for g in gradient.values()), 1e-6
    for name, value in p.items():
        for place in rng.integers(0, value.size, 20):
            ends = []
            for side in (h, -h):
                value.flat[place] += side
                ends.append(loss(Embedding(p, codes, items).z, y[items], 16)[0])
                value.flat[place] -= side
            worst = max(worst, abs((ends[0] - ends[1]) / (2 * h) - gradient[name].flat[place]))
    return worst / largest


if __name__ == "__main__":
    errors = [gradient_error(seed) for seed in range(5)]
    print(f"largest difference from central differences, relative to the largest derivative: {max(errors):.1e}")
    if max(errors) > 1e-6:
        raise SystemExit("the gradient is wrong")
