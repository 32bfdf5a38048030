"""A convolutional network over pictures made here, with a momentum schedule and a confusion matrix."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=(3, 3), stride=2)
        self.norm = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout2d(0.25)
        self.fc = nn.Linear(16 * 1 * 1, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.drop(self.pool(F.relu(self.norm(self.conv2(x)))))
        x = torch.flatten(x, 1)
        return F.log_softmax(self.fc(x), dim=1)


def pictures(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    labels = torch.randint(0, 3, (count,))
    x = 0.1 * torch.rand(count, 1, 12, 12)
    for i, label in enumerate(labels.tolist()):
        x[i, 0, 4 * label : 4 * label + 4] += 1.0
    return x, labels


def main() -> None:
    torch.manual_seed(1)
    loader = DataLoader(TensorDataset(*pictures(96)), batch_size=16, shuffle=True, num_workers=0)
    net = Net()
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    criterion = nn.NLLLoss()
    for epoch in range(3):
        running = 0.0
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(net(inputs), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
        schedule.step()
        print(epoch, round(running, 3), optimizer.param_groups[0]["lr"])
    net.eval()
    x, labels = pictures(60)
    with torch.inference_mode():
        values, predicted = torch.max(net(x), dim=1)
    confusion = torch.zeros(3, 3, dtype=torch.int64)
    confusion.index_put_((labels, predicted), torch.ones_like(labels), accumulate=True)
    print(confusion.sum().item(), values.shape, f"{(predicted == labels).float().mean():.2f}")


if __name__ == "__main__":
    main()
