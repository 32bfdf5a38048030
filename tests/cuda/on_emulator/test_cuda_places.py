"""Reading, writing, sorting and scanning on the emulated GPU, where the rows' samples do not reach: against the CPU, bit for bit."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

torch.manual_seed(0)
INF, NAN = math.inf, math.nan


def _moved(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.cuda().as_strided(value.shape, value.stride()) if value.is_contiguous() else _strided(value)
    return [_moved(v) for v in value] if isinstance(value, list) else value


def _strided(value: torch.Tensor) -> torch.Tensor:
    moved = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
    if 0 in value.stride():
        return value.cuda().expand(value.shape)
    return moved.copy_(value)


def _flat(results: Any) -> list[Any]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def same(function: Callable[..., Any], *arguments: Any) -> None:
    """A function of tensors has the same results on both devices, NaN where the other has it."""
    expected = _flat(function(*arguments))
    found = _flat(function(*(_moved(a) for a in arguments)))
    assert len(expected) == len(found)
    for mine, wanted in zip(found, expected, strict=True):
        assert mine.device.type == "cuda"
        assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape)
        mine = mine.cpu()
        equal = (mine == wanted) | ((mine != mine) & (wanted != wanted))
        assert bool(equal.all()), (mine, wanted)


NUMBERS = torch.arange(120.0).reshape(4, 5, 6)


@pytest.mark.parametrize(
    "index",
    [
        (slice(None), torch.tensor([4, -5, 0])),
        (torch.tensor([[1], [-1]]), slice(None), torch.tensor([0, 5, 2])),
        (torch.tensor([3, 0], dtype=torch.int32),),
        (NUMBERS.sum(-1) > 100,),
        (slice(None), torch.tensor([True, False, True, True, False]), slice(1, 4)),
        (torch.tensor([], dtype=torch.int64),),
        (torch.tensor(2), slice(None), torch.tensor([1, 1])),
        (slice(None, None, 2), None, torch.tensor([2, 2, 1]), slice(None, None, 3)),
    ],
)
def test_index(index: tuple[Any, ...]) -> None:
    def read(x: torch.Tensor) -> torch.Tensor:
        return x[tuple(i.to(x.device) if isinstance(i, torch.Tensor) else i for i in index)]

    def write(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        there = tuple(i.to(x.device) if isinstance(i, torch.Tensor) else i for i in index)
        y[there] = -torch.arange(float(y[there].numel()), device=x.device).reshape(y[there].shape)
        return y

    for x in (NUMBERS, NUMBERS.permute(0, 2, 1).contiguous().permute(0, 2, 1), NUMBERS[:1].expand(4, 5, 6)):
        same(read, x)
        same(write, x)


def test_places_named_twice_are_taken_in_their_order() -> None:
    where = torch.tensor([2, 0, 2, 2, 1, 0])
    values = torch.arange(6.0)
    same(lambda w, v: torch.zeros(3, device=w.device).index_put((w,), v), where, values)
    same(lambda w, v: torch.zeros(3, device=w.device).index_put((w,), v, accumulate=True), where, values)
    same(lambda w, v: torch.zeros(3, device=w.device).scatter(0, w, v), where, values)
    same(lambda w, v: torch.zeros(3, device=w.device).index_copy(0, w, v), where, values)
    same(lambda w, v: torch.ones(3, device=w.device).put(w, v), where, values)
    same(lambda w, v: torch.ones(3, device=w.device).put(w - 3, v, accumulate=True), where, values)


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int8])
def test_scatter_reduce(reduce: str, include: bool, dtype: torch.dtype) -> None:
    where = torch.tensor([[0, 2, 2, 0], [1, 1, 1, 1], [2, 0, 0, 0]])
    source = (torch.arange(12).reshape(3, 4) - 5).to(dtype)
    base = torch.full((3, 4), -7).to(dtype)
    for dim in (0, 1):
        same(lambda b, w, s, dim=dim: b.scatter_reduce(dim, w, s, reduce, include_self=include), base, where, source)
    if reduce != "sum":
        rows = torch.tensor([2, 0, 2])
        same(lambda b, w, s: b.index_reduce(0, w, s, reduce, include_self=include), base, rows, source)


def test_scatter_add_of_whole_rows_and_into_views() -> None:
    rows = torch.tensor([1, 3, 1, 1]).unsqueeze(1).expand(4, 6)
    same(lambda w, s: torch.zeros(5, 6, device=w.device).scatter_add(0, w, s), rows, torch.arange(24.0).reshape(4, 6))

    def into_view(w: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        whole = torch.zeros(6, 10, device=w.device)
        whole.t()[2:8:2].index_add_(1, w, s, alpha=2)
        return whole

    same(into_view, torch.tensor([5, 0, 5]), torch.arange(9.0).reshape(3, 3))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.complex128])
@pytest.mark.parametrize("offset", [0, 1])
def test_rows_of_any_width_and_alignment(width: int, dtype: torch.dtype, offset: int) -> None:
    def pick(table: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return table[offset:].reshape(9, width).index_select(0, w)

    same(pick, torch.arange(9 * width + offset).to(dtype), torch.tensor([8, 0, 3, 3]))


@pytest.mark.parametrize("n", [1, 2, 33, 1024, 1025, 5000])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(n: int, descending: bool) -> None:
    ties = (torch.arange(2 * n) * 7919 % 97).reshape(2, n)
    special = (ties - 40).to(torch.float64)
    special[special == 3] = NAN
    special[special == 5] = INF
    special[special == 7] = -0.0
    for x in (ties, ties.to(torch.uint8), special, special.to(torch.float16), ties.to(torch.int32).t()):
        dim = 1 if x.shape[0] == 2 else 0
        same(lambda x, dim=dim: torch.sort(x, dim=dim, descending=descending, stable=True), x)


def test_ranks() -> None:
    x = (torch.arange(60) * 37 % 61).to(torch.float32).reshape(3, 4, 5)
    holes = x.clone()
    holes[0, 1] = NAN
    holes[1, 2, 3] = NAN
    for dim in (0, 1, 2):
        same(lambda x, dim=dim: torch.topk(x, 2, dim), x)
        same(lambda x, dim=dim: torch.topk(x, 3, dim, largest=False), x)
        same(lambda x, dim=dim: torch.kthvalue(x, 2, dim), x)
        same(lambda x, dim=dim: torch.median(x, dim), x)
        same(lambda x, dim=dim: torch.median(x, dim, keepdim=True).values, holes)
        same(lambda x, dim=dim: torch.nanmedian(x, dim).values, holes)
        same(lambda x, dim=dim: torch.mode(x // 8, dim).values, x)
    same(lambda x: torch.median(x), holes)
    same(lambda x: torch.nanmedian(x), holes)
    same(lambda x: torch.median(x), x.to(torch.int64))
    same(lambda x: torch.mode(x, 0), torch.tensor([3.0, NAN, 1.0, NAN, NAN]))


@pytest.mark.parametrize("shape", [(70_000,), (3, 3000), (2, 300, 5), (0, 4), (1, 1)])
def test_scans(shape: tuple[int, ...]) -> None:
    count = math.prod(shape)
    x = ((torch.arange(count) * 31 % 17) - 8).reshape(shape)
    for dim in range(len(shape)):
        same(lambda x, dim=dim: torch.cumsum(x, dim), x)
        same(lambda x, dim=dim: torch.cumsum(x, dim), x.to(torch.float32))
        same(lambda x, dim=dim: torch.cummax(x, dim), x)
        same(lambda x, dim=dim: torch.cummin(x, dim), x.to(torch.float16))
        same(lambda x, dim=dim: torch.cumsum(x > 0, dim), x)
        same(lambda x, dim=dim: torch.cumprod(x % 2 * 2 - 1, dim), x)
    if count > 100:
        holes = x.to(torch.float64)
        holes.view(-1)[50] = NAN
        same(lambda x: torch.cummax(x, -1), holes)


def test_logcumsumexp() -> None:
    x = torch.tensor([[-INF, -INF, 0.0, 1000.0], [1.0, NAN, 2.0, 3.0]], dtype=torch.float64)
    found = torch.logcumsumexp(x.cuda(), 1).cpu()
    expected = torch.logcumsumexp(x, 1)
    assert torch.allclose(found, expected, rtol=1e-15, atol=0, equal_nan=True)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    starts, rows = torch.tensor([0, 2, 2, 7]), torch.tensor([1, 4, 0, 3, 2, 1, 1, 3])
    scales = torch.arange(8.0) if mode == "sum" else None

    def bag(table: torch.Tensor, i: torch.Tensor, o: torch.Tensor, s: torch.Tensor | None) -> list[torch.Tensor]:
        leaves = [table.clone().requires_grad_()] + ([] if s is None else [s.clone().requires_grad_()])
        found = torch.nn.functional.embedding_bag(
            i, leaves[0], o, mode=mode, per_sample_weights=leaves[1] if s is not None else None, padding_idx=3
        )
        found.backward(torch.arange(float(found.numel()), device=table.device).view_as(found))
        return [found.detach(), *(leaf.grad for leaf in leaves)]

    same(bag, torch.arange(20.0).reshape(5, 4) % 7, rows, starts, scales)


@pytest.mark.parametrize("by_count", [False, True])
def test_embedding_gradient(by_count: bool) -> None:
    def gradient(table: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        leaf = table.clone().requires_grad_()
        found = torch.nn.functional.embedding(i, leaf, padding_idx=1, scale_grad_by_freq=by_count)
        found.backward(torch.arange(float(found.numel()), device=table.device).view_as(found))
        return leaf.grad

    same(gradient, torch.zeros(5, 4), torch.tensor([[3, 1, 0], [3, 4, 0]], dtype=torch.int32))


def test_embedding_renorm() -> None:
    table = torch.arange(12.0).reshape(4, 3)
    found, expected = table.cuda(), table.clone()
    for t in (found, expected):
        torch.embedding_renorm_(t, torch.tensor([2, 0, 2], device=t.device), 5.0, 2.0)
    assert torch.allclose(found.cpu(), expected, rtol=1e-6)
    assert found[3].cpu().equal(table[3])


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
@pytest.mark.parametrize("pads", [(2, 1), (1, 3, 2, 0), (0, 2, 1, 1, 2, 1), (-1, 2)])
def test_padding_and_its_gradient(mode: str, pads: tuple[int, ...]) -> None:
    dims = len(pads) // 2 + 2

    def pad(x: torch.Tensor) -> list[torch.Tensor]:
        leaf = x.clone().requires_grad_()
        found = torch.nn.functional.pad(leaf, pads, mode)
        found.backward(torch.arange(float(found.numel()), device=x.device).view_as(found))
        return [found.detach(), leaf.grad]

    same(pad, torch.arange(float(2 * 4 ** (dims - 1))).reshape(2, *[4] * (dims - 1)))


def test_views_that_overlap() -> None:
    def gradients(x: torch.Tensor) -> list[torch.Tensor]:
        leaf = x.clone().requires_grad_()
        total = (leaf.as_strided((3, 4), (2, 3), 1) * 2).sum() + (leaf.unfold(0, 4, 2) * 3).sum()
        total = total + leaf.view(5, 4).diagonal(1).sum() + leaf[3::4].sum() * 5 + leaf[7] * 11
        return [torch.autograd.grad(total, leaf)[0]]

    same(gradients, torch.arange(20.0))
    same(lambda x: x.as_strided_scatter(torch.ones(2, 2, device=x.device), (2, 2), (3, 1), 2), torch.zeros(3, 4))


def test_rearrangements() -> None:
    x = NUMBERS.transpose(0, 2)
    same(lambda x: x.flip(0, 2), x)
    same(lambda x: x.roll((7, -2), (0, 2)), x)
    same(lambda x: x.roll(13), x)
    same(lambda x: x.repeat(2, 1, 3, 2), x)
    same(lambda x: torch.cat([x, x[:, :2], x.new_empty(0)], 1), x)
    same(lambda x: torch.stack([x, x * 2], -1), x)
    for k in (-2, 0, 3):
        same(lambda x, k=k: x.tril(k), x)
        same(lambda x, k=k: x.clone().triu_(k), x)
        same(lambda x, k=k: torch.tril_indices(4, 3, k, device=x.device), x)
        same(lambda x, k=k: torch.triu_indices(4, 3, k, device=x.device), x)
    same(lambda x: torch.repeat_interleave(x, torch.tensor([2, 0, 1, 3, 1, 0], device=x.device), 0), x)


def test_masks() -> None:
    x, mask = NUMBERS.permute(2, 0, 1), NUMBERS.permute(2, 0, 1) % 7 == 3
    same(lambda x, m: x.masked_select(m), x, mask)
    same(lambda x, m: x.masked_scatter(m, -torch.arange(30.0, device=x.device)), x, mask)
    same(lambda x, m: m.nonzero(), x, mask)
    same(lambda x, m: torch.nonzero_static(m, size=4), x, mask)
    same(lambda x, m: torch.nonzero_static(m, size=40, fill_value=-3), x, mask)
    same(lambda x: x.nonzero(), torch.tensor(3.0))
    same(lambda x: x.nonzero(), torch.zeros(0, 3))


def test_distinct_elements() -> None:
    x = torch.tensor([[3, 1, 3, 0], [1, 1, 3, 0], [3, 1, 3, 0], [3, 0, 3, 0]])
    same(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique(x, return_inverse=True, return_counts=True, dim=0), x)
    same(lambda x: torch.unique(x, return_inverse=True, return_counts=True, dim=1), x)
    same(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), x)
    same(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=1), x)
    same(lambda x: torch.unique(x), torch.tensor([NAN, 1.0, NAN]))
    same(lambda x: torch.unique(x), torch.empty(0))


def test_searches() -> None:
    steps, values = torch.tensor([1.0, 3.0, 3.0, 7.0, NAN]), torch.tensor([[3.0, 0.5], [NAN, 8.0]])
    for right in (False, True):
        same(lambda s, v, right=right: torch.searchsorted(s, v, right=right), steps, values)
        same(lambda s, v, right=right: torch.bucketize(v, s, right=right, out_int32=True), steps, values)
        same(lambda s, v, right=right: torch.searchsorted(s, 3, right=right), steps, values)
    rows, order = torch.tensor([[5, 1, 3], [2, 9, 4]]), torch.tensor([[1, 2, 0], [0, 2, 1]])
    same(lambda r, o: torch.searchsorted(r, r.flip(1), sorter=o), rows, order)
    same(lambda v, s: torch.isin(v, s), values, steps)
    same(lambda v, s: torch.isin(v, s, invert=True), values, steps)
    same(lambda v: torch.isin(v, 3), values)
    same(lambda r: torch.isin(r, torch.tensor([9, 1], device=r.device)), rows)


def test_counts() -> None:
    x = torch.tensor([3, 1, 3, 6, 0])
    same(lambda x: torch.bincount(x), x)
    same(lambda x: torch.bincount(x, minlength=10), x)
    same(lambda x: torch.bincount(x, x * 0.5), x)
    same(lambda x: torch.bincount(x, minlength=2), x[:0])
    same(lambda x: torch.histc(x.to(torch.float32), 4), x)
    same(lambda x: torch.histc(x.to(torch.float32), 5, 1, 6), x)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(-x.cuda())


@pytest.mark.parametrize(
    "call",
    [
        "torch.zeros(3).cuda()[torch.tensor([0, 3])]",
        "torch.zeros(3).cuda().gather(0, torch.tensor([-1]).cuda())",
        "torch.zeros(3).cuda().scatter_(0, torch.tensor([3]).cuda(), 1)",
        "torch.zeros(3).cuda().index_add_(0, torch.tensor([5]).cuda(), torch.ones(1).cuda())",
        "torch.nn.functional.embedding(torch.tensor([4]).cuda(), torch.zeros(4, 2).cuda())",
        "torch.zeros(3).cuda().masked_scatter_(torch.tensor([True, True, False]).cuda(), torch.ones(1).cuda())",
    ],
)
def test_places_outside_stop_the_kernel(call: str) -> None:
    program = f"import sys; sys.path[:] = {sys.path!r}\nimport mindtorch_v2 as torch\n{call}\ntorch.cuda.synchronize()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "device-side assert triggered" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x[torch.tensor([0.5])], "must be long, int, byte or bool"),
        (lambda x: x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])], "could not be broadcast"),
        (lambda x: x.index_put((torch.tensor([0]),), torch.tensor([1], device="cuda")), "destination dtypes match"),
        (lambda x: x.index_put((torch.tensor([0, 1]),), torch.ones(3, device="cuda")), "cannot be broadcast"),
        (lambda x: x.scatter(0, torch.zeros(9, 9, dtype=torch.int64, device="cuda"), 1.0), "no larger than self"),
        (lambda x: x.index_add(0, torch.tensor([0, 1], device="cuda"), x), "Number of indices"),
        (lambda x: x.roll((1, 2), (0,)), "must align"),
    ],
)
def test_bad_calls(call: Callable[[torch.Tensor], Any], text: str) -> None:
    with pytest.raises((RuntimeError, IndexError), match=text):
        call(torch.zeros(4, 5, device="cuda"))
