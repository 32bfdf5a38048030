"""Made-up functions with state of Python's (lists, dictionaries, variables outside), captured whole or with breaks, beside the same run plainly.

    python -m fuzz.captured [--programs 1000] [--seed 0] [--survey]

Each function is called a few times, with other numbers and sizes in between, so that guards are asked; results, exceptions, gradients and
all that it may have changed are compared. One that `fullgraph=True` refuses has changed nothing. It ends at the first
difference, with the shortest program that shows it; `--survey` goes on, and lists all.
"""
