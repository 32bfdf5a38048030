"""Every layer against PyTorch's: text, names, initial values under one seed, outputs and gradients."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from agreement import same
from recording import answer

import mindtorch_v2 as torch


def _x(*shape, low=None, high=None, positive=False):
    """An input, described so that both frameworks can make it."""
    return ("int", shape, low, high) if high is not None else ("float", shape, positive)


# name: (constructor arguments, keyword arguments, inputs, training)
CASES = [
    ("AdaptiveAvgPool1d", (3,), {}, [_x(2, 3, 7)]),
    ("AdaptiveAvgPool2d", ((None, 3),), {}, [_x(2, 3, 7, 5)]),
    ("AdaptiveAvgPool3d", (2,), {}, [_x(2, 3, 4, 5, 6)]),
    ("AdaptiveLogSoftmaxWithLoss", (8, 10, [2, 5]), {}, [_x(4, 8), _x(4, low=0, high=10)]),
    ("AdaptiveMaxPool1d", (3,), {}, [_x(2, 3, 7)]),
    ("AdaptiveMaxPool2d", (3,), {}, [_x(2, 3, 7, 5)]),
    ("AdaptiveMaxPool3d", (2,), {}, [_x(2, 3, 4, 5, 6)]),
    ("AlphaDropout", (0.3,), {}, [_x(4, 5)]),
    ("AvgPool1d", (2,), {}, [_x(2, 3, 8)]),
    ("AvgPool2d", (2,), {"padding": 1, "count_include_pad": False}, [_x(2, 3, 8, 8)]),
    ("AvgPool3d", (2,), {}, [_x(2, 3, 4, 4, 4)]),
    ("BCELoss", (), {}, [_x(4, 3, positive=True), _x(4, 3, positive=True)]),
    ("BCEWithLogitsLoss", (), {}, [_x(4, 3), _x(4, 3, positive=True)]),
    ("BatchNorm1d", (3,), {}, [_x(4, 3)]),
    ("BatchNorm2d", (3,), {"momentum": None}, [_x(4, 3, 5, 5)]),
    ("BatchNorm3d", (3,), {"affine": False}, [_x(4, 3, 2, 3, 2)]),
    ("Bilinear", (3, 4, 5), {}, [_x(2, 3), _x(2, 4)]),
    ("CELU", (0.5,), {}, [_x(3, 4)]),
    ("ChannelShuffle", (2,), {}, [_x(1, 4, 2, 2)]),
    ("CircularPad1d", (2,), {}, [_x(1, 2, 5)]),
    ("CircularPad2d", ((1, 1, 2, 0),), {}, [_x(1, 2, 5, 5)]),
    ("ConstantPad2d", (1, 3.5), {}, [_x(1, 2, 3, 3)]),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1}, [_x(2, 4, 9)]),
    ("Conv2d", (4, 6, 3), {"groups": 2, "bias": False}, [_x(2, 4, 7, 7)]),
    ("Conv2d", (2, 3, 3), {"padding": "same", "dilation": 2}, [_x(2, 2, 7, 7)]),
    ("Conv2d", (2, 3, 3), {"padding": 1, "padding_mode": "reflect"}, [_x(2, 2, 7, 7)]),
    ("Conv3d", (2, 3, 2), {}, [_x(1, 2, 4, 4, 4)]),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2}, [_x(2, 4, 9)]),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "output_padding": 1, "padding": 1}, [_x(2, 4, 5, 5)]),
    ("ConvTranspose3d", (2, 3, 2), {}, [_x(1, 2, 3, 3, 3)]),
    ("CosineEmbeddingLoss", (), {}, [_x(4, 3), _x(4, 3), _x(4, low=1, high=2)]),
    ("CosineSimilarity", (), {}, [_x(4, 3), _x(4, 3)]),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1}, [_x(4, 3), _x(4, low=0, high=3)]),
    ("CrossMapLRN2d", (5, 0.7), {}, [_x(2, 7, 3, 3)]),
    ("CrossMapLRN2d", (4, 0.5, 0.6, 2), {}, [_x(2, 7, 3, 3)]),
    ("Dropout", (0.3,), {}, [_x(8, 8)]),
    ("Dropout1d", (0.3,), {}, [_x(4, 5, 3)]),
    ("Dropout2d", (0.3,), {}, [_x(4, 5, 3, 3)]),
    ("Dropout3d", (0.3,), {}, [_x(4, 5, 2, 2, 2)]),
    ("ELU", (), {}, [_x(3, 4)]),
    ("Embedding", (7, 3), {"padding_idx": -1}, [_x(4, 5, low=0, high=7)]),
    ("Embedding", (7, 3), {"max_norm": 0.5}, [_x(4, low=0, high=7)]),
    ("EmbeddingBag", (7, 3), {"mode": "sum"}, [_x(4, 5, low=0, high=7)]),
    ("EmbeddingBag", (7, 3), {"padding_idx": 1}, [_x(4, 5, low=0, high=7)]),
    ("FeatureAlphaDropout", (0.3,), {}, [_x(4, 5, 3)]),
    ("Flatten", (), {}, [_x(2, 3, 4)]),
    ("Fold", ((4, 5), (2, 2)), {}, [_x(1, 8, 12)]),
    ("GELU", (), {}, [_x(3, 4)]),
    ("GELU", ("tanh",), {}, [_x(3, 4)]),
    ("GLU", (), {}, [_x(3, 4)]),
    ("GRU", (3, 4), {"num_layers": 2, "bidirectional": True}, [_x(5, 2, 3)]),
    ("GRUCell", (3, 4), {}, [_x(2, 3)]),
    ("GaussianNLLLoss", (), {}, [_x(4, 3), _x(4, 3), _x(4, 3, positive=True)]),
    ("GroupNorm", (2, 4), {}, [_x(2, 4, 3, 3)]),
    ("Hardshrink", (), {}, [_x(3, 4)]),
    ("Hardsigmoid", (), {}, [_x(3, 4)]),
    ("Hardswish", (), {}, [_x(3, 4)]),
    ("Hardtanh", (), {}, [_x(3, 4)]),
    ("HingeEmbeddingLoss", (), {}, [_x(4, 3), _x(4, 3, low=1, high=2)]),
    ("HuberLoss", (), {"delta": 0.5}, [_x(4, 3), _x(4, 3)]),
    ("InstanceNorm1d", (3,), {"affine": True}, [_x(2, 3, 7)]),
    ("InstanceNorm2d", (3,), {"track_running_stats": True}, [_x(2, 3, 4, 4)]),
    ("InstanceNorm3d", (3,), {}, [_x(3, 2, 3, 2)]),
    ("KLDivLoss", (), {"reduction": "batchmean"}, [_x(4, 3), _x(4, 3, positive=True)]),
    ("L1Loss", (), {}, [_x(4, 3), _x(4, 3)]),
    ("LPPool1d", (2, 3), {}, [_x(2, 3, 9)]),
    ("LPPool2d", (2, 3), {}, [_x(2, 3, 9, 9)]),
    ("LPPool3d", (2, 2), {}, [_x(1, 2, 4, 4, 4)]),
    ("LSTM", (3, 4), {"num_layers": 2, "batch_first": True}, [_x(5, 2, 3)]),
    ("LSTM", (3, 4), {"proj_size": 2, "bidirectional": True}, [_x(5, 3)]),
    ("LSTMCell", (3, 4), {}, [_x(2, 3)]),
    ("LayerNorm", ((3, 4),), {}, [_x(2, 3, 4)]),
    ("LayerNorm", (4,), {"bias": False}, [_x(2, 3, 4)]),
    ("LazyBatchNorm2d", (), {}, [_x(2, 3, 4, 4)]),
    ("LazyConv2d", (3, 3), {}, [_x(2, 3, 4, 4)]),
    ("LazyConvTranspose1d", (3, 3), {}, [_x(2, 3, 4)]),
    ("LazyInstanceNorm1d", (), {}, [_x(2, 3, 4)]),
    ("LazyLinear", (3,), {}, [_x(2, 4)]),
    ("LeakyReLU", (0.2,), {}, [_x(3, 4)]),
    ("Linear", (3, 4), {}, [_x(2, 3)]),
    ("Linear", (3, 4), {"bias": False}, [_x(2, 5, 3)]),
    ("LinearCrossEntropyLoss", (3, 4), {"out_features": (2,), "bias": True}, [_x(2, 3), _x(2, 2, low=0, high=4)]),
    ("LocalResponseNorm", (3,), {}, [_x(2, 5, 3, 3)]),
    ("LogSigmoid", (), {}, [_x(3, 4)]),
    ("LogSoftmax", (1,), {}, [_x(3, 4)]),
    ("MSELoss", (), {}, [_x(4, 3), _x(4, 3)]),
    ("MarginRankingLoss", (), {}, [_x(4), _x(4), _x(4, low=1, high=2)]),
    ("MaxPool1d", (2,), {}, [_x(2, 3, 8)]),
    ("MaxPool2d", (3,), {"stride": 2, "padding": 1}, [_x(2, 3, 8, 8)]),
    ("MaxPool2d", (2,), {"return_indices": True}, [_x(2, 3, 8, 8)]),
    ("MaxPool3d", (2,), {}, [_x(1, 2, 4, 4, 4)]),
    ("Mish", (), {}, [_x(3, 4)]),
    ("MultiLabelMarginLoss", (), {}, [_x(4, 3), _x(4, 3, low=-1, high=2)]),
    ("MultiLabelSoftMarginLoss", (), {}, [_x(4, 3), _x(4, 3, positive=True)]),
    ("MultiMarginLoss", (), {}, [_x(4, 3), _x(4, low=0, high=3)]),
    ("MultiheadAttention", (8, 2), {}, [_x(5, 2, 8), _x(6, 2, 8), _x(6, 2, 8)]),
    (
        "MultiheadAttention",
        (8, 2),
        {"kdim": 3, "vdim": 4, "batch_first": True, "add_bias_kv": True},
        [_x(2, 5, 8), _x(2, 6, 3), _x(2, 6, 4)],
    ),
    ("MultiheadAttention", (8, 2), {"add_zero_attn": True, "bias": False}, [_x(5, 8), _x(6, 8), _x(6, 8)]),
    ("NLLLoss", (), {}, [_x(4, 3), _x(4, low=0, high=3)]),
    ("PReLU", (3,), {}, [_x(2, 3, 4)]),
    ("PairwiseDistance", (), {}, [_x(4, 3), _x(4, 3)]),
    ("PixelShuffle", (2,), {}, [_x(1, 8, 2, 2)]),
    ("PixelUnshuffle", (2,), {}, [_x(1, 2, 4, 4)]),
    ("PoissonNLLLoss", (), {}, [_x(4, 3), _x(4, 3, positive=True)]),
    ("RMSNorm", (4,), {}, [_x(2, 3, 4)]),
    ("RNN", (3, 4), {"nonlinearity": "relu"}, [_x(5, 2, 3)]),
    ("RNNCell", (3, 4), {}, [_x(2, 3)]),
    ("RReLU", (), {}, [_x(3, 4)]),
    ("ReLU", (), {}, [_x(3, 4)]),
    ("ReLU6", (), {}, [_x(3, 4)]),
    ("ReflectionPad1d", (2,), {}, [_x(1, 2, 5)]),
    ("ReflectionPad2d", (2,), {}, [_x(1, 2, 5, 5)]),
    ("ReplicationPad3d", (1,), {}, [_x(1, 2, 3, 3, 3)]),
    ("SELU", (), {}, [_x(3, 4)]),
    ("SiLU", (), {}, [_x(3, 4)]),
    ("Sigmoid", (), {}, [_x(3, 4)]),
    ("SmoothL1Loss", (), {"beta": 0.5}, [_x(4, 3), _x(4, 3)]),
    ("SoftMarginLoss", (), {}, [_x(4, 3), _x(4, 3, low=1, high=2)]),
    ("Softmax", (1,), {}, [_x(3, 4)]),
    ("Softmax2d", (), {}, [_x(2, 3, 4, 4)]),
    ("Softmin", (1,), {}, [_x(3, 4)]),
    ("Softplus", (2.0, 1.0), {}, [_x(3, 4)]),
    ("Softshrink", (), {}, [_x(3, 4)]),
    ("Softsign", (), {}, [_x(3, 4)]),
    ("Tanh", (), {}, [_x(3, 4)]),
    ("Tanhshrink", (), {}, [_x(3, 4)]),
    ("Threshold", (0.1, 2.0), {}, [_x(3, 4)]),
    ("Transformer", (8, 2, 1, 1, 16, 0.0), {}, [_x(5, 2, 8), _x(3, 2, 8)]),
    ("TripletMarginLoss", (), {"swap": True}, [_x(4, 3), _x(4, 3), _x(4, 3)]),
    ("TripletMarginWithDistanceLoss", (), {}, [_x(4, 3), _x(4, 3), _x(4, 3)]),
    ("Unflatten", (1, (2, 2)), {}, [_x(3, 4)]),
    ("Unfold", ((2, 3),), {}, [_x(1, 2, 4, 5)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear", "align_corners": True}, [_x(1, 2, 3, 3)]),
    ("Upsample", (), {"size": 7}, [_x(1, 2, 3)]),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, [_x(1, 2, 3, 3)]),
    ("UpsamplingBilinear2d", (), {"scale_factor": 2}, [_x(1, 2, 3, 3)]),
    ("ZeroPad2d", (1,), {}, [_x(1, 2, 3, 3)]),
]
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]


def _inputs(framework, spec):
    random = np.random.default_rng(7)
    result = []
    for kind, shape, *rest in spec:
        if kind == "int":
            result.append(framework.tensor(random.integers(rest[0], rest[1], shape)))
        else:
            values = random.random(shape) if rest[0] else random.standard_normal(shape)
            result.append(framework.tensor(values.astype("float32")))
    return result


def _make(framework, name, args, kwargs):
    framework.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(framework.nn, name)(*args, **kwargs)


def _tensors(output):
    """All tensors of an output, in order."""
    if isinstance(output, (tuple, list)):
        return [t for item in output for t in _tensors(item)]
    return [] if output is None else [output]


@pytest.mark.parametrize(("name", "args", "kwargs", "spec"), CASES, ids=IDS)
def test_text_and_state(name, args, kwargs, spec):
    """The repr, the state dict's names, the initial values and the constants."""

    def program(framework):
        module = _make(framework, name, args, kwargs)
        state = module.state_dict()
        return (
            repr(module),
            list(state),
            [list(item) for item in state._metadata.items()],
            {} if name.startswith("Lazy") else dict(state),
        )

    def constants(framework):
        module = _make(framework, name, args, kwargs)
        given = {key: getattr(module, key) for key in getattr(module, "__constants__", ())}
        return {k: v for k, v in given.items() if isinstance(v, (int, float, str, tuple, type(None)))}

    same(program, 2e-4, 2e-5)
    module = _make(torch, name, args, kwargs)
    for key, value in answer(constants).items():
        assert getattr(module, key) == value, key


@pytest.mark.parametrize(("name", "args", "kwargs", "spec"), CASES, ids=IDS)
def test_forward_and_backward(name, args, kwargs, spec):
    """Outputs in training and evaluation, gradients of inputs and parameters, buffers afterwards."""

    def program(framework):
        module = _make(framework, name, args, kwargs)
        framework.manual_seed(5)
        inputs = _inputs(framework, spec)
        for x in inputs:
            if x.is_floating_point() and "Loss" not in name or x is inputs[0] and x.is_floating_point():
                x.requires_grad_(True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = _tensors(module(*inputs))
            total = sum((o * o).sum() for o in outputs if o.is_floating_point())
            total.backward()
            module.eval()
            evaluated = _tensors(module(*_inputs(framework, spec)))
        grads = [x.grad for x in inputs if x.grad is not None]
        grads += [p.grad for p in module.parameters() if p.grad is not None]
        return {"output": outputs, "gradient": grads, "buffer": list(module.buffers()), "evaluated": evaluated}

    same(program, 2e-4, 2e-5)


@pytest.mark.parametrize(("name", "args", "kwargs", "spec"), CASES, ids=IDS)
def test_copies(name, args, kwargs, spec):
    """Deep copies and pickles have the same values in other memory."""
    module = _make(torch, name, args, kwargs)
    if name.startswith("Lazy"):
        module(*_inputs(torch, spec))
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(other) == repr(module)
        for (key, value), (other_key, other_value) in zip(
            module.state_dict().items(), other.state_dict().items(), strict=True
        ):
            assert key == other_key
            assert value.tolist() == other_value.tolist()
            assert value.numel() == 0 or value.data_ptr() != other_value.data_ptr()


def test_every_layer_has_a_case():
    """Each module that is missing above is a container, a base class, or tested elsewhere."""
    elsewhere = {
        "CTCLoss",
        "CircularPad3d",
        "ConstantPad1d",
        "ConstantPad3d",
        "Container",
        "FractionalMaxPool2d",
        "FractionalMaxPool3d",
        "Identity",
        "LazyBatchNorm1d",
        "LazyBatchNorm3d",
        "LazyConv1d",
        "LazyConv3d",
        "LazyConvTranspose2d",
        "LazyConvTranspose3d",
        "LazyInstanceNorm2d",
        "LazyInstanceNorm3d",
        "LinearCrossEntropyOptions",
        "MaxUnpool1d",
        "MaxUnpool2d",
        "MaxUnpool3d",
        "Module",
        "ModuleDict",
        "ModuleList",
        "NLLLoss2d",
        "ParameterDict",
        "ParameterList",
        "RNNBase",
        "RNNCellBase",
        "ReflectionPad3d",
        "ReplicationPad1d",
        "ReplicationPad2d",
        "Sequential",
        "SyncBatchNorm",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "ZeroPad1d",
        "ZeroPad3d",
    }
    assert {name for name, *_ in CASES} | elsewhere == set(torch.nn.modules.__all__)


def test_names_are_pytorchs():
    """Modules and functions of the namespaces that PyTorch has."""
    layers, functions = answer(lambda t: (sorted(t.nn.modules.__all__), sorted(dir(t.nn.functional))))
    assert set(layers) == set(torch.nn.modules.__all__)
    ignored = {
        "BroadcastingList1",
        "BroadcastingList2",
        "BroadcastingList3",
        "Callable",
        "DType",
        "Optional",
        "ParamSpec",
        "ScalingType",
        "SwizzleType",
        "TYPE_CHECKING",
        "TypeVar",
        "assert_int_or_pair",
        "boolean_dispatch",
        "dataclasses",
        "handle_torch_function",
        "has_torch_function",
        "has_torch_function_unary",
        "has_torch_function_variadic",
        "importlib",
        "math",
        "np",
        "reproducibility_notes",
        "sparse_support_notes",
        "tf32_notes",
        "warnings",
        "overload",
        "Literal",
    }
    missing = {n for n in functions if not n.startswith("_")} - set(dir(torch.nn.functional)) - ignored
    assert not missing


def test_padding_that_pytorch_leaves_out_comes_out_of_an_encoder_as_zeros():
    """Without gradients, in evaluation mode, and where the mask marks ends only."""
    torch.manual_seed(0)
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    x = torch.randn(2, 3, 8)
    at_the_end = torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        assert encoder(x, src_key_padding_mask=at_the_end)[0, 2].abs().sum() > 0  # training
    encoder.eval()
    with_gradients = encoder(x, src_key_padding_mask=at_the_end)
    assert with_gradients[0, 2].abs().sum() > 0
    with torch.no_grad():
        result = encoder(x, src_key_padding_mask=at_the_end)
        assert not result[0, 2].any()
        torch.testing.assert_close(result[~at_the_end], with_gradients[~at_the_end])
        assert encoder(x, src_key_padding_mask=at_the_end.flip(1))[0, 0].abs().sum() > 0  # in front
        encoder.use_nested_tensor = False
        torch.testing.assert_close(encoder(x, src_key_padding_mask=at_the_end), with_gradients)
