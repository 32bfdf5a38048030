"""Branches that few programs take, beside PyTorch: results, gradients, refusals and warnings."""

import warnings
from collections.abc import Iterator

import pytest
from expressions import check, check_session, lines

import mindtorch_v2 as torch
from mindtorch_v2 import distributions as D

LINES = lines("""
torch.histogramdd(x(5, 2).detach(), [2, 3, 4])
torch.atan2(x(3) * torch.tensor([0.0, 1.0, 1.0]), x(3) * torch.tensor([1.0, 0.0, 1.0]))
torch.tensordot(x(2, 1), x(3, 4), ([1], [0]))
torch.tensordot(x(2, 3), x(1, 4), ([1], [0]))
torch.tensordot(x(2, 3), x(4, 2), ([1], [0]))
torch.linalg.ldl_solve(torch.ones(1, 1), torch.ones(1, dtype=torch.int32), torch.ones(1, 1))
torch.linalg.ldl_solve(torch.ones(2, 2), torch.ones(2, dtype=torch.int32), torch.ones(2, 0))
torch.linalg.vector_norm(x(2, 3) * torch.tensor([[0.0], [1.0]]), 1.5, -1)
torch.linalg.vector_norm(x(2, 3) * torch.tensor([0.0, 1.0, 1.0]), 1.5, -1)
torch.linalg.vector_norm(x(2, 3) * torch.tensor([[0.0], [1.0]]), 2.5, -1)
torch.linalg.vector_norm(x(2, 3) * torch.tensor([[0.0], [1.0]]), 3, -1)
torch.linalg.vector_norm(x(2, 3) * torch.tensor([0.0, 1.0, 1.0]), 0.5, -1)
torch.trapezoid(x(2, 0), x(2, 0))
torch.trapezoid(x(2, 0))
torch.nonzero(torch.ones(2), as_tuple=True, out=torch.empty(0, dtype=torch.long))
torch.nn.functional.grid_sample(torch.ones(1, 2, 2), torch.ones(1, 1, 1, 2), align_corners=False)
torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2), align_corners=False)
torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 2), align_corners=False)
torch.nn.functional.grid_sample(torch.ones(1, 1, 0, 2), torch.ones(1, 1, 1, 2), align_corners=False)
torch.ones(2).__itruediv__(object()) is NotImplemented
torch.ones(2).__idiv__(object()) is NotImplemented
torch.ones(2).__div__(object()) is NotImplemented
torch.ones(2).__rdiv__(object()) is NotImplemented
torch.ones(2).__rdiv__(2.0)
torch.trapezoid(torch.ones(0, 2, dtype=torch.int64), dim=0)
torch.ones(2).map2_(torch.arange(2), torch.arange(2), lambda a, b, c: a)
x(2, 3).detach().to_sparse(layout=torch.sparse_csr).layout
x(2, 3).detach().to_sparse(layout=torch.sparse_coo).layout
torch.istft(torch.stft(x(40), 8, return_complex=True), 8, length=60)
torch.istft(torch.stft(x(2, 40), 8, return_complex=True), 8, length=30)
torch.lu_unpack(x(3, 3), torch.tensor([1, 2, 3], dtype=torch.int32))[2]
torch.lu_unpack(x(3, 3), torch.tensor([1, 2, 3], dtype=torch.int32))[1]
(lambda v, m: torch.autograd.grad(torch.autograd.grad(m(v)[0].sin().sum(), v, create_graph=True)[0].sin().sum(), [v, *m.parameters()]))(x(4, 1, 3), nn.LSTM(3, 2, dtype=torch.float64))
(lambda v, m: torch.autograd.grad(torch.autograd.grad(m(v)[1][1].sin().sum(), v, create_graph=True)[0].sin().sum(), [v, *m.parameters()]))(x(4, 1, 3), nn.LSTM(3, 2, dtype=torch.float64))
torch.func.jvp(lambda a, b: a * b, (x(3).detach().float(), x(3).detach()), (torch.ones(3), x(3).detach()))
torch.func.jvp(lambda a, b: a + b, (x(3).detach().float(), x(3).detach()), (torch.ones(3), x(3).detach()))
torch.func.jvp(lambda a, b: torch.cat([a, b]), (x(3).detach(), x(2).detach()), (x(3).detach(), x(2).detach()))
torch.func.jvp(lambda a: torch.cat([a, a.detach(), a]), (x(3).detach(),), (x(3).detach(),))
torch.func.jvp(lambda a: a.clone().mul_(2).add_(1), (x(3).detach(),), (x(3).detach(),))
torch.cuda.FloatTensor(2)
torch.DoubleTensor(torch.ones(2, dtype=torch.float64).untyped_storage())
torch.DoubleTensor(torch.ones(2, dtype=torch.float64).storage())
torch.FloatTensor(torch.ones(2, dtype=torch.float64).storage())
torch.FloatTensor(torch.Size([2])).shape
torch.LongTensor([1, 2], device="meta")
torch.ones(2).map_(torch.ones(2, dtype=torch.float64), lambda a, b: a)
torch.ones(2).map_(torch.arange(2.0), lambda a, b: a + b)
torch.ones(3).map2_(torch.arange(3.0), torch.arange(3.0), lambda a, b, c: a + b * c)
torch.ones(2).map2_(torch.arange(2.0), torch.arange(2), lambda a, b, c: a)
x(4, 2).__rmatmul__(x(3, 4))
x(4).__rmatmul__(x(3, 4))
nn.InstanceNorm2d(3, affine=True, bias=False).bias is None
nn.LazyBatchNorm1d(dtype=torch.float64)(x(4, 1))
(lambda m: (m(torch.ones(4, 1)), m.weight, m.bias, type(m).__name__)[1:])(nn.LazyBatchNorm1d())
dict(nn.Linear(1, 1)._replicate_for_data_parallel()._parameters)
nn.Linear(2, 1).to("cpu", torch.float64, True).weight.dtype
nn.Linear(2, 1).to(torch.float64, True).weight.dtype
nn.Linear(2, 1).to("cpu", torch.int64)
nn.Sequential(nn.Linear(1, 1)).load_state_dict({"0.weight": torch.ones(1, 1), "0.bias": torch.ones(1), "0.a.b.c": torch.ones(1), "1.d.e": torch.ones(1)})
F.embedding_bag(i(4, 3), x(3))
F.embedding_bag(i(4, 3).reshape(2, 2), x(3, 2), torch.tensor([0]))
nn.RNNCell(2, 0).weight_ih.shape
nn.GRUCell(2, 0).weight_hh.shape
nn.TransformerEncoderLayer(4, 1, 8, 0.0, dtype=torch.float64)(x(2, 3, 4), is_causal=True)
nn.TransformerDecoderLayer(4, 1, 8, 0.0, dtype=torch.float64)(x(2, 3, 4), x(2, 3, 4), tgt_is_causal=True)
(lambda u: (u.__setstate__({k: v for k, v in u.__dict__.items() if k != "recompute_scale_factor"}), u.recompute_scale_factor)[1])(nn.Upsample(2))
torch.optim.SparseAdam([z(2)])
torch.optim.SparseAdam([])
(lambda p, said: (lambda o: (o.register_step_post_hook(lambda who, a, k: said.append((who is o, a, sorted(k)))), p.sum().backward(), o.step(None), said)[3])(torch.optim.SGD([p], lr=0.1)))(x(2), [])
(lambda p, said: (lambda o: (o.register_step_pre_hook(lambda who, a, k: said.append((who is o, a, sorted(k)))), p.sum().backward(), o.step(closure=None), said)[3])(torch.optim.SGD([p], lr=0.1)))(x(2), [])
D.ContinuousBernoulli(torch.tensor([0.3]))._log_normalizer(torch.tensor([-2.0, -0.3, -0.002, 0.0, 0.0005, 0.002, 0.3, 2.0], dtype=torch.float64))
D.ContinuousBernoulli(torch.tensor([0.4, 0.4995, 0.5, 0.5004, 0.7], dtype=torch.float64)).entropy()
D.Laplace(0.0, 1.0).cdf(torch.tensor(float("nan")))
D.Laplace(0.0, 1.0).icdf(torch.tensor(0.25))
D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.2, 0.8])).base_dist.expand([2]).batch_shape
type(D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.2, 0.8])).base_dist.expand([2]).batch_shape).__name__
torch.func.vmap(lambda a, m, s: a.masked_scatter(m, s), (0, None, None))(x(2, 3), torch.tensor([True, True, True]), x(2))
torch.func.vmap(lambda a, b: a.histc(2, 0, 1) + b)(p(2, 3).detach(), x(2, 1))
torch.func.vmap(lambda v, q, m: F.scaled_dot_product_attention(q, v, v, m), (0, 0, None))(x(2, 3, 4), x(2, 3, 4), b(3, 3))
torch.func.jacrev(lambda v: (v.sin(), v.sum()))(x(3))
torch.func.jacfwd(lambda v: (v.sin(), v.sum()))(x(3))
torch.autograd.functional.hessian(lambda v: v.sum(), x(2).detach(), strict=True)
torch.autograd.functional.jvp(lambda v: v * 2, x(1).detach())
torch.autograd.functional.jvp(lambda v: v * 2, x(2).detach())
torch.autograd.functional.vjp(lambda v: v * 2, x(1).detach())
torch.autograd.functional.vhp(lambda v: (v * v).sum(), (x(2).detach(), x(2).detach()), (x(2).detach(),))
torch.autograd.functional.vjp(lambda v: v * 2, x(2).detach(), (x(2).detach(), x(2).detach()))
torch.autograd.backward([x(2).sum()], [torch.ones(())], grad_tensors=None, inputs=[])
torch.autograd.grad(x(2).sum(), [x(2)], is_grads_batched=True)
(lambda v: torch.autograd.grad([v.sin(), v.cos()], [v], [torch.ones(3, 2), torch.ones(3, 2)], is_grads_batched=True))(x(2))
(lambda v, w: torch.autograd.grad(F.group_norm(v, 2, w), [v, w], x(3, 2, 4, 3).detach(), is_grads_batched=True))(x(2, 4, 3), x(4))
(lambda v, w: torch.autograd.grad(F.cross_entropy(v, i(3, 4), w), [v], x(3).detach(), is_grads_batched=True))(x(3, 4), p(4).detach())
torch._C._functions.DelayedError("no", 1)(x(2))
torch._C._functions.DelayedError("no", 2)(x(2), x(2))
torch.func.grad(lambda a: a.sum())(i(3, 5))
torch.func.vjp(lambda a: a, i(3, 5))
torch.func.jvp(lambda a: a, (i(3, 5),), (i(3, 5),))
torch.func.jacrev(lambda a: a.sum())(i(2, 3))
torch.func.jacfwd(lambda a: a.sum())(i(2, 3))
torch.func.grad(lambda a: a)(x(2))
torch.func.grad(lambda a: a.sum(), argnums=1)(x(2))
torch.func.grad(lambda a: 3)(x(2))
torch.func.grad_and_value(lambda a: (a.sum(), a))(x(2))
torch.func.grad_and_value(lambda a: (a.sum(), a), has_aux=True)(x(2))
torch.func.vjp(lambda a: (a.sum(), a), x(2), has_aux=True)[0]
torch.func.jvp(lambda a: a, x(2).detach(), x(2).detach())
torch.func.jvp(lambda a: a, (x(2).detach(),), (x(3).detach(),))
torch.func.jvp(lambda a, b: a, (x(2).detach(), x(2).detach()), (x(2).detach(),))
torch.func.linearize(lambda a: a.sin(), x(2).detach())[1](x(2).detach())
torch.func.linearize(lambda a: a.sin(), x(2).detach())[1](x(3).detach())
torch.func.vmap(lambda a: a.sum(), in_dims=1)(x(2, 3))
torch.func.vmap(lambda a: a.sum(), in_dims=2)(x(2, 3))
torch.func.vmap(lambda a: a.sum(), in_dims=(0, 0))(x(2, 3))
torch.func.vmap(lambda a, b: a + b, in_dims=(0, 0))(x(2, 3), x(3, 3))
torch.func.vmap(lambda a: a, out_dims=1)(x(2, 3))
torch.func.vmap(lambda a: a, out_dims=2)(x(2, 3))
torch.func.vmap(lambda a: (a, a), out_dims=(0,))(x(2, 3))
torch.func.vmap(lambda a: a.item())(x(2))
torch.func.vmap(lambda a: a + torch.rand(3))(x(2, 3))
torch.func.vmap(lambda a: a + torch.rand(3), randomness="same")(x(2, 3))
torch.func.vmap(lambda a: a + torch.rand(3), randomness="other")(x(2, 3))
torch.func.vmap(lambda a: a * 2, chunk_size=2)(x(5, 3))
torch.func.vmap(lambda a: a * 2, chunk_size=0)(x(5, 3))
torch.func.vmap(lambda a, b: a @ b, in_dims=({"k": 0}["k"], None))(x(2, 3), x(3))
torch.func.functional_call(nn.Linear(2, 1, dtype=torch.float64), {"weight": x(1, 2), "bias": x(1)}, (x(3, 2),))
torch.func.functional_call(nn.Linear(2, 1, dtype=torch.float64), {"wait": x(1, 2)}, (x(3, 2),), strict=True)
[sorted(d) for d in torch.func.stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])]
torch.func.stack_module_state([nn.Linear(2, 1), nn.Bilinear(2, 1, 1)])
torch.func.stack_module_state([])
torch.func.functionalize(lambda a: a.clone().add_(1))(x(2))
torch.autograd.functional.jacobian(lambda a: a.sum(0), x(2, 3).detach(), vectorize=True, strategy="forward-mode")
torch.autograd.functional.jacobian(lambda a: a.sum(0), x(2, 3).detach(), strategy="forward-mode")
torch.autograd.functional.jacobian(lambda a: a.sum(0), x(2, 3).detach(), strategy="sideways")
torch.autograd.functional.hessian(lambda a: (a**3).sum(), x(3).detach(), vectorize=True, outer_jacobian_strategy="forward-mode")
torch.autograd.functional.hessian(lambda a: a, x(3).detach())
torch.autograd.functional.jacobian(lambda a: a.detach(), x(3).detach(), strict=True)
torch.autograd.functional.hvp(lambda a: (a**3).sum(), x(3).detach())
torch.autograd.functional.hvp(lambda a: (a**3).sum(), x(1).detach())
torch.autograd.functional.hvp(lambda a: (a**3).sum(), x(3).detach(), x(2).detach())
torch.autograd.functional.vjp(lambda a: a, x(3).detach())
torch.autograd.functional.vjp(lambda a: a.sum(), x(3).detach())
torch.autograd.functional.jvp(lambda a: a.sum(), x(3).detach(), x(2).detach())
torch.autograd.functional.jvp(lambda a: a.detach(), x(3).detach(), x(3).detach(), strict=True)
torch.autograd.gradcheck(lambda a: a.sin(), x(2), fast_mode=True)
torch.autograd.gradcheck(lambda a: a.detach(), x(2))
torch.autograd.gradcheck(lambda a: a.sin().to(torch.float32), x(2))
torch.autograd.gradgradcheck(lambda a: a.sin(), x(2))
torch.autograd.gradgradcheck(lambda a: a.sin(), x(2), check_fwd_over_rev=True, check_rev_over_rev=False)
torch.autograd.gradgradcheck(lambda a: a.sin(), x(2), check_rev_over_rev=False)
torch.autograd.gradgradcheck(lambda a: a.sin(), x(2), check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False, check_batched_grad=True)
torch.autograd.gradgradcheck(lambda a: a.sin(), x(2), check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False) and torch.manual_seed(0) is not None
torch.autograd.gradcheck(lambda a: (a.sin(), a.cos()), x(2), raise_exception=False)
F.grid_sample(x(1, 1, 2, 3), x(1, 2, 2, 2), align_corners=True, padding_mode="reflection")
F.huber_loss(x(2, 3), x(2, 3), delta=0.5, weight=p(2, 3))
F.l1_loss(x(2, 3), x(2, 3), weight=p(3, 2))
F.mse_loss(x(2, 3), x(2, 3), weight=p(2, 3))
F.smooth_l1_loss(x(2, 3), x(2, 3), beta=-1.0)
F.cosine_embedding_loss(x(2, 3), x(2, 3), torch.tensor([1.0, -1.0]), margin=0.3)
F.margin_ranking_loss(x(3), x(3), torch.tensor([1.0, -1.0, 1.0]), margin=0.3)
F.hinge_embedding_loss(x(3), torch.tensor([1.0, -1.0, 1.0]), margin=0.3)
F.multi_margin_loss(x(2, 3), i(2, 3), p=2, margin=0.4, weight=p(3).detach())
F.multilabel_soft_margin_loss(x(2, 3), b(2, 3).double(), weight=p(3))
F.triplet_margin_with_distance_loss(x(2, 3), x(2, 3), x(2, 3), margin=0.2, swap=True)
F.gaussian_nll_loss(x(2, 3), x(2, 3), p(2, 1), full=True)
F.gaussian_nll_loss(x(2, 3), x(2, 3), -p(2, 3))
F.poisson_nll_loss(x(3), p(3), log_input=False, full=True)
F.kl_div(x(3), p(3), log_target=True, reduction="batchmean")
F.ctc_loss(x(4, 2, 3).log_softmax(2), torch.tensor([[1, 2], [1, 1]]), torch.tensor([4, 4]), torch.tensor([2, 1]), zero_infinity=True)
F.adaptive_avg_pool2d(x(1, 2, 4, 5), (None, 2))
F.adaptive_max_pool2d(x(1, 2, 4, 5), (2, None), return_indices=True)
F.lp_pool1d(x(1, 2, 5), 3, 2, ceil_mode=True)
F.max_unpool2d(*F.max_pool2d(x(1, 1, 4, 4), 2, return_indices=True), 2, output_size=(5, 5))
F.max_unpool2d(*F.max_pool2d(x(1, 1, 4, 4), 2, return_indices=True), 2, output_size=(8, 8))
F.interpolate(x(1, 1, 3), scale_factor=1.7, recompute_scale_factor=True, mode="linear")
F.interpolate(x(1, 1, 3), size=4, scale_factor=2)
F.interpolate(x(1, 1, 3))
F.interpolate(x(1, 1, 3), scale_factor=(2, 2))
F.pad(x(2, 3), (1, 2), mode="circular")
F.pad(x(1, 2, 3), (1, 2), mode="circular")
F.pad(x(2, 3), (1, 1), value=2.0, mode="reflect")
F.unfold(x(2, 3, 4), (2, 2), dilation=2, padding=1)
F.fold(x(1, 4, 6), (3, 4), (2, 2))
F.embedding(i(3, 4), x(4, 2), padding_idx=-1, max_norm=0.5)
F.embedding(i(3, 4), x(4, 2), padding_idx=4)
F.embedding_bag(i(4, 3), x(3, 2), torch.tensor([0, 2]), mode="sum", per_sample_weights=p(4))
F.embedding_bag(i(4, 3), x(3, 2), torch.tensor([0, 2]), mode="max", padding_idx=1)
F.embedding_bag(i(4, 3), x(3, 2), torch.tensor([0, 2, 4]), include_last_offset=True)
F.scaled_dot_product_attention(x(1, 4, 3, 2), x(1, 2, 3, 2), x(1, 2, 3, 2), enable_gqa=True)
F.scaled_dot_product_attention(x(1, 3, 2), x(1, 3, 2), x(1, 3, 2), b(3, 3), is_causal=True)
F.multi_head_attention_forward(x(2, 1, 4), x(2, 1, 4), x(2, 1, 4), 4, 3, x(12, 4), None, None, None, False, 0.0, x(4, 4), None)
F.gumbel_softmax(x(2, 3), hard=True)
F.gumbel_softmax(x(2, 3), tau=0.5)
F.normalize(x(2, 3), p=1.0, dim=0)
F.local_response_norm(x(2, 3, 4), 2, k=0.5)
F.batch_norm(x(1, 3), None, None, training=True)
F.instance_norm(x(1, 3, 1))
F.group_norm(x(2, 6), 4)
F.alpha_dropout(x(3), p=1.5)
F.dropout2d(x(3))
F.feature_alpha_dropout(x(2, 3), 0.5, training=False)
F.bilinear(x(2, 3), x(2, 4), x(5, 3, 4), x(5))
F.pixel_shuffle(x(1, 3, 2, 2), 2)
F.channel_shuffle(x(1, 4, 2), 3)
F.one_hot(i(3, 4), 2)
F.tanhshrink(x(3))
F.softmin(x(2, 3), 0)
F.cosine_similarity(x(2, 3), x(2, 3), dim=0, eps=10.0)
nn.utils.rnn.pad_sequence([x(2), x(3)], padding_side="left", padding_value=7.0)
nn.utils.rnn.unpad_sequence(x(3, 2) * 1, torch.tensor([3, 1]))
nn.utils.rnn.pack_padded_sequence(x(3, 2), torch.tensor([1, 3]))
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(x(3, 2), torch.tensor([1, 3]), enforce_sorted=False), total_length=4)
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(x(3, 2), torch.tensor([3, 2])), total_length=2)
nn.utils.clip_grad_norm_([nn.Parameter(x(2))], 1.0)
nn.utils.vector_to_parameters(x(3), [nn.Parameter(x(2))])
nn.utils.parameters_to_vector([x(2), x(1, 2)])
nn.utils.fuse_conv_bn_eval(nn.Conv1d(1, 1, 1).double().eval(), nn.BatchNorm1d(1).double().eval())(x(1, 1, 2))
nn.utils.skip_init(nn.Linear, 2, 1).weight.shape
nn.MultiheadAttention(4, 3)
nn.Transformer(4, 2, 1, 1, 8, 0.0, batch_first=True, dtype=torch.float64)(x(1, 2, 4), x(1, 3, 4), tgt_is_causal=True, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64))
nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], dtype=torch.float64)(x(3, 4), i(3, 6)).loss
nn.AdaptiveLogSoftmaxWithLoss(4, 6, [4, 2])
nn.ParameterList([x(2), x(1)]).append(x(3))[-1].shape
nn.ModuleDict({"a": nn.Identity()}).pop("b")
nn.Sequential(nn.Identity(), nn.ReLU()).insert(1, nn.Tanh())
nn.Unflatten(1, (2, 3))(x(2, 6))
nn.Flatten(1, -2)(x(2, 3, 4))
nn.PReLU(2, dtype=torch.float64)(x(1, 2, 3))
nn.Softmax2d()(x(2))
nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)(x(1, 1, 2, 2))
torch.linalg.matrix_power(x(2, 2, 2), 0)
torch.matrix_power(x(0, 0), 0)
x(2).detach().to("meta").new(2, 3).device
x(2).detach().to("meta").new([1.0, 2.0]).device
(lambda v: (torch.DoubleTensor(v.untyped_storage()).fill_(3), v)[1])(torch.ones(2, dtype=torch.float64))
(lambda v: (torch.DoubleTensor(v.storage()).fill_(3), v)[1])(torch.ones(2, dtype=torch.float64))
nn.utils.parameters_to_vector([x(2), x(2, 2)])
optim.lr_scheduler.LRScheduler._get_lr_called_within_step
optim.lr_scheduler.LRScheduler._is_initial
torch.ops.aten._grouped_mm(torch.ones(16, 16, dtype=torch.bfloat16, device="meta"), torch.ones(2, 16, 16, dtype=torch.bfloat16, device="meta"), torch.tensor([8, 16], dtype=torch.int32, device="meta"), out_dtype=torch.bfloat16).dtype
torch._grouped_mm(torch.ones(2, 8, 16, dtype=torch.bfloat16), torch.ones(2, 16, 8, dtype=torch.bfloat16), None, None, torch.float32)
torch._grouped_mm(torch.ones(2, 8, 16), torch.ones(2, 16, 8), None, None, torch.float32)
torch.autograd.gradcheck(lambda v: v[:0].sum() + v.sum(), x(3), check_forward_ad=True)
[torch.softmax(torch.arange(n).float() * 0.01 - 1, 0) for n in (63, 64, 65, 130)]
[torch.softmax(torch.cat([torch.arange(130).float() * 0.01, torch.tensor([v])]), 0)[[0, 63, 64, 129, 130]] for v in (float("nan"), float("inf"), -float("inf"), -200.0)]
torch.softmax(torch.cat([torch.full((70,), -float("inf")), torch.full((70,), float("inf"))]), 0)
torch.log_softmax(torch.cat([torch.full((70,), -float("inf")), torch.ones(70)]), 0)
torch.log_softmax(torch.full((70,), -float("inf")), 0)
torch.ops.aten._log_softmax_backward_data(torch.ones(5), torch.tensor([-100.0, 90.0, float("nan"), -float("inf"), 0.5]), 0, torch.float32)
(lambda v: (F.cross_entropy(v, torch.tensor([1, 64])).backward(), v.grad)[1])(torch.cat([torch.full((2, 64), -50.0), torch.full((2, 6), 60.0)], 1).requires_grad_())
torch.logsumexp(torch.cat([torch.full((70,), -float("inf")), torch.tensor([float("nan")])]), 0)
F.max_unpool2d(torch.zeros(2, 0, 2, 2), torch.zeros(2, 0, 2, 2, dtype=torch.int64), 2)
F.max_unpool2d(torch.zeros(0, 2, 2, 2), torch.zeros(0, 2, 2, 2, dtype=torch.int64), 2).shape
F.max_unpool2d(torch.zeros(0, 2, 2), torch.zeros(0, 2, 2, dtype=torch.int64), 2)
D.constraints.symmetric.check(torch.tensor([[1.0, 0.0], [5e-7, 1.0]]))
D.constraints.symmetric.check(torch.tensor([[1.0, 0.0], [2e-6, 1.0]]))
D.constraints.positive_definite.check(torch.tensor([[1.0, 0.0], [5e-7, 1.0]]))
D.exp_family.ExponentialFamily.entropy(D.Dirichlet(p(3).detach().requires_grad_())).requires_grad
D.exp_family.ExponentialFamily.entropy(D.Exponential(p(3).detach()))
""")
SESSIONS = [
    "F.affine_grid(x(1, 2, 3), (1, 1, 1, 2), align_corners=True)\n"
    "F.affine_grid(x(1, 2, 3), (1, 1, 1, 2), align_corners=False)\n"
    "F.affine_grid(x(1, 2, 3), (1, 1, 2, 2), align_corners=True)",
    """
    torch.set_default_dtype(torch.bfloat16)
    p = nn.Parameter(torch.ones(2))
    o = torch.optim.NAdam([p], lr=0.1)
    p.sum().backward()
    o.step()
    torch.set_default_dtype(torch.float32)
    {k: (v.dtype, v.device.type) for k, v in sorted(o.state[p].items())}
    s = o.state_dict()
    s["state"][0]["mu_product"] = 0.5
    o.load_state_dict(s)
    """,
    """
    p = nn.Parameter(torch.ones(2, dtype=torch.float64))
    q = p * 1.0
    o = torch.optim.Adam([q], lr=torch.tensor(0.1, dtype=torch.float64), amsgrad=True, differentiable=True)
    q.grad = p * 3
    o.step()
    q.grad = p * 2
    o.step()
    q.sum().backward()
    p.grad
    """,
    """
    p = nn.Parameter(torch.ones(2))
    o = torch.optim.SGD([p], lr=torch.tensor([0.1]))
    p.sum().backward()
    o.step()
    p
    """,
]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("text", LINES)
def test_expression(text: str) -> None:
    check(text)


@pytest.mark.parametrize("text", SESSIONS)
def test_session(text: str) -> None:
    check_session(text)


@pytest.mark.no_torch
@pytest.mark.parametrize("transform", [D.TanhTransform(), D.PowerTransform(torch.tensor(2.0)), D.ExpTransform()])
def test_transforms_can_be_keys(transform: D.Transform) -> None:
    """Those of PyTorch cannot, all of them."""
    assert {transform: 1}[transform] == 1


@pytest.fixture
def told_always() -> Iterator[None]:
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.no_torch
@pytest.mark.parametrize(
    ("size", "said"),
    [((), "deprecated on 0-D tensors. This function"), ((3,), "other than 2 to reverse"), ((1, 2, 3), "other than 2")],
)
@pytest.mark.usefixtures("told_always")
def test_reversed_tensors_that_are_no_matrices(size: tuple[int, ...], said: str) -> None:
    with pytest.warns(UserWarning, match=said):
        assert torch.ones(size).T.shape == size[::-1]


@pytest.mark.no_torch
@pytest.mark.usefixtures("told_always")
def test_the_adjoint_of_a_number() -> None:
    with pytest.warns(UserWarning, match="Tensor.H is deprecated on 0-D tensors. Consider using x.conj"):
        assert torch.tensor(1j).H.item() == -1j
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.ones(2, 3).T.shape == torch.ones(2, 3).H.shape == (3, 2)
