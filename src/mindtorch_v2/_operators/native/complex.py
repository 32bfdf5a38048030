"""Complex numbers: angle and conjugate."""

from ..table import S, aten, like, op, rule


def _angle_grad(grad, self):
    if not self.is_complex():
        return aten.zeros_like(self)
    return aten.where(self == 0, 0, grad * self / self.abs().square() * 1j)


op(
    "angle(Tensor self) -> Tensor",
    "Angle in the complex plane, in radians; 0 or pi for real numbers.",
    bind="function method out",
    tags="pointwise",
    meta=rule("pointwise_angle", "self"),
    grad={"self": _angle_grad},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "_conj_physical(Tensor self) -> Tensor",
    "The conjugate, in memory of its own.",
    bind="function method generated_out",
    batching="whole",
    tags="pointwise",
    keeps_zero=True,
    meta=like("self"),
    grad={"self": lambda grad: aten._conj_physical(grad) if grad.is_complex() else grad},
    samples=[S(3, 4)],
    dtypes="all",
)
