"""What every room stands on: errors, array types, validation, atomic files, threads and optional imports.

It stands on no other room.
"""
