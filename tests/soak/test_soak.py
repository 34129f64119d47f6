"""A short part of every attack, and every case that once broke something: a found case joins by a line in found.jsonl.

Half of the short part is tried in every run of the tests, and the whole of it among the slow ones.
"""

import pytest

from soak.attacks import ATTACKS
from soak.runner import drawn, found, run

FOUND = found()
SHORT = [name for name, attack in ATTACKS.items() if attack.short]  # the others are for `make soak` alone


def fails(record):
    return record.findings and "\n".join(f"{f['case']}\n{f['finding']}" for f in record.findings)


def tried(attack, seeds):
    return run(attack, (drawn(attack, seed) for seed in seeds))


def half(attack):
    return (ATTACKS[attack].short + 1) // 2


@pytest.mark.compiled
@pytest.mark.parametrize("attack", [pytest.param(name, marks=[pytest.mark.slow] * ATTACKS[name].slow) for name in SHORT])
def test_a_short_attack_finds_nothing(attack):
    record = tried(attack, range(half(attack)))
    assert not fails(record)
    assert record.tries == half(attack)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("attack", SHORT)
def test_its_other_half_finds_nothing(attack):
    record = tried(attack, range(half(attack), ATTACKS[attack].short))
    assert not fails(record)
    assert record.tries == ATTACKS[attack].short // 2


@pytest.mark.compiled
@pytest.mark.parametrize("attack", sorted(FOUND))
def test_what_was_found_stays_mended(attack):
    assert not fails(run(attack, FOUND[attack]))
