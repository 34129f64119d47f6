"""How much work the demo does."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DemoSizes:
    """How much work the demo does; the defaults take about a minute on two cores."""

    train_images: int = 1000
    train_pairs: int = 5000
    test_pairs: int = 2000
    queries: int = 100
