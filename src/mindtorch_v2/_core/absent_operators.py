"""PyTorch's operators that are not here, by name: suites that list its functions import them. Using one raises NotImplementedError."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._core.unavailable import unavailable_function

__all__ = ["METHODS", "absent_function"]

_FUNCTIONS = {
    "torch": frozenset(
        (
            "_make_dual _unpack_dual _assert_scalar _functional_assert_scalar _functional_assert_async "
            "_assert_tensor_metadata _print sym_constrain_range sym_constrain_range_for_size "
            "_functional_sym_constrain_range _functional_sym_constrain_range_for_size _make_dep_token _use_cudnn_ctc_loss "
            "_cudnn_ctc_loss _use_cudnn_rnn_flatten_weight _cudnn_rnn_flatten_weight _cudnn_rnn _cudnn_init_dropout_state "
            "_sobol_engine_draw _sobol_engine_ff_ _sobol_engine_scramble_ "
            "_sobol_engine_initialize_state_ _reshape_from_tensor _add_relu _add_relu_ _test_check_tensor "
            "_test_functorch_fallback _dim_arange quantized_batch_norm _batch_norm_impl_index _lazy_clone "
            "_sparse_broadcast_to cudnn_is_acceptable _convolution_mode _copy_from _copy_from_and_resize "
            "cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_transpose "
            "_mps_convolution_transpose cudnn_convolution_relu cudnn_convolution_add_relu cudnn_grid_sampler _cummax_helper "
            "_cummin_helper _rowwise_prune _empty_affine_quantized _empty_per_channel_affine_quantized _resize_output_ "
            "empty_quantized _grid_sampler_2d_cpu_fallback _validate_compressed_sparse_indices _cufft_get_plan_cache_size "
            "_cufft_get_plan_cache_max_size _cufft_set_plan_cache_max_size _cufft_clear_plan_cache _unsafe_index "
            "_unsafe_index_put _index_put_impl_ mkldnn_linear_backward_weights _cslt_compress _cslt_sparse_mm "
            "_cslt_sparse_mm_search _sparse_semi_structured_tile _sparse_semi_structured_apply "
            "_sparse_semi_structured_apply_dense _sparse_semi_structured_linear _sparse_semi_structured_mm "
            "_sparse_semi_structured_addmm _mixed_dtypes_linear fbgemm_linear_int8_weight_fp32_activation "
            "fbgemm_linear_int8_weight fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 _wrapped_linear_prepack "
            "_wrapped_quantized_linear_prepacked fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_fp16_weight "
            "fbgemm_pack_quantized_matrix _logcumsumexp _aminmax _compute_linear_combination mkldnn_max_pool2d "
            "mkldnn_max_pool3d quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d _mps_convolution "
            "mkldnn_convolution mkldnn_rnn_layer miopen_batch_norm miopen_convolution miopen_convolution_transpose "
            "miopen_depthwise_convolution miopen_convolution_relu miopen_convolution_add_relu miopen_rnn "
            "_use_miopen_ctc_loss miopen_ctc_loss _convert_weight_to_int4pack _weight_int4pack_mm "
            "_weight_int4pack_mm_with_scales_and_zeros _convert_weight_to_int4pack_for_cpu _weight_int4pack_mm_for_cpu "
            "_dyn_quant_pack_4bit_weight _dyn_quant_matmul_4bit _weight_int8pack_mm batch_norm_stats batch_norm_elemt "
            "batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_backward_reduce "
            "batch_norm_backward_elemt batch_norm_update_stats is_vulkan_available _nnpack_available "
            "_nnpack_spatial_convolution _euclidean_dist _pin_memory _mkldnn_reshape slice_inverse smm sspaddmm _stack "
            "_mkldnn_transpose _mkldnn_transpose_ _transform_bias_rescale_qkv _nested_tensor_from_mask "
            "_nested_tensor_from_mask_left_aligned _nested_from_padded _nested_from_padded_and_nested_example "
            "_nested_view_from_buffer _nested_view_from_buffer_copy _nested_view_from_jagged _nested_view_from_jagged_copy "
            "_nested_get_values _nested_get_values_copy _nested_get_offsets _nested_get_lengths _nested_get_ragged_idx "
            "_nested_get_min_seqlen _nested_get_max_seqlen _nested_get_jagged_dummy "
            "_nested_compute_contiguous_strides_offsets _trilinear _has_compatible_shallow_copy_type _efficientzerotensor "
            "_philox_key_split _philox_key_fold_in _philox_normal_ _philox_uniform_ native_norm _sparse_csr_sum "
            "_sparse_csr_prod _sparse_softmax_backward_data _sparse_log_softmax_backward_data resize_as_sparse_ "
            "_addmm_activation _scaled_grouped_mm _scaled_grouped_mm_v2 _validate_sparse_coo_tensor_args "
            "_validate_sparse_compressed_tensor_args _validate_sparse_csr_tensor_args _validate_sparse_csc_tensor_args "
            "_validate_sparse_bsr_tensor_args _validate_sparse_bsc_tensor_args _to_cpu _coalesce hspmm "
            "_to_sparse_semi_structured quantize_per_tensor_dynamic quantize_per_tensor quantize_per_channel q_scale "
            "q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis int_repr "
            "_make_per_tensor_quantized_tensor _make_per_channel_quantized_tensor fake_quantize_per_tensor_affine "
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fake_quantize_learnable_per_tensor_affine "
            "fake_quantize_per_channel_affine _fake_quantize_learnable_per_channel_affine fused_moving_avg_obs_fake_quant "
            "_fused_moving_avg_obs_fq_helper _choose_qparams_per_tensor _saturate_weight_to_fp16 choose_qparams_optimized "
            "_lstm_mps quantized_lstm_cell quantized_gru_cell quantized_rnn_relu_cell quantized_rnn_tanh_cell "
            "_masked_softmax __and__ __or__ __xor__ _lu_with_info "
            "_foreach_powsum _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo "
            "mkldnn_adaptive_avg_pool2d _adaptive_avg_pool2d _adaptive_avg_pool3d _add_batch_dim _remove_batch_dim "
            "_linalg_det _linalg_slogdet _linalg_eigh _linalg_svd _linalg_solve_ex _test_serialization_subcmul "
            "_test_parallel_materialize _test_autograd_multiple_dispatch _test_autograd_multiple_dispatch_view "
            "_test_autograd_multiple_dispatch_view_copy _nested_tensor_from_tensor_list _fw_primal_copy _make_dual_copy "
            "view_as_real_copy view_as_complex_copy _conj_copy _neg_view_copy _sparse_broadcast_to_copy _reshape_alias_copy "
            "_indices_copy _values_copy indices_copy values_copy crow_indices_copy col_indices_copy ccol_indices_copy "
            "row_indices_copy _nested_from_padded_tensor _nested_tensor_softmax_with_shape _transformer_encoder_layer_fwd "
            "_native_multi_head_attention _scaled_dot_product_attention_math_for_mps _scaled_dot_product_flash_attention "
            "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention "
            "_scaled_dot_product_cudnn_attention _flash_attention_forward_no_dropout_inplace _triton_scaled_dot_attention "
            "_fill_mem_eff_dropout_mask_ _triton_multi_head_attention _foobar _propagate_xla_data "
        ).split()
    ),
    "torch._C._nn": frozenset(
        (
            "mkldnn_linear mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight rrelu_with_noise rrelu_with_noise_ "
            "_pad_circular _pad_enum _upsample_lanczos2d_aa slow_conv_transpose2d slow_conv_transpose3d thnn_conv2d "
            "_conv_depthwise2d conv_depthwise3d slow_conv3d slow_conv_dilated2d slow_conv_dilated3d _test_optional_intlist "
            "_test_optional_filled_intlist _test_optional_floatlist _test_string_default _test_ambiguous_defaults "
            "_test_warn_in_autograd flatten_dense_tensors unflatten_dense_tensors "
        ).split()
    ),
    "torch._C._linalg": frozenset("_linalg_eigvals linalg__powsum".split()),
}
METHODS = (
    "_is_all_true _is_any_true _lazy_clone is_distributed slice_inverse smm sspaddmm "
    "_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets _philox_normal_ _philox_uniform_ "
    "resize_as_sparse_ _addmm_activation sparse_resize_ sparse_resize_and_clear_ _sparse_mask_projection _to_dense "
    "_to_sparse _to_sparse_csr _to_sparse_csc to_sparse_bsr _to_sparse_bsr to_sparse_bsc _to_sparse_bsc q_scale "
    "q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis int_repr qscheme "
    "_autocast_to_reduced_precision _autocast_to_full_precision to_padded_tensor "
).split()


def absent_function(module: str, name: str) -> Any:
    """The function of that name below a module, which raises when it is called; AttributeError for no operator of PyTorch's."""
    if name in _FUNCTIONS.get(module, ()):
        return unavailable_function(f"{module}.{name}")
    raise AttributeError(f"module '{module}' has no attribute '{name}'")
