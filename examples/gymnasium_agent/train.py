"""An agent learns to balance a pole by the policy gradient with a baseline.

pip install gymnasium
python -m mindtorch_v2 examples/gymnasium_agent/train.py
"""

import argparse
import pathlib

import gymnasium
import matplotlib
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

matplotlib.use("Agg")
from matplotlib import pyplot


class Agent(nn.Module):
    """Logits of what to do, and the value that is expected of a state: (4,) -> (2,) logits and a value."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh())
        self.actions, self.value = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(state)
        return self.actions(hidden), self.value(hidden).squeeze(-1)


def episode(agent: Agent, world: gymnasium.Env, seed: int) -> tuple[Tensor, Tensor, Tensor, list[float]]:
    """One game: log-probabilities of what was done, values, entropies, rewards."""
    state, _ = world.reset(seed=seed)
    chosen, values, entropies, rewards = [], [], [], []
    over = False
    while not over:
        logits, value = agent(torch.as_tensor(state, dtype=torch.float32))
        policy = Categorical(logits=logits)
        action = policy.sample()
        state, reward, ended, stopped, _ = world.step(int(action))
        over = ended or stopped
        chosen.append(policy.log_prob(action))
        values.append(value)
        entropies.append(policy.entropy())
        rewards.append(float(reward))
    return torch.stack(chosen), torch.stack(values), torch.stack(entropies), rewards


def returns(rewards: list[float], discount: float = 0.99) -> Tensor:
    """Sums of what follows each moment, later rewards worth less."""
    out, ahead = [], 0.0
    for reward in reversed(rewards):
        ahead = reward + discount * ahead
        out.append(ahead)
    return torch.tensor(out[::-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/gymnasium_agent"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    world, agent = gymnasium.make("CartPole-v1"), Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=5e-3)
    lengths = []
    for number in range(chosen.episodes):
        chances, values, entropies, rewards = episode(agent, world, number)
        gained = returns(rewards)
        advantage = gained - values.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        loss = -(chances * advantage).mean() + 0.01 * (values - gained).square().mean() - 0.01 * entropies.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
        optimizer.step()
        lengths.append(len(rewards))
        if number % 50 == 49:
            print(f"episode {number + 1}: {sum(lengths[-50:]) / 50:.0f} steps on average", flush=True)
    mean = torch.tensor(lengths, dtype=torch.float32).unfold(0, min(20, len(lengths)), 1).mean(dim=1)
    figure, place = pyplot.subplots(figsize=(7, 4))
    place.plot(lengths, alpha=0.3, label="episode")
    place.plot(range(len(lengths) - len(mean), len(lengths)), mean.tolist(), label="mean of 20")
    place.set(xlabel="episode", ylabel="steps until the pole falls (500 at most)", title="learning to balance")
    place.legend()
    figure.savefig(chosen.out / "lengths.png", dpi=100)
    print(f"the last 20 episodes: {mean[-1].item():.0f} steps on average; {chosen.out / 'lengths.png'}")


if __name__ == "__main__":
    main()
