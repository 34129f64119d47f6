import numpy as np
import pytest
from mixtures import points_of, prior_of

from semimetric.vectors.pieces import gibbs_chains
from semimetric.vectors.pieces.gibbs_chains import Chain, Schedule, draw_alpha, run_chains, split_r_hat


@pytest.fixture
def points(rng):
    return points_of(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) * 0.1)


def run(points, seed=0, **changes):
    parameters = {"alpha": 1.0, "n_sweeps": 250, "burn_in": 25, "n_chains": 2, "n_auxiliary": 3} | changes
    n_jobs = parameters.pop("n_jobs", None)
    return run_chains(points, prior_of(2, 100.0), Schedule(**parameters), rng=np.random.default_rng(seed), n_jobs=n_jobs)


def test_chains_are_seeded_and_threads_change_nothing(points):
    one, two = run(points), run(points, n_jobs=2)
    assert np.array_equal(one.trace, two.trace)
    assert np.array_equal(one.labels, two.labels)
    assert not np.array_equal(one.trace, run(points, seed=1).trace)
    assert one.trace.shape == (2, 250, 3)
    assert not np.array_equal(one.trace[0], one.trace[1])


def test_the_estimate_has_the_number_of_components_that_leads_the_votes(points):
    found = run(points, n_sweeps=600)
    votes = np.bincount(found.trace[:, 25:300, 1].astype(int).ravel())
    assert np.allclose(found.frequencies, votes / votes.sum())
    assert len(found.planes.lam) == votes.argmax()
    assert sorted(set(found.labels)) == list(range(votes.argmax()))


@pytest.mark.parametrize("after", [0, 1, 3])
def test_ctrl_c_keeps_the_chains_so_far(points, monkeypatch, after):
    calls, advance = iter(range(100)), Chain.advance

    def stopping(self, *arguments):
        if next(calls) == 2 * after:
            raise KeyboardInterrupt
        return advance(self, *arguments)

    monkeypatch.setattr(Chain, "advance", stopping)
    found = run(points, n_sweeps=1000)
    assert found.interrupted
    assert found.trace.shape == (2, 100 * after, 3)
    assert len(found.labels) == 20
    assert found.frequencies.sum() == pytest.approx(1)
    assert np.isfinite(found.planes.log_density(points)).all()
    if after:
        assert np.array_equal(found.trace, run(points, n_sweeps=1000).trace[:, : 100 * after])


def test_a_round_that_is_cut_short_is_counted(points):
    assert run(points, n_sweeps=gibbs_chains._SWEEPS_PER_ROUND + 7).trace.shape[1] == gibbs_chains._SWEEPS_PER_ROUND + 7


def test_r_hat_is_near_one_for_like_chains_and_tells_apart_others(rng):
    same = rng.normal(size=(3, 2000))
    assert split_r_hat(same) == pytest.approx(1.0, abs=0.01)
    assert split_r_hat(same + 3 * np.arange(3)[:, None]) > 2
    assert split_r_hat(np.linspace(0, 5, 1000)[None] + 0.1 * same[:1, :1000]) > 1.5  # it drifts
    assert split_r_hat(np.ones((2, 10))) == 1.0
    assert np.isinf(split_r_hat(np.ones((2, 10)) * np.array([[1.0], [2.0]])))
    assert np.isnan(split_r_hat(np.ones((2, 3))))
    by_hand = np.array([[1.0, 2.0, 4.0, 6.0]])
    assert split_r_hat(by_hand) == pytest.approx(np.sqrt(1 / 2 + 6.125 / 1.25))


def test_the_concentration_is_drawn_from_its_posterior():
    """p(alpha | K, n) is proportional to exp(-alpha) alpha^K Gamma(alpha) / Gamma(alpha + n); its mean by quadrature."""
    from scipy.integrate import quad
    from scipy.special import gammaln

    rng = np.random.default_rng(0)
    for k, n in ((1, 20), (6, 90)):

        def density(a, k=k, n=n):
            return np.exp(-a + k * np.log(a) + gammaln(a) - gammaln(a + n) + gammaln(1 + n))

        mean = quad(lambda a: a * density(a), 0, 30)[0] / quad(density, 0, 30)[0]  # noqa: B023
        alpha, drawn = 1.0, []
        for _ in range(20_000):
            alpha = draw_alpha(alpha, k, n, rng)
            drawn.append(alpha)
        assert np.mean(drawn) == pytest.approx(mean, rel=0.03)
