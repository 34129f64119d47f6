"""The attacks by name: a new one joins by one row."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from soak.attack import Attack


class Attacks(Mapping[str, Attack]):
    """Attacks by name, from ``module.NAME``; a module is imported when it is asked for, as few need more than one."""

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    def __getitem__(self, name: str) -> Attack:
        module, attack = self.places[name].split(".")
        return getattr(import_module(f"soak.{module}"), attack)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


ATTACKS = Attacks(
    {
        "growing-memory": "growth.GROWTH",
        "interrupted-fits": "interrupted_fits.FITTED",
        "command-lines": "command_lines.COMMAND_LINES",
        "hostile-input": "hostile_input.INPUT",
        "model-files": "models.FILES",
        "estimator-files": "models.ESTIMATORS",
        "crafted-numbers": "models.NUMBERS",
        "solvers-agree": "certificates.CERTIFICATES",
        "promised-constraints": "promises.PROMISES",
        "exact-search": "exact_search.EXACT",
        "search-magnitudes": "exact_search.MAGNITUDES",
        "interrupted-search": "interrupted_search.INTERRUPTED",
        "index-folders": "models.INDEXES",
        "shard-folders": "models.SHARDS",
        "full-disk": "full_disk.SAVES",
        "interrupted": "interrupted_calls.CALLED",
        "killed-savers": "killed_savers.SAVES",
        "killed-workers": "killed_workers.KILLS",
        "readers-beside-writer": "readers.READS",
    }
)
