"""`torch.ops.quantized`: whole numbers are PyTorch's, to the last."""

from typing import Any

import pytest
from agreement import same

pytestmark = pytest.mark.filterwarnings("ignore")


def _numbers(torch: Any, *size: int, step: float = 0.37) -> Any:
    count = 1
    for each in size:
        count *= each
    return ((torch.arange(float(count)) * step) % 7 - 3.1).reshape(size)


def _q(torch: Any, *size: int, scale: float = 0.031, point: int = 97, kind: str = "quint8") -> Any:
    return torch.quantize_per_tensor(_numbers(torch, *size), scale, point, getattr(torch, kind))


def _seen(x: Any) -> list:
    return [str(x.dtype), x.q_scale(), x.q_zero_point(), x.int_repr().contiguous()]


@pytest.mark.parametrize(
    "text",
    [
        "O.add(a, b, 0.11, 50)",
        "O.add_relu(a, b, 0.11, 50)",
        "O.mul(a, b, 0.07, 100)",
        "O.mul_relu(a, b, 0.07, 100)",
        "O.add(a, 0.3)",
        "O.add(a, 500.0)",
        "O.add_scalar(a, -500.0)",
        "O.add_scalar_relu(a, 0.4)",
        "O.mul_scalar(a, 1.7)",
        "O.mul_scalar(a, -0.6)",
        "O.mul_scalar(a, 0)",
        "O.cat([a, b], 0, 0.05, 80)",
        "O.cat_relu([a, b], 0, 0.05, 80)",
        "O.sigmoid(a, 0.004, 3)",
        "O.elu(a, 0.03, 40)",
        "O.celu(a, 0.03, 40, 0.5)",
        "O.leaky_relu(a, 0.2, False, 0.03, 50)",
        "O.relu6(a)",
        "O.clamp(a, -0.5, 1.2)",
        "O.threshold(a, 0.3, 0.7)",
        "O.softmax(a.reshape(2, -1), 1, 1 / 256, 0)",
        "O.matmul(a.reshape(2, 2, 32), b.reshape(2, 32, 2), 0.5, 60)",
        "O.layer_norm(a.reshape(4, 32), [32], None, None, 1e-5, 0.03, 100)",
        "O.group_norm(a.reshape(2, 4, 16), 2, None, None, 1e-5, 0.03, 100)",
        "O.batch_norm2d(i, torch.ones(4), torch.zeros(4), torch.ones(4), torch.ones(4), 1e-5, 0.05, 90)",
        "O.max_pool2d(i, [2, 2], [2, 2], [0, 0], [1, 1], False)",
        "F.avg_pool2d(i, 2)",
        "F.adaptive_avg_pool2d(i, 3)",
        "F.interpolate(i, scale_factor=2)",
    ],
)
def test_operators(text: str) -> None:
    def run(torch: Any) -> Any:
        names = {
            "torch": torch,
            "O": torch.ops.quantized,
            "F": torch.nn.functional,
            "a": _q(torch, 128),
            "b": _q(torch, 128, scale=0.05, point=120),
            "i": _q(torch, 2, 4, 6, 6),
        }
        return _seen(eval(text, names))

    same(run)


def _weight(torch: Any, sizes: tuple, each: bool, point: int) -> Any:
    floats = _numbers(torch, *sizes, step=0.83) * 0.2
    if not each:
        return torch.quantize_per_tensor(floats, 0.01, point, torch.qint8)
    scales = torch.arange(1.0, sizes[0] + 1) * 0.002 + 0.004
    points = torch.full((sizes[0],), point, dtype=torch.int64)
    return torch.quantize_per_channel(floats, scales, points, 0, torch.qint8)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("point", [0, 5])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_linear(each: bool, point: int, rows: int) -> None:
    def run(torch: Any) -> Any:
        packed = torch.ops.quantized.linear_prepack(_weight(torch, (7, 33), each, point), _numbers(torch, 7))
        x = _q(torch, rows, 33)
        made = [torch.ops.quantized.linear(x, packed, 0.11, 55), torch.ops.quantized.linear_relu(x, packed, 0.11, 55)]
        return [_seen(one) for one in made]

    same(run)


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("point", [0, 5])
def test_linear_of_floats(reduced: bool, point: int) -> None:
    def run(torch: Any) -> Any:
        packed = torch.ops.quantized.linear_prepack(_weight(torch, (7, 33), False, point), _numbers(torch, 7))
        return torch.ops.quantized.linear_dynamic(_numbers(torch, 5, 33), packed, reduced)

    same(run, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize(("groups", "stride", "padding", "dilation"), [(1, 1, 1, 1), (4, 2, 1, 1), (2, 1, 0, 2)])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_conv(each: bool, groups: int, stride: int, padding: int, dilation: int, dims: int) -> None:
    def run(torch: Any) -> Any:
        weight = _weight(torch, (8, 4 // groups, *[3] * dims), each, 0)
        geometry = ([stride] * dims, [padding] * dims, [dilation] * dims, groups)
        pack = getattr(torch.ops.quantized, f"conv{dims}d_prepack")
        packed = pack(weight, _numbers(torch, 8), *geometry)
        return _seen(getattr(torch.ops.quantized, f"conv{dims}d")(_q(torch, 2, 4, *[7] * dims), packed, 0.11, 55))

    same(run)


@pytest.mark.parametrize("kind", ["quint8", "quint4x2"])
def test_embedding(kind: str) -> None:
    def run(torch: Any) -> Any:
        scales, points = torch.arange(1.0, 6) * 0.05, torch.arange(5.0)
        rows = torch.quantize_per_channel(_numbers(torch, 5, 12), scales, points, 0, getattr(torch, kind))
        packed, operators = torch.ops.quantized.embedding_bag_prepack(rows), torch.ops.quantized
        word = "byte" if kind == "quint8" else "4bit"
        found = getattr(operators, f"embedding_{word}")(packed, torch.tensor([3, 0, 3]))
        bags = getattr(operators, f"embedding_bag_{word}")(packed, torch.tensor([3, 0, 1, 4]), torch.tensor([0, 3]))
        return [found, bags]

    same(run, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "D.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)",
        "D.dequantize_per_tensor(D.quantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8), 0.1, 3, 0, 255, torch.uint8)",
        "D.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 3]), 0, -128, 127, torch.int8)",
        "D.choose_qparams.tensor(x, 0, 255, 1e-7, torch.uint8)",
        "D.choose_qparams_per_token_asymmetric(x, torch.int8)",
    ],
)
def test_on_plain_numbers(text: str) -> None:
    def run(torch: Any) -> Any:
        import importlib

        importlib.import_module(
            "torch.ao.quantization.fx._decomposed"
            if torch.__name__ == "torch"
            else "mindtorch_v2._quantized.decomposed"
        )
        return eval(text, {"torch": torch, "D": torch.ops.quantized_decomposed, "x": _numbers(torch, 2, 9)})

    same(run)
