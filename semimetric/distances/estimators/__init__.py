"""The scikit-learn estimators that learn a distance or search under it: thin shells around `distances.learning`.

It stands on `_foundation`, `_kernels`, `data`, `distances.pairs`, `distances.features`, `distances.model`,
`distances.programs`, `distances.search`, `distances.solvers` and `distances.learning`.
"""
