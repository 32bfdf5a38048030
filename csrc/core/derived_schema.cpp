#include "derived_schema.h"

#include <utility>

#include "error.h"

namespace mt {
namespace {

AliasInfo written(std::string set) {
    AliasInfo a;
    a.present = a.writes = true;
    a.before = a.after = {std::move(set)};
    return a;
}

Argument tensor(std::string name, AliasInfo alias) {
    Argument a;
    a.name = std::move(name);
    a.type = simple_type(TypeKind::Tensor);
    a.alias_info = std::move(alias);
    return a;
}

// What the parser makes of it: it compiles what the binder needs, and makes sure that the text is a schema.
Schema parsed(const Schema& s) { return parse_schema(s.text()); }

}  // namespace

Schema inplace_schema(const Schema& functional) {
    Schema s = functional;
    bool fits = !s.args.empty() && !s.args[0].keyword_only && s.args[0].type->is(TypeKind::Tensor) &&
                !s.args[0].alias_info.present;
    MT_CHECK_VALUE(fits, "an in-place form needs a Tensor as first argument, which ", functional.text(), " has not");
    s.name += "_";
    s.args[0].alias_info = written("a");
    s.returns = {tensor("", written("a"))};
    return parsed(s);
}

Schema out_schema(const Schema& functional, const std::string& overload) {
    Schema s = functional;
    s.overload = overload;
    MT_CHECK_VALUE(!s.returns.empty() && !s.varret, "an out= form needs results, which ", functional.text(),
                   " has not");
    bool one = s.returns.size() == 1;
    for (size_t i = 0; i < s.returns.size(); i++) {
        const Argument& result = functional.returns[i];
        MT_CHECK_VALUE(result.type->is(TypeKind::Tensor) && !result.alias_info.present,
                       "an out= form needs new Tensors as results, which ", functional.text(), " has not");
        std::string set(1, static_cast<char>('a' + i));
        s.args.push_back(tensor(one ? "out" : "out" + std::to_string(i), written(set)));
        s.args.back().keyword_only = true;
        s.returns[i] = tensor("", written(set));
    }
    return parsed(s);
}

}  // namespace mt
