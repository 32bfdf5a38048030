"""Identities of masked reductions, which programs ask for by a private name, against PyTorch."""

import pytest
from agreement import agree

REDUCTIONS = "sum prod cumsum cumprod amax amin argmax argmin logaddexp logsumexp mean median std var norm".split()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_identities(name, dtype):
    def identity(torch):
        value = torch.masked._reduction_identity(f"masked.{name}", torch.ones(2, dtype=getattr(torch, dtype)), 2.0)
        return torch.zeros(0) if value is None else value

    agree(identity)


def test_the_smallest_of_norms():
    agree(lambda torch: torch.masked._reduction_identity("norm", torch.ones(2), float("-inf")))
