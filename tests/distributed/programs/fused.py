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
