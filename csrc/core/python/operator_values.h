// Values of operators that users define: which Python objects a schema type takes, and what a kernel is given.
#pragma once

#include "bind.h"

namespace mt {

// `o` as a value of the type: the same object or a converted one, a new reference. Null, with no exception set, if it
// is none.
PyObject* operator_object(PyObject* o, const Type& type);
// Fills `v` from `o`; false if it does not fit. Objects made on the way live until the end of the KeptObjects scope.
bool operator_value(PyObject* o, const Argument& a, Call& c, Value* v);
// What a Python kernel is given for an argument: new reference.
PyObject* operator_argument(const Value& v, PyObject* source, const Argument& a);

// Whether the schema language has a type for the object, which is what Any takes.
bool has_type(PyObject* o);

// MINDTORCH_STRICT_SCHEMA=1: for the length of the scope values of an operator are taken as they are or not at all.
// Without it PyTorch's conversions are made, and what the schema language does not cover is handed through.
class Strict {
  public:
    explicit Strict(bool user) {
        if (__builtin_expect(g_asked, 0)) begin(user);
    }
    ~Strict() {
        if (__builtin_expect(g_asked, 0)) end();
    }
    Strict(const Strict&) = delete;
    Strict& operator=(const Strict&) = delete;
    static bool on() { return __builtin_expect(g_asked, 0) && is_on(); }

  private:
    static const bool g_asked;  // the variable, read when the library is loaded
    static bool is_on();
    void begin(bool user);
    void end();
    bool before_ = false;
};

// Objects made by conversions live until the call is over.
class KeptObjects {
  public:
    KeptObjects();
    ~KeptObjects();
    static PyObject* keep(PyObject* o);  // takes the reference, gives a borrowed one

  private:
    size_t mark_;
};

}  // namespace mt
