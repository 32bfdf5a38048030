"""Promises of sparse tensors beside PyTorch's recorded answers: second derivatives, files, and that nothing crashes."""

import copy
import io
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import gradcheck, gradgradcheck

INDICES = [[1, 0, 1, 1], [2, 2, 0, 2]]


def _x(dtype=torch.float64):
    return torch.sparse_coo_tensor(INDICES, torch.tensor([3, 4, 5, 6], dtype=dtype), (2, 3))


def _values():
    return torch.tensor([0.3, -0.4, 0.5, 0.6], dtype=torch.float64, requires_grad=True)


def _dense(*sizes):
    count = 1
    for n in sizes:
        count *= n
    return (torch.arange(count, dtype=torch.float64).reshape(sizes) / 7 - 0.5).requires_grad_()


def _built(values):
    return torch.sparse_coo_tensor(INDICES, values, (2, 3))


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda v: _built(v).to_dense() ** 2, (_values(),)),
        (lambda v: _built(v).coalesce().values() ** 2, (_values(),)),
        (lambda v, w: torch.sparse.mm(_built(v), w), (_values(), _dense(3, 2))),
        (lambda v, w: _built(v) @ w, (_values(), _dense(3))),
        (lambda v, w: w @ _built(v), (_values(), _dense(3, 2))),
        (lambda v, w: (w + _built(v)) ** 2, (_values(), _dense(2, 3))),
        (lambda v: torch.sparse.sum(_built(v).coalesce(), 0).to_dense() ** 2, (_values(),)),
        (lambda v: (_built(v) * 3).t().to_dense() ** 2, (_values(),)),
        (lambda v: torch.sparse.mm(_built(v), _built(v).t()).to_dense(), (_values(),)),
        (lambda v: (_built(v).coalesce() * _dense(2, 3).detach()).to_dense() ** 2, (_values(),)),
        (lambda w: w.to_sparse().to_dense(masked_grad=False) ** 2, (_dense(2, 3),)),
        (lambda w: w.sparse_mask(_x().coalesce()).to_dense() ** 2, (_dense(2, 3),)),
    ],
)
def test_derivatives_are_those_of_difference_quotients(function, inputs):
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_derivatives_that_do_not_exist_are_named():
    values = _values()
    out = torch.sparse.softmax(_built(values), 1).to_dense()
    (slope,) = torch.autograd.grad(out[1, 2], values, create_graph=True)
    with pytest.raises(
        NotImplementedError, match="derivative for aten::_sparse_softmax_backward_data is not implemented"
    ):
        slope.sum().backward()


def test_the_gradient_of_a_sparse_leaf_is_sparse_where_it_is_looked_up():
    x = _x().coalesce().requires_grad_()
    torch.sparse.mm(x, torch.ones(3, 2, dtype=torch.float64)).sum().backward()
    assert x.grad.layout == torch.sparse_coo
    assert torch.equal(x.grad.to_dense(), torch.tensor([[0.0, 0.0, 2.0], [2.0, 0.0, 2.0]], dtype=torch.float64))
    torch.sparse.sum(x).backward()  # one more, which is added
    assert torch.equal(x.grad.to_dense(), torch.tensor([[0.0, 0.0, 3.0], [3.0, 0.0, 3.0]], dtype=torch.float64))


@pytest.mark.parametrize(
    "make", [_x, lambda: _x().coalesce(), lambda: _x().to_sparse_csr(), lambda: _x().to_sparse_csc()]
)
def test_copies_and_files(make):
    x = make()
    file = io.BytesIO()
    torch.save({"x": x, "p": torch.nn.Parameter(x)}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)
    assert isinstance(loaded["p"], torch.nn.Parameter)
    for other in (
        loaded["x"],
        loaded["p"].detach(),
        copy.copy(x),
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        x.clone(),
    ):
        assert (other.layout, other.dtype, other.shape) == (x.layout, x.dtype, x.shape)
        assert repr(other) == repr(x)
    assert x.layout != torch.sparse_coo or copy.deepcopy(x).is_coalesced() == x.is_coalesced()


def test_a_copy_is_a_copy():
    x = _x()
    other, alias = copy.deepcopy(x), x.detach()
    x._values().mul_(2)
    assert torch.equal(alias.to_dense(), x.to_dense())
    assert torch.equal(other.to_dense() * 2, x.to_dense())


def test_in_place_operators_keep_the_tensor_and_count_writes():
    x = _x()
    before, alias = x._version, x
    x.add_(x).mul_(3).neg_()
    assert alias is x
    assert x._version > before
    assert torch.equal(x.to_dense(), _x().to_dense() * -6)
    y = _x().requires_grad_() * 1
    z = y * _dense(2, 3).detach()
    w = _dense(2, 3)
    product = y * w
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.sparse.sum(product).backward()
    assert z.is_sparse


# Indices that are not checked when a tensor is made may say anything; what reads them must not.
WILD = [
    ([[0, 7]], (3,)),
    ([[0, -9]], (3,)),
    ([[0, 1 << 62]], (3,)),
    ([[0, 5], [9, 1]], (3, 2)),
]


READERS = {  # of the indices; each has to look at them
    "to_dense": lambda x: x.to_dense(),
    "coalesce": lambda x: x.coalesce().to_dense(),
    "mm": lambda x: x @ torch.ones(x.shape[-1], 2),
    "mv": lambda x: x @ torch.ones(x.shape[-1]),
    "rmm": lambda x: torch.ones(2, x.shape[0]) @ x,
    "sparse.mm": lambda x: torch.sparse.mm(x, x.t()),
    "add": lambda x: torch.zeros(x.shape) + x,
    "mul": lambda x: x * torch.ones(x.shape),
    "sparse_mask": lambda x: torch.ones(x.shape).sparse_mask(x),
    "to_sparse_csr": lambda x: x.to_sparse_csr() @ torch.ones(x.shape[-1], 2),
    "to_sparse_csc": lambda x: x.to_sparse_csc().to_dense(),
}
OTHERS = {  # what carries the indices on without looking them up
    "square": lambda x: x * x,
    "sparse_mask of itself": lambda x: x.sparse_mask(x),
    "softmax": lambda x: torch.sparse.softmax(x, 0),
    "sum": lambda x: torch.sparse.sum(x, 0),
    "index_select": lambda x: x.index_select(0, torch.tensor([0, 1])),
    "index": lambda x: x[0],
    "cat": lambda x: torch.cat([x, x]).t(),
    "repr": repr,
}


@pytest.mark.parametrize(("indices", "size"), WILD)
@pytest.mark.parametrize("name", READERS)
def test_wild_indices_are_refused(name, indices, size):
    x = torch.sparse_coo_tensor(indices, [1.0, 2.0], size)
    with pytest.raises(
        (IndexError, RuntimeError),
        match=r"out of |only |dim|expect|must|mv\(\) with a sparse vector is not implemented",
    ):
        READERS[name](x)


@pytest.mark.parametrize(("indices", "size"), WILD)
@pytest.mark.parametrize("name", OTHERS)
def test_wild_indices_are_harmless(name, indices, size):
    x = torch.sparse_coo_tensor(indices, [1.0, 2.0], size)
    result = OTHERS[name](x)
    if isinstance(result, torch.Tensor) and result.is_sparse:
        assert all(0 <= value <= 4 for value in result._values().flatten().tolist())
    else:
        assert str(result)
    assert x._indices().tolist() == indices


@pytest.mark.parametrize(
    ("rows", "sound"),
    [
        ([0, 2, 1], False), ([0, 9, 9], False), ([-1, 0, 2], False), ([5, 5, 5], False), ([0, 0, 1 << 40], False),
        ([0, 1], True), ([0, 1, 2, 2, 2], True),  # of another number of rows
    ],
)  # fmt: skip
@pytest.mark.parametrize("columns", [[0, 1], [0, 9], [-3, 0], [0]])
def test_wild_rows_are_refused_or_harmless(rows, sound, columns):
    x = torch.sparse_csr_tensor(rows, columns, [1.0, 2.0], (2, 3))
    uses = (
        lambda: x.to_dense(), lambda: x @ torch.ones(3, 2), lambda: x @ torch.ones(3), lambda: x.to_sparse(), lambda: x + x,
        lambda: torch.ones(2, 2) @ x, lambda: x @ x.t(), lambda: torch.ones(2, 3).sparse_mask(x), lambda: x.t() @ torch.ones(2, 1),
        lambda: x[0], lambda: x * torch.ones(2, 3), lambda: torch.zeros(2, 3) + x,
    )  # fmt: skip
    refused = 0
    for use in uses:
        try:
            use()
        except (IndexError, RuntimeError):  # counted
            refused += 1
    assert refused < len(uses) if sound and len(columns) == 2 else refused == len(uses)
    assert x.crow_indices().tolist() == rows and "sparse_csr" in repr(x)


def test_files_with_wild_indices_are_refused():
    file = io.BytesIO()
    torch.save(torch.sparse_coo_tensor([[7]], [1.0], (3,)), file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="size is 3 but found index 7"):
        torch.load(file)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.numpy(),
        lambda x: x.tolist(),
        lambda x: x.data_ptr(),
        lambda x: x.untyped_storage(),
        lambda x: x.view(6),
        lambda x: x.as_strided((2,), (1,)),
        lambda x: x[0:1],
        lambda x: x[torch.tensor([0])],
        lambda x: x.set_(torch.ones(2)),
        lambda x: torch.ones(2).set_(x),
        lambda x: x.resize_(3, 3),
        lambda x: x.__dlpack__(),
        lambda x: x.share_memory_(),
        lambda x: x.fill_(1),
        lambda x: x.uniform_(),
        lambda x: x.exp(),
        lambda x: torch.where(x, x, x),
        lambda x: torch.ones(2, 3).copy_(x),
        lambda x: torch.ones(2, 3).index_add_(0, torch.tensor([0]), x),
        lambda x: torch.ones(2, 3, out=x),
        lambda x: torch.mm(x, torch.ones(3, 2, dtype=x.dtype), out=torch.ones(2, 2, dtype=x.dtype)),
        lambda x: torch.stack([x, torch.ones(2, 3)]),
        lambda x: torch.cat([torch.ones(2, 3, dtype=x.dtype), x]),
        lambda x: torch.nn.functional.softmax(x, 1),
        lambda x: torch.nn.functional.conv1d(x, torch.ones(1, 1, 1, dtype=x.dtype)),
        lambda x: torch.tensor([1.0, 2.0])[x],
        lambda x: torch.full((2,), x),
        lambda x: torch._foreach_add([x], 1.0),
        lambda x: x.to("meta").to("cpu"),
        lambda x: torch.ones(2, 3, layout=torch.sparse_coo),
        lambda x: torch.rand(2, 3, layout=torch.sparse_csr),
        lambda x: setattr(torch.ones(2, 3), "data", x),
        lambda x: torch.fft.fft(x),
        lambda x: torch.linalg.svd(x),
        lambda x: x.sort(),
        lambda x: torch.sparse_bsr_tensor([0], [0], [1.0]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("make", [_x, lambda: _x().to_sparse_csr()])
def test_what_needs_memory_is_refused(use, make):
    with pytest.raises((RuntimeError, TypeError, BufferError, AttributeError, ValueError, IndexError)):
        use(make())


def test_invariants_are_checked_where_they_are_asked_for():
    checks = torch.sparse.check_sparse_tensor_invariants

    @checks()
    def make(**options):
        return torch.sparse_coo_tensor([[5]], [1.0], (2,), **options)

    with pytest.raises(RuntimeError, match="size is 2 but found index 5"):
        make()
    assert make(check_invariants=False)._nnz() == 1
    assert not checks.is_enabled()
    checks.enable()
    try:
        with checks(False):
            assert torch.sparse_coo_tensor([[5]], [1.0], (2,))._nnz() == 1
        with pytest.raises(RuntimeError, match="0 <= col_indices < ncols"):
            torch.sparse_csr_tensor([0, 1], [5], [1.0], (1, 2))
    finally:
        checks.disable()


def test_the_class_and_the_keys():
    x = _x()
    assert type(x) is torch.Tensor
    assert (
        torch._C._dispatch_keys(x).has(torch.DispatchKey.SparseCPU)
        if hasattr(torch._C._dispatch_keys(x), "has")
        else True
    )
    assert not x.is_contiguous()
    assert isinstance(torch.nn.Parameter(x), torch.nn.Parameter)
    model = torch.nn.Module()
    model.register_buffer("adjacency", x)
    assert torch.equal(copy.deepcopy(model).adjacency.to_dense(), x.to_dense())
    assert model.float().adjacency.dtype == torch.float32
    assert model.state_dict()["adjacency"].is_sparse


def test_a_large_product_is_that_of_the_dense_matrix():
    generator = torch.Generator().manual_seed(0)
    rows, columns = (torch.randint(300, (4000,), generator=generator) for _ in range(2))
    x = torch.sparse_coo_tensor(
        torch.stack([rows, columns]), torch.randn(4000, generator=generator, dtype=torch.float64), (300, 300)
    )
    dense, other = x.to_dense(), torch.randn(300, 17, generator=generator, dtype=torch.float64)
    for made in (x, x.coalesce(), x.to_sparse_csr(), x.to_sparse_csc()):
        torch.testing.assert_close(made @ other, dense @ other)
        torch.testing.assert_close(other.t() @ made, other.t() @ dense)
        torch.testing.assert_close(made @ other[:, 0], dense @ other[:, 0])
    torch.testing.assert_close(torch.sparse.mm(x, x).to_dense(), dense @ dense)


def test_assert_close_compares_part_by_part():
    x, other = _x(), torch.sparse_coo_tensor([[1, 0, 1], [2, 2, 0]], [9.0, 4.0, 5.5], (2, 3), dtype=torch.float64)
    for make in (lambda t: t, lambda t: t.to_sparse_csr(), lambda t: t.to_sparse_csc()):
        torch.testing.assert_close(make(x), make(x.clone()))
    with pytest.raises(
        AssertionError, match="The number of specified values in sparse COO tensors does not match: 4 != 3"
    ):
        torch.testing.assert_close(x, other)
    with pytest.raises(AssertionError, match="Sparse CSR values are not close!"):
        torch.testing.assert_close(x.to_sparse_csr(), other.to_sparse_csr())
    with pytest.raises(AssertionError, match="The values for attribute 'layout' do not match"):
        torch.testing.assert_close(x, x.to_dense())
    torch.testing.assert_close(x, x.to_dense(), check_layout=False)


def test_parts_of_sparse_tensors():
    x = torch.eye(4).to_sparse()
    assert x.narrow_copy(0, 1, 2).to_dense().tolist() == torch.eye(4)[1:3].tolist()
    assert x.narrow_copy(1, 2, 2).to_dense().tolist() == torch.eye(4)[:, 2:].tolist()
    assert x.narrow_copy(0, 1, 0).shape == (0, 4)
    for start, length in ((3, 2), (-1, 2), (0, -1), (4, 1)):
        with pytest.raises(RuntimeError, match="must be a subset of range"):
            x.narrow_copy(0, start, length)


@pytest.mark.parametrize("make", [_x, lambda: _x().to_sparse_csr()])
def test_tensors_with_a_history_are_saved(make):
    """As dense ones are: the values."""
    file = io.BytesIO()
    torch.save(make().requires_grad_() * 2, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded.layout == make().layout
    assert torch.equal(loaded.detach().to_dense(), 2 * make().to_dense())


def test_blocks_where_pytorch_has_no_kernel():
    """Sums, products and copies are worked out by the elements of blocks."""
    d = torch.arange(24.0).reshape(4, 6)
    d[0:2, 2:4] = d[2:, 0:2] = 0
    b = d.to_sparse_bsr((2, 2))
    assert torch.equal(d + b, 2 * d)
    assert torch.equal((b * b).to_dense(), d * d) and (b * b)._nnz() == 4
    assert torch.equal((b * (d + 1)).to_dense(), d * (d + 1))
    assert torch.equal((b - b).to_dense(), torch.zeros(4, 6))
    assert torch.equal(torch.ones(2, 4) @ b, torch.ones(2, 4) @ d)
    assert torch.equal(torch.ones(2, 6) @ d.to_sparse_bsc((2, 3)).t(), torch.ones(2, 6) @ d.t())
    assert torch.equal(copy.deepcopy(b).to_dense(), d)
    y, w = b.requires_grad_(), torch.ones(6, 2, requires_grad=True)
    (y @ w).sum().backward()
    assert torch.equal(w.grad, d.sum(0, keepdim=True).t().expand(6, 2))


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_compressed_tensors_in_files(layout):
    x = torch.eye(4)
    x = x.to_sparse(layout=getattr(torch, f"sparse_{layout}"), blocksize=(2, 2) if layout[0] == "b" else None)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    read = torch.load(file)
    assert read.layout == x.layout and torch.equal(read.to_dense(), x.to_dense())


def test_what_blocks_do_not_have():
    with pytest.raises(NotImplementedError, match="two sparse matrices in blocks is not implemented"):
        torch.eye(4).to_sparse_bsr((2, 2)) @ torch.eye(4).to_sparse_bsr((2, 2))
    with pytest.raises(RuntimeError, match=r"tensor shape.1. \(=5\) must be divisible with blocksize.1. \(=3\)"):
        torch.sparse_bsr_tensor([0, 1, 2], [0, 0], torch.ones(2, 2, 3), (4, 5), check_invariants=True)


def test_diagonals_outside_of_the_matrix():
    """PyTorch writes outside of its memory there."""
    made = torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1, 9]), (3, 3))
    assert torch.equal(made.to_dense(), torch.ones(2).diag(1))
    with pytest.raises(RuntimeError, match="Output shape must have two sizes, got 3"):
        torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([1, 9]), (3, 3, 3))


def test_diagonals_have_gradients():
    d = torch.arange(1.0, 10).reshape(3, 3).requires_grad_()
    (
        torch.sparse.spdiags(d, torch.tensor([0, -1, 2]), (3, 4)).to_dense() * torch.arange(12.0).reshape(3, 4)
    ).sum().backward()
    assert d.grad.tolist() == [[0, 5, 10], [4, 9, 0], [0, 0, 2]]


def test_ones_like_a_compressed_tensor_on_a_named_device() -> None:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr()
    made = torch.ones_like(x, device="cpu", dtype=torch.float64)
    assert made.layout is torch.sparse_csr and made.dtype is torch.float64
    assert made.to_dense().tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_row_numbers_and_where_rows_begin():
    begins, rows = torch._convert_indices_from_coo_to_csr, torch._convert_indices_from_csr_to_coo
    numbers = torch.tensor([0, 0, 2, 3])
    assert begins(numbers, 5).tolist() == [0, 2, 2, 3, 4, 4] and begins(numbers, 5).dtype == torch.int64
    assert begins(numbers.int(), 5, out_int32=True).dtype == torch.int32
    assert begins(numbers[:0], 3).tolist() == [0, 0, 0, 0]
    with pytest.raises(RuntimeError, match="Input is supposed to be a vector, but got 2 dimensional tensor."):
        begins(numbers[None], 5)
    crow, col = torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1])
    assert rows(crow, col).tolist() == [[0, 0, 2], [0, 1, 1]]
    assert rows(crow, col, transpose=True, out_int32=True).tolist() == [[0, 1, 1], [0, 0, 2]]
    both = rows(torch.stack([crow, torch.arange(4)]), torch.stack([col, torch.arange(3)]))
    assert both.tolist() == [[0, 0, 0, 1, 1, 1], [0, 0, 2, 0, 1, 2], [0, 1, 1, 0, 1, 2]]


SHARED = [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0], [5.0, 0.0, 6.0]]


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=str)
def test_the_gradient_of_a_matrix_that_slices_share(layout):
    shared = torch.tensor(SHARED).to_sparse(layout=layout).requires_grad_()
    x = torch.arange(12.0).reshape(2, 3, 2).requires_grad_()
    torch.vmap(lambda x: torch.sparse.mm(shared, x))(x).pow(2).sum().backward()
    # values of PyTorch 2.13
    assert shared.grad.layout == layout
    assert shared.grad.to_dense().tolist() == [[740, 0, 1332], [0, 948, 0], [0, 0, 2096], [2564, 0, 4564]]
    slopes = [[[256, 372], [36, 54], [448, 624]], [[952, 1068], [144, 162], [1504, 1680]]]
    assert x.grad.tolist() == slopes
    alone = torch.func.grad(lambda x: torch.sparse.mm(shared.detach(), x).pow(2).sum())
    assert torch.vmap(alone)(x.detach()).tolist() == slopes
