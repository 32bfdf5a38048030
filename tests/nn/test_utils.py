"""`nn.utils`, `nn.init`, `nn.attention`, parameters: against PyTorch where there are numbers."""

import copy
import math
import warnings

import numpy as np
import pytest
from agreement import same

import mindtorch_v2 as torch
from mindtorch_v2 import nn

INITIALIZERS = [
    ("uniform_", (), {}, (3, 4)),
    ("normal_", (1.0, 2.0), {}, (3, 4)),
    ("trunc_normal_", (), {"std": 0.02}, (5, 40)),
    ("trunc_normal_", (0.5, 1.0, 0.0, 1.0), {}, (5, 4)),
    ("trunc_normal_", (0.0, 1.0, -1.0, 1.0), {}, (5, 40)),
    ("trunc_normal_", (0.0, 1.0, 1.0, 2.0), {}, (5, 40)),
    ("constant_", (0.3,), {}, (3, 4)),
    ("eye_", (), {}, (3, 4)),
    ("dirac_", (), {"groups": 2}, (4, 2, 3, 3)),
    ("xavier_uniform_", (), {"gain": 2.0}, (3, 4, 2)),
    ("xavier_normal_", (), {}, (3, 4)),
    ("kaiming_uniform_", (), {"a": math.sqrt(5)}, (3, 4, 3, 3)),
    ("kaiming_normal_", (), {"mode": "fan_out", "nonlinearity": "relu"}, (3, 4)),
    ("orthogonal_", (), {}, (5, 3)),
    ("orthogonal_", (), {"gain": 2.0}, (3, 2, 3)),
    ("sparse_", (0.5,), {}, (6, 4)),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), INITIALIZERS)
def test_initial_values_follow_the_seed(name, args, kwargs, shape):
    def program(framework):
        framework.manual_seed(11)
        tensor = framework.empty(shape)
        assert getattr(framework.nn.init, name)(tensor, *args, **kwargs) is tensor
        return tensor, framework.rand(3)

    same(program, 1e-5, 1e-6)


def test_initializers_take_a_generator():
    first, second = torch.empty(4), torch.empty(4)
    nn.init.uniform_(first, generator=torch.Generator().manual_seed(2))
    nn.init.uniform_(second, generator=torch.Generator().manual_seed(2))
    assert first.tolist() == second.tolist()


def test_deprecated_initializer():
    with pytest.warns(FutureWarning, match="`nn.init.constant` is now deprecated in favor of `nn.init.constant_`"):
        assert nn.init.constant(torch.empty(2), 3.0).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("norm_type", [2.0, 1.0, math.inf])
def test_clip_grad_norm(foreach, norm_type):
    params = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(1))]
    for i, p in enumerate(params[:2]):
        p.grad = torch.full_like(p, i + 1.0)
    grads = [p.grad for p in params[:2]]
    flat = [1.0] * 2 + [2.0] * 4
    expected = max(flat) if norm_type == math.inf else sum(v**norm_type for v in flat) ** (1 / norm_type)
    total = nn.utils.clip_grad_norm_(params, 0.5, norm_type=norm_type, foreach=foreach)
    assert total.item() == pytest.approx(expected)
    assert params[0].grad is grads[0]
    assert grads[1].flatten().tolist() == pytest.approx([2 * 0.5 / (expected + 1e-6)] * 4)
    assert nn.utils.get_total_norm(grads, norm_type).item() == pytest.approx(0.5, rel=1e-4)


def test_clip_grad_norm_of_what_is_not_finite():
    p = nn.Parameter(torch.ones(2))
    p.grad = torch.tensor([1.0, math.inf])
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    nn.utils.clip_grad_value_(p, 0.5)
    assert p.grad.tolist() == [0.5, 0.5]
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_parameters_as_a_vector():
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    nn.utils.vector_to_parameters(torch.arange(9.0), layer.parameters())
    assert vector.shape == (9,) and layer.bias.tolist() == [6.0, 7.0, 8.0]


class _Double(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def test_parametrize():
    layer = nn.Linear(2, 2)
    weight = layer.weight.tolist()
    parameter = layer.weight
    nn.utils.parametrize.register_parametrization(layer, "weight", _Double())
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert layer.weight.tolist() == weight
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    layer(torch.ones(1, 2)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    layer.weight = torch.ones(2, 2)
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with nn.utils.parametrize.cached():
        assert layer.weight is layer.weight
    twin = copy.deepcopy(layer)
    assert twin.weight.tolist() == layer.weight.tolist()
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is parameter and layer.weight.tolist() == [[1.0, 1.0]] * 2


def test_parametrization_that_changes_the_shape():
    class Sum(nn.Module):
        def forward(self, x):
            return x.sum(0)

    with pytest.raises(ValueError, match="may not change the shape of the tensor"):
        nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", Sum())


@pytest.mark.parametrize("which", ["weight_norm", "spectral_norm", "orthogonal"])
def test_parametrizations(which):
    def program(framework):
        framework.manual_seed(4)
        layer = framework.nn.Linear(3, 4)
        layer = getattr(framework.nn.utils.parametrizations, which)(layer)
        output = layer(framework.ones(2, 3))
        output.sum().backward()
        return repr(layer), list(layer.state_dict()), output, [p.grad for p in layer.parameters()]

    same(program, 1e-4, 1e-5)


@pytest.mark.parametrize("which", ["weight_norm", "spectral_norm"])
def test_norms_by_hook(which):
    def program(framework):
        framework.manual_seed(4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = getattr(framework.nn.utils, which)(framework.nn.Linear(3, 4))
        output = layer(framework.ones(2, 3))
        state = list(layer.state_dict())
        getattr(framework.nn.utils, "remove_" + which)(layer)
        return state, list(layer.state_dict()), output, layer.weight

    same(program, 1e-5, 1e-6)


def test_prune():
    from mindtorch_v2.nn.utils import prune  # as programs import it

    layer = nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -4.0], [3.0, 2.0]]))
    prune.l1_unstructured(layer, "weight", amount=1)
    assert layer.weight.tolist() == [[0.0, -4.0], [3.0, 2.0]]
    prune.ln_structured(layer, "weight", amount=1, n=1, dim=0)
    assert layer.weight.tolist() == [[0.0, 0.0], [3.0, 2.0]] or layer.weight.tolist() == [[0.0, -4.0], [0.0, 0.0]]
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    assert prune.is_pruned(layer)
    prune.remove(layer, "weight")
    assert sorted(layer.state_dict()) == ["bias", "weight"] and not prune.is_pruned(layer)


def test_functional_call():
    layer = nn.Linear(1, 1)
    weight = layer.weight
    values = {"weight": torch.full((1, 1), 2.0), "bias": torch.ones(1)}
    assert nn.utils.stateless._functional_call(layer, values, torch.ones(1, 1)).item() == 3
    assert layer.weight is weight
    with pytest.raises(RuntimeError, match=r"Error\(s\) in reparametrizing for Linear"):
        nn.utils.stateless._functional_call(layer, {"nope": torch.ones(1)}, torch.ones(1, 1), strict=True)


def test_fusion_of_batch_norm():
    conv, bn = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
    bn.running_mean.uniform_()
    bn.running_var.uniform_(0.5, 1.0)
    conv.eval(), bn.eval()
    x = torch.rand(1, 2, 5, 5)
    fused = nn.utils.fuse_conv_bn_eval(conv, bn)
    np.testing.assert_allclose(fused(x).tolist(), bn(conv(x)).tolist(), rtol=1e-4, atol=1e-5)


def test_skip_init():
    layer = nn.utils.skip_init(nn.Linear, 2, 3)
    assert layer.weight.shape == (3, 2) and not layer.weight.is_meta


def test_packed_sequences():
    sequences = [torch.arange(3.0), torch.arange(1.0), torch.arange(2.0)]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=-1.0)
    assert padded.tolist() == [[0, 1, 2], [0, -1, -1], [0, 1, -1]]
    packed = nn.utils.rnn.pack_padded_sequence(padded, [3, 1, 2], batch_first=True, enforce_sorted=False)
    assert packed.data.tolist() == [0, 0, 0, 1, 1, 2] and packed.batch_sizes.tolist() == [3, 2, 1]
    unpacked, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0)
    assert unpacked.tolist() == padded.tolist() and lengths.tolist() == [3, 1, 2]
    assert [s.tolist() for s in nn.utils.rnn.unpack_sequence(packed)] == [s.tolist() for s in sequences]
    with pytest.raises(RuntimeError, match="`lengths` array must be sorted in decreasing order"):
        nn.utils.rnn.pack_padded_sequence(padded, [3, 1, 2], batch_first=True)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers_over_packed_sequences(kind):
    def program(framework):
        framework.manual_seed(2)
        layer = getattr(framework.nn, kind)(3, 4, num_layers=2, bidirectional=True, dropout=0.3)
        x = framework.rand(5, 3, 3)
        packed = framework.nn.utils.rnn.pack_padded_sequence(x, [2, 5, 4], enforce_sorted=False)
        output, state = layer(packed)
        output.data.sum().backward()
        states = state if isinstance(state, tuple) else (state,)
        return output.data, *states, *(p.grad for p in layer.parameters())

    same(program, 1e-4, 1e-5)


def test_sdpa_kernel():
    from_flags = nn.attention._cur_sdpa_kernel_backends
    before = from_flags()
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        assert from_flags() == [nn.attention.SDPBackend.MATH]
        assert torch.backends.cuda.math_sdp_enabled() and not torch.backends.cuda.flash_sdp_enabled()
    assert from_flags() == before
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"):
        with nn.attention.sdpa_kernel(3):
            pass


def test_data_parallel_without_devices_calls_the_module():
    module = nn.Linear(3, 2)
    wrapped = nn.DataParallel(module)
    x = torch.ones(4, 3)
    assert torch.equal(wrapped(x), module(x)) and torch.equal(nn.parallel.data_parallel(module, x), module(x))
    assert wrapped.module is module and wrapped.device_ids == []
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]


def test_parameter():
    data = torch.ones(2)
    p = nn.Parameter(data)
    assert p.requires_grad and p.is_leaf and p.data_ptr() == data.data_ptr()
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert type(p * 2) is torch.Tensor and type(p.data) is torch.Tensor
    assert not nn.Parameter(torch.ones(1, dtype=torch.int64), requires_grad=False).requires_grad
    assert isinstance(p, torch.Tensor) and not isinstance(data, nn.Parameter)
    with torch.no_grad():
        assert nn.Parameter(data).requires_grad
    lazy = nn.UninitializedParameter()
    assert nn.parameter.is_lazy(lazy)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        lazy.shape
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        lazy + 1
    lazy.materialize((2, 3))
    assert type(lazy) is nn.Parameter and lazy.shape == (2, 3)


def test_convolution_gradients_by_function():
    x, w, g = torch.rand(1, 2, 5, 5), torch.rand(3, 2, 3, 3), torch.rand(1, 3, 3, 3)
    x.requires_grad_(), w.requires_grad_()
    nn.functional.conv2d(x, w).backward(g)
    torch.testing.assert_close(nn.grad.conv2d_input(x.shape, w, g), x.grad)
    torch.testing.assert_close(nn.grad.conv2d_weight(x, w.shape, g), w.grad)


def test_packed_sequences_are_pinned_with_their_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, device=None: pinned.append(self) or self.clone())
    unsorted = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([1, 3]), enforce_sorted=False)
    made = unsorted.pin_memory()
    assert [
        part is other
        for part, other in zip(pinned, (unsorted.data, unsorted.sorted_indices, unsorted.unsorted_indices))
    ] == [True] * 3
    assert made.unsorted_indices is not None and made.unsorted_indices.tolist() == [1, 0]
    pinned.clear()
    made = nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), torch.tensor([3, 1])).pin_memory()
    assert len(pinned) == 1 and made.sorted_indices is None and made.unsorted_indices is None


def test_masks_of_channels_have_the_dtype_of_what_is_pruned() -> None:
    from mindtorch_v2.nn.utils import prune

    mask = prune.LnStructured(1, 1, 0).compute_mask(
        torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, dtype=torch.float64)
    )
    assert mask.dtype == torch.float32 and mask.tolist() == [[0, 0, 0], [1, 1, 1]]
