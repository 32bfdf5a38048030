// Operator schemas, parsed once and compiled to what the binder needs.
#pragma once

#include <string>
#include <vector>

#include "value.h"

namespace mt {

enum class ArgKind : uint8_t {
    Tensor,
    Int,
    Float,
    Bool,
    Complex,
    Scalar,
    Str,
    IntList,
    FloatList,
    BoolList,
    TensorList,
    OptionalTensorList,
    ScalarList,
    StrList,
    DType,
    Layout,
    MemoryFormat,
    Device,
    Generator,
    Storage,
    Any,  // no conversion: the kernel gets the Python object
};

struct Argument {
    std::string name;
    std::string type_text;     // canonical: "SymInt[2]?"
    std::string default_text;  // canonical, "" if there is none
    std::string alias;         // "a", "a!", "a -> *", "" if there is none
    ArgKind kind = ArgKind::Any;
    bool optional = false;
    bool writes = false;  // alias set with '!'
    bool keyword_only = false;
    bool has_default = false;
    int list_size = 0;  // int[2]: 2; 0 for unsized
    Value default_value;
    std::vector<int64_t> default_ints;  // what default_value points into
    std::vector<double> default_doubles;
    std::string default_str;
    PyObject* name_object = nullptr;     // interned
    PyObject* default_object = nullptr;  // boxed default
};

struct Schema {
    std::string ns, name, overload;
    std::vector<Argument> args, returns;
    int positional = 0;  // number of arguments that may be given by position
    std::string full_name() const { return ns + "::" + name; }
    std::string text() const;  // canonical form
    int index_of(const std::string& arg) const;
};

// Raises RuntimeError with a caret under the place.
Schema parse_schema(const std::string& text);

}  // namespace mt
