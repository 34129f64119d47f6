"""Features of strings: the bound of q-gram profiles, and what is counted."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import edit_distance

from semimetric import StorageError, StringFeatures, load

TEXT = st.text("abc \0é", max_size=9)


def profiles(model, strings):
    """The L1 distance between the q-gram profiles of two strings, by q."""
    x, y = model.transform(strings)
    sizes = np.cumsum([1, *(len(known) + 1 for known in model.grams_)])
    return {q: np.abs(x - y)[a:b].sum() for q, a, b in zip(model.q, sizes[:-1], sizes[1:], strict=True)}


@given(st.lists(TEXT, min_size=1, max_size=5), TEXT, TEXT, st.integers(1, 8))
def test_profiles_are_lower_bounds_of_the_edit_distance(fitted, x, y, max_grams):
    model = StringFeatures(q=(1, 2, 3), max_grams=max_grams, n_places=0).fit(fitted)
    for q, value in profiles(model, [x, y]).items():
        assert value / (2 * q) <= edit_distance(x, y)


@given(TEXT, TEXT)
def test_profiles_are_those_of_a_slow_count(x, y):
    model = StringFeatures(q=(1, 2, 3), n_places=0).fit([x, y])
    for q, value in profiles(model, [x, y]).items():
        ends = ["end"] * (q - 1)
        a, b = ([tuple((ends + [*s] + ends)[i : i + q]) for i in range(len(s) + q - 1)] for s in (x, y))
        assert value == sum(abs(a.count(g) - b.count(g)) for g in {*a, *b})


@given(st.lists(TEXT, min_size=1, max_size=4), st.integers(1, 6))
def test_places_of_a_symbol_add_up_to_its_number(strings, n_places):
    model = StringFeatures(q=(), n_places=n_places).fit(strings)
    places = model.transform(strings)[:, 1:].reshape(len(strings), -1, n_places)
    assert (places >= 0).all()
    counts = [[s.count(symbol) for symbol in model.symbols_] for s in strings]
    np.testing.assert_allclose(places.sum(axis=2), np.reshape(counts, places.shape[:2]), atol=1e-12)


def test_places_tell_strings_apart_that_have_the_same_letters():
    x, y, z = StringFeatures(q=(1,)).fit_transform(["stressed", "desserts", "stressed"])
    assert np.abs(x - y).sum() > 1
    np.testing.assert_array_equal(x, z)
    first, last = StringFeatures(q=(), n_places=2).fit_transform(["ab", "ba"])
    assert first.tolist() == [2.0, 1.0, 0.0, 0.0, 1.0]
    assert last.tolist() == [2.0, 0.0, 1.0, 1.0, 0.0]


def test_lists_of_words_are_strings_too():
    model = StringFeatures(q=(2,), n_places=0).fit([["to", "be"], ("to", "go")])
    assert model.get_feature_names_out()[1:3].tolist() == ["end 'to'", "'to' 'be'"]
    assert model.transform([["to", "be"]])[0, :4].tolist() == [2.0, 1.0, 1.0, 1.0]


def test_no_strings_have_all_zeros_and_names_fit():
    model = StringFeatures().fit(["ab", ""])
    assert not model.transform([""])[0, 0]
    assert model.transform(["ab", "zz"]).shape == (2, len(model.get_feature_names_out()))
    assert len({*model.get_feature_names_out()}) == len(model.get_feature_names_out())


@pytest.mark.parametrize(
    ("changes", "strings", "words"),
    [
        ({}, ["a", 3], "X[1] is of type int"),
        ({}, ["a", None], "leave missing ones out"),
        ({}, [[[1]]], "symbols that can be hashed"),
        ({}, "abc", "is one text"),
        ({"q": 2}, ["a"], "q=2 must be a sequence"),
        ({"q": (0,)}, ["a"], "each of q=0"),
        ({"max_grams": 0}, ["a"], "max_grams=0"),
        ({"n_places": -1}, ["a"], "n_places=-1"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, strings, words):
    assert_refused(lambda: StringFeatures(**changes).fit(strings), words, "")


def test_it_is_saved(tmp_path):
    model = StringFeatures().fit(["stone", "bone"])
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.transform(["tones"]), model.transform(["tones"]))
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("unordered", [{"a", "b"}, frozenset("ab"), {"a": 1}])
def test_what_has_no_order_is_refused(unordered):
    assert_refused(lambda: StringFeatures().fit(["ab", unordered]), f"X[1] is of type {type(unordered).__name__}", "a sequence")


@pytest.mark.parametrize("part", ["symbols_", "grams_"])
def test_symbols_of_a_file_that_cannot_be_looked_up_are_refused(part, tmp_path):
    model = StringFeatures(q=(1,)).fit(["stone", "bone"])
    setattr(model, part, [["s"]] if part == "symbols_" else [[(["s"],)]])
    model.save(tmp_path / "m")
    with pytest.raises(StorageError, match="a symbol cannot be hashed"):
        load(tmp_path / "m")
