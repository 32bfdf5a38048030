"""Small models of transformers' families, and inputs for them: sizes of a configuration are cut down by their names."""

from __future__ import annotations

import inspect
from typing import Any

# The sizes that every family gets, by the names that configurations have for them.
SIZES = {
    **dict.fromkeys(
        "hidden_size d_model n_embd dim embed_dim hidden_dim encoder_hidden_size decoder_hidden_size text_hidden_size model_dim "
        "encoder_embed_dim projection_dim width word_embed_proj_dim output_hidden_size out_hidden_size decoder_hidden_dim lm_hidden_size "
        "fusion_hidden_size neck_hidden_dim query_dim visual_feat_dim feature_size mask_feature_size input_dim embedding_size "
        "encoder_hidden_dim vision_hidden_size bottleneck_dim attention_hidden_size linear_attn_dim residual_dim".split(),
        32,
    ),
    **dict.fromkeys(
        "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff n_inner dim_feedforward intermediate_dim mlp_dim d_inner "
        "encoder_intermediate_size moe_intermediate_size shared_expert_intermediate_size expert_ffn_hidden_size ffn_hidden_size "
        "inner_dim encoder_feedforward_dim decoder_feedforward_dim".split(),
        48,
    ),
    **dict.fromkeys(
        "num_attention_heads encoder_attention_heads decoder_attention_heads n_head n_heads num_heads attention_heads "
        "decoder_num_attention_heads encoder_num_attention_heads cross_attention_heads num_query_heads".split(),
        4,
    ),
    **dict.fromkeys("num_key_value_heads num_kv_heads n_head_kv attention_num_key_value_heads".split(), 2),
    **dict.fromkeys("head_dim attention_head_dim attention_head_size d_kv d_head kv_channels".split(), 8),
    **dict.fromkeys(
        "num_hidden_layers encoder_layers decoder_layers n_layer n_layers num_layers num_decoder_layers num_encoder_layers depth "
        "decoder_num_layers encoder_num_layers num_blocks num_hidden_groups text_encoder_layers".split(),
        2,
    ),
    **dict.fromkeys("vocab_size text_vocab_size decoder_vocab_size".split(), 99),
    **dict.fromkeys(
        "max_position_embeddings n_positions max_source_positions max_target_positions n_ctx seq_length".split(), 64
    ),
    **dict.fromkeys("image_size img_size input_size".split(), 32),
    **dict.fromkeys("patch_size".split(), 8),
    **dict.fromkeys("num_experts num_local_experts n_routed_experts moe_num_experts".split(), 4),
    **dict.fromkeys("num_experts_per_tok moe_topk num_experts_per_token top_k_experts".split(), 2),
    **dict.fromkeys("num_queries num_query_tokens".split(), 6),
    **dict.fromkeys("q_lora_rank kv_lora_rank".split(), 16),
    **dict.fromkeys("qk_rope_head_dim qk_nope_head_dim v_head_dim rotary_dim index_head_dim".split(), 8),
    **dict.fromkeys("num_mel_bins".split(), 16),
    **dict.fromkeys("bos_token_id decoder_start_token_id".split(), 1),
    **dict.fromkeys("eos_token_id".split(), 2),
    **dict.fromkeys("pad_token_id".split(), 0),
    **dict.fromkeys("image_token_id image_token_index".split(), 90),
    **dict.fromkeys("video_token_id video_token_index".split(), 91),
    **dict.fromkeys("audio_token_id audio_token_index".split(), 92),
    **dict.fromkeys("vision_start_token_id".split(), 93),
    **dict.fromkeys("vision_end_token_id".split(), 94),
}


def configuration(model_class: type) -> Any:
    """The family's default configuration, cut down."""
    config = model_class.config_class()  # type: ignore[attr-defined]  # (every model's class has one)
    _shrink(config)
    return config


def _shrink(config: Any) -> None:
    for name, value in list(vars(config).items()):
        if hasattr(value, "to_dict"):
            _shrink(value)
        elif isinstance(value, bool) or value is None:
            continue
        elif isinstance(value, int) and name in SIZES:
            _set(config, name, min(value, SIZES[name]))
        elif isinstance(value, list) and name == "layer_types":
            _set(config, name, value[:1] + value[-1:])
        elif isinstance(value, dict) and "mrope_section" in value:
            _set(config, name, {**value, "mrope_section": [2, 1, 1]})
    if hasattr(config, "kv_lora_rank"):  # every head has keys of its own, made of what they share
        _set(config, "num_key_value_heads", getattr(config, "num_attention_heads", 4))


def _set(config: Any, name: str, value: Any) -> None:
    try:
        setattr(config, name, value)
    except (AttributeError, NotImplementedError, ValueError):  # follows from another field
        pass


def _first(config: Any, *names: str, default: Any = None) -> Any:
    """The value of a field, here or in a configuration within."""
    within = [value for value in vars(config).values() if hasattr(value, "to_dict")]
    for place in (config, *within):
        for name in names:
            value = getattr(place, name, None)
            if value is not None:
                return value
    return default


def inputs(torch: Any, model: Any) -> dict[str, Any]:
    """Arguments for a forward pass, drawn with PyTorch's generator."""
    config, known = model.config, set(inspect.signature(model.forward).parameters)
    torch.manual_seed(1)
    given: dict[str, Any] = {}
    main = model.main_input_name
    if isinstance(main, (tuple, list)):
        main = main[0]
    words = torch.randint(3, 80, (2, 7))
    if main == "input_ids" or ("input_ids" in known and "decoder_input_ids" not in known):
        given["input_ids"] = words
        if "attention_mask" in known:
            given["attention_mask"] = torch.tensor([[1] * 7, [1] * 5 + [0] * 2])
    if main != "input_ids":
        made = _media(torch, config, main)
        if made is not None:
            given[main] = made
    if "bbox" in known:
        given["bbox"] = torch.randint(0, 30, (2, 7, 4)).sort(-1).values
    if "pixel_values" in known and "input_ids" in given and _needs_both(model):
        given["pixel_values"] = _media(torch, config, "pixel_values")
    if "decoder_input_ids" in known and getattr(config, "is_encoder_decoder", False):
        given["decoder_input_ids"] = torch.randint(3, 80, (2, 5))
    if "return_loss" in known and "pixel_values" in given and "input_ids" in given:
        given["return_loss"] = True
    return given


def _needs_both(model: Any) -> bool:
    parameter = inspect.signature(model.forward).parameters["pixel_values"]
    name = type(model).__name__
    return (
        parameter.default is inspect.Parameter.empty
        or "return_loss" in inspect.signature(model.forward).parameters
        or "Itm" in name
    )


def _media(torch: Any, config: Any, name: str) -> Any:
    """Pictures, films or sounds of a family's sizes."""
    size = _first(config, "image_size", "img_size", default=32)
    high, wide = (
        (size, size) if isinstance(size, int) else tuple(size)[:2] if isinstance(size, (list, tuple)) else (32, 32)
    )
    channels = _first(config, "num_channels", "in_channels", "in_chans", default=3)
    if name == "pixel_values" and _first(config, "num_frames") and "tubelet_size" in vars(config):
        return torch.randn(2, config.num_frames, channels, high, wide)
    if name == "pixel_values":
        return torch.randn(2, channels, high, wide)
    if name in ("pixel_values_videos", "pixel_values_video"):
        frames = _first(config, "num_frames", "frames_per_clip", default=2)
        return torch.randn(2, frames, channels, high, wide)
    if name == "input_features":
        bins = _first(config, "num_mel_bins", "feature_size", "input_feat_per_channel", default=16)
        length = 2 * _first(config, "max_source_positions", default=32)
        if getattr(config, "model_type", "") in ("speech_to_text", "wav2vec2-bert", "seamless_m4t", "seamless_m4t_v2"):
            return torch.randn(2, 64, bins)
        return torch.randn(2, bins, length)
    if name == "input_values":
        if _first(config, "num_mel_bins") and _first(config, "max_length"):
            return torch.randn(2, config.max_length, config.num_mel_bins)
        return torch.randn(2, 2000)
    if name == "past_values":
        return torch.randn(
            2, _first(config, "context_length", default=32), _first(config, "num_input_channels", default=1)
        )
    return None
