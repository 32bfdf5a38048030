"""transformers' Trainer and accelerate's Accelerator in the processes that a launcher started; the first prints losses as JSON."""

import json
import sys
import tempfile

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


def accelerated():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randn(32, 4, generator=generator), torch.randint(2, (32,), generator=generator))
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=4, shuffle=True))
    losses = []
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather_for_metrics(loss.detach().reshape(1)).mean().item())
    return losses, accelerator.num_processes


def trained():
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(**sizes, intermediate_size=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    ids = torch.randint(50, (64, 8), generator=torch.Generator().manual_seed(1))
    data = [{"input_ids": row, "labels": row.sum() % 2} for row in ids]
    with tempfile.TemporaryDirectory() as place:
        arguments = TrainingArguments(
            place,
            per_device_train_batch_size=4,
            per_device_eval_batch_size=4,
            num_train_epochs=1,
            learning_rate=1e-3,
            logging_steps=1,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            eval_strategy="epoch",
            disable_tqdm=True,
        )
        trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=data, eval_dataset=data[:30])
        trainer.train()
    said = [float(entry.get("loss", entry.get("eval_loss", -1))) for entry in trainer.state.log_history]
    return said, arguments.world_size


found = {"accelerate": accelerated(), "trainer": trained()}
if torch.distributed.get_rank() == 0:
    sys.stdout.write(json.dumps(found) + "\n")
torch.distributed.destroy_process_group()
