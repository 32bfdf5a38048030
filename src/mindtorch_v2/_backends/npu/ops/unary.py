"""Functions of one tensor."""

from ..table import pointwise

for _name in (
    "acos acosh asin asinh atan atanh ceil cos cosh exp exp2 expm1 floor frac log log10 log1p log2 round sigmoid sin sinh "
    "tan tanh trunc"
).split():
    pointwise(_name, "aclnn" + _name.capitalize())

pointwise("atan2", "aclnnAtan2")
pointwise("round.decimals", "aclnnRoundDecimals")
