"""Train one model of which the first and the last layer are MindSpore's and the middle is transformers' BERT on this framework.

    python -m mindtorch_v2 examples/mindspore_mixed/train.py            60 steps, half a minute; prints the loss

Each sequence of numbers belongs to the class of its largest number. A MindSpore network makes features of the numbers, BERT
reads them, a MindSpore layer names the class. Memory is shared at each crossing; gradients do not cross by themselves, so
that each side hands on those of its inputs.
"""

import argparse
import sys

import mindspore as ms
import numpy as np
import torch
import transformers

CLASSES, LENGTH, WIDTH, BATCH = 4, 12, 32, 32


def batch(random):
    """Sequences in which one number of 0 to CLASSES - 1 stands among noise, and that number."""
    labels = random.integers(0, CLASSES, BATCH)
    numbers = random.normal(0, 0.3, (BATCH, LENGTH, CLASSES)).astype(np.float32)
    numbers[np.arange(BATCH), random.integers(0, LENGTH, BATCH), labels] += 3
    return ms.Tensor(numbers.reshape(BATCH * LENGTH, CLASSES)), ms.Tensor(labels.astype(np.int32))


def main():
    """Train; the status is 1 if the loss did not fall."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps

    random = np.random.default_rng(0)
    ms.set_seed(0)
    torch.manual_seed(0)
    features = ms.nn.SequentialCell(ms.nn.Dense(CLASSES, WIDTH), ms.nn.Tanh())
    head = ms.nn.Dense(WIDTH, CLASSES)
    config = transformers.BertConfig(
        hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, hidden_dropout_prob=0.0
    )
    bert = transformers.BertModel(config)
    optimizer = torch.optim.AdamW(bert.parameters(), lr=3e-3)
    first, last = (ms.nn.Adam(cell.trainable_params(), 3e-3) for cell in (features, head))

    def loss_of(pooled, labels):
        return ms.ops.cross_entropy(head(pooled), labels)

    head_step = ms.value_and_grad(loss_of, grad_position=0, weights=head.trainable_params())
    # The slope of this in a weight is that of the loss, for what the loss says of the features.
    features_step = ms.grad(lambda x, slope: (features(x) * slope).sum(), None, weights=features.trainable_params())

    losses = []
    for step in range(steps):
        numbers, labels = batch(random)
        made = torch.from_mindspore(features(numbers)).view(BATCH, LENGTH, WIDTH).requires_grad_()
        pooled = bert(inputs_embeds=made).pooler_output
        loss, (slope, head_slopes) = head_step(pooled.detach().to_mindspore(), labels)
        pooled.backward(torch.from_mindspore(slope))
        optimizer.step()
        optimizer.zero_grad()
        last(head_slopes)
        first(features_step(numbers, made.grad.view(BATCH * LENGTH, WIDTH).to_mindspore()))
        losses.append(float(loss.asnumpy()))
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:3}  loss {losses[-1]:.4f}")
    return int(losses[-1] >= losses[0])


if __name__ == "__main__":
    sys.exit(main())
