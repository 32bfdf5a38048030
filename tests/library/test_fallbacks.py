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
