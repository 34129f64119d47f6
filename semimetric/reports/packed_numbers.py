"""Arrays and text as a page holds them: numbers in base64, and JSON that can stand inside of a script element."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from .._foundation.types import ArrayLike

_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def packed(values: ArrayLike) -> dict[str, str]:
    """Whole numbers as little-endian int32 and all others as float64, in base64, to the last bit."""
    array = np.asarray(values)
    kind = "i4" if array.dtype.kind in "iub" else "f8"
    return {"type": kind, "base64": base64.b64encode(array.astype(f"<{kind}").tobytes()).decode()}


def script_json(values: Any) -> str:
    """JSON in which no character can end a script element, begin another or be a line end of JavaScript."""
    text = json.dumps(values, allow_nan=False, separators=(",", ":"))
    return "".join(_ESCAPED.get(c, c) for c in text) if any(c in text for c in _ESCAPED) else text
