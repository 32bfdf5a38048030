"""Connectionist temporal classification, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .... import _C
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import Source, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

    _Lengths = Sequence[int] | Tensor

_ALPHA, _SLOPES = Source("ctc.cuh", "ctc_alpha"), Source("ctc.cuh", "ctc_slopes")
_CHECKED = "(while checking arguments for ctc_loss_allocate_outputs)"


def _numbers(lengths: _Lengths) -> list[int]:
    """Lengths on the host, where the sizes of the results are made of them."""
    return [int(x) for x in (lengths.tolist() if hasattr(lengths, "tolist") else lengths)]


class _Problem(NamedTuple):
    """The sizes of a call and its lengths on the device."""

    sizes: tuple[int, int, int, int]
    lengths: list[Tensor]


def _problem(
    log_probs: Tensor, targets: Tensor, input_lengths: _Lengths, target_lengths: _Lengths, blank: int
) -> _Problem:
    """Check the arguments as the CPU does; RuntimeError, or IndexError for a label that is no class."""
    if log_probs.dim() != 3:
        raise RuntimeError(f"ctc_loss: expected log_probs of 3 dimensions, got {log_probs.dim()}")
    time, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs, lengths = _numbers(input_lengths), _numbers(target_lengths)
    if len(inputs) != batch:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(lengths) != batch:
        raise RuntimeError("target_lengths must be of size batch_size")
    for length in lengths:
        if length < 0:
            raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {length} {_CHECKED}")
        if length > targets.numel():
            raise RuntimeError(
                f"Expected target_lengths to have value at most {targets.numel()}, but got value {length} {_CHECKED}"
            )
    for frames in inputs:
        if not 0 <= frames <= time:
            raise RuntimeError(
                f"Expected input_lengths to have value at most {time}, but got value {frames} {_CHECKED}"
            )
    longest = max(lengths, default=0)
    wanted, place = (sum(lengths), 0) if targets.dim() == 1 else (batch, 0)
    if targets.shape[place] != wanted:
        raise RuntimeError(
            f"Expected tensor to have size {wanted} at dimension 0, but got size {targets.shape[0]} for argument #2 'targets' {_CHECKED}"
        )
    if targets.dim() == 2 and targets.shape[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for argument #2 "
            f"'targets' {_CHECKED}"
        )
    offsets = [b * targets.shape[1] if targets.dim() == 2 else sum(lengths[:b]) for b in range(batch)]
    labels = targets.to(DTYPES["int64"]).contiguous()
    used = aten.zeros([max(1, labels.numel())], dtype=DTYPES["bool"])
    for offset, length in zip(offsets, lengths, strict=True):
        used[offset : offset + length] = True
    flat = labels.flatten()
    bad = ((flat < 0) | (flat >= classes)) & used[: flat.numel()].to(labels.device)
    if flat.numel() and bool(bad.any()):
        raise IndexError(f"Target {int(flat[bad][0])} is out of bounds.")
    moved = [_C.tensor(x, dtype=DTYPES["int64"], device=labels.device) for x in (inputs, lengths, offsets)]
    return _Problem((time, batch, classes, longest), [labels, *moved])


def _launch(source: Source, p: _Problem, log_probs: Tensor, blank: int, zero: bool, *given: Tensor | None) -> None:
    grads = 0 if given[2] is None else given[2].numel()
    arguments = pack(*p.sizes, blank, zero, grads, log_probs, *p.lengths, *given)
    threads = min(512, max(32, 1 << (2 * p.sizes[3]).bit_length()))
    source.launch(
        log_probs.device.index, (("ELEMENT", element(log_probs.dtype)),), (p.sizes[1],), (threads,), arguments
    )


@kernel("_ctc_loss", "_ctc_loss.Tensor")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: _Lengths,
    target_lengths: _Lengths,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    log_probs = log_probs.contiguous()
    p = _problem(log_probs, targets, input_lengths, target_lengths, blank)
    time, batch, _, longest = p.sizes
    loss = aten.empty([batch], dtype=log_probs.dtype, device=log_probs.device)
    alpha = aten.empty([batch, time, 2 * longest + 1], dtype=log_probs.dtype, device=log_probs.device)
    if batch:
        _launch(_ALPHA, p, log_probs, blank, zero_infinity, loss, alpha, None, None, None)
    return loss, alpha


@kernel("_ctc_loss_backward", "_ctc_loss_backward.Tensor")
def ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: _Lengths,
    target_lengths: _Lengths,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    log_probs = log_probs.contiguous()
    p = _problem(log_probs, targets, input_lengths, target_lengths, blank)
    time, batch, _, longest = p.sizes
    width = 2 * longest + 1
    if (
        neg_log_likelihood.numel() != batch
        or list(log_alpha.shape) != [batch, time, width]
        or grad.numel() not in (1, batch)
        or not neg_log_likelihood.dtype == log_alpha.dtype == log_probs.dtype
    ):
        raise RuntimeError("ctc_loss_backward: grad, neg_log_likelihood and log_alpha are not those of these arguments")
    result = aten.zeros(log_probs.shape, dtype=log_probs.dtype, device=log_probs.device)
    if batch:
        beta = aten.empty([batch, 2, width], dtype=log_probs.dtype, device=log_probs.device)
        given = (
            neg_log_likelihood.contiguous(),
            log_alpha.contiguous(),
            grad.to(log_probs.dtype).contiguous(),
            beta,
            result,
        )
        _launch(_SLOPES, p, log_probs, blank, zero_infinity, *given)
    return result
