"""What is held of every argument: the form of data changes no answer, and what cannot be used is refused in one sentence."""

import copy
import warnings

import numpy as np

import semimetric as sm
from hostile.arguments import all_arguments
from hostile.forms import BAD, SAME, SPARSE, WHOLE

ARGUMENTS = all_arguments()
FORMS = SAME | SPARSE | BAD
ANSWERS = {}  # of the plain arrays, by the name of the argument


def tried(argument, form):
    """Try one form of the data at an argument: "equal", "refused", or "no such data" where that array has no such form.

    Raises
    ------
    AssertionError
        If bad data were accepted, good ones refused, the answer differs, the data were changed, or the message is not one
        sentence.
    """
    entry = ARGUMENTS[argument]
    given = in_form(entry.plain, form)
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
            if not may_be_refused(entry, form) or "\n" in str(error):
                raise AssertionError(f"{argument} refuses {form}: {error}") from error
            return "refused"
        if argument not in ANSWERS:
            ANSWERS[argument] = entry.call(np.array(entry.plain))
    assert unchanged(given, before), f"{argument} changes {form}"
    if not must_be_equal(entry, form):
        assert form in entry.takes, f"{argument} accepts {form}"
        return "accepted"
    for a, b in zip(parts(ANSWERS[argument]), parts(found), strict=True):
        assert np.array_equal(a, b), f"{argument} answers {form} by {np.ravel(b)[:5]}, not by {np.ravel(a)[:5]}"
        assert not np.isnan(b).any()
    return "equal"


def in_form(plain, form):
    """The plain array in other forms or spoilt; None if they do not hold its values."""
    if form in SPARSE and (plain.ndim != 2 or plain.dtype.kind != "f"):
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            given = FORMS[form](np.array(plain))
        except (TypeError, ValueError):  # vectors have no rows, and integers cannot be NaN
            return None
    if form in SAME and not np.array_equal(np.asarray(given, dtype=float), plain):
        return None
    return given


def must_be_equal(entry, form):
    """Whether the form holds what the plain array holds, so that the answer must be the same if there is one."""
    return form in SAME or (form in SPARSE and entry.sparse)


def may_be_refused(entry, form):
    rows = entry.plain.dtype.kind == "i" and form not in WHOLE
    return rows or form in entry.refuses or not must_be_equal(entry, form)


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
