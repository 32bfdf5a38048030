"""What a step of a program may do to tensors `a` and `b` of library `t`, with numbers `p` and `q` and sizes `s`.

What a step returns is a new tensor of the program, if it is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[Any, Any, Any, int, int, list[int]], Any]

VIEWS: dict[str, Step] = {
    "view": lambda t, a, b, p, q, s: a.view(s),
    "view -1": lambda t, a, b, p, q, s: a.view(-1),
    "as_strided": lambda t, a, b, p, q, s: a.as_strided(s, [abs(p)] * len(s), abs(q)),
    "transpose": lambda t, a, b, p, q, s: a.transpose(p, q),
    "select": lambda t, a, b, p, q, s: a.select(p, q),
    "narrow": lambda t, a, b, p, q, s: a.narrow(p, q, 1),
    "slice": lambda t, a, b, p, q, s: a[p : p + 2],
    "unsqueeze": lambda t, a, b, p, q, s: a.unsqueeze(p),
    "squeeze": lambda t, a, b, p, q, s: a.squeeze(),
    "expand": lambda t, a, b, p, q, s: a.expand(s),
    "diagonal": lambda t, a, b, p, q, s: a.diagonal(p),
    "unfold": lambda t, a, b, p, q, s: a.unfold(p, 2, 1),
    "flatten": lambda t, a, b, p, q, s: a.flatten(),
    "detach": lambda t, a, b, p, q, s: a.detach(),
    "chunk": lambda t, a, b, p, q, s: a.chunk(2)[-1],
    "permute": lambda t, a, b, p, q, s: a.permute(*range(a.dim() - 1, -1, -1)),
    "real": lambda t, a, b, p, q, s: t.view_as_real(a),
    "T": lambda t, a, b, p, q, s: a.t(),
    "mT": lambda t, a, b, p, q, s: a.mT,
    "movedim": lambda t, a, b, p, q, s: a.movedim(p, q),
    "unflatten": lambda t, a, b, p, q, s: a.unflatten(p, s),
    "unbind": lambda t, a, b, p, q, s: a.unbind(p)[q],
    "split": lambda t, a, b, p, q, s: a.split(max(1, p), q)[0],
    "view of a type": lambda t, a, b, p, q, s: a.view(t.uint8),
    "conj": lambda t, a, b, p, q, s: a.conj(),
    "imag": lambda t, a, b, p, q, s: a.imag,
    "data": lambda t, a, b, p, q, s: a.data,
    "alias": lambda t, a, b, p, q, s: t.ops.aten.alias.default(a),
    "over its storage": lambda t, a, b, p, q, s: _over(t, a, a.untyped_storage(), abs(q), s),
    "over a typed storage": lambda t, a, b, p, q, s: t.empty(0, dtype=a.dtype).set_(a.storage()),
    "expand_as": lambda t, a, b, p, q, s: a.expand_as(b),
    "broadcast_to": lambda t, a, b, p, q, s: t.broadcast_to(a, s),
    "atleast_2d": lambda t, a, b, p, q, s: t.atleast_2d(a),
}
PURE: dict[str, Step] = {
    "add": lambda t, a, b, p, q, s: a + b,
    "mul": lambda t, a, b, p, q, s: a * b,
    "sub scalar": lambda t, a, b, p, q, s: a - p,
    "clone": lambda t, a, b, p, q, s: a.clone(),
    "sum": lambda t, a, b, p, q, s: a.sum(p),
    "where": lambda t, a, b, p, q, s: t.where(a != 0, a, b),
    "cat": lambda t, a, b, p, q, s: t.cat([a, b], p),
    "index": lambda t, a, b, p, q, s: a[[p, q]],
    "mask": lambda t, a, b, p, q, s: a[a == a],
    "matmul": lambda t, a, b, p, q, s: a @ b,
    "reshape": lambda t, a, b, p, q, s: a.reshape(s),
    "flip": lambda t, a, b, p, q, s: a.flip(p),
    "cumsum": lambda t, a, b, p, q, s: a.cumsum(p),
    "contiguous": lambda t, a, b, p, q, s: a.contiguous(),
    "maximum": lambda t, a, b, p, q, s: t.maximum(a, b),
    "stack": lambda t, a, b, p, q, s: t.stack([a, b], p),
    "gather": lambda t, a, b, p, q, s: a.gather(p, b),
    "index_select": lambda t, a, b, p, q, s: a.index_select(p, b),
    "index_add": lambda t, a, b, p, q, s: a.index_add(p, t.tensor([0, 0]), b),
    "scatter_add": lambda t, a, b, p, q, s: a.scatter_add(p, b, a),
    "index_put": lambda t, a, b, p, q, s: a.index_put([b], a),
    "sort": lambda t, a, b, p, q, s: a.sort(p, stable=True)[0],
    "argsort": lambda t, a, b, p, q, s: a.argsort(p, stable=True),
    "amax": lambda t, a, b, p, q, s: a.amax(s),
    "prod": lambda t, a, b, p, q, s: a.prod(p),
    "any": lambda t, a, b, p, q, s: a.any(p),
    "clamp": lambda t, a, b, p, q, s: a.clamp(p, q),
    "relu": lambda t, a, b, p, q, s: t.relu(a),
    "abs": lambda t, a, b, p, q, s: (+a).abs(),
    "neg": lambda t, a, b, p, q, s: -a,
    "floor divide": lambda t, a, b, p, q, s: a // 2,
    "remainder": lambda t, a, b, p, q, s: a % b,
    "roll": lambda t, a, b, p, q, s: a.roll(p, q),
    "repeat": lambda t, a, b, p, q, s: a.repeat([min(n, 2) for n in s]),
    "tril": lambda t, a, b, p, q, s: a.tril(p),
    "nonzero": lambda t, a, b, p, q, s: a.nonzero(),
    "unique": lambda t, a, b, p, q, s: a.unique(),
    "pad": lambda t, a, b, p, q, s: t.nn.functional.pad(a, (p, q)),
    "masked_fill": lambda t, a, b, p, q, s: a.masked_fill(b, p),
    "new_zeros": lambda t, a, b, p, q, s: a.new_zeros(s),
    "zeros_like": lambda t, a, b, p, q, s: t.zeros_like(a),
    "slice_scatter": lambda t, a, b, p, q, s: t.slice_scatter(a, b, p, q),
    "as_strided_scatter": lambda t, a, b, p, q, s: t.as_strided_scatter(a, b, b.shape, b.stride(), abs(q)),
    "diag_embed": lambda t, a, b, p, q, s: t.diag_embed(a, p),
    "einsum": lambda t, a, b, p, q, s: t.einsum("i...,i...->...", a, b),
    "linear": lambda t, a, b, p, q, s: t.nn.functional.linear(a, b),
    "eq": lambda t, a, b, p, q, s: a == b,
    "resolve_conj": lambda t, a, b, p, q, s: a.resolve_conj(),
}
WRITES: dict[str, Step] = {
    "add_": lambda t, a, b, p, q, s: a.add_(b),
    "mul_": lambda t, a, b, p, q, s: a.mul_(p),
    "copy_": lambda t, a, b, p, q, s: a.copy_(b),
    "zero_": lambda t, a, b, p, q, s: a.zero_(),
    "fill_": lambda t, a, b, p, q, s: a.fill_(q),
    "index write": lambda t, a, b, p, q, s: a.__setitem__(p, q),
    "slice write": lambda t, a, b, p, q, s: a.__setitem__(slice(p, q), b),
    "mask write": lambda t, a, b, p, q, s: a.__setitem__(a == p, q),
    "t_": lambda t, a, b, p, q, s: a.t_(),
    "unsqueeze_": lambda t, a, b, p, q, s: a.unsqueeze_(p),
    "squeeze_": lambda t, a, b, p, q, s: a.squeeze_(),
    "transpose_": lambda t, a, b, p, q, s: a.transpose_(p, q),
    "as_strided_": lambda t, a, b, p, q, s: a.as_strided_(s, [abs(p)] * len(s), abs(q)),
    "resize_ smaller": lambda t, a, b, p, q, s: _resize(a, s),
    "set_": lambda t, a, b, p, q, s: a.set_(b),
    "set_ storage": lambda t, a, b, p, q, s: a.set_(b.untyped_storage()),
    "set_ nothing": lambda t, a, b, p, q, s: a.set_(),
    "data=": lambda t, a, b, p, q, s: _set_data(a, b),
    "grad=": lambda t, a, b, p, q, s: setattr(a, "grad", b),
    "requires_grad_": lambda t, a, b, p, q, s: a.requires_grad_(p % 2 == 0),
    "requires_grad=": lambda t, a, b, p, q, s: setattr(a, "requires_grad", p % 2 == 0),
    "detach_": lambda t, a, b, p, q, s: a.detach_(),
    "no_grad write": lambda t, a, b, p, q, s: _without(t, lambda: a.add_(p)),
    "inference write": lambda t, a, b, p, q, s: _inference(t, lambda: a.mul_(1)),
    "storage copy": lambda t, a, b, p, q, s: _copy(a.untyped_storage(), b.untyped_storage()),
    "storage fill": lambda t, a, b, p, q, s: _discard(a.untyped_storage().fill_(0)),
    "storage byte": lambda t, a, b, p, q, s: a.untyped_storage().__setitem__(p, 0),
    "index_fill_": lambda t, a, b, p, q, s: a.clone().index_fill_(p, t.tensor([0]), q),
    "masked_fill_": lambda t, a, b, p, q, s: a.masked_fill_(b, q),
    "scatter_": lambda t, a, b, p, q, s: a.clone().scatter_(p, b, q),
    "clamp_": lambda t, a, b, p, q, s: a.clamp_(p, q),
    "relu_": lambda t, a, b, p, q, s: a.relu_(),
    "out=": lambda t, a, b, p, q, s: t.add(a, 1, out=b),
    "foreach": lambda t, a, b, p, q, s: _discard(t._foreach_add_([a, b], 1)),
    "retain_grad": lambda t, a, b, p, q, s: a.retain_grad(),
    "resize_as_": lambda t, a, b, p, q, s: a.resize_as_(b) if b.numel() <= a.numel() else None,
}
SPARSE: dict[str, Step] = {
    "to_sparse": lambda t, a, b, p, q, s: a.to_sparse(),
    "to_sparse of": lambda t, a, b, p, q, s: a.to_sparse(abs(p)),
    "to_sparse_csr": lambda t, a, b, p, q, s: a.to_sparse_csr(),
    "to_sparse_csc": lambda t, a, b, p, q, s: a.to_sparse_csc(),
    "to_sparse_bsr": lambda t, a, b, p, q, s: a.to_sparse_bsr((1, max(1, q))),
    "to_dense": lambda t, a, b, p, q, s: a.to_dense(),
    "coalesce": lambda t, a, b, p, q, s: a.coalesce(),
    "indices": lambda t, a, b, p, q, s: a.indices(),
    "_indices": lambda t, a, b, p, q, s: a._indices(),
    "values": lambda t, a, b, p, q, s: a.values(),
    "crow_indices": lambda t, a, b, p, q, s: a.crow_indices(),
    "sparse_mask": lambda t, a, b, p, q, s: a.sparse_mask(b),
    "sparse_coo": lambda t, a, b, p, q, s: t.sparse_coo_tensor(a, b, s),
    "sparse_coo of": lambda t, a, b, p, q, s: t.sparse_coo_tensor(a, b),
    "sparse sum": lambda t, a, b, p, q, s: t.sparse.sum(a, p),
    "sparse mm": lambda t, a, b, p, q, s: t.sparse.mm(a, b),
    "sparse transpose": lambda t, a, b, p, q, s: a.transpose(p, q),
    "sparse select": lambda t, a, b, p, q, s: a.select(p, q),
    "sparse cat": lambda t, a, b, p, q, s: t.cat([a, b], p),
    "sparse add": lambda t, a, b, p, q, s: t.add(a, b, alpha=p),
    "sparse mul": lambda t, a, b, p, q, s: a * b,
    "sparse index_select": lambda t, a, b, p, q, s: a.index_select(p, t.tensor([0])),
    "sparse zero_": lambda t, a, b, p, q, s: a.zero_(),
    "sparse copy_": lambda t, a, b, p, q, s: a.copy_(b),
    "sparse unsqueeze": lambda t, a, b, p, q, s: a.unsqueeze(p),
    "sparse sqrt": lambda t, a, b, p, q, s: a.sqrt(),
    "sparse resize": lambda t, a, b, p, q, s: a.sparse_resize_(s, a.sparse_dim(), a.dense_dim()),
}
NESTED: dict[str, Step] = {
    "nested": lambda t, a, b, p, q, s: t.nested.nested_tensor([a, b]),
    "nested jagged": lambda t, a, b, p, q, s: t.nested.nested_tensor([a, b], layout=t.jagged),
    "as_nested": lambda t, a, b, p, q, s: t.nested.as_nested_tensor([a, b]),
    "to_padded": lambda t, a, b, p, q, s: t.nested.to_padded_tensor(a, p),
    "nested unbind": lambda t, a, b, p, q, s: a.unbind()[q],
    "nested select": lambda t, a, b, p, q, s: a[p],
    "nested add": lambda t, a, b, p, q, s: a + b,
    "nested mul": lambda t, a, b, p, q, s: a * p,
    "nested transpose": lambda t, a, b, p, q, s: a.transpose(p, q),
    "nested clone": lambda t, a, b, p, q, s: a.clone(),
    "nested values": lambda t, a, b, p, q, s: a.values(),
    "nested offsets": lambda t, a, b, p, q, s: a.offsets(),
    "nested relu": lambda t, a, b, p, q, s: t.relu(a),
    "nested sum": lambda t, a, b, p, q, s: a.sum(p),
    "nested size": lambda t, a, b, p, q, s: t.tensor(a.size(p)),
    "nested softmax": lambda t, a, b, p, q, s: t.softmax(a, -1),
    "nested detach": lambda t, a, b, p, q, s: a.detach(),
    "nested linear": lambda t, a, b, p, q, s: t.nn.functional.linear(a, b),
    "nested fill_": lambda t, a, b, p, q, s: a.fill_(q),
    "nested to": lambda t, a, b, p, q, s: a.to(t.float64),
}
_READ = (
    "shape", "dtype", "grad", "requires_grad", "is_leaf", "device", "ndim", "layout", "itemsize", "nbytes", "is_sparse", "grad_fn",
    "output_nr", "is_nested", "is_quantized", "is_cpu", "is_meta", "retains_grad", "_version", "_base", "is_mkldnn",
)  # fmt: skip
_TAKEN = ("data", "grad")
_ASKED: dict[str, Step] = {
    "equal": lambda t, a, b, p, q, s: t.equal(a, b),
    "allclose": lambda t, a, b, p, q, s: t.allclose(a, b),
    "matmul": lambda t, a, b, p, q, s: a @ b,
    # PyTorch refuses numbers with fractions by TypeError; here a class of the program's own gets the operator's NotImplementedError.
    "invert": lambda t, a, b, p, q, s: None if a.is_floating_point() or a.is_complex() else ~a,
    "split": lambda t, a, b, p, q, s: t.split(a, 2)[0],
    "functional": lambda t, a, b, p, q, s: t.nn.functional.relu(a),
    "softmax": lambda t, a, b, p, q, s: t.nn.functional.softmax(a, p, dtype=t.float64),
    "stack": lambda t, a, b, p, q, s: t.stack([b, a]),
    "out=": lambda t, a, b, p, q, s: t.neg(b, out=a),
    "where": lambda t, a, b, p, q, s: t.where(a, p, q),
    "iadd": lambda t, a, b, p, q, s: a.__iadd__(p),
    "new_empty": lambda t, a, b, p, q, s: a.new_full(s, 1),
    "to": lambda t, a, b, p, q, s: a.to(t.float64),
    "backward": lambda t, a, b, p, q, s: a.backward(),
    "autograd.grad": lambda t, a, b, p, q, s: t.autograd.grad(a, b),
    "einsum": lambda t, a, b, p, q, s: t.einsum("i,i", a, b),
    "is_tensor": lambda t, a, b, p, q, s: t.is_tensor(a),
    "set requires_grad": lambda t, a, b, p, q, s: setattr(a, "requires_grad", p % 2 == 0),
    "set data": lambda t, a, b, p, q, s: _set_data(a, b),
    "set grad": lambda t, a, b, p, q, s: setattr(a, "grad", b),
    "del grad": lambda t, a, b, p, q, s: delattr(a, "grad"),
}


def _reader(name: str, what: Callable[[Any], Any]) -> Step:
    return lambda t, a, b, p, q, s: what(getattr(a, name))


# On tensors of the program's own class, which note what they are asked for.
OWN: dict[str, Step] = {
    **{f"read {name}": _reader(name, str if name != "grad_fn" else lambda fn: fn is None) for name in _READ},
    **{f"take {name}": _reader(name, lambda value: value) for name in _TAKEN},
    **_ASKED,
}


def _over(library: Any, tensor: Any, storage: Any, offset: int, size: list[int]) -> Any:
    """A tensor over a storage, if it reaches so far: what more than is there holds nobody wrote."""
    count = 1
    for each in size:
        count *= each
    if (offset + count) * tensor.element_size() > storage.nbytes():
        return None
    return library.empty(0, dtype=tensor.dtype).set_(storage, offset, size)


def _discard(_value: Any) -> None:
    return None


def _copy(to: Any, of: Any) -> None:
    if to.nbytes() == of.nbytes():
        to.copy_(of)


def _set_data(tensor: Any, other: Any) -> None:
    """Where both are strided: other layouts are other classes here."""
    if str(tensor.layout) == str(other.layout) == "torch.strided" and not tensor.is_nested and not other.is_nested:
        tensor.data = other


def _resize(tensor: Any, size: list[int]) -> Any:
    """To fewer elements: what more would hold nobody wrote. To the same sizes PyTorch's does not count as a write, and ours does."""
    count = 1
    for each in size:
        count *= each
    return tensor if list(tensor.shape) == size or count > tensor.numel() else tensor.resize_(size)


def _without(library: Any, call: Callable[[], Any]) -> Any:
    with library.no_grad():
        return call()


def _inference(library: Any, call: Callable[[], Any]) -> Any:
    with library.inference_mode():
        return call()
