"""Functions by torch_npu's names; all of them raise when they are called."""

from mindtorch_v2._core.unavailable import unavailable_names

_ABSENT = unavailable_names(
    "torch_npu.contrib.function",
    functions="dropout_with_byte_mask fuse_add_softmax_dropout matmul_transpose npu_batched_multiclass_nms "
    "npu_bbox_coder_decode_xywh2xyxy npu_bbox_coder_encode_xyxy2xywh npu_bbox_coder_encode_yolo "
    "npu_fast_condition_index_put npu_fused_attention npu_fused_attention_with_layernorm npu_multiclass_nms "
    "npu_single_level_responsible_flags roll",
)
globals().update(_ABSENT)
__all__ = sorted(_ABSENT)
