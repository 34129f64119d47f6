"""Names that somebody may have meant, for messages about a name that is not known."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from os.path import commonprefix

_MOST = 5000  # names that are compared letter by letter


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return ``"; did you mean 'a1' or 'a2'?"`` with up to three known names that are spelt alike; else ""."""
    if not isinstance(name, str):
        return ""
    wanted = name.casefold()
    spelt = {text.casefold(): text for text in known if isinstance(text, str)}
    if len(spelt) > _MOST:
        of_its_kind = (text for text in spelt if text[:1] == wanted[:1] and abs(len(text) - len(wanted)) <= 1)
        spelt = {text: spelt[text] for text in sorted(of_its_kind, key=lambda text: -_begin(text, wanted))[:_MOST]}
    alike = get_close_matches(wanted, spelt, n=30)
    if not alike:
        return ""
    best = SequenceMatcher(None, wanted, alike[0]).ratio()
    near = [text for text in alike if SequenceMatcher(None, wanted, text).ratio() > best - 0.05]
    *first, last = [repr(str(spelt[text])) for text in sorted(near, key=lambda text: (-_begin(text, wanted), text))[:3]]
    return f"; did you mean {', '.join(first)}{' or ' if first else ''}{last}?"


def _begin(text: str, wanted: str) -> int:
    return len(commonprefix([text, wanted]))
