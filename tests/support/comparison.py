"""When two arrays count as equal: tolerances by dtype, and a message that says where they differ most."""

import numpy

# (relative, absolute). The reduced types leave room for sums that one library rounds at every step.
_TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (2e-6, 1e-5),
    "complex64": (2e-6, 1e-5),
    "float16": (4e-3, 1e-2),
    "bfloat16": (1.6e-2, 6e-2),
}


def difference(ours: numpy.ndarray, theirs: numpy.ndarray, dtype: str, factor: float = 1.0) -> str | None:
    """None if the arrays agree within the tolerance of `dtype` times `factor`; else a sentence on the worst place."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected {theirs.shape}"
    relative, absolute = _TOLERANCES.get(dtype, (0.0, 0.0))
    wide = numpy.complex128 if numpy.iscomplexobj(theirs) else None
    if dtype in _TOLERANCES:
        ours, theirs = (
            ours.astype(wide or numpy.float64),
            theirs.astype(wide or numpy.float64),
        )
    close = numpy.isclose(ours, theirs, rtol=factor * relative, atol=factor * absolute, equal_nan=True)
    if close.all():
        return None
    place = tuple(int(axis[0]) for axis in numpy.nonzero(~close)) if ours.ndim else ()
    return f"{(~close).sum()} of {close.size} differ; at {place} {ours[place]!r}, expected {theirs[place]!r}"
