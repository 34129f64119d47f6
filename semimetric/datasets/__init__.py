"""Data sets with a known true distance or a known boundary.

It stands on `_foundation` and `distances`.
"""

from .digits import DigitHistograms, exact_emd, load_digit_histograms
from .distance_pairs import KNOWN_DISTANCES, DistancePairs, make_distance_pairs, make_items
from .planar import make_horseshoe, make_s_shape, make_zigzag
from .triplet_answers import TripletAnswers, make_triplet_answers, perceived

__all__ = [
    "KNOWN_DISTANCES",
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
    "make_zigzag",
    "perceived",
]
