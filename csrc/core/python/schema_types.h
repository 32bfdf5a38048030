// Schemas as Python objects.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace mt {

struct Schema;
struct Literal;
PyObject* schema_object(const Schema& s);    // tuples: (name, overload, arguments, returns, vararg, varret, text)
PyObject* literal_object(const Literal& l);  // a default as Python writes it; lists are lists

}  // namespace mt
