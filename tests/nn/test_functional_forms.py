"""Functions of torch.nn.functional that follow from operators' rows."""

import importlib
import inspect
import pkgutil

import pytest
from recording import answer

import mindtorch_v2 as torch
from mindtorch_v2._operators.table.names import FUNCTIONAL, record_functional
from mindtorch_v2.nn import _functional

F = torch.nn.functional
FORMS = sorted(name for name, entry in FUNCTIONAL.items() if entry.parameters)


def _parameters(function):
    return [[p.name, p.kind.name, repr(p.default)] for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", FORMS)
def test_signatures(name):
    assert _parameters(getattr(F, name)) == answer(lambda torch: _parameters(getattr(torch.nn.functional, name)))


def test_operators_stand_as_they_are():
    assert F.gelu is torch._C._nn.gelu
    assert F.logsigmoid is torch._C._nn.log_sigmoid
    assert F.elu_ is torch._C._nn.elu_
    assert F.conv1d is torch.conv1d
    assert F.native_channel_shuffle is torch.native_channel_shuffle


def test_a_form_picks_the_operator():
    x = torch.tensor([-1.0, 2.0])
    assert F.elu(x, 0.5).tolist() == torch._C._nn.elu(x, 0.5).tolist()
    assert F.leaky_relu(x, negative_slope=0.5).tolist() == [-0.5, 2.0]
    assert x.tolist() == [-1.0, 2.0]
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]


def test_a_form_is_a_function_of_its_module():
    assert F.relu.__module__ == "mindtorch_v2.nn.functional"
    assert F.relu.__doc__.splitlines()[0] == "`input` where positive, 0 elsewhere."
    with pytest.raises(TypeError, match=r"relu\(\) missing 1 required positional argument: 'input'"):
        F.relu()


def test_a_function_is_written_once():
    """Functions that follow from rows are not written by hand too."""
    written = set()
    for info in pkgutil.iter_modules(_functional.__path__):
        written.update(importlib.import_module(f"{_functional.__name__}.{info.name}").__all__)
    assert len(written) > 80
    assert not written & FUNCTIONAL.keys()


@pytest.mark.parametrize("spelled", ["relu(", "relu()", "relu, elu", "relu(input) )"])
def test_a_row_that_spells_it_wrong(spelled):
    with pytest.raises(ValueError, match="is no list of names and signatures"):
        record_functional("relu", spelled, "")
