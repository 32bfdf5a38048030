"""Calls whose tensors lie on the host and on the device, derived from the rows' samples: an error or PyTorch's result, and
never a kernel that takes one memory for the other.

tests/snapshots/mixed_devices.json holds what PyTorch 2.13 lets through where the other device is `meta`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from expected import is_inner
from samples import Inputs, dtypes, flat, samples, tensor_specs

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS

_PASSED = json.loads((Path(__file__).parents[2] / "snapshots" / "mixed_devices.json").read_text())
# Elsewhere on a device with data: the values of the host's tensor can be read there.
_READ = ("copy", "copy_", "fill.Tensor", "fill_.Tensor", "to.other", "type_as")
_NAMES = sorted(
    name for name, row in ROWS.items() if any(len(tensor_specs(s)) > 1 for s in samples(row)) and not is_inner(row)
)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.filterwarnings("ignore")
def test_host_and_device(name: str) -> None:
    row, failures = ROWS[name], []
    index, sample = next((i, s) for i, s in enumerate(samples(row)) if len(tensor_specs(s)) > 1)
    count = len(tensor_specs(sample))
    for moved in range(count):
        for base in ("cpu", "npu"):
            if moved and count == 2 and base == "npu":
                continue  # the same as the first elsewhere
            place = iter(range(count))

            def arrange(_: Any, tensor: Any, moved: int = moved, base: str = base, place: Any = place) -> Any:
                return tensor.to("npu") if (next(place) == moved) == (base == "cpu") else tensor

            inputs = Inputs(torch, row, index, dtypes(row, sample)[0], arrange=arrange)
            numbers = any(spec.shape == () for spec in tensor_specs(sample))
            try:
                results = flat(row.handle(*inputs.args, **inputs.kwargs))
            except RuntimeError:
                continue  # refused
            finally:
                torch.npu.synchronize()
            places = ",".join(r.device.type if isinstance(r, torch.Tensor) else type(r).__name__ for r in results)
            expected = (
                _PASSED.get(name, {}).get(f"{index} {moved} {base}".replace("npu", "meta"), "").replace("meta", "npu")
            )
            if places != expected and name not in _READ and not (numbers and set(places.split(",")) == {"npu"}):
                failures.append(
                    f"tensor {moved} elsewhere than on {base}: results on {places}, in PyTorch {expected or 'an error'}"
                )
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize(
    "call",
    [
        lambda c, n: c + n,
        lambda c, n: torch.mm(n, c),
        lambda c, n: torch.linalg.solve(c, n),
        lambda c, n: torch.linalg.solve(n, c),
        lambda c, n: torch.linalg.householder_product(c, n[0]),
        lambda c, n: torch.cat([c, n]),
        lambda c, n: n.copy_(c).add_(c),
        lambda c, n: torch.tensor(1.0).add_(n[0, 0]),
        lambda c, n: c[n.long()],
    ],
)
def test_messages(call: Any) -> None:
    with pytest.raises(RuntimeError, match="two devices, (cpu and npu:0|npu:0 and cpu)!|indexed tensor .cpu."):
        call(torch.eye(2), torch.eye(2, device="npu"))


def test_numbers_of_the_host_join() -> None:
    x = torch.arange(3.0, device="npu")
    assert (x + torch.tensor(1.0)).tolist() == [1, 2, 3]
    assert torch.where(x > torch.tensor(1.0), x, torch.tensor(-1.0)).tolist() == [-1, -1, 2]
    assert x[torch.tensor([2, 0])].tolist() == [2, 0]
    x[torch.tensor([2])] = torch.tensor(7.0)
    assert x.tolist() == [0, 1, 7]
    assert x.masked_fill(x > 0, torch.tensor(5.0)).tolist() == [0, 5, 5]


@pytest.mark.parametrize("name", ["zeta", "xlog1py", "gammainc", "hermite_polynomial_h"])
def test_numbers_of_the_host_lead_no_kernel_of_the_host_to_the_device(name: str) -> None:
    call, x, number = getattr(torch.special, name), torch.ones(3, device="npu"), torch.tensor(2.0)
    for arguments in ((x, number), (number, x)):
        with pytest.raises(
            NotImplementedError, match=r"Could not run 'aten::\w+' with arguments from the 'NPU' backend"
        ):
            call(*arguments)


@pytest.mark.skipif(torch.npu.device_count() < 2, reason="needs two devices")
def test_two_devices() -> None:
    first, second = torch.ones(2, device="npu:0"), torch.ones(2, device="npu:1")
    with pytest.raises(RuntimeError, match="but found at least two devices, npu:0 and npu:1!"):
        first + second
    with pytest.raises(RuntimeError, match="but found at least two devices, npu:1 and npu:0!"):
        torch.cat([second, first])
    assert first.copy_(second * 3).tolist() == [3, 3]


def test_numbers_of_the_device_in_lists() -> None:
    x = torch.arange(4, device="npu")
    assert torch.tensor([[x[1], 1.5], [2, x[2:3]]]).tolist() == [[1.0, 1.5], [2.0, 2.0]]
    there = torch.tensor([x[1], x[3]], device="npu")
    assert there.device.type == "npu" and there.tolist() == [1, 3] and there.dtype == torch.int64
    made = torch.tensor([x[1].float().requires_grad_()])
    assert made.tolist() == [1.0] and not made.requires_grad
    assert torch.zeros(1).new_tensor([x[3]]).tolist() == [3.0]
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        torch.tensor([x])
    with pytest.raises(RuntimeError, match=r"Tensor\.item\(\) cannot be called on meta tensors"):
        torch.tensor([torch.ones((), device="meta")])
