"""Padding: with a constant, by reflection, by repeating the edge."""

from ..table import S, Sample, T, aten, op, rule

op(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    "Adds items of one value at the ends of the last dimensions; negative amounts take items away.",
    bind="function generated_out",
    batching="dims",
    tags="core",
    tangent=lambda self_t, pad: aten.constant_pad_nd(self_t, pad, 0),
    meta=rule("constant_pad_nd"),
    grad={"self": lambda grad, pad: aten.constant_pad_nd(grad, [-n for n in pad], 0)},
    dtypes="all",
    samples=[S(T(3, 4), [1, 2]), S(T(2, 3, 4), [1, -1, 0, 2], 3), S(T(2, 3), [-1, 0, 0, 0])],
)


def _edge_sample(shape, pad) -> Sample:
    """The gradient of a tensor of this shape, which was padded by as much."""
    spatial = len(pad) // 2
    wide = [n + sum(pad[2 * i : 2 * i + 2]) for i, n in enumerate(reversed(shape[-spatial:]))]
    return S(T(*shape[:-spatial], *reversed(wide)), T(*shape, grad=False), pad)


def _edge_grads(name) -> tuple:
    return (
        lambda grad, self, padding: getattr(aten, name + "_backward")(grad, self, padding),
        lambda grad, padding: getattr(aten, name)(grad, padding),
    )


for _name, _doc in (
    ("reflection_pad", "Continues with the mirror image, the edge not repeated."),
    ("replication_pad", "Continues with the edge's item."),
):
    for _d, _shape, _pad in (
        (1, (2, 3, 5), [2, 1]),
        (2, (2, 3, 4, 5), [1, 2, 3, 0]),
        (3, (1, 2, 3, 4, 5), [1, 2, 0, 1, 2, 1]),
    ):
        _to_self, _to_grad = _edge_grads(f"{_name}{_d}d")
        op(
            f"{_name}{_d}d(Tensor self, SymInt[{2 * _d}] padding) -> Tensor",
            _doc,
            bind="nn out",
            out_dtype="expected scalar type {result} but found {out}"
            if _name == "reflection_pad" and _d == 2
            else "exact",
            batching="planes",
            tags="" if _name == "replication_pad" and _d == 1 else "core",
            linear="self",
            autocast="" if _name == "reflection_pad" and _d == 3 else "float32",
            meta=rule(f"{_name}{_d}d"),
            grad={"self": _to_self},
            samples=[S(T(*_shape), _pad), S(T(*_shape[1:]), _pad)],
        )
        op(
            f"{_name}{_d}d_backward(Tensor grad_output, Tensor self, SymInt[{2 * _d}] padding) -> Tensor",
            f"Gradient of {_name}{_d}d.",
            bind="out",
            out_dtype="expected scalar type {result} but found {out}" if _d == 2 else "exact",
            out_overload="grad_input grad_input",
            batching="planes",
            meta=rule(f"{_name}{_d}d_backward"),
            grad={"grad_output": _to_grad, "self": lambda self: aten.zeros_like(self)},
            samples=[_edge_sample(_shape, _pad)],
        )
