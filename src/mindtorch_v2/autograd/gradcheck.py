"""torch.autograd.gradcheck: numerical checks of gradients."""

from .._autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
