"""Every public call that takes data, given the same data in other clothes, and data that cannot be used."""

from hostile.trials import DOORS, GARMENTS, tried

from soak.attack import Attack


def draw(rng):
    return {"door": str(rng.choice(list(DOORS))), "garments": rng.choice(list(GARMENTS), 8, replace=False).tolist()}


def attempt(case, folder):
    outcomes = {tried(case["door"], garment) for garment in case["garments"]}
    return " and ".join(sorted(outcomes))


INPUT = Attack(draw, attempt, mebibytes=512, short=20)
