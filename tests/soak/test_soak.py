"""A short part of every attack, and every case that once broke something: a found case joins by a line in found.jsonl.

What was found, and a case of every other attack, is tried in every run of the tests, and the short part among the slow ones.
"""

import pytest

from soak.attacks import ATTACKS
from soak.runner import Children, drawn, found, run

FOUND = found()
SHORT = [name for name, attack in ATTACKS.items() if attack.short]  # the others are for `make soak` alone
# a single case makes 120 calls, starts and kills workers of a cluster, fits every estimator, or compiles most of the search
LONG = ["growing-memory", "killed-workers", "hostile-input", "exact-search"]


def fails(record):
    return record.findings and "\n".join(f"{f['case']}\n{f['finding']}" for f in record.findings)


def tried(attack, seeds, **options):
    return run(attack, (drawn(attack, seed) for seed in seeds), **options)


@pytest.fixture(scope="module")
def children():
    """Processes for single cases of many attacks, each of which a process of its own would take seconds to start for."""
    with Children() as children:
        yield children


@pytest.mark.compiled
@pytest.mark.parametrize("attack", [name for name in SHORT if name not in FOUND and name not in LONG])
def test_the_first_case_finds_nothing(attack, children):
    record = tried(attack, range(1), children=children)
    assert not fails(record)
    assert record.tries == 1


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("attack", SHORT)
def test_a_short_attack_finds_nothing(attack):
    record = tried(attack, range(ATTACKS[attack].short))
    assert not fails(record)
    assert record.tries == ATTACKS[attack].short


@pytest.mark.compiled
@pytest.mark.parametrize("attack", sorted(FOUND))
def test_what_was_found_stays_mended(attack, children):
    assert not fails(run(attack, FOUND[attack], children=children))
