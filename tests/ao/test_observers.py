"""Observers of quantization: what they saw, their scales, their state and their errors are PyTorch's."""

import importlib

import pytest
from agreement import same, same_error

SEEN = [
    [[0.5, -1.25, 3.0], [0.25, 8.0, -0.75]],
    [[-2.0, 0.125, 1.5], [4.0, -9.5, 0.0]],
    [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]],
]
TENSORS = [
    "MinMaxObserver()",
    "MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)",
    "MinMaxObserver(qscheme=torch.per_tensor_symmetric)",
    "MinMaxObserver(qscheme=torch.per_tensor_symmetric, quant_min=0, quant_max=127)",
    "MinMaxObserver(dtype=torch.uint16, qscheme=torch.per_tensor_symmetric)",
    "MinMaxObserver(dtype=torch.qint32)",
    "MinMaxObserver(quant_min=0, quant_max=15, eps=0.5)",
    "MinMaxObserver(dtype=torch.qint8, reduce_range=True)",
    "MovingAverageMinMaxObserver()",
    "MovingAverageMinMaxObserver(averaging_constant=0.5, dtype=torch.qint8)",
    "MovingAverageMinMaxObserver(averaging_constant=1, is_dynamic=True)",
    "PerChannelMinMaxObserver()",
    "PerChannelMinMaxObserver(ch_axis=1, dtype=torch.qint8, qscheme=torch.per_channel_symmetric)",
    "PerChannelMinMaxObserver(dtype=torch.quint4x2, qscheme=torch.per_channel_affine_float_qparams)",
    "MovingAveragePerChannelMinMaxObserver(averaging_constant=0.25, ch_axis=1)",
    "HistogramObserver(bins=32)",
    "HistogramObserver(bins=8, dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)",
    "HistogramObserver(reduce_range=True)",
    "FixedQParamsObserver(scale=0.25, zero_point=3)",
    "default_observer()",
    "default_weight_observer()",
    "weight_observer_range_neg_127_to_127()",
    "default_histogram_observer()",
    "default_per_channel_weight_observer()",
    "per_channel_weight_observer_range_neg_127_to_127()",
    "default_float_qparams_observer()",
    "default_float_qparams_observer_4bit()",
    "default_fixed_qparams_range_neg1to1_observer()",
    "default_fixed_qparams_range_0to1_observer()",
]
pytestmark = pytest.mark.filterwarnings("ignore:must run observer")


def made(lib, text):
    quantization = importlib.import_module(f"{lib.__name__}.ao.quantization")
    return eval(text, {**vars(quantization), "torch": lib})


@pytest.mark.parametrize("text", TENSORS)
def test_what_is_seen_and_said(text):
    def program(lib):
        observer = made(lib, text)
        found = []
        for rows in SEEN:
            x = lib.tensor(rows[0] if "Histogram" in text else rows)
            found.append([observer(x) is x, *observer.calculate_qparams()])
        return [found, dict(observer.state_dict()), repr(observer)]

    same(program)


@pytest.mark.parametrize("text", TENSORS)
def test_state_comes_back(text):
    def program(lib):
        first, second = made(lib, text), made(lib, text)
        first(lib.tensor(SEEN[0]))
        second.load_state_dict(first.state_dict())
        return [dict(second.state_dict()), *second.calculate_qparams()]

    same(program)


@pytest.mark.parametrize(
    "text",
    [
        "MinMaxObserver(qscheme=torch.per_channel_affine)",
        "MinMaxObserver(dtype=torch.float16)",
        "MinMaxObserver(quant_min=1, quant_max=5)",
        "MinMaxObserver(quant_min=0, quant_max=0)",
        "MinMaxObserver(dtype=torch.qint8, quant_min=-300, quant_max=0)",
        "MinMaxObserver(qscheme=torch.per_tensor_symmetric, reduce_range=True)",
        "MovingAverageMinMaxObserver(is_dynamic=True)",
        "MovingAverageMinMaxObserver(qscheme=torch.per_channel_affine)",
        "PerChannelMinMaxObserver(qscheme=torch.per_tensor_affine)",
        "PerChannelMinMaxObserver(is_dynamic=True)",
        "MovingAveragePerChannelMinMaxObserver(is_dynamic=True)",
        "HistogramObserver(qscheme=torch.per_channel_affine)",
        "HistogramObserver(is_dynamic=True)",
        "FixedQParamsObserver(1.0, 0, is_dynamic=True)",
        "PlaceholderObserver().calculate_qparams()",
        "RecordingObserver().calculate_qparams()",
        "NoopObserver().calculate_qparams()",
        "ReuseInputObserver().calculate_qparams()",
        "UniformQuantizationObserverBase().reset_min_max_vals()",
        "QConfig(MinMaxObserver(), MinMaxObserver)",
        "get_default_qconfig('nobody')",
        "get_default_qconfig('x86', 1)",
        "get_default_qat_qconfig('x86', 2)",
        "get_block_size((1, 2, 3), PerGroup(2))",
        "get_block_size((1, 2), PerTensor)",
        "FakeQuantize(quant_min=-1, quant_max=255)",
        "FakeQuantize(quant_min=5, quant_max=2)",
        "FixedQParamsFakeQuantize(MinMaxObserver)",
        "FusedMovingAvgObsFakeQuantize(MinMaxObserver)",
        "get_fuser_method((torch.nn.ReLU, torch.nn.ReLU))",
        "get_static_quant_module_class(torch.nn.Softplus)",
    ],
)
def test_what_is_refused(text):
    same_error(lambda lib: made(lib, text))


def test_a_range_that_grows_and_values_that_are_not_finite():
    def program(lib):
        observer = made(lib, "HistogramObserver(bins=16)")
        found = []
        for values in ([2.0, 2.0], [2.0, 2.5], [-1.0, 0.5], [0.25], [float("inf"), 9.0], [float("inf")], []):
            observer(lib.tensor(values))
            found.append([observer.histogram.clone(), observer.min_val.clone(), observer.max_val.clone()])
        return found

    with pytest.warns(UserWarning, match="inf detected in input tensor"):
        same(program)


def test_unseen_observers_warn_and_give_one():
    def program(lib):
        return [made(lib, text).calculate_qparams() for text in TENSORS[:18]]

    same(program)


def test_what_is_forgotten():
    def program(lib):
        found = []
        for text in ("MinMaxObserver()", "PerChannelMinMaxObserver()"):
            observer = made(lib, text)
            observer(lib.tensor(SEEN[0]))
            observer.reset_min_max_vals()
            found.append([observer.min_val, observer.max_val])
        return found

    same(program)


def test_makers_keep_arguments():
    def program(lib):
        observer = made(lib, "MinMaxObserver")
        maker = observer.with_args(quant_min=0).with_args(quant_max=7).with_callable_args(eps=lambda: 0.5)
        return [maker().quant_max, maker().eps, maker(eps=0.25).eps, repr(made(lib, "default_observer"))]

    same(program)


def test_configurations():
    def program(lib):
        quantization = importlib.import_module(f"{lib.__name__}.ao.quantization")
        found = {}
        for backend in ("x86", "fbgemm", "qnnpack", "onednn"):
            for name in ("qconfig", "qat_qconfig"):
                made = getattr(quantization, f"get_default_{name}_mapping")(backend)
                for key, qconfig in [("", made.global_qconfig), *made.object_type_qconfigs.items()]:
                    said = getattr(key, "__name__", key)
                    found[f"{backend} {name} {said}"] = repr([repr(each()) for each in qconfig])
        return found

    with pytest.warns(UserWarning):
        same(program)


def test_kinds_of_configurations():
    def program(lib):
        quantization = importlib.import_module(f"{lib.__name__}.ao.quantization")
        utils = importlib.import_module(f"{lib.__name__}.ao.quantization.utils")
        found = {}
        for name in sorted(dir(quantization)):
            qconfig = getattr(quantization, name)
            if name.startswith(("default_", "float", "per_channel")) and isinstance(qconfig, quantization.QConfig):
                if lib.nn.Identity in qconfig:
                    continue
                found[name] = [*map(str, utils.get_qconfig_dtypes(qconfig))]
        return found

    same(program)
