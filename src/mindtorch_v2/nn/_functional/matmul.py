"""Products of matrices."""

import mindtorch_v2 as torch

__all__ = ["grouped_mm", "scaled_grouped_mm", "scaled_mm"]


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Matrix products of groups: rows of `mat_a` between the ends in `offs`, each by its own matrix of `mat_b`."""
    return torch._grouped_mm(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)


def scaled_mm(
    mat_a,
    mat_b,
    scale_a,
    scale_recipe_a,
    scale_b,
    scale_recipe_b,
    swizzle_a=None,
    swizzle_b=None,
    bias=None,
    output_dtype=torch.bfloat16,
    contraction_dim=(),
    use_fast_accum=False,
):
    """Not implemented: products of scaled 8-bit floating-point matrices."""
    raise NotImplementedError("nn.functional.scaled_mm is not implemented")


def scaled_grouped_mm(
    mat_a,
    mat_b,
    scale_a,
    scale_recipe_a,
    scale_b,
    scale_recipe_b,
    swizzle_a=None,
    swizzle_b=None,
    bias=None,
    offs=None,
    output_dtype=torch.bfloat16,
    contraction_dim=(),
    use_fast_accum=False,
):
    """Not implemented: products of groups of scaled 8-bit floating-point matrices."""
    raise NotImplementedError("nn.functional.scaled_grouped_mm is not implemented")
