#include "derived_schema.h"

#include <algorithm>
#include <array>
#include <utility>

#include "error.h"

namespace mt {
namespace {

// The arguments are those of a schema that was parsed, and keep what the parser made of them; these two are added as it
// would make them. Parsing the text again took most of what a form costs while the library is imported.
void write(Argument& a, const std::string& set) {
    AliasInfo info;
    info.present = info.writes = true;
    info.before = info.after = {set};
    a.alias_info = std::move(info);
    a.alias = set + "!";
    a.writes = true;
}

Argument written(std::string name, const std::string& set) {
    Argument a;
    a.name = std::move(name);
    a.type = simple_type(TypeKind::Tensor);
    a.type_text = "Tensor";
    a.kind = ArgKind::Tensor;
    write(a, set);
    return a;
}

Argument output(std::string name, const std::string& set) {
    Argument a = written(std::move(name), set);
    a.keyword_only = true;
    return a;
}

bool is_fresh(const Argument& result, const TypeRef& type) {
    return !result.alias_info.present && result.type->text() == type->text();
}

// The options of a tensor to be made follow from the tensor to be written.
void drop_options(std::vector<Argument>& args) {
    static const std::array<std::string, 4> options = {"dtype", "layout", "device", "pin_memory"};
    auto same = [](const Argument& a, const std::string& name) { return a.keyword_only && a.name == name; };
    auto at = std::search(args.begin(), args.end(), options.begin(), options.end(), same);
    if (at != args.end()) args.erase(at, at + 4);
}

}  // namespace

Schema inplace_schema(const Schema& functional, const std::string& overload) {
    Schema s = functional;
    if (!overload.empty()) s.overload = overload;
    bool fits = !s.args.empty() && !s.args[0].keyword_only && s.args[0].type->is(TypeKind::Tensor) &&
                !s.args[0].alias_info.present;
    MT_CHECK_VALUE(fits, "an in-place form needs a Tensor as first argument, which ", functional.text(), " has not");
    s.name += "_";
    write(s.args[0], "a");
    s.returns = {written("", "a")};
    return s;
}

Schema out_schema(const Schema& functional, const std::string& overload, bool generated,
                  const std::vector<std::string>& names) {
    MT_CHECK_VALUE(names.empty() || names.size() == functional.returns.size(), "an out= form of ", functional.text(),
                   " has ", functional.returns.size(), " tensors to write, and ", names.size(), " names were given");
    Schema s = functional;
    s.overload = overload;
    MT_CHECK_VALUE(!s.returns.empty() && !s.varret, "an out= form needs results, which ", functional.text(),
                   " has not");
    if (generated) drop_options(s.args);
    bool one = s.returns.size() == 1;
    static const TypeRef tensor = simple_type(TypeKind::Tensor), list = type_of(TypeKind::List, {tensor});
    if (generated && one && is_fresh(s.returns[0], list)) {
        s.args.push_back(output("out", "a"));
        Argument& out = s.args.back();
        AliasInfo items = out.alias_info;
        out.alias_info.before = out.alias_info.after = {};
        out.alias_info.items = {items};
        out.type = list;
        out.type_text = list->text();
        out.kind = ArgKind::TensorList;
        s.returns.clear();
        return s;
    }
    for (size_t i = 0; i < s.returns.size(); i++) {
        MT_CHECK_VALUE(is_fresh(functional.returns[i], tensor), "an out= form needs new Tensors as results, which ",
                       functional.text(), " has not");
        std::string set(1, static_cast<char>('a' + i));
        // PyTorch writes its own out= forms with the names of the results, those that it generates with numbers.
        const std::string& result = generated || one ? std::string() : functional.returns[i].name;
        std::string name = one ? "out" : !result.empty() ? result : "out" + std::to_string(i);
        s.args.push_back(output(names.empty() ? name : names[i], set));
        s.returns[i] = written(result, set);
    }
    return s;
}

}  // namespace mt
