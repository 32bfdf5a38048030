"""The learning-rate schedules behind `torch.optim.lr_scheduler`, by kind."""
