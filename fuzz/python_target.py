"""One Python target in atheris: `python -m fuzz.python_target TARGET [arguments of libFuzzer]`. `fuzz/__main__.py` starts it."""

from __future__ import annotations

import importlib
import sys

import atheris


def main() -> None:
    """Instrument what the target names, and go on until libFuzzer ends."""
    name = sys.argv[1]
    target_name = f"fuzz.targets.{name}"
    target = importlib.import_module(target_name)
    for data in target.seeds():  # imports what is imported at first use
        target.one(data)
    for module_name in [each for each in sys.modules if each == target_name or _is_of(each, target.MODULES)]:
        _instrument(sys.modules[module_name])
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.one)
    atheris.Fuzz()


def _is_of(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == each or name.startswith(each + ".") for each in modules)


def _instrument(module: object) -> None:
    """Instrument the functions of a module and of its classes where they stand: others hold references to them."""
    seen: set[int] = set()
    for value in list(vars(module).values()):
        parts = [value, *vars(value).values()] if isinstance(value, type) else [value]
        for part in parts:
            function = getattr(part, "__func__", part)
            code = getattr(function, "__code__", None)
            if code is None or id(function) in seen or code.co_filename != getattr(module, "__file__", None):
                continue
            seen.add(id(function))
            atheris.instrument_func(function)


if __name__ == "__main__":
    main()
