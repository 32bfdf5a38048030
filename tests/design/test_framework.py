"""The design document of the framework, demand by demand: tensors, autograd, dispatcher, composites, MindSpore, tests.

Its storage on MindSpore's tensors gave way to storage of our own; its files lie where docs/map.md says. What PyTorch says of each
part is in the tests of that part; here stand the document's names, rules and examples.
"""

import pathlib
import subprocess
import sys
import warnings

import mindspore_stand_in
import pytest
from programs import lines_of

import mindtorch_v2 as torch
from mindtorch_v2._dispatch import registry
from mindtorch_v2._dispatch.keys import DispatchKey
from mindtorch_v2.status import OP_STATUS

# ---- tensor and storage ----


def test_a_tensor_is_a_view_of_a_storage_with_offset_shape_and_strides():
    x = torch.arange(12.0).reshape(3, 4)
    y = x[1:, ::2]
    assert (y._shape, y._stride, y._storage_offset) == ((2, 2), (4, 2), 4)
    assert y._storage.data_ptr() == x._storage.data_ptr() and y._storage._size == 48
    assert (y._requires_grad, y._grad_fn, y._grad) == (False, None, None)


def test_writes_are_seen_through_views_and_raise_the_version():
    x = torch.zeros(2, 3)
    views = [x.view(6), x.reshape(3, 2), x.transpose(0, 1), x.permute(1, 0), x[0], x.view(6)[1:]]
    x[0, 0] = 1
    assert [view.flatten()[0].item() for view in views] == [1, 1, 1, 1, 1, 0]
    before = x._version
    views[0].add_(1)
    assert x._version == views[2]._version == before + 1 and x[1, 2].item() == 1


def test_what_autograd_saved_may_not_be_written():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# ---- autograd ----


def test_nodes_link_to_the_nodes_of_their_inputs_and_keep_what_they_need():
    x, w = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    node = (x * w).exp().grad_fn
    product = node.next_functions[0][0]
    assert product.next_functions[0][0].variable is x and product.next_functions[1] == (None, 0)
    assert product._needs_input_grad == (True, False) and product._saved_tensors[-1].tolist() == [3, 3]
    assert product.backward(torch.ones(2))[0].tolist() == [3, 3]


def test_hooks_of_tensors_and_nodes():
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    y.grad_fn.register_full_backward_hook(lambda grad_inputs, grad_outputs: seen.append(grad_outputs[0].tolist()))
    y.sum().backward()
    assert x.grad.tolist() == [20, 20] and seen == [[10, 10]]


def test_gradients_accumulate_and_graphs_are_kept_when_asked():
    x = torch.full((1,), 3.0, requires_grad=True)
    y = x**3
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [54]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    assert torch.autograd.grad(first, x)[0].tolist() == [18]


def test_modes_of_recording():
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
    torch.set_grad_enabled(False)
    assert (x * 2).grad_fn is None
    torch.set_grad_enabled(True)


# ---- dispatcher ----


@pytest.mark.parametrize(
    "name",
    "Autograd AutocastCPU AutocastGPU Batched Functionalize Tracing Backend_CPU Backend_CUDA Backend_Ascend CompositeExplicit".split(),
)
def test_keys_by_the_documents_names(name):
    assert isinstance(getattr(DispatchKey, name), DispatchKey)


def test_a_call_goes_from_autograd_to_the_back_end():
    passed = []
    library = torch.library.Library("design_order", "DEF")
    library.define("op(Tensor x) -> Tensor")

    def recorded(keys, x):
        passed.append("AutogradCPU")
        below = type(keys).from_raw_repr(int(keys) & ((1 << DispatchKey.AutogradCPU.value) - 1))
        return torch.ops.design_order.op.default.redispatch(below, x)

    library.impl("op", lambda x: (passed.append("CPU"), x + 1)[1], "CPU")
    library.impl("op", recorded, "AutogradCPU", with_keyset=True)
    assert torch.ops.design_order.op(torch.ones(1, requires_grad=True)).tolist() == [2]
    assert passed == ["AutogradCPU", "CPU"]
    with torch.inference_mode():  # the key Autograd is off
        torch.ops.design_order.op(torch.ones(1))
    assert passed[2:] == ["CPU"]


EXAMPLES = """
import torch
from mindtorch_v2._dispatch.keys import DispatchKey
from mindtorch_v2._dispatch.registry import register_composite, register_op

x, weight, bias = torch.randn(2, 4), torch.randn(4), torch.randn(4)
softmax, norm = torch.softmax(x, 1), torch.layer_norm(x, (4,), weight, bias)
called = []

@register_op("add", DispatchKey.Backend_CPU)
def add_cpu(a, b):
    called.append("add")
    return torch.sub(a, torch.neg(b))

@register_composite("softmax")
def softmax_composite(x, dim):
    called.append("softmax")
    x_max = x.max(dim=dim, keepdim=True).values
    exp_x = (x - x_max).exp()
    return exp_x / exp_x.sum(dim=dim, keepdim=True)

@register_composite("layer_norm")
def layer_norm_composite(x, normalized_shape, weight, bias, eps):
    called.append("layer_norm")
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, keepdim=True, unbiased=False)
    out = (x - mean) / (var + eps).sqrt()
    return out * weight + bias

assert torch.equal(torch.add(x, x), x * 2) and called == ["add"]
torch.testing.assert_close(torch.softmax(x, 1), softmax)
torch.testing.assert_close(torch.layer_norm(x, (4,), weight, bias), norm)  # eps is left to its default
torch.testing.assert_close(torch.nn.functional.layer_norm(x, (4,), weight, bias), norm)
assert {"softmax", "layer_norm"} < set(called)
y = x.clone().requires_grad_()
torch.softmax(y, 1).max().backward()
print(y.grad.abs().sum() > 0)
"""


def test_operators_and_composites_are_registered_by_decorators():
    assert lines_of(EXAMPLES) == ["tensor(True)"]


def test_contexts_turn_keys_on_and_off():
    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert (x @ x).dtype is torch.bfloat16
    with torch.no_grad():
        assert (x @ x).grad_fn is None
    torch._C._set_tracing_state("mine")
    try:
        assert torch._C._get_tracing_state() == "mine"
    finally:
        torch._C._set_tracing_state(None)
    assert torch._C._get_tracing_state() is None


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "gelu", "add", "matmul"])
@pytest.mark.parametrize("device", ["cpu", "cuda", "ascend", "npu"])
def test_the_status_of_operators_on_devices(name, device):
    assert OP_STATUS[name][device] in ("native", "composite", "missing")
    assert OP_STATUS[name]["cpu"] != "missing" and OP_STATUS[name]["ascend"] != "missing"


def test_an_operator_that_users_register_is_an_operator_like_others():
    registry.register_schema("design_framework::triple", "triple(Tensor x) -> Tensor")
    registry.register_op("design_framework::triple", DispatchKey.Backend_CPU)(lambda x: x * 3)
    assert torch.ops.design_framework.triple(torch.ones(1)).tolist() == [3]


# ---- MindSpore (a stand-in where it is not installed) ----


@pytest.fixture
def ms(monkeypatch):
    if mindspore_stand_in.real():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import mindspore
        return mindspore
    for name, module in mindspore_stand_in.MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)
    return mindspore_stand_in.MODULE


def test_tensors_go_to_mindspore_and_come_back_over_one_memory(ms):
    torch_tensor = torch.ones(2, 3)
    ms_tensor = torch_tensor.to_mindspore()
    assert isinstance(ms_tensor, ms.Tensor)
    back = torch.from_mindspore(ms_tensor)
    assert back.data_ptr() == torch.from_mindspore(ms_tensor, copy=False).data_ptr() == torch_tensor.data_ptr()
    assert torch.from_mindspore(ms_tensor, copy=True).data_ptr() != torch_tensor.data_ptr()


def test_a_tensor_that_is_not_contiguous_is_copied(ms):
    x = torch.arange(6.0).reshape(2, 3).t()
    assert x.to_mindspore().asnumpy().tolist() == x.tolist()


def test_autograd_does_not_cross_and_says_so(ms):
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="gradient history stays behind"):
        assert torch.from_mindspore((x * 2).to_mindspore()).grad_fn is None


def test_devices_must_match(ms):
    with pytest.raises(RuntimeError, match="a tensor on meta; dense CPU tensors"):
        torch.empty(1, device="meta").to_mindspore()


def test_crossings_warn_when_asked_to(ms):
    torch.set_interop_warning(True)
    try:
        with pytest.warns(UserWarning, match="a tensor crosses"):
            torch.ones(1).to_mindspore()
    finally:
        torch.set_interop_warning(False)


# ---- the roadmap ----

ROADMAP = {
    "creation": "empty zeros ones randn tensor",
    "math": "add sub mul div matmul pow",
    "reductions": "sum mean max min softmax",
    "comparisons": "eq ne gt lt ge le",
    "nn": "Module Parameter ParameterList ModuleList Linear Embedding LayerNorm Dropout Conv1d Conv2d BatchNorm1d BatchNorm2d "
    "MaxPool2d AvgPool2d ReLU GELU SiLU Softmax",
    "optim": "AdamW",
}


@pytest.mark.parametrize("phase", ROADMAP)
def test_everything_of_the_roadmap_is_there(phase):
    where = getattr(torch, phase, torch)
    assert all(callable(getattr(where, name)) for name in ROADMAP[phase].split())


def test_indexing_reads_and_writes():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert x[1, ..., -1].tolist() == [15, 19, 23] and x[:, [0, 2], 1:3].shape == (2, 2, 2) and x[x > 20].numel() == 3
    x[0, 1:, ::2] = 0
    x[x > 20] = -1
    assert x.sum().item() == sum(range(24)) - (4 + 6 + 8 + 10) - (21 + 22 + 23) - 3


def test_bert_learns():
    program = """
    import torch, transformers
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids, labels = torch.randint(0, 30, (8, 5)), torch.randint(0, 2, (8,))
    losses = []
    for _ in range(30):
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    print(losses[-1] < losses[0] / 4)
    """
    assert lines_of(program)[-1] == "True"


def test_the_documents_command_says_what_it_needs(tmp_path):
    """tests/run_test.py runs pytest with this package as `torch`; transformers' own tests are in transformers' source."""
    test = tmp_path / "test_one.py"
    test.write_text("import torch\n\ndef test_is_ours():\n    assert torch.ones(1)._storage is not None\n")
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(root / "tests" / "run_test.py"), "-vs", "-p", "no:cacheprovider", str(test)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    assert done.returncode == 0 and "test_is_ours PASSED" in done.stdout, done.stdout + done.stderr
