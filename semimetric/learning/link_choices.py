"""What a recipe says of the link and of exponents of base distances: which values there are, and what goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from ..distances.links import Link, PowerLink, checked_link, link_function
from ..programs.constraints import Concave

__all__ = [
    "base_powers", "check_link", "exponent_of", "exponents_of", "is_chosen", "refuse_open_links", "resolved_link", "row_power",
]  # fmt: skip

_CHOSEN = ("power", "concave")  # links that learning finds
_MOST = 10.0


def is_chosen(link: Any) -> bool:
    """Whether a link is to be found by learning."""
    return isinstance(link, str) and link in _CHOSEN


def resolved_link(link: Any) -> str | Link:
    """A link as recipes keep it, of which two names stand for links that are to be found.

    Raises
    ------
    InputError
        If it is not known.
    """
    if is_chosen(link):
        return str(link)
    if isinstance(link, str) and link not in ("identity", "sqrt"):
        raise InputError(f"link={link!r} is not known; use one of 'identity', 'sqrt', 'power', 'concave', or an exponent")
    return checked_link(link)


def check_link(recipe: Any) -> None:
    """Refuse a link, or exponents of base distances, that are not known, or do not go with the rest of the recipe.

    Raises
    ------
    InputError, NotSupportedError
    """
    link = resolved_link(recipe.link)
    if isinstance(recipe.base_distances, Sequence):  # else they are refused where they are called
        _check_exponents(recipe.base_exponents, len(recipe.base_distances))
    if link == "identity":
        return
    if recipe.axioms is None:
        learns = (
            'link="sqrt" learns the squared distance, which' if link == "sqrt" else f"link={recipe.link!r} learns a sum that"
        )
        raise NotSupportedError(
            f"{learns} has no sign, and axioms=None allows it below 0, where it has no root; use "
            'axioms="premetric", or link="identity"'
        )
    concave = is_chosen(link) or link_function(link).concave
    if recipe.asks_triangle and not concave:
        raise NotSupportedError(
            f"link={recipe.link!r} is not concave, so that axioms={recipe.axioms!r} cannot be proved; use an exponent of "
            'at most 1, or axioms="semimetric"'
        )
    if not concave and any(isinstance(shape, Concave) for shape in recipe.constraints):
        raise NotSupportedError(f"Concave cannot hold under link={recipe.link!r}; use an exponent of at most 1")
    if len(recipe.constraints) and not (link in ("sqrt", "power") or isinstance(link, PowerLink)):
        raise NotSupportedError(
            f'constraints= cannot be stated as rows under link={recipe.link!r}; use an exponent, or link="power"'
        )


def refuse_open_links(recipe: Any, why: str) -> None:
    """Refuse a link, or exponents of base distances, that are yet to be chosen; ``why`` says what cannot choose them.

    Raises
    ------
    NotSupportedError
    """
    for name, is_open in (("link", is_chosen(recipe.link)), ("base_exponents", isinstance(recipe.base_exponents, str))):
        if is_open:
            raise NotSupportedError(
                f"{name}={getattr(recipe, name)!r} is chosen on held-out pairs, and {why}; give a number, such as that of the "
                "recipe_ of a fit on a sample in memory"
            )


def _check_exponents(given: Any, n: int) -> None:
    if isinstance(given, str):
        if given != "auto":
            raise InputError(f'base_exponents={given!r} is not known; a number > 0, one for each base distance, or "auto"')
        return
    numbers = given if isinstance(given, (list, tuple, np.ndarray)) else [given]
    fine = all(isinstance(e, (int, float, np.number)) and not isinstance(e, bool) and 0 < e <= _MOST for e in numbers)
    if not fine or (numbers is given and len(given) != n):
        raise InputError(
            f"base_exponents={given!r} for {n} base distances: one number, or one for each, is required, above 0 and at most "
            f'{_MOST:g}; or "auto"'
        )


def base_powers(link: Any, exponents: str | float | Sequence[float], n: int) -> tuple[float, ...]:
    """The powers at which n base distances enter the sum, which under the link "sqrt" are squares."""
    if not n:
        return ()
    each = exponents_of(exponents) or (1.0 if isinstance(exponents, str) else float(exponents),) * n  # type: ignore[arg-type]
    return tuple((2.0 if link == "sqrt" else 1.0) * e for e in each)


def exponents_of(given: Any) -> tuple[float, ...]:
    """Exponents of base distances where there is one for each; else none."""
    return tuple(map(float, given)) if isinstance(given, (list, tuple, np.ndarray)) else ()


def exponent_of(link: Any) -> float | None:
    """The exponent of a power; None of other links."""
    return link.exponent if isinstance(link, PowerLink) else None


def row_power(link: Any) -> float:
    """The power of a distance that the sum is, for a link that is a power."""
    return 2.0 if link == "sqrt" else 1.0 / link.exponent if isinstance(link, PowerLink) else 1.0
