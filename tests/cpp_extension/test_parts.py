"""parts.cpp: smaller parts of ATen and c10. Expected values are PyTorch 2.13's streams, and closed forms."""

import math

import pytest


@pytest.mark.parametrize(
    "name", ["expanding", "memory", "operators", "texts", "braces", "types", "views", "generators", "misfits"]
)
def test_in_cpp(parts, name):
    getattr(parts.module, name)()


@pytest.mark.parametrize("name", ["e5m2", "e4m3fn", "e5m2fnuz", "e4m3fnuz", "e8m0fnu"])
def test_small_floats_are_those_of_tensors(parts, name):
    torch = parts.torch
    like = torch.arange(256, dtype=torch.uint8).view(getattr(torch, f"float8_{name}"))
    assert torch.equal(parts.module.float8_values(like).nan_to_num(-1), like.float().nan_to_num(-1))
    # Every value, half way between two, beside that, and what no number here is.
    exact = like.float()[:-1].nan_to_num(7.0, 9.0, -9.0)
    half = exact + (exact.roll(-1) - exact) / 2
    numbers = [exact, half, half * 1.0001, half * 0.9999, exact * 1e6, exact * 1e-6]
    numbers += [torch.tensor([0.0, -0.0, math.nan, 1e38, -1e38, 1e-45, 448.0, 465.0, 248.0, 61440.0])]
    numbers = torch.cat(numbers)
    if name == "e8m0fnu":
        numbers = numbers[numbers > 0]  # it has no sign
    expected = numbers.to(like.dtype).view(torch.uint8)
    assert torch.equal(parts.module.float8_bytes(like, numbers), expected)


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
