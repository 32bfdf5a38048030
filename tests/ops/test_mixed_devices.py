"""Calls whose tensors lie on the CPU and on another device, derived from the rows' samples: one tensor elsewhere than the rest.

tests/snapshots/mixed_devices.json holds what PyTorch 2.13 lets through and where its results lie. Left out of it are calls
that PyTorch's functions for meta tensors take without a look at the devices, and for which its CPU kernels read no memory.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from expected import is_inner
from samples import Inputs, dtypes, flat, samples, tensor_specs

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS
from mindtorch_v2._operators.table.devices import place

_PASSED = json.loads((Path(__file__).parent.parent / "snapshots" / "mixed_devices.json").read_text())
_NAMES = sorted(
    name for name, row in ROWS.items() if any(len(tensor_specs(s)) > 1 for s in samples(row)) and not is_inner(row)
)


def _mixed_calls(row: Any) -> Any:
    """(key, whether the tensor that lies elsewhere is a number, inputs) of each call of a row."""
    for index, sample in enumerate(samples(row)):
        specs = tensor_specs(sample)
        if len(specs) < 2:
            continue
        for moved in range(len(specs)):
            for base in ("cpu", "meta"):
                if moved and len(specs) == 2 and base == "meta":
                    continue  # the same as the first elsewhere
                place = iter(range(len(specs)))

                def arrange(_: Any, tensor: Any, moved: int = moved, base: str = base, place: Any = place) -> Any:
                    return tensor.to("meta") if (next(place) == moved) == (base == "cpu") else tensor

                inputs = Inputs(torch, row, index, dtypes(row, sample)[0], arrange=arrange)
                numbers = any(spec.shape == () for spec in specs)
                yield f"{index} {moved} {base}", numbers, inputs


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.filterwarnings("ignore")
def test_cpu_and_meta(name: str) -> None:
    row, passed = ROWS[name], _PASSED.get(name, {})
    failures = []
    for key, numbers, inputs in _mixed_calls(row):
        try:
            results = flat(row.handle(*inputs.args, **inputs.kwargs))
        except RuntimeError as error:  # NotImplementedError, where the values of a meta tensor are asked for
            if key in passed:
                failures.append(f"{key}: PyTorch gives {passed[key]}; {error}")
            continue
        places = ",".join(r.device.type if isinstance(r, torch.Tensor) else type(r).__name__ for r in results)
        # A number of the host may join tensors of any device; what comes out has no data then.
        if places != passed.get(key) and not (numbers and set(places.split(",")) == {"meta"}):
            failures.append(f"{key}: results on {places}, in PyTorch {passed.get(key, 'an error')}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c, m: c + m, "but found at least two devices, cpu and meta!"),
        (lambda c, m: m + c, "but found at least two devices, meta and cpu!"),
        (lambda c, m: torch.cat([c, m]), "but found at least two devices, cpu and meta!"),
        (lambda c, m: torch.stack([m, c]), "but found at least two devices, meta and cpu!"),
        (lambda c, m: torch.block_diag(c, m), "but found at least two devices, cpu and meta!"),
        (lambda c, m: torch.nn.utils.rnn.pad_sequence([c, m]), "but found at least two devices, cpu and meta!"),
        (lambda c, m: c.add_(m), "but found at least two devices, cpu and meta!"),
        (lambda c, m: c[m.long()], "indices should be either on cpu or on the same device as the indexed tensor (cpu)"),
        (lambda c, m: c.index_put_((m.long(),), c), "indices should be either on cpu or on the same device as the"),
        (lambda c, m: torch.add(c, 1, out=m), "Expected out tensor to have device cpu, but got meta instead"),
        (lambda c, m: torch.outer(c, c, out=m), "Expected out tensor to have device cpu, but got meta instead"),
        (
            lambda c, m: c.set_(m),
            'Attempted to set the storage of a tensor on device "cpu" to a storage on different device "meta".  '
            "This is no longer allowed; the devices must match.",
        ),
        (
            lambda c, m: c.set_(m.untyped_storage()),
            'Attempted to set the storage of a tensor on device "cpu" to a storage on different device "meta".  '
            "This is no longer allowed; the devices must match.",
        ),
    ],
)
def test_messages(call: Any, message: str) -> None:
    cpu, meta = torch.ones(3), torch.ones(3, device="meta")
    with pytest.raises(RuntimeError) as caught:
        call(cpu, meta)
    assert message in str(caught.value)
    assert cpu.tolist() == [1, 1, 1]


def test_numbers_of_the_host_join() -> None:
    cpu, meta, number, meta_number = (
        torch.ones(3),
        torch.ones(3, device="meta"),
        torch.ones(()),
        torch.ones((), device="meta"),
    )
    assert (meta + number).device.type == (number * meta).device.type == "meta"
    assert torch.where(torch.tensor(True), meta, number).device.type == "meta"
    assert meta[torch.tensor([0])].device.type == "meta"
    assert meta.copy_(cpu) is meta
    for call in (lambda: cpu + meta_number, lambda: number.add_(meta_number)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call()


def test_a_users_operator_sees_what_it_is_given() -> None:
    with torch.library._scoped_library("mixed_devices", "DEF") as library:
        library.define("places(Tensor a, Tensor b) -> Tensor")
        library.impl("places", lambda a, b: torch.tensor([a.is_meta, b.is_meta]), "CompositeExplicitAutograd")
        result = torch.ops.mixed_devices.places(torch.ones(2), torch.ones(2, device="meta"))
    assert result.tolist() == [False, True]


def test_a_row_that_names_no_tensor_is_refused() -> None:
    with pytest.raises(ValueError, match="names tensor arguments"):
        place(ROWS["copy_"].handle, {"source": "any"})
    with pytest.raises(ValueError, match="names tensor arguments"):
        place(ROWS["copy_"].handle, {"src": "everywhere"})
