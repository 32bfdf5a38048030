"""PyTorch's operators that are not here, by name: suites that list its functions import them. Using one raises NotImplementedError."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._core.above import above
from mindtorch_v2._core.unavailable import unavailable_function

__all__ = ["LATE", "METHODS", "absent_function"]

_FUNCTIONS = {
    "torch": frozenset(
        (
            "_add_batch_dim _convert_weight_to_int4pack _cslt_compress "
            "_cslt_sparse_mm _cslt_sparse_mm_search _cudnn_ctc_loss _cudnn_init_dropout_state _cudnn_rnn "
            "_cudnn_rnn_flatten_weight _cufft_clear_plan_cache _cufft_get_plan_cache_max_size "
            "_cufft_get_plan_cache_size _cufft_set_plan_cache_max_size _dyn_quant_matmul_4bit "
            "_dyn_quant_pack_4bit_weight _fill_mem_eff_dropout_mask_ _flash_attention_forward_no_dropout_inplace "
            "_fw_primal_copy _indices_copy _lstm_mps _make_dual _make_dual_copy _mixed_dtypes_linear _mkldnn_reshape "
            "_mkldnn_transpose _mkldnn_transpose_ _mps_convolution _mps_convolution_transpose "
            "_nested_compute_contiguous_strides_offsets _nested_from_padded "
            "_nested_from_padded_and_nested_example _nested_from_padded_tensor _nested_get_jagged_dummy "
            "_nested_get_lengths _nested_get_max_seqlen _nested_get_min_seqlen _nested_get_offsets "
            "_nested_get_ragged_idx _nested_get_values _nested_get_values_copy _nested_tensor_from_mask "
            "_nested_tensor_from_mask_left_aligned _nested_tensor_from_tensor_list _nested_tensor_softmax_with_shape "
            "_nested_view_from_buffer _nested_view_from_buffer_copy _nested_view_from_jagged "
            "_nested_view_from_jagged_copy _nnpack_spatial_convolution _philox_key_fold_in _philox_key_split "
            "_philox_normal_ _philox_uniform_ _propagate_xla_data _remove_batch_dim _resize_output_ "
            "_scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention "
            "_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention _scaled_grouped_mm "
            "_scaled_grouped_mm_v2 _sobol_engine_draw _sobol_engine_ff_ _sobol_engine_initialize_state_ "
            "_sobol_engine_scramble_ _sparse_broadcast_to _sparse_broadcast_to_copy "
            "_sparse_semi_structured_addmm _sparse_semi_structured_apply _sparse_semi_structured_apply_dense "
            "_sparse_semi_structured_linear _sparse_semi_structured_mm _sparse_semi_structured_tile "
            "_to_sparse_semi_structured _triton_multi_head_attention "
            "_triton_scaled_dot_attention _unpack_dual _use_cudnn_ctc_loss _use_cudnn_rnn_flatten_weight "
            "_use_miopen_ctc_loss _validate_compressed_sparse_indices _values_copy _weight_int4pack_mm "
            "_weight_int4pack_mm_with_scales_and_zeros _wrapped_linear_prepack _wrapped_quantized_linear_prepacked "
        ).split()
    ),
    "torch._C._nn": frozenset(
        (
            "_conv_depthwise2d _upsample_lanczos2d_aa conv_depthwise3d mkldnn_linear mkldnn_reorder_conv2d_weight "
            "mkldnn_reorder_conv3d_weight "
        ).split()
    ),
}
# Functions whose operators are defined when they are asked for: the rows of `_operators/inner` that have a place in Python.
LATE = {
    "torch": frozenset(
        (
            "_sparse_csr_prod _sparse_csr_sum __and__ __or__ __xor__ _add_relu _add_relu_ _aminmax _batch_norm_impl_index _conj_copy _convolution_mode "
            "_cummax_helper _cummin_helper _dim_arange _euclidean_dist _fake_quantize_learnable_per_channel_affine "
            "_fake_quantize_learnable_per_tensor_affine _foobar _foreach_powsum _functional_assert_async "
            "_functional_assert_scalar _functional_sym_constrain_range _functional_sym_constrain_range_for_size "
            "_grid_sampler_2d_cpu_fallback _logcumsumexp _lu_with_info _make_dep_token _masked_softmax _native_multi_head_attention _neg_view_copy "
            "_print _reshape_alias_copy _reshape_from_tensor _rowwise_prune _saturate_weight_to_fp16 "
            "_sparse_bsc_tensor_unsafe _sparse_bsr_tensor_unsafe _sparse_coo_tensor_with_dims "
            "_sparse_csc_tensor_unsafe _sparse_csr_tensor_unsafe _stack _test_functorch_fallback "
            "_test_serialization_subcmul _to_cpu _transform_bias_rescale_qkv _transformer_encoder_layer_fwd _trilinear "
        ).split()
    ),
    "torch._C._nn": frozenset(
        (
            "_pad_enum _test_ambiguous_defaults _test_optional_filled_intlist _test_optional_floatlist "
            "_test_optional_intlist _test_string_default flatten_dense_tensors slow_conv3d slow_conv_dilated2d "
            "slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d unflatten_dense_tensors "
        ).split()
    ),
    "torch._C._linalg": frozenset("_linalg_eigvals linalg__powsum".split()),
}
METHODS = (
    "_nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides _philox_normal_ "
    "_philox_uniform_ _sparse_mask_projection "
    "to_padded_tensor "
).split()


def absent_function(module: str, name: str) -> Any:
    """The function of that name below a module, which raises when it is called; AttributeError for no operator of PyTorch's."""
    if name in LATE.get(module, ()):
        return above.late_function(name)
    if name in _FUNCTIONS.get(module, ()):
        return unavailable_function(f"{module}.{name}")
    raise AttributeError(f"module '{module}' has no attribute '{name}'")
