"""Every public name of PyTorch's that is here: a text, a signature where it is called, and an example."""

import doctest
import inspect
import types
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from tools.site import reference

# Objects that are called and whose class says what they are; aliases of types; Python's own.
OBJECTS = (
    "biject_to",
    "transform_to",
    "dependent",
    "ParamsT",
    "FileLike",
    "QConfigAny",
    "NodePattern",
    "Pattern",
    "ObserverOrFakeQuantize",
)
PYTHONS = ("torch.multiprocessing.", "torch.jit.annotations.")
# Of the native core and of classes of exceptions: Python cannot tell how they are made.
WITHOUT_SIGNATURE = set(
    "torch.Tensor torch.Generator torch.device torch.storage.UntypedStorage torch.types.Storage "
    "torch.autograd.function.BackwardCFunction".split()
)
# Names without an example, by the reason.
WITHOUT_EXAMPLE = {
    "needs pydot": "torch.fx.passes.graph_drawer.FxGraphDrawer",
    "needs a device": """
        torch.Tensor.cuda torch.Tensor.npu torch.Tensor.pin_memory torch.Tensor.record_stream
        torch.accelerator.current_device_idx torch.accelerator.current_device_index torch.accelerator.current_stream
        torch.accelerator.empty_cache torch.accelerator.max_memory_allocated torch.accelerator.max_memory_reserved
        torch.accelerator.memory_allocated torch.accelerator.memory_reserved torch.accelerator.memory_stats
        torch.accelerator.set_device_idx torch.accelerator.set_device_index torch.accelerator.set_stream
        torch.accelerator.synchronize torch.cuda.CUDAGraph torch.cuda.Event torch.cuda.ExternalStream torch.cuda.Stream
        torch.cuda.graph torch.cuda.make_graphed_callables torch.cuda.memory.reset_max_memory_allocated
        torch.cuda.memory.reset_max_memory_cached
    """,
    "needs a second process": """
        torch.distributed.distributed_c10d.batch_isend_irecv torch.distributed.distributed_c10d.irecv
        torch.distributed.distributed_c10d.isend torch.distributed.distributed_c10d.recv
        torch.distributed.distributed_c10d.recv_object_list torch.distributed.distributed_c10d.send
        torch.distributed.distributed_c10d.send_object_list torch.distributed.launcher.api.elastic_launch
        torch.distributed.run.run
    """,
    "needs a package that the tests do not": """
        torch.Tensor.to_mindspore torch.distributed.checkpoint.hf_storage.HuggingFaceStorageReader
        torch.distributed.checkpoint.hf_storage.HuggingFaceStorageWriter
    """,
    "compiles, or asks the machine for its compiler": """
        torch.nn.cpp.ModuleWrapper torch.utils.cpp_extension.check_compiler_is_gcc
        torch.utils.cpp_extension.check_compiler_ok_for_platform
        torch.utils.cpp_extension.get_compiler_abi_compatibility_and_version torch.utils.cpp_extension.load
        torch.utils.cpp_extension.load_inline torch.utils.cpp_extension.remove_extension_h_precompiler_headers
    """,
    "tells of the machine, which takes long": """
        torch.utils.collect_env.get_env_info torch.utils.collect_env.get_pretty_env_info torch.utils.collect_env.main
    """,
    "is not implemented, and says so": """
        torch.library.triton_op torch.library.wrap_triton torch.nn.functional.scaled_grouped_mm
        torch.nn.functional.scaled_mm
    """,
    "has no effect here": "torch.onnx.register_custom_op_symbolic torch.onnx.unregister_custom_op_symbolic",
    "is deprecated; after it no full hook can be registered": """
        torch.nn.modules.module.register_module_backward_hook
    """,
    "is another project's": "torch.hub.tqdm",
}
ALLOWED = {name for names in WITHOUT_EXAMPLE.values() for name in names.split()}


def _plain(value):
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def _text(value):
    if isinstance(value, type):
        return vars(value).get("__doc__")
    text = inspect.getdoc(value)
    return None if text == type(value).__doc__ else text


def _named():
    for entry in reference.entries():
        value = _plain(entry.value)
        if entry.page != entry.full or isinstance(value, types.ModuleType) or not callable(value):
            continue
        if entry.name in OBJECTS or entry.full.startswith(PYTHONS):
            continue
        yield entry.full, value


NAMED = dict(_named())


def test_every_name_has_a_text():
    assert len(NAMED) > 3000
    assert not [name for name, value in NAMED.items() if not _text(value)]


def test_every_name_has_a_signature():
    without = []
    for name, value in NAMED.items():
        if isinstance(value, type) and issubclass(value, (BaseException, dict, str)):
            continue  # Python's own way of making them
        try:
            inspect.signature(value)
        except ValueError:
            without.append(name)
    assert not set(without) - WITHOUT_SIGNATURE


def _without_example():
    """Names whose text shows no call, but for those that are here by name only."""
    return {
        name
        for name, value in NAMED.items()
        if ">>>" not in (_text(value) or "") and not hasattr(value, "__unavailable__")
    }


def test_every_name_has_an_example():
    assert _without_example() == ALLOWED


def test_a_name_without_example_is_seen(monkeypatch):
    monkeypatch.setitem(NAMED, "torch.add", lambda: None)
    assert _without_example() - ALLOWED == {"torch.add"}


LINES = {
    line.strip() for path in Path(torch.__file__).parent.rglob("*.py") for line in path.read_text("utf-8").splitlines()
}


def _is_made(value):
    """Whether the examples of a text stand in no file line by line: test_documents.py runs those that do."""
    prompts = [line.strip() for line in (_text(value) or "").splitlines() if ">>>" in line]
    return bool(prompts) and not LINES.issuperset(prompts)


# Those of operators are run by test_help.py.
MADE = sorted(
    name for name, value in NAMED.items() if _is_made(value) and not isinstance(value, _C.Function | _C.Method)
)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", MADE)
def test_an_example_of_a_made_text_runs(name):
    text, printed = _text(NAMED[name]), []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(doctest.DocTestParser().get_doctest(text, {"torch": torch}, name, None, 0), out=printed.append)
    assert runner.tries > 0, text
    assert not printed, "".join(printed)
