"""Normalisations."""

from ..table import aclnn, call, kernel


@kernel("native_batch_norm", "_native_batch_norm_legit")
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, out, mean, invstd):
    call(
        "aclnnBatchNorm", input, weight, bias, running_mean, running_var, training, momentum, eps, out, mean, invstd
    )


@kernel("_native_batch_norm_legit_no_training")
def batch_norm_frozen(input, weight, bias, running_mean, running_var, momentum, eps, out, mean, invstd):
    batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, out, mean, invstd)


@kernel("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(input, weight, bias, training, momentum, eps, out, mean, invstd):
    batch_norm(input, weight, bias, None, None, True, momentum, eps, out, mean, invstd)


@kernel("native_layer_norm_backward")
def layer_norm_backward(
    grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask, grad_input, grad_weight, grad_bias
):
    call(
        "aclnnLayerNormBackward",
        grad_out,
        input,
        normalized_shape,
        mean,
        rstd,
        weight,
        bias,
        output_mask,
        grad_input,
        grad_weight,
        grad_bias,
    )


aclnn("native_batch_norm_backward", "aclnnBatchNormBackward")
aclnn("native_group_norm", "aclnnGroupNorm")
aclnn("native_group_norm_backward", "aclnnGroupNormBackward")
aclnn("native_layer_norm", "aclnnLayerNorm", "input normalized_shape weight bias eps out0 out1 out2")
