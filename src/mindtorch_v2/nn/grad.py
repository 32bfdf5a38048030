"""Gradients of convolutions as functions, for those who write backward passes by hand."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

from ._sizes import _pair, _single, _triple


def _convolution_backward(input, weight, grad_output, ntuple, stride, padding, dilation, groups, mask) -> torch.Tensor:
    return torch.ops.aten.convolution_backward(
        grad_output,
        input,
        weight,
        None,
        ntuple(stride),
        ntuple(padding),
        ntuple(dilation),
        False,
        [0],
        groups,
        mask,
    )


def _input_gradient(ntuple, input_size, weight, grad_output, stride, padding, dilation, groups) -> torch.Tensor:
    # The gradient does not depend on the input's values: any tensor of its shape does.
    input = grad_output.new_empty(1).expand(input_size)
    mask = (True, False, False)
    return _convolution_backward(input, weight, grad_output, ntuple, stride, padding, dilation, groups, mask)[0]


def _weight_gradient(ntuple, input, weight_size, grad_output, stride, padding, dilation, groups) -> torch.Tensor:
    weight = grad_output.new_empty(1).expand(weight_size)
    mask = (False, True, False)
    return _convolution_backward(input, weight, grad_output, ntuple, stride, padding, dilation, groups, mask)[1]


def conv1d_input(
    input_size: Sequence[int],
    weight: torch.Tensor,
    grad_output: torch.Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """The gradient of `conv1d` with respect to its input, of shape `input_size`.

    >>> torch.nn.grad.conv1d_input((1, 1, 4), torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 3))
    tensor([[[1., 3., 3., 2.]]])
    """
    return _input_gradient(_single, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: torch.Tensor,
    weight_size: Sequence[int],
    grad_output: torch.Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """The gradient of `conv1d` with respect to its weight, of shape `weight_size`.

    >>> torch.nn.grad.conv1d_weight(torch.tensor([[[1.0, 2.0, 3.0]]]), (1, 1, 2), torch.ones(1, 1, 2))
    tensor([[[3., 5.]]])
    """
    return _weight_gradient(_single, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: torch.Tensor,
    grad_output: torch.Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """The gradient of `conv2d` with respect to its input, of shape `input_size`.

    >>> torch.nn.grad.conv2d_input((1, 1, 3, 2), torch.tensor([[[[1.0], [2.0]]]]), torch.ones(1, 1, 2, 2))
    tensor([[[[1., 1.],
              [3., 3.],
              [2., 2.]]]])
    """
    return _input_gradient(_pair, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: torch.Tensor,
    weight_size: Sequence[int],
    grad_output: torch.Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """The gradient of `conv2d` with respect to its weight, of shape `weight_size`.

    >>> torch.nn.grad.conv2d_weight(torch.arange(6.0).reshape(1, 1, 3, 2), (1, 1, 2, 1), torch.ones(1, 1, 2, 2))
    tensor([[[[ 6.],
              [14.]]]])
    """
    return _weight_gradient(_pair, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: torch.Tensor,
    grad_output: torch.Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """The gradient of `conv3d` with respect to its input, of shape `input_size`.

    >>> torch.nn.grad.conv3d_input((1, 1, 1, 1, 3), torch.tensor([[[[[1.0, 2.0]]]]]), torch.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 3., 2.]]]]])
    """
    return _input_gradient(_triple, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: torch.Tensor,
    weight_size: Sequence[int],
    grad_output: torch.Tensor,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """The gradient of `conv3d` with respect to its weight, of shape `weight_size`.

    >>> x = torch.arange(3.0).reshape(1, 1, 1, 1, 3)
    >>> torch.nn.grad.conv3d_weight(x, (1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 3.]]]]])
    """
    return _weight_gradient(_triple, input, weight_size, grad_output, stride, padding, dilation, groups)
