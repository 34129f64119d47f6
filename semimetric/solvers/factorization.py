"""The Cholesky factorization of the solvers, for which Ctrl-C does not wait."""

from concurrent.futures import Future
from threading import Thread, current_thread, main_thread

from scipy.linalg import cho_factor

from .._foundation.types import Floats

__all__ = ["factorize"]

_LARGE = 2_000  # rows of a matrix that takes LAPACK more than some 0.2 s


def factorize(H: Floats) -> tuple[Floats, bool]:
    """The factor of a positive definite matrix H of shape (n, n), as `scipy.linalg.cho_solve` takes it; H is overwritten.

    LAPACK cannot be interrupted, and takes several seconds for 8,000 rows. So another thread factorizes a large matrix, while
    this one waits and sees Ctrl-C at once; the other one then ends by itself, and nobody reads its result.

    Raises
    ------
    LinAlgError
        If H is not positive definite.
    """
    if len(H) < _LARGE or current_thread() is not main_thread():
        return cho_factor(H, overwrite_a=True, check_finite=False)
    factor: Future[tuple[Floats, bool]] = Future()

    def work() -> None:
        try:
            factor.set_result(cho_factor(H, overwrite_a=True, check_finite=False))
        except Exception as error:
            factor.set_exception(error)

    Thread(target=work, daemon=True).start()
    return factor.result()
