"""A language model of a billion weights writes words: each word reads every weight once, and memory decides.

    python benchmarks/decode.py                              bfloat16, Q8_0, Q4_0, Q4_K on two threads
    python benchmarks/decode.py --formats Q4_0 --threads 1

The model has TinyLlama's sizes (1.1 billion weights) and random weights. transformers' `generate` writes on this package, on
PyTorch (bfloat16), and llama.cpp (the package `llama-cpp-python`) reads the same GGUF file; what is not installed is left out, and
said to be. Each engine is a process of its own, and rounds take turns. Beside the words a second stands what that is of the rate at
which this machine read memory in the same round, and of a prompt of 512 words the share of a layer's product in bfloat16.
"""

import argparse
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turns import serve, take_turns

WIDTH, INNER, LAYERS, HEADS, GROUPS, WORDS = 2048, 5632, 22, 32, 4, 32000
PROMPT, WRITTEN = 512, 32
BITS = {"bfloat16": 16, "Q8_0": 8.5, "Q4_0": 4.5, "Q4_K": 4.5}
FORMATS = tuple(BITS)
_HEAD = WIDTH // HEADS
_MATRICES = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (GROUPS * _HEAD, WIDTH),
    "attn_v": (GROUPS * _HEAD, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (INNER, WIDTH),
    "ffn_up": (INNER, WIDTH),
    "ffn_down": (WIDTH, INNER),
}
# Weights that a word meets, and operations for a word of a prompt, of which the last word alone meets the last matrix.
PRODUCT = sum(rows * columns for rows, columns in _MATRICES.values()) * LAYERS + WORDS * WIDTH
_PROMPT_WORK = 2 * (PRODUCT - WORDS * WIDTH)


def main() -> int:
    """Measure and print a line for each format and engine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", nargs=2, metavar=("ENGINE", "FORMAT"), help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(lambda: _prepared(options.serve[0], options.serve[1], options))
    print(f"{options.threads} thread(s), {PRODUCT / 1e9:.2f} billion weights, medians of {options.rounds} rounds")
    print("| format | engine | words/s | of memory's rate | prompt, words/s | of the product's rate |")
    print("|---|---|--:|--:|--:|--:|", flush=True)
    for format in options.formats:
        _one_format(format, options)
    return 0


def _one_format(format: str, options: argparse.Namespace) -> None:
    wanted = {"mindtorch_v2": "mindtorch_v2", "PyTorch": "torch", "llama.cpp": "llama_cpp"}
    del wanted["llama.cpp" if format == "bfloat16" else "PyTorch"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        if format != "bfloat16":
            write_model(path, format)
        command = [sys.executable, __file__, "--threads", str(options.threads), "--file", str(path)]
        there = {engine: module for engine, module in wanted.items() if importlib.util.find_spec(module)}
        commands = {engine: [*command, "--serve", engine, format] for engine in there}
        commands["rates"] = [*command, "--serve", "rates", format]
        found = take_turns(commands, options.rounds)
    rates = found.pop("rates")
    for engine, rounds in found.items():
        if not rounds:
            print(f"| {format} | {engine} | failed | | | |", flush=True)
            continue
        words, prompt = (statistics.median(column) for column in zip(*rounds))
        memory = statistics.median(w * PRODUCT * BITS[format] / 8 / rate for (w, _), (rate, _) in zip(rounds, rates))
        product = statistics.median(p * _PROMPT_WORK / rate for (_, p), (_, rate) in zip(rounds, rates))
        print(f"| {format} | {engine} | {words:.1f} | {memory:.0%} | {prompt:.0f} | {product:.0%} |", flush=True)
    for engine in wanted.keys() - there.keys():
        print(f"| {format} | {engine} | not installed | | | |", flush=True)


def write_model(path: Path, format: str) -> None:
    """A GGUF file of a Llama with random weights in blocks of `format`."""
    import gguf
    import numpy

    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_vocab_size(WORDS)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(GROUPS)
    writer.add_rope_dimension_count(_HEAD)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("none")
    kind = gguf.GGMLQuantizationType[format]
    source = numpy.random.default_rng(0)
    block, size = gguf.GGML_QUANT_SIZES[kind]

    def add(name: str, rows: int, columns: int) -> None:
        # Blocks of random bytes whose scales are small numbers: what the weights say does not matter to the time.
        blocks = source.integers(0, 256, (rows * columns // block, size), dtype=numpy.uint8)
        at = [0, 2] if format == "Q4_K" else [0]
        for place in at:
            blocks[:, place : place + 2] = numpy.full((1,), 1e-3, numpy.float16).view(numpy.uint8)
        writer.add_tensor(f"{name}.weight", blocks.reshape(rows, -1), raw_dtype=kind)

    add("token_embd", WORDS, WIDTH)
    add("output", WORDS, WIDTH)
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", numpy.ones(WIDTH, numpy.float32))
        for name, sizes in _MATRICES.items():
            add(f"blk.{layer}.{name}", *sizes)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _prepared(engine: str, format: str, options: argparse.Namespace) -> Callable[[], Any]:
    """The measure of (words a second, words of the prompt a second), or the machine's rates."""
    if engine == "llama.cpp":
        return _llama_cpp(options)
    if engine != "PyTorch":
        import mindtorch_v2

        mindtorch_v2.as_torch()
    import torch

    torch.set_num_threads(options.threads)
    if engine == "rates":
        return _rates(torch)
    return _generate(torch, format, options)


def _rates(torch: Any) -> Callable[[], tuple[float, float]]:
    """Bytes a second that are read, and operations a second of a product as a prompt needs them."""
    long = torch.ones(1 << 28)
    x, weight = torch.randn(PROMPT, WIDTH).bfloat16(), torch.randn(INNER, WIDTH).bfloat16()

    def best(call: Callable[[], Any], times: int) -> float:
        taken = []
        for _ in range(times):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
        return min(taken)

    def measure() -> tuple[float, float]:
        read = 4 * long.numel() / best(long.sum, 5)
        return read, 2 * PROMPT * WIDTH * INNER / best(lambda: torch.nn.functional.linear(x, weight), 20)

    return measure


def _generate(torch: Any, format: str, options: argparse.Namespace) -> Callable[[], tuple[float, float]]:
    """transformers' own `generate`, on whichever package is `torch`."""
    if format == "bfloat16":
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            hidden_size=WIDTH,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=GROUPS,
            vocab_size=WORDS,
            dtype="bfloat16",
        )
        torch.set_default_dtype(torch.bfloat16)
        model: Any = LlamaForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    else:
        from mindtorch_v2.gguf import load_causal_lm

        model = load_causal_lm(options.file, dtype=torch.bfloat16)
    prompt = torch.arange(1, PROMPT + 1).reshape(1, -1)
    settings = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}

    def seconds(words: Any, count: int) -> float:
        start = time.perf_counter()
        made = model.generate(
            words, attention_mask=torch.ones_like(words), min_new_tokens=count, max_new_tokens=count, **settings
        )
        taken = time.perf_counter() - start
        assert made.shape[1] == words.shape[1] + count
        return taken

    def measure() -> tuple[float, float]:
        short = prompt[:, :8]
        return WRITTEN / (seconds(short, WRITTEN + 1) - seconds(short, 1)), PROMPT / seconds(prompt, 1)

    measure()
    return measure


def _llama_cpp(options: argparse.Namespace) -> Callable[[], tuple[float, float]]:
    from llama_cpp import Llama

    model = Llama(
        options.file,
        n_ctx=PROMPT + WRITTEN + 8,
        n_batch=PROMPT,
        n_ubatch=PROMPT,
        n_threads=options.threads,
        n_threads_batch=options.threads,
        verbose=False,
    )

    def measure() -> tuple[float, float]:
        model.reset()
        model.eval(list(range(1, 9)))
        start = time.perf_counter()
        for word in range(WRITTEN):
            model.eval([word + 10])
        middle = time.perf_counter()
        model.reset()
        begin = time.perf_counter()
        model.eval(list(range(1, PROMPT + 1)))
        return WRITTEN / (middle - start), PROMPT / (time.perf_counter() - begin)

    measure()
    return measure


if __name__ == "__main__":
    sys.exit(main())
