"""Known differences from PyTorch among the derived tests: each fails today, and says so the day it is mended (strict)."""

import pytest

GAPS = {
    "test_values[_weight_norm_interface-0]": "norms of 16-bit weights come in the weights' dtype, PyTorch's in float32",
    "test_values[_weight_norm_interface-1]": "norms of 16-bit weights come in the weights' dtype, PyTorch's in float32",
    "test_meta_says_what_is_real[_assert_async-0]": "no meta kernel",
    "test_meta_says_what_is_real[nanquantile.scalar-0]": "reads its quantile as a value: no meta kernel",
    "test_meta_says_what_is_real[nanquantile.scalar-1]": "reads its quantile as a value: no meta kernel",
    "test_meta_says_what_is_real[quantile.scalar-0]": "reads its quantile as a value: no meta kernel",
    "test_meta_says_what_is_real[quantile.scalar-1]": "reads its quantile as a value: no meta kernel",
    "test_in_place_has_the_same_gradient[renorm-0]": "renorm_ saves what it overwrites",
    "test_strided_inputs[resize_as_-0]": "resize_as_ of a view keeps other elements of the storage than PyTorch",
    "test_zero_size_inputs[instance_norm-0]": "an empty input is accepted, PyTorch raises",
    "test_zero_size_inputs[native_batch_norm-0]": "an empty input is accepted, PyTorch raises",
    "test_zero_size_inputs[_native_batch_norm_legit.no_stats-0]": "an empty input is accepted, PyTorch raises",
    "test_zero_size_inputs[norm_except_dim-0]": "an empty input is accepted, PyTorch raises",
    "test_zero_size_inputs[pixel_unshuffle-0]": "an empty input gives another shape than PyTorch's",
    "test_zero_size_inputs[view_as_complex-0]": "an empty input is accepted, PyTorch raises",
    "test_zero_size_inputs[_grouped_mm-0]": "an empty input is accepted, PyTorch raises",
}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name == "test_derived.py" and item.name in GAPS:
            item.add_marker(pytest.mark.xfail(reason=GAPS[item.name], strict=True))
