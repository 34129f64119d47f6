"""What every room stands on: errors, array types, validation, atomic files, threads, shared docstrings and optional imports.

It stands on no other room.
"""
