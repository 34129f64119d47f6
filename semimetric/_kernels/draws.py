"""Exact moves along one number of a density known up to a factor: slice sampling (Neal 2003), with nothing to tune."""

import math

from .jit import kernel


@kernel
def mode(a, b, c, e):
    """Return the x >= 0 with the largest x^a (x + c)^b exp(-e x): the root of e x^2 + (e c - a - b) x - a c = 0."""
    half = 0.5 * (e * c - a - b)
    root = math.sqrt(half * half + e * a * c)
    return (root - half) / e if half <= 0.0 else a * c / (root + half)


@kernel
def tilted_gamma(x, a, b, c, e, rng):
    """Draw a move from x that leaves x^a (x + c)^b exp(-e x), x > 0, as it is; a > -1, e > 0.

    In y = log x the density (a + 1) y + b log(e^y + c) - e e^y has one mode. The first interval is three deviations there.
    """
    top = mode(a + 1.0, b, c, e)
    width = 3.0 / math.sqrt(e * top - b * c * top / ((top + c) * (top + c)))
    y = math.log(x)
    level = _tilted(y, a, b, c, e) - rng.standard_exponential()
    low = y - width * rng.random()
    high = low + width
    while _tilted(low, a, b, c, e) > level:
        low -= width
    while _tilted(high, a, b, c, e) > level:
        high += width
    while True:
        drawn = low + (high - low) * rng.random()
        if _tilted(drawn, a, b, c, e) >= level:
            return math.exp(drawn)
        if drawn < y:
            low = drawn
        else:
            high = drawn


@kernel
def _tilted(y, a, b, c, e):
    x = math.exp(y)
    return (a + 1.0) * y + b * math.log(x + c) - e * x


@kernel
def turn(angle, strength, rng):
    """Draw a move from ``angle`` that leaves exp(strength cos(2 angle)) as it is, in an interval of the circle that shrinks."""
    level = strength * math.cos(2.0 * angle) - rng.standard_exponential()
    low = angle - 2.0 * math.pi * rng.random()
    high = low + 2.0 * math.pi
    while True:
        drawn = low + (high - low) * rng.random()
        if strength * math.cos(2.0 * drawn) >= level or high - low < 1e-15:
            return drawn
        if drawn < angle:
            low = drawn
        else:
            high = drawn


@kernel
def choose(logits, rng):
    """Draw a number k with probability proportional to exp(logits[k])."""
    top = logits.max()
    total = 0.0
    for k in range(logits.shape[0]):
        total += math.exp(logits[k] - top)
    left = total * rng.random()
    for k in range(logits.shape[0]):
        left -= math.exp(logits[k] - top)
        if left < 0.0:
            return k
    return logits.argmax()
