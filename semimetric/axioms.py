"""What a distance guarantees, and the strongest name for it."""

from dataclasses import dataclass

__all__ = ["Axioms"]


@dataclass(frozen=True)
class Axioms:
    """What holds for every pair of points, by the weights and columns of the model.

    With base distances it holds if each base distance is itself a semimetric: symmetry and zeros on the diagonal are checked
    on a few pairs of the training, and not claimed if they fail there; the triangle inequality is never claimed.
    ``triangle=False`` means "not proved", not "violated".
    """

    nonnegative: bool
    zero_on_diagonal: bool
    symmetric: bool
    positive: bool
    triangle: bool
    continuous: bool

    @property
    def name(self) -> str:
        """The strongest name that all of these give.

        none: negative, or not 0 from a point to itself; premetric: not symmetric; semimetric: symmetric; metric: symmetric
        with the triangle inequality. Where different points can be at distance 0, pseudosemimetric and pseudometric stand for
        the last two, and "premetric, not positive" for the second.
        """
        if not (self.nonnegative and self.zero_on_diagonal):
            return "none"
        if not self.symmetric:
            return "premetric" if self.positive else "premetric, not positive"
        return f"{'' if self.positive else 'pseudo'}{'metric' if self.triangle else 'semimetric'}"

    def __str__(self) -> str:
        held = [name.replace("_", " ") for name, holds in vars(self).items() if holds]
        return f"{self.name} ({', '.join(held)})" if held else "none"
