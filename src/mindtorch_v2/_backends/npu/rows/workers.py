"""Tokens that pass between processes of attention and processes of experts, in memory that a context describes.

The context is a structure of 1,024 bytes with addresses of the device. What lies there is copied, in the order of the stream, and the
results are made from the copies.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .. import state
from ..runtime import D2D
from .checks import composite, require, require_choice, require_dtype, wide
from .numbers import has_numbers

_INT8, _INT32, _INT64, _FLOAT32 = DTYPES["int8"], DTYPES["int32"], DTYPES["int64"], DTYPES["float32"]
_CONTEXT_BYTES = 1024
_WORDS = {  # uint32 by place
    "session_num": 0, "micro_batch_num": 4, "micro_batch_size": 8, "selected_expert_num": 12, "token_size": 20,
    "attention_micro_batch_id": 288, "out_num": 576,
}  # fmt: skip
_LONG_WORDS = {"polling_index": 416}
_AREAS = {  # address, then its size in bytes
    "attention token data": 272, "token info": 384, "token data": 400, "session ids": 528, "micro batch ids": 544,
    "expert ids": 560,
}  # fmt: skip
_TOKEN_TYPES = {0: DTYPES["float16"], 1: DTYPES["bfloat16"], 2: _INT8}


class _Context:
    """The numbers of a context, and copies of the memory that it names."""

    def __init__(self, operator: str, tensor: Any) -> None:
        self.operator, self.device = operator, tensor.device
        data = bytes(n & 255 for n in tensor.tolist())
        self.numbers = {name: struct.unpack_from("<I", data, at)[0] for name, at in _WORDS.items()}
        self.numbers.update({name: struct.unpack_from("<Q", data, at)[0] for name, at in _LONG_WORDS.items()})
        self.areas = {name: struct.unpack_from("<QQ", data, at) for name, at in _AREAS.items()}

    def __getitem__(self, name: str) -> int:
        return int(self.numbers[name])

    def memory(self, name: str, first: int, nbytes: int) -> Any:
        """A copy of `nbytes` bytes of an area, from its byte `first` on."""
        address, size = self.areas[name]
        require(
            address != 0 and first + nbytes <= size,
            self.operator,
            f"the area for {name} must have {first + nbytes} bytes, but the context says {size if address else 0}",
        )
        made = aten.empty([nbytes], dtype=DTYPES["uint8"], device=self.device)
        if self.device.type == "cpu":
            ctypes.memmove(made.data_ptr(), address + first, nbytes)
        else:
            state.get().transfer(made.data_ptr(), address + first, nbytes, D2D, self.device.index, True, None)
        return made

    def whole_numbers(self, name: str, count: int) -> Any:
        return self.memory(name, 0, 4 * count).view(_INT32)


def _check(operator: str, schedule_context: Any) -> None:
    require_dtype(operator, "schedule_context", schedule_context, ("int8",))
    require(
        list(schedule_context.shape) == [_CONTEXT_BYTES],
        operator,
        f"schedule_context must have {_CONTEXT_BYTES} bytes in one dimension, but its sizes are {list(schedule_context.shape)}",
    )
    require(
        schedule_context.device.type in ("npu", "cpu", "meta"),
        operator,
        f"schedule_context must be on an NPU or the CPU, whose memory it names, but it is on {schedule_context.device}",
    )


@composite(
    "npu::npu_attention_worker_combine(Tensor schedule_context, Tensor expert_scales, Tensor layer_id, int hidden_size, *, int "
    "token_dtype=0, int need_schedule=0) -> (Tensor, Tensor)",
    "The sum of what a token's experts made of it, times expert_scales, and of what the shared one made, from the memory that a context "
    "names; and the number of the next layer.",
    explicit=True,
    samples=None,  # a context made from the schema would name no memory
)
def npu_attention_worker_combine(
    schedule_context: Any, expert_scales: Any, layer_id: Any, hidden_size: int, *, token_dtype: int = 0, need_schedule: int = 0,
) -> tuple:  # fmt: skip
    operator = "npu_attention_worker_combine"
    _check(operator, schedule_context)
    require_choice(operator, "token_dtype", token_dtype, (0, 1, 5))  # torch.half is 5
    require_choice(operator, "need_schedule", need_schedule, (0,))
    require_dtype(operator, "expert_scales", expert_scales, ("float32",))
    require(
        expert_scales.dim() == 2,
        operator,
        f"expert_scales must be (tokens, experts), but it has {expert_scales.dim()} dimensions",
    )
    tokens, chosen = expert_scales.shape
    dtype = _TOKEN_TYPES[1 if token_dtype == 1 else 0]
    if not has_numbers(schedule_context):
        made = aten.empty([tokens, hidden_size], dtype=dtype, device=schedule_context.device)
        return made, aten.empty([1], dtype=_INT32, device=schedule_context.device)
    context = _Context(operator, schedule_context)
    sizes = context["micro_batch_size"], context["selected_expert_num"]
    require(
        sizes == (tokens, chosen + 1),
        operator,
        f"expert_scales must be ({sizes[0]}, {sizes[1] - 1}), as the context says, but it is ({tokens}, {chosen})",
    )
    nbytes = tokens * (chosen + 1) * hidden_size * 2
    rows = context.memory("attention token data", context["attention_micro_batch_id"] * nbytes, nbytes)
    rows = wide(rows.view(dtype).reshape([tokens, chosen + 1, hidden_size]))
    total = (rows[:, :chosen] * expert_scales.unsqueeze(-1)).sum([1]) + rows[:, chosen]
    return total.to(dtype), (layer_id + 1).to(_INT32)


def _ready(context: _Context, batch: int, per_session: int) -> tuple[Any, Any]:
    """Numbers of the sessions that have sent a micro batch, the first out_num, and the experts of their tokens."""
    sessions, batches = context["session_num"], context["micro_batch_num"]
    info = context.whole_numbers("token info", sessions * batches * (per_session + 2))
    info = info.reshape([sessions, batches, per_session + 2])[:, batch]
    sent = aten.flatten(aten.nonzero(info[:, 0] == 1))[: context["out_num"]]
    require(
        sent.shape[0] == context["out_num"],
        context.operator,
        f"{context['out_num']} sessions were expected to have sent micro batch {batch}, but only {sent.shape[0]} of {sessions} have",
    )
    return sent, aten.index_select(info, 0, sent)[:, 2:]


@composite(
    "npu::npu_ffn_worker_batching(Tensor schedule_context, int expert_num, int[4] max_out_shape, *, int token_dtype=0, int "
    "need_schedule=0, int layer_num=0) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    "Tokens that sessions sent, from the memory that a context names, in the order of their experts: the rows, each expert that has some "
    "and how many, and of each row its session, micro batch, token, choice and scale; and how many rows there are.",
    explicit=True,
    samples=None,  # a context made from the schema would name no memory
)
def npu_ffn_worker_batching(
    schedule_context: Any, expert_num: int, max_out_shape: Any, *, token_dtype: int = 0, need_schedule: int = 0, layer_num: int = 0,
) -> tuple:  # fmt: skip
    operator = "npu_ffn_worker_batching"
    _check(operator, schedule_context)
    require(expert_num > 0, operator, f"expert_num must be positive, but it is {expert_num}")
    require(
        len(max_out_shape) == 4 and min(max_out_shape) > 0,
        operator,
        f"max_out_shape must be four positive numbers (sessions, tokens, choices, width), but it is {list(max_out_shape)}",
    )
    require_choice(operator, "token_dtype", token_dtype, (0, 1, 2))
    require_choice(operator, "need_schedule", need_schedule, (0, 1))
    require_choice(operator, "layer_num", layer_num, (0, 1))
    device, (most, tokens, choices, width) = schedule_context.device, max_out_shape
    count = most * tokens * choices
    kinds = [_INT32] * 4 + [_FLOAT32]
    y = aten.zeros([count, width], dtype=_TOKEN_TYPES[token_dtype], device=device)
    groups = aten.zeros([expert_num, 2], dtype=_INT64, device=device)
    of_rows = [aten.zeros([count], dtype=kind, device=device) for kind in kinds]
    if not has_numbers(schedule_context):
        return y, groups, *of_rows, aten.zeros([1], dtype=_INT64, device=device)
    context = _Context(operator, schedule_context)
    sizes = context["micro_batch_size"], context["selected_expert_num"]
    require(
        sizes == (tokens, choices) and context["out_num"] <= most,
        operator,
        f"max_out_shape must begin with at least {context['out_num']}, then {sizes[0]}, {sizes[1]}, as the context says, "
        f"but it is {list(max_out_shape)}",
    )
    sessions, batches, per_session = context["session_num"], context["micro_batch_num"], tokens * choices
    if need_schedule:
        batch = context["polling_index"] % batches
        sent, experts = _ready(context, batch, per_session)
        batch_of = aten.full_like(sent, batch)
    else:
        sent, batch_of = (
            context.whole_numbers(name, context["out_num"]) for name in ("session ids", "micro batch ids")
        )
        experts = context.whole_numbers("expert ids", context["out_num"] * per_session)
    experts = experts.reshape([-1]).to(_INT64)
    experts = aten.where(
        (experts >= 0) & (experts < expert_num), experts, expert_num
    )  # those of other processes go last
    order = aten.argsort(experts, stable=True)
    counts = aten.bincount(experts, minlength=expert_num + 1)[:expert_num]
    rows = int(counts.sum().item())
    order = order[:rows]
    session, batch_of = (aten.index_select(x.to(_INT64), 0, order // per_session) for x in (sent, batch_of))
    place = order % per_session
    stride = context["token_size"]
    data = context.memory("token data", 0, sessions * batches * per_session * stride).reshape([-1, stride])
    taken = aten.index_select(data, 0, (session * batches + batch_of) * per_session + place)
    own = width * y.element_size()
    aten.copy_(y[:rows], aten.contiguous(taken[:, :own]).view(y.dtype))
    parts = [session, batch_of, place // choices, place % choices]
    if token_dtype == 2:
        parts.append(aten.contiguous(taken[:, own : own + 4]).view(_FLOAT32).reshape([-1]))
    for target, numbers in zip(of_rows, parts, strict=False):
        aten.copy_(target[:rows], numbers)
    some = aten.flatten(aten.nonzero(counts))
    aten.copy_(groups[: some.shape[0]], aten.stack([some, aten.index_select(counts, 0, some)], -1))
    return y, groups, *of_rows, aten.full([1], rows, dtype=_INT64, device=device)
