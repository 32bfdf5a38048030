"""transformers' flash attention on the NPU (it calls torch_npu's fused operators), beside eager attention on the CPU.

Prints, as JSON, how far logits and gradients in bfloat16 are from those of the CPU in float32: on the NPU and on the CPU.
"""

import json

import torch
import transformers

_SIZES = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
MODELS = {
    "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig(**_SIZES)),
    "qwen3": (transformers.Qwen3ForCausalLM, transformers.Qwen3Config(**_SIZES, head_dim=16)),
    "qwen3_moe": (transformers.Qwen3MoeForCausalLM, transformers.Qwen3MoeConfig(**_SIZES, **_EXPERTS, head_dim=16)),
}


def _run(model: torch.nn.Module, words: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of real words and all gradients, as float32 vectors on the CPU."""
    device = next(model.parameters()).device
    follows_a_word = torch.cat([torch.zeros_like(mask[:, :1]), mask[:, :-1]], 1)
    labels = words.masked_fill((mask == 0) | (follows_a_word == 0), -100)
    out = model(words.to(device), attention_mask=mask.to(device), labels=labels.to(device))
    out.loss.backward()
    gradients = torch.cat([p.grad.float().cpu().flatten() for p in model.parameters()])
    return out.logits.detach().float().cpu()[mask > 0].flatten(), gradients


def _run_packed(model: torch.nn.Module, sequences: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The same for sequences one behind the other, told apart by their positions; eager attention takes them one by one."""
    device = next(model.parameters()).device
    if model.config._attn_implementation == "eager":
        each = [model(words[None].to(device)).logits[0] for words in sequences]
    else:
        positions = torch.cat([torch.arange(len(words)) for words in sequences])[None]
        together = model(torch.cat(sequences)[None].to(device), position_ids=positions.to(device)).logits[0]
        each = list(together.split([len(words) for words in sequences]))
    losses = [
        torch.nn.functional.cross_entropy(logits[:-1].float(), words[1:].to(device), reduction="sum")
        for logits, words in zip(each, sequences, strict=True)
    ]
    sum(losses).div(sum(len(words) - 1 for words in sequences)).backward()
    gradients = torch.cat([p.grad.float().cpu().flatten() for p in model.parameters()])
    return torch.cat(each).detach().float().cpu().flatten(), gradients


def main() -> None:
    """Compare every model on a full batch, on a padded one, and on packed sequences."""
    torch.manual_seed(0)
    words, found = torch.randint(3, 100, (2, 12)), {}
    for name, (kind, config) in MODELS.items():
        for form in ("full", "padded", "packed"):
            mask = torch.ones_like(words)
            if form == "padded":
                mask[1, :5] = 0
            results, weights = {}, None
            for label, device, dtype, attention in (
                ("exact", "cpu", torch.float32, "eager"),
                ("cpu", "cpu", torch.bfloat16, "eager"),
                ("npu", "npu", torch.bfloat16, "flash_attention_2"),
            ):
                torch.manual_seed(1)
                model = kind._from_config(config, attn_implementation=attention, dtype=dtype)
                weights = weights or {key: value.clone() for key, value in model.state_dict().items()}
                model.load_state_dict(weights)
                model = model.to(device)
                results[label] = (
                    _run_packed(model, [words[0], words[1, :7], words[1, 7:]])
                    if form == "packed"
                    else _run(model, words, mask)
                )
            found[f"{name} {form}"] = {
                label: [(results[label][i] - results["exact"][i]).norm().item() for i in range(2)]
                for label in ("cpu", "npu")
            }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
