"""The gradient of the vote of all items by their L1 distances, for neighbourhood components."""

from typing import NamedTuple

import numpy as np

from .jit import kernel

_LEAST = 0.03  # of a mean vote: smaller changes are most of all, and are left out of the gradient


class VotingItems(NamedTuple):
    """Items that vote, in coordinates whose L1 distances weight their votes."""

    by_item: np.ndarray  # float32 (n, K): the coordinates
    by_coordinate: np.ndarray  # float32 (K, n): the same, transposed
    labels: np.ndarray  # int64 (n,): the class of each item
    weight: np.ndarray  # float32 (n,): the number of votes that each item has


@kernel
def add_vote_gradients(voters, anchors, importance, out, losses):
    """Add the gradient of the loss of some anchors to ``out`` (n, K), and write the losses to ``losses`` (b,).

    Item j votes for its class with the weight ``weight[j] exp(-|z_i - z_j|_1)``, and no item votes for itself. The loss of an
    anchor i, a row of the voters in ``anchors`` (b,), is -log of the share of the votes that its class gets, and counts
    ``importance`` (b,) in the gradient. An anchor for whose class nobody votes has no gradient and the loss NaN.
    """
    z, columns, labels, weight = voters.by_item, voters.by_coordinate, voters.labels, voters.weight
    n, n_coordinates = z.shape
    distance, vote = np.empty(n, np.float32), np.empty(n, np.float32)
    least = np.float32(_LEAST / n)
    for a in range(anchors.shape[0]):
        i = anchors[a]
        for j in range(n):
            distance[j] = np.float32(0.0)
        for k in range(n_coordinates):
            at = z[i, k]
            for j in range(n):
                distance[j] += abs(columns[k, j] - at)
        distance[i] = np.float32(np.inf)
        nearest, nearest_own = np.float32(np.inf), np.float32(np.inf)
        for j in range(n):
            nearest = min(nearest, distance[j])
            if labels[j] == labels[i]:
                nearest_own = min(nearest_own, distance[j])
        losses[a] = np.nan
        if nearest_own == np.inf:
            continue
        total, own = np.float32(0.0), np.float32(0.0)
        for j in range(n):
            vote[j] = weight[j] * np.exp(nearest - distance[j])
            total += vote[j]
            if labels[j] == labels[i]:
                own += weight[j] * np.exp(nearest_own - distance[j])
        if not own > 0.0 or not total > 0.0:  # the weights of its class vanish beside those of others
            continue
        losses[a] = nearest_own - nearest - np.log(own / total)
        for j in range(n):
            change = -vote[j] / total
            if labels[j] == labels[i]:
                change += weight[j] * np.exp(nearest_own - distance[j]) / own
            if abs(change) < least:
                continue
            change *= importance[a]
            for k in range(n_coordinates):
                difference = z[i, k] - z[j, k]
                step = change if difference > 0.0 else (-change if difference < 0.0 else np.float32(0.0))
                out[i, k] += step
                out[j, k] -= step
