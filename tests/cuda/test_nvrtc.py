"""The headers of layers' kernels compile for GPUs, whose compiler knows names that the host's does not. It needs no GPU."""

import pytest

from mindtorch_v2._backends.cuda import compiler, libraries

pytestmark = pytest.mark.no_torch

_ROW = "THREADS=128 ROWS=1 VECTOR=4 HELD=4"
_NORM = f"STATISTIC=float CENTRED=1 HAS_WEIGHT=1 HAS_BIAS=1 {_ROW}"
_CLASSES = "TARGET=int64_t OUT=float WEIGHT=bf16 HAS_WEIGHT=1"
_SOURCES = [
    ("softmax.cuh", f"IN=bf16 SECOND=bf16 OUT=bf16 LOG=1 {_ROW} KEEP=REGISTERS"),
    ("softmax.cuh", "IN=double SECOND=double OUT=double LOG=0 COLUMNS=1 HEIGHT=8"),
    ("norm.cuh", f"IN=bf16 OUT=bf16 WEIGHT=float GROUPED=1 {_NORM} KEEP=SHARED_MEMORY"),
    ("norm.cuh", f"IN=float OUT=float WEIGHT=float GROUPED=0 {_NORM} KEEP=NOWHERE"),
    ("norm_weights.cuh", "IN=f16 STATISTIC=float CENTRED=0"),
    ("nll.cuh", f"IN=bf16 {_CLASSES}"),
    ("nll.cuh", f"IN=bf16 {_CLASSES} MEAN=1"),
    ("cross_entropy.cuh", f"IN=bf16 {_CLASSES} THREADS=256"),
    ("cross_entropy.cuh", f"IN=bf16 {_CLASSES} THREADS=256 EACH=1"),
    ("pool.cuh", "IN=f16 ADAPTIVE=0 MAXIMUM=1"),
    ("pool.cuh", "IN=double ADAPTIVE=1 MAXIMUM=0"),
    ("columns.cuh", "IN=c64 Index=int64_t"),
    ("attention.cuh", "IN=bf16 MASK=float D=64 DV=64 CAUSAL=1 HAS_MASK=1 DROPOUT=1"),
    ("upsample.cuh", "ELEMENT=uint8_t A=float MODE=NEAREST"),
    ("upsample.cuh", "ELEMENT=bf16 A=float MODE=LINEAR"),
    ("upsample.cuh", "ELEMENT=f16 A=float MODE=CUBIC"),
    ("upsample.cuh", "ELEMENT=double A=double MODE=CUBIC_ANTIALIAS"),
    ("distance.cuh", "ELEMENT=bf16 PAIRS=0 ORDER=3"),
    ("distance.cuh", "ELEMENT=double PAIRS=1 ORDER=4"),
]


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(("header", "words"), _SOURCES)
def test_compiles(header: str, words: str, target: str) -> None:
    try:
        libraries.nvrtc()
    except (ImportError, OSError, RuntimeError) as missing:
        pytest.skip(str(missing))
    defines = "".join(f"#define {name} {text}\n" for name, text in (word.split("=") for word in words.split()))
    source = f'#include "base.cuh"\n#include "functions.cuh"\n{defines}#include "{header}"\n'
    assert compiler.nvrtc(source, target, header)[:4] == b"\x7fELF"
