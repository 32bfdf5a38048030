"""Faults injected everywhere: each allocation, write, thread start and so on of a program fails once, and the process has to survive."""
