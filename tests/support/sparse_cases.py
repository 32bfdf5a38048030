"""Programs with sparse tensors, run by both libraries. What PyTorch answers is recorded: tests/sparse/record.py."""

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

S = torch.sparse_coo_tensor


def uncoalesced(dtype=torch.float32):
    """(2, 3), unsorted, with a coordinate that is there twice."""
    return S([[1, 0, 1, 1], [2, 2, 0, 2]], torch.tensor([3, 4, 5, 6], dtype=dtype), (2, 3))


def hybrid():
    """(3, 2): one sparse and one dense dimension."""
    return S([[1, 0, 1]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))


def names():
    """The names that the expressions below can use."""
    x = uncoalesced()
    d = torch.arange(6.0).reshape(2, 3)
    values = torch.tensor([3.0, 4.0, 5.0, 6.0], requires_grad=True)
    indices = torch.tensor([[1, 0, 1, 1], [2, 2, 0, 2]])
    d46 = torch.arange(24.0).reshape(4, 6)
    d46[0:2, 2:4] = d46[2:, 0:2] = 0
    return {
        "d46": d46, "b": d46.to_sparse_bsr((2, 2)), "cb": d46.to_sparse_bsc((2, 3)), "d33": torch.arange(1.0, 10).reshape(3, 3),
        "a22": torch.arange(4.0).reshape(2, 2), "math": math, "torch": torch, "S": S, "x": x, "xc": x.coalesce(), "d": d, "h": hybrid(), "hc": hybrid().coalesce(), "e": S((2, 3)),
        "c": x.to_sparse_csr(), "cc": x.coalesce().to_sparse_csc(), "v": values, "i": indices,
        "xg": uncoalesced().requires_grad_(), "cg": x.to_sparse_csr().requires_grad_(), "x_of": uncoalesced,
    }  # fmt: skip


EXPRESSIONS = """
d.sparse_dim()
d.dense_dim()
d.is_coalesced()
d.coalesce()
d.indices()
d.values()
d.crow_indices()
d.to_dense()
x.values()
x.indices()
x
xc
h
hc
e
c
cc
x.is_coalesced(), xc.is_coalesced(), xc.clone().is_coalesced(), xc.t().is_coalesced(), (xc * 2).is_coalesced()
(xc + xc).is_coalesced(), (x + x).is_coalesced(), xc.sum(0).is_coalesced(), (x * x).is_coalesced(), x.abs().is_coalesced()
x.sparse_dim(), x.dense_dim(), x._nnz(), h.sparse_dim(), h.dense_dim(), x.layout, x.is_sparse, c.is_sparse, c.layout
x.shape, x.dim(), x.numel(), x.stride(), x.is_contiguous(), x.storage_offset(), x.element_size(), len(x), x.type()
x.data_ptr()
x.numpy()
c.numpy()
x.tolist()
x.item()
x.stride(), x.nbytes
c.stride()
c.is_contiguous()
x.untyped_storage()
c.untyped_storage()
x.__dlpack__()
x.contiguous()
S([[5]], [1.0], (2,))
S([[0, 1]], [1.0], (2,))
S([0], [1.0], (2,))
S([[0]], [[1.0]], (2,))
S([[0, 3], [1, 2]], [1.0, 2.0])
S([[0, 3], [1, 2]], torch.ones(2, 4)).shape
S([[-1]], [1.0])
S(torch.zeros(2, 0), [])
S([[0]], [1], dtype=torch.bool)
S([[0]], [1 + 2j])
S((2, 3), dtype=torch.int64)
S([[0]], 1.0)
S([[0, 1], [0, 1]], [1.0, 2.0], (2,))
S([[5]], [1.0], (2,), check_invariants=True)
S([[-1]], [1.0], (2,), check_invariants=True)
S([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True)._indices()
S([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True)
S([[0]], [1.0], (2,), requires_grad=True)
S([[0]], [1], (2,), requires_grad=True)
S(i, v, (2, 3))
torch.sparse.FloatTensor(i, v.detach(), torch.Size([2, 3])), torch.sparse.LongTensor(2, 3), torch.sparse.DoubleTensor(i, v.detach())
[isinstance(t, kind) for t in (x, d, x.double()) for kind in (torch.sparse.FloatTensor, torch.FloatTensor)]
S(i.int(), v.detach())._indices().dtype
torch.zeros(2, 3, layout=torch.sparse_coo)
torch.zeros_like(x), torch.empty_like(xc), x.new_zeros((2, 2)), torch.zeros_like(d, layout=torch.sparse_coo)
torch.zeros_like(x, layout=torch.strided)
x.neg(), x.abs(), x.sqrt(), x.sin(), x.tanh(), x.sign(), x.floor(), x.relu(), x.log1p(), x.expm1(), x.isnan(), x.square()
c.neg(), c.abs(), c.sin(), c.relu(), cc.abs()
x.exp()
x.cos()
x > 0
x.pow(2), x ** 3, x ** -1
x.pow(0)
x.to(torch.float64), x.half(), x.long(), x.bool(), c.double(), x.to("cpu")
x.double() * 2.5, x.long() * 2.5, x.long() / 2, x // 2, x.div(2, rounding_mode="floor"), x / torch.tensor(2.0)
x / d
x + x, xc + xc, xc - xc, x - x, torch.add(x, x, alpha=2)
(x + xc).coalesce(), (xc + S([[0], [0]], [1.0], (2, 3))).coalesce(), xc + xc.double()
x + h
x + d
x + 1
1 - x
d + h
d + x, d - x, torch.add(d, x, alpha=2), d.long() + x.long(), h + h, torch.ones(3, 2) + h
c + c, c + d, d + c, c * c, c * d, c * 2, 2 * c
x * x, xc * xc, x * d, d * x, xc * torch.ones(3), xc * torch.ones(1, 3), h * h, h * torch.full((3, 2), 2.0)
x * h
d * h
xc * torch.ones(2, 2)
d.clone().add_(x), d.clone().sub_(x), x.clone().mul_(2), x.clone().add_(x), x.clone().sub_(x), x.clone().div_(2), d.clone().mul_(x)
d.long().add_(x)
x.add_(d)
x.clone().zero_(), x.clone().neg_(), x.clone().copy_(xc), c.clone().mul_(2)
d.copy_(x)
x @ torch.ones(3, 2), x @ torch.ones(3), torch.mv(x, torch.ones(3)), torch.mm(x, d.t()), torch.ones(2, 2) @ x, torch.ones(2) @ x
x @ d
x @ torch.ones(2)
torch.mm(d, x)
x @ torch.ones(3, 1, dtype=torch.float64)
x.bool() @ torch.ones(3, 1, dtype=torch.bool)
x.long() @ torch.ones(3, 1).long(), x.half() @ torch.ones(3, 1).half(), x.to(torch.cfloat) @ torch.ones(3, 1).cfloat()
x.bfloat16() @ torch.ones(3, 1).bfloat16(), x.double() @ d.t().double()
x @ x.t(), torch.sparse.mm(x, x.t()), torch.sparse.mm(x.double(), x.t().double())
torch.sparse.mm(x, d.t()), torch.sparse.mm(e, d.t()), torch.sparse.mm(x, torch.ones(3, 0))
torch.sparse.mm(d, x)
torch.sparse.addmm(torch.ones(2, 2), x, d.t(), beta=0.5, alpha=2.0), torch.addmm(torch.ones(2), x, d.t())
torch.bmm(torch.stack([x, x]), torch.ones(2, 3, 1)), torch.nn.functional.linear(torch.ones(1, 3), x)
c @ torch.ones(3, 2), c @ torch.ones(3), cc @ torch.ones(3, 2), torch.ones(2, 2) @ c, (c @ c.t()).to_dense()
torch.sparse.sum(x), torch.sparse.sum(x, 0), torch.sparse.sum(x, 1), torch.sparse.sum(x, [0, 1]), x.sum(), x.sum(0)
torch.sparse.sum(h, 0), torch.sparse.sum(h, 1), torch.sparse.sum(h, [0, 1]), h.sum(1), h.sum(0)
torch.sparse.sum(x, dtype=torch.float64), x.sum(1, keepdim=True), c.sum(), c.sum(0, keepdim=True), c.sum(1, keepdim=True)
c.sum(0)
torch.sparse.softmax(x, 0), torch.sparse.softmax(x, 1), torch.sparse.log_softmax(x, 1), torch.sparse.softmax(x, -1)
torch.sparse.softmax(h, 0), torch.sparse.softmax(h, 1), torch.sparse.log_softmax(h, 0), torch.sparse.softmax(e, 1)
torch.sparse.softmax(x, 2)
torch.sparse.softmax(x.long(), 1)
torch.sparse.softmax(x.long(), 1, dtype=torch.float32)
torch.softmax(x, 1)
x.t(), x.transpose(0, 1), x.permute(1, 0), xc.permute(0, 1), x.T, x.mT, c.t(), c.t().t(), c.transpose(0, 1), x.clone().t_()
h.t()
h.transpose(0, 1)
h.permute(1, 0)
x.permute(0)
x.unsqueeze(0), x.unsqueeze(-1), h.unsqueeze(1), h.unsqueeze(2), torch.stack([xc, xc])
x[1], xc[1], x[1, 2], h[1], h[:, 1], c[0], c[0, 2], c.select(1, 0), x[-1]
x[2]
x.index_select(0, torch.tensor([1, 1, 0])), xc.index_select(1, torch.tensor([2, 0])), h.index_select(1, torch.tensor([1]))
x.index_select(0, torch.tensor([5]))
x.index_select(2, torch.tensor([0]))
xc.narrow_copy(1, 1, 2), x.narrow_copy(1, 1, 2)
xc.narrow_copy(1, 1, 3)
torch.cat([x, x]), torch.cat([xc, xc], 1), torch.cat([h, h], 1)
torch.cat([x, d])
S([[1, 1, 0]], torch.tensor([[True, False], [False, False], [True, True]]), (2, 2)).coalesce(), S([[1] * 256], [True] * 256, (2,)).coalesce()
list(xc)
x.view(6)
d.sparse_mask(x), d.sparse_mask(xc), xc.sparse_mask(xc), x.sparse_mask(e), e.sparse_mask(x), d.sparse_mask(c), h.to_dense().sparse_mask(h)
d.sparse_mask(h)
d.to_sparse(), d.to_sparse(1), x.to_sparse(), x.to_sparse(2), d.to_sparse_csr(), d.to_sparse_csc(), d.to_sparse(layout=torch.sparse_csr)
torch.tensor(3.0).to_sparse(), torch.tensor(0.0).to_sparse(), torch.zeros(0, 2).to_sparse(), torch.zeros(0, 2).to_sparse_csr()
d.to_sparse(0)
d.to_sparse(3)
x.to_sparse(1)
x.to_sparse_csr(), c.to_sparse(), cc.to_sparse(), c.to_sparse_csc(), cc.to_sparse_csr(), c.to_sparse_coo()
h.to_sparse_csr()
x.to_dense(torch.float64)
[x_of(t).coalesce() for t in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64)]
[x_of(t).to_dense() for t in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64)]
c.values(), c.crow_indices(), c.col_indices(), cc.ccol_indices(), cc.row_indices(), c._nnz(), c.sparse_dim(), c.dense_dim()
cc.crow_indices()
c.indices()
c.coalesce()
c.to_dense(), cc.to_dense(), c.clone(), c.detach(), c.requires_grad
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0])
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 4), dtype=torch.float64)
torch.sparse_csr_tensor([0, 1, 2], [0, 5], [1.0, 2.0], (2, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], (2, 4), check_invariants=True)
torch.sparse_csr_tensor([1, 2, 2], [0, 1], [1.0, 2.0], (2, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 4), check_invariants=True)
torch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], requires_grad=True)
torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1.0, 2.0])
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.sparse_csr)
b
cb
b.crow_indices(), b.col_indices(), b.values(), b._nnz(), b.sparse_dim(), b.dense_dim(), b.layout, cb.ccol_indices(), cb.row_indices()
b.ccol_indices()
b.to_dense(), cb.to_dense(), b.to_sparse(), cb.to_sparse(), b.clone(), b.detach(), b.double(), b * 2, -b, b.sin(), b.t(), cb.t(), b.sum()
b.to_sparse_bsc((2, 2)), cb.to_sparse_bsr((2, 3)), b.to_sparse_bsr((2, 2)), d46.to_sparse_csr().to_sparse_bsr((2, 2)), d46.to_sparse().to_sparse_bsc((2, 1))
d46.to_sparse(layout=torch.sparse_bsr, blocksize=(4, 3)), d46.long().to_sparse_bsr((1, 1)), d46.bool().to_sparse_bsr((2, 2))
d46.to_sparse(layout=torch.sparse_bsr)
d46.to_sparse_bsr((3, 2))
d46.to_sparse_bsr((2, 4))
d46.to_sparse_bsr((2,))
d46.to_sparse_bsr((0, 2))
d46[0].to_sparse_bsr((1, 1))
b.to_sparse_bsr((1, 2))
b.to_sparse_csr()
b + b, torch.zeros_like(b), torch.ones_like(b), torch.ones_like(c), b.mul(torch.tensor(2.0))
b @ torch.ones(6, 2), b @ torch.ones(6), torch.addmm(torch.ones(4, 2), b, torch.ones(6, 2), beta=2), torch.nn.functional.linear(torch.ones(3, 6), b)
d46.sparse_mask(b), (d46 + 1).sparse_mask(cb)
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3)), torch.sparse_bsc_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3))
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3), (4, 9), dtype=torch.float64, requires_grad=True)
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2))
torch.sparse_bsr_tensor([0, 1, 3], [0, 1], torch.ones(2, 2, 3), check_invariants=True)
torch.sparse_bsr_tensor([0, 1, 2], [0, 2], torch.ones(2, 2, 3), (4, 6), check_invariants=True)
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3), layout=torch.sparse_bsc).shape
torch.sparse_compressed_tensor([0, 1], [0], [1.0], layout=torch.strided)
torch.zeros(2, 2, layout=torch.sparse_bsr)
torch.sparse.spdiags(d33, torch.tensor([0, -1, 1]), (3, 3)), torch.sparse.spdiags(d33, torch.tensor([0, -1, 2]), (5, 4), layout=torch.sparse_csr)
torch.sparse.spdiags(d33[0], torch.tensor([1]), (3, 3)), torch.sparse.spdiags(d33[0], torch.tensor(1), (3, 3)).is_coalesced()
torch.sparse.spdiags(d33.int(), torch.tensor([0, 1, 2]), (2, 4), layout=torch.sparse_csc)
torch.sparse.spdiags(d33, torch.tensor([0, 0, 1]), (3, 3))
torch.sparse.spdiags(d33, torch.tensor([0, 1]), (3, 3))
torch.sparse.spdiags(d33, torch.tensor([0.0, 1.0, 2.0]), (3, 3))
torch.sparse.spdiags(d33, torch.tensor([0, 1, 2]), (3, 3), layout=torch.strided)
torch.sparse.spdiags(d33[None], torch.tensor([0]), (3, 3))
torch.sparse.spdiags(d33, torch.tensor([[0, 1, 2]]), (3, 3))
torch.sparse.sampled_addmm(c, a22, d), torch.sparse.sampled_addmm(c, a22, d, beta=2.0, alpha=0.5), torch.sparse.sampled_addmm(c, a22, d, beta=0)
torch.sparse.sampled_addmm(c, a22, d, out=c.clone().zero_()), torch.sparse.sampled_addmm(c.cfloat(), a22.cfloat(), d.cfloat())
torch.sparse.sampled_addmm(x, a22, d)
torch.sparse.sampled_addmm(d, a22, d)
torch.sparse.sampled_addmm(cc, a22, d)
torch.sparse.sampled_addmm(c, d, a22)
torch.sparse.sampled_addmm(c, a22, a22)
torch.sparse.sampled_addmm(c, torch.ones(3, 2), d)
torch.sparse.sampled_addmm(c, a22.double(), d)
torch.sparse.sampled_addmm(c.double(), a22, d)
torch.sparse.sampled_addmm(c.long(), a22.long(), d.long())
torch.sparse.sampled_addmm(c, a22.to_sparse_csr(), d)
torch.sparse.sampled_addmm(c, a22[0], d)
[torch.sparse.mm(c, d.t() - 2, way) for way in ("sum", "mean", "amax", "amin")], torch.sparse.mm(c.double(), d.t().double() - 2, reduce="mean")
[torch.sparse.mm(d33.triu().to_sparse_csr(), torch.tensor([[1.0], [math.nan], [2.0]]), way) for way in ("amax", "amin")]
[torch.sparse.mm(torch.zeros(2, 3).to_sparse_csr(), d.t(), way) for way in ("sum", "mean", "amax")]
torch.sparse.mm(c, d.t(), "prod")
torch.sparse.mm(c, d.t() - 2, "max"), torch.sparse.mm(c, d.t() - 2, reduce="min")
d.to_sparse(layout=torch.sparse_csr, blocksize=(1, 1))
d.to_sparse(blocksize=(1, 1))
torch.sparse.mm(x, d.t(), "sum")
torch.sparse.mm(cc, d.t(), "sum")
torch.sparse.mm(c, c.t(), "sum")
torch.sparse.mm(c, d, "sum")
torch.sparse.mm(c, d[0], "sum")
torch.sparse.mm(c.long(), d.t().long(), "amax")
torch.sparse.mm(c, d.t().double(), "amax")
xg
xg.to_dense(), xg.coalesce(), xg.t(), xg * 2, S(i, v, (2, 3)).coalesce().values(), torch.sparse.mm(xg, d.t()), torch.mm(xg, d.t())
torch.sparse.softmax(xg, 0), xg + xg, xg.sum(), xg.detach(), d.requires_grad_().to_sparse(), xg.to_sparse_csr(), xg.abs(), xg.pow(2)
cg, cg @ torch.ones(3, 1), cg.to_dense(), torch.nn.Parameter(x), x.norm(), torch.is_tensor(x), type(x) is torch.Tensor
torch.tan(x, out=S((2, 3))), torch.tan(xc, out=S((7, 3))), torch.tan(x, out=S((2, 3)).double()), torch.neg(x, out=S((2, 3)))
torch.tan(x, out=S((2, 3)).long())
xc.long().tan_()
torch.tan(c, out=c.double()), torch.neg(c, out=c.clone()), torch.signbit(c, out=c.bool())
torch.tan(c, out=c.long())
torch.tan(c, out=torch.ones(2, 2).to_sparse_csr())
torch.angle(-c), torch.angle(cc.to(torch.complex64) * 1j)
torch._validate_sparse_coo_tensor_args(i, v, (2, 3))
torch._validate_sparse_coo_tensor_args(i, v, (2, 2))
torch._validate_sparse_coo_tensor_args(i, v, (2, 3), True)
torch._validate_sparse_coo_tensor_args(i, v, (2, 3, 4))
torch._validate_sparse_compressed_tensor_args(c.crow_indices(), c.col_indices(), c.values(), c.shape, c.layout)
torch._validate_sparse_compressed_tensor_args(c.crow_indices(), c.col_indices(), c.values(), (2, 2), c.layout)
torch._validate_sparse_compressed_tensor_args(c.crow_indices(), c.col_indices(), c.values(), c.shape, torch.strided)
torch._validate_sparse_csr_tensor_args(c.crow_indices(), c.col_indices(), c.values(), (3, 3))
torch._validate_sparse_csc_tensor_args(cc.ccol_indices(), cc.row_indices(), cc.values(), cc.shape)
torch._validate_sparse_csc_tensor_args(cc.ccol_indices(), cc.row_indices(), cc.values(), cc.t().shape)
torch._validate_sparse_bsr_tensor_args(b.crow_indices(), b.col_indices(), b.values(), (4, 5))
torch._validate_sparse_bsc_tensor_args(cb.ccol_indices(), cb.row_indices(), cb.values(), (4, 7))
S(i, torch.zeros(4), (2, 3)), S([[0], [0]], [float("nan")], (2, 3)), S([list(range(2000))], torch.arange(2000.0), (3000,))
""".strip().split("\n")


# ---- gradients: each program gives what is differentiated, and the leaves ----


def leaf(*numbers):
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


def grid(*sizes):
    count = 1
    for n in sizes:
        count *= n
    return (torch.arange(count, dtype=torch.float64).reshape(sizes) / 7 - 0.5).requires_grad_()


INDICES = torch.tensor([[1, 0, 1, 1], [2, 2, 0, 2]])


def built(values):
    return S(INDICES, values, (2, 3))


def csr():
    return uncoalesced(torch.float64).to_sparse_csr().requires_grad_()


GRADIENTS = {
    "values_to_dense": lambda: ((v := leaf(1, 2, 3, 4)), (built(v).to_dense() ** 2).sum())[::-1],
    "values_coalesced": lambda: ((v := leaf(1, 2, 3, 4)), (built(v).coalesce().values() ** 3).sum())[::-1],
    "values_hybrid": lambda: ((v := grid(3, 2)), (S([[1, 0, 1]], v, (3, 2)).to_dense() ** 2).sum())[::-1],
    "sparse_mm": lambda: ((v := leaf(1, 2, 3, 4)), (w := grid(3, 2)), (torch.sparse.mm(built(v), w) ** 2).sum())[::-1],
    "mm": lambda: ((v := leaf(1, 2, 3, 4)), (w := grid(3, 2)), (torch.mm(built(v), w) ** 2).sum())[::-1],
    "matmul_vector": lambda: ((v := leaf(1, 2, 3, 4)), (w := grid(3)), ((built(v) @ w) ** 2).sum())[::-1],
    "dense_first": lambda: ((v := leaf(1, 2, 3, 4)), (w := grid(3, 2)), ((w @ built(v)) ** 2).sum())[::-1],
    "addmm": lambda: ((b := grid(2, 2)), (v := leaf(1, 2, 3, 4)), (w := grid(3, 2)), (torch.sparse.addmm(b, built(v), w, beta=0.5, alpha=2.0) ** 2).sum())[::-1],
    "add_sparse": lambda: ((v := leaf(1, 2, 3, 4)), (u := leaf(5, 6, 7, 8)), ((built(v) + built(u) * 3).to_dense() ** 2).sum())[::-1],
    "add_dense": lambda: ((v := leaf(1, 2, 3, 4)), (w := grid(2, 3)), ((w + built(v)) ** 2).sum())[::-1],
    "mul_dense": lambda: ((v := leaf(1, 2, 3, 4)), torch.sparse.sum(built(v).coalesce() * grid(2, 3).detach()) ** 2)[::-1],
    "sum_all": lambda: ((v := leaf(1, 2, 3, 4)), torch.sparse.sum(built(v)) ** 2)[::-1],
    "sum_rows": lambda: ((v := leaf(1, 2, 3, 4)), (torch.sparse.sum(built(v).coalesce(), 1).to_dense() ** 2).sum())[::-1],
    "sum_hybrid": lambda: ((v := grid(3, 2)), (torch.sparse.sum(S([[1, 0, 1]], v, (3, 2)).coalesce(), 0) ** 2).sum())[::-1],
    "softmax": lambda: ((v := leaf(1, 2, 3, 4)), (torch.sparse.softmax(built(v), 1).to_dense() ** 2).sum())[::-1],
    "log_softmax": lambda: ((v := leaf(1, 2, 3, 4)), (torch.sparse.log_softmax(built(v), 0).to_dense() ** 2).sum())[::-1],
    "transpose": lambda: ((v := leaf(1, 2, 3, 4)), (torch.sparse.mm(built(v).t(), grid(2, 2).detach()) ** 2).sum())[::-1],
    "to_sparse": lambda: ((w := grid(2, 3)), (torch.sparse.mm(w.to_sparse(), grid(3, 2).detach()) ** 2).sum())[::-1],
    "sparse_mask": lambda: ((w := grid(2, 3)), (w.sparse_mask(uncoalesced().coalesce()).to_dense() ** 2).sum())[::-1],
    "sparse_leaf": lambda: ((x := uncoalesced(torch.float64).coalesce().requires_grad_()), (x.to_dense() ** 2).sum())[::-1],
    "sparse_leaf_mm": lambda: ((x := uncoalesced(torch.float64).coalesce().requires_grad_()), (torch.sparse.mm(x, grid(3, 2).detach()) ** 2).sum())[::-1],
    "sparse_sparse": lambda: ((v := leaf(1, 2, 3, 4)), (torch.sparse.mm(built(v), built(v).t()).to_dense() ** 2).sum())[::-1],
    "csr": lambda: ((w := grid(3, 2)), ((uncoalesced(torch.float64).to_sparse_csr() @ w) ** 2).sum())[::-1],
    "csr_values": lambda: ((v := leaf(1, 2, 3)), (w := grid(3, 2)), (torch.sparse.mm(torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)), w) ** 2).sum())[::-1],
    "csr_values_of": lambda: ((x := csr()), (x.values() ** 3).sum())[::-1],
    "csr_leaf_sampled": lambda: ((x := csr()), (m := grid(2, 4)), (n := grid(4, 3)), (torch.sparse.sampled_addmm(x, m, n, beta=2.0, alpha=3.0).to_dense() ** 2).sum())[::-1],
    "reduced_sum": lambda: ((x := csr()), (w := grid(3, 2)), (torch.sparse.mm(x, w, "sum") ** 2).sum())[::-1],
    "reduced_mean": lambda: ((x := csr()), (w := grid(3, 2)), (torch.sparse.mm(x, w, "mean") ** 2).sum())[::-1],
    "reduced_amax": lambda: ((x := csr()), (w := grid(3, 2)), (torch.sparse.mm(x, w, "amax") ** 2).sum())[::-1],
    "reduced_amin": lambda: ((x := csr()), (w := grid(3, 2)), (torch.sparse.mm(x, w, "amin") ** 2).sum())[::-1],
    "reduced_equal": lambda: ((x := torch.ones(1, 3, dtype=torch.float64).to_sparse_csr().requires_grad_()), (w := torch.ones(3, 1, dtype=torch.float64, requires_grad=True)), torch.sparse.mm(x, w, "amax").sum())[::-1],
    "to_blocks": lambda: ((w := grid(4, 6)), (w.to_sparse_bsr((2, 3)).to_dense() ** 2).sum())[::-1],
    "pow": lambda: ((v := leaf(1, 2, 3, 4)), torch.sparse.sum(built(v).coalesce().pow(3)))[::-1],
    "sum_plain": lambda: ((v := leaf(1, 2, 3, 4)), built(v).sum() ** 2)[::-1],
}  # fmt: skip

# ---- training: losses and parameters of a few steps ----


def _train(optimizer, model, batches):
    opt = optimizer(list(model.parameters()))
    losses = []
    for index in batches:
        opt.zero_grad()
        loss = (model(index) ** 2).sum()
        loss.backward()
        losses.append(loss.item())
        opt.step()
    return [losses, *(p.detach() for p in model.parameters())]


def _table(kind, **options):
    model = getattr(torch.nn, kind)(6, 3, sparse=True, **options).double()
    with torch.no_grad():
        model.weight.copy_(torch.arange(18, dtype=torch.float64).reshape(6, 3) / 10 - 0.7)
    return model


BATCHES = [torch.tensor(rows) for rows in ([[0, 1], [1, 5]], [[2, 2], [2, 3]], [[1, 0], [5, 5]])]
TRAINING = {
    "sgd": lambda: _train(lambda p: torch.optim.SGD(p, lr=0.1), _table("Embedding"), BATCHES),
    "sgd_momentum": lambda: _train(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), _table("Embedding"), BATCHES),
    "adagrad": lambda: _train(lambda p: torch.optim.Adagrad(p, lr=0.1), _table("Embedding"), BATCHES),
    "sparse_adam": lambda: _train(lambda p: torch.optim.SparseAdam(p, lr=0.1), _table("Embedding"), BATCHES),
    "padding": lambda: _train(lambda p: torch.optim.SGD(p, lr=0.1), _table("Embedding", padding_idx=1), BATCHES),
    "bag_sum": lambda: _train(lambda p: torch.optim.SparseAdam(p, lr=0.1), _table("EmbeddingBag", mode="sum"), BATCHES),
    "bag_mean": lambda: _train(lambda p: torch.optim.SGD(p, lr=0.1), _table("EmbeddingBag", mode="mean"), BATCHES),
}


def gradient(name):
    """The value of a program and its gradients, with their layouts."""
    value, *leaves = GRADIENTS[name]()
    grads = torch.autograd.grad(value, leaves)
    return [g.to_dense() for g in (value, *grads)], [str(g.layout) for g in grads]


def _layout_and_elements(grad):
    return [str(grad.layout), grad.to_dense()]


def accumulated():
    """`.grad` of a table that is looked up sparsely and densely, in both orders."""
    found = []
    for first, second in ((True, True), (True, False), (False, True)):
        w = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
        for sparse in (first, second):
            (torch.nn.functional.embedding(torch.tensor([1, 1, 3]), w, sparse=sparse) * 2).sum().backward()
        found += _layout_and_elements(w.grad)
        w.grad = None
        rows = torch.tensor([0, 3])
        parts = [torch.nn.functional.embedding(rows, w, sparse=sparse).sum() for sparse in (first, second)]
        (parts[0] + parts[1]).backward()
        found += _layout_and_elements(w.grad)
    return found


def gathered():
    """The gradients of `gather` that hold what was gathered."""
    found = []
    for x, dim, index in (
        (torch.arange(6.0).reshape(2, 3), 1, [[0, 0], [2, 1]]),
        (torch.arange(6.0).reshape(2, 3), -2, [[1, 0, 1]]),
        (torch.tensor(2.0), 0, 0),
        (torch.arange(3.0), 0, []),
    ):
        x.requires_grad_()
        y = torch.gather(x, dim, torch.tensor(index, dtype=torch.int64), sparse_grad=True)
        (y * (torch.arange(y.numel()).reshape(y.shape) + 1)).sum().backward()
        found.append(x.grad)
    return found


def outcome(run):
    """The result of a program, as JSON; of an error its class and text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return described(run())
    except (RuntimeError, TypeError, ValueError, IndexError, BufferError, AttributeError) as error:
        text = str(error).partition(" This could be because")[0]
        return {"error": type(error).__name__, "text": text.replace("mindtorch_v2", "torch")}


def described(value):
    """A value as JSON: tensors as they print, and dense ones by their elements."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.dtype != torch.float64:
            return {"repr": repr(value)}
        return {"shape": list(value.shape), "data": value.detach().reshape(-1).tolist()}
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    return {"text": str(value).replace("mindtorch_v2", "torch")}


def _evaluated(text):
    return eval(text, names())


def programs():
    """Every program, by name: a function that gives its outcome."""
    runs: dict[str, Callable[[], Any]] = {text: functools.partial(_evaluated, text) for text in EXPRESSIONS}
    runs |= {f"gradient {name}": functools.partial(gradient, name) for name in GRADIENTS}
    runs |= {f"training {name}": run for name, run in TRAINING.items()}
    runs |= {"accumulated": accumulated, "gathered": gathered}
    return {name: functools.partial(outcome, run) for name, run in runs.items()}


def outcomes():
    """Every program's outcome, by name."""
    return {name: run() for name, run in programs().items()}
