"""Forms that write none of their arguments: what the operator in place would write is copied, and the copies are results.

Programs without writes consist of them. Their schemas follow from that of the operator in place, as PyTorch generates them.
"""

from __future__ import annotations

import re
from typing import Any

from ... import _C
from ..table import aten, composite, fill_exactly

_MARK = re.compile(r"\([a-z]!\)")


def _copied(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_copied(each) for each in value]
    return aten.clone(aten.detach(value))


def _without_data(values: list[Any]) -> bool:
    """Whether the first tensor of these, or of the lists of these, has sizes and no data."""
    first = next((each for value in values for each in (value if isinstance(value, list) else (value,))), None)
    return first is not None and first.is_meta


def without_writes(name: str, overload: str = "", called: str = "", tags: str = "generated", out: bool = True) -> None:
    """The functional form of the operator `name`, `called` so, and the `out=` form that PyTorch generates of that."""
    handle = _C._find_operator(f"aten::{name}", overload)
    arguments = handle.arguments
    written = [place for place, each in enumerate(arguments) if each["is_write"]]
    names = [each["name"] for each in arguments]
    in_place = name.endswith("_")
    given, results = handle.schema.removeprefix("aten::").split("(", 1)[1].rsplit(" -> ", 1)
    takes = given.removesuffix(")")
    texts = [part for part in takes.split(", ") if part != "*"]
    kinds = [_MARK.sub("", part.split(" ")[0]) for part in texts]
    returned = [f"{kinds[place]} {names[place]}_out" for place in written]
    if in_place and results != "()":
        returned[0] = kinds[0]  # the operator's own result
    elif not in_place:
        returned = [*results.strip("()").split(", "), *returned]
    joined = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
    keeps_sizes = in_place and not name.startswith(("resize", "set_"))
    called = called or name.removesuffix("_")
    dotted = f"{called}.{overload}" if overload else called
    positional = sum(not each["kwarg_only"] for each in arguments)

    def functional(*args: Any, **kwargs: Any) -> Any:
        values = list(args)
        made = []
        for place in written:
            if place < len(values):
                values[place] = _copied(values[place])
                made.append(values[place])
            else:
                kwargs[names[place]] = _copied(kwargs[names[place]])
                made.append(kwargs[names[place]])
        if keeps_sizes and _without_data(made):  # the copies are all there is to say
            return made[0] if len(made) == 1 else tuple(made)
        own = handle(*values, **kwargs)
        if not in_place:
            made = [*(own if isinstance(own, (tuple, list)) else (own,)), *made]
        return made[0] if len(made) == 1 else tuple(made)

    doc = f"What `{name}` writes and gives, as new tensors."
    form = composite(
        f"{dotted}({_MARK.sub('', takes)}) -> {joined}",
        doc,
        explicit=in_place,
        tags=tags,
        unfilled=name.startswith("resize") and "sparse" not in name,
        samples=None if "sparse" in name else (),  # no call of dense tensors stands for it
    )(functional)
    if not in_place or not out:
        return
    as_list = kinds[0].endswith("[]")
    target = "Tensor(a!)[] out" if as_list else "Tensor(a!) out"
    mark = "" if positional < len(arguments) else "*, "
    others = takes.replace("Tensor(a!)", "Tensor", 1)

    def into(*args: Any, out: Any, **kwargs: Any) -> Any:
        made = form(*args, **kwargs)
        first = made if not isinstance(made, tuple) else made[0]
        if not as_list:
            return fill_exactly(out, first)
        if len(out) != len(first):
            raise RuntimeError(f"Expected {len(first)} out tensors, one for each result, but got {len(out)}")
        for each, value in zip(out, first, strict=True):
            fill_exactly(each, value)
        return None

    composite(
        f"{called}.{overload + '_' if overload else ''}out({others}, {mark}{target}) -> {'()' if as_list else 'Tensor(a!)'}",
        f"What `{name}` makes of its first argument, into `out`; nothing else is written.",
        explicit=True,
        unfilled=name.startswith("resize") and "sparse" not in name,
        tags=f"generated {tags}".replace("generated generated", "generated"),
    )(into)


for _name in ("resize_", "resize_as_", "embedding_renorm_", "_index_put_impl_", "_amp_update_scale_", "set_"):
    without_writes(_name)
for _overload in ("source_Tensor", "source_Storage", "source_Storage_storage_offset"):
    without_writes("set_", _overload)
for _name in ("_foreach_zero_", "_amp_foreach_non_finite_check_and_unscale_"):
    without_writes(_name)
without_writes("_foreach_copy_", tags="")
for _name in ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_"):
    without_writes(_name)
    without_writes(_name, "tensor_lr")
without_writes("rrelu_with_noise", called="rrelu_with_noise_functional", tags="generated nondeterministic_seeded")
for _name in ("_native_batch_norm_legit", "_batch_norm_with_update", "_fused_moving_avg_obs_fq_helper"):
    without_writes(_name, called=f"{_name}_functional")


@composite(
    "_fused_moving_avg_obs_fq_helper.out(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min,"
    " Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max,"
    " int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False, *, Tensor(e!) out0, Tensor(f!) out1)"
    " -> (Tensor(e!), Tensor(f!))",
    "`_fused_moving_avg_obs_fq_helper` into two tensors.",
    explicit=True,
    tags="generated",
)
def _fused_moving_avg_obs_fq_helper_out(*args: Any, out0: Any, out1: Any, **kwargs: Any) -> Any:
    made = aten._fused_moving_avg_obs_fq_helper_functional(*args, **kwargs)
    return tuple(fill_exactly(out, value) for out, value in zip((out0, out1), made, strict=False))
