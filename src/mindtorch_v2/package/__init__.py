"""`torch.package`: a model, the Python code it needs and its data in one archive, loaded beside other versions of that code.

Loading a package runs the code in it: load only packages of people you trust. `torch.load` runs none.

>>> import io
>>> import mindtorch_v2 as torch
>>> file = io.BytesIO()
>>> with torch.package.PackageExporter(file) as exporter:
...     exporter.save_source_string("shapes", "def area(a, b):\\n    return a * b\\n")
...     exporter.save_pickle("model", "weights.pkl", {"w": torch.ones(2)})
>>> importer = torch.package.PackageImporter(file)
>>> importer.import_module("shapes").area(2, 3), importer.load_pickle("model", "weights.pkl")["w"].tolist()
(6, [1.0, 1.0])
"""

from . import analyze, find_file_dependencies
from .analyze import is_from_package
from .file_structure_representation import Directory
from .glob_group import GlobGroup
from .importer import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter, sys_importer
from .package_exporter import EmptyMatchError, PackageExporter, PackagingError
from .package_importer import PackageImporter

__all__ = [
    "Directory",
    "EmptyMatchError",
    "GlobGroup",
    "Importer",
    "ObjMismatchError",
    "ObjNotFoundError",
    "OrderedImporter",
    "PackageExporter",
    "PackageImporter",
    "PackagingError",
    "analyze",
    "find_file_dependencies",
    "is_from_package",
    "sys_importer",
]
