"""`torch.overrides.redispatch_function`: one call that asks nobody, whose inner calls ask again."""

from agreement import same


def test_of_classes():
    def program(torch):
        seen = []

        class Seen(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args, kwargs=None):
                seen.append(func.__name__)
                return torch.overrides.redispatch_function(func, types, args, kwargs)

        def doubled(x):
            if torch.overrides.has_torch_function((x,)):
                return torch.overrides.handle_torch_function(doubled, (x,), x)
            return x * 2 + 1

        x = torch.ones(2).as_subclass(Seen)
        results = [doubled(x), x.sum(), torch.nn.functional.relu(x), x.add(1).mul(2), torch.cat([x, x])]
        return [seen, [type(each).__name__ for each in results], [each.tolist() for each in results]]

    same(program)


def test_of_modes():
    def program(torch):
        seen = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                with self:
                    return torch.overrides.redispatch_function(func, types, args, kwargs)

        def doubled(x):
            if torch.overrides.has_torch_function((x,)):
                return torch.overrides.handle_torch_function(doubled, (x,), x)
            return torch.add(torch.mul(x, 2), 1)

        with Mode():
            value = doubled(torch.ones(2))
        return [seen, value.tolist()]

    same(program)


def test_a_call_that_raises_leaves_nothing_behind():
    def program(torch):
        seen = []

        class Seen(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs)

        def fails():
            raise KeyError("this one")

        x = torch.ones(2).as_subclass(Seen)
        try:
            torch.overrides.redispatch_function(fails, (Seen,), (), {})
        except KeyError:
            x.sin()
        return seen

    same(program)
