"""Archives of TorchScript that the real PyTorch wrote, with what the programs in them give: tests/snapshots/jit.

python tools/make_jit_snapshots.py
"""

from pathlib import Path
from typing import NamedTuple

import torch

PLACE = Path(__file__).parent.parent / "tests" / "snapshots" / "jit"


class Pair(NamedTuple):
    """Two tensors with names."""

    first: torch.Tensor
    second: torch.Tensor


class Layer(torch.nn.Module):
    """A product with a weight, and what else a source can have of its own Module."""

    def __init__(self, given: int, made: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, given * made).reshape(made, given))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.scale = 0.5
        self.words = ["a", "bc"]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return torch.matmul(x, self.weight.t()) * self.scale


class Program(torch.nn.Module):
    """Loops, branches, lists, dicts, strings, tuples with names, and calls of Modules and functions."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(3, 4), Layer(4, 2)])

    def forward(self, x: torch.Tensor, times: int = 2, most: float = 1.5):
        made = []
        for layer in self.layers:
            x = torch.relu(layer(x))
        for i in range(times):
            if i == 3:
                break
            made.append(x * i + most)
        total = torch.stack(made).sum(0)
        counts = {"made": len(made), "rows": x.size(0)}
        while bool(total.max() > most):
            total = total / 2
            counts["halved"] = counts.get("halved", 0) + 1
        words = [f"{len(word)}{word.upper()}" for word in self.layers[0].words]
        pair = self.pair(total, x)
        kinds = torch.zeros(2, dtype=torch.int32, device=x.device).to(torch.float64)
        assert len(words) == 2, "two words"
        return pair.first, pair.second[:, 1:], counts, ",".join(words), kinds, total.dtype == torch.float32, -7 // 2

    def pair(self, a: torch.Tensor, b: torch.Tensor) -> Pair:
        return Pair(a + 1, b.clamp(max=0.25))


def main() -> None:
    """Write the archives and their results."""
    PLACE.mkdir(parents=True, exist_ok=True)
    program, x = torch.jit.script(Program().eval()), torch.arange(6.0).reshape(2, 3)
    program.save(PLACE / "program.pt")
    results = [tuple(program(x)), tuple(program(x, 5, most=0.5)), tuple(program.pair(x, x))]
    torch.save(results, PLACE / "program_results.pt")


if __name__ == "__main__":
    main()
