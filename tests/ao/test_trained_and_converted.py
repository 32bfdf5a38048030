"""Layers with batch norm, trained with fake quantizers and converted: the norm is in the whole-number weights, as with PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao import quantization

pytestmark = pytest.mark.filterwarnings("ignore")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = quantization.QuantStub()
        self.c1 = nn.Conv2d(3, 8, 3, padding=1)
        self.b1 = nn.BatchNorm2d(8)
        self.r1 = nn.ReLU()
        self.c2 = nn.Conv2d(8, 4, 1)
        self.fc = nn.Linear(64, 5)
        self.dq = quantization.DeQuantStub()

    def forward(self, x):
        x = self.r1(self.b1(self.c1(self.quant(x))))
        return self.dq(self.fc(self.c2(x).flatten(1)))


def test_batch_norm_is_folded():
    torch.manual_seed(0)
    model = Net().train()
    model.qconfig = quantization.get_default_qat_qconfig("x86")
    model = quantization.prepare_qat(quantization.fuse_modules_qat(model, ["c1", "b1", "r1"]))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(5):
        loss = model(torch.randn(4, 3, 4, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    x = torch.randn(2, 3, 4, 4)
    model(x)
    converted = quantization.convert(model)
    weights = [layer.weight() for layer in (converted.c1, converted.c2, converted.fc)]
    assert [each.int_repr().long().sum().item() for each in weights] == [-1574, -143, 301]
    scales = [0.0014548525214195251, 0.0015133388806134462, 0.0014613698003813624, 0.001517400611191988]
    assert weights[0].q_per_channel_scales()[:4].tolist() == pytest.approx(scales, rel=1e-6)
    bias = [-0.10160386562347412, -0.05972227454185486, 0.12239699810743332, -0.11699897795915604]
    assert converted.c1.bias()[:4].tolist() == pytest.approx(bias, rel=1e-5)
    expected = [
        [0.1425454169511795, -0.29128846526145935, 0.01859288103878498, -0.006197627168148756, -0.27889323234558105],
        [-0.08056915551424026, -0.3284742534160614, 0.03718576207756996, -0.05577864497900009, -0.13634780049324036],
    ]
    for ours, theirs in zip(converted(x).tolist(), expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
