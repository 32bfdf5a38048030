"""From a model to what is shipped: compile, export, fx, jit, profiling, custom operators, parametrization."""

import io
import logging
from collections.abc import Callable
from typing import Any, Literal, overload

import torch
import torch.fx as fx
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export
from torch.library import custom_op, register_autograd
from torch.nn.utils import parametrize
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils._pytree import tree_map

logger = logging.getLogger(__name__)


@custom_op("shipped::scale_add", mutates_args=())
def scale_add(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return x * scale + y


@scale_add.register_fake
def _(x: Tensor, y: Tensor, scale: float) -> Tensor:
    return torch.empty_like(x)


def _setup(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
    ctx.scale = inputs[2]


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
    return grad * ctx.scale, grad, None


register_autograd("shipped::scale_add", _backward, setup_context=_setup)


class Symmetric(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).mT

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight.triu()


class Block(nn.Module):
    def __init__(self, width: int, norm: Callable[[int], nn.Module] = nn.LayerNorm) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = norm(width)

    def forward(self, x: Tensor) -> Tensor:
        return scale_add(torch.relu(self.linear(x)), self.norm(x), 0.5)


class ReplaceRelu(fx.Transformer):
    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return super().call_function(torch.tanh if target is torch.relu else target, args, kwargs)


@overload
def count(model: nn.Module, what: Literal["parameters"]) -> int: ...
@overload
def count(model: nn.Module, what: Literal["names"]) -> list[str]: ...
def count(model: nn.Module, what: str) -> int | list[str]:
    if what == "names":
        return [name for name, _ in model.named_modules()]
    return sum(map(Tensor.numel, model.parameters()))


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(Block(4), Block(4)).eval()
    x = torch.randn(3, 4)
    reference = model(x)
    compiled = torch.compile(model, fullgraph=False, dynamic=False)
    assert torch.allclose(compiled(x), reference, atol=1e-5)
    program: ExportedProgram = export(model, (x,), dynamic_shapes={"input": {0: Dim("batch", min=2)}})
    assert torch.allclose(program.module()(x), reference, atol=1e-5)
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    again = torch.export.load(buffer)
    print(len(list(again.graph.nodes)) > 0, again.graph_signature.user_inputs)
    traced: fx.GraphModule = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(traced.get_submodule(str(node.target)), nn.ReLU):
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(torch.sigmoid, args=(node.args[0],))
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.recompile()
    print(
        traced.code.count("sigmoid"), ReplaceRelu(fx.symbolic_trace(lambda t: torch.relu(t) + 1)).transform()(x).shape
    )
    scripted = torch.jit.trace(nn.Linear(4, 2), x)
    assert scripted(x).shape == (3, 2)
    layer = nn.Linear(4, 4)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert torch.equal(layer.weight, layer.weight.mT)
    nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
    with profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=2), record_shapes=True
    ) as prof:
        for _ in range(3):
            with record_function("step"):
                model(x)
            prof.step()
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    print("step" in table)
    halves = tree_map(lambda t: t.half() if isinstance(t, Tensor) else t, {"a": x, "b": [x, 1]})
    print(halves["a"].dtype, count(model, "parameters"), count(model, "names")[0] == "")
    print(torch.finfo(torch.bfloat16).eps, torch.iinfo(torch.int16).max)
    q: torch.Tensor = torch.empty(2, dtype=torch.float8_e4m3fn, device="meta")
    print(q.is_meta, torch.promote_types(torch.int32, torch.float16), torch.backends.mps.is_available())
    logger.info("done")


if __name__ == "__main__":
    main()
