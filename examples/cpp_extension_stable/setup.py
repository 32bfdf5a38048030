"""Build one wheel for every Python from 3.9, for mindtorch_v2 and for PyTorch from 2.10.

With mindtorch_v2: `python -m mindtorch_v2 setup.py bdist_wheel`; with PyTorch: `python setup.py bdist_wheel`.
"""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="muladd_stable",
    version="0.1",
    packages=["muladd_stable"],
    ext_modules=[
        CppExtension(
            "muladd_stable._C",
            ["muladd_stable/muladd.cpp"],
            # The first version of PyTorch that it is to run with, as two bytes: major and minor.
            extra_compile_args=["-O3", "-DTORCH_TARGET_VERSION=0x020a000000000000", "-DPy_LIMITED_API=0x03090000"],
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
