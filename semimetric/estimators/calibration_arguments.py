"""The arguments by which metric-learn's users set a threshold, refused in metric-learn's words, to the letter.

Its methods are here under its names, so code that looks for its messages finds them. What they leave out, such as which
strategy asks for a rate, is a note of the error, which Python prints below the message.
"""

from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.validation import check_finite_number

__all__ = ["check_calibration", "check_threshold"]

_REAL = (int, float, np.integer, np.floating)
_KEPT = {"max_tpr": "dissimilar pairs that are told apart", "max_tnr": "similar pairs that are found"}
_MOST_SHOWN = 60  # characters of a value in a note


def check_calibration(strategy: Any, min_rate: Any, beta: Any) -> None:
    """Refuse a strategy that is not known, and the argument of a known one if it is no number, or outside of its range."""
    if strategy not in ("accuracy", "f_beta", "max_tpr", "max_tnr"):
        raise InputError(f'Strategy can either be "accuracy", "f_beta" or "max_tpr" or "max_tnr". Got "{strategy}" instead.')
    if strategy in _KEPT and not (isinstance(min_rate, _REAL) and 0 <= min_rate <= 1):
        error = InputError(f"Parameter min_rate must be a number in[0, 1]. Got {min_rate} instead.")  # it has no space there
        error.add_note(f"strategy={strategy!r} needs min_rate=, the least share of {_KEPT[strategy]}; give 0.9, for example")
        raise error
    if strategy == "f_beta":
        _check_real("beta", beta, "give 1.0 for the F1 score, more if recall is to count more, less if precision is")


def check_threshold(threshold: Any) -> float:
    """A threshold as a float; what is no finite number is refused."""
    return _check_real("threshold", threshold, "give a distance, up to which pairs are predicted similar")


def _check_real(name: str, value: Any, advice: str) -> float:
    """The value of a parameter, which must be a finite number."""
    if isinstance(value, bool) or not isinstance(value, _REAL):
        error = InputError(f"Parameter {name} must be a real number. Got {type(value)} instead.")
        error.add_note(f"{name}={_shown(value)} is no number; {advice}")
        raise error
    return check_finite_number(name, float(value))


def _shown(value: Any) -> str:
    """The beginning of the representation of a value, in one line."""
    return " ".join(repr(value).split())[:_MOST_SHOWN]
