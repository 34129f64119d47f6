"""Descriptions of the parameters that models drawn by chains share: `with_shared_parameters` puts them into docstrings."""

CHAIN_PARAMETERS = """
n_jobs : int or None, default None
    Number of threads.
random_state : int or None, default 0
verbose : bool or None, default None
    Whether to show the progress of the chains; None shows it at a terminal and in notebooks, if it takes more than ten
    seconds.
"""
