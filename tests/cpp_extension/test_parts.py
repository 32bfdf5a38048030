"""parts.cpp: smaller parts of ATen and c10. Expected values are PyTorch 2.13's streams, and closed forms."""

import math

import pytest


@pytest.mark.parametrize("name", ["expanding", "memory", "operators", "texts", "braces"])
def test_in_cpp(parts, name):
    getattr(parts.module, name)()


def test_distributions_draw_as_operators_do(parts):
    torch, drawn = parts.torch, parts.module.drawn

    def generator():
        return torch.Generator().manual_seed(11)

    uniform = torch.rand(5, dtype=torch.float64, generator=generator()).tolist()
    assert drawn(5, "uniform", generator()) == uniform
    assert drawn(5, "uniform_float", generator()) == torch.rand(5, generator=generator()).tolist()
    # Fewer than 16: the operator draws more of them in another order.
    normal = torch.randn(5, dtype=torch.float64, generator=generator()).tolist()
    assert drawn(5, "normal", generator()) == pytest.approx(normal, rel=1e-12)
    assert drawn(5, "exponential", generator()) == pytest.approx([-math.log1p(-u) / 2 for u in uniform], rel=1e-12)
    assert drawn(5, "bernoulli", generator()) == [u < 0.25 for u in uniform]
    whole = torch.randint(-5, 5, (5,), generator=generator()).tolist()
    assert drawn(5, "whole", generator()) == whole


def test_the_default_generator(parts):
    torch = parts.torch
    torch.manual_seed(2)
    first = parts.module.drawn(3, "uniform", None)
    torch.manual_seed(2)
    assert first == torch.rand(3, dtype=torch.float64).tolist()


def test_schemas_as_objects(parts):
    op = parts.torch.ops.parts.twice
    assert str(op.default._schema) == "parts::twice(Tensor x) -> Tensor"
    assert op(parts.torch.ones(1)).item() == 2


def test_counted_pointers_hold_objects_of_python(parts):
    box = parts.module.Box(3)
    assert parts.module.same(box) is box and box.n == 3
