// The watch over what kernels write and alias (MINDTORCH_CHECK_MUTATION=1), and over what Meta kernels say of the
// results of others (MINDTORCH_CHECK_META=1).
#pragma once

#include "registry.h"

namespace mt {

// How memory of devices other than the CPU is looked at.
struct MutationProbe {
    PyObject* (*copy)(PyObject* tensor) = nullptr;                // new reference; null with an exception set
    bool (*differs)(PyObject* copy, PyObject* tensor) = nullptr;  // throws PythonError
};
void set_mutation_probe(MutationProbe probe);
// expect(operator, arguments in order) -> what Meta says or None, before the kernel runs; compare(operator, that,
// results) after it.
void set_meta_probe(PyObject* expect, PyObject* compare);

// While a graph runs for the first time its users' operators are watched for writes and aliases that their schemas keep
// quiet about, by version counters and storages: what only copies would show, the variable's watch finds.
void watch_first_run(Operator* op, bool begin);
bool first_run_watched(const Operator* op);
void run_first(Call& c);

}  // namespace mt
