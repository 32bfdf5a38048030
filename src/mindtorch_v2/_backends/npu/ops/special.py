"""Special functions."""

from ..table import pointwise

pointwise("erf", "aclnnErf")
pointwise("erfc", "aclnnErfc")
pointwise("erfinv", "aclnnErfinv")
