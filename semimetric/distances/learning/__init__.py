"""Learning, from examples and options to a distance: structure, prior, terms, one solve, assembly.

It stands on `_foundation`, `_kernels`, `data`, `distances.pairs`, `distances.features`, `distances.model`,
`distances.programs`, `distances.search` and `distances.solvers`.
"""
