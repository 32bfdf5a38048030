"""Images: windows as columns."""

from ..table import aclnn

aclnn("col2im", "aclnnIm2colBackward")
aclnn("im2col", "aclnnIm2col")
