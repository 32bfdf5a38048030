"""Interpolation: nearest, linear, cubic, with and without antialiasing."""

from ..table import S, T, aten, op, rule

_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
_PLAIN = {1: (2, 3, 5), 2: (2, 3, 5, 4), 3: (1, 2, 3, 4, 5)}
_WIDER = {1: [7], 2: [7, 6], 3: [4, 6, 3]}

# Formulas take the scales by their schema names, so there is one for each number of dimensions.


def _gradients(name, spatial, corners) -> tuple:
    """Formulas of `name` and of `name`_backward."""
    backward = name + "_backward"
    if corners:
        to_input = {
            1: lambda grad, self_sizes, output_size, align_corners, scales: getattr(aten, backward)(
                grad, output_size, list(self_sizes), align_corners, scales
            ),
            2: lambda grad, self_sizes, output_size, align_corners, scales_h, scales_w: getattr(aten, backward)(
                grad, output_size, list(self_sizes), align_corners, scales_h, scales_w
            ),
            3: lambda grad, self_sizes, output_size, align_corners, scales_d, scales_h, scales_w: getattr(
                aten, backward
            )(grad, output_size, list(self_sizes), align_corners, scales_d, scales_h, scales_w),
        }
        to_grad = {
            1: lambda grad, output_size, align_corners, scales: getattr(aten, name)(
                grad, output_size, align_corners, scales
            ),
            2: lambda grad, output_size, align_corners, scales_h, scales_w: getattr(aten, name)(
                grad, output_size, align_corners, scales_h, scales_w
            ),
            3: lambda grad, output_size, align_corners, scales_d, scales_h, scales_w: getattr(aten, name)(
                grad, output_size, align_corners, scales_d, scales_h, scales_w
            ),
        }
    else:
        to_input = {
            1: lambda grad, self_sizes, output_size, scales: getattr(aten, backward)(
                grad, output_size, list(self_sizes), scales
            ),
            2: lambda grad, self_sizes, output_size, scales_h, scales_w: getattr(aten, backward)(
                grad, output_size, list(self_sizes), scales_h, scales_w
            ),
            3: lambda grad, self_sizes, output_size, scales_d, scales_h, scales_w: getattr(aten, backward)(
                grad, output_size, list(self_sizes), scales_d, scales_h, scales_w
            ),
        }
        to_grad = {
            1: lambda grad, output_size, scales: getattr(aten, name)(grad, output_size, scales),
            2: lambda grad, output_size, scales_h, scales_w: getattr(aten, name)(grad, output_size, scales_h, scales_w),
            3: lambda grad, output_size, scales_d, scales_h, scales_w: getattr(aten, name)(
                grad, output_size, scales_d, scales_h, scales_w
            ),
        }
    return to_input[spatial], to_grad[spatial]


def _define(name, spatial, corners, doc) -> None:
    scales = "".join(f", float? {s}=None" for s in _SCALES[spatial])
    align = ", bool align_corners" if corners else ""
    to_input, to_grad = _gradients(name, spatial, corners)
    extra = [(False,), (True,)] if corners else [()]
    op(
        f"{name}(Tensor self, SymInt[{spatial}] output_size{align}{scales}) -> Tensor",
        doc,
        bind="nn out",
        out_dtype="exact",
        batching="planes",
        linear="self",
        meta=rule(f"upsample{spatial}d"),
        grad={"self": to_input},
        samples=[S(T(*_PLAIN[spatial]), _WIDER[spatial], *e) for e in extra],
    )
    op(
        f"{name}_backward(Tensor grad_output, SymInt[{spatial}] output_size, SymInt[{spatial + 2}] input_size"
        f"{align}{scales}) -> Tensor",
        f"Gradient of {name}.",
        bind="nn out",
        out_dtype="exact",
        out_overload="grad_input grad_input",
        batching="planes",
        meta=rule(f"upsample{spatial}d_backward"),
        grad={"grad_output": to_grad},
        samples=[
            S(T(*_PLAIN[spatial][:2], *_WIDER[spatial]), _WIDER[spatial], list(_PLAIN[spatial]), *e) for e in extra
        ],
    )


for _spatial in (1, 2, 3):
    _define(f"_upsample_nearest_exact{_spatial}d", _spatial, False, "Nearest item, by the centres.")
    _define(f"upsample_nearest{_spatial}d", _spatial, False, "Nearest item, rounded down.")
_define("upsample_linear1d", 1, True, "Linear interpolation.")
_define("upsample_bilinear2d", 2, True, "Bilinear interpolation.")
_define("upsample_trilinear3d", 3, True, "Trilinear interpolation.")
_define("upsample_bicubic2d", 2, True, "Bicubic interpolation.")
_define("_upsample_bilinear2d_aa", 2, True, "Bilinear interpolation over the whole area when shrinking.")
_define("_upsample_bicubic2d_aa", 2, True, "Bicubic interpolation over the whole area when shrinking.")
