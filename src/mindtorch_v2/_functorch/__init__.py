"""Ahead-of-time autograd: a program's forward and backward as graphs of operators, for back ends to compile."""
