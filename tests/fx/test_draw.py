"""Pictures of graphs: what is in them, and the command that draws them."""

import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import reference

import mindtorch_v2 as torch
from mindtorch_v2 import fx
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

if reference.is_reference():
    pytest.skip("these pictures are ours", allow_module_level=True)

from mindtorch_v2.graph import svg
from mindtorch_v2.graph._draw import _picture
from mindtorch_v2.graph._layout import crossings

SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=["layers", "graphviz"])
def layout(request) -> str:
    if request.param == "graphviz" and shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    return request.param


def texts(picture: str) -> list:
    return [each.text for each in ElementTree.fromstring(picture).iter(f"{SPACE}text")]


def test_a_box_for_each_node_and_shapes_on_edges(layout) -> None:
    module = make_fx(lambda x, y: torch.sin(x) @ y)(torch.ones(2, 3), torch.ones(3, 4))
    picture = svg(module, layout)
    root = ElementTree.fromstring(picture)
    assert len(list(root.iter(f"{SPACE}rect"))) == len(module.graph.nodes)
    edges = sum(len(node.all_input_nodes) for node in module.graph.nodes)
    assert len([each for each in root.iter(f"{SPACE}path") if each.get("marker-end")]) == edges
    said = texts(picture)
    assert {"x_1", "torch.ops.aten.sin.default", "f32[2, 3]", "f32[3, 4]", "f32[2, 4]"} <= set(said)


def test_boxes_do_not_overlap(layout) -> None:
    module = make_fx(lambda x: [torch.sin(x), torch.cos(x), torch.exp(x), x.t()])(torch.ones(2, 3))
    boxes = [
        tuple(float(each.get(key)) for key in ("x", "y", "width", "height"))
        for each in ElementTree.fromstring(svg(module, layout)).iter(f"{SPACE}rect")
    ]
    for place, (x, y, width, height) in enumerate(boxes):
        for x2, y2, width2, height2 in boxes[:place]:
            assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y


def test_writes_are_red_and_below_earlier_reads(layout) -> None:
    module = make_fx(lambda x: (torch.sin(x), x.mul_(x)))(torch.ones(2))
    root = ElementTree.fromstring(svg(module, layout))
    red = [each for each in root.iter(f"{SPACE}rect") if each.get("stroke") == "#c22"]
    assert len(red) == 1
    ys = {each.text: float(each.get("y")) for each in root.iter(f"{SPACE}text") if each.get("font-weight")}
    assert ys["mul_"] > ys["sin"]


def test_edges_run_through_no_box(layout) -> None:
    def skips(x, y):
        for _ in range(4):
            y = torch.cat([x, torch.sin(y), torch.cos(x) @ x])
            x = x + y.sum(0)
        # Higher boxes in the row of the inputs, which the inputs' edges pass.
        return x, y, torch.zeros(2) + x, torch.zeros(2) + x

    graph = make_fx(skips)(torch.ones(2, 2), torch.ones(2, 2)).graph
    picture = _picture(graph, layout)
    assert len(picture.edges) == sum(len(node.all_input_nodes) for node in graph.nodes)
    assert not crossings(picture)
    # The check itself: straight lines do run through some.
    ends = [
        edge._replace(points=[edge.points[0], edge.points[0], edge.points[-1], edge.points[-1]])
        for edge in picture.edges
    ]
    assert crossings(picture._replace(edges=ends))


def test_without_graphviz_pictures_are_by_layers(monkeypatch) -> None:
    module = make_fx(lambda x: torch.sin(x) + x)(torch.ones(2))
    monkeypatch.setenv("PATH", "")
    assert svg(module) == svg(module, "layers")
    with pytest.raises(RuntimeError, match="needs the program `dot`, which is not there or failed: install graphviz"):
        svg(module, "graphviz")
    with pytest.raises(ValueError, match="layout is best, graphviz or layers, not 'neat'"):
        svg(module, "neat")


def test_names_are_escaped() -> None:
    graph = fx.Graph()
    graph.output(graph.placeholder("x"))
    assert texts(svg({"<a & b>": graph}))[0] == "<a & b>"


def test_refusals() -> None:
    with pytest.raises(TypeError, match="expected an fx.Graph"):
        svg(3)
    with pytest.raises(ValueError, match="no nodes"):
        svg(fx.Graph())


def test_command(tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import sys, torch\n"
        "from torch.fx.experimental.proxy_tensor import make_fx\n"
        "def f(x):\n    return torch.relu(x) * x\n"
        "said = torch.fx.symbolic_trace(f)\n"
        "ran = make_fx(f)(torch.ones(int(sys.argv[1])))\n"
    )
    out = tmp_path / "out.svg"
    command = [sys.executable, "-m", "mindtorch_v2.graph", str(script), "--svg", str(out), "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{out}: said, ran"
    assert {"said", "ran", "torch.relu", "torch.ops.aten.relu.default", "f32[5]"} <= set(texts(out.read_text()))
    script.write_text("x = 1\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "leaves no GraphModule" in done.stderr
