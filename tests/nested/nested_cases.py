"""Programs of nested tensors, for this package and for PyTorch; what they give is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROWS = ([[0.5, -1.0], [2.0, 3.0]], [[1.0, 0.0], [-2.0, 4.0], [5.0, 0.25]], [[7.0, -3.0]])
WEIGHT = [[1.0, 2.0], [-0.5, 0.25], [3.0, 0.0]]


def entries(torch: Any, requires_grad: bool = False) -> list[Any]:
    return [torch.tensor(row, requires_grad=requires_grad) for row in ROWS]


def jagged(torch: Any, requires_grad: bool = False) -> Any:
    return torch.nested.nested_tensor(entries(torch), layout=torch.jagged, requires_grad=requires_grad)


def strided(torch: Any) -> Any:
    return torch.nested.nested_tensor(entries(torch))


def shown(x: Any) -> Any:
    """A result as JSON: of nested ones the entries."""
    if hasattr(x, "is_nested") and x.is_nested:
        return {"nested": [each.tolist() for each in x.unbind()], "dims": x.dim()}
    if isinstance(x, (tuple, list)):
        return [shown(each) for each in x]
    return {"shape": list(x.shape), "data": x.tolist()} if hasattr(x, "tolist") else x


def _gradient(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """The gradients of a nested leaf, and of entries that a nested tensor was made of."""

    def run(torch: Any) -> Any:
        x = jagged(torch, True)
        torch.nested.to_padded_tensor(function(torch, x), 0.0).pow(2).sum().backward()
        given = entries(torch, True)
        made = torch.nested.as_nested_tensor(given, layout=torch.jagged)
        function(torch, made).values().pow(2).sum().backward()
        return [shown(x.grad), shown([each.grad for each in given])]

    return run


def _attention(torch: Any) -> Any:
    """Attention of nested tensors; PyTorch has no kernel for it on the CPU and answers entry by entry."""
    torch.manual_seed(0)
    parts = [[torch.randn(n, 2, 4) for n in (3, 5)] for _ in range(3)]
    run = torch.nn.functional.scaled_dot_product_attention
    found = []
    for causal in (False, True):
        if torch.__package__ == "torch":
            each = [
                run(*(x.transpose(0, 1) for x in entry), is_causal=causal).transpose(0, 1)
                for entry in zip(*parts, strict=True)
            ]
            found.append({"nested": [x.tolist() for x in each], "dims": 4})
            continue
        q = torch.nested.nested_tensor(parts[0], layout=torch.jagged)
        k, v = (torch.nested.nested_tensor_from_jagged(torch.cat(x), q.offsets()) for x in parts[1:])
        found.append(shown(run(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=causal).transpose(1, 2).contiguous()))
    return found


def _per_entry(torch: Any) -> Any:
    return shown(jagged(torch) * torch.tensor([1.0, 2.0, 3.0])[:, None, None])


CASES: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda torch: [
        jagged(torch).dim(), jagged(torch).size(0), jagged(torch).size(-1), jagged(torch).numel(), jagged(torch).is_nested,
        jagged(torch).is_contiguous(), strided(torch).size(0), strided(torch).size(2), strided(torch).numel(),
    ],
    "parts": lambda torch: [
        shown(jagged(torch).values()), jagged(torch).offsets().tolist(), jagged(torch).lengths(),
        shown(jagged(torch)[1]), shown(jagged(torch).unbind()),
    ],
    "element-wise": lambda torch: [
        shown(jagged(torch) * 2 + 1), shown(jagged(torch).sin()), shown(torch.nn.functional.relu(jagged(torch))),
        shown(jagged(torch) > 0), shown(2 - jagged(torch)), shown(jagged(torch).to(torch.float64)),
    ],
    "of two": lambda torch: (lambda x: [shown(x * x), shown(x + x.exp())])(jagged(torch)),
    "with dense ones": lambda torch: [shown(jagged(torch) + torch.tensor([10.0, 20.0])), _per_entry(torch)],
    "reductions": lambda torch: [
        shown(jagged(torch).sum()), shown(jagged(torch).sum(-1)), shown(jagged(torch).sum(-1, keepdim=True)),
        shown(jagged(torch).sum(1)), shown(jagged(torch).mean(1)), shown(jagged(torch).sum((0, 1))),
        shown(jagged(torch).amax(1)), shown(jagged(torch).mean(-1)),
    ],
    "softmax": lambda torch: [shown(torch.softmax(jagged(torch), -1)), shown(torch.softmax(jagged(torch), 1))],
    "linear": lambda torch: shown(torch.nn.functional.linear(jagged(torch), torch.tensor(WEIGHT), torch.ones(3))),
    "matmul": lambda torch: shown(torch.matmul(jagged(torch), torch.tensor(WEIGHT).t())),
    "layer norm": lambda torch: shown(torch.nn.functional.layer_norm(jagged(torch), (2,))),
    "embedding": lambda torch: shown(
        torch.nn.functional.embedding(
            torch.nested.nested_tensor([torch.tensor([0, 2]), torch.tensor([1, 1, 0])], layout=torch.jagged),
            torch.tensor(WEIGHT),
        )
    ),
    "padded": lambda torch: [
        shown(torch.nested.to_padded_tensor(jagged(torch), 9.0)), shown(torch.nested.to_padded_tensor(strided(torch), 9.0)),
        shown(torch.nested.to_padded_tensor(strided(torch), 0.0, (3, 4, 2))),
    ],
    "forms": lambda torch: [
        shown(jagged(torch).transpose(1, 2)), shown(jagged(torch).unsqueeze(-1)),
        shown(jagged(torch).unflatten(-1, (2, 1))), shown(torch.cat([jagged(torch)] * 1, -1)),
        shown(jagged(torch).chunk(2, -1)), shown((lambda x: x.view(x.size(0), x.size(1), 2, 1))(jagged(torch))),
    ],
    "from a buffer": lambda torch: shown(
        torch.nested.nested_tensor_from_jagged(torch.arange(10.0).reshape(5, 2), torch.tensor([0, 2, 5]))
    ),
    "from lengths": lambda torch: shown(
        torch.nested.nested_tensor_from_jagged(torch.arange(6.0), lengths=torch.tensor([1, 3, 2]))
    ),
    "narrow": lambda torch: [
        shown(torch.nested.narrow(torch.arange(12.0).reshape(3, 4), 1, 0, torch.tensor([1, 4, 2]), layout=torch.jagged)),
    ],
    "masked_select": lambda torch: shown(
        torch.nested.masked_select(torch.arange(6).reshape(2, 3), torch.tensor([[True, False, True], [True, True, True]]))
    ),
    "attention": _attention,
    "strided": lambda torch: [
        shown(strided(torch) * 2), shown(torch.softmax(strided(torch), -1)), repr(strided(torch)),
        shown(torch.nn.functional.linear(strided(torch), torch.tensor(WEIGHT))), shown(strided(torch).transpose(1, 2)),
        shown(torch.matmul(strided(torch), strided(torch).transpose(1, 2))),
    ],
    "gradient of a product": _gradient(lambda torch, x: x * torch.tensor([2.0, 3.0])),
    "gradient of linear": _gradient(lambda torch, x: torch.nn.functional.linear(x, torch.tensor(WEIGHT))),
    "gradient of softmax": _gradient(lambda torch, x: torch.softmax(x, -1)),
    "gradient of a square": _gradient(lambda torch, x: x * x),
}  # fmt: skip

REFUSED: dict[str, Callable[[Any], Any]] = {
    "no entries": lambda torch: torch.nested.nested_tensor([], layout=torch.jagged),
    "ragged twice": lambda torch: torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 4)], layout=torch.jagged),
    "other dimensions": lambda torch: torch.nested.nested_tensor(
        [torch.ones(2), torch.ones(3, 4)], layout=torch.jagged
    ),
    "no offsets": lambda torch: torch.nested.nested_tensor_from_jagged(torch.ones(2)),
    "an irregular size": lambda torch: strided(torch).size(1),
    "sizes of a strided one": lambda torch: strided(torch).shape,
    "the batch alone": lambda torch: jagged(torch).sum(0),
}
