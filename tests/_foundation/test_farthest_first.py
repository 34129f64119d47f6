"""Items that are spread over a set, each the farthest from those before it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semimetric._foundation.farthest_first import farthest_first


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 14), st.data())
def test_each_is_the_farthest_from_those_before(places, count, data):
    places = np.array(places, float)
    first, called = data.draw(st.integers(0, len(places) - 1)), []

    def distances_to(k):
        called.append(k)
        return np.abs(places - places[k])

    chosen = farthest_first(distances_to, first, count).tolist()
    assert chosen == called
    assert chosen[0] == first
    for k in range(1, len(chosen)):
        gaps = [min(abs(p - places[c]) for c in chosen[:k]) for p in places]
        assert chosen[k] == int(np.argmax(gaps))
        assert gaps[chosen[k]] > 0
    assert len(chosen) == min(count, len(set(places)))
