"""Saved models whose bytes are changed while their digests fit."""

from soak.attack import Attack


def draw(rng):
    return {"seed": int(rng.integers(2**32))}


def attempt(case, folder):
    return "correct"


FILES = Attack(draw, attempt)
