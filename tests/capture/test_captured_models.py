"""Models of transformers, unmodified, captured whole: in training and evaluation, and with batches of other sizes."""

import subprocess
import sys

import pytest

pytest.importorskip("transformers")

PROGRAM = """
import copy, sys, warnings
warnings.simplefilter("ignore")
import mindtorch_v2
mindtorch_v2.as_torch()
import torch
import transformers as tr
from mindtorch_v2._capture import capture

torch.manual_seed(0)
small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37)
name = sys.argv[1]
def images(n, side):
    return dict(pixel_values=torch.randn(n, 3, side, side), labels=torch.arange(n) % 3)
def words(n, labels):
    ids, mask = torch.randint(0, 99, (n, 7)), torch.ones(n, 7, dtype=torch.long)
    mask[0, 5:] = 0
    return dict(input_ids=ids, attention_mask=mask, labels=torch.arange(n) % 2 if labels else ids)
if name == "bert":
    model, inputs = tr.BertForSequenceClassification(tr.BertConfig(vocab_size=99, **small)), lambda n: words(n, True)
elif name == "gpt2":
    model = tr.GPT2LMHeadModel(tr.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
    inputs = lambda n: words(n, False)
elif name == "llama":
    model = tr.LlamaForCausalLM(tr.LlamaConfig(vocab_size=99, num_key_value_heads=2, **small))
    inputs = lambda n: words(n, False)
elif name == "vit":
    model = tr.ViTForImageClassification(tr.ViTConfig(image_size=16, patch_size=4, num_labels=3, **small))
    inputs = lambda n: images(n, 16)
else:
    config = tr.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=3)
    model, inputs = tr.ResNetForImageClassification(config), lambda n: images(n, 32)
inputs(2)
model.config.problem_type = "single_label_classification"  # what the first call would set
plain = copy.deepcopy(model)
captures = []

def call(kwargs):
    for each in captures:
        if each.guards.check((), kwargs):
            return each.run(each.graph, (), kwargs)
    made = capture(model, (), kwargs, previous=captures)
    assert made.guards.check((), kwargs), made.guards.failures((), kwargs)
    captures.append(made)
    return made.run(made.graph, (), kwargs)

def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        [same(a[k], b[k]) for k in a]
    elif isinstance(a, (list, tuple)):
        [same(x, y) for x, y in zip(a, b, strict=True)]

model.train(), plain.train()
steps = [torch.optim.AdamW(m.parameters(), lr=1e-3) for m in (model, plain)]
for seed, n in enumerate((2, 3, 5, 2, 4)):
    batch = inputs(n)
    losses = []
    for run, step in ((call, steps[0]), (lambda kwargs: plain(**kwargs), steps[1])):
        torch.manual_seed(seed)
        out = run(batch)
        out.loss.backward()
        step.step()
        step.zero_grad()
        losses.append(out)
    same(*losses)
print(len(captures))
model.eval(), plain.eval()
with torch.no_grad():
    for n in (2, 6):
        batch = inputs(n)
        same(call(batch), plain(**batch))
    same(call({k: v for k, v in batch.items() if k != "labels"}), plain(**{k: v for k, v in batch.items() if k != "labels"}))
"""


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "vit", "resnet"])
def test_model(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "2"  # one for the first batch, one for all sizes of it
