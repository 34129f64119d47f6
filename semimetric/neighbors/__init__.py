"""Exact and approximate nearest neighbours under a learned distance (THEORY, section 4)."""
