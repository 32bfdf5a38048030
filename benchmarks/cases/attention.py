"""scaled_dot_product_attention at BERT's and at a longer context's shapes."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Case, add

# batch, heads, tokens, width of a head, causal
_SHAPES = ((8, 12, 128, 64, False), (1, 12, 1024, 64, True), (1, 4, 4096, 64, True))


def _attention(shape: tuple[int, int, int, int, bool], backward: bool) -> Callable[[ModuleType], Callable[[], Any]]:
    *sizes, causal = shape

    def prepare(torch: ModuleType) -> Callable[[], Any]:
        q, k, v = (torch.rand(*sizes).requires_grad_(backward) for _ in range(3))
        attend = torch.nn.functional.scaled_dot_product_attention
        if not backward:
            return lambda: attend(q, k, v, is_causal=causal)
        upstream = torch.rand(*sizes)

        def step() -> None:
            q.grad = k.grad = v.grad = None
            attend(q, k, v, is_causal=causal).backward(upstream)

        return step

    return prepare


for _shape in _SHAPES:
    _name = f"attention {'x'.join(map(str, _shape[:4]))}{' causal' if _shape[4] else ''}"
    add(Case(_name, "attention", _attention(_shape, backward=False)))
    add(Case(f"{_name}, forward and backward", "attention", _attention(_shape, backward=True)))
