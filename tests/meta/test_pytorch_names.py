"""Every public name of PyTorch's can be imported here, and what is here for its name alone is listed; the list only shrinks."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_name_lists", ROOT / "tools" / "make_name_lists.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@pytest.fixture(scope="module")
def table(tool):
    return json.loads((tool.PLACE / "pytorch.json").read_text())


# In a process of its own: other tests put modules into sys.modules, and take some out.
_LOOK = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("make_name_lists", sys.argv[1])
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
table = json.loads((tool.PLACE / "pytorch.json").read_text())
modules = {name: tool.import_quietly(name.replace("torch", "mindtorch_v2", 1)) for name in table}
lost = [f"{name}.{each}" for name, names in table.items() if modules[name] for each in names if not hasattr(modules[name], each)]
covered = [name for name, module in modules.items() if module is None]
print(json.dumps({"now": tool.absent_names(table, "mindtorch_v2"), "lost": lost, "covered": covered}))
"""


@pytest.fixture(scope="module")
def seen():
    command = [sys.executable, "-W", "ignore", "-c", _LOOK, str(ROOT / "tools" / "make_name_lists.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def lists(tool, seen):
    """The names that are absent now, and those listed as absent, as sets of "module.name"."""
    names, *lines = (json.loads(line) for line in tool.ABSENT.read_text().splitlines())
    now, listed = seen["now"], dict(zip(names, lines, strict=True))
    return tuple({f"{module}.{name}" for module, names in each.items() for name in names} for each in (now, listed))


def test_no_name_is_lost(lists):
    now, listed = lists
    assert not sorted(now - listed)


def test_names_that_came_are_taken_off_the_list(lists):
    now, listed = lists
    assert not sorted(listed - now), "take them off the list: python tools/make_name_lists.py absent"


def test_every_public_name_can_be_had(seen):
    """Modules that an object of the package covers left out, `torch.backends.cudnn.rnn` for one: there are few."""
    assert len(seen["covered"]) <= 5
    assert not seen["lost"]
