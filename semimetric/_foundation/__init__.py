"""The ground of every room: errors, array types, validation, files, storable values, threads and optional imports.

It stands on no other room.
"""
