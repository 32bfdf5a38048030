"""The cost of an operator, in files: a composite 1, a native one with a gradient 2, with a form in nn.functional 2, with an
NPU kernel 3. Those of today that stand in more are recorded with their number; none joins them, and none of them grows."""

import importlib.util
import json
import pathlib
from types import ModuleType

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).parents[2]
# Some of each kind, as a new one would be.
EXAMPLES = {
    "composite": "pairwise_distance corrcoef cosine_similarity fft_fftshift kron linalg_vander quantile",
    "native with a gradient": "igamma igammac linalg_qr logcumsumexp special_entr special_zeta unsafe_split",
    "with a form in nn.functional": "conv2d ctc_loss max_unpool2d multi_margin_loss selu fractional_max_pool3d",
    "with an NPU kernel": "elu cummax isclose kthvalue logaddexp2 mish softplus topk upsample_nearest3d",
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("count_touched", ROOT / "tools" / "count_touched.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in EXAMPLES.items() for name in names.split()])
def test_examples_stand_in_few_files(tool: ModuleType, kind: str, name: str) -> None:
    assert name in tool.kinds()[kind]
    assert 0 < len(tool.files_of(name)) <= tool.BARS[kind], sorted(tool.files_of(name))


def _grown(now: dict[str, int], recorded: dict[str, int]) -> list[str]:
    """Names in more files than recorded. Those in ten and more are words of other things too, such as dim: a tenth more."""
    return [name for name, files in now.items() if files > recorded.get(name, 0) * 11 // 10]


def test_no_operator_grows_above_the_bar(tool: ModuleType) -> None:
    """Say it in the row; or, if a name is only a word like another, `python tools/count_touched.py --record`."""
    recorded = {name: files for names in json.loads(tool.RECORD.read_text()).values() for name, files in names.items()}
    now = {name: files for names in tool.above_the_bar().values() for name, files in names.items()}
    assert not {name: sorted(tool.files_of(name)) for name in _grown(now, recorded)}


def test_growth_is_seen() -> None:
    assert _grown({"nansum": 5, "elu": 4, "dim": 88, "size": 34}, {"nansum": 4, "dim": 80, "size": 30}) == [
        "nansum",
        "elu",
        "size",
    ]
    assert _grown({"nansum": 9, "celu": 2}, {"nansum": 9, "celu": 3}) == []


def test_names_are_found_where_they_stand(tool: ModuleType) -> None:
    assert tool.names_in("softplus(Tensor self, Scalar beta=1) -> Tensor") == ["softplus"]
    assert tool.names_in("aten::add.Tensor") == ["add"]
    assert tool.names_in("relu gelu") == ["relu", "gelu"]
    assert tool.names_in("a sentence, with a comma") == []


def test_names_are_found_in_python(tool: ModuleType) -> None:
    def names(text: str, **how: bool) -> list[str]:
        return sorted(tool.python_names(text, **how))

    assert names("@register(aten.nansum.default, [torch.ops.aten.nansum.out])\ndef f(x): return aten.sum(x)") == 2 * [
        "nansum"
    ]
    assert names("@register(of=aten.gelu)\ndef f(x): ...") == ["gelu"]
    assert names("register(aten.hardshrink.default)(f)") == ["hardshrink"]
    assert names("RULES = {_aten.relu.default: f, 'gelu': g}") == ["gelu", "relu"]
    assert names("CHEAP = {aten.add.Tensor, aten.sub}") == ["add", "sub"]
    assert names("def softplus(x): return aten.softplus(x) + x.aten.mul.Tensor.schema.name") == []
    assert names("def softplus(x): ...", in_functional=True) == ["softplus"]
    assert names("f(aten.add.Tensor)\naten.mul(aten.sub(x))\nRULES = [torch.add, aten, aten.add.Tensor.name.x]") == []
    assert names('"""A docstring."""\n"relu gelu"\nf("relu gelu")\nf(f"relu(Tensor {x}")') == ["gelu", "relu", "relu"]
