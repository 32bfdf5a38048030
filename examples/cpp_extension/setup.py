"""Build with mindtorch_v2: `python -m mindtorch_v2 setup.py build_ext --inplace`; written for PyTorch as well."""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="muladd",
    version="0.1",
    packages=["muladd"],
    ext_modules=[CppExtension("muladd._C", ["muladd/muladd.cpp"], extra_compile_args=["-O3"])],
    cmdclass={"build_ext": BuildExtension},
)
