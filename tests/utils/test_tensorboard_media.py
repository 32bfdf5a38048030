"""Sound, video, meshes, boxes and charts for TensorBoard: records as PyTorch 2.13 writes them, read back."""

import io
import wave

import pytest

import mindtorch_v2 as torch

pytest.importorskip("tensorboard")
pytestmark = pytest.mark.no_torch


@pytest.fixture
def events(tmp_path):
    """Run a function on a writer; the events that it wrote."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    from mindtorch_v2.utils.tensorboard import SummaryWriter

    def run(write):
        with SummaryWriter(tmp_path) as writer:
            write(writer)
        return [Event.FromString(r) for path in tmp_path.rglob("events*") for r in RawEventFileLoader(str(path)).Load()]

    return run


@pytest.fixture
def written(events):
    """The values that it wrote."""
    return lambda write: [value for event in events(write) for value in event.summary.value]


def test_sound(written):
    with pytest.warns(UserWarning, match="amplitudes beyond 1 are cut off"):
        (value,) = written(lambda writer: writer.add_audio("s", torch.tensor([[0.0, 0.5, -1.0, 2.0, 0.3]]), 3, 8000))
    assert (value.audio.sample_rate, value.audio.num_channels, value.audio.length_frames) == (8000, 1, 5)
    assert value.audio.content_type == "audio/wav"
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as file:
        samples = file.readframes(9)
    # PyTorch's bytes.
    assert samples == b"\x00\x00\xff?\x01\x80\xff\x7ff&"
    with pytest.raises(AssertionError, match="input tensor should be 1 dimensional"):
        written(lambda writer: writer.add_audio("s", torch.ones(2, 2)))


def test_meshes(written):
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    points, faces = torch.tensor([[[1.0, 1, 1], [-1, -1, 1], [1, -1, -1]]]), torch.tensor([[[0, 1, 2]]])
    colors = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]])
    found = written(lambda writer: writer.add_mesh("m", points, colors, faces, {"camera": 1}, 5))
    assert [value.tag for value in found] == ["m_VERTEX", "m_FACE", "m_COLOR"]
    assert list(found[0].tensor.float_val) == points.flatten().tolist()
    said = [MeshPluginData.FromString(value.metadata.plugin_data.content) for value in found]
    assert [(each.content_type, list(each.shape), each.components, each.json_config) for each in said] == [
        (1, [1, 3, 3], 14, '{"camera": 1}'),
        (2, [1, 1, 3], 14, '{"camera": 1}'),
        (3, [1, 3, 3], 14, '{"camera": 1}'),
    ]


def test_charts_of_several_scalars(written):
    layout = {
        "Taiwan": {"twse": ["Multiline", ["twse/0050", "twse/2330"]]},
        "USA": {"dow": ["Margin", ["a", "b", "c"]]},
    }
    (value,) = written(lambda writer: writer.add_custom_scalars(layout))
    assert value.tag == "custom_scalars__config__"
    assert value.metadata.plugin_data.plugin_name == "custom_scalars"
    (text,) = value.tensor.string_val
    assert text == (
        b"\x12(\n\x06Taiwan\x12\x1e\n\x04twse\x12\x16\n\ttwse/0050\n\ttwse/2330"
        b"\x12\x19\n\x03USA\x12\x12\n\x03dow\x1a\x0b\n\t\n\x01a\x12\x01b\x1a\x01c"
    )


def test_one_chart(written):
    (value,) = written(lambda writer: writer.add_custom_scalars_multilinechart(["a", "b"], "cat", "tit"))
    assert list(value.tensor.string_val) == [b"\x12\x14\n\x03cat\x12\r\n\x03tit\x12\x06\n\x01a\n\x01b"]


def test_one_chart_with_margins(written):
    (value,) = written(lambda writer: writer.add_custom_scalars_marginchart(["a", "b", "c"]))
    assert list(value.tensor.string_val) == [
        b'\x12"\n\x07default\x12\x17\n\x08untitled\x1a\x0b\n\t\n\x01a\x12\x01b\x1a\x01c'
    ]
    with pytest.raises(AssertionError, match="Expected 3 tags, got 2"):
        written(lambda writer: writer.add_custom_scalars_marginchart(["a", "b"]))


def test_curves_that_are_known(written):
    rows = [[3, 2, 1], [2, 1, 0], [0, 1, 2], [0, 1, 2], [0.5, 0.75, 1.0], [1.0, 0.5, 0.25]]
    (value,) = written(lambda writer: writer.add_pr_curve_raw("raw", *map(torch.tensor, rows), 2, 3))
    assert list(value.tensor.float_val) == [number for row in rows for number in row]
    assert [dim.size for dim in value.tensor.tensor_shape.dim] == [6, 3]
    assert value.metadata.plugin_data.content == b"\x10\x03"


def picture(value):
    from PIL import Image

    return Image.open(io.BytesIO(value.image.encoded_image_string))


def test_images_with_boxes(written):
    pytest.importorskip("PIL")
    image = torch.full((3, 20, 30), 0.5)
    (value,) = written(
        lambda writer: writer.add_image_with_boxes("b", image, torch.tensor([[2, 3, 10, 12]]), labels=["a", "b"])
    )
    drawn = picture(value).load()
    red, gray = (255, 0, 0), (127, 127, 127)
    # PyTorch's lines, two pixels wide; other numbers of labels than of boxes: none is drawn.
    assert {drawn[x, y] for x in range(30) for y in range(20)} == {red, gray}
    assert [x for x in range(30) if drawn[x, 7] == red] == [2, 3, 9, 10]
    assert [y for y in range(20) if drawn[6, y] == red] == [2, 3, 12, 13]


def test_labels_and_sizes_of_boxes(written):
    pytest.importorskip("PIL")
    image, box = torch.full((3, 40, 60), 0.5), torch.tensor([[2, 3, 50, 32]])
    (plain,) = written(lambda writer: writer.add_image_with_boxes("b", image, box, rescale=2))
    assert picture(plain).size == (120, 80)
    assert (plain.image.width, plain.image.height) == (60, 40)  # as in PyTorch
    (labelled,) = [
        v for v in written(lambda writer: writer.add_image_with_boxes("l", image, box, labels="cat")) if v.tag == "l"
    ]
    dark = [color for _, color in picture(labelled).getcolors(10000) if color[0] < 60 and not any(color[1:])]
    assert dark  # letters on red


def test_moving_pictures(written):
    pytest.importorskip("PIL")
    frames = torch.zeros(2, 3, 3, 8, 8)
    frames[0, 1] = 1
    (value,) = written(lambda writer: writer.add_video("v", frames, fps=5))
    moving = picture(value)
    assert (moving.format, moving.n_frames, moving.size) == ("GIF", 3, (16, 8))
    moving.seek(1)
    assert moving.info["duration"] == 200
    shown = moving.convert("L")
    assert (shown.getpixel((3, 3)), shown.getpixel((12, 3))) == (255, 0)
    with pytest.raises(ValueError, match="expects a tensor \\(N, T, C, H, W\\), got 4 dimensions"):
        written(lambda writer: writer.add_video("v", frames[0]))


def test_graphs_of_onnx_files(events, tmp_path):
    onnx = pytest.importorskip("onnx")
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    kind = onnx.TensorProto.FLOAT
    value = onnx.helper.make_tensor_value_info
    nodes = [
        onnx.helper.make_node("Relu", ["x"], ["h"], name="act"),
        onnx.helper.make_node("Softmax", ["h"], ["y"], axis=1),
    ]
    graph = onnx.helper.make_graph(nodes, "g", [value("x", kind, [2, 3])], [value("y", kind, [2, 3])])
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.helper.make_model(graph), path)
    (event,) = [event for event in events(lambda writer: writer.add_onnx_graph(path)) if event.graph_def]
    drawn = GraphDef.FromString(event.graph_def)
    assert [(node.name, node.op, list(node.input)) for node in drawn.node] == [
        ("x", "Variable", []), ("act", "Relu", ["x"]), ("Softmax_1", "Softmax", ["act"]), ("y", "Variable", ["Softmax_1"]),
    ]  # fmt: skip
    assert drawn.node[2].attr["parameters"].s == b"axis=1"
