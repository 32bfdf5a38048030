"""Indexing in all its forms, gather and scatter and their kin, against PyTorch."""

import pytest
from agreement import agree, agree_on_error

_GET = {
    "int": "x[1]",
    "negative": "x[-1]",
    "ints": "x[1, 2, 3]",
    "slice": "x[0:1]",
    "slices": "x[:, 1:, ::2]",
    "slice and int": "x[:, -1, 1:3]",
    "open slice": "x[:]",
    "beyond the end": "x[:, 2:100]",
    "empty slice": "x[:, 3:1]",
    "None": "x[None, :, None, 1]",
    "ellipsis": "x[..., 0]",
    "ellipsis inside": "x[0, ..., 1:]",
    "two ellipses": "x[..., ...]",
    "True": "x[True]",
    "False": "x[False]",
    "empty tuple": "x[()]",
    "list": "x[[0, 1, 0]]",
    "list in tuple": "x[:, [0, 2]]",
    "two lists": "x[[0, 1], [1, 2]]",
    "lists apart": "x[[0, 1], :, [0, 3]]",
    "lists behind": "x[:, [0, 1], [1, 2]]",
    "list and int": "x[[0, 1], 1]",
    "list and slice": "x[[1], 1:, ::3]",
    "list and None": "x[[0, 1], None]",
    "empty list": "x[[]]",
    "list of bools": "x[[True, False]]",
    "nested list": "x[[[0, 1], [1, 0]],]",
    "range": "x[range(2)]",
    "tensor": "x[torch.tensor([1, 0])]",
    "int32 tensor": "x[torch.tensor([1, 0], dtype=torch.int32)]",
    "matrix of positions": "x[torch.tensor([[1, 0], [0, 0]])]",
    "0-dim tensor": "x[torch.tensor(1)]",
    "0-dim bool tensor": "x[torch.tensor(True)]",
    "broadcast tensors": "x[torch.tensor([[0], [1]]), torch.tensor([0, 2])]",
    "negative positions": "x[:, torch.tensor([-1, -3])]",
    "mask": "x[x > 5]",
    "mask of the first": "x[torch.tensor([True, False])]",
    "mask of two, slice": "x[x[..., 0] > 3, 1:]",
    "mask of two, int": "x[x[..., 0] > 3, 1]",
    "mask behind": "x[:, torch.tensor([True, False, True])]",
    "tensor bounds": "x[torch.tensor(0):torch.tensor(1)]",
    "transposed": "x.transpose(0, 2)[[0, 2], 1:]",
    "expanded": "x[:1].expand(3, 3, 4)[[2, 0], :, 1]",
}
_ERRORS = {
    "int out of range": "x[5]",
    "second int out of range": "x[0, -4]",
    "list out of range": "x[:, [5]]",
    "too many": "x[0, 0, 0, 0]",
    "too many slices": "x[:, :, :, :]",
    "float": "x[1.5]",
    "dict": "x[{}]",
    "negative step": "x[::-1]",
    "zero step": "x[::0]",
    "float bound": "x[0:1.5]",
    "float tensor": "x[torch.tensor([1.0])]",
    "int16 tensor": "x[torch.tensor([0], dtype=torch.int16)]",
    "lists that do not broadcast": "x[[0, 1], [0, 1, 2]]",
    "mask of another length": "x[torch.tensor([True, False, True])]",
    "0-dim": "x[0, 0, 0][0]",
}
_SET = {
    "int": ("0", "5"),
    "float into slice": ("(slice(None), 1)", "2.5"),
    "tensor": ("0", "torch.arange(12.0).view(3, 4)"),
    "broadcast row": ("0", "torch.arange(4.0)"),
    "leading ones": ("0", "torch.ones(1, 1, 3, 4)"),
    "another dtype": ("1", "torch.arange(12).view(3, 4)"),
    "list": ("[0]", "7"),
    "list, tensor": ("([0, 1], [1, 2])", "torch.ones(2, 4)"),
    "mask": ("x > 5", "-1.0"),
    "mask, values": ("x > 20", "torch.arange(3.0)"),
    "ellipsis": ("...", "3"),
    "True": ("True", "4"),
    "False": ("False", "4"),
    "None": ("None", "6"),
    "step": ("(slice(None), slice(0, 3, 2))", "torch.ones(2, 2, 1)"),
    "repeated positions": ("(slice(None), [0, 0])", "torch.ones(4)"),
}
_SET_ERRORS = {
    "str": ("0", "'a'"),
    "list": ("0", "[1, 2]"),
    "None": ("0", "None"),
    "shape": ("0", "torch.ones(5)"),
    "shape, list": ("[0, 1]", "torch.ones(5)"),
    "out of range": ("7", "1"),
    "dtype": ("[0]", "torch.ones(3, 4, dtype=torch.float64)"),
}


def _x(torch, dtype="float32"):
    return torch.arange(24).view(2, 3, 4).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "complex128"])
@pytest.mark.parametrize("name", _GET)
def test_get(name, dtype):
    if dtype in ("complex128",) and ">" in _GET[name]:
        pytest.skip("complex numbers have no order")
    agree(lambda torch: eval(_GET[name], {"torch": torch, "x": _x(torch, dtype)}), layout=False)


@pytest.mark.parametrize("name", _GET)
def test_gradient_of_get(name):
    def program(torch):
        x = _x(torch).requires_grad_()
        y = eval(_GET[name], {"torch": torch, "x": x})
        y.backward(torch.arange(1.0, y.numel() + 1).view(y.shape))
        return x.grad

    agree(program)


@pytest.mark.parametrize("name", _ERRORS)
def test_errors_of_get(name):
    agree_on_error(lambda torch: eval(_ERRORS[name], {"torch": torch, "x": _x(torch)}))


@pytest.mark.parametrize("name", _SET)
def test_set(name):
    def program(torch):
        index, value = _SET[name]
        x = _x(torch)
        names = {"torch": torch, "x": x}
        x[eval(index, names)] = eval(value, names)
        return x

    agree(program)


@pytest.mark.parametrize("name", _SET)
def test_gradient_of_set(name):
    def program(torch):
        index, value = _SET[name]
        leaf = _x(torch).requires_grad_()
        x = leaf * 2
        names = {"torch": torch, "x": x}
        given = eval(value, names)
        if isinstance(given, torch.Tensor) and given.is_floating_point():
            given.requires_grad_()
        x[eval(index, names)] = given
        (x * x).backward(torch.ones(2, 3, 4))
        return leaf.grad, given.grad if isinstance(given, torch.Tensor) and given.requires_grad else 0

    agree(program)


@pytest.mark.parametrize("name", _SET_ERRORS)
def test_errors_of_set(name):
    def program(torch):
        index, value = _SET_ERRORS[name]
        x = _x(torch)
        names = {"torch": torch, "x": x}
        x[eval(index, names)] = eval(value, names)

    agree_on_error(program)


def test_views_share_memory_and_copies_do_not():
    def program(torch):
        x = _x(torch)
        x[0][1][2] = 100
        x[:, 1:][..., 0] += 1
        y = x[[0, 1]]
        y[0] = -1
        return x, y, x[...] is x, x[()] is x

    agree(program)


def test_numpy_indices():
    def program(torch):
        import numpy

        x = _x(torch)
        return (
            x[numpy.array([1, 0])],
            x[:, numpy.array([True, False, True])],
            x[numpy.int64(1)],
            x[0, numpy.array([[0, 1], [2, 0]])],
        )

    agree(program)


_CALLS = {
    "gather": lambda torch, x, i: (x.gather(1, i), x.gather(0, i % 3), torch.gather(x.t(), 0, i.t())),
    "index_select": lambda torch, x, i: (x.index_select(0, i[:, 0] % 3), x.t().index_select(1, i[:, 0] % 3)),
    "take": lambda torch, x, i: (x.take(i), torch.take(x, -i - 1)),
    "take_along_dim": lambda torch, x, i: (x.take_along_dim(i, 1), x.take_along_dim(i)),
    "masked_select": lambda torch, x, i: (x.masked_select(x > 0), x.masked_select(x[:, :1] > 0)),
    "where": lambda torch, x, i: (torch.where(x > 0), torch.nonzero(x > 0), (x > 0).nonzero(as_tuple=True), torch.argwhere(x > 0)),
    "scatter": lambda torch, x, i: (x.scatter(1, i[:, :1], x), x.scatter(1, i, 2.0), x.scatter(0, i % 3, 1, reduce="multiply")),
    "scatter_add": lambda torch, x, i: (x.scatter_add(1, i, x), x.t().scatter_add(0, i.t(), x.t())),
    "scatter_reduce": lambda torch, x, i: [
        x.scatter_reduce(1, i, x * 2, r, include_self=s) for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)
    ],
    "index_add": lambda torch, x, i: (x.index_add(0, i[:, 0] % 3, x, alpha=2), x.index_add(1, i[0] % 3, x[:, :2])),
    "index_copy": lambda torch, x, i: x.index_copy(1, torch.tensor([2, 0]), x[:, :2] * 3),
    "index_fill": lambda torch, x, i: (x.index_fill(1, i[0], 9), x.index_fill(0, torch.tensor([1]), torch.tensor(4.0))),
    "index_reduce": lambda torch, x, i: [
        x.index_reduce(0, torch.tensor([0, 2, 0]), x * 2, r, include_self=s) for r in ("prod", "mean", "amax", "amin") for s in (True, False)
    ],
    "put": lambda torch, x, i: (x.put(torch.tensor([1, 5, 1]), torch.ones(3), True), x.put(torch.tensor([1, 5]), torch.ones(2))),
    "masked_scatter": lambda torch, x, i: x.masked_scatter(x > 0, torch.arange(12.0)),
    "index_put": lambda torch, x, i: (x.index_put((i[0],), torch.ones(4), True), x.index_put((None, i[0]), torch.tensor(2.0))),
    "roll": lambda torch, x, i: (x.roll(1), x.roll((1, -2), (0, 1)), x.t().roll(2, 0)),
    "flip": lambda torch, x, i: (x.flip(0), x.flip(0, 1), x.t().flip(1), torch.fliplr(x), torch.flipud(x), torch.rot90(x, 3)),
    "repeat": lambda torch, x, i: (x.repeat(2, 1), x.repeat(2, 1, 3), x.tile(2), x.tile(2, 1, 2)),
    "repeat_interleave": lambda torch, x, i: (
        x.repeat_interleave(2), x.repeat_interleave(2, 1), x.repeat_interleave(torch.tensor([0, 2, 1]), 0),
    ),
    "triangles": lambda torch, x, i: (x.tril(), x.triu(1), x.tril(-1), torch.stack([x, x]).triu(-1), x.t().tril(1)),
    "diagonals": lambda torch, x, i: (x.diagonal(), x.diag(1), x[0].diag(-1), torch.diag_embed(x, 1), torch.diagflat(x)),
    "view scatters": lambda torch, x, i: (
        x.select_scatter(torch.ones(4), 0, 1), x.slice_scatter(torch.ones(3, 2), 1, 0, 4, 2), x.diagonal_scatter(torch.ones(3)),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", _CALLS)
def test_calls_and_gradients(name):
    def program(torch):
        x = (torch.arange(12.0).view(3, 4) * 7 % 11 - 4).requires_grad_()
        i = (torch.arange(12) * 5 % 4).view(3, 4)
        results = _CALLS[name](torch, x, i)
        results = [r for r in (results if isinstance(results, (tuple, list)) else [results])]
        flat = [t for r in results for t in (r if isinstance(r, (tuple, list)) else [r])]
        smooth = [r for r in flat if r.requires_grad]
        if smooth:
            torch.autograd.backward(smooth, [torch.arange(1.0, r.numel() + 1).view(r.shape) for r in smooth])
        return flat, x.grad

    agree(program, layout=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8", "bool"])
def test_dtypes(dtype):
    def program(torch):
        x = (torch.arange(12).view(3, 4) % 5).to(getattr(torch, dtype))
        i = (torch.arange(12) * 5 % 4).view(3, 4)
        out = [
            x.gather(1, i), x.index_select(0, i[0] % 3), x.take(i), x.masked_select(x > 1), x.flip(1), x.roll(1, 1), x.repeat(2, 2),
            x.scatter(1, i, x), x.tril(), x.index_put((i[0] % 3,), x[:4].repeat(2, 1)[:4]), torch.cat([x, x], 1), torch.stack([x, x]),
        ]  # fmt: skip
        if dtype != "bool":
            out += [x.scatter_add(1, i, x), x.index_add(0, i[0] % 3, x.repeat(2, 1)[:4])]
        return out

    agree(program)


def test_empty_inputs():
    def program(torch):
        x = torch.zeros(0, 3)
        none = torch.zeros(0, dtype=torch.int64)
        return (
            x[none], x[:, none], x.gather(0, torch.zeros(0, 3, dtype=torch.int64)), x.index_select(0, none), x.take(none), x.flip(0),
            x.nonzero(), x.masked_select(x > 0), x.repeat(2, 2), torch.cat([x, x]), torch.ones(2, 3)[none], x.roll(1), x.tril(),
        )  # fmt: skip

    agree(program, layout=False)


def test_embedding():
    def program(torch):
        weight = (torch.arange(15.0).view(5, 3) * 3 % 7).requires_grad_()
        indices = torch.tensor([[1, 4, 1], [0, 2, 1]])
        functional = torch.embedding
        results = [functional(weight, indices), functional(weight, indices, 1), functional(weight, indices, -1, True)]
        torch.autograd.backward(results, [torch.arange(1.0, 19.0).view(2, 3, 3)] * 3)
        return results, weight.grad

    agree(program)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [None, 1])
def test_embedding_bag(mode, padding):
    def program(torch):
        weight = (torch.arange(15.0).view(5, 3) * 3 % 7).requires_grad_()
        indices, offsets = torch.tensor([1, 4, 1, 0, 2, 1]), torch.tensor([0, 2, 2, 5])
        result = torch.embedding_bag(weight, indices, offsets, False, mode, False, None, False, padding)
        result[0].backward(torch.arange(1.0, 13.0).view(4, 3))
        return result[0], weight.grad

    agree(program)


def test_embedding_out_of_range():
    agree_on_error(lambda torch: torch.embedding(torch.ones(3, 2), torch.tensor([3])))
