"""Tags: what an operator may say of itself beside its schema."""

import enum
from typing import Any

__all__ = ["Tag", "as_tags", "set_tags", "tags_of_schema"]


class Tag(enum.Enum):
    """Tags of operators; PyTorch's names and numbers.

    >>> [torch.Tag.pointwise in op.tags for op in (torch.ops.aten.relu.default, torch.ops.aten.mm.default)]
    [True, False]
    """

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    def __repr__(self) -> str:
        return f"<Tag.{self.name}: {self.value}>"


def as_tags(tags: object) -> tuple[Tag, ...]:
    """One tag or several as a tuple; TypeError for anything else."""
    given = () if tags is None else (tags,) if isinstance(tags, Tag) else tuple(tags)  # type: ignore[arg-type]  # (what is no tag is a sequence of them)
    for tag in given:
        if not isinstance(tag, Tag):
            raise TypeError(f"expected a torch.Tag or a sequence of them, got {tag!r}")
    return given


def set_tags(handle: Any, tags: tuple[Tag, ...]) -> None:
    """Give an operator its tags. The dispatcher is told which draw random numbers; a Generator in the schema says so too."""
    handle.tags = tags
    if Tag.nondeterministic_seeded in tags:
        handle.random = True


def tags_of_schema(handle: Any) -> tuple[Tag, ...]:
    """The tags of PyTorch's operators that follow from their schemas."""
    if handle.form == "out":
        return (Tag.out, Tag.pt2_compliant_tag)
    if handle.name.endswith("_") and handle.arguments and handle.arguments[0]["is_write"]:
        return (Tag.inplace, Tag.pt2_compliant_tag)
    return (Tag.pt2_compliant_tag,)
