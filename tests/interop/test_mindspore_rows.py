"""Derived checks of each operator that has a primitive of MindSpore's, on that; and a model. Only on MindSpore itself."""

import importlib
import subprocess
import sys
import warnings

import mindspore_stand_in
import pytest
from expected import lookup
from samples import samples

from mindtorch_v2._operators.table import ROWS
from mindtorch_v2.backends import mindspore
from mindtorch_v2.backends.mindspore import _provider
from tests.ops import test_derived

if not mindspore_stand_in.real():
    pytest.skip("MindSpore is not installed: `make test-mindspore`", allow_module_level=True)


@pytest.fixture(autouse=True)
def _nothing_enabled():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("mindspore")
    yield
    mindspore.disable()


# What the derived tests of an operator are, and whether they begin from a sample of this row.
_CHECKS = {
    "values": (test_derived.test_values, lambda row: True),
    "gradients": (test_derived.test_gradients, lambda row: True),
    "slopes": (test_derived.test_gradients_are_slopes, lambda row: bool(row.grad or row.body)),
    "meta": (test_derived.test_meta_says_what_is_real, lambda row: True),
    "in place": (test_derived.test_in_place_is_the_functional_form, lambda row: row.inplace is not None),
    "out": (test_derived.test_out_is_written, lambda row: row.out is not None),
    "strided": (test_derived.test_strided_inputs, lambda row: True),
    "no elements": (test_derived.test_zero_size_inputs, lambda row: True),
}


@pytest.mark.parametrize("name", sorted(mindspore.operators()))
def test_the_derived_checks_of_an_operator_pass_on_its_primitive(name):
    row, failures, kernel = ROWS[name], [], _provider.full_name(ROWS[name].handle)
    mindspore.enable([name])
    for check, (function, concerns) in _CHECKS.items():
        if not concerns(row):
            continue
        for index in range(len(samples(row))):
            try:
                function(name, index, lookup)
            except pytest.skip.Exception:
                continue  # no answer of PyTorch for this sample; that the primitive was called at all is asked below
            except Exception as error:  # noqa: BLE001  (all of a row's are shown together)
                failures.append(f"{check}, sample {index}: {error}")
    assert not failures, "\n".join(failures)
    assert mindspore.report().served.get(kernel), f"no call reached the primitive: {mindspore.report()}"


def test_there_are_at_least_150_operators():
    assert len(mindspore.operators()) >= 150


_BERT = """
import mindspore
import torch, transformers
from torch.backends import mindspore as provider
torch.manual_seed(0)
config = transformers.BertConfig(
    hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512, vocab_size=1000
)
model = transformers.BertForSequenceClassification(config).eval()
tokens, labels = torch.randint(0, 1000, (3, 17)), torch.tensor([0, 1, 1])
expected = model(tokens, labels=labels).loss
expected.backward()
slopes = {name: each.grad.clone() for name, each in model.named_parameters()}
model.zero_grad()
provider.enable()
loss = model(tokens, labels=labels).loss
loss.backward()
provider.disable()
served = provider.report().served
assert abs(loss.item() - expected.item()) < 1e-5
assert len(slopes) > 30
for name, each in model.named_parameters():
    assert torch.allclose(each.grad, slopes[name], rtol=0, atol=1e-5), name
assert {"aten::linear", "aten::add.Tensor", "aten::embedding"} <= set(served), served
assert sum(served.values()) > 20
"""


def test_bert_tiny_forward_and_backward(tmp_path):
    """The loss and every gradient are those of our kernels to 1e-5, which the tests of training hold to PyTorch's."""
    program = tmp_path / "bert.py"
    program.write_text(_BERT)
    command = [sys.executable, "-m", "mindtorch_v2", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_mindspore_after_our_onednn_is_an_error_that_says_why():
    program = (
        "import mindtorch_v2 as torch\n"
        "torch.ones(300, 300) @ torch.ones(300, 300)\n"
        "try:\n    torch.ones(1).to_mindspore()\n"
        "except ImportError as error:\n    assert 'at the beginning of the program' in str(error)\n"
        "else:\n    assert not torch.backends.mkldnn.is_available(), 'no error'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
