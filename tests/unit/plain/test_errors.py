"""One hierarchy of errors."""

from __future__ import annotations

import inspect

import pytest

from ragstone import errors


@pytest.mark.row("L3")
def test_every_error_stands_under_the_root_and_is_drawn_in_the_modules_tree():
    defined = {n: c for n, c in vars(errors).items() if inspect.isclass(c) and c.__module__ == errors.__name__}
    assert set(errors.__all__) == set(defined)
    for name, error in defined.items():
        assert issubclass(error, errors.RagError)
        assert name in (errors.__doc__ or "")
        assert error.__doc__


@pytest.mark.row("L3")
def test_bad_options_and_bad_input_are_value_errors_too():
    assert issubclass(errors.ConfigurationError, ValueError)
    assert issubclass(errors.InvalidInputError, ValueError)
    assert issubclass(errors.MissingDependencyError, ImportError)


@pytest.mark.row("L3")
def test_a_missing_package_says_the_pip_command():
    error = errors.MissingDependencyError("pypdf", "pdf", "reading PDF files")
    assert "pip install 'ragstone[pdf]'" in str(error)
    assert (error.package, error.extra) == ("pypdf", "pdf")
