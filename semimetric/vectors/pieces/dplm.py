"""A piecewise-linear classifier whose number of pieces is inferred: a Dirichlet process mixture of planes (paper 3)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import check_sorted_classes, validated
from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_alpha, check_choice, check_count
from .boundary_points import check_classes
from .gibbs_chains import ChainsResult, GibbsChains
from .mixture_fit import FoundPieces, MixtureSettings, find_pieces, warn_unless_converged
from .mixture_prior import WPrior, check_w_prior
from .piece_choice import PieceChoice, check_overlap
from .piecewise_boundary import Pieces
from .support_pairs import check_neighbors
from .two_classes import class_pairs, split_classes, votes_of_pairs


@storable
class DPLMClassifier(ShortRepr, SavedEstimator, ClassifierMixin, BaseEstimator):
    """Classes separated by pieces of planes, whose number is inferred from the data (Gai & Zhang 2010).

    The boundary points x and directions v of `BoundaryPoints` are modelled by a Dirichlet process mixture of planes, equations
    11 to 22. Each plane has a centre mu and a normal w, and |w|^2 adds to the precision across the plane:

        x ~ N(mu, (lambda I + w w')^-1)        v ~ N(0, ((r + t) w'w I - t w w')^-1)

    The states of Gibbs sampling by Neal's algorithm 8 vote on the number of planes, and the best state with that number is
    refined by EM. An item is classified by the plane of its nearest boundary point (equation 24). Several classes are separated
    in pairs, which vote.

    Where the paper can be read in several ways, a parameter chooses one. Its gamma densities have a shape and a rate, and
    equation 23, a sum of densities, is read as the sum of their logarithms.

    Parameters
    ----------
    alpha : float or "auto", default "auto"
        Concentration of the Dirichlet process, > 0: larger numbers expect more pieces; 0.1, 1 and 10 in the paper. "auto" draws
        it from an exponential prior of mean 1 (Escobar & West 1995, section 6).
    n_components : int, "auto" or None, default None
        Number of pieces, at most one for each boundary point, which EM fits; None infers it. A `SemimetricWarning` says if
        fewer are left. With "auto" held-out items choose between this and, for machines, 6, 10, 16 and 24 groups of boundary
        points.
    local : {"svm", "plane"}, default "svm"
        The classes in a piece are separated by a linear support vector machine on its items (by its plane, if they are all of
        one class), or by its plane. The paper has both; planes follow every item where classes overlap.
    C : float or "auto", default "auto"
        For these machines, on items in units of their largest difference from the mean; "auto" tries 1, 10, 100 on held-out
        items.
    overlap : float or "auto", default "auto"
        A machine learns from the items to which the nearest boundary point of its piece is at most so many times as far as the
        nearest of all, >= 1. At 1 every item teaches one machine, as in the paper; above, the boundary bends less abruptly.
        "auto" tries 1, and 1.5 with the larger C, on held-out items.
    multi_class : {"ovo", "ovr"}, default "ovo"
        Several classes are separated in pairs, which vote, or each from the rest, where the largest signed distance wins; the
        paper has two classes.
    w_prior : float, "auto", "precision" or "covariance", default "auto"
        Variance of w in the prior, equation 26, over the mean variance sigma^2 of the boundary points. A vague prior makes
        pieces costly, a narrow one makes planes thick. With "auto", five folds choose among 1000, 30, 1, and one piece: that
        with the fewest pieces, unless another is right more often by more than 1.5 standard errors, over all pairs of classes.
        Without two places of both classes in a pair, it is one piece with C = 1, or 1000 for a given number. The equation
        prints "covariance", sigma^2 itself, which depends on the unit of the features; "precision" is 1 / sigma^2.
    counted : bool, default False
        True counts a boundary point once for every item that leads to it. Then components rarely change, and the chains hardly
        mix.
    prior_points : {"boundary", "items"}, default "boundary"
        The points x^m of equations 25 to 27, whose mean and covariance set the prior.
    chains : GibbsChains or None, default None
        The chains of Gibbs sampling; None is ``GibbsChains()``, two chains with 10,000 sweeps.
    neighbors : estimator or None, default None
        An unfitted estimator with ``fit`` and ``kneighbors``, such as ``NeighborIndex(d)`` for a learned distance d, or
        scikit-learn's NearestNeighbors. It finds the support points of equation 3 in place of Euclid; planes stay Euclidean.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
    verbose : bool or None, default None
        True shows progress bars, False none; None shows them at a terminal and in notebooks after two seconds.

    Attributes
    ----------
    classes_ : ndarray
    pieces_ : list of Pieces
        Boundary points, their components, and centres and normals of the planes, of two classes, of each of ``class_pairs_``,
        or of each class.
    class_pairs_ : ndarray of shape (n_pairs, 2)
        Of several classes under "ovo": the numbers in ``classes_`` of the negative and the positive class.
    n_components_ : int, or ndarray of shape (n_pairs,) or (n_classes,)
        Number of pieces.
    posterior_n_components_ : ndarray, or list of them
        Share of the voting states that have 0, 1, 2, ... components (Fig. 5).
    trace_ : ndarray of shape (n_chains, n_sweeps, 3), or list of them
        The log joint density, the number of components and the share of points that moved, after every sweep. Where no chains
        run, it is the objective of EM before every M-step, or the log joint density of groups.
    r_hat_ : float, or ndarray
        Gelman and Rubin's split R-hat of the log joint density after the burn-in, with a `ConvergenceWarning` above 1.1; 1
        without chains.
    choice_ : PieceChoice
        What "auto" compared: ``n_groups``, ``w_prior``, ``C``, ``overlap``, ``n_components``, ``accuracy`` and
        ``standard_error`` of every candidate by held-out items, and the number of the ``chosen`` one.
    n_features_in_ : int

    Raises
    ------
    InputError
        If there are fewer than two classes, or a parameter is out of its range.
    KeyboardInterrupt
        After Ctrl-C; while chains run, the attributes are then set from the sweeps so far.

    Examples
    --------
    >>> from semimetric.datasets import make_horseshoe
    >>> X, y = make_horseshoe()
    >>> model = DPLMClassifier(chains=GibbsChains(n_sweeps=2000), random_state=0).fit(X, y)
    >>> model.n_components_, bool(model.score(X, y) > 0.97)
    (6, True)
    """

    classes_: Stored[NDArray[Any]]
    pieces_: Stored[list[Pieces]]
    n_components_: Stored[int | Integers]
    trace_: Stored[Floats | list[Floats]]
    posterior_n_components_: StoredIfSet[Floats | list[Floats]]
    r_hat_: StoredIfSet[float | Floats]
    class_pairs_: StoredIfSet[Integers]
    choice_: StoredIfSet[PieceChoice]
    n_features_in_: Stored[int]
    feature_names_in_: StoredIfSet[NDArray[Any]]

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        n_components: int | str | None = None,
        local: str = "svm",
        C: float | str = "auto",
        overlap: float | str = "auto",
        multi_class: str = "ovo",
        w_prior: WPrior = "auto",
        counted: bool = False,
        prior_points: str = "boundary",
        chains: GibbsChains | None = None,
        neighbors: BaseEstimator | None = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.alpha = alpha
        self.n_components = n_components
        self.local = local
        self.C = C
        self.overlap = overlap
        self.multi_class = multi_class
        self.w_prior = w_prior
        self.counted = counted
        self.prior_points = prior_points
        self.chains = chains
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; where ``chains`` is None, ``chains__n_sweeps`` and the like change the default chains."""
        if self.chains is None and "chains" not in parameters and any(name.startswith("chains__") for name in parameters):
            self.chains = GibbsChains()
        return super().set_params(**parameters)

    def fit(self, X: ArrayLike, y: ArrayLike) -> DPLMClassifier:
        """Find the pieces between the classes y (n_items,) of X (n_items, n_features)."""
        self._check()
        items, classes, codes = check_classes(self, X, y)
        problems = split_classes(items, codes, classes, self.multi_class)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self._set_attributes(classes, *find_pieces(problems, self._settings(), rng))
        return self

    def _check(self) -> None:
        for name in ("alpha", "C", "overlap", "n_components"):
            if isinstance(given := getattr(self, name), str):
                check_choice(name, given, ("auto",))
            elif name in ("alpha", "C"):
                check_alpha(name, given, strict=True)
            elif name == "n_components" and given is not None:
                check_count(name, given)
        check_overlap(self.overlap)
        check_choice("local", self.local, ("svm", "plane"))
        check_choice("multi_class", self.multi_class, ("ovo", "ovr"))
        check_choice("prior_points", self.prior_points, ("boundary", "items"))
        check_w_prior(self.w_prior)
        check_neighbors(self.neighbors)
        if not isinstance(self.chains, GibbsChains | None):
            raise InputError(f"chains={self.chains!r} is no GibbsChains; give GibbsChains(...), or None for its defaults")
        self._chains.check()

    @property
    def _given_number(self) -> int | None:
        return None if self.n_components is None or isinstance(self.n_components, str) else int(self.n_components)

    @property
    def _chains(self) -> GibbsChains:
        return GibbsChains() if self.chains is None else self.chains

    def _settings(self) -> MixtureSettings:
        alpha = None if self.alpha == "auto" else float(self.alpha)
        return MixtureSettings(
            schedule=self._chains.schedule(alpha),
            n_components=self._given_number or self.n_components,
            local=self.local,
            C=self.C,
            overlap=self.overlap,
            w_prior=self.w_prior,
            counted=self.counted,
            prior_points=self.prior_points,
            refine=self._chains.refine,
            neighbors=self.neighbors,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _set_attributes(self, classes: Any, fits: list[FoundPieces], choice: PieceChoice | None) -> None:
        """Set the attributes, then raise KeyboardInterrupt if Ctrl-C ended the fit."""
        self.classes_ = classes
        self.pieces_ = [found.pieces for found in fits]
        for name in ("posterior_n_components_", "r_hat_", "choice_", "class_pairs_"):
            self.__dict__.pop(name, None)  # an earlier fit may have left it
        if choice is not None:
            self.choice_ = choice
        if self.multi_class == "ovo" and len(classes) > 2:
            self.class_pairs_ = np.array(class_pairs(len(classes)))
        runs = [found.run for found in fits]
        counts = [pieces.n_components for pieces in self.pieces_]
        traces = [run.trace if isinstance(run, ChainsResult) else run for run in runs]
        is_single = len(runs) == 1
        self.n_components_, self.trace_ = (counts[0], traces[0]) if is_single else (np.array(counts), traces)
        if self._given_number is not None:
            return
        shares = [r.frequencies if isinstance(r, ChainsResult) else np.eye(n + 1)[n] for r, n in zip(runs, counts, strict=True)]
        r_hats = [run.r_hat if isinstance(run, ChainsResult) else 1.0 for run in runs]
        self.posterior_n_components_ = shares[0] if is_single else shares
        self.r_hat_ = r_hats[0] if is_single else np.array(r_hats)
        if any(isinstance(run, ChainsResult) and run.interrupted for run in runs):
            raise KeyboardInterrupt
        chains = self._chains
        warn_unless_converged(max(r_hats), f"n_sweeps={chains.n_sweeps} or n_auxiliary={chains.n_auxiliary} of chains")

    def check_restored(self) -> None:
        self._check()
        d = self.n_features_in_
        check_names(self, d)
        check_sorted_classes(self.classes_)
        pairs = class_pairs(len(self.classes_))
        is_ovo = self.multi_class == "ovo" and len(self.classes_) > 2
        if not np.array_equal(getattr(self, "class_pairs_", []), pairs if is_ovo else []):
            raise InputError(f"class_pairs_ are not the pairs of {len(self.classes_)} classes; restore the file")
        n = len(pairs) if is_ovo or len(self.classes_) == 2 else len(self.classes_)
        several = [name for name in ("trace_", "posterior_n_components_") if isinstance(getattr(self, name, None), list)]
        if len(self.pieces_) != n or any(n == 1 or len(getattr(self, name)) != n for name in several):
            raise InputError(f"pieces are not those of {len(self.classes_)} classes, {n} sets of them; restore the file")
        for pieces in self.pieces_:
            pieces.check(d)
        if hasattr(self, "choice_"):
            self.choice_.check()
        if np.ravel(self.n_components_).tolist() != [pieces.n_components for pieces in self.pieces_]:
            raise InputError(f"n_components_ are {self.n_components_}, unlike those of the pieces; restore the file")

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return signed distances to the plane of each item's piece, > 0 on the side of the second class.

        Returns
        -------
        ndarray of shape (n_queries,), or (n_queries, n_classes)
            With more classes a column for each: its votes, and s / (3 (|s| + 1)), where s sums its signed distances from the
            others, over the mean distance of the support points of the pair; with "ovr" the signed distance, > 0 on its side.
        """
        items = self._items(X)
        values = np.column_stack([pieces.decision(items) for pieces in self.pieces_])
        if values.shape[1] == 1:
            return values[:, 0]
        if self.multi_class == "ovr":
            return values
        return votes_of_pairs(values, np.array([pieces.width for pieces in self.pieces_]), len(self.classes_))

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of each item, shape (n_queries,)."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    @available_if(lambda self: self.local == "plane" and len(getattr(self, "classes_", (0, 1))) == 2)
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return probabilities of two classes, from the spread of boundary points; only for ``local="plane"``.

            P(second class | x) = Phi(sqrt(lambda + w'w) <w, x - mu> / |w|)

        is the probability that a boundary point of the item's piece (equation 15) lies on the side of the first class, seen
        from x. It says how certain the place of the boundary is, not how mixed the classes are: where they overlap, calibrate
        the decision function instead. There are probabilities for two classes only.

        Returns
        -------
        ndarray of shape (n_queries, 2)
        """
        items = self._items(X)
        positive = self.pieces_[0].probability(items)
        return np.column_stack([1 - positive, positive])

    def _items(self, X: ArrayLike) -> Floats:
        check_is_fitted(self, "pieces_")
        return validated(self, X, dtype=np.float64, order="C", reset=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "pieces_")
