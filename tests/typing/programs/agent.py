"""An actor-critic agent: distributions, replay buffers, target networks."""

import copy
from collections import deque
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import (
    Categorical,
    Independent,
    MultivariateNormal,
    Normal,
    TransformedDistribution,
    kl_divergence,
)
from torch.distributions.transforms import AffineTransform, TanhTransform
from torch.nn.parameter import Parameter
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class Transition(NamedTuple):
    state: Tensor
    action: Tensor
    reward: float
    after: Tensor
    done: bool


class Replay:
    def __init__(self, size: int) -> None:
        self.memory: deque[Transition] = deque(maxlen=size)
        self.generator = np.random.default_rng(0)

    def push(self, transition: Transition) -> None:
        self.memory.append(transition)

    def sample(self, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        rows = [self.memory[int(i)] for i in self.generator.integers(len(self.memory), size=count)]
        rewards = torch.as_tensor([row.reward for row in rows], dtype=torch.float32)
        done = torch.from_numpy(np.array([row.done for row in rows])).float()
        return (
            torch.stack([r.state for r in rows]),
            torch.stack([r.action for r in rows]),
            rewards,
            torch.stack([r.after for r in rows]),
            done,
        )


class Policy(nn.Module):
    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 16), nn.Tanh())
        self.mean = nn.Linear(16, actions)
        self.deviation = Parameter(torch.full((actions,), -0.5))
        self.choice = nn.Linear(16, 3)

    def forward(self, state: Tensor) -> tuple[TransformedDistribution, Categorical]:
        h = self.body(state)
        base = Independent(Normal(self.mean(h), self.deviation.exp()), 1)
        return TransformedDistribution(base, [TanhTransform(cache_size=1), AffineTransform(0.0, 2.0)]), Categorical(
            logits=self.choice(h)
        )


class Critic(nn.Sequential):
    def __init__(self, inputs: int) -> None:
        super().__init__(nn.Linear(inputs, 16), nn.ReLU(inplace=True), nn.Linear(16, 1), nn.Flatten(0))


def soft_update(target: nn.Module, source: nn.Module, rate: float) -> None:
    with torch.no_grad():
        for t, s in zip(target.parameters(), source.parameters()):
            t.lerp_(s, rate)


def advantages(rewards: Tensor, values: Tensor, gamma: float = 0.9) -> Tensor:
    out = torch.empty_like(rewards)
    last = torch.tensor(0.0)
    for step in reversed(range(rewards.size(0))):
        last = rewards[step] + gamma * last
        out[step] = last
    out = out - values.detach()
    return (out - out.mean()) / (out.std(unbiased=False) + 1e-6)


def main() -> None:
    torch.manual_seed(0)
    policy, critic = Policy(4, 2), Critic(6)
    target = copy.deepcopy(critic).requires_grad_(False)
    average: AveragedModel = AveragedModel(policy, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizers = {
        "policy": torch.optim.Adam(policy.parameters(), lr=1e-2),
        "critic": torch.optim.Adam(critic.parameters(), lr=1e-2),
    }
    replay = Replay(100)
    state = torch.zeros(4)
    for step in range(40):
        with torch.no_grad():
            action = policy(state)[0].sample()
        after = torch.randn(4)
        replay.push(Transition(state, action, float(action.sum()), after, step % 10 == 9))
        state = after
    for _ in range(5):
        states, actions, rewards, follow, done = replay.sample(16)
        with torch.no_grad():
            next_action = policy(follow)[0].sample()
            wanted = rewards + 0.9 * (1 - done) * target(torch.cat([follow, next_action], dim=-1))
        error = nn.functional.smooth_l1_loss(critic(torch.cat((states, actions), -1)), wanted)
        optimizers["critic"].zero_grad()
        error.backward()
        optimizers["critic"].step()
        continuous, discrete = policy(states)
        chosen = continuous.rsample()
        gain = target(torch.cat([states, chosen], dim=-1)).mean() + 0.01 * discrete.entropy().mean()
        log_probability: Tensor = continuous.log_prob(chosen.clamp(-1.9, 1.9))
        assert log_probability.shape == (16,)
        optimizers["policy"].zero_grad()
        (-gain).backward()
        optimizers["policy"].step()
        average.update_parameters(policy)
        soft_update(target, critic, 0.1)
    a, b = Normal(torch.zeros(2), torch.ones(2)), Normal(torch.ones(2), torch.ones(2))
    print(f"{kl_divergence(a, b).sum():.3f}", MultivariateNormal(torch.zeros(2), torch.eye(2)).sample((3,)).shape)
    print(advantages(torch.tensor([1.0, 0.0, 2.0]), torch.zeros(3)), int(average.n_averaged.item()))


if __name__ == "__main__":
    main()
