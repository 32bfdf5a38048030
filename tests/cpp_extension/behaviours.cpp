// Behaviours of operator libraries, one by one: docs/design-documents.md has the list. The same file is compiled
// against PyTorch.
#include <torch/custom_class.h>
#include <torch/extension.h>
#include <torch/script.h>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "expect.h"

namespace {

using at::Tensor;

struct Counter : torch::CustomClassHolder {
    int64_t value, step;
    Counter(int64_t value, int64_t step) : value(value), step(step) {}
    void advance() { value += step; }
    int64_t get() const { return value; }
    void set(int64_t v) { value = v; }
    static int64_t two(int64_t a) { return a * 2; }
    static std::string title() { return "counter"; }
};

Tensor muladd(const Tensor& a, const Tensor& b, double c) { return a * b + c; }
int64_t add(int64_t a, int64_t b) { return a + b; }
std::string concat(const std::string& a, const std::string& b) { return a + b; }
Tensor plus_one(const Tensor& x) { return x + 1; }
Tensor empty(const Tensor& x) { return at::empty_like(x); }
Tensor basic(const Tensor& x, int64_t i, double f, bool b, const std::string& s, at::Device d, const at::Scalar& v,
             const std::optional<Tensor>& z) {
    EXPECT(d.is_cpu() && !z);
    return x + i + f + static_cast<int64_t>(b) + static_cast<int64_t>(s.size()) + v.toDouble();
}
at::Scalar sum_of_scalars(const at::Scalar& a, const at::Scalar& b) { return a.toDouble() + b.toDouble(); }
std::tuple<Tensor, int64_t> optionals(std::optional<int64_t> i, std::optional<double> f, std::optional<bool> b,
                                      std::optional<std::string> s, const std::optional<Tensor>& t) {
    const int64_t given = i.has_value() + f.has_value() + b.has_value() + s.has_value() + t.has_value();
    return {t ? *t + i.value_or(0) : at::zeros({1}), given};
}
std::string defaults(int64_t i, double f, bool b, const std::string& quoted) {
    return std::to_string(i) + "|" + std::to_string(static_cast<int64_t>(f * 10)) + "|" + std::to_string(b) + "|" +
           quoted;
}
int64_t keyword_only(const Tensor& x, std::optional<int64_t> index, std::string mode) {
    return index.value_or(-1) + static_cast<int64_t>(mode.size());
}
Tensor cast(const Tensor& x, at::ScalarType dtype) { return x.to(dtype); }
int64_t constant(int64_t const n) { return n + 1; }
int64_t maybe_int(std::optional<int64_t> n) { return n ? *n + 1 : -1; }
int64_t sum_of(at::IntArrayRef v) {
    int64_t s = 0;
    for (int64_t i : v) s += i;
    return s;
}
int64_t maybe_sum_of(at::OptionalIntArrayRef v) { return v ? sum_of(*v) : -1; }
bool maybe_tensor(const std::optional<Tensor>& x) { return x.has_value(); }
std::vector<Tensor> two_in_a_list(const Tensor& x) { return {x, x + 1}; }
std::tuple<Tensor, Tensor> pair(const Tensor& x) { return {x, x + 1}; }
std::tuple<Tensor, Tensor, Tensor> triple(const Tensor& x) { return {x, x + 1, x + 2}; }
void nothing(const int64_t& n, const std::string& s) {}

}  // namespace

TORCH_LIBRARY(behaviours, m) {
    m.def("muladd(Tensor a, Tensor b, float c) -> Tensor");
    m.class_<Counter>("Counter")
        .def(torch::init<int64_t, int64_t>())
        .def("advance", &Counter::advance)
        .def("get", &Counter::get)
        .def("set", &Counter::set)
        .def("plus", [](const c10::intrusive_ptr<Counter>& self, int64_t n) { return self->value + n; })
        .def_readonly("step", &Counter::step)
        .def_static("two", &Counter::two)
        .def_static("title", &Counter::title);
    m.def("from_schema(int a, int b) -> int");
    m.impl("from_schema", &add);
    m.def("schema_and_function(int a, int b) -> int", &add);
    m.def("function_alone", &add);
    m.def("schema_alone(Tensor x) -> Tensor");
    m.def("overload.name(int a, int b) -> int", &add);
    m.def("several(Tensor x) -> Tensor");
    m.def("basic(Tensor x, int i, float f, bool b, str s, Device d, Scalar v, Tensor? z=None) -> Tensor", &basic);
    m.def("sum_of_scalars(Scalar a, Scalar b) -> Scalar", &sum_of_scalars);
    m.def("optionals(int? i, float? f, bool? b, str? s, Tensor? t) -> (Tensor, int)", &optionals);
    m.def("defaults(int i=3, float f=-2.5, bool b=True, str quoted=\"abc\") -> str", &defaults);
    m.def("keyword_only(Tensor x, *, int? index=None, str mode=\"nearest\") -> int", &keyword_only);
    m.def("cast", &cast);
    m.def("constant", &constant);
    m.def("maybe_int", &maybe_int);
    m.def("sum_of", &sum_of);
    m.def("maybe_sum_of(int[]? v) -> int", &maybe_sum_of);
    m.def("maybe_tensor", &maybe_tensor);
    m.def("two_in_a_list", &two_in_a_list);
    m.def("pair", &pair);
    m.def("triple", &triple);
    m.def("nothing", &nothing);
    for (const char* name : {"selected", "preferred", "elsewhere", "in_two_places"})
        m.def((std::string(name) + "(int x) -> int").c_str());
}
TORCH_LIBRARY_FRAGMENT(behaviours, m) { m.def("add", &add); }
TORCH_LIBRARY_FRAGMENT(behaviours, m) { m.def("concat", &concat); }
TORCH_LIBRARY_IMPL(behaviours, CPU, m) {
    m.impl("muladd", &muladd);
    m.impl("several", &plus_one);
}
int64_t next(int64_t x) { return x + 1; }
int64_t over_next(int64_t x) { return x + 2; }
TORCH_LIBRARY_IMPL(behaviours, BackendSelect, m) {
    m.impl("selected", &next);
    m.impl("preferred", &next);
}
TORCH_LIBRARY_IMPL(behaviours, CPU, m) { m.impl("preferred", &over_next); }
TORCH_LIBRARY_IMPL(behaviours, CUDA, m) {
    m.impl("elsewhere", &over_next);
    m.impl("in_two_places", &over_next);
}
TORCH_LIBRARY_IMPL(behaviours, XPU, m) { m.impl("in_two_places", &over_next); }
TORCH_LIBRARY_IMPL(behaviours, Meta, m) { m.impl("several", &empty); }

namespace {

// The key of CUDA's autocast by its short name.
TORCH_LIBRARY_IMPL(behaviours, Autocast, m) { m.impl("muladd", torch::CppFunction::makeFallthrough()); }

// Registrations that are refused.
void refused() {
    torch::Library impl(torch::Library::IMPL, "behaviours", c10::DispatchKey::CPU, __FILE__, __LINE__);
    EXPECT(error_of([&] { impl.def("late(int a, int b) -> int"); }).find("TORCH_LIBRARY_IMPL") != std::string::npos);
    EXPECT(!c10::Dispatcher::singleton().findSchema({"behaviours::late", ""}));
    EXPECT(!error_of([&] { impl.def("later(int a, int b) -> int", &add); }).empty());
    torch::Library fragment(torch::Library::FRAGMENT, "behaviours", std::nullopt, __FILE__, __LINE__);
    EXPECT(!error_of([&] { fragment.def("three(int a, int b, int c) -> int", &add); }).empty());
    EXPECT(!error_of([&] { fragment.def("muladd(Tensor a, Tensor b) -> Tensor"); }).empty());
}

void found() {
    auto& all = c10::Dispatcher::singleton();
    EXPECT(all.findSchema({"behaviours::muladd", ""}) && !all.findSchema({"behaviours::none", ""}));
    EXPECT(all.findSchema({"behaviours::overload", "name"}) && !all.findSchema({"behaviours::overload", ""}));
    EXPECT(!error_of([&] { all.findSchemaOrThrow("behaviours::none", ""); }).empty());
}

void values() {
    const c10::IValue none, yes(true), three(3), real(2.5), text("hello"), tensor(at::ones({2}));
    const c10::IValue list(std::vector<int64_t>{1, 2, 3}),
        tuple(std::make_tuple(int64_t(1), true, std::string("three")));
    EXPECT(none.isNone() && none.tagKind() == "None");
    EXPECT(yes.isBool() && yes.toBool() && !yes.isInt() && yes.tagKind() == "Bool");
    EXPECT(three.isInt() && three.toInt() == 3 && three.isScalar() && three.tagKind() == "Int");
    EXPECT(real.isDouble() && real.toDouble() == 2.5 && real.tagKind() == "Double");
    EXPECT(text.isString() && text.toStringRef() == "hello" && text.tagKind() == "String");
    EXPECT(tensor.isTensor() && tensor.toTensor().numel() == 2 && tensor.tagKind() == "Tensor");
    EXPECT(list.isIntList() && list.isList() && list.toIntVector() == std::vector<int64_t>({1, 2, 3}));
    EXPECT(tuple.isTuple() && tuple.toTupleRef().elements().size() == 3 && tuple.tagKind() == "Tuple");
    const auto shown = [](const c10::IValue& v) {
        std::ostringstream out;
        out << v;
        return out.str();
    };
    EXPECT(shown(none) == "None" && shown(yes) == "True" && shown(three) == "3" && shown(real) == "2.5");
    EXPECT(shown(list) == "[1, 2, 3]");
    EXPECT(!error_of([&] { three.toStringRef(); }).empty() && !error_of([&] { text.toInt(); }).empty());
}

c10::FunctionSchema parsed(const char* text) { return torch::jit::parseSchema(text); }

void schemas() {
    EXPECT(parsed("f(float? x) -> ()").arguments()[0].type()->str() == "float?");
    EXPECT(parsed("f((Tensor, Tensor, Tensor)? x) -> Tensor?").arguments()[0].type()->kind() ==
           c10::TypeKind::OptionalType);
    const auto written = parsed("f(Tensor(a! -> b) x) -> Tensor(b)");
    EXPECT(written.arguments()[0].alias_info()->isWrite());
    EXPECT(written.arguments()[0].alias_info()->beforeSets() != written.arguments()[0].alias_info()->afterSets());
    EXPECT(parsed("f() -> (Tensor, Tensor)").returns().size() == 2);
    EXPECT(parsed("f() -> ((Tensor, Tensor))").returns().size() == 1);
    EXPECT(parsed("f(int[3]? x=None) -> ()").arguments()[0].default_value()->isNone());
    EXPECT(parsed("f(float x=1.25e-1) -> ()").arguments()[0].default_value()->toDouble() == 0.125);
    EXPECT(parsed("f(str s=\"a\\n\\t\\\\\\\"b\") -> ()").arguments()[0].default_value()->toStringRef() == "a\n\t\\\"b");
    EXPECT(parsed("f() -> (Tensor one, int two)").returns()[1].name() == "two");
    EXPECT(parsed("f(Tensor x, ...) -> ...").is_vararg() && parsed("f(Tensor x, ...) -> ...").is_varret());
    EXPECT(parsed("f() -> ()").returns().empty());
    for (const char* wrong : {"", "f", "f(", "f()", "f(Tensor x", "f(Tensor x) ->", "f(Tensor) -> ()",
                              "f(Tensor x,) -> (", "f(bool b=true) -> ()", "f(str s=abc) -> ()", "f(Tensor(a x) -> ()",
                              "f(int x=) -> ()", "f(str s=\"open) -> ()", "f(int x=1.5.2) -> ()"})
        TORCH_CHECK(!error_of([&] { parsed(wrong); }).empty(), "accepted: ", wrong);
}

using c10::SchemaArgType;

// Which arguments may be, or hold, the same memory.
void aliases() {
    const auto s = parsed(
        "f.out(Tensor(a) a, Tensor(b!) b, Tensor(*) c, Tensor[] d, int e, *, Tensor(f!) f) -> "
        "(Tensor(a), Tensor(b!), Tensor(*) c, Tensor[] d, Tensor(f!) named)");
    const auto in = [](size_t i) { return c10::SchemaArgument(SchemaArgType::input, i); };
    const auto out = [](size_t i) { return c10::SchemaArgument(SchemaArgType::output, i); };
    EXPECT(s.arguments()[5].is_out() && !s.arguments()[1].is_out() && s.returns()[4].name() == "named");
    EXPECT(s.is_aliasing(in(0)) && s.is_aliasing(in(2)) && !s.is_aliasing(in(3)) && s.is_aliasing(out(1)));
    EXPECT(s.is_mutable() && s.is_mutable(in(1)) && !s.is_mutable(in(0)) && s.is_mutable(out(4)));
    EXPECT(s.is_mutable("b") && s.is_mutable("f") && !s.is_mutable("e"));
    EXPECT(!error_of([&] { s.is_mutable("named_argument"); }).empty());
    EXPECT(!error_of([&] { s.is_mutable(in(6)); }).empty() && !error_of([&] { s.is_aliasing(out(5)); }).empty());
    EXPECT(s.may_alias(in(0), out(0)) && s.may_alias(in(1), out(1)) && !s.may_alias(in(0), out(1)));
    EXPECT(s.may_alias(in(2), out(2)) && !s.may_alias(in(3), out(3)) && !s.may_alias(in(4), in(4)));
    EXPECT(s.may_contain_alias(in(3), out(2)) && s.may_contain_alias(out(2), in(3)));
    EXPECT(s.may_contain_alias(in(3), out(2), false) && !s.may_contain_alias(out(2), in(3), false));
    EXPECT(s.may_contain_alias(in(3), out(3)) && !s.may_contain_alias(in(3), in(0)) &&
           !s.may_contain_alias(in(4), out(3)));
    EXPECT(!error_of([] { parsed("f(Tensor(!) x) -> ()"); }).empty());
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("refused", &refused);
    m.def("found", &found);
    m.def("values", &values);
    m.def("schemas", &schemas);
    m.def("aliases", &aliases);
}
