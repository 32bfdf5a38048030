"""Joining tensors."""

from ..table import aclnn

aclnn("cat", "aclnnCat")
aclnn("stack", "aclnnStack")
