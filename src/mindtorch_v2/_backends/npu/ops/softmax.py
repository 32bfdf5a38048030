"""Softmax."""

from ..table import aclnn

aclnn("_log_softmax", "aclnnLogSoftmax", "self dim out")
aclnn("_log_softmax_backward_data", "aclnnLogSoftmaxBackward", "grad_output output dim out")
aclnn("_softmax", "aclnnSoftmax", "self dim out")
aclnn("_softmax_backward_data", "aclnnSoftmaxBackward", "grad_output output dim out")
