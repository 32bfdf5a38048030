"""jit.cpp: `torch::jit::load` and what it gives, of an archive that is written here and of one of PyTorch 2.13."""

import pathlib

import pytest

import mindtorch_v2

# PyTorch's own functions of torch.jit, with --live.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
_SNAPSHOTS = pathlib.Path(__file__).parent.parent / "snapshots" / "jit"


@pytest.fixture
def archive(jit, tmp_path):
    """The path of an archive of a traced Module with two methods."""
    nn = jit.torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(jit.torch.full((4,), 2.0))
            self.register_buffer("offset", jit.torch.ones(4))
            self.linear = nn.Linear(3, 4)

        def forward(self, x):
            return self.linear(x) * self.scale + self.offset

        def twice(self, x):
            return x * 2

    x = jit.torch.ones(2, 3)
    path = str(tmp_path / "net.pt")
    jit.torch.jit.save(jit.torch.jit.trace_module(Net(), {"forward": x, "twice": x}), path)
    return path


@pytest.mark.parametrize("name", ["calls", "members", "changes"])
def test_in_cpp(jit, archive, name):
    getattr(jit.module, name)(archive)


def test_files(jit, archive, tmp_path):
    jit.module.files(archive, str(tmp_path / "again.pt"))
    assert jit.torch.jit.load(str(tmp_path / "again.pt")).scale.tolist() == [2.0] * 4


def test_objects_of_python(jit, archive):
    assert jit.module.parameters(jit.torch.jit.load(archive)) == 3
    assert jit.module.parameters(jit.torch.nn.Linear(1, 1)) is None and jit.module.parameters(3) is None


def test_a_program_of_pytorch(jit):
    torch = jit.torch
    first, _, (pair_first, pair_second, *_) = mindtorch_v2.load(_SNAPSHOTS / "program_results.pt")
    seen = jit.module.run(str(_SNAPSHOTS / "program.pt"), torch.arange(6.0).reshape(2, 3))
    expected = [each for each in (pair_first, pair_second, first[0]) if isinstance(each, mindtorch_v2.Tensor)]
    assert len(expected) > 1
    for one, other in zip(seen, expected, strict=True):
        torch.testing.assert_close(one, torch.tensor(other.tolist(), dtype=one.dtype))
