"""TensorBoard's records of scalars, histograms, images, texts, curves and hyperparameters.

What is recorded may be a tensor, an array or a number; images are described by the letters of their dimensions, such as
"CHW".
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

import mindtorch_v2 as torch

__all__ = [
    "figure_to_image",
    "hparams",
    "histogram",
    "histogram_raw",
    "image",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
]


def _array(x):
    """`x` as an array: a tensor, an array, or a number as an array of one."""
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, torch.Tensor):
        x = x.to(torch.float16) if x.dtype == torch.bfloat16 else x
        return x.detach().cpu().numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


def _summary(tag, plugin=None, content=None, **value):
    """A summary of one value; `plugin` names the part of TensorBoard that shows it."""
    if plugin is not None:
        value["metadata"] = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))
    return Summary(value=[Summary.Value(tag=tag, **value)])


def _shape(sizes):
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def scalar(name: str, tensor: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    """One number, as a simple value, or with `new_style` as a tensor."""
    tensor = _array(tensor).squeeze()
    if tensor.ndim:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). "
            f"Was given size: {tensor.size} and {tensor.ndim} dimensions."
        )
    value = float(tensor)
    if not new_style:
        return _summary(name, simple_value=value)
    if double_precision:
        return _summary(name, "scalars", tensor=TensorProto(double_val=[value], dtype="DT_DOUBLE"))
    return _summary(name, "scalars", tensor=TensorProto(float_val=[value], dtype="DT_FLOAT"))


# dtype -> its name in TensorBoard, and the field that holds its elements
_TENSOR_FIELDS = {
    torch.float16: ("DT_HALF", "half_val"),
    torch.bfloat16: ("DT_BFLOAT16", "half_val"),
    torch.float32: ("DT_FLOAT", "float_val"),
    torch.float64: ("DT_DOUBLE", "double_val"),
    torch.int8: ("DT_INT8", "int_val"),
    torch.uint8: ("DT_UINT8", "uint32_val"),
    torch.int16: ("DT_INT16", "int_val"),
    torch.int32: ("DT_INT32", "int_val"),
    torch.int64: ("DT_INT64", "int64_val"),
    torch.bool: ("DT_BOOL", "bool_val"),
    torch.complex64: ("DT_COMPLEX64", "scomplex_val"),
    torch.complex128: ("DT_COMPLEX128", "dcomplex_val"),
}


def tensor_proto(tag: str, tensor: Any) -> Any:
    """A tensor of any shape; ValueError for a dtype that TensorBoard does not know and from 2 GiB on."""
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _TENSOR_FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    kind, field = _TENSOR_FIELDS[tensor.dtype]
    if field == "half_val":
        elements = tensor.flatten().view(torch.int16).long() & 0xFFFF  # the bits
    elif tensor.is_complex():
        elements = torch.view_as_real(tensor).flatten()
    else:
        elements = tensor.flatten()
    made = TensorProto(dtype=kind, tensor_shape=_shape(tensor.shape), **{field: elements.tolist()})
    return _summary(tag, "tensor", tensor=made)


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: Any,
    bucket_counts: Any,
) -> Any:
    """A histogram that was counted elsewhere: the upper limit and the count of each bucket."""
    made = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return _summary(name, histo=made)


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """The distribution of `values` over NumPy's `bins`, of which several become one where there are more than `max_bins`."""
    values = _array(values).astype(float).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        together = len(counts) // max_bins
        if len(counts) % together:
            counts = np.pad(counts, (0, together - len(counts) % together))
        counts = counts.reshape(-1, together).sum(axis=-1)
        limits = np.append(limits[:-1:together], limits[-1])
    # Only the buckets from the first to the last that is not empty; an empty one before them holds the lowest limit.
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(filled[0]), int(filled[-1])
    return histogram_raw(
        name,
        values.min(),
        values.max(),
        len(values),
        values.sum(),
        values.dot(values),
        limits[first : last + 2].tolist(),
        [0, *counts[first : last + 1].tolist()],
    )


# ---- images ----


def _grid(images):
    """Images `(N, C, H, W)` in rows of up to eight: `(3, rows * H, columns * W)`."""
    if images.shape[1] == 1:
        images = np.repeat(images, 3, 1)
    if images.shape[1] != 3:
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, channels, height, width = images.shape
    columns = min(count, 8)
    rows = -(-count // columns)
    cells = np.zeros((rows * columns, channels, height, width), dtype=images.dtype)
    cells[:count] = images
    cells = cells.reshape(rows, columns, channels, height, width)
    return cells.transpose(2, 0, 3, 1, 4).reshape(channels, rows * height, columns * width)


def _pixels(tensor, letters):
    """The image as bytes `(H, W, channels)`; floats are taken to lie between 0 and 1."""
    tensor, letters = _array(tensor), letters.upper()
    if len(set(letters)) != len(letters):
        raise AssertionError(f"You can not use the same dimension shorthand twice. input_format: {letters}")
    if tensor.ndim != len(letters):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"tensor shape: {tensor.shape}, input_format: {letters}"
        )
    if len(letters) == 4:
        tensor = _grid(tensor.transpose([letters.find(c) for c in "NCHW"])).transpose(1, 2, 0)
    elif len(letters) == 3:
        tensor = tensor.transpose([letters.find(c) for c in "HWC"])
    else:
        tensor = tensor.transpose([letters.find(c) for c in "HW"])[..., None]
    if tensor.shape[2] == 1:
        tensor = np.repeat(tensor, 3, 2)
    scale = 1 if tensor.dtype == np.uint8 else 255
    return (tensor.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def image(tag: str, tensor: Any, dataformats: str = "NCHW") -> Any:
    """An image, or several as one, as PNG; bytes from 0 to 255 or floats from 0 to 1. Needs the package `pillow`."""
    from PIL import Image  # an optional package

    pixels = _pixels(tensor, dataformats)
    height, width, channels = pixels.shape
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    made = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=stream.getvalue())
    return _summary(tag, image=made)


def figure_to_image(figures: Any, close: bool = True) -> Any:
    """A matplotlib figure as an array `(3, H, W)`; a list of them as `(N, 3, H, W)`. `close` closes them."""
    if isinstance(figures, list):
        return np.stack([figure_to_image(figure, close) for figure in figures])
    import matplotlib.backends.backend_agg as agg  # an optional package
    import matplotlib.pyplot as plt

    canvas = agg.FigureCanvasAgg(figures)
    canvas.draw()
    made = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)
    if close:
        plt.close(figures)
    return made


# ---- texts, curves, hyperparameters ----


def text(tag: str, text: str) -> Any:
    """A text, which TensorBoard shows as Markdown."""
    made = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=_shape([1]))
    return _summary(tag + "/text_summary", "text", TextPluginData(version=0).SerializeToString(), tensor=made)


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """Precision and recall of `predictions` between 0 and 1 of the binary `labels` at evenly spaced thresholds."""
    labels, predictions = _array(labels).astype(np.float64), _array(predictions)
    count = min(num_thresholds, 127)
    weights = 1.0 if weights is None else weights
    bucket = np.floor(predictions * (count - 1)).astype(np.int32)

    def at_least(weight: Any) -> Any:
        """The weight of all elements whose prediction reaches each threshold."""
        return np.histogram(bucket, bins=count, range=(0, count - 1), weights=weight * weights)[0][::-1].cumsum()[::-1]

    true_positives, false_positives = at_least(labels), at_least(1.0 - labels)
    true_negatives, false_negatives = false_positives[0] - false_positives, true_positives[0] - true_positives
    precision = true_positives / np.maximum(1e-7, true_positives + false_positives)
    recall = true_positives / np.maximum(1e-7, true_positives + false_negatives)
    return pr_curve_raw(tag, true_positives, false_positives, true_negatives, false_negatives, precision, recall, count)


def pr_curve_raw(
    tag: str,
    true_positives: Any,
    false_positives: Any,
    true_negatives: Any,
    false_negatives: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
) -> Any:
    """Precision and recall that are known already, and the counts they are of, at each threshold."""
    count = min(num_thresholds, 127)
    kinds = true_positives, false_positives, true_negatives, false_negatives, precision, recall
    rows = np.stack([_array(each) for each in kinds])
    made = TensorProto(dtype="DT_FLOAT", float_val=rows.reshape(-1).tolist(), tensor_shape=_shape(rows.shape))
    content = PrCurvePluginData(version=0, num_thresholds=count).SerializeToString()
    return _summary(tag, "pr_curves", content, tensor=made)


def _hparam(name, value, choices) -> tuple:
    """The description of a hyperparameter, and its value; `choices` are all values that it may take, or None."""
    if isinstance(value, torch.Tensor):
        value = value.item()
    if isinstance(value, (int, float)):  # and bool, which is an int: so it is in PyTorch
        field, kind = "number_value", "DATA_TYPE_FLOAT64"
    elif isinstance(value, str):
        field, kind = "string_value", "DATA_TYPE_STRING"
    else:
        raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
    domain = None
    if choices is not None:
        domain = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: choice}) for choice in choices])
    info = api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(kind), domain_discrete=domain)
    return info, struct_pb2.Value(**{field: value})


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, list[Any]] | None = None
) -> tuple:
    """Three summaries of a run: its experiment, its start with the hyperparameters, and its end."""
    domains = hparam_domain_discrete or {}
    for name, given in (
        ("hparam_dict", hparam_dict),
        ("metric_dict", metric_dict),
        ("hparam_domain_discrete", domains),
    ):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    for name, choices in domains.items():
        known = name in hparam_dict and isinstance(choices, list)
        if not known or not all(isinstance(choice, type(hparam_dict[name])) for choice in choices):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )
    infos, start = [], plugin_data_pb2.SessionStartInfo()
    for name, value in hparam_dict.items():
        if value is not None:
            info, held = _hparam(name, value, domains.get(name))
            infos.append(info)
            start.hparams[name].CopyFrom(held)
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
    parts = (
        (metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)}),
        (metadata.SESSION_START_INFO_TAG, {"session_start_info": start}),
        (
            metadata.SESSION_END_INFO_TAG,
            {"session_end_info": plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))},
        ),
    )
    made = []
    for tag, part in parts:
        data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **part)
        made.append(_summary(tag, metadata.PLUGIN_NAME, data.SerializeToString()))
    return tuple(made)
