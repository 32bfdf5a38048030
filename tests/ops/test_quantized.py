"""Tensors of quantised dtypes: made, looked at, brought back; numbers and errors are PyTorch's."""

from typing import Any

import pytest
from agreement import agree, agree_on_error

import mindtorch_v2 as torch

pytestmark = pytest.mark.filterwarnings("ignore")
_DTYPES = ("qint8", "quint8", "qint32")


def _numbers(torch: Any) -> Any:
    """Numbers with ties, and some far out, in 5 columns."""
    even = torch.arange(-50, 50).reshape(20, 5) * 0.25
    return torch.cat([even, torch.arange(60.0).reshape(12, 5) ** 2 * 0.37 - 300])


def _per_channel(torch: Any, dtype: str, kind: str) -> Any:
    scales, points = torch.tensor([0.25, 0.5, 0.3, 1.7, 0.1]), torch.tensor([0, 3, 7, 100, 1])
    return torch.quantize_per_channel(
        _numbers(torch), scales, points.to(getattr(torch, kind)), 1, getattr(torch, dtype)
    )


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("kind", ["int32", "int64", "int8", "float32"])
def test_a_scale_for_each_index(dtype: str, kind: str) -> None:
    if dtype == "qint32" and kind == "float32":
        pytest.skip("PyTorch 2.13 stops the process")
    agree(lambda torch: _per_channel(torch, dtype, kind).int_repr())
    agree(lambda torch: _per_channel(torch, dtype, kind).dequantize())
    agree(lambda torch: _per_channel(torch, dtype, kind).q_per_channel_scales())
    agree(lambda torch: _per_channel(torch, dtype, kind).q_per_channel_zero_points())
    made = _per_channel(torch, dtype, kind)
    assert made.q_per_channel_axis() == 1 and made.is_quantized and made.dtype == getattr(torch, dtype)
    floating = torch.per_channel_affine_float_qparams
    assert made.qscheme() == (floating if kind == "float32" else torch.per_channel_affine)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize(("scale", "point"), [(0.3, 7), (0.25, 0), (-0.5, 2), (0.001, 1)])
def test_one_scale(dtype: str, scale: float, point: int) -> None:
    def made(torch: Any) -> Any:
        return torch.quantize_per_tensor(_numbers(torch), scale, point, getattr(torch, dtype))

    agree(lambda torch: made(torch).int_repr())
    agree(lambda torch: made(torch).dequantize())
    ours = made(torch)
    assert (ours.q_scale(), ours.q_zero_point(), ours.qscheme()) == (scale, point, torch.per_tensor_affine)
    assert ours.clone().int_repr().tolist() == ours.detach().int_repr().tolist() == ours.int_repr().tolist()
    tensors = torch.quantize_per_tensor(
        _numbers(torch), torch.tensor(scale), torch.tensor([point]), getattr(torch, dtype)
    )
    assert tensors.int_repr().tolist() == ours.int_repr().tolist()


@pytest.mark.parametrize(
    "text",
    [
        "torch.quantize_per_tensor(x, 0.1, 300, torch.qint8)",
        "torch.quantize_per_tensor(x, 0.1, -1, torch.quint8)",
        "torch.quantize_per_channel(x, torch.ones(3), torch.tensor([0, 300, 0]), 1, torch.quint8)",
        "torch.quantize_per_channel(x, torch.ones(2), torch.zeros(3), 1, torch.qint8)",
        "torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), 7, torch.qint8)",
        "torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), -1, torch.qint8)",
        "torch.quantize_per_channel(x, torch.ones(3, 2), torch.zeros(3), 1, torch.qint8)",
        "torch.quantize_per_tensor(x.double(), 0.1, 0, torch.qint8)",
        "torch.quantize_per_tensor(x, 0.1, 0, torch.int8)",
    ],
)
def test_errors(text: str) -> None:
    agree_on_error(lambda torch: eval(text, {"torch": torch, "x": torch.arange(6.0).reshape(2, 3)}))


def test_a_question_of_the_other_scheme_is_refused() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for_all = torch.quantize_per_tensor(x, 0.5, 1, torch.quint8)
    by_index = torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), 1, torch.qint8)
    for made, names in (
        (for_all, ("q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis")),
        (by_index, ("q_scale", "q_zero_point")),
    ):
        for name in names:
            with pytest.raises(RuntimeError, match=rf"{name}\(\): the tensor is quantised by torch\.per_"):
                getattr(made, name)()
    with pytest.raises(RuntimeError, match="3 scales for dimension 0 of size 2"):
        torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), 0, torch.qint8)


def test_nothing_is_computed_with_them() -> None:
    made = torch.quantize_per_tensor(torch.ones(2), 0.5, 1, torch.quint8)
    with pytest.raises(
        NotImplementedError, match=r"aten\.add\.Tensor: quantised tensors are only looked at; dequantize"
    ):
        made + made
    assert repr(made) == "QuantizedTensor(size=(2,), dtype=torch.quint8, quantization_scheme=torch.per_tensor_affine)"


def test_making_them_warns() -> None:
    with pytest.warns(
        UserWarning, match="quantize_per_tensor makes tensors of quantised dtypes, which PyTorch deprecates"
    ):
        torch.quantize_per_tensor(torch.ones(2), 0.5, 1, torch.quint8)
