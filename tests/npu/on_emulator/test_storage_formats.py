"""Tensors in FRACTAL_NZ and other formats of the hardware's own: the numbers of the same tensors in rows, whatever is done to them."""

import copy
import io
import itertools
import pickle
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import state, storage_formats
from mindtorch_v2._operators.table.samples import samples_of
from mindtorch_v2.npu import torch_npu, verify
from mindtorch_v2.npu.torch_npu import get_npu_format, npu_format_cast, npu_format_cast_

NZ = 29


@pytest.fixture
def launched() -> Iterator[list[str]]:
    """The names of what is put into streams."""
    runtime, names = state.get().runtime, list[str]()
    note = runtime.note

    def noted(what: str, device: int, stream: int) -> None:
        names.append(what)
        note(what, device, stream)

    runtime.note = noted  # type: ignore[method-assign]
    yield names
    runtime.note = note  # type: ignore[method-assign]


def _memory(tensor: torch.Tensor, format_number: int, stored: tuple[int, ...]) -> np.ndarray:
    """The memory of the device as it is, without knowledge of the format."""
    held = state.get()
    torch.npu.synchronize()
    place = (0, tensor.untyped_storage().data_ptr())
    assert held.formats.in_blocks[place].format == format_number
    layout = held.formats.in_blocks.pop(place)
    try:
        raw = tensor.untyped_storage().cpu()
    finally:
        held.formats.in_blocks[place] = layout
    return np.frombuffer(bytes(raw.tolist()), dtype=str(tensor.dtype).rpartition(".")[2]).reshape(stored)


@pytest.mark.parametrize(("dtype", "wide"), [("float16", 16), ("int8", 32), ("float32", 8), ("int32", 8)])
@pytest.mark.parametrize("shape", [(16, 32), (17, 37), (3, 20, 33), (2, 1, 5, 1)])
def test_blocks_of_16_rows_lie_below_one_another(dtype: str, wide: int, shape: tuple[int, ...]) -> None:
    """(n1, m1, m0, n0), padded with zeros: NumPy puts it together again."""
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(dtype)
    laid = npu_format_cast(torch.from_numpy(x).npu(), NZ)
    high, across = -(-shape[-2] // 16), -(-shape[-1] // wide)
    blocks = _memory(laid, NZ, (*shape[:-2], across, high, 16, wide))
    axes = list(range(len(shape) - 2))
    n = len(axes)
    rows = blocks.transpose(*axes, n + 1, n + 2, n, n + 3).reshape(*shape[:-2], high * 16, across * wide)
    assert (rows[..., : shape[-2], : shape[-1]] == x).all()
    assert not rows[..., shape[-2] :, :].any() and not rows[..., shape[-1] :].any()
    assert get_npu_format(laid) == NZ and laid.shape == shape and laid.is_contiguous()
    assert (laid.cpu().numpy() == x).all() and (npu_format_cast(laid, 2).cpu().numpy() == x).all()


def test_images_and_filters_in_blocks_of_channels() -> None:
    x = np.random.default_rng(0).standard_normal((18, 20, 3, 5)).astype("float16")
    laid = npu_format_cast(torch.from_numpy(x).npu(), 3)
    memory = _memory(laid, 3, (18, 2, 3, 5, 16)).transpose(0, 1, 4, 2, 3).reshape(18, 32, 3, 5)
    assert (memory[:, :20] == x).all() and not memory[:, 20:].any()
    filters = npu_format_cast(laid, 4)
    memory = _memory(filters, 4, (2, 3, 5, 2, 16, 16)).transpose(3, 4, 0, 5, 1, 2).reshape(32, 32, 3, 5)
    assert (memory[:18, :20] == x).all() and not memory[18:].any() and not memory[:, 20:].any()
    volume = np.random.default_rng(0).standard_normal((18, 20, 2, 3, 5)).astype("float16")
    laid = npu_format_cast(torch.from_numpy(volume).npu(), 32)
    memory = _memory(laid, 32, (18, 2, 2, 3, 5, 16)).transpose(0, 2, 5, 1, 3, 4).reshape(18, 32, 2, 3, 5)
    assert (memory[:, :20] == volume).all()
    filters = npu_format_cast(laid, 33)
    memory = _memory(filters, 33, (2, 2, 3, 5, 2, 16, 16)).transpose(4, 5, 1, 6, 0, 2, 3).reshape(32, 32, 2, 3, 5)
    assert (memory[:18, :20] == volume).all() and (filters.cpu().numpy() == volume).all()
    assert get_npu_format(npu_format_cast(filters, 30)) == 30


_W = torch.arange(20 * 37.0).reshape(20, 37).remainder(63).half()


def _laid() -> torch.Tensor:
    return npu_format_cast(_W.npu(), NZ)


_READ: dict[str, Callable[[torch.Tensor], Any]] = {
    "cpu": lambda x: x,
    "view": lambda x: x.view(37, 20),
    "transpose": lambda x: x.t(),
    "rows": lambda x: x[3:7],
    "columns": lambda x: x[:, 5::2],
    "one": lambda x: x[4, 9],
    "bits": lambda x: x.view(torch.int16),
    "strided": lambda x: x.as_strided((5, 7), (37, 3), 40),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.t().contiguous(),
    "sum": lambda x: x.float().sum(1),
    "index": lambda x: x[torch.tensor([3, 1], device=x.device)],
    "numpy": lambda x: torch.from_numpy(x.cpu().numpy()),
    "deepcopy": copy.deepcopy,
    "cat": lambda x: torch.cat([x, x[:2]]),
    "storage": lambda x: torch.tensor(x.untyped_storage().cpu().tolist()[: 20 * 37 * 2]),
    "copied storage": lambda x: torch.tensor(x.untyped_storage().clone().cpu().tolist()[: 20 * 37 * 2]),
    "parameter": lambda x: torch.nn.Parameter(x).data,
    "detach": lambda x: x.detach(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "float": lambda x: x.to(torch.float32),
    "set_": lambda x: torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage(), 37, (3, 37), (37, 1)),
}


@pytest.mark.parametrize("how", _READ)
def test_numbers_are_those_of_the_rows(how: str) -> None:
    assert torch.equal(_READ[how](_laid()).cpu(), _READ[how](_W.npu()).cpu())


@pytest.mark.parametrize("zipped", [True, False])
def test_files_have_rows_and_the_name_of_the_format(zipped: bool) -> None:
    buffer, whole = io.BytesIO(), _laid()
    torch.save(
        {"w": whole, "turned": whole.t(), "part": _laid()[2:4], "plain": _W.npu()},
        buffer,
        _use_new_zipfile_serialization=zipped,
    )
    for where, format in ((None, 29), ("cpu", 2)):
        buffer.seek(0)
        loaded = torch.load(buffer, map_location=where)
        assert torch.equal(loaded["w"].cpu(), _W) and torch.equal(loaded["part"].cpu(), _W[2:4])
        assert torch.equal(loaded["turned"].cpu(), _W.t()) and torch.equal(loaded["plain"].cpu(), _W)
        assert [get_npu_format(loaded[name]) for name in ("w", "turned", "part", "plain")] == [format, format, 2, 2]
        assert loaded["w"].untyped_storage().data_ptr() == loaded["turned"].untyped_storage().data_ptr()


def test_names_of_rows_are_in_files_too() -> None:
    x = torch.ones(2, 3, 4, 5, device="npu")
    for format in (0, 1, 2, 3, 29):
        buffer = io.BytesIO()
        made = npu_format_cast(x, format)
        torch.save(made, buffer)
        buffer.seek(0)
        assert get_npu_format(torch.load(buffer)) == get_npu_format(made) == format


def test_old_files_of_torch_npu_name_the_format_by_its_number() -> None:
    from mindtorch_v2.npu.torch_npu.utils.storage import _rebuild_npu_tensor

    storage = torch.storage.TypedStorage(wrap_storage=_W.untyped_storage(), dtype=_W.dtype, _internal=True)
    where = (0, tuple(_W.shape), _W.stride(), False, None)
    for told, format in ((29, 29), (2, 2), (True, 2)):
        made = _rebuild_npu_tensor(storage, *where, told)
        assert made.device.type == "npu" and get_npu_format(made) == format and torch.equal(made.cpu(), _W)
    allowed = [each[1] for each in torch.serialization.get_safe_globals() if isinstance(each, tuple)]
    assert "torch_npu.utils.storage._rebuild_npu_tensor" in allowed


def test_blocks_of_rows_want_two_dimensions() -> None:
    x = torch.arange(5.0, device="npu")
    made = npu_format_cast(x, 29)
    assert get_npu_format(made) == 2 and made.tolist() == x.tolist()


def test_dlpack_takes_rows_only() -> None:
    with pytest.raises(BufferError, match="Cannot pack tensors on npu:0 that lie in memory in the format FRACTAL_NZ"):
        _laid().__dlpack__()
    rows = npu_format_cast(_laid(), 2)
    assert torch.from_dlpack(rows).data_ptr() == rows.data_ptr()


@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("shape", [(), (7,), (20, 5), (0, 7), (7, 0), (3, 4, 5)])
def test_fewer_than_four_dimensions_are_channels_height_and_width(number: int, shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    x = np.arange(1, count + 1, dtype=np.float16).reshape(shape)
    laid = npu_format_cast(torch.from_numpy(x).npu(), number)
    assert laid.shape == shape and get_npu_format(laid) == (number if count else 2)  # nothing is in no order
    assert np.array_equal(laid.cpu().numpy(), x) and np.array_equal((laid + 1).cpu().numpy(), x + 1)
    assert np.array_equal(npu_format_cast_(laid, 2).cpu().numpy(), x)
    if not count:
        return
    laid = npu_format_cast(torch.from_numpy(x).npu(), number)
    channels, height, width = (*shape, 1, 1, 1)[:3] if shape else (1, 1, 1)
    across = -(-channels // 16)
    stored = (1, across, height, width, 16) if number == 3 else (across, height, width, 1, 16, 16)
    blocks = _memory(laid, number, stored)
    first = blocks[0] if number == 3 else blocks[:, :, :, 0, 0]  # (across, height, width, 16)
    padded = first.transpose(0, 3, 1, 2).reshape(across * 16, height, width)
    assert np.array_equal(padded[:channels].reshape(shape), x) and not padded[channels:].any()
    assert blocks.sum(dtype=np.float64) == x.sum(dtype=np.float64)


_WRITE: dict[str, Callable[[torch.Tensor], Any]] = {
    "host": lambda x: x.copy_(_W + 1),
    "device": lambda x: x.copy_((_W + 1).npu()),
    "row of the host": lambda x: x[3].copy_(_W[0]),
    "column": lambda x: x[:, 3].copy_(_W[:, 0].to(x.device)),
    "item": lambda x: x.__setitem__((3, 4), 77),
    "add_": lambda x: x.add_(1),
    "of itself": lambda x: x.mul_(x),
    "view": lambda x: x.view(-1)[100:200].fill_(5),
    "zero": lambda x: x[2:].zero_(),
    "out": lambda x: torch.add(x, 2, out=x),
    "transposed": lambda x: x.t().copy_(torch.ones(37, 20, dtype=torch.float16, device=x.device)),
    "index_put_": lambda x: x.index_put_((torch.tensor([1, 5], device=x.device),), torch.tensor(9.0).to(x)),
    "larger": lambda x: x.resize_(1000).copy_(torch.arange(1000)),
    "larger, filled": lambda x: x.resize_(1000).fill_(3),
    "larger yet": lambda x: x.resize_(60, 60).fill_(3),
}


@pytest.mark.parametrize("how", _WRITE)
def test_writes_arrive(how: str) -> None:
    there, here = _laid(), _W.npu()
    _WRITE[how](there)
    _WRITE[how](here)
    assert torch.equal(there.cpu(), here.cpu())
    assert get_npu_format(there) == (2 if "larger" in how else NZ)


def test_in_place_all_views_are_laid_out() -> None:
    x = _W.npu()
    turned, part = x.t(), x[2:5]
    assert torch.equal((turned + 1).cpu(), _W.t() + 1)  # whose descriptor is kept
    npu_format_cast_(x, NZ)
    assert torch.equal((turned + 1).cpu(), _W.t() + 1)
    assert get_npu_format(turned) == get_npu_format(part) == NZ
    assert torch.equal(turned.cpu(), _W.t()) and torch.equal(part.cpu(), _W[2:5])
    part.zero_()
    npu_format_cast_(x, torch.ones(1, 1).npu())
    expected = _W.clone()
    expected[2:5] = 0
    assert get_npu_format(turned) == 2 and torch.equal(turned.cpu(), expected.t())
    with pytest.raises(RuntimeError, match=r"npu_format_cast_\(\): a storage is laid out as a whole, but this tensor"):
        npu_format_cast_(x[2:], NZ)


def test_memory_that_is_given_back_has_no_format() -> None:
    held = state.get()
    for _ in range(3):
        before = len(held.formats.in_blocks)
        x = _laid()
        address = x.untyped_storage().data_ptr()
        assert len(held.formats.in_blocks) == before + 1
        del x
        assert len(held.formats.in_blocks) == before
        plain = torch.empty(3 * 16 * 32, dtype=torch.float16, device="npu")
        assert plain.untyped_storage().data_ptr() == address
        plain.copy_(torch.arange(3 * 16 * 32))
        assert plain.tolist() == torch.arange(3 * 16 * 32.0).half().tolist()


def test_a_deep_copy_is_in_the_same_format() -> None:
    laid = _laid()
    copied, part = copy.deepcopy([laid, laid[2:5]])
    assert get_npu_format(copied) == NZ and copied.untyped_storage().data_ptr() != laid.untyped_storage().data_ptr()
    assert part.untyped_storage().data_ptr() == copied.untyped_storage().data_ptr()
    stored = (3, 2, 16, 16)
    assert np.array_equal(_memory(copied, NZ, stored), _memory(laid, NZ, stored))
    laid.zero_()
    assert torch.equal(copied.cpu(), _W) and torch.equal(part.cpu(), _W[2:5])
    named = copy.deepcopy(npu_format_cast(torch.ones(1, 2, 1, 1).npu(), 2))
    assert get_npu_format(named) == 2 and named.flatten().tolist() == [1.0, 1.0]
    assert get_npu_format(copy.deepcopy(torch.ones(1, 2, 1, 1).npu())) == 0


def test_what_is_in_the_format_already_is_the_result() -> None:
    x = _laid()
    assert npu_format_cast(x, NZ) is x and npu_format_cast(x, x) is x and npu_format_cast(x, x.view(-1)) is x
    assert get_npu_format(torch.zeros(1, 1, 1, 1).npu()) == 0 and get_npu_format(torch.zeros(1, 1, 1, 1, 1).npu()) == 30
    named = npu_format_cast(torch.zeros(1, 1, 1, 1).npu(), 2)
    assert get_npu_format(named) == get_npu_format(named[0]) == 2 and get_npu_format(npu_format_cast(named, 0)) == 0


def test_the_gradient_is_the_identity() -> None:
    x = _W.float().npu().requires_grad_()
    (npu_format_cast(x, NZ) * 3).sum().backward()
    assert x.grad is not None and (x.grad.cpu() == 3).all() and get_npu_format(x.grad) == 2


def test_new_tensors_in_a_format() -> None:
    made = torch_npu.empty_with_format([20, 37], dtype=torch.float16, device="npu", acl_format=NZ)
    assert get_npu_format(made) == NZ and torch.equal(made.copy_(_W).cpu(), _W)
    assert get_npu_format(torch_npu.empty_with_format([2], acl_format=0)) == 0
    with pytest.raises(
        RuntimeError, match="FRACTAL_NZ is an order of elements in the memory of NPUs, but the tensor is on cpu"
    ):
        torch_npu.empty_with_format([2, 2], device="cpu", acl_format=NZ)


@pytest.mark.parametrize(
    ("make", "number", "sentence"),
    [
        (lambda: torch.zeros(2, 2), NZ, "in the memory of NPUs, but the tensor is on cpu; move it there first"),
        (lambda: torch.zeros(1, 1, 1, 1, 1, 2, 2).npu(), NZ, "FRACTAL_NZ takes 2 to 6 dimensions, but the sizes are"),
        (lambda: torch.zeros(2, 2, dtype=torch.int64).npu(), NZ, "takes elements of 1, 2 or 4 bytes, but these have 8"),
        (
            lambda: torch.zeros(2, 2, 1, 1, 1).npu(),
            3,
            r"NC1HWC0 takes 4 dimensions, but the sizes are \[2, 2, 1, 1, 1\]",
        ),
        (lambda: torch.zeros(2, 2).npu(), 12, "tensors are not laid out as NC1HWC0_C04 here; use ND"),
        (lambda: torch.zeros(2, 2).npu(), 77, r"77 is no format; known are .*2 \(ND\)"),
    ],
)
def test_casts_that_are_refused(make: Callable[[], torch.Tensor], number: int, sentence: str) -> None:
    with pytest.raises(RuntimeError, match=sentence):
        npu_format_cast(make(), number)


def test_addresses_are_refused_or_of_rows() -> None:
    with pytest.raises(RuntimeError, match="lies in memory in the format FRACTAL_NZ.*cast it first"):
        torch.npu.tensor_ptr(_laid())


def test_the_emulator_refuses_blocks_where_rows_are_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(storage_formats.READERS, "aclnnAdd", storage_formats.Reader("aclnnAdd", 0))
    with pytest.raises(torch.npu.NPUError, match=r"a tensor of shape \[20, 37\] is in the format 29, allowed: ND"):
        _laid() + _W.npu()


# ---- operators that read it as it lies ----


def _int8(*shape: int) -> torch.Tensor:
    return torch.randint(-50, 50, shape, dtype=torch.int8)


_X, _BATCH = torch.randn(5, 20).half(), torch.randn(3, 5, 20).half()
_GROUPS = torch.tensor([2, 2, 5])
_PRODUCTS: dict[str, tuple[str, torch.Tensor, Callable[[torch.Tensor], Any]]] = {
    "mm": ("aclnnMatmulWeightNz", _W, lambda w: torch.mm(_X.npu(), w)),
    "matmul": ("aclnnMatmulWeightNz", _W, lambda w: _BATCH.npu() @ w),
    "linear": ("aclnnMatmulWeightNz", _W.t().contiguous(), lambda w: torch.nn.functional.linear(_X.npu(), w)),
    "linear with a bias": (
        "aclnnAddmmWeightNz",
        _W.t().contiguous(),
        lambda w: torch.nn.functional.linear(_X.npu(), w, torch.ones(37).half().npu()),
    ),
    "npu_linear": ("aclnnMatmulWeightNz", _W.t().contiguous(), lambda w: torch.ops.npu.npu_linear(_X.npu(), w)),
    "addmm": ("aclnnAddmmWeightNz", _W, lambda w: torch.addmm(torch.ones(37).half().npu(), _X.npu(), w)),
    "bmm": ("aclnnBatchMatMulWeightNz", torch.randn(3, 20, 37).half(), lambda w: torch.bmm(_BATCH.npu(), w)),
    "npu_quant_matmul": (
        "aclnnQuantMatmulWeightNz",
        _int8(20, 37),
        lambda w: torch.ops.npu.npu_quant_matmul(
            (_X * 30).to(torch.int8).npu(), w, torch.linspace(0.1, 1, 37).npu(), output_dtype=5,
            pertoken_scale=torch.linspace(0.1, 1, 5).npu(),
        ),
    ),
    "npu_transpose_batchmatmul": (
        "aclnnTransposeBatchMatMulWeightNz",
        torch.randn(3, 20, 37).half(),
        lambda w: torch.ops.npu.npu_transpose_batchmatmul(_BATCH.npu(), w, perm_y=[1, 0, 2]),
    ),
    "npu_weight_quant_batchmatmul": (
        "aclnnWeightQuantBatchMatmulNz",
        _int8(20, 37),
        lambda w: torch.ops.npu.npu_weight_quant_batchmatmul(_X.npu(), w, torch.linspace(0.1, 1, 37).half().npu()),
    ),
    "npu_grouped_matmul": (
        "aclnnGroupedMatmulWeightNz",
        torch.randn(3, 20, 37).half(),
        lambda w: torch.ops.npu.npu_grouped_matmul(
            [_X.npu()], [w], group_list=_GROUPS.npu(), split_item=3, group_type=0
        )[0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _PRODUCTS)
def test_products_read_blocks_as_they_lie(name: str, launched: list[str]) -> None:
    symbol, weight, call = _PRODUCTS[name]
    expected = call(weight.npu()).cpu()
    laid = npu_format_cast(weight.npu(), NZ)
    launched.clear()
    result = call(laid)
    assert symbol in launched and "aclnnNpuFormatCast" not in launched
    assert torch.equal(result.cpu(), expected)
    for view in (laid[..., :30], npu_format_cast(laid.transpose(-1, -2).contiguous(), NZ).transpose(-1, -2)):
        if "linear" not in name and "quant" not in name and view.shape == weight.shape:
            assert torch.equal(call(view).cpu(), expected)


def test_a_part_of_the_matrices_is_put_into_rows_first(launched: list[str]) -> None:
    laid = _laid()
    launched.clear()
    result = _X.npu() @ laid[:, :30]
    assert "aclnnNpuFormatCast" in launched and "aclnnMatmul" in launched
    assert torch.equal(result.cpu(), (_X.npu() @ _W.npu()[:, :30]).cpu())


@pytest.mark.parametrize("view", ["rows", "blocks", "blocks of four bits"])
def test_gated_products_of_8_bits(view: str) -> None:
    """A view of an NZ weight in the sizes of its blocks names what lies in memory; its numbers are those of the rows."""
    groups, k, n = 2, 64, 128
    x, assist = _int8(4, k), None
    weight = torch.randint(-128, 128, (groups, k, n if view != "blocks of four bits" else n // 2), dtype=torch.int8)
    laid = npu_format_cast(weight.npu(), NZ)
    plain = weight.npu()
    if view == "blocks":
        laid = laid.view(groups, n // 32, k // 16, 16, 32)
    elif view == "blocks of four bits":
        laid = laid.view(torch.int32).view(groups, n // 64, k // 16, 16, 8)
        plain, assist = plain.view(torch.int32), torch.ones(groups, n).npu()
    rest = torch.tensor([1, 4]).npu(), torch.ones(groups, n).npu() / 50, torch.ones(4).npu() / 50
    assert get_npu_format(laid) == NZ
    for operator in (torch.ops.npu.npu_grouped_matmul_swiglu_quant,):
        expected, result = (operator(x.npu(), w, *rest, bias=assist) for w in (plain, laid))
        assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(result, expected, strict=True))
    assert expected[0].cpu().abs().max() == 127


# ---- every operator ----


def _cast(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and 2 <= value.dim() <= 6 and value.element_size() <= 4 and value.numel():
        return npu_format_cast(value.contiguous(), NZ)
    return type(value)(map(_cast, value)) if isinstance(value, (list, tuple)) else value


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for part in value for each in _tensors(part)] if isinstance(value, (list, tuple)) else []


def _runs(row: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a sample is for the dtype: the CPU says so."""
    try:
        row.handle(*verify._copied(args), **{k: verify._copied(each) for k, each in kwargs.items()})
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return False
    return True


torch.npu.init()
_ROWS = sorted(verify._rows().items())


@pytest.mark.parametrize("part", range(8))
def test_every_operator_takes_tensors_in_blocks(part: int) -> None:
    """Each sample of each row gives and leaves behind the same numbers from tensors in FRACTAL_NZ as from those in rows."""
    wrong, ran = [], 0
    for name, row in _ROWS[part::8]:
        dtype = "float16" if "float16" in verify._dtypes(row) else "float32"
        for number, sample in itertools.islice(enumerate(samples_of(row)), 3):
            generator = torch.Generator().manual_seed(zlib.crc32(f"{name}/{number}".encode()))
            args = [verify._built(each, dtype, generator) for each in sample.args]
            kwargs = {k: verify._built(each, dtype, generator) for k, each in sample.kwargs.items()}
            if not _runs(row, args, kwargs):
                continue
            args, kwargs = verify._there(args), {k: verify._there(each) for k, each in kwargs.items()}
            given = [[verify._copied(args), {k: verify._copied(each) for k, each in kwargs.items()}], []]
            given[1] = [[_cast(each) for each in args], {k: _cast(each) for k, each in kwargs.items()}]
            found: list[Any] = []
            for its_args, its_kwargs in given:
                torch.manual_seed(0)
                try:
                    results = row.handle(*its_args, **its_kwargs)
                except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
                    found.append(type(error))
                    continue
                found.append([t.cpu() for t in _tensors([results, its_args, list(its_kwargs.values())])])
            if any(get_npu_format(t) == NZ for t in _tensors([given[1][0], list(given[1][1].values())])):
                ran += isinstance(found[0], list)
            same = found[0] == found[1] if isinstance(found[0], type) else isinstance(found[1], list) and all(
                a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())
                for a, b in zip(*found, strict=True)
            )  # fmt: skip
            if not same and "empty" not in name:  # whose numbers are any
                wrong.append((name, number, found))
    assert not wrong and ran > 40, (wrong[:3], ran)
