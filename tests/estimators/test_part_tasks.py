"""What learners ask of data in parts, and what they refuse to learn from them."""

import numpy as np
from sklearn.decomposition import PCA

from semimetric import LargeMarginLearner
from semimetric.estimators.part_tasks import ItemTask

ITEM_BYTES = ItemTask.item_bytes  # before it is replaced
FAST = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped", "n_passes": 2}


def test_directions_take_room_as_features_do():
    def room(n_features, directions=None):
        return ITEM_BYTES(LargeMarginLearner(**FAST | {"directions": directions}).part_task(), n_features)

    assert room(5, np.ones((3, 5))) == room(8) > room(5)
    assert room(5, "pca") == room(5, PCA()) == room(10)
