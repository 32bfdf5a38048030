"""Whole models, eager and compiled, in inference and in training (forward and backward): what a user would otherwise run by
PyTorch's compiler or an inference engine.

Not among the groups that are measured by default: PyTorch's compiler takes a minute or two for a model.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.models import resnet50
from cases.registry import Case, add

GROUP, STEPS = "inference", "steps"
Model = tuple[Any, dict[str, Any]]  # a model in evaluation mode, and what it is called with


def _bert(torch: ModuleType) -> Model:
    from transformers import BertConfig, BertModel

    words = torch.randint(0, 30000, (8, 128))
    return BertModel(BertConfig()), {"input_ids": words, "attention_mask": torch.ones_like(words)}


def _gpt2(torch: ModuleType) -> Model:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config()), {"input_ids": torch.randint(0, 50000, (2, 128)), "use_cache": False}


def _llama(torch: ModuleType) -> Model:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=8,
        num_attention_heads=12,
        num_key_value_heads=4,
        vocab_size=8000,
    )
    return LlamaForCausalLM(config), {"input_ids": torch.randint(0, 8000, (2, 128)), "use_cache": False}


def _vit(torch: ModuleType) -> Model:
    from transformers import ViTConfig, ViTModel

    return ViTModel(ViTConfig()), {"pixel_values": torch.randn(4, 3, 224, 224)}


def _resnet(torch: ModuleType) -> Model:
    return resnet50(torch), {"input": torch.randn(4, 3, 224, 224)}


def _unet_block(torch: ModuleType) -> Model:
    """A residual block of a diffusion model's UNet with its attention, 320 channels at 32 x 32."""
    nn: Any = torch.nn

    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.GroupNorm(32, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, 1, 1))
            self.time = nn.Sequential(nn.SiLU(), nn.Linear(4 * channels, channels))
            self.second = nn.Sequential(nn.GroupNorm(32, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, 1, 1))
            self.norm = nn.LayerNorm(channels)
            self.attention = nn.MultiheadAttention(channels, 8, batch_first=True)

        def forward(self, x: Any, time: Any) -> Any:
            x = x + self.second(self.first(x) + self.time(time)[:, :, None, None])
            rows = self.norm(x.flatten(2).transpose(1, 2))
            rows = self.attention(rows, rows, rows, need_weights=False)[0]
            return x + rows.transpose(1, 2).reshape(x.shape)

    return Block(320), {"x": torch.randn(2, 320, 32, 32), "time": torch.randn(2, 1280)}


MODELS: dict[str, Callable[[ModuleType], Model]] = {
    "BERT-base 8x128": _bert,
    "GPT-2 2x128": _gpt2,
    "Llama of 8 layers 2x128": _llama,
    "ViT-base 4x224x224": _vit,
    "ResNet-50 4x224x224": _resnet,
    "UNet block 2x320x32x32": _unet_block,
}


def made(torch: ModuleType, name: str) -> Model:
    """One of the models, with the same random weights and inputs each time."""
    torch.manual_seed(0)
    model, inputs = MODELS[name](torch)
    return model.eval(), inputs


def runner(torch: ModuleType, function: Callable[..., Any], inputs: dict[str, Any], calls: int) -> Callable[[], Any]:
    """A function that runs a model without gradients; called so often before it is given out."""

    def call() -> Any:
        with torch.no_grad():
            return function(**inputs)

    for _ in range(calls):
        call()
    return call


def _prepare(name: str, compiled: bool) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        model, inputs = made(torch, name)
        # Our compiler looks at its first calls.
        return runner(torch, torch.compile(model) if compiled else model, inputs, 20 if compiled else 1)

    return prepare


def _prepare_step(name: str, compiled: bool) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        model, inputs = made(torch, name)
        model.train()
        function = torch.compile(model) if compiled else model

        def step() -> None:
            result = function(**inputs)
            model.zero_grad()
            (result if isinstance(result, torch.Tensor) else result[0]).square().mean().backward()

        for _ in range(20 if compiled else 1):
            step()
        return step

    return prepare


for _name in MODELS:
    for _mode in ("eager", "compiled"):
        add(Case(f"{_name} | {_mode}", GROUP, _prepare(_name, _mode == "compiled"), slow=True))
        add(Case(f"{_name}, a step | {_mode}", STEPS, _prepare_step(_name, _mode == "compiled"), slow=True))
