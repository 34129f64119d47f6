"""Descriptions of parameters that several classes share: written once, and whole in the docstring of each class."""

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

_PLACEHOLDER = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def with_shared_parameters(*texts: str) -> Callable[[C], C]:
    """A class decorator that replaces every line ``{name}`` of the docstring by the description of that parameter.

    Lines that are indented below ``{name}`` stay, and so add to the description what holds for the class alone. Under
    ``python -OO`` there are no docstrings, and the class is left as it is.

    Parameters
    ----------
    *texts : str
        Entries of a section "Parameters", as in a NumPy docstring. Where two texts describe a parameter, the later one counts.

    Raises
    ------
    KeyError
        When the class is made, if no text describes a parameter that its docstring names.

    Examples
    --------
    >>> @with_shared_parameters("verbose : bool, default False")
    ... class Learner:
    ...     '''Learns.
    ...
    ...     Parameters
    ...     ----------
    ...     {verbose}
    ...         Progress bars.
    ...     '''
    >>> print(Learner.__doc__.splitlines()[4].strip())
    verbose : bool, default False
    """
    entries = {name: entry for text in texts for name, entry in _entries(text).items()}

    def complete(cls: C) -> C:
        if cls.__doc__ is not None:
            cls.__doc__ = _PLACEHOLDER.sub(lambda found: _indented(entries[found[2]], found[1]), cls.__doc__)
        return cls

    return complete


def _entries(text: str) -> dict[str, str]:
    """The entries of a text by the name of their parameter: each begins with a line that is not indented."""
    parts = re.split(r"\n(?=\S)", inspect.cleandoc(text))
    return {part.partition(" : ")[0]: part.rstrip() for part in parts}


def _indented(entry: str, indent: str) -> str:
    """An entry, every line of it that is not empty moved to the right."""
    return "\n".join(indent + line if line else line for line in entry.splitlines())
