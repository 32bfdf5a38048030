"""Rearrangements that copy."""

from ..table import aclnn

aclnn("flip", "aclnnFlip")
aclnn("repeat", "aclnnRepeat")
aclnn("roll", "aclnnRoll")
aclnn("tril", "aclnnTril")
aclnn("triu", "aclnnTriu")
