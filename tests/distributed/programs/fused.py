"""Products fused with communication and experts on other processes, each beside the same in NumPy from all ranks' numbers.

The last line is the largest difference of each operator as JSON.
"""

import json
import sys
from typing import Any

import numpy as np

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist

store, rank, size, device = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if device == "npu":
    torch.npu.set_device(rank)
dist.init_process_group(
    "hccl" if device == "npu" else "gloo", init_method=f"file://{store}", rank=rank, world_size=size
)
hcom = dist.group.WORLD._get_backend(torch.device(device)).get_hccl_comm_name(rank)
numbers = np.random.default_rng(7)  # the same on all ranks
npu = torch.ops.npu
differences: dict[str, float] = {}


def on(x: np.ndarray, dtype: Any = torch.float32) -> torch.Tensor:
    return torch.tensor(x, dtype=dtype).to(device)


def check(name: str, ours: torch.Tensor, theirs: np.ndarray) -> None:
    assert tuple(ours.shape) == theirs.shape, (name, ours.shape, theirs.shape)
    differences[name] = float(np.abs(ours.cpu().to(torch.float64).numpy() - theirs).max(initial=0.0))


x, w, bias = numbers.normal(size=(size, 4, 6)), numbers.normal(size=(size, 6, 5)), numbers.normal(size=(size, 5))
extra = numbers.normal(size=(size, 4, 5))
total = (x @ w + bias[:, None] + extra).sum(0)
check(
    "all_reduce",
    npu.npu_mm_all_reduce_base(on(x[rank]), on(w[rank]), hcom, bias=on(bias[rank]), x3=on(extra[rank])),
    total,
)
part = npu.npu_mm_reduce_scatter_base(on(x[rank]), on(w[rank]), hcom, size)
check("reduce_scatter", part, (x @ w).sum(0)[4 // size * rank : 4 // size * (rank + 1)])
y, rows = npu.npu_all_gather_base_mm(on(x[rank]), on(w[rank]), hcom, size, bias=on(bias[rank]))
check("all_gather", y, x.reshape(-1, 6) @ w[rank] + bias[rank])
check("all_gather_rows", rows, x.reshape(-1, 6))

a, b = numbers.integers(-9, 9, (size, 4, 6)), numbers.integers(-9, 9, (size, 6, 5))
of_column, of_row = numbers.random((size, 5)), numbers.random((size, 4))
plain = (a @ b) * of_column[:, None] * of_row[..., None]
quantised = {"x1_scale": on(of_row[rank]), "x2_scale": on(of_column[rank])}
y, _, _ = npu.npu_all_gather_quant_mm(
    on(a[rank], torch.int8), on(b[rank], torch.int8), hcom, size, y_dtype=6, **quantised
)
every = (a.reshape(-1, 6) @ b[rank]) * of_column[rank] * of_row.reshape(-1, 1)
check("all_gather_quant", y, every)
y, _ = npu.npu_quant_mm_reduce_scatter(
    on(a[rank], torch.int8), on(b[rank], torch.int8), hcom, size, y_dtype=6, **quantised
)
check("reduce_scatter_quant", y, plain.sum(0)[4 // size * rank : 4 // size * (rank + 1)])

# Rows to the processes, side by side, then a product; or a product, and its columns to the processes.
beside = np.concatenate(np.split(x, size, 1)[rank], 1)  # this rank's part of all ranks' rows
tall, wide = numbers.normal(size=(size, 6 * size, 5)), numbers.normal(size=(size, 6, 4 * size))
y, rows = npu.npu_all_to_all_matmul(on(x[rank]), on(tall[rank]), hcom, size, bias=on(bias[rank]), all2all_axes=[-2, -1])
check("all_to_all_matmul", y, beside @ tall[rank] + bias[rank])
check("all_to_all_rows", rows, beside)
y = npu.npu_matmul_all_to_all(on(x[rank]), on(wide[rank]), hcom, size, all2all_axes=[-1, -2])
check("matmul_all_to_all", y, np.concatenate(np.split(x @ wide, size, 2)[rank], 0))
whole_wide, of_wide = numbers.integers(-9, 9, (size, 6, 4 * size)), numbers.random((size, 4 * size))
y = npu.npu_quant_matmul_all_to_all(
    on(a[rank], torch.int8), on(whole_wide[rank], torch.int8), hcom, size, x1_scale=on(of_row[rank]), x2_scale=on(of_wide[rank]),
    x1_quant_mode=3, x2_quant_mode=2,
)  # fmt: skip
every = (a @ whole_wide) * of_wide[:, None] * of_row[..., None]
check("quant_matmul_all_to_all", y, np.concatenate(np.split(every, size, 2)[rank], 0))
whole_tall = numbers.integers(-9, 9, (size, 6 * size, 5))
y, _ = npu.npu_all_to_all_quant_matmul(
    on(x[rank]),
    on(whole_tall[rank], torch.int8),
    hcom,
    size,
    x2_scale=on(of_column[rank]),
    x1_quant_dtype=1,
    x1_quant_mode=7,
)
short = beside.astype(np.float32)
step = np.abs(short).max(1, keepdims=True) / np.float32(127)
check("all_to_all_quant", y, np.rint(short / step) * step @ whole_tall[rank] * of_column[rank])

# Two experts a rank; rank r sends r + 1 + e rows to expert e of all.
experts = 2
send = [[r + 1 + e for e in range(size * experts)] for r in range(size)]
receive = [send[other][rank * experts + e] for other in range(size) for e in range(experts)]
tokens = [numbers.normal(size=(sum(send[r]), 3)) for r in range(size)]
weights = numbers.normal(size=(size * experts, 3, 4))
cuts = [np.split(tokens[r], np.cumsum(send[r])[:-1]) for r in range(size)]
mine = [np.concatenate([cuts[other][rank * experts + e] for other in range(size)]) for e in range(experts)]
y, beside, permuted = npu.npu_alltoallv_gmm(
    on(tokens[rank]), on(weights[rank * experts : (rank + 1) * experts]), hcom, size, send[rank], receive,
    mm_x=on(x[rank]), mm_weight=on(w[rank]), permute_out_flag=True,
)  # fmt: skip
check("alltoallv_gmm", y, np.concatenate([m @ weights[rank * experts + e] for e, m in enumerate(mine)]))
check("alltoallv_gmm_beside", beside, x[rank] @ w[rank])
check("alltoallv_gmm_rows", permuted, np.concatenate(mine))
y, _ = npu.npu_gmm_alltoallv(
    permuted, on(weights[rank * experts : (rank + 1) * experts]), hcom, size, receive, send[rank]
)
check("gmm_alltoallv", y, np.concatenate([c @ weights[i] for i, c in enumerate(cuts[rank])]))

eight = [numbers.integers(-9, 9, t.shape) for t in tokens]
eight_weights = numbers.integers(-9, 9, weights.shape)
cuts = [np.split(eight[r], np.cumsum(send[r])[:-1]) for r in range(size)]
mine = [np.concatenate([cuts[other][rank * experts + e] for other in range(size)]) for e in range(experts)]
scales = on(np.array([0.5])), on(np.array([0.25]))
modes = {"gmm_x_quant_mode": 1, "gmm_weight_quant_mode": 1}
own = on(eight_weights[rank * experts : (rank + 1) * experts], torch.int8)
y, _, permuted = npu.npu_alltoallv_quant_gmm(
    on(eight[rank], torch.int8), own, *scales, hcom, size, send[rank], receive, 6, permute_out_flag=True, **modes
)
check("alltoallv_quant_gmm", y, np.concatenate([m @ eight_weights[rank * experts + e] for e, m in enumerate(mine)]) / 8)
y, _ = npu.npu_quant_gmm_alltoallv(permuted, own, *scales, hcom, size, receive, send[rank], 6, **modes)
check("quant_gmm_alltoallv", y, np.concatenate([c @ eight_weights[i] for i, c in enumerate(cuts[rank])]) / 8)
if device == "cpu":  # the emulated chip does not compute with float8
    blocks = [
        npu.npu_dynamic_mx_quant(torch.tensor(numbers.normal(size=(sum(send[r]), 64))).float(), dst_type=292)
        for r in range(size)
    ]
    matrix, exponents = npu.npu_dynamic_mx_quant(
        torch.tensor(numbers.normal(size=(size * experts, 4, 64))).float(), dst_type=292
    )
    part = slice(rank * experts, (rank + 1) * experts)
    modes = {"gmm_x_quant_mode": 6, "gmm_weight_quant_mode": 6}
    y, *_ = npu.npu_alltoallv_quant_gmm(
        blocks[rank][0].to(device), matrix[part].mT.to(device), blocks[rank][1].to(device), exponents[part].transpose(1, 2).to(device),
        hcom, size, send[rank], receive, 6, **modes,
    )  # fmt: skip
    values = [npu.npu_anti_mx_quant(*each, dst_type=6).double().numpy() for each in blocks]
    columns = npu.npu_anti_mx_quant(matrix, exponents, dst_type=6).double().numpy()
    cuts = [np.split(values[r], np.cumsum(send[r])[:-1]) for r in range(size)]
    mine = [np.concatenate([cuts[other][rank * experts + e] for other in range(size)]) for e in range(experts)]
    check("alltoallv_mx_gmm", y, np.concatenate([m @ columns[rank * experts + e].T for e, m in enumerate(mine)]))

# Tokens to experts of which each multiplies by its number + 1, and back.
count, choices, width = 5, 2, 4
xs = numbers.normal(size=(size, count, width)).astype(np.float32)
ids = np.stack([[numbers.permutation(size * experts)[:choices] for _ in range(count)] for _ in range(size)])
scores = numbers.random((size, count, choices))
expected = (xs[..., None, :] * (ids[..., None] + 1) * scores[..., None]).sum(2)[rank]
for version in ("", "_v2"):
    place = (hcom, size, rank, size * experts)
    given = (on(xs[rank]), on(ids[rank], torch.int32), *place)
    dispatch, combine = (getattr(npu, f"npu_moe_distribute_{name}{version}") for name in ("dispatch", "combine"))
    rows, _, index, held, ends, *_ = dispatch(*given)
    arrived = int(held.sum())
    assert arrived == int(ends[-1]) == int((ids // experts == rank).sum()) and rows.shape[0] == count * size * 2
    number = np.repeat(np.arange(experts), held.cpu().numpy()) + rank * experts + 1
    check(f"dispatch{version}", rows[arrived:], np.zeros((rows.shape[0] - arrived, width)))
    done = rows.clone()
    done[:arrived] *= on(number[:, None])
    back = combine(done, on(ids[rank], torch.int32), index, ends, on(scores[rank]), *place)
    check(f"combine{version}", back, expected)
residual, gain = numbers.normal(size=(size, count, 1, width)), numbers.normal(size=width)
y, rstd, total = npu.npu_moe_distribute_combine_add_rms_norm(
    done, on(ids[rank], torch.int32), index, ends, on(scores[rank]), on(residual[rank]), on(gain), *place
)
summed = expected[:, None] + residual[rank]
root = 1 / np.sqrt((summed**2).mean(-1, keepdims=True) + 1e-6)
for name, found, wanted in (("normal", y, summed * root * gain), ("root", rstd, root), ("sum", total, summed)):
    check(f"combine_add_rms_norm_{name}", found, wanted)
rows, row_scales, *_ = npu.npu_moe_distribute_dispatch(*given, quant_mode=2)
plain_rows = dispatch(*given)[0][:arrived].cpu().numpy()
restored = (rows[:arrived].float() * row_scales[:arrived, None]).cpu().numpy()
assert np.abs(restored - plain_rows).max() <= np.abs(plain_rows).max() / 254 + 1e-6

mask = np.arange(count) < 3
_, _, _, held, ends, *_ = given_masked = dispatch(
    *given, x_active_mask=on(mask, torch.bool), expert_scales=on(scores[rank])
)
ours = combine(
    given_masked[0], on(ids[rank], torch.int32), given_masked[2], ends, on(scores[rank]), *place,
    x_active_mask=on(mask, torch.bool),
)  # fmt: skip
check("masked", ours, xs[rank] * scores[rank].sum(1, keepdims=True) * mask[:, None])
beyond = ids[rank].copy()
beyond[:, 1] = size * experts + np.arange(count) % 3  # nothing, a copy, a constant
given = (on(xs[rank]), on(beyond, torch.int32), *place)
kinds = {"zero_expert_num": 1, "copy_expert_num": 1, "const_expert_num": 1}
rows, _, index, held, ends, *_ = dispatch(*given, **kinds)
alpha, beta, v = (numbers.normal(size=(1, width)) for _ in range(3))
ours = combine(
    rows, on(beyond, torch.int32), index, ends, on(scores[rank]), *place, ori_x=on(xs[rank]),
    const_expert_alpha_1=on(alpha), const_expert_alpha_2=on(beta), const_expert_v=on(v), **kinds,
)  # fmt: skip
second = [0 * xs[rank], xs[rank], alpha * xs[rank] + beta * v]
theirs = np.stack([second[t % 3][t] for t in range(count)])
check("special", ours, xs[rank] * scores[rank][:, :1] + theirs * scores[rank][:, 1:])

try:
    npu.npu_mm_all_reduce_base(on(x[rank]), on(w[rank]), "nobody")
except RuntimeError as error:
    assert "hcom must be the name of a group" in str(error) and "'nobody'" in str(error), error
else:
    raise AssertionError("a group of no name was found")
dist.barrier()
print(json.dumps(differences))
