"""What is held of every door: other clothes change no answer, and what cannot be used is refused in one sentence."""

import copy
import warnings

import numpy as np

import semimetric as sm
from hostile.doors import all_doors
from hostile.wardrobe import BAD, CLOTHES, SPARSE, WHOLE

DOORS = all_doors()
GARMENTS = CLOTHES | SPARSE | BAD
ANSWERS = {}  # of the plain arrays, by the name of the door


def tried(door, garment):
    """Try one garment at a door: "equal", "refused", or "no such data" where the garment cannot be made of the plain array.

    Raises
    ------
    AssertionError
        If bad data were accepted, good ones refused, the answer differs, the data were changed, or the message is not one
        sentence.
    """
    entry = DOORS[door]
    given = dressed(entry.plain, garment)
    if given is None:
        return "no such data"
    before = copied(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of estimators that did not converge, ties among knots and the like
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            found = entry.call(given)
        except sm.SemimetricError as error:
            if not may_be_refused(entry, garment) or "\n" in str(error):
                raise AssertionError(f"{door} refuses {garment}: {error}") from error
            return "refused"
        if door not in ANSWERS:
            ANSWERS[door] = entry.call(np.array(entry.plain))
    assert unchanged(given, before), f"{door} changes {garment}"
    if not must_be_equal(entry, garment):
        assert garment in entry.takes, f"{door} accepts {garment}"
        return "accepted"
    for a, b in zip(parts(ANSWERS[door]), parts(found), strict=True):
        assert np.array_equal(a, b), f"{door} answers {garment} by {np.ravel(b)[:5]}, not by {np.ravel(a)[:5]}"
        assert not np.isnan(b).any()
    return "equal"


def dressed(plain, garment):
    """The plain array in other clothes or spoilt; None if they do not hold its values."""
    if garment in SPARSE and (plain.ndim != 2 or plain.dtype.kind != "f"):
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            given = GARMENTS[garment](np.array(plain))
        except (TypeError, ValueError):  # vectors have no rows, and integers cannot be NaN
            return None
    if garment in CLOTHES and not np.array_equal(np.asarray(given, dtype=float), plain):
        return None
    return given


def must_be_equal(entry, garment):
    """Whether the garment holds what the plain array holds, so that the answer must be the same if there is one."""
    return garment in CLOTHES or (garment in SPARSE and entry.sparse)


def may_be_refused(entry, garment):
    rows = entry.plain.dtype.kind == "i" and garment not in WHOLE
    return rows or garment in entry.refuses or not must_be_equal(entry, garment)


def parts(answer):
    return answer if isinstance(answer, tuple) else (answer,)


def copied(given):
    """A copy to compare with; None of what cannot be copied, such as a generator."""
    try:
        return copy.deepcopy(given)
    except TypeError:
        return None


def unchanged(given, before):
    if before is None or not isinstance(given, np.ndarray):
        return True
    return given.tobytes() == before.tobytes() if given.dtype != object else list(given.flat) == list(before.flat)
