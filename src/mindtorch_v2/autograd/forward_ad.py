"""torch.autograd.forward_ad: dual numbers are not built; directional derivatives come from `torch.func.jvp`."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

_REMEDY = "torch.func.jvp gives directional derivatives"

dual_level = unavailable_class("torch.autograd.forward_ad.dual_level", _REMEDY)
enter_dual_level = unavailable_function("torch.autograd.forward_ad.enter_dual_level", _REMEDY)
exit_dual_level = unavailable_function("torch.autograd.forward_ad.exit_dual_level", _REMEDY)
make_dual = unavailable_function("torch.autograd.forward_ad.make_dual", _REMEDY)
unpack_dual = unavailable_function("torch.autograd.forward_ad.unpack_dual", _REMEDY)

__all__ = ["dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
