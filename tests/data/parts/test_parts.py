"""Parts that are read, and memory as one part."""

from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.parts import Parts


def shifted(part, by):
    return part + by


def test_parts_are_read_wherever_they_are_in_work():
    parts = Parts(SerialEngine(), [1, 2, 3], shifted, (10,))
    assert parts.in_memory is None
    assert list(parts.each(shifted, 100)) == [111, 112, 113]
    assert parts.map(shifted, 100).total(shifted, 1000) == 3336
    assert SerialEngine().total(shifted, int.__add__, parts.persist(shifted, 100), 0) == 336


def test_of_one_block_in_memory_the_sum_is_its_value():
    block = [1.0]
    parts = Parts.of(block)
    assert parts.in_memory is block
    assert parts.total(lambda b: b) is block
    assert parts.map(len).in_memory == 1
