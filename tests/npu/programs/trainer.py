"""transformers' Trainer with torch_npu's fused AdamW: six steps at once, and three, a checkpoint, and three more from there.

Prints, as JSON, the device, the optimizer's class, the losses, and whether the weights are the same bit for bit.
"""

import json
import sys
import tempfile

import torch
import transformers

_CONFIG = transformers.LlamaConfig(
    vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
    max_position_embeddings=32, attention_dropout=0.1,
)  # fmt: skip


class Words(torch.utils.data.Dataset):
    """Rows of numbers that a seed decides."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(1)
        self.rows = torch.randint(0, 50, (24, 12), generator=generator)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict:
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def train(folder: str, resume: bool = False) -> tuple[transformers.Trainer, list[float]]:
    """Six steps, with a checkpoint after the third; or those after the checkpoint."""
    transformers.set_seed(3)
    arguments = transformers.TrainingArguments(
        output_dir=folder, per_device_train_batch_size=4, max_steps=6, save_steps=3, logging_steps=1, report_to=[],
        optim="adamw_torch_npu_fused", learning_rate=1e-2, save_strategy="steps", disable_tqdm=True, bf16=False,
    )  # fmt: skip
    trainer = transformers.Trainer(transformers.LlamaForCausalLM(_CONFIG), arguments, train_dataset=Words())
    trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-3" if resume else None)
    return trainer, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def main() -> None:
    """Train, resume, compare."""
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        whole, losses = train(folder)
        weights = {name: value.cpu().clone() for name, value in whole.model.state_dict().items()}
        again, later = train(folder, resume=True)
        same = all(value.cpu().equal(weights[name]) for name, value in again.model.state_dict().items())
    optimizer = getattr(whole.optimizer, "optimizer", whole.optimizer)
    found = {
        "device": str(whole.args.device), "optimizer": type(optimizer).__name__, "losses": losses, "later": later[-3:],
        "same": same,
    }  # fmt: skip
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
