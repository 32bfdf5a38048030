"""Steps that many programs take: a run forward and backward, a short training."""

import torch


def forward_and_back(module, *inputs, **named):
    """A module's outputs, and the sums and norms of its parameters' gradients for the sum of the outputs' squares."""
    outputs = module(*inputs, **named)
    flat = [
        each
        for each in torch.utils._pytree.tree_leaves(outputs)
        if isinstance(each, torch.Tensor) and each.is_floating_point()
    ]
    sum((each**2).mean() for each in flat).backward()
    return {"outputs": flat, "gradients": gradients(module)}


def gradients(module):
    """The norms of a module's gradients, all together as one tensor."""
    return torch.stack([each.grad.norm() for each in module.parameters() if each.grad is not None])


def train(module, loss_of, optimizer, steps=3):
    """The losses of some steps; `loss_of()` gives the loss of one."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)
