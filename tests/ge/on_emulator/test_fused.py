"""Ascend's operators in GE graphs: by their own name where GE has one, else by what they stand on; beside eager on the CPU."""

from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import torchair
from mindtorch_v2._backends.ge import fused
from mindtorch_v2._core.torch_dispatch import whole_calls
from mindtorch_v2._operators.table import rows_of
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.npu import verify
from mindtorch_v2.npu._calls import placed
from mindtorch_v2.utils import _pytree as pytree

# Operators whose compositions read numbers, or make sizes of them, which a graph does not have.
READS = {
    "npu::_npu_moe_token_unpermute_with_routing_map",
    "atb::_npu_flash_attention", "atb::_npu_flash_attention_unpad", "atb::_npu_flash_attention_unpad_v2",
    "atb::_npu_flash_attention_v3", "atb::_npu_paged_attention", "atb::_npu_paged_attention_mla", "atb::_npu_paged_attention_splitfuse",
    "atb::_npu_paged_attention_splitfuse_v2", "atb::_npu_paged_attention_quant",
    "atb::npu_paged_cache_load", "atb::npu_paged_cache_load.out",
    "npu::npu_gather_pa_kv_cache", "npu::npu_grouped_dynamic_mx_quant", "npu::npu_hans_decode.out", "npu::npu_hans_encode.out",
    "npu::npu_moe_token_permute_with_routing_map", "npu::npu_moe_token_permute_with_routing_map_grad",
    "npu::npu_moe_token_unpermute_with_routing_map", "npu::npu_moe_token_unpermute_with_routing_map_grad",
    "npu::npu_random_choice_with_mask", "npu::npu_sparse_attention_score",
}  # fmt: skip
# Those that stand on operators of PyTorch that have no converter.
WITHOUT = {
    "npu::npu_conv3d", "npu::npu_conv_transpose2d", "npu::npu_convolution_transpose",
    "npu::npu_group_norm_swish", "npu::npu_stride_copy",
}  # fmt: skip
# Implicit compositions without an ACLNN operator: of them a graph has the parts, however it is made.
IN_PARTS = {"npu::fast_gelu", "npu::npu_fast_gelu_backward", "npu::npu_gelu", "npu::npu_gelu_backward"}


def _calls(name: str, row: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    if name in verify.CALLS:
        for args, kwargs in verify.CALLS[name]:
            there = placed([args, list(kwargs.values())], "cpu", torch.float32)
            yield there[0], dict(zip(kwargs, there[1], strict=True))
    else:
        for number, sample in enumerate(row.samples[:2]):
            yield verify._of_sample(row, sample, number, "float32")


ROWS = {f"{space}::{name}": row for space in ("npu", "atb") for name, row in rows_of(space).items()}
# It draws with a generator, which no graph takes.
DRAWS = {"npu::_npu_dropout_gen_mask.Tensor"}
CASES = sorted(
    name for name, row in ROWS.items() if not verify._between(row) and name not in DRAWS and any(_calls(name, row))
)


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _agree(made: torch.Tensor, wanted: torch.Tensor) -> None:
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    torch.testing.assert_close(made.cpu(), wanted, rtol=1e-3, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("name", CASES)
def test_graph_gives_what_eager_gives(name: str) -> None:
    row = ROWS[name]
    for args, kwargs in _calls(name, row):
        leaves, spec = pytree.tree_flatten(pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs)))

        def program(*tensors: torch.Tensor, leaves: Any = leaves, spec: Any = spec) -> Any:
            given = iter(tensors)
            filled = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            args, kwargs = pytree.tree_unflatten(filled, spec)
            return row.handle(*args, **kwargs)

        tensors = _tensors(leaves)
        given = [tensor.npu() for tensor in tensors]
        with torch.no_grad():
            if name in READS:
                with pytest.raises((torchair.GEConversionError, RuntimeError)):
                    torchair.lower(make_fx(torch.func.functionalize(program), tracing_mode="fake")(*given))
                return
            with whole_calls():
                traced = make_fx(torch.func.functionalize(program), tracing_mode="fake")(*given)
            if name in WITHOUT:
                with pytest.raises(torchair.GEConversionError, match="no converter|failed: a "):
                    torchair.lower(traced)
                return
            compiled = torchair.ge_compile(traced)
            types = {op.type for op in compiled.program.model.graph[0].op}
            made, wanted = _tensors(compiled(*given)), _tensors(program(*tensors))
        said = {
            each.type
            for each in fused.rows().get(row.handle, ())
            if fused.row_for(row.handle, args, kwargs) is not None
        }
        assert not said or name in IN_PARTS or types & said
        for one, other in zip(made, wanted, strict=True):
            _agree(one, other)
        if row.handle.mutates:
            for one, other in zip(given, tensors, strict=True):
                _agree(one, other)


def test_training_has_the_gradients_by_their_own_names() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain = torch.nn.Parameter(torch.linspace(0.5, 1.5, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.npu.npu_swiglu(torch.ops.npu.npu_rms_norm(x, self.gain)[0]).square().sum()

    made: list[set[str]] = []
    kept = torchair.lower

    def lowered(*args: Any) -> Any:
        program = kept(*args)
        made.append({op.type for op in program.model.graph[0].op})
        return program

    layer, other = Layer().npu(), Layer()
    x = torch.linspace(-1, 1, 48).reshape(3, 16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mindtorch_v2._backends.ge.backend.lower", lowered)
        loss = torch.compile(layer, backend="ge")(x.npu())
        loss.backward()
    other(x).backward()
    assert layer.gain.grad is not None and other.gain.grad is not None
    _agree(layer.gain.grad, other.gain.grad)
    forward, backward = made
    assert {"RmsNorm", "SwiGlu"} <= forward and {"SwiGluGrad", "RmsNormGrad"} <= backward


@pytest.mark.parametrize(
    ("program", "type"),
    [
        (lambda x: tuple(x.max(1)), "ArgMaxWithValue"),
        (lambda x: tuple(x.min(0, keepdim=True)), "ArgMinWithValue"),
        (lambda x: tuple(x.sort(1, descending=True)), "Sort"),
        (lambda x: tuple(x.sort(stable=True)), "Sort"),
        (lambda x: torch.nn.functional.mish(x), "Mish"),
        (lambda x: torch.nn.functional.softplus(x, 2.0, 5.0), "SoftplusV2"),
        (lambda x: (torch.atan(x), torch.asinh(x), torch.cosh(x), torch.sinh(x), torch.tan(x)), "Atan"),
        (lambda x: (torch.asin(x), torch.acos(x), torch.atanh(x), torch.acosh(x + 2)), "Acos"),
        (lambda x: (x.clamp_min(0.1), x.clamp_max(0.1)), "Maximum"),
        (lambda x: (torch.signbit(x), torch.signbit(x * -0.0), torch.signbit(x.half())), "Bitcast"),
        (lambda x: ((x * 8).int() << 2, (x * 8).int() >> 1, (x * 64).int() >> (x > 0).int()), "LeftShift"),
        (lambda x: x.view(torch.int32), "Bitcast"),
        (lambda x: torch.rms_norm(x, [4], None, 1e-3), "RmsNorm"),
        (lambda x: x.scatter(1, (x[:, :2] > 0).long(), 3.0), "ScatterElements"),
        (lambda x: x.scatter(0, (x[:2] > 0).long(), x), "ScatterElements"),
        (lambda x: x.index_put([(x[:, 0] > 0).long()], x[:, 1:2]), "IndexPutV2"),
        (lambda x: x.index_put([None, (x > 0).long()], x.new_ones(3, 3, 4), accumulate=True), "IndexPutV2"),
        (lambda x: x.index_put([torch.arange(-2, 0, device=x.device)], x[0, 0]), "IndexPutV2"),
        (lambda x: torch.searchsorted(x[0].sort().values, x), "SearchSorted"),
        (lambda x: torch.searchsorted(x.sort(1).values.double(), x, right=True, out_int32=True), "SearchSorted"),
    ],
)
def test_operators_of_pytorch_that_compositions_stand_on(program: Any, type: str) -> None:
    x = torch.tensor([[0.5, -0.25, 0.75, -0.875], [-0.5, 0.125, -0.0625, 0.25], [0.3, -0.7, 0.6, 0.9]])
    with whole_calls():  # as the back end of torch.compile traces
        compiled = torchair.ge_compile(make_fx(program, tracing_mode="fake")(x.npu()))
    assert type in {op.type for op in compiled.program.model.graph[0].op}
    for one, other in zip(_tensors(compiled(x.npu())), _tensors(program(x)), strict=True):
        _agree(one, other)
