"""The gradients of a function's weights for each sample: the function of one sample, mapped over the batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree as pytree

from . import expanded_weights_utils as utils

__all__ = ["RECURRENT", "SampleGradients"]

Values = list[Any]
RECURRENT = frozenset(("lstm", "gru", "rnn_tanh", "rnn_relu"))


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
        args, kwargs = pytree.tree_unflatten(list(leaves), form)
        _check_samples(func, args, kwargs)
        utils._check_and_unexpand_args(func, leaves[:1], {})
        _check_weights(func, leaves)
        plain = [leaf.orig_weight if utils._is_expanded(leaf) else leaf for leaf in leaves]
        ctx.call = _Call(func, form, plain, leaves)
        results, shape = pytree.tree_flatten(ctx.call.of(plain))
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


def _check_samples(func: Any, args: Any, kwargs: Any) -> None:
    """Refuse inputs in which no dimension is that of the samples."""
    name, input = func.__name__, args[0]
    if not isinstance(input, torch.Tensor):
        return
    rank = {"linear": 2, "embedding": 2, "conv1d": 3, "conv2d": 4, "conv3d": 5}.get(name, 1)
    if input.dim() < rank:
        raise RuntimeError(
            f"Expanded Weights needs an input of at least {rank} dimensions for {name}, the first of which are samples, but got "
            f"one of shape {tuple(input.shape)}"
        )
    if name == "layer_norm":
        normalized = args[1] if len(args) > 1 else kwargs["normalized_shape"]
        if len(normalized) == input.dim():
            raise RuntimeError(
                "Expanded Weights: Layer norm should not normalize over batch dimension for per sample gradient computations but "
                f"got that normalized shape, {list(normalized)}, matched input shape."
            )


def _check_weights(func: Any, leaves: tuple[Any, ...]) -> None:
    input = leaves[0]
    size = input.shape[0 if utils.is_batch_first(leaves) or input.dim() < 2 else 1]
    if _is_packed(func, leaves):
        size = int(leaves[1][0])
    for leaf in leaves[1:]:
        if utils._is_expanded(leaf) and leaf.batch_size != size:
            raise RuntimeError(
                "Expected ExpandedWeights to have batch size matching input but got input batch size of "
                f"{size} with ExpandedWeight of batch size {leaf.batch_size}"
            )


def _is_packed(func: Any, leaves: Any) -> bool:
    """Whether it is a recurrent function of sequences that are packed: their data, and how many are left at each step."""
    return func.__name__ in RECURRENT and leaves[1].dtype == torch.int64 and leaves[1].dim() == 1


class _Call:
    """A call, to be made again for its gradients."""

    def __init__(self, func: Any, form: Any, plain: Values, leaves: tuple[Any, ...]):
        self.func, self.form, self.leaves = func, form, leaves
        self.plain = [x.detach() if isinstance(x, torch.Tensor) else x for x in plain]
        self.recurrent = func.__name__ in RECURRENT

    def of(self, values: Values) -> Any:
        args, kwargs = pytree.tree_unflatten(values, self.form)
        return self.func(*args, **kwargs)

    def again(self, values: Values) -> Any:
        """The results without what the first call left behind."""
        args, kwargs = pytree.tree_unflatten(values, self.form)
        pure = _PURE.get(self.func.__name__, self.func)
        return pure(*args, **kwargs)

    def _places(self) -> list[int | None]:
        """The dimension of the samples of each value."""
        first = self._dimension()
        places: list[int | None] = [None] * len(self.plain)
        places[0] = first
        if self.recurrent:
            states = 2 if self.func.__name__ == "lstm" else 1
            places[1 : 1 + states] = [1] * states
        return places

    def _dimension(self) -> int:
        if not self.recurrent:
            return 0 if utils.is_batch_first(self.leaves) else 1
        args, kwargs = pytree.tree_unflatten(self.plain, self.form)
        return 0 if (args[8] if len(args) > 8 else kwargs["batch_first"]) else 1

    def of_samples(self, weights: list[int], grads: Values) -> list[torch.Tensor]:
        """The gradients of these weights, a sample each along the first dimension."""
        if not weights:
            return []
        if _is_packed(self.func, self.plain):
            return self._of_packed(weights, grads)
        places, dim = self._places(), self._dimension()
        batched = [i for i, place in enumerate(places) if place is not None]
        of_grads = [None if grad is None else dim if i == 0 else 1 for i, grad in enumerate(grads)]

        def one(samples: Values, of_results: Values) -> Any:
            values = list(self.plain)
            for i, sample in zip(batched, samples, strict=True):
                values[i] = sample.unsqueeze(places[i])
            given = [None if grad is None else grad.unsqueeze(i) for grad, i in zip(of_results, of_grads, strict=True)]
            return self._pulled(values, weights, given)

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "There is a performance drop")
            return list(
                torch.func.vmap(one, ([places[i] for i in batched], of_grads))([self.plain[i] for i in batched], grads)
            )

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
        states = 2 if self.func.__name__ == "lstm" else 1
        each = []
        for sample in range(int(sizes[0])):
            rows = torch.tensor([begin + sample for begin, size in zip(begins, sizes.tolist()) if sample < size])
            values = list(self.plain)
            values[0], values[1] = data[rows], torch.ones(len(rows), dtype=torch.int64)
            for i in range(2, 2 + states):
                values[i] = self.plain[i].narrow(1, sample, 1)
            parts = [
                None if grad is None else grad[rows] if i == 0 else grad.narrow(1, sample, 1)
                for i, grad in enumerate(grads)
            ]
            each.append(self._pulled(values, weights, parts))
        return [torch.stack(samples) for samples in zip(*each, strict=True)]


def _embedding(
    input: Any,
    weight: Any,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """`embedding` of rows that were scaled to `max_norm` before, with dense gradients."""
    return torch.nn.functional.embedding(input, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)


def _instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`instance_norm` that leaves the running statistics alone."""
    mean, variance = (None, None) if use_input_stats else (running_mean, running_var)
    return torch.nn.functional.instance_norm(input, mean, variance, weight, bias, use_input_stats, momentum, eps)


_PURE: dict[str, Callable[..., Any]] = {"embedding": _embedding, "instance_norm": _instance_norm}
