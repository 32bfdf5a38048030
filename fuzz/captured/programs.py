"""The text of a made-up function, statement by statement: a tree, so that parts of it can be left out."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEAD = """
import collections
total = 0
seen = []
class Box:
    def __init__(self, value): self.value, self.log = value, []
    def bump(self, by): self.value = self.value + by; return self.value
    def __len__(self): return len(self.log)
class Refused(Exception): pass
def twice(value): return value * 2
def halves(value):
    for part in (value * 0.5, value): yield part
def apply(function, *values, **named): return function(*values, **named)
def make():
    count, last = 0, None
    def program(x, y, n, tensors, numbers, table, counts, marks, line, box):
        global total
        nonlocal count, last
        t = x
"""
TAIL = """
        return t
    return program, lambda: (count, last)
"""


@dataclass
class Statement:
    """One statement: its line, and the blocks within it, each begun by a line of its own after the first."""

    line: str
    blocks: list[tuple[str, list[Statement]]] = field(default_factory=list)

    def text(self, indent: str) -> str:
        """Its text, all lines begun by `indent`."""
        if not self.blocks:
            return f"{indent}{self.line}\n"
        lines = []
        for head, body in self.blocks:
            lines.append(f"{indent}{head}\n")
            lines.extend(each.text(indent + "    ") for each in body)
            if not body:
                lines.append(f"{indent}    pass\n")
        return "".join(lines)


def source(body: list[Statement]) -> str:
    """The whole program."""
    return HEAD + "".join(each.text("        ") for each in body) + TAIL


class Writer:
    """Draws statements."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.names = 0

    def body(self, count: int, depth: int = 0, loop: bool = False) -> list[Statement]:
        """So many statements."""
        return [self.statement(depth, loop) for _ in range(count)]

    # ---- values ----

    def tensor(self, depth: int = 0) -> str:
        """A tensor, most often of the shape of `x`."""
        one = self.draw.choice(
            ["x", "y", "t", "t", "t", "x * 1", "tensors[0]", "tensors[-1]", "table['a']", "line[0]", "box.value", "twice(t)"]
        )
        if depth > 1:
            return one
        return self.draw.choice(
            [
                one, one, f"({one} + {self.number(1)})", f"({one} * {self.tensor(depth + 1)})", f"{one}.clone()", f"{one}.sin()",
                f"apply(twice, {one})", f"(lambda v: v - {self.number(1)})({one})", f"sum(halves({one}))",
                f"table.get({self.key()}, {one})", f"[{one}, t][{self.draw.choice(['0', '-1', 'n % 2'])}]",
                f"({one} if {self.condition()} else t)", f"{one}.detach()", f"max([{one}, t], key=lambda v: v.dim())",
                f"apply(lambda a, b=1: a + b, {one}, b={self.number(1)})",
            ]
        )  # fmt: skip

    def number(self, depth: int = 0) -> str:
        """A number of Python's."""
        one = self.draw.choice(
            ["n", "1", "2", "-1", "0", "count", "total", "len(numbers)", "len(tensors)", "len(box)", "x.dim()", "x.shape[0]",
             "numbers[0]", "numbers[-1]", "sum(numbers)", "counts['a']", "len(line)", "len(marks)"]
        )  # fmt: skip
        if depth > 1:
            return one
        return self.draw.choice(
            [
                one, one, one, f"({one} + {self.number(depth + 1)})", f"({one} - {self.number(depth + 1)})", f"({one} % 3)",
                f"max({one}, {self.number(depth + 1)})", f"counts.get({self.key()}, {one})", f"len(f'{{{one}}}')",
                f"sum(v * v for v in numbers if v > {one})", f"len({{v for v in numbers}})", f"int({self.condition()})",
                f"len([v for v in range({one})])", f"(last or 0)", f"len(sorted(counts))",
            ]
        )  # fmt: skip

    def condition(self) -> str:
        """A condition on numbers."""
        a, b = self.number(2), self.number(2)
        return self.draw.choice(
            [
                f"{a} > {b}", f"{a} == {b}", f"{a} in numbers", f"{self.key()} in table", f"{a} in marks", "tensors", "not counts",
                f"all(v >= 0 for v in numbers)", f"any(v == {a} for v in numbers)", f"{a} < {b} < 5", "last is None",
                f"isinstance(last, int)", f"{a} != 1 and {b} > 0", "len(tensors) > 2", "t is x", "seen",
            ]
        )  # fmt: skip

    def key(self) -> str:
        """A key of the dictionaries."""
        return self.draw.choice(["'a'", "'b'", "'c'", "f'{n % 2}'", "str(len(numbers) % 3)"])

    def place(self) -> str:
        """A place in a list."""
        return self.draw.choice(["0", "-1", "1", "n % 2"])

    # ---- statements ----

    def statement(self, depth: int, loop: bool) -> Statement:
        """One."""
        kind = self.draw.random()
        if depth < 3 and kind < 0.28:
            return self.block(depth, loop)
        if loop and kind < 0.32:
            return self.when(self.draw.choice(["break", "continue"]))
        return Statement(self.simple())

    def when(self, line: str) -> Statement:
        """A line under a condition."""
        return Statement("", [(f"if {self.condition()}:", [Statement(line)])])

    def when_long(self, name: str) -> Statement:
        """The end of a loop that could go on for ever."""
        return Statement("", [(f"if len({name}) > 9:", [Statement("break")])])

    def block(self, depth: int, loop: bool) -> Statement:
        """A statement that has others within."""
        inside = self.body(self.draw.randint(1, 3), depth + 1, loop)
        other = self.body(self.draw.randint(1, 2), depth + 1, loop)
        again = self.body(self.draw.randint(1, 2), depth + 1, True)
        self.names += 1
        v = f"v{self.names}"
        return Statement(
            "",
            self.draw.choice(
                [
                    [(f"if {self.condition()}:", inside)],
                    [(f"if {self.condition()}:", inside), ("else:", other)],
                    [(f"for {v} in range({self.draw.choice(['2', '3', 'len(numbers) % 4', 'n % 3'])}):", [Statement(f"numbers.append({v})"), *again])],
                    [(f"for {v} in list(tensors):", [Statement(f"t = t + {v}"), *again])],
                    [(f"for {v}, w in enumerate(numbers[:3]):", [Statement(f"total += {v} * w"), *again])],
                    [(f"for {v}, w in list(counts.items()):", [Statement(f"counts[{v}] = w + 1"), *again]), ("else:", other)],
                    [(f"for {v}, w in zip(tensors[:2], numbers):", [Statement(f"t = t * w + {v}"), *again])],
                    [(f"for {v} in numbers:", [self.when_long("numbers"), *again])],
                    [(f"for {v} in tensors:", [self.when_long("tensors"), *again, Statement(f"t = t + {v}")])],
                    [(f"for {v} in table:", [*again, Statement(f"last = {v}")])],
                    [(f"for {v} in line:", [*again, Statement(f"t = t * {v}")])],
                    [(f"while {self.condition()}:", [self.when_long("numbers"), Statement(f"numbers.append(1)"), *again])],
                    [("try:", inside), ("except (IndexError, KeyError) as error:", [Statement("box.log.append(type(error).__name__)"), *other])],
                    [("try:", [*inside, self.when("raise Refused(n)")]), ("except Refused as error:", [Statement("count += error.args[0]"), *other])],
                    [("try:", inside), ("finally:", other)],
                    [("with torch.no_grad():", inside)],
                    [(f"def local(value, by={self.number(1)}):", [Statement("nonlocal t, count"), *[each for each in inside if not each.blocks], Statement("count += 1"), Statement("return value + by")])],
                ]
            ),
        )  # fmt: skip

    def simple(self) -> str:
        """A statement of one line."""
        t, n, k, p = self.tensor(), self.number(), self.key(), self.place()
        return self.draw.choice(
            [
                f"t = {t}", f"t = {t}", f"x = {t}", f"t, y = {t}, {self.tensor()}", f"t += {n}", f"x.add_({n})", f"t = t.add_({t})" if self.draw.random() < 0.3 else f"t = t + {t}",
                f"y.mul_({n})", f"tensors[{p}].add_(1)", f"table['a'].mul_({n})", "t = t.view(-1).view(x.shape)", "t = t[...]", f"t[0] = {n}" if self.draw.random() < 0.3 else "t = t.flip(0)",
                f"tensors.append({t})", f"tensors.append({t})", "t = tensors.pop()", f"tensors[{p}] = {t}", f"tensors.extend([{t}, x])", f"tensors.insert({p}, {t})",
                f"del tensors[{p}]", f"tensors[1:] = [{t}]", f"tensors += [{t}]", "tensors.reverse()", "tensors.clear()", "t, *others = tensors; t = t + len(others)",
                f"numbers.append({n})", f"numbers.append({n})", "n = numbers.pop()", f"numbers[{p}] = {n}", f"numbers[{p}] += {n}", f"numbers.insert({p}, {n})", "numbers.sort()",
                "numbers.sort(key=lambda v: -v)", f"del numbers[{p}]", f"numbers.remove({n})", "numbers.reverse()", f"numbers *= 2", f"numbers[:] = [v for v in numbers if v != {n}][:6]",
                f"numbers = [*numbers, {n}]", f"count = numbers.index({n})", f"total = numbers.count({n})",
                f"table[{k}] = {t}", f"table[{k}] = {t}", f"t = table.pop({k}, t)", f"t = t + table.setdefault({k}, {t})", f"table.update(a={t})", f"del table[{k}]", "t = t + sum(table.values())",
                f"table = {{**table, {k}: {t}}}", "t = t * len(list(table))", "table.pop(next(iter(table)))",
                f"counts[{k}] = {n}", f"counts[{k}] = counts.get({k}, 0) + 1", f"counts[{k}] += {n}", f"n = counts.pop({k})", "counts.update({'b': n})", f"counts |= {{{k}: {n}}}", "counts.popitem()",
                f"marks.add({n})", f"marks.discard({n})", f"marks |= {{{n}, 1}}", f"marks.remove({n})", "marks.update(numbers)", "n = len(marks & {0, 1, 2})",
                f"line.append({t})", f"line.appendleft({t})", "t = t + line.popleft()", f"line.rotate(1)", "t = t + line[-1]",
                f"box.value = {t}", f"t = box.bump({n})", f"box.log.append({n})", f"box.extra = {n}", "box.value = box.value + getattr(box, 'extra', 0)", f"setattr(box, 'value', {t})", "del box.extra", "n = len(box)",
                f"count += {n}", f"count = {n}", f"total += {n}", f"total = {n}", f"last = {n}", "last = None", f"seen.append({n})", "seen.clear()", f"n += {n}", f"n = {n}", f"(n := {n})", "total, count = count, total",
                "t = t.to(torch.float64).to(t.dtype)", "t = torch.stack([t, t]).sum(0)", "t = t * torch.tensor(2.0)", "t = torch.cat([t, x])[: x.shape[0]]", "t = t.requires_grad_()" if self.draw.random() < 0.05 else "t = t.relu()",
                f"assert {self.condition()}", f"t = t if {self.condition()} else t + 1", "t = functional.relu(t)", f"t = local({t})" if self.draw.random() < 0.2 else "t = -t",
                f"last = (lambda: {n})()", f"del y" if self.draw.random() < 0.1 else "y = y + 1", f"t = t * [{n}, *numbers][0]", "t = [each * 2 for each in tensors][0]", "return t" if self.draw.random() < 0.1 else "t = t * 1",
                f"last = f'{{n}} {{len(tensors)}}'", "t = t + sum(v for v in counts.values())", f"t = t * ({n} if tensors else 1)", "tensors, line = list(line), collections.deque(tensors)",
            ]
        )  # fmt: skip
