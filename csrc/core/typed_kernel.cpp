// Holding a kernel's signature against the schema of the operator that binds it.
#include "typed_kernel.h"

#include <algorithm>

#include "error.h"
#include "registry.h"

namespace mt {
namespace {

// "Tensor(a!) self": the argument as the schema's text has it, without its default.
std::string spelled(const Argument& a) { return a.name.empty() ? a.type_text : a.type_text + " " + a.name; }

bool fits(const Takes& t, const Argument& a, bool outputs_apart) {
    if (!(t.kinds >> static_cast<int>(a.kind) & 1)) return false;
    if (a.optional && !t.optional) return false;
    // The in-place and out= forms of a structured kernel are written through its outputs.
    return t.writes ? a.writes : outputs_apart || !a.writes || a.kind != ArgKind::Tensor || t.kinds == ~uint32_t(0);
}

}  // namespace

void check_signature(const Signature& s, const Operator& op, const char* kernel, bool structured) {
    const Schema& schema = op.schema;
    const int nargs = structured && op.form == Form::Out ? op.out_index : op.nargs;
    MT_CHECK_TYPE(s.nargs == nargs || (!s.complete && s.nargs < nargs), op.full_name, ": the kernel '", kernel,
                  "' takes ", s.nargs, " arguments, the schema has ", nargs, ": ", schema.text());
    for (int i = 0; i < s.nargs; i++) {
        const Argument& a = schema.args[static_cast<size_t>(i)];
        Takes takes = s.arguments[i];
        if (op.excused) takes.writes = false;  // PyTorch's schema does not say what is written
        MT_CHECK_TYPE(fits(takes, a, structured || op.excused), op.full_name, ": the kernel '", kernel,
                      "' takes argument ", i, ", '", a.name, "', as ", takes.type, "; the schema has ", spelled(a),
                      a.writes ? ", which is written: " : ": ", schema.text());
    }
    if (structured) return;
    MT_CHECK_TYPE(s.nresults == op.nrets, op.full_name, ": the kernel '", kernel, "' gives ", s.nresults,
                  " results, the schema has ", op.nrets, ": ", schema.text());
    for (int i = 0; i < s.nresults; i++) {
        const Argument& r = schema.returns[static_cast<size_t>(i)];
        const Takes& takes = s.results[i];
        MT_CHECK_TYPE(takes.kinds >> static_cast<int>(r.kind) & 1, op.full_name, ": the kernel '", kernel,
                      "' gives result ", i, " as ", takes.type, "; the schema has ", spelled(r), ": ", schema.text());
    }
}

void check_shape_signature(const Signature& s, const Operator& op, const char* rule, const std::vector<int>& words) {
    const Schema& schema = op.schema;
    const int named = static_cast<int>(words.size());
    MT_CHECK_TYPE(!named || named <= s.nargs || s.each, op.full_name, ": the row gives the shape rule '", rule, "' ",
                  named, " words, it takes ", s.nargs, ": ", schema.text());
    for (int k = 0; k < std::max(s.each ? named : 0, s.nargs); k++) {
        const int at = named ? (k < named ? words[static_cast<size_t>(k)] : -1) : k < op.nargs ? k : -1;
        const Takes& takes = s.arguments[std::min(k, s.nargs - 1)];
        if (at < 0) {
            MT_CHECK_TYPE(takes.optional, op.full_name, ": the shape rule '", rule, "' needs word ", k, ", as ",
                          takes.type, "; the row names no argument for it: ", schema.text());
            continue;
        }
        const Argument& a = schema.args[static_cast<size_t>(at)];
        MT_CHECK_TYPE((takes.kinds >> static_cast<int>(a.kind) & 1) && (takes.optional || !a.optional), op.full_name,
                      ": the shape rule '", rule, "' takes word ", k, ", '", a.name, "', as ", takes.type,
                      "; the schema has ", spelled(a), ": ", schema.text());
    }
}

}  // namespace mt
