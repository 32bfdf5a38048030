"""The fallback of a key for one operator, past the kernels that it has."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C


def test_an_operator_goes_to_the_fallback_of_a_key():
    fill = _C._find_operator("aten::fill_", "Scalar")
    x = torch.ones(2)
    message = "aten::fill_.Scalar: there is no kernel for the key PrivateUse1, and no fallback of it"
    with pytest.raises(NotImplementedError, match=message.replace(".", r"\.")):
        fill.call_fallback("PrivateUse1", x, 3)
    seen = []
    library = torch.library.Library("_", "IMPL")
    library.fallback(lambda op, *args: seen.append((op, args[1])) or args[0], "PrivateUse1")
    assert fill.call_fallback("PrivateUse1", x, 3) is x
    assert seen == [(torch.ops.aten.fill_.Scalar, 3)] and x.tolist() == [1, 1]
    library._destroy()
    with pytest.raises(NotImplementedError, match="no fallback of it"):
        fill.call_fallback("PrivateUse1", x, 3)
    with pytest.raises(TypeError, match="expected a dispatch key"):
        fill.call_fallback("no key", x, 3)


def test_arguments_that_are_their_defaults_are_left_out():
    """As for every kernel in Python: PyTorch 2.13 gives a fallback `(self, dim)` of `sum.dim_IntList(self, dim, False)`."""
    seen = []
    library = torch.library.Library("_", "IMPL")
    library.fallback(lambda op, *args, **kwargs: seen.append(([*args[1]], args[2:], kwargs)) or args[0], "PrivateUse1")
    x = torch.ones(2)
    for call in ({}, {"keepdim": False}, {"keepdim": True}, {"dtype": torch.float64}, {"dtype": None}):
        _C._find_operator("aten::sum", "dim_IntList").call_fallback("PrivateUse1", x, [0], **call)
    library._destroy()
    double = {"dtype": torch.float64}
    assert seen == [([0], (), {}), ([0], (), {}), ([0], (True,), {}), ([0], (), double), ([0], (), {})]


def test_operators_by_name():
    """PyTorch 2.13: a callable that finds the overload, and the names of overloads; or two Nones."""
    add, overloads = torch._C._jit_get_operation("aten::add")
    assert {"Tensor", "Scalar", "out"} <= set(overloads)
    out = torch.empty(2)
    assert add(torch.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
    assert torch._C._jit_get_operation("aten::relu")[1].count("") == 1
    assert torch._C._jit_get_operation("aten::there_is_none") == (None, None)
    with pytest.raises(RuntimeError, match="all symbols must have a namespace"):
        torch._C._jit_get_operation("add")
