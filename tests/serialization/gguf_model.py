"""A tiny Llama in a GGUF file: loaded packed, it does what transformers' own loading, which unpacks it, does.

Run by test_gguf.py as a program of its own, since transformers has to find this package under the name torch.
"""

import sys
from pathlib import Path

import mindtorch_v2

mindtorch_v2.as_torch()

import gguf  # noqa: E402  (the switch comes first)
import numpy as np  # noqa: E402  (the switch comes first)
import torch  # noqa: E402  (the switch comes first)
from transformers import AutoModelForCausalLM  # noqa: E402  (the switch comes first)

from mindtorch_v2.gguf import PackedEmbedding, PackedLinear, load_causal_lm  # noqa: E402  (the switch comes first)

HIDDEN, LAYERS, HEADS, KEYS, INNER, WORDS = 64, 2, 4, 2, 128, 96


def write(path: Path, tied: bool) -> None:
    """The file: matrices in Q8_0 and Q4_0, norms in float32; if tied, the table of words is the last matrix as well."""
    kinds = gguf.GGMLQuantizationType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(WORDS)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"t{i}" for i in range(WORDS)])
    writer.add_token_types([1] * WORDS)
    writer.add_token_merges([])
    rng = np.random.default_rng(0)

    def matrix(name: str, kind: str, *shape: int) -> None:
        values = (rng.standard_normal(shape) * 0.2).astype(np.float32)
        writer.add_tensor(name, gguf.quants.quantize(values, kinds[kind]), raw_dtype=kinds[kind])

    def norm(name: str) -> None:
        writer.add_tensor(name, (rng.random(HIDDEN) + 0.5).astype(np.float32))

    matrix("token_embd.weight", "Q8_0", WORDS, HIDDEN)
    norm("output_norm.weight")
    if not tied:
        matrix("output.weight", "Q8_0", WORDS, HIDDEN)
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        norm(at + "attn_norm.weight")
        norm(at + "ffn_norm.weight")
        matrix(at + "attn_q.weight", "Q8_0", HIDDEN, HIDDEN)
        matrix(at + "attn_k.weight", "Q4_0", KEYS * HIDDEN // HEADS, HIDDEN)
        matrix(at + "attn_v.weight", "Q8_0", KEYS * HIDDEN // HEADS, HIDDEN)
        matrix(at + "attn_output.weight", "Q4_0", HIDDEN, HIDDEN)
        matrix(at + "ffn_gate.weight", "Q8_0", INNER, HIDDEN)
        matrix(at + "ffn_up.weight", "Q4_0", INNER, HIDDEN)
        matrix(at + "ffn_down.weight", "Q8_0", HIDDEN, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def compare(path: Path, tied: bool) -> None:
    """Logits and what is generated."""
    write(path, tied)
    unpacked = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name).eval()
    packed = load_causal_lm(path)
    assert isinstance(packed.get_input_embeddings(), PackedEmbedding)
    layers = [module for module in packed.modules() if isinstance(module, PackedLinear)]
    assert len(layers) == 7 * LAYERS + 1, len(layers)
    ids = torch.tensor([[1, 5, 9, 30, 2, 7]])
    with torch.no_grad():
        expected, found = unpacked(ids).logits, packed(ids).logits
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-4), (found - expected).abs().max()
    texts = [model.generate(ids, max_new_tokens=8, do_sample=False) for model in (unpacked, packed)]
    assert torch.equal(*texts)


folder = Path(sys.argv[1])
compare(folder / "tiny.gguf", tied=False)
compare(folder / "tied.gguf", tied=True)
print("same")
