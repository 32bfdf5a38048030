"""A tiny model of a family trains for some steps on seeded data, without dropout; prints the losses as JSON.

small_models.py gpt2|llama|vit|resnet DEVICE STEPS
"""

import json
import sys

import torch
import transformers

VOCABULARY, TOKENS, LABELS = 128, 16, 4


def gpt2():
    """GPT-2 with a language model's head."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    return transformers.GPT2LMHeadModel(config), _text


def llama():
    """Llama: rotary positions, RMS norm, gated feed-forward, grouped heads."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
    )
    return transformers.LlamaForCausalLM(config), _text


def vit():
    """A vision transformer that classifies images."""
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        image_size=16,
        patch_size=4,
        num_labels=LABELS,
    )
    return transformers.ViTForImageClassification(config), lambda: _images(16)


def resnet():
    """A residual network: convolutions, batch norm, pooling."""
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=LABELS
    )
    return transformers.ResNetForImageClassification(config), lambda: _images(32)


def _text():
    first = torch.randint(0, VOCABULARY, (4, 1))
    tokens = (first + torch.arange(TOKENS) * torch.randint(1, 4, (4, 1))) % VOCABULARY
    return {"input_ids": tokens, "labels": tokens}


def _images(side):
    labels = torch.randint(0, LABELS, (4,))
    return {"pixel_values": torch.randn(4, 3, side, side) + labels.reshape(4, 1, 1, 1) * 0.5, "labels": labels}


def main(name: str, device: str, steps: int) -> None:
    """Train and print `{"losses": [...]}`."""
    torch.manual_seed(5)
    model, data = {"gpt2": gpt2, "llama": llama, "vit": vit, "resnet": resnet}[name]()
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    losses = []
    for _ in range(steps):
        loss = model(**{key: value.to(device) for key, value in data().items()}).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps({"losses": losses, "device": str(next(model.parameters()).device)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
