"""The calls of the five documents: names, order, kinds and defaults of parameters."""

import tomllib
from importlib import import_module
from inspect import Parameter, signature
from operator import attrgetter
from pathlib import Path

import pytest

CALLS = tomllib.loads(Path(__file__).with_name("signatures.toml").read_text("utf8"))


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in CALLS for name in CALLS[module]])
def test_signatures(module: str, name: str) -> None:
    """The parameters are the document's; those that a call has more can only be named, and may be left out."""
    call = signature(attrgetter(name)(import_module(module)), eval_str=True)
    parameters = [one.replace(annotation=Parameter.empty) for one in call.parameters.values()]
    own = str(call.replace(parameters=parameters, return_annotation=Parameter.empty))
    documented = CALLS[module][name]
    assert own.startswith(documented.removesuffix(")"))
    assert own[len(documented) - 1 :].startswith((")", ", *")) or "*" in documented
    assert all(one.default is not one.empty for one in parameters if one.kind is one.KEYWORD_ONLY)
