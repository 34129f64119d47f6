"""Every public call that takes data, given the same data in other forms, and data that cannot be used."""

from collections import Counter

from hostile.trials import ARGUMENTS, FORMS, tried

from soak.attack import Attack


def draw(rng):
    return {"argument": str(rng.choice(list(ARGUMENTS))), "forms": rng.choice(list(FORMS), 8, replace=False).tolist()}


def attempt(case, folder):
    return Counter(tried(case["argument"], form) for form in case["forms"])


INPUT = Attack(draw, attempt, mebibytes=512, short=20)
