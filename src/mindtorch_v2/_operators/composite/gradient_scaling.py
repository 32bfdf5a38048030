"""Scaling of gradients of mixed precision: scaled back, tested for numbers that are not finite, and the next scale."""

from ..table import aten, composite


@composite(
    "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()",
    "Multiplies tensors by `inv_scale`, in place; `found_inf` becomes 1 where one of them had a number that is not finite.",
    bind="function",
)
def _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale):
    for name, tensor in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if tensor.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
    for gradient in self:
        if not aten.isfinite(gradient).all():
            found_inf.fill_(1.0)
        gradient.mul_(inv_scale.to(gradient.dtype).reshape([]))


@composite(
    "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, "
    "float scale_backoff_factor, int growth_interval) -> Tensor(a!)",
    "The next scale, in place: smaller after a step with numbers that were not finite, larger after so many without.",
    bind="function",
)
def _amp_update_scale_(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval):
    for name, tensor in (("growth_tracker", growth_tracker), ("current_scale", self), ("found_inf", found_inf)):
        if tensor.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return self
    steps = growth_tracker.item() + 1
    if steps == growth_interval:
        grown = self * scale_growth_factor
        if aten.isfinite(grown).all():
            self.copy_(grown)
        growth_tracker.fill_(0)
    else:
        growth_tracker.fill_(steps)
    return self
