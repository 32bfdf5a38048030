"""Whole training steps: forward, backward and, where it says so, the optimizer."""

import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.models import bert, bert_layer, resnet50
from cases.registry import Bar, Case, add, case

_BATCH, _TOKENS = 8, 128


def bert_step(torch: ModuleType, size: str, bf16: bool = False) -> Callable[[], None]:
    """One AdamW step of BERT on a batch of 8 x 128 tokens."""
    model = bert(size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    tokens = torch.randint(0, 30000, (_BATCH, _TOKENS))
    mask, labels = torch.ones_like(tokens), torch.randint(0, 2, (_BATCH,))

    def step() -> None:
        context = torch.autocast("cpu", dtype=torch.bfloat16) if bf16 else contextlib.nullcontext()
        with context:
            loss = model(input_ids=tokens, attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _bert(size: str, bf16: bool) -> Callable[[ModuleType], Callable[[], Any]]:
    return lambda torch: bert_step(torch, size, bf16)


add(Case("BERT-mini training step 8x128", "models", _bert("mini", False), slow=True))
add(Case("BERT-base training step 8x128", "models", _bert("base", False), Bar(1.7), slow=True))
add(Case("BERT-base training step 8x128, bf16 autocast", "models", _bert("base", True), Bar(1.2), slow=True))


@case("BERT-base layer 8x128, forward and backward", "models", slow=True)
def _bert_layer(torch: ModuleType) -> Callable[[], Any]:
    layer = bert_layer()
    x, upstream = torch.rand(_BATCH, _TOKENS, 768).requires_grad_(), torch.rand(_BATCH, _TOKENS, 768)

    def step() -> None:
        x.grad = None
        layer.zero_grad()
        output = layer(x)
        (output[0] if isinstance(output, tuple) else output).backward(upstream)

    return step


@case("ResNet-50 4x224x224, forward and backward", "models", Bar(1.0), slow=True)
def _resnet(torch: ModuleType) -> Callable[[], Any]:
    model, images, labels = resnet50(torch).train(), torch.rand(4, 3, 224, 224), torch.randint(0, 1000, (4,))

    def step() -> None:
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()

    return step


@case("AdamW step of BERT-mini's 11 million weights", "optimizer")
def _adamw(torch: ModuleType) -> Callable[[], Any]:
    model = bert("mini")
    for parameter in model.parameters():
        parameter.grad = torch.rand_like(parameter.detach())
    return torch.optim.AdamW(model.parameters()).step
