import sys
from importlib.metadata import metadata

import pytest

from semimetric import MissingExtraError
from semimetric._foundation.optional_imports import _EXTRAS, optional


def test_the_name_on_the_index_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingExtraError, match="pip install POT, or semimetric with all of the extra"):
        optional("ot")


def test_returns_a_module_that_is_there():
    assert optional("json").dumps([1]) == "[1]"


@pytest.mark.parametrize("module", _EXTRAS)
def test_a_missing_package_is_named_with_an_extra_that_exists(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'{module.split(".")[0]}.*pip install "\.\[{_EXTRAS[module]}\]"'):
        optional(module)
    assert _EXTRAS[module] in metadata("semimetric").get_all("Provides-Extra")
