"""Classifiers that are no votes under a learned distance: support points and piecewise-linear boundaries (paper 3)."""
