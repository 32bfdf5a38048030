// Operator schemas, parsed once and compiled to what the binder needs.
#pragma once

#include <string>
#include <vector>

#include "arg_kind.h"
#include "schema_type.h"
#include "value.h"

namespace mt {

// A default as the schema writes it.
struct Literal {
    enum Kind : uint8_t { None, Bool, Int, Float, Complex, String, List } kind = None;
    bool b = false;  // of Int: it is spelled Mean, which functions of torch read as 0, operators as 1 (as PyTorch's)
    int64_t i = 0;
    double d = 0;  // of Complex: the imaginary part; the real part is always 0
    std::string s;
    std::vector<Literal> items;

    std::string text() const;
    bool operator==(const Literal& o) const = default;
};

struct Argument {
    std::string name;
    TypeRef type;
    AliasInfo alias_info;
    Literal literal;           // the default, if has_default
    std::string type_text;     // canonical: "SymInt[2]?"
    std::string default_text;  // canonical, "" if there is none
    std::string alias;         // "a", "a!", "a -> *", "" if there is none
    ArgKind kind = ArgKind::Any;
    bool optional = false;
    bool writes = false;  // alias set with '!'
    bool keyword_only = false;
    bool has_default = false;
    int list_size = 0;   // int[2]: 2; 0 for unsized
    bool sized = false;  // int[0] is, and takes lists of every length
    Value default_value;
    std::vector<int64_t> default_ints;  // what default_value points into
    std::vector<double> default_doubles;
    std::vector<uint8_t> default_bools;
    PyObject* name_object = nullptr;     // interned
    PyObject* default_object = nullptr;  // boxed default

    std::string text() const;  // "Tensor(a!)? x=None"
};

struct Schema {
    std::string ns, name, overload;
    std::vector<Argument> args, returns;
    bool vararg = false, varret = false;
    int positional = 0;  // number of arguments that may be given by position
    std::string full_name() const { return ns.empty() ? name : ns + "::" + name; }
    std::string text() const;  // canonical form: parses to this schema again
    int index_of(const std::string& arg) const;
};

// Raises RuntimeError, with a caret under the place for what breaks the grammar. With `type_variables` any unknown
// lower-case name is a type variable.
Schema parse_schema(const std::string& text, bool type_variables = false);

// "2.", "0.10000000000000001", "1e+20": as PyTorch prints a default.
std::string float_text(double v);

}  // namespace mt
