"""Hostile input: every public argument that data comes in by, and what is tried at it."""
