"""Tiny models of more families on the CPU and on the NPU: a few training steps, and what they generate. Prints JSON.

families.py NAME...
"""

import json
import sys

import torch
import transformers

STEPS, WORDS = 3, 99
_ENCODER = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
_DECODER = {**_ENCODER, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
_STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_VISION = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "image_size": 16,
    "patch_size": 4,
}


def _words(n: int) -> torch.Tensor:
    return torch.randint(3, WORDS, (2, n))


def _text() -> dict:
    words = _words(10)
    mask = torch.ones_like(words)
    mask[1, :3] = 0
    return {"input_ids": words, "attention_mask": mask, "labels": words.clone()}


def _pairs() -> dict:
    return {**_text(), "labels": _words(6)}


def _answers() -> dict:
    return {"input_ids": _words(10), "start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([3, 4])}


# name: (class of the model, configuration, what makes a batch, what generation starts from)
FAMILIES = {
    "clip": (
        "CLIPModel",
        lambda: transformers.CLIPConfig(
            text_config={**_ENCODER, "bos_token_id": 1, "eos_token_id": 2}, vision_config=_VISION, projection_dim=16
        ),
        lambda: {"input_ids": _words(10), "pixel_values": torch.randn(2, 3, 16, 16), "return_loss": True},
        None,
    ),
    "distilbert": (
        "DistilBertForQuestionAnswering",
        lambda: transformers.DistilBertConfig(
            vocab_size=WORDS,
            dim=32,
            n_layers=2,
            n_heads=4,
            hidden_dim=40,
            dropout=0.0,
            attention_dropout=0.0,
            qa_dropout=0.0,
            max_position_embeddings=64,
        ),
        _answers,
        None,
    ),
    "longformer": (
        "LongformerForMaskedLM",
        lambda: transformers.LongformerConfig(attention_window=4, **_ENCODER, **_STILL),
        _text,
        None,
    ),
    "mistral": (
        "MistralForCausalLM",
        lambda: transformers.MistralConfig(sliding_window=6, **_DECODER),
        _text,
        "input_ids",
    ),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        lambda: transformers.Qwen3MoeConfig(
            head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, mlp_only_layers=[], **_DECODER
        ),
        _text,
        "input_ids",
    ),
    "roberta": ("RobertaForMaskedLM", lambda: transformers.RobertaConfig(**_ENCODER, **_STILL), _text, None),
    "segformer": (
        "SegformerForSemanticSegmentation",
        lambda: transformers.SegformerConfig(
            hidden_sizes=[8, 8, 8, 8],
            num_attention_heads=[1, 1, 2, 2],
            depths=[1, 1, 1, 1],
            decoder_hidden_size=8,
            drop_path_rate=0.0,
            classifier_dropout_prob=0.0,
            **_STILL,
        ),
        lambda: {"pixel_values": torch.randn(2, 3, 64, 64), "labels": torch.randint(0, 2, (2, 64, 64))},
        None,
    ),
    "t5": (
        "T5ForConditionalGeneration",
        lambda: transformers.T5Config(
            vocab_size=WORDS,
            d_model=32,
            d_kv=8,
            d_ff=40,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            decoder_start_token_id=0,
        ),
        _pairs,
        "input_ids",
    ),
    "wav2vec2": (
        "Wav2Vec2ForCTC",
        lambda: transformers.Wav2Vec2Config(
            vocab_size=WORDS,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=40,
            conv_dim=(16, 16, 16),
            conv_stride=(4, 4, 2),
            conv_kernel=(8, 4, 4),
            num_conv_pos_embeddings=8,
            num_conv_pos_embedding_groups=2,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            feat_proj_dropout=0.0,
            final_dropout=0.0,
            activation_dropout=0.0,
            layerdrop=0.0,
            mask_time_prob=0.0,
            ctc_loss_reduction="mean",
        ),
        lambda: {"input_values": torch.randn(2, 1024), "labels": _words(5)},
        None,
    ),
    "whisper": (
        "WhisperForConditionalGeneration",
        lambda: transformers.WhisperConfig(
            vocab_size=WORDS,
            num_mel_bins=16,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=40,
            decoder_ffn_dim=40,
            d_model=32,
            max_source_positions=30,
            max_target_positions=40,
            dropout=0.0,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=3,
            suppress_tokens=None,
            begin_suppress_tokens=None,
        ),
        lambda: {"input_features": torch.randn(2, 16, 60), "labels": _words(6)},
        "input_features",
    ),
}


def course(name: str, device: str) -> dict:
    """The losses of some steps, and what the model generates before them: greedily, and with three beams."""
    torch.manual_seed(1)
    kind, config, data, start = FAMILIES[name]
    model = getattr(transformers, kind)(config())
    batch = {key: value.to(device) if hasattr(value, "to") else value for key, value in data().items()}
    model.to(device).eval()
    written = []
    if start is not None:
        given = {key: batch[key] for key in (start, "attention_mask") if key in batch}
        for how in ({}, {"num_beams": 3, "no_repeat_ngram_size": 2, "repetition_penalty": 1.2}):
            written.append(model.generate(**given, max_new_tokens=5, do_sample=False, **how).tolist())
        sampled = model.generate(**given, max_new_tokens=5, do_sample=True, top_k=10, top_p=0.9, temperature=0.7)
        assert sampled.max().item() < WORDS
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(STEPS):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return {"losses": losses, "written": written}


if __name__ == "__main__":
    print(json.dumps({name: {device: course(name, device) for device in ("cpu", "npu")} for name in sys.argv[1:]}))
