"""Zeros of both signs, neighbours, and numbers whose squares are no floats: the ends of each floating type."""

import pytest
from agreement import same

FLOATS = ["float32", "float64", "float16", "bfloat16"]

CHOICES = [
    "torch.relu(x)",
    "torch.relu_(x.clone())",
    "x.clamp(min=0.0)",
    "x.clamp(max=0.0)",
    "x.clamp(min=-0.0)",
    "x.clamp(-0.0, 0.0)",
    "x.clamp(min=y)",
    "x.clamp(max=y)",
    "x.clip(y, y)",
    "torch.maximum(x, y)",
    "torch.minimum(x, y)",
    "torch.max(x, y)",
    "F.relu6(x)",
    "F.hardtanh(x)",
    "F.threshold(x, 0.0, 0.0)",
    "F.leaky_relu(x)",
    "torch.sign(x)",
    "torch.round(x)",
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("program", CHOICES)
def test_zeros_keep_their_sign(program, dtype):
    """Of two zeros the first is taken; long rows are left out, where PyTorch itself differs from its short ones."""

    def signs(torch):
        x = torch.tensor([-0.0, 0.0, -0.0, 0.0, float("nan"), -1.0, 1.0], dtype=getattr(torch, dtype))
        y = torch.tensor([0.0, -0.0, -0.0, 0.0, 0.0, float("nan"), 0.0], dtype=getattr(torch, dtype))
        result = eval(program, {"torch": torch, "F": torch.nn.functional, "x": x, "y": y})
        number = ~result.isnan()
        return [result.isnan().tolist(), (torch.signbit(result) & number).tolist(), result.nan_to_num().double()]

    same(signs)


@pytest.mark.parametrize("length", [3, 16, 1000])
def test_relu_of_long_rows_keeps_the_sign_of_zero(length):
    import mindtorch_v2 as torch

    assert torch.signbit(torch.relu(torch.full((length,), -0.0))).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours(dtype):
    def neighbours(torch):
        kind = getattr(torch, dtype)
        limits = torch.finfo(kind)
        starts = [0.0, -0.0, 1.0, -1.0, limits.tiny, -limits.tiny, limits.max, -limits.max, float("inf"), float("nan")]
        x = torch.tensor(starts, dtype=kind)
        ends = [0.0, -0.0, float("inf"), -float("inf"), 1.0, float("nan")]
        return [torch.nextafter(x, torch.full_like(x, end)) for end in ends]

    same(neighbours)


@pytest.mark.parametrize("scale", [1e-40, 1e-30, 1e-20, 1.0, 1e18, 1e25, 1e37])
def test_spread_of_numbers_whose_squares_are_no_floats(scale):
    def spread(torch):
        x = torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0], [-4.0, 0.0, 0.5, 2.0]]) * scale
        return [
            function(*arguments) for function in (x.std, x.var) for arguments in ((), (1,), (0,), ((0, 1),))
        ] + list(torch.std_mean(x, 1))

    same(spread, rtol=1e-5)
