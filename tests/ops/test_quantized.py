"""Tensors of quantised dtypes: made, looked at, brought back; numbers and errors are PyTorch's."""

import copy
from typing import Any

import pytest
from agreement import agree, agree_on_error, same

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


@pytest.mark.parametrize("name", ["q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis", "q_scale"])
@pytest.mark.parametrize("made", ["for_all", "by_index", "plain"])
def test_questions_of_another_scheme(made: str, name: str) -> None:
    def ask(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3)
        tensors = {
            "for_all": lambda: torch.quantize_per_tensor(x, 0.5, 1, torch.quint8),
            "by_index": lambda: torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), 1, torch.qint8),
            "plain": lambda: x,
        }
        found = getattr(tensors[made](), name)()
        return found if hasattr(found, "dtype") else torch.tensor(found)

    agree(ask)


def test_a_wrong_number_of_scales() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    with pytest.raises(RuntimeError, match="length of scales must equal to channel, expected 2 got, 3"):
        torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), 0, torch.qint8)


def test_making_them_warns_once() -> None:
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="which PyTorch|are deprecated and will be removed in a future PyTorch"):
            torch.quantize_per_tensor(torch.ones(2), 0.5, 1, torch.quint8)
    finally:
        torch.set_warn_always(False)


# ---- what can be done with them ----

_Q = "q = torch.quantize_per_tensor(torch.arange(24.0).reshape(2, 3, 4) * 0.37 - 3, 0.1, 40, torch.quint8)"
_C = (
    "c = torch.quantize_per_channel(torch.arange(24.0).reshape(2, 3, 4), torch.tensor([0.5, 0.25, 0.1]), "
    "torch.tensor([3, 0, 1]), 1, torch.qint8)"
)


def _run(torch: Any, text: str) -> Any:
    names: dict[str, Any] = {"torch": torch}
    exec(_Q, names)
    exec(_C, names)
    return eval(text, names)


def _seen(torch: Any, text: str) -> Any:
    """A quantized tensor as its text, strides and whole numbers."""
    found = _run(torch, text)
    if isinstance(found, tuple):
        found = found[0]
    if getattr(found, "is_quantized", False):
        return [repr(found), list(found.stride()), found.int_repr().contiguous()]
    return found


@pytest.mark.parametrize(
    "text",
    """
    q; q[0]; q[:, 1:]; q[..., None]; q.t().shape if q.dim() == 2 else q.transpose(0, 2); q.permute(2, 0, 1); q.reshape(4, 6); q.flatten()
    q.view(24)[3:7]; q.unsqueeze(1).squeeze(1); q.expand(2, 2, 3, 4); q.contiguous(); q.transpose(0, 1).contiguous(); q.clone()
    torch.cat([q, q], 1); torch.stack([q, q]); torch.equal(q, q); q == q; q < 0.5; q.flip(0); q.repeat(2, 1, 1); q.max(); q.min(-1); q.sort(1)
    q.topk(2); q.mean(); q.mean(1); q.std(2); q.relu(); q.clamp(-1, 1); q.sigmoid(); q.tanh(); q[torch.tensor([1, 0])]; q.index_select(1, torch.tensor([2]))
    q.masked_fill(torch.tensor([True, False, True, False]), 1.0); torch.empty_like(q).q_scale(); torch.ones_like(q); q.item() if q.dim() == 0 else q[0, 0, 1].item()
    q.dequantize(); torch.dequantize([q, q]); q.split(2, 1); q.chunk(2, 2); q.unbind(1); q.unfold(2, 2, 1); q.diagonal(); q.detach(); q.fill_(0.3)
    q.copy_(torch.ones(2, 3, 4)); torch.nn.functional.pad(q, (1, 1)); q.to("cpu"); q.rot90(); q.resize_(5)
    c; c[0]; c[:, 1]; c[:, 1:]; c[:, 1:2]; c[1:]; c.unsqueeze(0); c.clone(); c.dequantize(); torch.equal(c, c); c.copy_(c); c.split(1); c.unbind(1); c.int_repr()
    torch.quantize_per_tensor_dynamic(torch.arange(-3.0, 5.0), torch.quint8, False); torch.quantize_per_tensor_dynamic(torch.arange(-3.0, 5.0), torch.qint8, True)
    torch._empty_affine_quantized([2, 3], scale=0.1, zero_point=2, dtype=torch.quint8).q_zero_point(); torch._choose_qparams_per_tensor(torch.arange(-3.0, 5.0))[1]
    torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2], dtype=torch.uint8), 0.1, 2)
    torch._make_per_channel_quantized_tensor(torch.tensor([[1, 2]], dtype=torch.int8), torch.ones(2), torch.zeros(2, dtype=torch.long), 1)
    torch.quantize_per_tensor([torch.ones(2), torch.zeros(2)], torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), torch.quint8)
    torch.quantize_per_tensor(torch.tensor([0.3, 1.0, 9.0]), 0.1, 2, torch.quint4x2)
    """.replace("\n", ";").split(";"),
)
def test_what_can_be_done(text: str) -> None:
    if text.strip():
        same(lambda torch: _seen(torch, text.strip()))


@pytest.mark.parametrize(
    "text",
    [
        "q + q",
        "q.sum()",
        "q.float()",
        "q.abs()",
        "c.transpose(0, 1)",
        "c.permute(2, 0, 1)",
        "c.max()",
        "c.relu()",
        "torch.ones(2, 3, 4).copy_(q)",
        "q.copy_(c)",
        "torch.cat([c, c])",
        "torch.zeros_like(q)",
        "torch._empty_affine_quantized([2, 3])",
        "torch.quantize_per_tensor_dynamic(torch.ones(2), torch.qint32, False)",
    ],
)
def test_what_cannot(text: str) -> None:
    agree(lambda torch: _run(torch, text))


def test_files(tmp_path: Any) -> None:
    names: dict[str, Any] = {"torch": torch}
    exec(_Q, names)
    exec(_C, names)
    four = torch.quantize_per_tensor(torch.tensor([0.3, 1.0, 9.0]), 0.1, 2, torch.quint4x2)
    torch.save([names["q"].transpose(0, 1), names["c"], four], tmp_path / "file")
    for one, other in zip(torch.load(tmp_path / "file"), [names["q"].transpose(0, 1), names["c"], four], strict=True):
        assert (
            repr(one) == repr(other)
            and one.stride() == other.stride()
            and torch.equal(one.int_repr(), other.int_repr())
        )
    copied = copy.deepcopy(names["q"])
    assert repr(copied) == repr(names["q"]) and copied.data_ptr() != names["q"].data_ptr()


def test_views_share_memory() -> None:
    q = torch.quantize_per_tensor(torch.zeros(2, 3), 0.5, 0, torch.quint8)
    q[1].fill_(2.0)
    assert q.int_repr().tolist() == [[0, 0, 0], [4, 4, 4]] and type(q) is torch.Tensor


def test_compared_by_what_they_stand_for() -> None:
    q = torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8)
    torch.testing.assert_close(q, q.clone())
    with pytest.raises(AssertionError, match="Tensor-likes are not"):
        torch.testing.assert_close(q, torch.quantize_per_tensor(torch.zeros(2), 0.5, 0, torch.quint8))


def test_elements_are_put_at_indices() -> None:
    q = torch.quantize_per_tensor(torch.zeros(3), 0.5, 0, torch.quint8)
    q.index_put_((torch.tensor([1]),), torch.tensor([2.0]))
    assert q.int_repr().tolist() == [0, 4, 0]
