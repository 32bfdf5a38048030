"""Print the folder of oneDNN's headers (dnnl.h): the PyPI package puts them under the environment's prefix."""

import importlib.metadata
import sys

for file in importlib.metadata.files("onednn-devel-cpu-gomp") or ():
    if file.name == "dnnl.h":
        print(file.locate().resolve().parent)
        sys.exit(0)
sys.exit("onednn-devel-cpu-gomp is installed without dnnl.h")
