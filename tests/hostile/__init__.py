"""Hostile input: every public door that data comes in by, and what is tried at it."""
