"""PyTorch's facts of every operator that we have, as data.

    PYTHONPATH=src path/to/python-with-torch tools/make_tags.py

It writes tests/snapshots/tags.json, the tags, which `tests/ops/test_facts.py` holds the rows to (an operator that PyTorch has not,
or calls otherwise, is null), and src/mindtorch_v2/_behaviours/whole_operators.txt: the operators that are composed of others here, and
that PyTorch has kernels or a gradient for.
"""

import json
import pathlib

import torch

from mindtorch_v2 import _C
from mindtorch_v2._operators.table import ROWS

ROOT = pathlib.Path(__file__).parents[1]
PLACE = ROOT / "tests" / "snapshots" / "tags.json"
WHOLE = ROOT / "src" / "mindtorch_v2" / "_behaviours" / "whole_operators.txt"


def tags_of(name, overload):
    """The names of PyTorch's tags of an operator, sorted; None if it has no such operator."""
    packet = getattr(torch.ops.aten, name, None)
    found = getattr(packet, overload or "default", None)
    return None if found is None else " ".join(sorted(tag.name for tag in found.tags))


def is_whole(handle):
    """Whether an operator is composed here, and of one piece in PyTorch, where it gives no view."""
    name = f"{handle.namespace}::{handle.name}" + (f".{handle.overload}" if handle.overload else "")
    return (
        handle.namespace == "aten"
        and "CompositeImplicitAutograd" in handle.kernels()
        and not handle.is_view
        and name in torch._C._dispatch_get_all_op_names()
        and not torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
    )


def main():
    """Write the files: one operator a line."""
    whole = sorted({f"{each.name}.{each.overload}".rstrip(".") for each in _C._all_operators() if is_whole(each)})
    WHOLE.write_text("\n".join(whole) + "\n")
    handles = [
        form
        for row in ROWS.values()
        for form in (row.handle, row.inplace, row.out, row.generated_out)
        if form is not None
    ]
    tags = {f"{each.name}.{each.overload or 'default'}": tags_of(each.name, each.overload) for each in handles}
    PLACE.write_text(json.dumps(dict(sorted(tags.items())), indent=0) + "\n")


if __name__ == "__main__":
    main()
