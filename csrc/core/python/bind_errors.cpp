#include "bind_errors.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "types.h"

namespace mt {
namespace {

std::string type_name(PyObject* o) {
    if (Py_TYPE(o) == tensor_type()) return "Tensor";
    const char* name = Py_TYPE(o)->tp_name;
    const char* dot = std::strrchr(name, '.');
    return dot && !numpy_named(o) ? dot + 1 : name;
}

// A type as a list of overloads shows it: with what a sequence holds.
std::string detailed_type_name(PyObject* o) {
    if (!PyTuple_Check(o) && !PyList_Check(o)) return type_name(o);
    bool tuple = PyTuple_Check(o);
    std::string text = tuple ? "tuple of (" : "list of [";
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);  // not what a subclass says of itself
    for (Py_ssize_t i = 0; i < n && i < 8; i++) text += (i ? ", " : "") + type_name(PySequence_Fast_GET_ITEM(o, i));
    if (n > 8) text += ", ...";
    if (tuple && n == 1) text += ",";
    return text + (tuple ? ")" : "]");
}

std::string python_type_text(const Argument& a) {
    switch (a.kind) {
        case ArgKind::IntList:
            return "tuple of ints";
        case ArgKind::FloatList:
            return "tuple of floats";
        case ArgKind::BoolList:
            return "tuple of bools";
        case ArgKind::TensorList:
        case ArgKind::OptionalTensorList:
            return "tuple of Tensors";
        case ArgKind::ScalarList:
            return "tuple of Scalars";
        case ArgKind::Scalar:
            return "Number";
        case ArgKind::DType:
            return "torch.dtype";
        case ArgKind::Device:
            return "torch.device";
        case ArgKind::Layout:
            return "torch.layout";
        case ArgKind::MemoryFormat:
            return "torch.memory_format";
        case ArgKind::Generator:
            return "torch.Generator";
        case ArgKind::Tensor:
            return "Tensor";
        case ArgKind::Int:
            return "int";
        case ArgKind::Float:
            return "float";
        case ArgKind::Bool:
            return "bool";
        case ArgKind::Str:
            return "str";
        default:
            return a.type_text;
    }
}

std::string python_name(const Argument& a) { return a.name == "self" && a.kind == ArgKind::Tensor ? "input" : a.name; }

std::string default_text(const Operator& op, const Argument& a) {
    if (a.kind == ArgKind::DType || a.default_text.empty()) return "None";
    if (op.factory && a.name == "pin_memory") return "False";
    const std::string& text = a.default_text;
    if (a.kind != ArgKind::IntList || text[0] != '[' || text == "[]") return text;
    // [1, 1] of a list that one number may stand for is that number; else {1,2}
    const Value& v = a.default_value;
    bool same = a.list_size > 0;
    std::string listed;
    for (uint32_t i = 0; i < v.len; i++) {
        same = same && v.ints[i] == v.ints[0];
        listed += concat(i ? "," : "", v.ints[i]);
    }
    return same ? concat(v.ints[0]) : "{" + listed + "}";
}

}  // namespace

std::string python_signature(const Operator& op, const Operator* out_form, bool method) {
    std::string s = "(";
    bool star = false, out_due = out_form != nullptr;
    auto part = [&](const std::string& text) { s += (s.size() > 1 ? ", " : "") + text; };
    auto keyword_part = [&](const std::string& text) {
        if (!star) part("*");
        star = true;
        part(text);
    };
    auto out = [&] {
        bool several = out_form->nargs - out_form->out_index > 1;
        keyword_part(several ? "tuple of Tensors out = None" : "Tensor out = None");
        out_due = false;
    };
    for (size_t i = method ? 1 : 0; i < op.schema.args.size(); i++) {
        const Argument& a = op.schema.args[i];
        std::string text = python_type_text(a) + " " + python_name(a);
        if (a.has_default) text += " = " + default_text(op, a);
        if (!a.keyword_only) {
            part(text);
            continue;
        }
        if (out_due && op.factory && a.kind != ArgKind::Generator) out();
        keyword_part(text);
    }
    if (out_due) out();
    if (op.factory) keyword_part("bool requires_grad = False");
    return s + ")";
}

// ---- why a call does not fit one operator ----

std::string too_many_text(const Operator& op, const CallInput& in) {
    const int self = in.method ? 1 : 0;
    Py_ssize_t given = in.nargs - self;
    int most = op.schema.positional - self, least = -self;
    for (const Argument& a : op.schema.args) least += !a.has_default;
    if (least != most)
        return concat(op.name, "() takes from ", least, " to ", most, " positional arguments but ", given,
                      " were given");
    return concat(op.name, "() takes ", most, " positional argument", most == 1 ? "" : "s", " but ", given,
                  given == 1 ? " was given" : " were given");
}

std::string missing_text(const Operator& op, const CallInput& in, int i) {
    int missing = 0;
    std::string names;
    for (size_t k = static_cast<size_t>(i); k < op.schema.args.size(); k++) {
        const Argument& a = op.schema.args[k];
        if (a.has_default) continue;
        names += concat(missing++ ? ", " : "", '"', python_name(a), '"');
    }
    return concat(op.name, "() missing ", missing, " required positional argument", missing == 1 ? "s" : "", ": ",
                  names);  // PyTorch has the plural the wrong way round
}

std::string mismatch_text(const Operator& op, const CallInput& in, int i, bool by_position, PyObject* o) {
    const Argument& a = op.schema.args[static_cast<size_t>(i)];
    const int place = i - (in.method ? 1 : 0);
    std::string where = by_position ? concat(" (position ", place + 1, ")") : std::string();
    if ((a.kind == ArgKind::TensorList || a.kind == ArgKind::IntList) && (PyTuple_Check(o) || PyList_Check(o))) {
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); k++) {
            PyObject* item = PySequence_Fast_GET_ITEM(o, k);
            std::string type = type_name(item);  // first: the conversion may run code that drops the item
            int64_t ignored;
            if (a.kind == ArgKind::TensorList) {
                if (!tensor_check(item))
                    return concat("expected Tensor as element ", k, " in argument ", place, ", but got ", type);
            } else if (!unbox_int(item, &ignored)) {
                if (k > 0) return unpack_text(op, i, k, item);
                return concat(op.name, "(): argument '", python_name(a), "'", where, " must be ", python_type_text(a),
                              ", but found element of type ", type, " at pos ", k);
            }
        }
    }
    return concat(op.name, "(): argument '", python_name(a), "'", where, " must be ", python_type_text(a), ", not ",
                  type_name(o));
}

std::string unpack_text(const Operator& op, int i, Py_ssize_t place, PyObject* item) {
    const Argument& a = op.schema.args[static_cast<size_t>(i)];
    return concat(op.name, "(): argument '", python_name(a), "' failed to unpack the object at pos ", place + 1,
                  " with error \"type must be ", python_type_text(a), ",but got ", type_name(item), "\"");
}

std::string keyword_text(const Operator& op, PyObject* name, bool twice) {
    const char* text = utf8_of(name);
    if (twice) return concat(op.name, "() got multiple values for argument '", text, "'");
    return concat(op.name, "() got an unexpected keyword argument '", text, "'");
}

// ---- why it fits none of several ----

namespace {

struct Candidate {
    Operator* op;
    const Operator* out;  // its out= form, if a function may be given one
};

Py_ssize_t keywords_of(const CallInput& in) { return in.kwnames ? PyTuple_GET_SIZE(in.kwnames) : 0; }

// "Tensor, x=int": the arguments of a call by type.
std::string types_of(const CallInput& in, const std::function<std::string(Py_ssize_t, PyObject*)>& show) {
    const Py_ssize_t first = in.method ? 1 : 0;
    std::string s;
    for (Py_ssize_t i = first; i < in.nargs; i++) s += (i > first ? ", " : "") + show(i, in.args[i]);
    const bool only_keywords = in.nargs == first;  // then PyTorch has a comma behind each
    for (Py_ssize_t k = 0; k < keywords_of(in); k++) {
        std::string text = show(in.nargs + k, in.args[in.nargs + k]);
        s += only_keywords ? text + ", " : ", " + text;
    }
    return "(" + s + ")";
}

std::string keyword_name(const CallInput& in, Py_ssize_t i) {
    return i < in.nargs ? std::string() : std::string(utf8_of(PyTuple_GET_ITEM(in.kwnames, i - in.nargs))) + "=";
}

// What is wrong with the arguments where the number of them is the overload's own: keywords that it has not, else the
// types of all, those that do not fit between exclamation marks. Empty where the number is another one.
struct Mismatch {
    std::string keywords, types;
};

Mismatch mismatch_of(const Candidate& candidate, const CallInput& in) {
    const Operator& op = *candidate.op;
    const size_t self = in.method ? 1 : 0;
    std::vector<const Argument*> own;
    bool star = false;
    for (size_t i = self; i < op.schema.args.size(); i++) {
        star = star || op.schema.args[i].keyword_only;
        own.push_back(&op.schema.args[i]);
    }
    const Py_ssize_t given = in.nargs - static_cast<Py_ssize_t>(self), keywords = keywords_of(in);
    // PyTorch counts the star as an argument, nothing as one, and finds the names of those without default only.
    const size_t parts = std::max<size_t>(
        own.size() + (star || candidate.out || op.factory) + (candidate.out != nullptr) + op.factory, 1);
    if (static_cast<size_t>(given + keywords) != parts) return {};
    std::string unknown;
    const size_t from = own.size() > static_cast<size_t>(keywords) ? own.size() - static_cast<size_t>(keywords) : 0;
    for (Py_ssize_t k = 0; k < keywords; k++) {
        std::string name = utf8_of(PyTuple_GET_ITEM(in.kwnames, k));
        bool found = false;
        for (size_t i = from; i < own.size(); i++)
            found = found || (!own[i]->has_default && python_name(*own[i]) == name);
        if (!found) unknown += (unknown.empty() ? "" : ", ") + name;
    }
    if (!unknown.empty()) return {unknown, ""};
    auto show = [&](Py_ssize_t i, PyObject* o) {
        std::string name = keyword_name(in, i), type = type_name(o);
        const Argument* a = nullptr;
        const size_t place = static_cast<size_t>(i) - self;
        if (i < in.nargs && place < own.size()) a = own[place];
        for (const Argument* each : own)
            if (!name.empty() && python_name(*each) + "=" == name) a = each;
        bool fits = a && (type == python_type_text(*a) || (a->kind == ArgKind::Float && type == "int") ||
                          (a->kind == ArgKind::DType && type == "dtype"));
        std::string text = name + detailed_type_name(o);
        return fits ? text : "!" + text + "!";
    };
    return {"", types_of(in, show)};
}

// The second line of an overload in the list.
std::string mismatches(const Candidate& candidate, const CallInput& in) {
    const Mismatch found = mismatch_of(candidate, in);
    if (!found.keywords.empty())
        return "      didn't match because some of the keywords were incorrect: " + found.keywords + "\n";
    if (found.types.empty()) return "";
    return "      didn't match because some of the arguments have invalid types: " + found.types + "\n";
}

// Whether a function has a name that its operator has not, as torch.subtract. torch.linalg.solve is linalg_solve.
bool is_alias(const std::string& name, const Operator& op) {
    return op.name.size() < name.size() || op.name.compare(op.name.size() - name.size(), name.size(), name) != 0;
}

// Whether `out` is the out= form of `op`: the same arguments but a factory's options, then the outputs.
bool is_out_form(const Operator& out, const Operator& op) {
    if (out.form != Form::Out) return false;
    const auto is_option = [](const std::string& name) {
        return name == "dtype" || name == "layout" || name == "device" || name == "pin_memory";
    };
    const bool fills = op.factory && out.out_index < op.nargs;
    int at = 0;
    for (const Argument& b : op.schema.args) {
        if (fills && is_option(b.name)) continue;
        if (at >= out.out_index) return false;
        const Argument& a = out.schema.args[static_cast<size_t>(at++)];
        if (a.name != b.name || a.type_text != b.type_text) return false;
    }
    return at == out.out_index;
}

// The types of an overload as PyTorch's generator spells them, by which it sorts.
std::string spelled(const Candidate& candidate, bool method) {
    static const std::unordered_map<std::string, std::string> names{
        {"int", "int64_t"}, {"float", "double"}, {"str", "c10::string_view"}, {"Tensor[]", "TensorList"}};
    std::string s;
    const std::vector<Argument>& args = candidate.op->schema.args;
    for (size_t i = method ? 1 : 0; i < args.size(); i++) {
        if (args[i].keyword_only && (i == 0 || !args[i - 1].keyword_only)) s += "*, ";
        std::string type = args[i].type_text;
        bool optional = !type.empty() && type.back() == '?';
        if (optional) type.pop_back();
        size_t bracket = type.find('[');
        if (type.rfind("int[", 0) == 0 || type.rfind("SymInt[", 0) == 0)
            type = (type[0] == 'S' ? "SymIntArrayRef" : "IntArrayRef") +
                   (type[bracket + 1] == ']' ? std::string() : type.substr(bracket));
        else if (names.count(type))
            type = names.at(type);
        s += concat(type, optional ? "? " : " ", python_name(args[i]), args[i].has_default ? "=, " : ", ");
    }
    return s + (candidate.out ? "*, Tensor out" : "");
}

bool smaller_type(const std::string& a, const std::string& b) {
    return (a == "Scalar" && b == "Tensor") || (a == "Scalar?" && b == "Tensor?") ||
           ((a == "int" || a == "SymInt") && b == "Tensor") || (a == "int[]" && (b == "int" || b == "int?")) ||
           (a == "Tensor[]" && b.find("[]") != std::string::npos && b != a) || (a == "SymInt[]" && b == "int[]");
}

// An overload that takes less than another of as many arguments is listed after it.
bool takes_less(const Operator& a, const Operator& b) {
    if (a.schema.args.size() != b.schema.args.size()) return false;
    bool equal = true;
    for (size_t i = 0; i < a.schema.args.size(); i++) {
        const std::string &one = a.schema.args[i].type_text, &other = b.schema.args[i].type_text;
        if (one == other) continue;
        if (!smaller_type(one, other)) return false;
        equal = false;
    }
    return !equal;
}

// In PyTorch's order: alphabetical, and what takes less behind what takes more.
void sort(std::vector<Candidate>& candidates, bool method) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const Candidate& a, const Candidate& b) { return spelled(a, method) < spelled(b, method); });
    std::vector<Candidate> ordered;
    std::vector<bool> listed(candidates.size(), false);
    while (ordered.size() < candidates.size()) {
        const size_t before = ordered.size();
        std::vector<size_t> now;
        for (size_t i = 0; i < candidates.size(); i++) {
            bool free = !listed[i];
            for (size_t k = 0; k < candidates.size() && free; k++)
                free = listed[k] || !takes_less(*candidates[i].op, *candidates[k].op);
            if (free) now.push_back(i);
        }
        for (size_t i : now) {
            listed[i] = true;
            ordered.push_back(candidates[i]);
        }
        if (ordered.size() == before) return;  // a circle: as they are
    }
    candidates = ordered;
}

}  // namespace

void throw_no_overload(const char* name, Operator* const* ops, size_t n, const CallInput& in, bool out_forms,
                       const std::function<std::string(Operator*)>& why) {
    const bool alias = is_alias(name, *ops[0]);
    const std::string said = alias ? name : ops[0]->name;
    auto reason = [&](Operator* op) {
        std::string text = why(op);
        if (alias && text.rfind(op->name + "(", 0) == 0) text.replace(0, op->name.size(), said);
        return text;
    };
    std::vector<Candidate> candidates;
    std::vector<Operator*> hidden;  // what PyTorch does by taking a number for a tensor
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        any = any || out_forms == (ops[i]->form == Form::Out);
        if (n > 1 && ops[i]->form == Form::Out) continue;
        if (ops[i]->unlisted && !alias) {
            hidden.push_back(ops[i]);
            continue;
        }
        const Operator* out = nullptr;
        for (size_t k = 0; k < n && !in.method; k++)
            if (!ops[k]->unlisted && is_out_form(*ops[k], *ops[i])) out = ops[k];
        candidates.push_back({ops[i], out});
    }
    MT_CHECK_TYPE(any, name, "() got an unexpected keyword argument 'out'");
    for (size_t i = 0; i < n && candidates.empty(); i++) candidates.push_back({ops[i], nullptr});
    auto fail = [&](const Candidate& candidate) {
        Operator* op = out_forms && candidate.out ? const_cast<Operator*>(candidate.out) : candidate.op;
        std::string text = reason(op);
        // A number stands for a tensor here: then it is the overload for numbers that says what else is wrong.
        const bool number = text.find("must be Tensor, not int") != std::string::npos ||
                            text.find("must be Tensor, not float") != std::string::npos;
        if (number && !hidden.empty()) text = reason(hidden[0]);
        MT_THROW(Type, text);
    };
    // A number's form that takes more by position, add(x, alpha, other), is a second one in PyTorch, which it does not
    // list.
    const bool single = candidates.size() == 1 && std::all_of(hidden.begin(), hidden.end(), [&](const Operator* op) {
                            return op->schema.positional == candidates[0].op->schema.positional;
                        });
    if (single) fail(candidates[0]);
    const Py_ssize_t given = in.nargs - (in.method ? 1 : 0) + keywords_of(in);
    std::vector<Candidate> plausible;
    for (const Candidate& each : candidates) {
        Py_ssize_t least = in.method ? -1 : 0;
        const Py_ssize_t most =
            least + each.op->nargs + (each.out || each.op->form == Form::Out ? 1 : 0) + (each.op->factory ? 1 : 0);
        for (const Argument& a : each.op->schema.args) least += !a.has_default;
        if (given < least || given > most) continue;
        plausible.push_back(each);
        std::string text = reason(each.op);  // only the first item of a list decides which overload it is
        if (text.find("failed to unpack the object") != std::string::npos) MT_THROW(Type, text);
    }
    if (plausible.size() == 1) fail(plausible[0]);
    auto show = [&](Py_ssize_t i, PyObject* o) { return keyword_name(in, i) + type_name(o); };
    std::string types = types_of(in, show);
    if (candidates.size() == 1) {
        const Mismatch found = mismatch_of(candidates[0], in);
        if (!found.types.empty()) types = found.types;
    }
    std::string text = concat(said, "() received an invalid combination of arguments - got ", types, ", but expected ");
    if (candidates.size() == 1) MT_THROW(Type, text, python_signature(*candidates[0].op, candidates[0].out, in.method));
    text += "one of:\n";
    sort(candidates, in.method);
    for (const Candidate& each : candidates)
        text += " * " + python_signature(*each.op, each.out, in.method) + "\n" + mismatches(each, in);
    MT_THROW(Type, text);
}

}  // namespace mt
