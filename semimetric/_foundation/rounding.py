"""How far rounding may lead: bounds of the errors of sums, so that what is claimed of a number holds in floating point."""

__all__ = ["rounding_of"]

_UNIT = 2.0**-53
_MORE = 32  # operations beside the sum: those that made its terms, products, scales, the sum of two such sums


def rounding_of(n_terms: int) -> float:
    """A bound of the error of a sum of so many products of floats, as a share of the sum of their sizes, in any order.

    It is k u / (1 - k u) with k operations and the unit roundoff u.
    """
    k = (n_terms + _MORE) * _UNIT
    return k / (1.0 - k)
