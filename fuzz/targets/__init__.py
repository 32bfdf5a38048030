"""Targets that go through Python. Each module has:

* ``one(data)``: an input, worked on; an exception that it lets through is a fault,
* ``seeds()``: inputs to begin with, besides those in `fuzz/corpus`,
* ``MODULES``: the modules whose branches guide the search.
"""

PYTHON_TARGETS = (
    "ascendc",
    "export_file",
    "ge_message",
    "gguf_file",
    "mesh",
    "safetensors_file",
    "script_archive",
    "store",
    "torch_load",
    "unpickler",
)
