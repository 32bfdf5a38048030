"""Steps that a model is put through: each gives numbers, and is compared on its own."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

from . import small

STEPS = ("weights", "forward", "gradient", "training", "attention", "bfloat16", "saved", "generate")


def model_classes() -> dict[str, str]:
    """The class of each family that is tried, by the family's name: the one with most around it."""
    from transformers.models.auto import modeling_auto

    chosen: dict[str, str] = {}
    for kind in (
        "MODEL_MAPPING_NAMES", "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES", "MODEL_FOR_PRETRAINING_MAPPING_NAMES",
        "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    ):  # fmt: skip
        for family, name in getattr(modeling_auto, kind).items():
            chosen[family] = name if isinstance(name, str) else name[0]
    return dict(sorted(chosen.items()))


def _numbers(value: Any) -> list[Any]:
    """All floating-point and whole numbers in what a model returned, one array a tensor."""
    import torch

    if isinstance(value, torch.Tensor):
        value = value.detach()
        return [value.double().numpy() if value.is_floating_point() else value.numpy()]
    if isinstance(value, dict):
        return [each for key in value for each in _numbers(value[key])]
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _numbers(item)]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value]
    return []


def _made(model_class: Any, **kwargs: Any) -> Any:
    import torch

    torch.manual_seed(0)
    config = small.configuration(model_class)
    model = model_class._from_config(config, **kwargs)
    return model.eval()


def _loss(output: Any) -> Any:
    """A number that all floating-point results have a part in."""
    import torch

    parts = []

    def add(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            if value.is_floating_point() and value.requires_grad:
                # Not the mean square, which is the same for all results of a layer norm.
                weights = torch.arange(value.numel()).cos().reshape(value.shape)
                parts.append((value.float().nan_to_num(0, 0, 0) * weights).mean())
        elif isinstance(value, dict):
            for each in value.values():
                add(each)
        elif isinstance(value, (list, tuple)):
            for each in value:
                add(each)

    add(output)
    return sum(parts)


def steps(name: str) -> Iterator[tuple[str, Any]]:
    """The steps of a class, each with its numbers or the exception that it ended in; nothing after weights or forward failed."""
    import torch
    import transformers

    warnings.simplefilter("ignore")
    model_class = getattr(transformers, name)

    def weights() -> Any:
        return [(key, _numbers(value)) for key, value in sorted(model.state_dict().items())]

    def forward() -> Any:
        with torch.no_grad():
            return _numbers(model(**given))

    def gradient() -> Any:
        model.zero_grad()
        _loss(model(**given)).backward()
        return [
            (key, _numbers(value.grad)) for key, value in sorted(model.named_parameters()) if value.grad is not None
        ]

    def training() -> Any:
        model.train()
        torch.manual_seed(2)
        try:
            return _numbers(_loss(model(**given)))
        finally:
            model.eval()

    def attention() -> Any:
        other = _made(model_class, attn_implementation="eager")
        with torch.no_grad():
            return _numbers(other(**given))

    def bfloat16() -> Any:
        half = _made(model_class).to(torch.bfloat16)
        cast = {k: v.to(torch.bfloat16) if getattr(v, "is_floating_point", bool)() else v for k, v in given.items()}
        with torch.no_grad():
            return _numbers(half(**cast))

    def saved() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = model_class.from_pretrained(folder)
        with torch.no_grad():
            return _numbers(again(**given))

    def generate() -> Any:
        kwargs = {key: value for key, value in given.items() if key != "decoder_input_ids"}
        found = [model.generate(**kwargs, max_new_tokens=4, min_new_tokens=4, do_sample=False)]
        torch.manual_seed(3)
        found.append(model.generate(**kwargs, max_new_tokens=4, min_new_tokens=4, do_sample=True, top_k=20))
        found.append(model.generate(**kwargs, max_new_tokens=3, min_new_tokens=3, do_sample=False, num_beams=2))
        return _numbers(found)

    try:
        model = _made(model_class)
        given = small.inputs(torch, model)
        if sum(p.numel() for p in model.parameters()) > 30_000_000:
            raise ValueError("too large a model: a size has no name that is known")
    except Exception as error:  # noqa: BLE001  (whatever it is, it is compared)
        yield "weights", error
        return
    for step in (weights, forward, gradient, training, attention, bfloat16, saved, generate):
        if step is generate and not (hasattr(model, "generate") and model.can_generate()):
            continue
        try:
            found = step()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is compared)
            yield step.__name__, error
            if step in (weights, forward):
                return
        else:
            yield step.__name__, found
