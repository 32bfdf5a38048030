"""Continue a prompt with a language model of yours, word by word, and say how fast.

    python -m mindtorch_v2 examples/chat/chat.py --model DIRECTORY --prompt "Once upon a time"
    python -m mindtorch_v2 examples/chat/chat.py --model model.gguf --prompt "Once upon a time"
    python -m mindtorch_v2 examples/chat/chat.py --prompt "Return the"

A directory is one of transformers (safetensors and a tokenizer); of a GGUF file the weights stay packed. Without a model a small
one is trained first, on the docstrings of Python's standard library: it needs no network, and knows little.
"""

import argparse
import ast
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.generation.streamers import BaseStreamer, TextStreamer


class Bytes:
    """The tokenizer of the model that is trained here: a byte is a token."""

    def encode(self, text: str) -> torch.Tensor:
        """The tokens of a text as a batch of one."""
        return torch.tensor([list(text.encode())])


class ByteStreamer(BaseStreamer):
    """Write bytes as they come; the prompt is not repeated."""

    def __init__(self) -> None:
        self.begun = False

    def put(self, value: torch.Tensor) -> None:
        """Write tokens, but for those of the prompt, which come first."""
        if self.begun:
            sys.stdout.buffer.write(bytes(value.reshape(-1).tolist()))
            sys.stdout.buffer.flush()
        self.begun = True

    def end(self) -> None:
        """End the line."""
        print(flush=True)


def docstrings() -> bytes:
    """The docstrings of the standard library's modules, one after the other."""
    found = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
        found += [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
    return "\n\n".join(text for text in found if text).encode("ascii", "ignore")


def trained(steps: int) -> LlamaForCausalLM:
    """A small Llama that has read some docstrings."""
    torch.manual_seed(0)
    text = torch.tensor(list(docstrings()))
    config = LlamaConfig(
        vocab_size=256, hidden_size=128, intermediate_size=352, num_hidden_layers=3, num_attention_heads=4
    )
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        starts = torch.randint(0, len(text) - 129, (8,))
        batch = torch.stack([text[at : at + 129] for at in starts.tolist()])
        loss = model(input_ids=batch[:, :-1], labels=batch[:, :-1]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.2f}", file=sys.stderr)
    return model.eval()


def load(path: str | None, steps: int) -> tuple[Any, Any, Any]:
    """(model, function from a text to tokens, streamer)."""
    if path is None:
        return trained(steps), Bytes().encode, ByteStreamer()
    if path.endswith(".gguf"):
        from mindtorch_v2.gguf import load_causal_lm

        folder, name = str(Path(path).parent), Path(path).name
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        model = load_causal_lm(path)
    else:
        tokenizer = AutoTokenizer.from_pretrained(path)
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16).eval()
    streamer = TextStreamer(tokenizer, skip_prompt=True)
    return model, lambda text: tokenizer(text, return_tensors="pt").input_ids, streamer


def main() -> None:
    """Load or train, then write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a directory of transformers, or a GGUF file; default: train a small one")
    parser.add_argument("--prompt", default="Return the")
    parser.add_argument("--tokens", type=int, default=64, help="how many to write at most; default: 64")
    parser.add_argument("--temperature", type=float, default=0.0, help="0, the default, takes the likeliest")
    parser.add_argument("--steps", type=int, default=300, help="of training, without a model; default: 300")
    options = parser.parse_args()
    model, tokens_of, streamer = load(options.model, options.steps)
    ids = tokens_of(options.prompt)
    sampling = (
        {"do_sample": True, "temperature": options.temperature} if options.temperature > 0 else {"do_sample": False}
    )
    print(options.prompt, end="", flush=True)
    start = time.perf_counter()
    with torch.inference_mode():
        made = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=options.tokens,
            streamer=streamer,
            pad_token_id=0,
            **sampling,
        )
    seconds = time.perf_counter() - start
    count = made.shape[1] - ids.shape[1]
    print(f"{count} tokens in {seconds:.2f} s: {count / seconds:.1f} tokens/s", file=sys.stderr)


if __name__ == "__main__":
    main()
