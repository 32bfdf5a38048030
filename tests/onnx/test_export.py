"""Models written in ONNX, run by onnxruntime: its numbers are the expected ones."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnxscript import opset18

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional as F
from mindtorch_v2.utils import _pytree as pytree

BATCH = torch.export.Dim("batch", min=2, max=64)


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, 2, bidirectional=True, batch_first=True)

    def forward(self, x: Any) -> Any:
        output, (hidden, cell) = self.lstm(x)
        return {"output": output, "state": [hidden, cell]}


class _Indexing(nn.Module):
    def forward(self, x: Any, places: Any) -> Any:
        written = x.clone()
        written[:, 0] = 1.0
        written[places] = written[places] + 1
        return (
            x[:, 1:, ::2],
            x[places],
            written,
            torch.where(x > 0, x, 0.0),
            x.masked_fill(x < 0, -1e9).softmax(-1),
            torch.zeros_like(x).scatter_(1, x.argmax(1, keepdim=True), 1.0),
            x.gather(2, x.argsort(2)),
            x.topk(2, -1).values,
            F.one_hot(places, 5),
            x.chunk(2, -1)[1],
            F.pad(x, (1, 1), value=2.0),
            torch.stack([x, x]).flip(0),
        )


class _Arithmetic(nn.Module):
    """Operators that PyTorch promotes, which ONNX does not, and some that have to be taken apart."""

    def forward(self, x: Any, i: Any) -> Any:
        return (
            i * 2.5 + 1,
            i / 2,
            i // 2,
            i % 3,
            (x > 0).sum(-1),
            x + i[:1],
            torch.cat([x, i.reshape(1, -1).expand(x.shape[0], -1)[:, :1]], 1),
            x.std(1),
            x.var(-1, unbiased=False),
            x.nan_to_num().square().rsqrt(),
            torch.einsum("ij,kj->ik", x, x),
            F.smooth_l1_loss(x, x * 2),
            torch.quantile(x, 0.25),
            torch.linspace(0, 1, 5),
            torch.eye(3),
            x.shape[0] * x,
            F.gelu(x, approximate="tanh") + F.softplus(x) + F.mish(x),
        )


def _convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.GroupNorm(2, 8),
        nn.SiLU(),
        nn.AvgPool2d(2),
        nn.ConvTranspose2d(8, 4, 2, 2),
        nn.InstanceNorm2d(4),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.PReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(),
    )


def _attention() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MODELS: dict[str, tuple[Any, Any, Any]] = {
    "arithmetic": (_Arithmetic, lambda n: (torch.randn(n, 5), torch.tensor([0, 2, 7])), ({0: BATCH}, None)),
    "attention": (_attention, lambda n: (torch.randn(n, 4, 8),), ({0: BATCH},)),
    "convolutions": (_convolutions, lambda n: (torch.randn(n, 3, 8, 8),), ({0: BATCH},)),
    "indexing": (_Indexing, lambda n: (torch.randn(n, 4, 6), torch.tensor([0, 2])), ({0: BATCH}, None)),
    "recurrent": (_Recurrent, lambda n: (torch.randn(n, 5, 4),), ({0: BATCH},)),
}


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_computes_the_same(name: str) -> None:
    torch.manual_seed(0)
    make, arguments, shapes = MODELS[name]
    model = make().eval()
    program = torch.onnx.export(model, arguments(3), dynamic_shapes=shapes)
    onnx.checker.check_model(program.model_proto)
    for rows in (3, 7):
        args = arguments(rows)
        expected = program(*args)
        for ours, theirs in zip(pytree.tree_leaves(model(*args)), expected, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_names_of_the_older_exporter(tmp_path: Path) -> None:
    model, file = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)), io.BytesIO()
    axes = {"x": {0: "rows"}, "y": [0]}
    answer = torch.onnx.export(
        model, torch.ones(2, 3), file, dynamo=False, input_names=["x"], output_names=["y"], dynamic_axes=axes
    )
    assert answer is None and model.training
    graph = onnx.load_model_from_string(file.getvalue()).graph
    assert [value.name for value in (*graph.input, *graph.output)] == ["x", "y"]
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "rows"
    assert [node.op_type for node in graph.node] == ["Gemm"]  # exported in evaluation mode: nothing is dropped


def test_files(tmp_path: Path) -> None:
    model = nn.Linear(3, 4)
    torch.onnx.export(model, (torch.ones(2, 3),), tmp_path / "apart.onnx")
    torch.onnx.export(model, (torch.ones(2, 3),), tmp_path / "one.onnx", external_data=False, opset_version=18)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["apart.onnx", "apart.onnx.data", "one.onnx"]
    loaded = onnx.load(tmp_path / "one.onnx")
    assert loaded.opset_import[0].version == 18
    assert {each.name for each in loaded.graph.initializer} == {"weight", "bias"}


def test_weights_are_exchanged() -> None:
    program = torch.onnx.export(nn.Linear(2, 2), (torch.ones(1, 2),))
    program.apply_weights({"weight": torch.zeros(2, 2), "bias": torch.tensor([1.0, 2.0])})
    assert program(torch.ones(1, 2))[0].tolist() == [[1.0, 2.0]]
    with pytest.warns(UserWarning, match="Weight 'other' not found"):
        program.apply_weights({"other": torch.zeros(2)})


def test_operators_of_the_user() -> None:
    with torch.library._scoped_library("onnx_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")

        class Model(nn.Module):
            def forward(self, x: Any) -> Any:
                return torch.ops.onnx_test.twice(x) + 1

        with pytest.raises(torch.onnx.OnnxExporterError, match="No ONNX function found for onnx_test.twice"):
            torch.onnx.export(Model(), (torch.ones(2),))
        table = {torch.ops.onnx_test.twice.default: lambda x: opset18.Mul(x, 2.0)}
        program = torch.onnx.export(Model(), (torch.ones(2),), custom_translation_table=table)
        assert program(torch.ones(2))[0].tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"opset_version": 9}, "opset_version must be 18 to 23, got 9"),
        ({"input_names": ["a", "b"]}, r"2 input_names for 1 inputs: \['a', 'b'\]"),
        ({"args": (torch.ones(2, 5),)}, "Failed to export the model with torch.export. RuntimeError: mat1 and mat2"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(torch.onnx.OnnxExporterError, match=message):
        torch.onnx.export(nn.Linear(3, 4), **{"args": (torch.ones(2, 3),), **arguments})
    assert not torch.onnx.is_in_onnx_export()


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.onnx.export(nn.Linear(3, 4), (torch.ones(2, 3),), verify=True)
    monkeypatch.setattr(torch.onnx.ONNXProgram, "__call__", lambda self, x: [torch.zeros(2, 4)])
    with pytest.raises(torch.onnx.OnnxExporterError, match="output 0 of the model differs"):
        torch.onnx.export(nn.Linear(3, 4), (torch.ones(2, 3),), verify=True)
