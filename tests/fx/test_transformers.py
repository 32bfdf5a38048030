"""Models of transformers, unmodified, as captured graphs."""

import subprocess
import sys

import pytest

pytest.importorskip("transformers")

PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import mindtorch_v2
mindtorch_v2.as_torch()
import torch
import transformers as tr
from torch.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.graph import verify

torch.manual_seed(0)
small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37)
ids, mask = torch.randint(0, 99, (2, 7)), torch.ones(2, 7, dtype=torch.long)
mask[0, 5:] = 0
name = sys.argv[1]
if name == "bert":
    model, inputs = tr.BertModel(tr.BertConfig(vocab_size=99, **small)), {"input_ids": ids, "attention_mask": mask}
elif name == "gpt2":
    config = tr.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, use_cache=False)
    model, inputs = tr.GPT2LMHeadModel(config), {"input_ids": ids}
elif name == "llama":
    config = tr.LlamaConfig(vocab_size=99, num_key_value_heads=2, use_cache=False, **small)
    model, inputs = tr.LlamaForCausalLM(config), {"input_ids": ids}
else:
    model = tr.ViTModel(tr.ViTConfig(image_size=16, patch_size=4, **small))
    inputs = {"pixel_values": torch.randn(2, 3, 16, 16)}
model.eval()
run = lambda *values: model(**dict(zip(inputs, values)))[0]
with torch.no_grad():
    module = make_fx(run, tracing_mode="fake", _allow_non_fake_inputs=True)(*inputs.values())
    verify(module, tuple(inputs.values()))
    other = [torch.randn(v.shape) if v.is_floating_point() else v if v is mask else (v + 1) % 99 for v in inputs.values()]
    assert torch.equal(module(*other), run(*other))
print(len(module.graph.nodes) > 50)
"""


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "vit"])
def test_model_is_captured(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "True"
