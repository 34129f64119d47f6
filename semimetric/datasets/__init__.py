"""Data sets with a known true distance or a known boundary, made or loaded without a network.

It stands on `_foundation`.
"""

from .measured_distances import (
    DigitHistograms,
    DistancePairs,
    TripletAnswers,
    exact_emd,
    load_digit_histograms,
    make_distance_pairs,
    make_items,
    make_triplet_answers,
    perceived,
)
from .planar import make_horseshoe, make_s_shape

__all__ = [
    "DigitHistograms",
    "DistancePairs",
    "TripletAnswers",
    "exact_emd",
    "load_digit_histograms",
    "make_distance_pairs",
    "make_horseshoe",
    "make_items",
    "make_s_shape",
    "make_triplet_answers",
    "perceived",
]
