"""Special functions."""

from ..table import call, kernel, pointwise

pointwise("erf", "aclnnErf")
pointwise("erfc", "aclnnErfc")
pointwise("erfinv", "aclnnErfinv")


@kernel("logit")
def logit(self, eps, out):
    x = self if eps is None else self.clamp(eps, 1 - eps)
    call("aclnnLog", x / (1 - x), out)
