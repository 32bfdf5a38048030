"""The gradients of a function's weights for each sample: the function of one sample, mapped over the batch."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree as pytree

from . import expanded_weights_utils as utils

__all__ = ["SampleGradients", "takes_a_list_of_weights"]

Values = list[Any]


def takes_a_list_of_weights(args: tuple[Any, ...]) -> bool:
    """Whether it is the call of a recurrent layer, whose weights come as a list."""
    return any(isinstance(value, list) and any(map(utils._is_expanded, value)) for value in args)


class SampleGradients(torch.autograd.Function):
    """A function of inputs and expanded weights; backward leaves a gradient for each sample with the weights."""

    @classmethod
    def call(cls, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`func(*args, **kwargs)` with such a backward; RuntimeError where samples cannot be told apart."""
        leaves, form = pytree.tree_flatten((args, kwargs))
        several: list[Any] = []
        found = cls.apply(func, form, several, *leaves)
        return pytree.tree_unflatten(list(found), several[0])

    @staticmethod
    def forward(ctx: Any, func: Callable[..., Any], form: Any, several: list[Any], *leaves: Any) -> Any:
        ctx.call = _Call(func, form, leaves)
        results, shape = pytree.tree_flatten(ctx.call.first())
        several.append(shape)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call: _Call = ctx.call
        weights = [i for i, leaf in enumerate(call.leaves) if utils._is_expanded(leaf)]
        for place, found in zip(weights, call.of_samples(weights, list(grads)), strict=True):
            utils.set_grad_sample_if_exists(call.leaves[place], partial(_given, found))
        return None, None, None, *call.of_inputs(list(grads))


def _given(found: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return found


class _Call:
    """A call, to be made again for its gradients."""

    def __init__(self, func: Callable[..., Any], form: Any, leaves: tuple[Any, ...]) -> None:
        self.func, self.form, self.leaves = func, form, leaves
        args, _ = pytree.tree_unflatten(list(leaves), form)
        utils._check_and_unexpand_args(func, leaves[:1], {})
        self.recurrent = takes_a_list_of_weights(args)
        # Of packed sequences: their data, and how many are left at each step.
        self.packed = self.recurrent and leaves[1].dtype == torch.int64
        self.batch_dim = 0 if (args[-1] if self.recurrent else utils.is_batch_first(leaves)) else 1
        plain = [leaf.orig_weight if utils._is_expanded(leaf) else leaf for leaf in leaves]
        self.plain = [value.detach() if isinstance(value, torch.Tensor) else value for value in plain]
        self._check(args)

    def _check(self, args: tuple[Any, ...]) -> None:
        """Refuse inputs in which no dimension is that of the samples, or of other lengths than the weights were made for."""
        input, weights = self.leaves[0], [leaf for leaf in self.leaves if utils._is_expanded(leaf)]
        size = int(self.leaves[1][0]) if self.packed else input.shape[0 if input.dim() < 2 else self.batch_dim]
        rank = 2 if self.recurrent else max(2, *(weight.dim() for weight in weights))
        matrices = [i for i, leaf in enumerate(self.leaves) if utils._is_expanded(leaf) and leaf.dim() > 1]
        before = self.leaves[1 : max(matrices, default=0)]
        if not self.recurrent and any(
            isinstance(leaf, torch.Tensor) and leaf.dim() > 1 and not utils._is_expanded(leaf) for leaf in before
        ):
            raise RuntimeError(
                f"Expanded Weights encountered but cannot handle function {self.func.__name__}: of two inputs"
            )
        if input.dim() < rank:
            raise RuntimeError(
                f"Expanded Weights needs an input of at least {rank} dimensions for {self.func.__name__}, the first of which are "
                f"samples, but got one of shape {tuple(input.shape)}"
            )
        if not self.recurrent and any(_is_shape(value, input) for value in args[1:2]):
            raise RuntimeError(
                "Expanded Weights: Layer norm should not normalize over batch dimension for per sample gradient computations but "
                f"got that normalized shape, {list(args[1])}, matched input shape."
            )
        for weight in weights:
            if weight.batch_size != size:
                raise RuntimeError(
                    "Expected ExpandedWeights to have batch size matching input but got input batch size of "
                    f"{size} with ExpandedWeight of batch size {weight.batch_size}"
                )

    def first(self) -> Any:
        """The results."""
        args, kwargs = pytree.tree_unflatten(self.plain, self.form)
        return self.func(*args, **kwargs)

    def again(self, values: Values) -> Any:
        """The results without what the first call left behind."""
        args, kwargs = pytree.tree_unflatten(values, self.form)
        return self.func(*args, **kwargs) if self.recurrent else _without_writes(self.func, args, kwargs)

    def of_samples(self, weights: list[int], grads: Values) -> list[torch.Tensor]:
        """The gradients of these weights, a sample each along the first dimension."""
        if not weights:
            return []
        if self.packed:
            return self._of_packed(weights, grads)
        # Inputs lie along the batch's dimension; the states of recurrent layers, which come before the weights, along the second.
        places = [self.batch_dim, *[1] * (weights[0] - 1 if self.recurrent else 0)]
        of_grads = [None if grad is None else self.batch_dim if i == 0 else 1 for i, grad in enumerate(grads)]

        def one(samples: Values, of_results: Values) -> Any:
            values = list(self.plain)
            values[: len(places)] = [sample.unsqueeze(i) for sample, i in zip(samples, places, strict=True)]
            given = [None if grad is None else grad.unsqueeze(i) for grad, i in zip(of_results, of_grads, strict=True)]
            return self._pulled(values, weights, given)

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "There is a performance drop")
            return list(torch.func.vmap(one, (places, of_grads))(self.plain[: len(places)], grads))

    def _pulled(self, values: Values, wanted: list[int], grads: Values) -> Any:
        """The gradients of the wanted values, given those of the results, None for one that nothing depends on."""

        def function(*given: torch.Tensor) -> Any:
            for i, value in zip(wanted, given, strict=True):
                values[i] = value
            results = pytree.tree_leaves(self.again(values))
            return [result for result, grad in zip(results, grads, strict=True) if grad is not None]

        _, pull = torch.func.vjp(function, *(values[i] for i in wanted))
        return pull([grad for grad in grads if grad is not None])

    def of_inputs(self, grads: Values) -> Values:
        """The gradients of the tensors that are no weights, of the whole batch."""
        wanted = [
            i
            for i, leaf in enumerate(self.leaves)
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad and not utils._is_expanded(leaf)
        ]
        found: Values = [None] * len(self.leaves)
        if not wanted:
            return found
        for i, grad in zip(wanted, self._pulled(list(self.plain), wanted, grads), strict=True):
            found[i] = grad
        return found

    def _of_packed(self, weights: list[int], grads: Values) -> list[torch.Tensor]:
        """The same for packed sequences, one after the other."""
        data, sizes = self.plain[:2]
        begins = [0, *sizes.cumsum(0).tolist()[:-1]]
        each = []
        for sample in range(int(sizes[0])):
            rows = torch.tensor([begin + sample for begin, size in zip(begins, sizes.tolist()) if sample < size])
            values = list(self.plain)
            values[0], values[1] = data[rows], torch.ones(len(rows), dtype=torch.int64)
            for i in range(2, weights[0]):
                values[i] = self.plain[i].narrow(1, sample, 1)
            parts = [
                None if grad is None else grad[rows] if i == 0 else grad.narrow(1, sample, 1)
                for i, grad in enumerate(grads)
            ]
            each.append(self._pulled(values, weights, parts))
        return [torch.stack(samples) for samples in zip(*each, strict=True)]


def _is_shape(value: Any, input: torch.Tensor) -> bool:
    return isinstance(value, (list, tuple)) and list(value) == list(input.shape)


def _without_writes(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that leaves weights and running statistics alone, which the first one may have written, with dense gradients."""
    try:
        call = inspect.signature(func).bind(*args, **kwargs)
    except ValueError:  # of a function in C, which writes nothing
        return func(*args, **kwargs)
    given = call.arguments
    given.update((name, value) for name, value in (("max_norm", None), ("sparse", False)) if name in given)
    if "running_mean" in given and given.get("use_input_stats", True):
        given["running_mean"] = given["running_var"] = None
    return func(*call.args, **call.kwargs)
