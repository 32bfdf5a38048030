"""Graphs that are prepared for quantization, and converted: nodes, modules, what observers saw and results are PyTorch's."""

import importlib
import operator

import pytest
from agreement import same, same_error

pytestmark = pytest.mark.filterwarnings(
    "ignore:QConfig must specify a FixedQParamsObserver:UserWarning", "ignore:.*deprecated:DeprecationWarning"
)


def parts(lib):
    return (
        importlib.import_module(f"{lib.__name__}.{name}")
        for name in ("nn", "ao.quantization", "ao.quantization.quantize_fx")
    )


def layers(lib):
    nn, functional = lib.nn, lib.nn.functional

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1, self.conv2 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 1)
            self.pool, self.fc, self.act = nn.AdaptiveAvgPool2d(1), nn.Linear(4, 4), nn.Hardswish()
            self.drop, self.sigmoid = nn.Dropout(0.2), nn.Sigmoid()
            self.w = nn.Parameter(lib.randn(4, 4))

        def forward(self, x):
            x = functional.relu(self.bn1(self.conv1(x)))
            y = self.conv2(x)
            x = self.act(functional.relu(x + y))
            x = functional.max_pool2d(lib.cat([x, y], 1)[:, :4], 2)
            x = self.drop(self.fc(lib.flatten(self.pool(x), 1)))
            x = self.sigmoid(functional.linear(x, self.w))
            x = x.view(x.size(0), -1)
            return x * 2, lib.tanh(x), x.sum()

    return Layers(), (lib.linspace(-1, 1, 96).reshape(2, 3, 4, 4),)


def attention(lib):
    nn = lib.nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.norm = nn.Embedding(10, 8), nn.LayerNorm(8)
            self.q, self.k, self.v, self.out = (nn.Linear(8, 8) for _ in range(4))

        def forward(self, index):
            x = self.embedding(index)
            h = self.norm(x)
            scores = lib.softmax(lib.matmul(self.q(h), self.k(h).transpose(1, 2)) / 8**0.5, -1)
            return x + self.out(lib.matmul(scores, self.v(h)))

    return Attention(), (lib.arange(6).reshape(2, 3),)


def described(graph_module):
    """The nodes, the classes of modules, and what observers saw."""
    nodes = []
    for node in graph_module.graph.nodes:
        target = getattr(node.target, "__name__", node.target)
        nodes.append([node.op, node.name, str(target), str(node.args), str(node.kwargs)])
    kinds = [[name, type(module).__name__] for name, module in graph_module.named_modules() if name]
    kept = {name: value for name, value in graph_module.state_dict().items() if name.endswith(("_val", "scale"))}
    return [nodes, kinds, kept]


MODELS = {"layers": layers, "attention": attention}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
@pytest.mark.parametrize("trained", [False, True], ids=["after", "trained"])
def test_prepared(model, backend, trained):
    def program(lib):
        _, q, fx = parts(lib)
        lib.manual_seed(0)
        made, inputs = MODELS[model](lib)
        made.train(trained)
        mapping = getattr(q, f"get_default_{'qat_' if trained else ''}qconfig_mapping")(backend)
        embedding = q.default_embedding_qat_qconfig if trained else q.float_qparams_weight_only_qconfig
        mapping.set_object_type(lib.nn.Embedding, embedding)
        prepared = (fx.prepare_qat_fx if trained else fx.prepare_fx)(made, mapping, inputs)
        prepared(*inputs)
        return described(prepared)

    same(program, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "mapping",
    [
        "q.QConfigMapping().set_global(q.default_dynamic_qconfig)",
        "q.QConfigMapping().set_global(q.float16_static_qconfig)",
        "q.QConfigMapping().set_object_type(lib.nn.Linear, q.default_qconfig)",
        "q.QConfigMapping().set_global(q.default_qconfig).set_module_name_regex('conv.*', None)",
        "q.QConfigMapping().set_object_type(operator.add, q.default_qconfig).set_module_name('fc', q.default_qconfig)",
        "q.QConfigMapping().set_global(q.default_qconfig).set_module_name_object_type_order('', operator.add, 0, None)",
    ],
)
def test_mappings(mapping):
    def program(lib):
        _, q, fx = parts(lib)
        lib.manual_seed(0)
        made, inputs = layers(lib)
        prepared = fx.prepare_fx(made.eval(), eval(mapping, {"q": q, "lib": lib, "operator": operator}), inputs)
        return described(prepared)[:2]

    same(program)


def test_fused_and_custom():
    def program(lib):
        _, q, fx = parts(lib)
        custom = importlib.import_module(f"{lib.__name__}.ao.quantization.fx.custom_config")
        lib.manual_seed(0)
        made, inputs = layers(lib)
        fused = described(fx.fuse_fx(made.eval()))
        own = custom.PrepareCustomConfig().set_input_quantized_indexes([0]).set_output_quantized_indexes([0])
        own.set_non_traceable_module_names(["conv2"]).set_preserved_attributes(["author"])
        made.author = "me"
        prepared = fx.prepare_fx(made, q.get_default_qconfig_mapping(), inputs, prepare_custom_config=own)
        again = custom.PrepareCustomConfig.from_dict(own.to_dict())
        return [fused[:2], described(prepared)[:2], prepared.author, repr(again), again.to_dict()]

    same(program)


def test_configurations_of_back_ends():
    def program(lib):
        importlib.import_module(f"{lib.__name__}.ao.quantization.quantize_fx")
        configs = importlib.import_module(f"{lib.__name__}.ao.quantization.backend_config")
        found = {}
        for name in ("fbgemm", "native", "qnnpack", "tensorrt", "executorch", "onednn"):
            made = getattr(configs, f"get_{name}_backend_config")()
            for pattern, config in made._pattern_complex_format_to_config.items():
                entry = config.to_dict()
                said = [config.observation_type.name, sorted(entry), repr(entry["dtype_configs"])]
                found[f"{name} {names(pattern)}"] = said
        return found

    def names(pattern):
        if isinstance(pattern, tuple):
            return [names(each) for each in pattern]
        return getattr(pattern, "__name__", pattern)

    same(program)


def test_what_is_refused():
    same_error(lambda lib: list(parts(lib))[2].convert_fx(lib.nn.ReLU()))
    same_error(lambda lib: list(parts(lib))[2].prepare_fx(lib.nn.ReLU(), 3, ()))


def test_reference_graph_of_what_is_left_out():
    def program(lib):
        _, q, fx = parts(lib)
        model = lib.nn.Sequential(lib.nn.Softplus(), lib.nn.Linear(2, 2)).eval()
        mapping = q.QConfigMapping().set_global(None)
        prepared = fx.prepare_fx(model, mapping, (lib.ones(1, 2),))
        return described(fx.convert_to_reference_fx(prepared))[:2]

    same(program)


# ---- converted ----


def functions(lib):
    nn, functional = lib.nn, lib.nn.functional

    class Functions(nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel, self.bias = nn.Parameter(lib.randn(6, 3, 3, 3)), nn.Parameter(lib.randn(6))
            self.matrix = nn.Parameter(lib.randn(5, 24))

        def forward(self, x):
            x = functional.relu(functional.conv2d(x, self.kernel, self.bias, (1, 1), (1, 1), (1, 1), 1))
            x = functional.leaky_relu(functional.hardswish(functional.elu(x)), 0.1)
            count = x.size(0)
            x = functional.avg_pool2d(x, 4).view(count, -1)
            return functional.relu(functional.linear(x, self.matrix)), x.shape[0]

    return Functions(), (lib.linspace(-1, 1, 384).reshape(2, 3, 8, 8),)


def recurrent(lib):
    nn, functional = lib.nn, lib.nn.functional

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.act, self.rnn, self.cell = nn.Linear(8, 8), nn.ReLU(), nn.LSTM(8, 4), nn.GRUCell(4, 4)
            self.matrix = nn.Parameter(lib.randn(3, 4))

        def forward(self, x):
            outputs, _ = self.rnn(self.act(self.linear(x)))
            x = self.cell(outputs[0])
            return functional.relu(functional.linear(x, self.matrix)), functional.linear(x, self.matrix)

    return Recurrent(), (lib.linspace(-1, 1, 80).reshape(5, 2, 8),)


def converted(lib, made, mapping, inputs, reference=False):
    _, _, fx = parts(lib)
    prepared = fx.prepare_fx(made.eval(), mapping, inputs)
    prepared(*inputs)
    model = (fx.convert_to_reference_fx if reference else fx.convert_fx)(prepared)
    results = model(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    return [*described(model)[:2], *(each.tolist() if isinstance(each, lib.Tensor) else each for each in results)]


@pytest.mark.parametrize("reference", [False, True], ids=["lowered", "reference"])
@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
@pytest.mark.parametrize("model", ["layers", "functions"])
def test_static(model, backend, reference):
    def program(lib):
        _, q, _ = parts(lib)
        lib.manual_seed(0)
        made, inputs = (MODELS | {"functions": functions})[model](lib)
        return converted(lib, made, q.get_default_qconfig_mapping(backend), inputs, reference)

    # A reference rounds products of floats, whose last bits depend on the processor: one in the middle goes to either step (and its sum).
    same(program, rtol=1e-4, atol=2**-6 if reference else 1e-5)


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
@pytest.mark.parametrize("config", ["float16_dynamic_qconfig", "default_dynamic_qconfig"])
def test_dynamic(config):
    def program(lib):
        _, q, _ = parts(lib)
        lib.manual_seed(0)
        made, inputs = recurrent(lib)
        return converted(lib, made, q.QConfigMapping().set_global(getattr(q, config)), inputs)

    same(program, rtol=2e-3, atol=1e-4)


def test_embeddings_and_what_is_left_out():
    def program(lib):
        nn, q, _ = parts(lib)
        lib.manual_seed(0)
        made = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 4), nn.ReLU())
        mapping = q.QConfigMapping().set_object_type(nn.Embedding, q.float_qparams_weight_only_qconfig)
        return converted(lib, made, mapping, (lib.tensor([1, 2, 3]),))

    same(program, rtol=1e-5, atol=1e-6)
