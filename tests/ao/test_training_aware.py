"""Training that is aware of quantization: losses, scales and statistics are PyTorch's."""

import importlib

import pytest
from agreement import same, same_error


def parts(lib):
    return (
        importlib.import_module(f"{lib.__name__}.{name}") for name in ("nn", "ao.quantization", "ao.nn.intrinsic.qat")
    )


def network(lib):
    nn, q, _ = parts(lib)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.conv1, self.bn1, self.relu1 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
            self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, groups=2, bias=False), nn.BatchNorm2d(4)
            self.conv3, self.relu3 = nn.Conv2d(4, 2, 1), nn.ReLU()
            self.fc1, self.relu4, self.fc2, self.sigmoid = nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3), nn.Sigmoid()

        def forward(self, x):
            x = self.relu1(self.bn1(self.conv1(self.quant(x))))
            x = self.relu3(self.conv3(self.bn2(self.conv2(x))))
            return self.dequant(self.sigmoid(self.fc2(self.relu4(self.fc1(x.flatten(1))))))

    return Net()


FUSED = [["conv1", "bn1", "relu1"], ["conv2", "bn2"], ["conv3", "relu3"], ["fc1", "relu4"]]


@pytest.mark.parametrize(("backend", "version"), [("x86", 1), ("qnnpack", 1), ("fbgemm", 0)])
def test_twenty_steps(backend, version):
    def program(lib):
        _, q, intrinsic = parts(lib)
        lib.manual_seed(0)
        model = network(lib).train()
        model.qconfig = q.get_default_qat_qconfig(backend, version)
        prepared = q.prepare_qat(q.fuse_modules_qat(model, FUSED))
        optimizer = lib.optim.SGD(prepared.parameters(), lr=0.1, momentum=0.9)
        losses = []
        for step in range(20):
            x, target = lib.randn(4, 3, 4, 4), lib.rand(4, 3)
            loss = ((prepared(x) - target) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
            if step == 12:
                prepared.apply(q.disable_observer)
            if step == 15:
                prepared.apply(intrinsic.freeze_bn_stats)
        kept = {k: v for k, v in prepared.state_dict().items() if "post_process" in k or "fake" in k or "running" in k}
        return [
            [name for name, _ in prepared.named_modules()],
            losses,
            kept,
            prepared.eval()(lib.ones(1, 3, 4, 4)).detach(),
        ]

    same(program, rtol=2e-4, atol=1e-6)


def test_the_slow_way_of_batch_norm_and_back_to_float():
    def program(lib):
        nn, q, _ = parts(lib)
        found = []
        for training in (True, False):
            lib.manual_seed(1)
            fused = q.fuse_modules_qat(nn.Sequential(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3), nn.ReLU()), ["0", "1", "2"])
            fused.qconfig = q.get_default_qat_qconfig("x86")
            prepared = q.prepare_qat(fused.train())
            prepared[0]._enable_slow_path_for_better_numerical_stability = True
            prepared.train(training)
            x = lib.randn(2, 2, 5, requires_grad=True)
            made = prepared(x)
            found += [made.detach(), *lib.autograd.grad(made.sum(), [x, prepared[0].weight, prepared[0].bias])]
            back = prepared[0].to_float()
            found += [type(back).__name__, back[0].weight.detach(), back[0].bias.detach()]
        return found

    same(program, rtol=1e-5, atol=1e-6)


def test_old_names_of_state():
    def program(lib):
        _, q, intrinsic = parts(lib)
        module = intrinsic.ConvBn2d(1, 2, 1, qconfig=q.default_qat_qconfig)
        state = module.state_dict()
        old = {"bn.weight": "gamma", "bn.bias": "beta"}
        renamed = {old.get(key, key.removeprefix("bn.")): lib.full_like(value, 3) for key, value in state.items()}
        module.load_state_dict(renamed)
        return [module.bn.weight.detach(), module.bn.running_var, module.bn.num_batches_tracked]

    same(program)


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_embeddings(kind):
    def program(lib):
        _, q, _ = parts(lib)
        qat = importlib.import_module(f"{lib.__name__}.ao.nn.qat")
        lib.manual_seed(2)
        plain = getattr(lib.nn, kind)(5, 4)
        plain.qconfig = q.default_embedding_qat_qconfig
        made = getattr(qat, kind).from_float(plain)
        result = made(lib.tensor([[0, 3], [4, 4]]))
        return [result.detach(), lib.autograd.grad(result.sum(), made.weight)[0], type(made.to_float()).__name__]

    same(program, rtol=1e-6)


def test_dynamic_linear_needs_an_observer_without_memory():
    def program(lib, qconfig="default_dynamic_qat_qconfig"):
        _, q, _ = parts(lib)
        dynamic = importlib.import_module(f"{lib.__name__}.ao.nn.qat.dynamic")
        lib.manual_seed(3)
        return dynamic.Linear(3, 2, qconfig=getattr(q, qconfig))(lib.ones(1, 3)).detach()

    same(program)
    same_error(lambda lib: program(lib, "default_qat_qconfig"))


@pytest.mark.parametrize(
    "program",
    [
        "qat.Linear(2, 2)",
        "qat.Conv2d.from_float(nn.Linear(2, 2))",
        "qat.Linear.from_float(nn.Linear(2, 2))",
        "qat.Embedding(2, 2, qconfig=q.default_qat_qconfig)",
        "q.prepare_qat(nn.Sequential(nn.Linear(2, 2)).eval())",
        "q.fuse_modules(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), ['0', '1'])",
        "q.fuse_conv_bn(True, nn.Conv2d(1, 2, 1), nn.BatchNorm2d(3))",
        "q.fuse_conv_bn(True, nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2).eval())",
        "q.fuse_convtranspose_bn(True, nn.ConvTranspose2d(1, 2, 1), nn.BatchNorm2d(2))",
    ],
)
def test_what_is_refused(program):
    def run(lib):
        nn, q, _ = parts(lib)
        return eval(program, {"nn": nn, "q": q, "qat": importlib.import_module(f"{lib.__name__}.ao.nn.qat")})

    same_error(run)
