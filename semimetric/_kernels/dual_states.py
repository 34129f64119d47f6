"""States of the dual variables of a row while a solver descends."""

from .jit import kernel

ASLEEP, RESTS, AWAKE = 0, 1, 2
"""Left out until the gap is computed; at its optimum as the weights are, so that it waits for the next epoch; to be visited."""


@kernel
def any_awake(state):
    """Return True if any of these variables is awake."""
    for c in range(state.shape[0]):
        if state[c] == AWAKE:
            return True
    return False
