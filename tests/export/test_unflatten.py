"""`torch.export.unflatten`, and what the nodes of an exported graph tell of the modules that they come from."""

import io

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.export import export, unflatten


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x, scale=1.0):
        return torch.relu(self.linear(x) * scale + self.shift)


class Twice(torch.nn.Module):
    """One module in two places and called in two ways, and one that gives two values."""

    def __init__(self):
        super().__init__()
        self.block = Block()
        self.again = torch.nn.ModuleList([self.block])
        self.pair = Pair()

    def forward(self, x):
        first, second = self.pair(self.block(x))
        return self.again[0](first, scale=2.0) - second


class Pair(torch.nn.Module):
    def forward(self, x):
        return x.sin(), {"cos": x.cos()}["cos"]


def _example():
    torch.manual_seed(0)
    return Twice(), (torch.randn(2, 4),)


def test_nodes_tell_the_modules_the_function_and_the_line():
    model, args = _example()
    nodes = {node.name: node.meta for node in export(model, args).graph.nodes}
    assert nodes["linear"]["nn_module_stack"] == {
        "L__self__": ("", f"{__name__}.Twice"),
        "L__self__block": ("block", f"{__name__}.Block"),
        "L__self__block.linear": ("block.linear", "torch.nn.modules.linear.Linear"),
    }
    assert [*nodes["linear_1"]["nn_module_stack"]][1:] == ["L__self__block@1", "L__self__block.linear@1"]
    assert nodes["linear_1"]["torch_fn"] == ("linear_2", "function.linear")
    assert nodes["sin"]["torch_fn"] == ("sin_1", "method_descriptor.sin")
    assert "return x.sin()" in nodes["sin"]["stack_trace"]
    assert "mindtorch_v2" not in nodes["relu"]["stack_trace"].replace(__file__, "")


def test_decompositions_keep_it_and_say_what_they_come_from():
    model, args = _example()
    lowered = {node.name: node.meta for node in export(model, args).run_decompositions().graph.nodes}
    assert [*lowered["addmm"]["nn_module_stack"]][-1] == "L__self__block.linear"
    assert lowered["addmm"]["from_node"][0].name == "linear"


def test_modules_run_and_keep_their_paths_and_state():
    model, args = _example()
    made = unflatten(export(model, args))
    assert torch.equal(made(*args), model(*args))
    assert set(made.state_dict()) >= set(model.state_dict())
    assert made.block.linear.weight is model.block.linear.weight
    assert torch.equal(made.block(*args), model.block(*args))
    assert "block@1" in dict(made.named_modules())  # scaled there: another graph


def test_an_export_leaves_a_shared_module_as_it_was():
    model, args = _example()
    before = model.block.linear.weight
    export(model, args)
    assert model.block.linear.weight is before and type(before) is torch.nn.Parameter


def test_gradients_reach_the_parameters():
    model, args = _example()
    unflatten(export(model, args))(*args).sum().backward()
    gradient = model.block.linear.weight.grad.clone()
    model.zero_grad()
    model(*args).sum().backward()
    assert torch.allclose(gradient, model.block.linear.weight.grad)


def test_a_kept_signature_lets_a_module_be_replaced():
    model, args = _example()
    made = unflatten(export(model, args, preserve_module_call_signature=("pair",)))
    assert torch.equal(made(*args), model(*args))

    class Zeros(torch.nn.Module):
        def forward(self, x):
            return torch.zeros_like(x), torch.zeros_like(x)

    made.pair = model.pair = Zeros()
    assert torch.equal(made(*args), model(*args))


def test_buffers_that_are_written_are_written():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x):
            self.calls.add_(1)
            return x + self.calls

    made = unflatten(export(Counts(), (torch.ones(1),)).run_decompositions())
    assert [made(torch.zeros(1)).item() for _ in range(3)] == [1, 2, 3]


def test_sizes_that_may_differ():
    model, args = _example()
    program = export(model, args, dynamic_shapes=({0: torch.export.Dim("batch")},))
    other = torch.randn(5, 4)
    assert torch.equal(unflatten(program)(other), model(other))


def test_a_file_keeps_it():
    model, args = _example()
    file = io.BytesIO()
    torch.export.save(export(model, args, preserve_module_call_signature=("pair",)), file)
    file.seek(0)
    made = unflatten(torch.export.load(file))
    assert [path for path, _ in made.named_modules()][:3] == ["", "block", "block.linear"]
    assert torch.equal(made.pair(*args)[1], args[0].cos())


def test_other_arguments_are_refused_and_adapted():
    model, args = _example()

    class Adapter(torch.export.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return input_args[:1]

    program = export(model, args)
    with pytest.raises(TypeError, match="no flat args adapter"):
        unflatten(program)(*args, 1)
    with pytest.raises(AssertionError, match="Guard failed"):
        unflatten(program)(torch.ones(3, 4))
    assert torch.equal(unflatten(program, Adapter())(*args, 1), model(*args))
    with pytest.raises(ValueError, match="no submodule 'nothing'"):
        export(model, args, preserve_module_call_signature=("nothing",))
