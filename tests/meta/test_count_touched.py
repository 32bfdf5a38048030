"""The cost of an operator, in files: a composite 1, a native one with a gradient 2, with a form in nn.functional 2, with an
NPU kernel 3. Those of today that stand in more are recorded; no operator joins them."""

import importlib.util
import json
import pathlib
from types import ModuleType

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).parents[2]
# Some of each kind, as a new one would be.
EXAMPLES = {
    "composite": "celu corrcoef cosine_similarity fft_fftshift kron linalg_vander quantile",
    "native with a gradient": "igamma igammac logcumsumexp polar special_entr special_zeta unsafe_split",
    "with a form in nn.functional": "conv2d ctc_loss max_unpool2d multi_margin_loss selu upsample_nearest3d",
    "with an NPU kernel": "elu hardshrink logaddexp2 mish nansum softplus topk",
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


def test_no_operator_joins_those_above_the_bar(tool: ModuleType) -> None:
    """Say it in the row; or, if a name is only a word like another, `python tools/count_touched.py --record`."""
    recorded = {name for names in json.loads(tool.RECORD.read_text()).values() for name in names}
    joined = {name for names in tool.above_the_bar().values() for name in names} - recorded
    assert not {name: sorted(tool.files_of(name)) for name in joined}


def test_names_are_found_where_they_stand(tool: ModuleType) -> None:
    assert tool.names_in("softplus(Tensor self, Scalar beta=1) -> Tensor") == ["softplus"]
    assert tool.names_in("aten::add.Tensor") == ["add"]
    assert tool.names_in("relu gelu") == ["relu", "gelu"]
    assert tool.names_in("a sentence, with a comma") == []
