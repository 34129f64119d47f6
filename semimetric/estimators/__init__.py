"""Estimators: thin scikit-learn shells over `fitting`."""
