"""Turn the `torch` switch on at interpreter start, without importing the package.

`mindtorch_v2_startup.pth`, installed beside this file, imports it when MINDTORCH_AS_TORCH is set.
"""

import importlib.machinery
import os
import sys
import types

_NAME = "mindtorch_v2._as_torch"


def _switch_on():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mindtorch_v2", "_as_torch")
    path = os.path.join(folder, "__init__.py")
    loader = importlib.machinery.SourceFileLoader(_NAME, path)
    module = types.ModuleType(_NAME)
    module.__spec__ = importlib.machinery.ModuleSpec(_NAME, loader, origin=path)
    module.__spec__.has_location = True
    module.__file__ = path
    module.__package__ = _NAME
    module.__path__ = module.__spec__.submodule_search_locations = [folder]
    module.__loader__ = loader
    sys.modules[_NAME] = module  # the package takes up this same module when it is imported
    loader.exec_module(module)
    module.as_torch()


_switch_on()
