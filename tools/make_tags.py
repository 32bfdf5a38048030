"""PyTorch's tags of every operator that we have, as data: what `tests/ops/test_facts.py` holds the rows to.

    PYTHONPATH=src path/to/python-with-torch tools/make_tags.py     # writes tests/snapshots/tags.json

An operator that PyTorch has not, or calls otherwise, is null.
"""

import json
import pathlib

import torch

from mindtorch_v2._operators.table import ROWS

PLACE = pathlib.Path(__file__).parents[1] / "tests" / "snapshots" / "tags.json"


def tags_of(name, overload):
    """The names of PyTorch's tags of an operator, sorted; None if it has no such operator."""
    packet = getattr(torch.ops.aten, name, None)
    found = getattr(packet, overload or "default", None)
    return None if found is None else " ".join(sorted(tag.name for tag in found.tags))


def main():
    """Write the file: one operator a line."""
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
