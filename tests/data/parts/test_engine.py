from hypothesis import given
from hypothesis import strategies as st

from semimetric.data.parts.engine import SerialEngine, tree_sum


def by_levels(values):
    """Neighbours in pairs, level after level: the same tree, drawn the slow way."""
    while len(values) > 1:
        pairs = [values[k : k + 2] for k in range(0, len(values), 2)]
        values = [f"({p[0]}{p[1]})" if len(p) == 2 else p[0] for p in pairs]
    return values[0]


@given(st.integers(1, 200))
def test_the_tree_is_that_of_levels(n):
    names = [f"<{k}>" for k in range(n)]
    assert tree_sum(names, lambda a, b: f"({a}{b})") == by_levels(names)
    assert SerialEngine().total(str.upper, lambda a, b: f"({a}{b})", names) == by_levels(names).upper()


def test_few_sums_are_held():
    alive, most = set(), 0

    class Value:
        def __init__(self):
            alive.add(id(self))

        def __del__(self):
            alive.discard(id(self))

    def values():
        nonlocal most
        for _ in range(1000):
            yield Value()
            most = max(most, len(alive))

    tree_sum(values(), lambda a, b: Value())
    assert most <= 13


def test_parts_that_are_kept_are_made_again_here():
    calls = []
    kept = SerialEngine().persist(lambda part, by: calls.append(part) or part * by, [1, 2], 10)
    assert not calls
    assert list(SerialEngine().each(lambda task: task[0] + task[1], [(p, 1) for p in kept])) == [11, 21]
    assert list(SerialEngine().each(lambda part, more: part + more, kept, 5)) == [15, 25]
    assert calls == [1, 2, 1, 2]


def test_what_is_stored_is_made_once():
    calls = []
    stored = SerialEngine().stored(lambda part, by: calls.append(part) or part * by, [1, 2], 10)
    assert [list(SerialEngine().each(lambda part: part + 1, stored)) for _ in range(2)] == [[11, 21]] * 2
    assert calls == [1, 2]
