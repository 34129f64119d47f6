"""An estimator around a learner: which one it fits, and how its parameters are reached."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from .._foundation.errors import InputError

__all__ = ["NestedLearner"]


class NestedLearner(BaseEstimator):
    """An estimator with a ``learner``, of which None is a default one; ``learner__alpha`` and so on reach its parameters."""

    learner: Any
    n_jobs: int | None
    effort: str | None
    random_state: Any

    @staticmethod
    def _default_learner() -> Any:
        """What ``learner=None`` stands for."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; where ``learner`` is None, those of the default one too, which `set_params` takes.

        Parameters
        ----------
        deep : bool, default True
            Whether those of the learner are told, as ``learner__alpha`` and so on.

        Returns
        -------
        dict of str to object
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and params["learner"] is None:
            default = self._default_learner().get_params()
            params |= {f"learner__{name}": value for name, value in default.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the learner as ``learner__alpha`` and so on.

        Where the learner is None, it becomes a default one with these; None it stays if all of them are the default's own.

        Parameters
        ----------
        **params : dict
        """
        if params.get("learner", self.learner) is None and any(name.startswith("learner__") for name in params):
            nested = {name: params.pop(name) for name in list(params) if name.startswith("learner__")}
            learner = self._default_learner()  # which is kept only if it has all of these parameters
            default = learner.get_params()
            given = {name.removeprefix("learner__"): value for name, value in nested.items()}
            learner.set_params(**given)
            params["learner"] = None if all(_same(value, default[name]) for name, value in given.items()) else learner
        return super().set_params(**params)

    def _own_learner(self, random_state: Any = None) -> Any:
        """A copy of the learner, or a default one, with this effort, and seeds from ``random_state``, where they are given.

        It has these threads where it says none of its own.
        """
        learner = self._default_learner() if self.learner is None else clone(self.learner)
        if self.effort is not None:
            names = _named(learner, "effort")
            if not names:
                raise InputError(f"effort= is for the learner, and {type(learner).__name__} has none; leave it out")
            learner.set_params(**dict.fromkeys(names, self.effort))
        if self.n_jobs is not None:
            params = learner.get_params()
            learner.set_params(**{name: self.n_jobs for name in _named(learner, "n_jobs") if params[name] is None})
        if random_state is not None:
            random = check_random_state(random_state)
            learner.set_params(**{name: int(random.randint(2**31 - 1)) for name in _named(learner, "random_state")})
        return learner

    @staticmethod
    def _seed(random_state: Any) -> int:
        """A seed for what is drawn beside the learner."""
        return int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))


def _same(value: object, default: object) -> bool:
    """Whether a value is that of the default, which is a number, a text, a truth value, None or an empty tuple."""
    return value is default or (type(value) is type(default) and bool(value == default))


def _named(learner: Any, parameter: str) -> list[str]:
    """The parameters of this name that a learner has, and what is nested in it, in order."""
    return sorted(name for name in learner.get_params() if name.split("__")[-1] == parameter)
