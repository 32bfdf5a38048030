"""Checkpointing that keeps some operators' results: what runs again, and that gradients stay what they are."""

import collections
import functools

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from mindtorch_v2.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)

MM, SIN, EXP = (torch.ops.aten.mm.default, torch.ops.aten.sin.default, torch.ops.aten.exp.default)


class Count(TorchDispatchMode):
    """How often each operator ran."""

    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls[func] += 1
        return func(*args, **(kwargs or {}))


def body(x, w):
    return torch.mm(torch.mm(x, w).sin(), w).exp()


def inputs():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(3, 3, generator=generator, requires_grad=True) for _ in range(2)]


def run(policy, **options):
    """Gradients through a checkpoint with the policy, and what ran in both directions together."""
    x, w = inputs()
    make = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    with Count() as count:
        checkpoint(body, x, w, use_reentrant=False, context_fn=make).sum().backward()
    return [x.grad, w.grad], count.calls


def wanted():
    x, w = inputs()
    with Count() as count:
        body(x, w).sum().backward()
    return [x.grad, w.grad], count.calls


def test_what_is_kept_does_not_run_again():
    grads, plain = wanted()
    got, calls = run([MM])
    torch.testing.assert_close(got, grads, rtol=0, atol=0)
    assert calls[MM] == plain[MM]
    assert calls[SIN] == plain[SIN] + 1
    got, calls = run([SIN])
    torch.testing.assert_close(got, grads, rtol=0, atol=0)
    assert calls[MM] > plain[MM] and calls[SIN] == plain[SIN]


@pytest.mark.parametrize(
    ("save", "recompute"),
    [(CheckpointPolicy.MUST_SAVE, CheckpointPolicy.MUST_RECOMPUTE), (True, False),
     (CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.PREFER_RECOMPUTE)],
)  # fmt: skip
def test_a_policy_may_choose_by_call(save, recompute):
    seen = []

    def policy(context, op, *args, **kwargs):
        assert isinstance(context, SelectiveCheckpointContext) and isinstance(context.op_output, torch.Tensor)
        seen.append((context.is_recompute, op))
        return save if op == MM and sum(o == MM for _, o in seen) == 1 else recompute

    grads, plain = wanted()
    got, calls = run(policy)
    torch.testing.assert_close(got, grads, rtol=0, atol=0)
    assert calls[MM] <= plain[MM] + 1
    assert [op for again, op in seen if not again][:4] == [MM, SIN, MM, EXP]


def test_backward_runs_once():
    x, w = inputs()
    make = functools.partial(create_selective_checkpoint_contexts, [MM])
    y = checkpoint(body, x, w, use_reentrant=False, context_fn=make).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.backward()


def test_what_is_kept_must_not_change():
    def changing(x, w):
        y = torch.mm(x, w)
        z = y.sin()
        y.mul_(2)
        return z * y

    def backward(**options):
        x, w = inputs()
        make = functools.partial(create_selective_checkpoint_contexts, [MM], **options)
        checkpoint(changing, x, w, use_reentrant=False, context_fn=make).sum().backward()

    with pytest.raises(RuntimeError, match="cached during selective activation checkpoint has been mutated"):
        backward()


def test_errors():
    for kind, text, policy in (
        (ValueError, "to a specific OpOverload", [torch.ops.aten.mm]),
        (ValueError, "to be an OpOverload but got", [torch.mm]),
        (TypeError, "either a function or a list of ops", 3),
    ):
        with pytest.raises(kind, match=text):
            create_selective_checkpoint_contexts(policy)
    with pytest.raises(NotImplementedError, match="MUST_CPU_OFFLOAD is not implemented"):
        run(lambda *args, **kwargs: CheckpointPolicy.MUST_CPU_OFFLOAD)
