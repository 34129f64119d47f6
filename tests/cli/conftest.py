import numpy as np
import pytest
from command_line import paths

from semimetric.cli import main


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Items item0, item1, ..., pairs of them by id, and a model that was fitted on them by the command."""
    pd = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    X = rng.random((60, 2)) * [10, 1]
    names = [f"item{k}" for k in range(60)]
    items = pd.DataFrame({"name": names, "width": X[:, 0], "height": X[:, 1]})
    pairs = rng.choice(60, (600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    distance = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]) @ [1.0, 3.0]
    named = pd.DataFrame({"left": np.take(names, pairs[:, 0]), "right": np.take(names, pairs[:, 1]), "distance": distance})
    items.to_csv(folder / "items.csv", index=False)
    items.drop(columns="name").to_csv(folder / "unnamed.csv", index=False)
    named.to_csv(folder / "pairs.csv", index=False)
    named.head(3).to_csv(folder / "three.csv", index=False)
    numbered = pd.DataFrame({"from": pairs[:, 0], "to": pairs[:, 1], "minutes": distance})
    numbered.to_csv(folder / "numbered.csv", index=False)
    assert main(["fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--output", str(folder / "model.smm")]) == 0
    return folder
