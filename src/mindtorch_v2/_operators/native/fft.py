"""The three transforms that everything in `torch.fft` is made of: complex, real to complex, complex to real.

`normalization`: 0 leaves the sums as they are, 1 divides by the root of the number of points, 2 by their number.
"""

from __future__ import annotations

from ..table import S, T, aten, op, rule


def _r2c_grad(grad, self_sizes, dim, normalization, onesided):
    if onesided:
        # What the first half of the spectrum leaves out gets no gradient.
        last = dim[-1] % len(self_sizes)
        missing = self_sizes[last] - grad.size(last)
        grad = aten.constant_pad_nd(grad, [0, 0] * (len(self_sizes) - 1 - last) + [0, missing])
    return aten.real(aten._fft_c2c(grad, dim, normalization, False))


def _c2r_grad(grad, dim, normalization):
    spectrum = aten._fft_r2c(grad, dim, normalization, True)
    # Points that stand for themselves and for their mirror image count twice.
    twice = grad.size(dim[-1]) - spectrum.size(dim[-1])
    if twice <= 0:
        return spectrum
    last = dim[-1]
    parts = [spectrum.narrow(last, 0, 1), 2 * spectrum.narrow(last, 1, twice)]
    rest = spectrum.size(last) - 1 - twice
    return aten.cat([*parts, spectrum.narrow(last, 1 + twice, rest)] if rest else parts, last)


op(
    "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
    "The transform along `dim`, or with `forward=False` its inverse but for the scale.",
    bind="function out",
    batching="dims",
    meta=rule("fft_c2c"),
    grad={
        "self": lambda grad, dim, normalization, forward: aten._fft_c2c(grad, dim, normalization, not forward),
    },
    samples=[S(T(3, 4), [1], 0, True), S(T(2, 3, 7), [0, 2], 1, False), S(T(2, 37), [1], 2, True)],
    dtypes="complex",
)
op(
    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    "The inverse transform, of which only the first half is given in the last of `dim`, of a real signal.",
    bind="function out",
    batching="dims",
    tags="core",
    meta=rule("fft_c2r"),
    grad={"self": _c2r_grad},
    samples=[S(T(3, 4), [1], 0, 6), S(T(3, 4), [0, 1], 2, 7)],
    dtypes="complex",
)
op(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    "The transform of a real signal; `onesided` keeps the first half in the last of `dim`.",
    bind="function out",
    batching="dims",
    tags="core",
    meta=rule("fft_r2c"),
    grad={"self": _r2c_grad},
    samples=[S(T(3, 6), [1], 0, True), S(T(3, 4, 5), [0, 2], 1, False), S(T(3, 4, 5), [2, 0], 2, True)],
    dtypes="float",
)
