"""Sparse tensors without data: on the meta device, as fake tensors, and in exported programs. Texts and layouts are PyTorch 2.13's."""

import pytest

import mindtorch_v2 as torch

LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]
TEXTS = {
    torch.sparse_coo: "tensor(indices=tensor(..., size=(2, 0)),\n       values=tensor(..., size=(0,)),\n"
    "       device='meta', size=(2, 3), layout=torch.sparse_coo)",
    torch.sparse_csr: "tensor(crow_indices=tensor(..., size=(3,)),\n       col_indices=tensor(..., size=(0,)),\n"
    "       values=tensor(..., size=(0,)), device='meta', size=(2, 3),\n       layout=torch.sparse_csr)",
    torch.sparse_csc: "tensor(ccol_indices=tensor(..., size=(4,)),\n       row_indices=tensor(..., size=(0,)),\n"
    "       values=tensor(..., size=(0,)), device='meta', size=(2, 3),\n       layout=torch.sparse_csc)",
}


def _made(layout, dtype=torch.float32):
    blocks = {"blocksize": (1, 3)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    return torch.tensor([[0, 1, 2], [3, 0, 0]], dtype=dtype).to_sparse(layout=layout, **blocks)


@pytest.mark.parametrize("layout", TEXTS, ids=str)
def test_meta_tensors_have_no_values(layout):
    x = _made(layout).to("meta")
    assert repr(x) == TEXTS[layout]
    assert repr(torch.empty(2, 3, layout=layout, device="meta")) == TEXTS[layout]
    assert (x.device.type, x._nnz(), x.layout) == ("meta", 0, layout)
    for same in (x.clone(), x.detach(), x + x, torch.zeros_like(x)):
        assert repr(same) == TEXTS[layout]
    assert x.to(torch.float64).dtype is torch.float64
    assert (x.sum().layout, x.sum().shape) == (torch.strided, ())
    assert (torch.ones(2, 3, device="meta") + x).shape == (2, 3)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        x.to("cpu")


def test_meta_tensors_made_of_parts_have_as_many_values():
    indices = torch.zeros(2, 3, dtype=torch.int64, device="meta")
    x = torch.sparse_coo_tensor(indices, torch.ones(3, device="meta"), (2, 3))
    assert (x._values().shape, x._indices().shape, x.is_coalesced()) == ((3,), (2, 3), False)
    unsorted = torch.sparse_coo_tensor([[1, 0], [0, 0]], [1.0, 2.0], (2, 3))
    assert unsorted.to("meta").is_coalesced() and not unsorted.is_coalesced()
    rows = torch.zeros(3, dtype=torch.int64, device="meta")
    assert torch.sparse_csr_tensor(rows, rows[:2], torch.ones(2, device="meta"), (2, 3)).values().shape == (2,)


def test_fake_tensors_have_the_layout():
    mode = torch._subclasses.FakeTensorMode()
    x = mode.from_tensor(_made(torch.sparse_coo))
    assert repr(x) == (
        "FakeTensor(indices=tensor(..., size=(2, 0)),\n           values=tensor(..., size=(0,)),\n"
        "           size=(2, 3), layout=torch.sparse_coo)"
    )
    assert (x.is_sparse, x._nnz(), x.device.type, type(x._values()).__name__) == (True, 0, "cpu", "FakeTensor")
    with mode:
        assert [each.layout for each in (-x, x.to_dense(), x.sum())] == [torch.sparse_coo, torch.strided, torch.strided]


class _Chain(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.relu(2 * torch.abs(-x))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_programs_with_sparse_inputs_are_exported(layout, dtype):
    x = _made(layout, dtype)
    program = torch.export.export(_Chain(), (x,))
    *nodes, end = program.graph.nodes
    assert [node.name for node in nodes] == ["x", "neg", "abs_1", "mul", "relu"]
    assert end.meta.get("val") is None
    for node in nodes:
        assert (node.meta["val"].layout, node.meta["val"].shape, node.meta["val"].dtype) == (layout, x.shape, dtype)
    assert torch.equal(program.module()(x).to_dense(), 2 * x.to_dense())


def test_results_may_be_sparse():
    class Both(torch.nn.Module):
        def forward(self, x):
            return x.to_sparse(), x.to_sparse_csr()

    program = torch.export.export(Both(), (torch.eye(3),))
    assert [node.meta["val"].layout for node in program.graph.nodes if node.op == "call_function"] == [
        torch.sparse_coo,
        torch.sparse_csr,
    ]
    for made in program.module()(2 * torch.eye(3)):
        assert made.to_dense().tolist() == (2 * torch.eye(3)).tolist()
