"""Train a tiny model of transformers on a device, and print the losses: python -m mindtorch_v2 train_model.py MODEL DEVICE STEPS."""

import json
import sys

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
    ViTConfig,
    ViTForImageClassification,
)

_WORDS = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
_STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def _bert():
    return BertForSequenceClassification(BertConfig(**_WORDS, **_STILL, max_position_embeddings=16, num_labels=3))


def _gpt2():
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=4, **still))


def _llama():
    return LlamaForCausalLM(LlamaConfig(**_WORDS, num_key_value_heads=2, max_position_embeddings=16))


def _vit():
    sizes = {name: value for name, value in _WORDS.items() if name != "vocab_size"}
    return ViTForImageClassification(ViTConfig(**sizes, **_STILL, image_size=16, patch_size=8, num_labels=3))


def _resnet():
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
    return ResNetForImageClassification(ResNetConfig(**sizes, num_labels=3))


_MODELS = {"bert": _bert, "gpt2": _gpt2, "llama": _llama, "vit": _vit, "resnet": _resnet}


def train(name, device, steps):
    """The losses of so many steps of AdamW."""
    torch.manual_seed(0)
    model = _MODELS[name]().to(device)
    batch = {}
    if name in ("vit", "resnet"):
        batch["pixel_values"] = torch.randn(4, 3, 16, 16)
    else:
        batch["input_ids"] = torch.randint(0, 64, (4, 12))
    batch["labels"] = batch["input_ids"] if name in ("gpt2", "llama") else torch.tensor([0, 1, 2, 1])
    batch = {key: value.to(device) for key, value in batch.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [float(loss) for loss in losses]


if __name__ == "__main__":
    print(json.dumps(train(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
