"""`SummaryWriter`: what it writes is read back through the package `tensorboard`, where that is installed."""

import importlib.util
import io

import pytest

import mindtorch_v2 as torch

INSTALLED = importlib.util.find_spec("tensorboard") is not None
needs_tensorboard = pytest.mark.skipif(not INSTALLED, reason="the package tensorboard is not installed")


@pytest.mark.skipif(INSTALLED, reason="the package tensorboard is installed")
def test_without_the_package_the_import_names_it():
    with pytest.raises(ModuleNotFoundError, match="No module named 'tensorboard'"):
        importlib.import_module("mindtorch_v2.utils.tensorboard")


@pytest.fixture
def written(tmp_path):
    """Run a function on a writer; what it wrote as `(step, value)` for each value, by directory."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    from mindtorch_v2.utils.tensorboard import SummaryWriter

    def run(write):
        with SummaryWriter(tmp_path) as writer:
            write(writer)
        found = {}
        for path in sorted(tmp_path.rglob("events*")):
            events = [Event.FromString(record) for record in RawEventFileLoader(str(path)).Load()]
            values = [(event.step, value) for event in events for value in event.summary.value]
            found.setdefault(str(path.parent.relative_to(tmp_path)), []).extend(values)
        return found

    return run


@needs_tensorboard
def test_scalars(written):
    def write(writer):
        writer.add_scalar("loss", torch.tensor(0.25), 1)
        writer.add_scalar("loss", 3, 2, new_style=True, double_precision=True)
        writer.add_scalars("a/b", {"x": 1.0, "y": torch.tensor([2.0])}, 4)

    found = written(write)
    (first, old), (second, new) = found["."]
    assert (first, old.tag, old.simple_value) == (1, "loss", 0.25)
    assert (second, list(new.tensor.double_val), new.metadata.plugin_data.plugin_name) == (2, [3.0], "scalars")
    assert [(step, v.tag, v.simple_value) for step, v in found["a_b_y"]] == [(4, "a/b", 2.0)]


@needs_tensorboard
def test_histograms_begin_with_an_empty_bucket(written):
    ((_, value),) = written(lambda writer: writer.add_histogram("h", torch.arange(10), bins=5))["."]
    histogram = value.histo
    assert list(histogram.bucket) == [0, 2, 2, 2, 2, 2]
    torch.testing.assert_close(list(histogram.bucket_limit), [0.0, 1.8, 3.6, 5.4, 7.2, 9.0])
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (0, 9, 10, 45)
    assert histogram.sum_squares == 285
    ((_, value), *_) = written(lambda writer: writer.add_histogram("h", torch.linspace(-1, 2, 7).bfloat16()))["."]
    assert sum(value.histo.bucket) == 10


@needs_tensorboard
def test_images(written):
    image = pytest.importorskip("PIL.Image")

    def write(writer):
        writer.add_image("floats", torch.tensor([[[0.0, 0.5], [1.0, 2.0]]]))
        writer.add_image("bytes", torch.tensor([[3, 4]], dtype=torch.uint8), dataformats="HW")
        writer.add_images("grid", torch.arange(9.0).view(9, 1, 1, 1) / 255)

    pixels = {v.tag: image.open(io.BytesIO(v.image.encoded_image_string)) for _, v in written(write)["."]}
    assert [pixels["floats"].getpixel(at)[0] for at in ((0, 0), (1, 0), (0, 1), (1, 1))] == [0, 127, 255, 255]
    assert pixels["bytes"].getpixel((1, 0)) == (4, 4, 4)
    assert pixels["grid"].size == (8, 2)
    assert pixels["grid"].getpixel((0, 1)) == (8, 8, 8)


@needs_tensorboard
def test_tensors_and_texts(written):
    from tensorboard.util.tensor_util import make_ndarray

    given = [
        torch.arange(6.0).view(2, 3),
        torch.ones(2).half(),
        torch.arange(3),
        torch.tensor([True]),
        torch.ones(1) * 1j,
    ]

    def write(writer):
        writer.add_text("t", "hello", 3)
        for x in given:
            writer.add_tensor("x", x)

    (_, text), *tensors = written(write)["."]
    assert (text.tag, list(text.tensor.string_val)) == ("t/text_summary", [b"hello"])
    for x, (_, value) in zip(given, tensors, strict=True):
        assert make_ndarray(value.tensor).tolist() == x.tolist()


@needs_tensorboard
def test_curves_and_hyperparameters(written):
    def write(writer):
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.9, 0.4]), num_thresholds=3)
        writer.add_hparams({"lr": 0.1, "name": "adam", "none": None}, {"accuracy": 0.5}, run_name="run")

    found = written(write)
    rows = torch.tensor(list(found["."][0][1].tensor.float_val)).view(6, 3)
    assert rows[0].tolist() == [2.0, 1.0, 0.0] and rows[1].tolist() == [1.0, 0.0, 0.0]
    assert [v.metadata.plugin_data.plugin_name for _, v in found["run"]] == ["hparams"] * 3 + [""]
    assert found["run"][3][1].simple_value == 0.5


@needs_tensorboard
def test_errors(tmp_path):
    from mindtorch_v2.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        for kind, text, call in (
            (ValueError, "The input has no element", lambda: writer.add_histogram("h", torch.ones(0))),
            (AssertionError, "should contain one element", lambda: writer.add_scalar("s", torch.ones(2))),
            (AssertionError, "input format are different", lambda: writer.add_image("i", torch.ones(2, 2))),
            (TypeError, "should be dictionary", lambda: writer.add_hparams([], {})),
            (ValueError, "value should be one of", lambda: writer.add_hparams({"x": object()}, {})),
            (AssertionError, "mat should be 2D", lambda: writer.add_embedding(torch.ones(2))),
            (AssertionError, "#labels should equal with #data", lambda: writer.add_embedding(torch.ones(2, 2), ["a"])),
        ):
            with pytest.raises(kind, match=text):
                call()


@needs_tensorboard
def test_graph(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from mindtorch_v2.utils.tensorboard import SummaryWriter

    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.randn(2, 4))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    nodes = {node.name: node for node in events.Graph().node}
    calls = [node.op for node in nodes.values() if node.op.startswith("aten::")]
    assert calls == ["aten::linear", "aten::relu"]
    assert all(each in nodes for node in nodes.values() for each in node.input)
    (linear,) = [node for node in nodes.values() if node.op == "aten::linear"]
    kinds = [nodes[each].op for each in linear.input]
    assert kinds == ["IO Node", "Parameter", "Parameter"]


@needs_tensorboard
def test_embedding(tmp_path):
    from mindtorch_v2.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(
            torch.arange(6.0).reshape(3, 2), metadata=["a", "b", "c"], label_img=torch.rand(3, 3, 4, 5)
        )
        writer.add_embedding(
            torch.ones(1, 2), metadata=[["a", 1]], metadata_header=["x", "y"], global_step=7, tag="a/b"
        )
    first, second = tmp_path / "00000" / "default", tmp_path / "00007" / "a%2fb"
    assert (first / "tensors.tsv").read_text() == "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n"
    assert (first / "metadata.tsv").read_text() == "a\nb\nc\n"
    assert (first / "sprite.png").read_bytes()[:4] == b"\x89PNG"
    assert (second / "metadata.tsv").read_text() == "x\ty\na\t1\n"
    entries = (tmp_path / "projector_config.pbtxt").read_text()
    assert entries.count("embeddings {") == 2
    assert (
        'sprite {\n    image_path: "00000/default/sprite.png"\n    single_image_dim: 5\n    single_image_dim: 4\n  }'
        in entries
    )
