"""Attacks on the package that run for as long as one likes: ``make soak``."""
