"""Operators that programs find as `torch.ops.aten.NAME` alone: results, dtypes and refusals are PyTorch's."""

import warnings
from typing import Any

import pytest
from agreement import agree, same

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core.absent_operators import LATE
from mindtorch_v2._operators.table import every_row


def _x(torch: Any, *shape: int, start: float = -1.0) -> Any:
    count = 1
    for n in shape:
        count *= n
    return (start + 0.37 * torch.arange(count, dtype=torch.float64)).sin().reshape(shape).float()


def _csr(torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is in beta
        return torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]).to_sparse_csr()


def _dense(x: Any) -> Any:
    return [str(x.layout), x.to_dense()]


# ---- questions ----


def _questions(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2, 3)
    y = x.t()
    wanted = x.clone().requires_grad_()
    names = (
        "numel storage_offset get_device output_nr _version is_complex is_floating_point is_conj is_neg is_inference "
        "is_leaf retains_grad is_distributed _is_zerotensor sym_is_contiguous"
    )
    return [
        *(getattr(a, name)(each) for name in names.split() for each in (x, y, (x + 1j).conj(), wanted * 2)),
        [a.size.int(x, -1), a.stride.int(y, 0), a.item(x[0, 1]), a.is_set_to(x, x[:]), a.is_set_to(x, y)],
        [a.can_cast(torch.int32, torch.float32), a.can_cast(torch.float32, torch.int32)],
        str(a.promote_types(torch.int32, torch.float16)),
        [str(a.result_type.Tensor(x, x.double())), str(a.result_type.Scalar(x.int(), 2.5))],
        [str(a.result_type.Scalar_Tensor(2.5, x.int())), str(a.result_type.Scalar_Scalar(1, 2.5))],
        [a._has_same_storage_numel(x, x[:1]), a._has_same_storage_numel(x, x[:1].clone())],
        [a._has_compatible_shallow_copy_type(x, x), a._has_compatible_shallow_copy_type(x, x.to_sparse())],
        a.data(wanted).requires_grad,
        a.swapdims(x, 0, 1),
        a._dim_arange(x, 1),
    ]


def _writing(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2, 3)
    y = x.clone()
    a.set_data(y, torch.ones(4))
    z = x.clone()
    a.requires_grad_(z)
    doubled = z * 2
    a.retain_grad(doubled)
    a._backward(doubled.sum(), [z])
    a._backward((z * z).sum(), [])
    return [y, z.requires_grad, doubled.retains_grad, z.grad]


# ---- forms that write nothing ----


def _functional(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2, 3)
    source = torch.ones(4)
    made = [
        a.resize(x, [3]),
        a.resize.out(x, [3], out=torch.empty(0)),
        a.resize_as(x, torch.ones(2)),
        a.resize_as.out(x, torch.ones(2), out=torch.empty(0)),
        a.set(x).shape,
        a.set.out(x, out=torch.empty(0)).shape,
        a.set.source_Tensor(x, source),
        a.set.source_Tensor_out(x, source, out=torch.empty(0)),
        a.set.source_Storage(x, source.untyped_storage()),
        a.set.source_Storage_out(x, source.untyped_storage(), out=torch.empty(0)),
        a.set.source_Storage_storage_offset(x, source.untyped_storage(), 1, [2], [1]),
        a.set.source_Storage_storage_offset_out(x, source.untyped_storage(), 1, [2], [1], out=torch.empty(0)),
        a._index_put_impl(x, [torch.tensor([0])], torch.ones(3)),
        a._index_put_impl.out(x, [torch.tensor([0])], torch.ones(3), out=torch.empty(0)),
        a.embedding_renorm(x, torch.tensor([1]), 0.5, 2.0),
        a.embedding_renorm.out(x, torch.tensor([1]), 0.5, 2.0, out=torch.empty(0)),
        a._foreach_zero([x, x[0]]),
        a._foreach_copy([x], [torch.ones(2, 3)]),
    ]
    lists = [[torch.empty(2, 3)], [torch.empty(2, 3)], [torch.empty(2, 3)]]
    made += [a._foreach_zero.out([x], out=lists[0]), a._foreach_copy.out([x], [x + 1], out=lists[1])]
    scale, growth, found = torch.tensor([2.0]), torch.tensor([3], dtype=torch.int32), torch.tensor([0.0])
    made += [
        a._amp_update_scale(scale, growth, found, 2.0, 0.5, 4),
        a._amp_update_scale.out(scale, growth, found, 2.0, 0.5, 4, out=torch.empty(0)),
        a._amp_foreach_non_finite_check_and_unscale([x * float("inf")], found, torch.tensor(2.0)),
        a._amp_foreach_non_finite_check_and_unscale.out([x], found, torch.tensor(2.0), out=lists[2]),
    ]
    return [*made, x, growth, found, lists]


def _optimizers(torch: Any) -> Any:
    a, kept, made = torch.ops.aten, [], []

    def state(start: float, *shape: int) -> list:
        kept.append([_x(torch, *shape, start=start).abs()])
        return kept[-1]

    common = {"weight_decay": 0.1, "maximize": False}
    for lr, suffix in ((0.1, ""), (torch.tensor(0.1), "tensor_lr")):
        adam = {"lr": lr, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "amsgrad": False, **common}
        for name in ("_fused_adam", "_fused_adamw"):
            values = (state(1, 3), state(2, 3), state(3, 3), state(4, 3), [], [torch.tensor(2.0)])
            out = [torch.empty(3)]
            packet = getattr(a, name)
            made.append(getattr(packet, suffix or "default")(*values, **adam))
            made.append(getattr(packet, f"{suffix}_out" if suffix else "out")(*values, out=out, **adam))
            made.append(out)
        sgd = {"momentum": 0.9, "lr": lr, "dampening": 0.1, "nesterov": False, "is_first_step": False, **common}
        adagrad = {"lr": lr, "lr_decay": 0.1, "eps": 1e-8, **common}
        for name, words, more in (
            ("_fused_sgd", sgd, (state(3, 3),)),
            ("_fused_adagrad", adagrad, (state(3, 3), [torch.tensor(2.0)])),
        ):
            values, out = (state(1, 3), state(2, 3), *more), [torch.empty(3)]
            packet = getattr(a, name)
            made.append(getattr(packet, suffix or "default")(*values, **words))
            made.append(getattr(packet, f"{suffix}_out" if suffix else "out")(*values, out=out, **words))
            made.append(out)
    return [made, kept]


def _norms(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 4, 3)
    mean, var, outs = torch.zeros(3), torch.ones(3), [torch.empty(0) for _ in range(4)]
    made = [
        a._native_batch_norm_legit_functional(x, None, None, mean, var, True, 0.1, 1e-5),
        a._batch_norm_with_update_functional(x, None, None, mean, var, 0.1, 1e-5),
        mean.clone(),
    ]
    names = ("out", "save_mean", "save_invstd", "reserve")
    made.append(
        a._batch_norm_with_update.out(x, None, None, mean, var, 0.1, 1e-5, **dict(zip(names, outs, strict=True)))
    )
    made.append(a.batch_norm_update_stats(x, mean, var, 0.3))
    made.append(a._batch_norm_impl_index(x, None, None, mean, var, False, 0.1, 1e-5, True))
    arguments = (None, mean, var, x[0], x[1].abs() + 1, True, 1e-5, [True, True, True], torch.empty(0))
    made.append(a._batch_norm_impl_index_backward(0, x, x * x, *arguments))
    return [made, mean, var]


def _observer(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2, 3)
    state = [torch.zeros(1), torch.ones(1), torch.ones(1), torch.zeros(1, dtype=torch.int32)]
    call = (x, torch.tensor(1), torch.tensor(1), *state, 0.1, 0, 255, -1)
    made = a._fused_moving_avg_obs_fq_helper_functional(*call)
    outs = {"out0": torch.empty(0), "out1": torch.empty(0, dtype=torch.bool)}
    return [made, state, a._fused_moving_avg_obs_fq_helper.out(*call, **outs), state]


# ---- activations, losses ----


def _noise(torch: Any) -> Any:
    a, x, made = torch.ops.aten, _x(torch, 2, 4), []
    for training in (True, False):
        torch.manual_seed(0)
        noise, y = torch.zeros(2, 4), x.clone()
        made += [a.rrelu_with_noise(x, noise, 0.1, 0.3, training), noise]
        made += [a.rrelu_with_noise_(y, noise, 0.1, 0.3, training), y, noise.clone()]
        made += [a.rrelu_with_noise_functional(x, noise, 0.1, 0.3, training)]
        made += [a.rrelu_with_noise.out(x, noise, 0.1, 0.3, training, out=torch.empty(2, 4))]
    z = x.clone().requires_grad_()
    a.rrelu_with_noise(z, noise, 0.1, 0.3, True).sum().backward()
    return [*made, z.grad]


def _losses(torch: Any) -> Any:
    a, x, made = torch.ops.aten, _x(torch, 2, 4), []
    several, one = torch.tensor([[1, 3, -1, 0], [2, -1, 1, 1]]), torch.tensor([1, 3])
    for reduction in (0, 1, 2):
        loss, is_target = a.multilabel_margin_loss_forward(x, several, reduction)
        made += [loss, is_target, a.multilabel_margin_loss_backward(loss * 0 + 2, x, several, reduction, is_target)]
        outs = {"output": torch.empty(0), "is_target": torch.empty(0)}
        made.append(a.multilabel_margin_loss_forward.output(x, several, reduction, **outs))
        for p in (1, 2):
            loss = a.multi_margin_loss(x, one, p, 0.5, None, reduction)
            weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
            made.append(a.multi_margin_loss_backward(loss * 0 + 2, x, one, p, 0.5, weight, reduction))
        nll = (x, one, None, reduction, -100)
        outs = {"output": torch.empty(0), "total_weight": torch.empty(0)}
        made.append(a.nll_loss_forward.output(*nll, **outs))
        made.append(a.nll_loss.out(x, one, None, reduction, out=torch.empty(0)))
        made.append(a.multi_margin_loss.out(x, one, reduction=reduction, out=torch.empty(0)))
        made.append(a.multilabel_margin_loss.out(x, several, reduction, out=torch.empty(0)))
        made.append(a.soft_margin_loss.out(x, x.sign(), reduction, out=torch.empty(0)))
        planes = (x.reshape(1, 4, 1, 2), torch.tensor([[[1, 3]]]), None, reduction, -100)
        made.append(a.nll_loss2d_forward.output(*planes, output=torch.empty(0), total_weight=torch.empty(0)))
        made.append(a.nll_loss2d.out(*planes, out=torch.empty(0)))
    return made


def _masked(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2, 3, 4, 4)
    queries, keys = torch.eye(4).bool(), torch.tensor([[True, False, False, False], [False, True, True, False]])
    whole = torch.ones(2, 4).bool()
    return [
        a._masked_softmax(x, queries, 3, 0),
        a._masked_softmax(x, keys, 3, 1),
        a._masked_softmax(x[0, 0], queries, 1, 2),
        a._masked_softmax(x[0, 0, :2], whole, 1, 2),
        a._masked_softmax_backward(x[0, 0] + 1, x[0, 0].softmax(1), queries, 1),
        a._masked_softmax.out(x[0, 0], queries, 1, 2, out=torch.empty(0)),
    ]


# ---- indices, factorisations ----


def _indices(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2, 3)
    index = torch.tensor([[0, 0, 2], [0, 1, 1]])
    values, places = torch.empty(2, 3), torch.empty(2, 3, dtype=torch.int64)
    zeros = torch.tensor([[1.0, 0.0, 2.0, 0.0], [3.0, 1.0, 0.0, 2.0]])
    made = [
        a.trace_backward(torch.tensor(2.0), [2, 3]),
        a.masked_scatter_backward(x, x > 0, [2, 2]),
        a.value_selecting_reduction_backward(torch.tensor(1.0), 0, torch.tensor(0), [], False),
        a.value_selecting_reduction_backward(torch.tensor([1.0, 2.0]), -1, torch.tensor([0, 2]), [2, 3], False),
        _dense(a.gather_backward(x, x, 1, index, True)),
        a._gather_sparse_backward(x, -1, index, x).coalesce().indices(),
        a.cumprod_backward(zeros, zeros, 1, zeros.cumprod(1)),
        a.cumprod_backward(x, x, 1, x.cumprod(1)),
        _dense(a.embedding_backward(x, torch.tensor([1, 1]), 4, -1, False, True)),
        a._pack_padded_sequence_backward(_x(torch, 5, 2), [3, 2, 2], torch.tensor([2, 2, 1]), False),
        a._pack_padded_sequence_backward(_x(torch, 5, 2), [2, 4, 2], torch.tensor([2, 2, 1]), True),
        [a._cummax_helper(x, values, places, 1), values.clone(), places.clone()],
        [a._cummin_helper(x, values, places, 0), values, places],
        _dense(a.to_dense_backward(x, x.relu().to_sparse())),
        a.to_dense_backward(x, x.double()),
        a.slice_inverse(_x(torch, 4, 3), x, 0, 1, 3),
        a._reshape_from_tensor(x, torch.tensor([3, 2])),
        a._rowwise_prune(x, torch.tensor([True, False]), torch.int32),
        a.flatten_dense_tensors([x, x[0]]),
        a.unflatten_dense_tensors(torch.arange(9.0), [x, torch.empty(0), x[0]]),
        [a._pad_enum(x[None], [1, 1], mode) for mode in range(4)],
        a._stack([x, x], 1),
        a._stack.out([x, x], 1, out=torch.empty(0)),
        a._to_cpu([x]),
        a._saturate_weight_to_fp16(x * 1e6),
    ]
    offsets = [torch.tensor([0, 2, 5])]
    made += [
        a._jagged_to_padded_dense_forward(_x(torch, 5, 2), offsets, [4], -1.0),
        a._jagged_to_padded_dense_forward(_x(torch, 5, 2), offsets, [2], -1.0),
        a._padded_dense_to_jagged_forward(_x(torch, 2, 3, 2), offsets, 5),
        a._padded_dense_to_jagged_forward(_x(torch, 2, 3), offsets),
    ]
    return made


def _bags(torch: Any) -> Any:
    a, weight, indices = torch.ops.aten, _x(torch, 5, 3), torch.tensor([0, 2, 2, 4])
    offsets = torch.tensor([0, 2])
    made = []
    for mode in (0, 1, 2):
        _, to_bag, sizes, largest = a._embedding_bag(weight, indices, offsets, False, mode, False, None)
        for sparse in (False, True)[: 1 if mode == 2 else 2]:
            grad = a._embedding_bag_backward(
                _x(torch, 2, 3), indices, offsets, to_bag, sizes, largest, 5, False, mode, sparse, None
            )
            made.append(_dense(grad))
    return made


def _matrices(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2, 3)
    A = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    lower = torch.linalg.cholesky(A)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is deprecated
        factors = a._lu_with_info(A)
    return [
        a._cholesky_solve_helper(torch.ones(2, 1), lower, False),
        a._cholesky_solve_helper(torch.ones(2, 1), lower.mT, True),
        a._linalg_eigvals(torch.tensor([[2.0, 0.0], [0.0, 1.0]])),
        list(factors),
        a.linalg__powsum(x, 0, [1], True),
        a.linalg__powsum(x, 2.5, dtype=torch.float64),
        a._foreach_powsum([x, x[0]], 2, torch.float64),
        a.einsum("ij,kj->ik", [x, x]),
        a.einsum("ij,kj,k->i", [x, x, x[:, 0]], path=[0, 1, 0, 1]),
        a.gradient.scalarint(x),
        a.gradient.scalarint(x, spacing=2.0, dim=1),
        a.gradient.array(x, dim=[0]),
        a.gradient.scalararray(x, spacing=2, dim=[1]),
        a.gradient.scalarrayint(x, spacing=[2.0, 3.0]),
        a.gradient.scalarrayarray(x, spacing=[2.0, 3.0], dim=[0, 1]),
        a.gradient.tensorarrayint(x, spacing=[torch.tensor([0.0, 1.0, 3.0])], dim=1),
        a.gradient.tensorarray(x, spacing=[torch.tensor([0.0, 1.0, 3.0])], dim=[1]),
        torch.view_as_real(a.stft.center(_x(torch, 8), 4, window=torch.ones(4), return_complex=True)),
        torch.view_as_real(a.stft.center(_x(torch, 2, 8), 4, window=torch.ones(4), center=False, return_complex=True)),
    ]


def _forms(torch: Any) -> Any:
    """`out=` forms with names or arguments of their own."""
    a, x = torch.ops.aten, _x(torch, 2, 3)
    A = torch.tensor([[2.0, 1.0], [1.0, 3.0]])

    def empty(*names: str, **kinds: Any) -> dict[str, Any]:
        return {name: torch.empty(0, dtype=kinds.get(name, torch.float32)) for name in names}

    ends = torch.tensor(1.0), torch.tensor(3.0)
    return [
        a._linalg_det.result(A, **empty("result", "LU", "pivots", pivots=torch.int32)),
        a._linalg_slogdet.sign(A, **empty("sign", "logabsdet", "LU", "pivots", pivots=torch.int32)),
        a._linalg_solve_ex.result(A, A, **empty("result", "LU", "pivots", "info", pivots=torch.int32, info=torch.int32)),
        a._linalg_eigh.eigenvalues(A, **empty("eigenvalues", "eigenvectors"))[0],
        a._linalg_svd.U(A, **empty("U", "S", "Vh"))[1],
        a._log_softmax_backward_data.out(x, x, 1, torch.float32, **empty("out")),
        a._softmax_backward_data.out(x, x, 1, torch.float32, **empty("grad_input")),
        a.adaptive_avg_pool3d_backward.grad_input(torch.ones(1, 1, 1, 1), torch.ones(1, 2, 2, 2), **empty("grad_input")),
        a._slow_conv2d_backward.grad_input(
            torch.ones(1, 1, 1, 2), _x(torch, 1, 1, 2, 3), _x(torch, 1, 1, 2, 2), [2, 2], [1, 1], [0, 0],
            **empty("grad_input", "grad_weight", "grad_bias"),
        ),
        [a.linspace.Tensor_Tensor_out(*ends, 3, **empty("out")), a.linspace.Scalar_Tensor_out(1, ends[1], 3, **empty("out"))],
        [a.logspace.Tensor_Tensor_out(*ends, 3, **empty("out")), a.logspace.Tensor_Scalar_out(ends[0], 3, 3, **empty("out"))],
        a.norm.out(x, 2, [1], **empty("out")),
        a.norm.dtype_out(x, 2, [1], False, dtype=torch.float64, **empty("out", out=torch.float64)),
        a.argsort.stable_out(x, stable=True, **empty("out", out=torch.int64)),
        a.searchsorted.Scalar_out(torch.tensor([1.0, 2.0]), 1.5, **empty("out", out=torch.int64)),
        a.isin.Tensor_Scalar_out(torch.tensor([1, 2]), 2, **empty("out", out=torch.bool)),
        a.isin.Scalar_Tensor_out(2, torch.tensor([1, 2]), **empty("out", out=torch.bool)),
        a.matrix_power.out(A, 3, **empty("out")),
        a.max_unpool2d.out(torch.ones(1, 1, 1), torch.tensor([[[2]]]), [2, 2], **empty("out")),
        a._conj_physical.out(x + 1j, **empty("out", out=torch.complex64)),
        a._new_zeros_with_same_feature_meta.out(x, x, **empty("out")),
    ]  # fmt: skip


def _sparse(torch: Any) -> Any:
    a, csr = torch.ops.aten, _csr(torch)
    x = csr.to_dense()
    coo, i = x.to_sparse(), torch.tensor([[0, 1]])
    parts = csr.crow_indices(), csr.col_indices(), csr.values()
    csc = x.to_sparse_csc()
    return [
        [a.crow_indices_copy(csr), a.col_indices_copy(csr), a.values_copy(csr)],
        [a.ccol_indices_copy(csc), a.row_indices_copy(csc)],
        _dense(a.sparse_coo_tensor.indices(i, torch.ones(2))),
        _dense(a.sparse_coo_tensor.indices_size(i, torch.ones(2), [3], dtype=torch.float64)),
        _dense(a.sparse_coo_tensor.size([3])),
        _dense(a.sparse_csr_tensor.crow_col_value(*parts)),
        _dense(a.sparse_csr_tensor.crow_col_value_size(*parts, [2, 4])),
        _dense(a.sparse_csc_tensor.ccol_row_value(csc.ccol_indices(), csc.row_indices(), csc.values())),
        _dense(a.sparse_csc_tensor.ccol_row_value_size(csc.ccol_indices(), csc.row_indices(), csc.values(), [4, 3])),
        _dense(a.sparse_bsr_tensor.crow_col_value(torch.tensor([0, 1]), torch.tensor([1]), torch.ones(1, 2, 2))),
        _dense(a.sparse_bsc_tensor.ccol_row_value_size(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1, 2, 2), [4, 2])),
        _dense(a.sparse_compressed_tensor.comp_plain_value(*parts, layout=torch.sparse_csr)),
        _dense(a.sparse_compressed_tensor.comp_plain_value_size(*parts, [2, 3], layout=torch.sparse_csr)),
        _dense(a._sparse_csr_tensor_unsafe(*parts, [2, 3])),
        _dense(a._sparse_coo_tensor_with_dims(1, 1, [2, 3], layout=torch.sparse_coo)),
        _dense(a.hspmm(coo, torch.ones(3, 2))),
        [_dense(a.smm(coo, torch.ones(3, 2))), a.smm(coo, torch.ones(3, 2)).coalesce().indices()],
        _dense(a.sspaddmm(torch.ones(2, 2).to_sparse(), coo, torch.ones(3, 2), beta=2, alpha=3)),
        [a.native_norm(coo), a.native_norm(coo, 1), a.native_norm.ScalarOpt_dim_dtype(coo, 2, [0, 1], False, None)],
        _dense(a._spdiags.out(torch.ones(1, 3), torch.tensor([0]), [3, 3], out=torch.zeros(3, 3).to_sparse())),
    ]  # fmt: skip


def _sparse_in_place(torch: Any) -> Any:
    a, csr = torch.ops.aten, _csr(torch)
    dense = csr.to_dense()
    coo = dense.to_sparse()
    made = [
        a.sparse_resize(coo, [4, 3], 2, 0),
        a.sparse_resize_and_clear(coo, [4, 3], 2, 0),
        a.copy_sparse_to_sparse(torch.zeros(2, 3).to_sparse(), coo),
        a.resize_as_sparse(coo, torch.zeros(4, 5).to_sparse()),
        a.copy_sparse_to_sparse.out(coo, coo, out=torch.zeros(2, 3).to_sparse()),
        dense.to_sparse().sparse_resize_((4, 5), 2, 0),
        dense.to_sparse().sparse_resize_and_clear_((2, 5), 1, 1),
        dense.to_sparse().resize_as_sparse_(torch.zeros(4, 5).to_sparse()),
        *(a._sparse_csr_sum.dim_dtype(csr, dim, True) for dim in ([0], [1], [0, 1])),
        a._sparse_csr_sum.dim_dtype(csr, [0], True, dtype=torch.float64),
        *(a._sparse_csr_prod.dim_dtype(csr, dim, True) for dim in ([0], [-1], [0, 1])),
    ]
    return [*map(_dense, made), a._coalesced(coo, False).is_coalesced(), coo.shape]


def _tokens(torch: Any) -> Any:
    a, token = torch.ops.aten, torch.zeros(1)
    return [
        a._functional_assert_async.msg(torch.tensor(1), "no", token),
        a._functional_assert_scalar(1, "no", token),
        a._functional_sym_constrain_range(3, 1, 4, token),
        a._functional_sym_constrain_range_for_size(3, 1, 4, token),
        a._make_dep_token(dtype=torch.int32).shape,
    ]


def _dtypes(torch: Any) -> Any:
    a, x = torch.ops.aten, _x(torch, 2)
    half = (True, True, torch.float16, torch.bfloat16)
    return [
        str(each.dtype)
        for each in (
            a._autocast_to_reduced_precision(x, *half),
            a._autocast_to_reduced_precision(x, True, False, *half[2:]),
            a._autocast_to_reduced_precision(x.double(), *half),
            a._autocast_to_full_precision(x.half(), True, True),
            a._autocast_to_full_precision(x.half(), True, False),
        )
    ]


def _of_pytorchs_tests(torch: Any) -> Any:
    a, x = torch.ops.aten, torch.tensor([1.0, 2.0])
    return [
        a._foobar(x),
        a._test_string_default(x),
        [a._test_ambiguous_defaults.a(x), a._test_ambiguous_defaults.b(x)],
        [a._test_optional_floatlist(x, [1.5, 2.5]), a._test_optional_floatlist(x, None)],
        [a._test_optional_intlist(x.int(), [1, 2]), a._test_optional_filled_intlist(x.int(), 2)],
        a._test_functorch_fallback(x, x),
    ]


def _convolutions(torch: Any) -> Any:
    a, x, w = torch.ops.aten, _x(torch, 1, 2, 4), _x(torch, 3, 2, 2)
    both = (_x(torch, 1, 2, 4), _x(torch, 3, 2, 2), _x(torch, 3), _x(torch, 1, 3, 3))
    single = a.slow_conv_dilated2d(_x(torch, 1, 3, 3), _x(torch, 1, 1, 2, 2), [2, 2])
    return [
        a._convolution.deprecated(x, w, None, [1], [0], [1], False, [0], 1, False, False, True),
        single.shape,
        a._convolution_double_backward(*both, w, x, [1], [0], [1], False, [0], 1, [True, True, True]),
        a._convolution_double_backward(
            None, None, both[2], both[3], w, x, [1], [0], [1], False, [0], 1, [True, True, True]
        ),
    ]


def _spelled(torch: Any) -> Any:
    a, made = torch.ops.aten, []
    for name in ("and", "or", "xor", "lshift", "rshift"):
        for other, overload in ((torch.tensor([1, 2]), "Tensor"), (2, "Scalar")):
            x = torch.tensor([6, 5])
            made += [getattr(getattr(a, f"__i{name}__"), overload)(x, other), x]
    x = torch.tensor([-1.0, 2.0])
    made += [
        a._add_relu_.Tensor(x.clone(), x, alpha=2),
        a._add_relu_.Scalar(x.clone(), 3),
        a._add_relu.out(x, x, out=x.new_empty(0)),
    ]
    return made


PROGRAMS = [
    _questions, _writing, _functional, _optimizers, _norms, _observer, _noise, _losses, _masked, _indices, _bags, _matrices,
    _forms, _sparse, _sparse_in_place, _tokens, _dtypes, _of_pytorchs_tests, _convolutions, _spelled,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__.strip("_"))
def test_results_are_those_of_pytorch(program: Any) -> None:
    same(program, 2e-6, 1e-6)


# ---- what is refused ----

REFUSED = {
    "equal sizes": lambda t: t.ops.aten.multilabel_margin_loss_forward(t.ones(2, 4), t.zeros(4, dtype=t.int64), 0),
    "no such class": lambda t: t.ops.aten.multilabel_margin_loss_forward(t.ones(2, 4), t.full((2, 4), 9), 0),
    "power": lambda t: t.ops.aten.multi_margin_loss_backward(t.ones([]), t.ones(2, 4), t.tensor([1, 3]), 3, 1),
    "noise of other sizes": lambda t: t.ops.aten.rrelu_with_noise(t.ones(2), t.ones(3), 0.1, 0.3, True),
    "noise of another dtype": lambda t: t.ops.aten.rrelu_with_noise(t.ones(2), t.ones(2).double(), 0.1, 0.3, True),
    "mask of numbers": lambda t: t.ops.aten._masked_softmax(t.ones(2, 2), t.ones(2, 2), 1, 2),
    "mask without type": lambda t: t.ops.aten._masked_softmax(t.ones(1, 1, 2, 2), t.ones(2, 2).bool(), 3),
    "mask of other sizes": lambda t: t.ops.aten._masked_softmax(t.ones(2, 2), t.ones(2).bool(), 1, 2),
    "assertion": lambda t: t.ops.aten._functional_assert_async.msg(t.tensor(0), "no", t.zeros(1)),
    "scalar": lambda t: t.ops.aten._functional_assert_scalar(0, "no", t.zeros(1)),
    "range": lambda t: t.ops.aten._functional_sym_constrain_range(30, 1, 4, t.zeros(1)),
    "no layout": lambda t: t.ops.aten.sparse_compressed_tensor.comp_plain_value(
        t.tensor([0, 1]), t.tensor([0]), t.ones(1)
    ),
    "some dimensions": lambda t: t.ops.aten.native_norm.ScalarOpt_dim_dtype(
        t.ones(2, 2).to_sparse(), 2, [0], False, None
    ),
    "length": lambda t: t.ops.aten._padded_dense_to_jagged_forward(t.ones(2, 3), [t.tensor([0, 2, 5])], 6),
    "matrix": lambda t: t.ops.aten.trace_backward(t.ones([]), [2]),
    "too few for the sizes": lambda t: t.ops.aten.masked_scatter_backward(t.ones(3), t.ones(3).bool(), [1]),
    "out of another dtype": lambda t: t.ops.aten.binary_cross_entropy_backward.grad_input(
        t.ones(2), t.ones(2), t.ones(2), None, 0, grad_input=t.empty(2, dtype=t.float64)
    ),
    "shrinking": lambda t: t.ones(2, 3).to_sparse().sparse_resize_((1, 3), 2, 0),
    "other dimensions": lambda t: t.ones(2, 3).to_sparse().sparse_resize_((2, 3), 1, 1),
    "dimensions": lambda t: t.ones(2, 3).to_sparse().sparse_resize_((2, 3), 1, 0),
    "keepdim": lambda t: t.ops.aten._sparse_csr_sum.dim_dtype(t.ones(2, 3).to_sparse_csr(), [0], False),
    "list of nothing": lambda t: t.ops.aten.flatten_dense_tensors([]),
}  # fmt: skip
_X = lambda t: t.linspace(-1, 1, 6).reshape(2, 3)
INTO_WIDER = {
    "elu_backward": lambda t, x: (x, 1, 1, 1, False, x),
    "glu_backward": lambda t, x: (x, t.cat([x, x], 1), 1),
    "hardshrink_backward": lambda t, x: (x, x, 0.5),
    "hardsigmoid_backward": lambda t, x: (x, x),
    "hardtanh_backward": lambda t, x: (x, x, -0.5, 0.5),
    "huber_loss_backward": lambda t, x: (x, x, x, 0, 0.5),
    "leaky_relu_backward": lambda t, x: (x, x, 0.5, False),
    "log_sigmoid_backward": lambda t, x: (x, x, t.empty(0)),
    "logit_backward": lambda t, x: (x, x),
    "mse_loss_backward": lambda t, x: (x, x, x, 0),
    "multi_margin_loss_backward": lambda t, x: (x[:, 0], x, t.tensor([0, 2]), 1, 1, None, 0),
    "sigmoid_backward": lambda t, x: (x, x),
    "silu_backward": lambda t, x: (x, x),
    "smooth_l1_loss_backward": lambda t, x: (x, x, x, 0, 0.5),
    "soft_margin_loss_backward": lambda t, x: (x, x, x, 0),
    "softplus_backward": lambda t, x: (x, x, 1, 20),
    "softshrink_backward": lambda t, x: (x, x, 0.5),
    "tanh_backward": lambda t, x: (x, x),
    "threshold_backward": lambda t, x: (x, x, 0.5),
    "reflection_pad1d_backward": lambda t, x: (t.ones(2, 5), x, [1, 1]),
    "replication_pad1d_backward": lambda t, x: (t.ones(2, 5), x, [1, 1]),
    "avg_pool2d_backward": lambda t, x: (x[None, :, :2], x[None], [1, 2], [1, 1], [0, 0], False, True, None),
    "upsample_nearest1d_backward": lambda t, x: (t.ones(1, 2, 6), [6], [1, 2, 3]),
    "upsample_linear1d_backward": lambda t, x: (t.ones(1, 2, 6), [6], [1, 2, 3], False),
    "nll_loss_backward": lambda t, x: (x[:, 0], x, t.tensor([0, 2]), None, 0, -100, t.ones([])),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_refused(which: str) -> None:
    agree(REFUSED[which])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("name", INTO_WIDER)
def test_into_tensors_of_another_dtype(name: str, dtype: str) -> None:
    """They are written where PyTorch casts, refused where it does not, and take the sizes of the result."""

    def program(torch: Any) -> Any:
        packet, out = getattr(torch.ops.aten, name), torch.empty(0, dtype=getattr(torch, dtype))
        form = packet.out if "grad_input" not in packet.overloads() else packet.grad_input
        return form(*INTO_WIDER[name](torch, _X(torch)), grad_input=out)

    agree(program)


# ---- where they are found ----


@pytest.mark.no_torch
def test_functions_are_those_of_the_rows() -> None:
    places = {"torch": "function", "torch._C._nn": "nn", "torch._C._linalg": "linalg"}
    found: dict[str, set[str]] = {module: set() for module in places}
    for row in every_row().values():
        if row.body is not None and ".inner." in row.body.__module__:
            assert "method" not in row.bind, f"{row.name}: methods are made at import"
            for module, word in places.items():
                if word in row.bind:
                    found[module].add(row.handle.name)
    assert found == {module: set(names) for module, names in LATE.items()}
    assert torch._aminmax is torch._C._VariableFunctions._aminmax
    assert torch._C._nn.slow_conv3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 1, 1, 1), [1, 1, 1]).shape[0] == 1


@pytest.mark.no_torch
def test_names_are_found_without_a_list_of_all() -> None:
    assert _C._find_operator("aten::trace_backward", "").name == "trace_backward"
    assert _C._find_operator("aten::no_such_operator", "") is None
    assert "out" in torch.ops.aten.resize.overloads()
