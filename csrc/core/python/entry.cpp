// The shared object that Python imports; everything is in libmindtorch_core.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace mt {
PyObject* make_module();
}

PyMODINIT_FUNC PyInit__C(void) { return mt::make_module(); }
