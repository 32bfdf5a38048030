"""Padding."""

from ..table import aclnn

aclnn("constant_pad_nd", "aclnnConstantPadNd")
