"""Sparsifiers and their schedulers: masks, levels, texts, states and errors are PyTorch's."""

import importlib

import pytest
from agreement import same, same_error


def pruning(lib):
    return importlib.import_module(f"{lib.__name__}.ao.pruning")


def model(lib):
    lib.manual_seed(0)
    return lib.nn.Sequential(lib.nn.Linear(6, 4), lib.nn.ReLU(), lib.nn.Sequential(lib.nn.Linear(4, 5)))


SPARSIFIERS = [
    "WeightNormSparsifier()",
    "WeightNormSparsifier(sparsity_level=0.7, sparse_block_shape=(1, 1), norm=1)",
    "WeightNormSparsifier(sparsity_level=0.5, sparse_block_shape=(1, 2), zeros_per_block=1, norm=1)",
    "WeightNormSparsifier(sparsity_level=0.5, sparse_block_shape=(3, 4), zeros_per_block=12, norm=2)",
    "WeightNormSparsifier(sparsity_level=0.5, sparse_block_shape=(1, 2), zeros_per_block=1, norm=lambda x: x)",
    "WeightNormSparsifier(sparsity_level=1.0)",
    "WeightNormSparsifier(sparsity_level=0.0)",
    "NearlyDiagonalSparsifier()",
    "NearlyDiagonalSparsifier(3)",
    "NearlyDiagonalSparsifier(0)",
]


@pytest.mark.parametrize("text", SPARSIFIERS)
def test_masks(text):
    def program(lib):
        net, sparsifier = model(lib), eval(text, vars(pruning(lib)).copy())
        sparsifier.prepare(net, config=[{"tensor_fqn": "0.weight"}, {"tensor_fqn": "2.0.weight"}])
        sparsifier.step()
        masks = [each.parametrizations.weight[0].mask for each in (net[0], net[2][0])]
        said = [repr(sparsifier), sorted(sparsifier.state_dict()), sorted(net.state_dict())]
        sparsifier.squash_mask(params_to_keep=tuple(sparsifier.defaults)[:1])
        return [masks, said, net[0].weight.detach(), net[2][0].weight.detach(), net[0].sparse_params]

    same(program)


@pytest.mark.parametrize(
    "text",
    [
        "CubicSL(sparsifier, init_sl=0.1, init_t=2, delta_t=1, total_t=5)",
        "CubicSL(sparsifier, init_t=2, delta_t=2, total_t=3, initially_zero=True)",
        "LambdaSL(sparsifier, lambda epoch: 0.9**epoch)",
        "LambdaSL(sparsifier, [lambda epoch: 1.0, lambda epoch: 1 / (epoch + 1)])",
    ],
)
def test_levels(text):
    def program(lib):
        sparsifier = pruning(lib).WeightNormSparsifier(sparsity_level=0.8)
        sparsifier.prepare(model(lib), config=None)
        scheduler, levels = eval(text, {**vars(pruning(lib)), "sparsifier": sparsifier}), []
        for _ in range(8):
            sparsifier.step()
            scheduler.step()
            levels.append(scheduler.get_last_sl())
        return [levels, scheduler.last_epoch, sorted(scheduler.state_dict())]

    same(program)


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("WeightNormSparsifier(norm=3)", None),
        ("WeightNormSparsifier(zeros_per_block=5)", None),
        ("WeightNormSparsifier(zeros_per_block=-1)", None),
        ("WeightNormSparsifier()", [{}]),
        ("WeightNormSparsifier()", ["0.weight"]),
        ("WeightNormSparsifier()", [{"tensor_fqn": "0.weight", "tensor_name": "bias"}]),
        ("NearlyDiagonalSparsifier(2)", None),
        ("NearlyDiagonalSparsifier(9)", None),
        ("LambdaSL(3, len)", None),
    ],
)
def test_what_is_refused(text, config):
    def program(lib):
        sparsifier = eval(text, vars(pruning(lib)).copy())
        sparsifier.prepare(model(lib), config)
        sparsifier.step()

    same_error(program)


def test_names():
    def program(lib):
        net, of = model(lib), pruning(lib)
        info = of.get_arg_info_from_tensor_fqn(net, "2.0.weight")
        return [
            info["module"] is net[2][0],
            info["module_fqn"],
            of.module_to_fqn(net, net[2][0]),
            of.fqn_to_module(net, "9"),
        ]

    same(program)


def test_a_step_of_the_scheduler_alone_warns():
    def program(lib):
        sparsifier = pruning(lib).WeightNormSparsifier()
        sparsifier.prepare(model(lib), config=None)
        pruning(lib).LambdaSL(sparsifier, lambda epoch: 1.0).step()

    with pytest.warns(UserWarning, match=r"before `sparsifier.step\(\)`"):
        same(program)
