"""Tracing of programs whose assertions shall stay: they are rewritten to calls before they are traced."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import mindtorch_v2 as torch
from mindtorch_v2.fx import Graph, Tracer
from mindtorch_v2.fx.annotate import annotate

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Rewrite a function: `assert a, b` becomes a call of `torch._assert`, and typed assignments calls of `annotate`.

    >>> import ast
    >>> print(ast.unparse(ast.fix_missing_locations(AST_Rewriter().visit(ast.parse("assert a, 'no'")))))
    torch._assert(a, 'no')
    """

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The function, rewritten; it shares names and closure with the old one. OSError if its source cannot be read."""
        lines, _ = inspect.getsourcelines(fn)
        indent = lines[0][: -len(lines[0].lstrip())]  # texts inside may be indented less
        source = "".join(line.removeprefix(indent) for line in lines)
        tree = ast.fix_missing_locations(self.visit(ast.parse(source)))
        globals_ = copy.copy(fn.__globals__)
        globals_.update({"torch": torch, "_annotate": annotate})
        before = set(globals_)
        exec(compile(tree, "", "exec"), globals_)
        made = next(
            value for name, value in globals_.items() if name not in before or name == fn.__name__ and value is not fn
        )
        again = FunctionType(
            made.__code__, globals_, fn.__name__, fn.__defaults__, fn.__closure__ if made.__code__.co_freevars else None
        )
        return cast(FunctionType, functools.update_wrapper(again, fn))

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        call = ast.parse("torch._assert()", mode="eval").body
        call = cast(ast.Call, call)
        call.args = [node.test, node.msg or ast.Constant("")]
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        call = ast.Call(ast.Name("_annotate", ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


class RewritingTracer(Tracer):
    """A tracer that rewrites a function or `forward`, and that of the modules below, before it traces them.

    >>> tracer = RewritingTracer()
    >>> isinstance(tracer, Tracer)
    True
    """

    def trace(self, root: torch.nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: torch.nn.Module | Callable[..., Any]) -> torch.nn.Module | Callable[..., Any]:
    if not isinstance(fn, torch.nn.Module):
        return AST_Rewriter().rewrite(cast(FunctionType, fn))

    def rewritten(module: torch.nn.Module) -> torch.nn.Module:
        class Rewritten(type(module)):  # type: ignore[misc]  # (the class of this module, with another forward)
            def __init__(self, orig: torch.nn.Module) -> None:
                torch.nn.Module.__init__(self)
                self.__dict__.update(copy.copy(orig.__dict__))
                self._modules = {
                    name: None if child is None else rewritten(child) for name, child in orig._modules.items()
                }

        kind = type(module)
        if not kind.__module__.startswith((torch.__name__, "torch.nn")):
            Rewritten.forward = AST_Rewriter().rewrite(cast(FunctionType, kind.forward))
            return Rewritten(module)
        return module

    return rewritten(fn)
