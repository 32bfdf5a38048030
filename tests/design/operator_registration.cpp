// The calls and schemas of the design document of operator registration, in C++ as it writes them.
#include <torch/extension.h>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/library.h>

#include "../cpp_extension/expect.h"

static std::vector<c10::IValue> called;

static void note(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    called = *stack;
    const size_t results = op.schema().returns().size();
    const at::Tensor result = at::ones({1});
    stack->assign(results, result);
}

TORCH_LIBRARY(rfc_cpp, m) {
    m.def("nms(Tensor boxes, Tensor scores, float iou=0.5, int topk=-1, *, bool normalized=False) -> Tensor");
    m.def("roi_align(Tensor x, Tensor rois, int pooled_h=7, int pooled_w=7) -> Tensor");
    m.def("topk(Tensor x, int k=1, int axis=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)");
    m.def("softmax(Tensor x, int axis=-1, *, bool use_cudnn=True) -> Tensor");
    m.def("clamp(Tensor x, float? min=None, float? max=None) -> Tensor");
    m.def("blend((Tensor, Tensor) inputs, float alpha=0.5) -> Tensor");
    m.def("add_video_stream(Tensor(a!) decoder, *, (Tensor, Tensor, Tensor)? custom_frame_mappings=None) -> ()");
    m.def("normalize_(Tensor(a!) x, float eps=1e-5) -> Tensor(a!)");
    m.def("add(Tensor a, Tensor b) -> Tensor");
    m.def("matmul(Tensor a, Tensor b) -> Tensor");
    m.def("dropout(Tensor x, float p=0.5, *, bool training=True) -> Tensor");
    m.def("any(str how, ...) -> (int, ...)");
}

TORCH_LIBRARY_IMPL(rfc_cpp, CPU, m) {
    for (const char* name : {"nms", "roi_align", "topk", "softmax", "clamp", "blend", "add_video_stream", "normalize_",
                             "add", "matmul", "dropout"})
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&note>());
}

// As many results as there are values behind `how`, and their number.
static void give_back(const c10::OperatorHandle&, torch::jit::Stack* stack) {
    stack->front() = static_cast<int64_t>(stack->size()) - 1;
}
TORCH_LIBRARY_IMPL(rfc_cpp, CompositeExplicitAutograd, m) {
    m.impl("any", torch::CppFunction::makeFromBoxedFunction<&give_back>());
}

// Several back ends of one operator.
static at::Tensor twice_cpu(const at::Tensor& x, int64_t times) { return x * times; }
static at::Tensor twice_meta(const at::Tensor& x, int64_t times) { return at::empty_like(x); }
TORCH_LIBRARY_FRAGMENT(rfc_cpp, m) { m.def("twice(Tensor x, int times=2) -> Tensor"); }
TORCH_LIBRARY_IMPL(rfc_cpp, CPU, m) { m.impl("twice", &twice_cpu); }
TORCH_LIBRARY_IMPL(rfc_cpp, Meta, m) { m.impl("twice", &twice_meta); }

static void schemas() {
    const c10::FunctionSchema s = torch::jit::parseSchema(
        "ns::op.over(Tensor(a!) x, int[2] k=1, (Tensor, Tensor, Tensor)? maps=None, *, float? eps=1e-5, str "
        "mode=\"sum\") "
        "-> (Tensor(a!), Tensor[])");
    EXPECT(s.name() == "ns::op" && s.overload_name() == "over" &&
           s.operator_name() == c10::OperatorName("ns::op", "over"));
    EXPECT(s.arguments().size() == 5 && s.returns().size() == 2 && s.is_mutable());
    const c10::Argument& x = s.arguments()[0];
    EXPECT(x.name() == "x" && x.type()->kind() == c10::TypeKind::TensorType && x.type()->str() == "Tensor");
    EXPECT(x.alias_info() && x.alias_info()->isWrite() && x.alias_info()->beforeSets().size() == 1);
    EXPECT(!x.default_value() && !x.kwarg_only() && !x.N());
    const c10::Argument& k = s.arguments()[1];
    EXPECT(k.N() == 2 && k.type()->kind() == c10::TypeKind::ListType && k.type()->str() == "int[]");
    EXPECT(k.type()->containedTypes()[0]->kind() == c10::TypeKind::IntType);
    EXPECT(k.default_value()->toIntVector() == std::vector<int64_t>({1, 1}));
    const c10::Argument& maps = s.arguments()[2];
    EXPECT(maps.type()->kind() == c10::TypeKind::OptionalType && maps.default_value()->isNone());
    EXPECT(maps.type()->containedTypes()[0]->containedTypes().size() == 3);
    EXPECT(s.arguments()[3].kwarg_only() && s.arguments()[3].default_value()->toDouble() == 1e-5);
    EXPECT(s.arguments()[4].default_value()->toStringRef() == "sum" && s.argumentIndexWithName("mode") == 4);
    EXPECT(s.returns()[0].alias_info()->isWrite() && !s.returns()[1].alias_info());
    EXPECT(torch::jit::parseSchema(s.text()) == s && !s.is_vararg() && !s.is_varret());
    const c10::FunctionSchema any = torch::jit::parseSchema("f(Tensor x, ...) -> ...");
    EXPECT(any.is_vararg() && any.is_varret() && any.arguments().size() == 1 && any.returns().empty());
    EXPECT(std::holds_alternative<c10::OperatorName>(torch::jit::parseSchemaOrName("ns::op.over")));
    EXPECT(std::holds_alternative<c10::FunctionSchema>(torch::jit::parseSchemaOrName("op() -> ()")));
    std::ostringstream shown;
    shown << any;
    EXPECT(shown.str() == "f(Tensor x, ...) -> ...");
    bool thrown = false;
    try {
        torch::jit::parseSchema("f(Tensor x");
    } catch (const c10::Error&) {
        thrown = true;
    }
    EXPECT(thrown);
    const auto found = c10::Dispatcher::singleton().findSchemaOrThrow("rfc_cpp::softmax", "");
    EXPECT(found.schema().arguments()[2].kwarg_only() && found.schema().returns().size() == 1);
}

// What a kernel gets: the values behind those that the call names, or the error of the call.
static std::string call(const char* name, const torch::FunctionArgs& args) {
    called.clear();
    try {
        c10::Dispatcher::singleton().findSchemaOrThrow(name, "").call_with_args(args);
    } catch (const c10::Error& e) {
        return e.what_without_backtrace();
    }
    return "";
}
using torch::arg;
using torch::FunctionArgs;

static void right_calls() {
    const at::Tensor x = at::ones({2}), y = at::zeros({2});
    EXPECT(call("rfc_cpp::nms", FunctionArgs().add_arg(x).add_arg(y).add_arg(arg("topk") = 200)).empty());
    EXPECT(called.size() == 5 && called[2].toDouble() == 0.5 && called[3].toInt() == 200 && !called[4].toBool());
    EXPECT(call("rfc_cpp::roi_align", FunctionArgs().add_arg(x).add_arg(y)).empty());
    EXPECT(called[2].toInt() == 7 && called[3].toInt() == 7);
    EXPECT(call("rfc_cpp::topk", FunctionArgs().add_arg(x).add_arg(5).add_arg(arg("sorted") = false)).empty());
    EXPECT(called[1].toInt() == 5 && called[2].toInt() == -1 && called[3].toBool() && !called[4].toBool());
    EXPECT(
        call("rfc_cpp::softmax", FunctionArgs().add_arg(x).add_arg(arg("axis") = 1).add_arg(arg("use_cudnn") = false))
            .empty());
    EXPECT(called[1].toInt() == 1 && !called[2].toBool());
    EXPECT(call("rfc_cpp::clamp", FunctionArgs().add_arg(x).add_arg(arg("max") = 0.0)).empty());
    EXPECT(called[1].isNone() && called[2].toDouble() == 0.0);
    const c10::IValue pair = c10::IValue(std::make_tuple(x, y));
    EXPECT(call("rfc_cpp::blend", FunctionArgs().add_arg(pair).add_arg(arg("alpha") = 0.3)).empty());
    EXPECT(called[0].toTupleElements().size() == 2 && called[1].toDouble() == 0.3);
    EXPECT(call("rfc_cpp::add_video_stream",
                FunctionArgs().add_arg(x).add_arg(arg("custom_frame_mappings") = c10::IValue()))
               .empty());
    EXPECT(called.size() == 2 && called[1].isNone());
    EXPECT(call("rfc_cpp::normalize_", FunctionArgs().add_arg(x).add_arg(arg("eps") = 1e-6)).empty());
    EXPECT(called[1].toDouble() == 1e-6);
    const auto any = c10::Dispatcher::singleton().findSchemaOrThrow("rfc_cpp::any", "");
    torch::jit::Stack stack = any.call_with_args(FunctionArgs().add_arg("how").add_arg(x).add_arg(3).add_arg("more"));
    EXPECT(stack.size() == 4 && stack[0].toInt() == 3 && stack[1].toTensor().is_same(x));
    EXPECT(stack[2].toInt() == 3 && stack[3].toStringRef() == "more");
}

static void lists_of_arguments() {
    const FunctionArgs args = FunctionArgs().add_arg(3).add_arg("text").add_arg(arg("alpha") = 0.5);
    EXPECT(args.size() == 2 && args.named_size() == 1 && args.has_named_args());
    EXPECT(args.get<const int64_t&>(0) == 3 && args.get<std::string>(1) == "text");
    const auto [number, word] = args.to_tuple<int64_t, std::string>();
    EXPECT(number == 3 && word == "text" && args.to_string().find("kwargs={alpha: 0.5}") != std::string::npos);
    EXPECT(FunctionArgs::from_vector({1, 2}).size() == 2 && !FunctionArgs::from_vector({1}).has_named_args());
    EXPECT(said(error_of([&] { args.to_tuple<int64_t>(); }), "Argument count mismatch"));
    EXPECT(!error_of([&] { args.get<std::string>(0); }).empty());
    EXPECT(said(error_of([&] { args.get_value(2); }), "out of range"));
    EXPECT(said(error_of([] { FunctionArgs().add_arg(arg("missing")); }), "has no value"));
}

// A function called without an operator.
static void functions_alone() {
    const torch::CppFunction none, add([](int64_t a, int64_t b) { return a + b; }), nothing([](int64_t) {}),
        fails([](const at::Tensor& x) -> at::Tensor {
            TORCH_CHECK_VALUE(false, "numel ", x.numel());
            return x;
        }),
        pair([](double x) { return std::make_tuple(x, std::string("half")); });
    EXPECT(!none.valid() && add.valid());
    EXPECT(said(error_of([&] { none.call(); }), "not initialized"));
    EXPECT(said(error_of([&] { none.call(1); }), "not initialized"));
    EXPECT(said(error_of([&] { none.call_with_args(FunctionArgs()); }), "not initialized"));
    EXPECT(add.call(40, 2).get<int64_t>() == 42 && add.call_with_args(FunctionArgs::from_vector({1, 2})).has_value());
    EXPECT(said(error_of([&] { add.call(1); }), "Function expects 2 arguments, got 1"));
    EXPECT(said(error_of([&] { add.call_with_args(FunctionArgs().add_arg(arg("a") = 1)); }), "by position"));
    EXPECT(said(error_of([&] { add.call(1, "two"); }), "Function call failed: "));
    EXPECT(!error_of([&] { add.call(1, 2).get<std::string>(); }).empty());
    EXPECT(!nothing.call(1).has_value() && said(error_of([&] { nothing.call(1).get<int64_t>(); }), "no value"));
    EXPECT(said(error_of([&] { nothing.call(1).get_value(); }), "no value"));
    EXPECT(error_of([&] { fails.call(at::ones({3})); }) == "Function call failed: numel 3");
    EXPECT(pair.call(0.5).get_value().toTupleRef().elements()[1].toStringRef() == "half");
}

static void wrong_calls() {
    const at::Tensor x = at::ones({2});
    const auto says = [](const std::string& said, const char* part) { return said.find(part) != std::string::npos; };
    EXPECT(says(call("rfc_cpp::add", FunctionArgs().add_arg(x).add_arg(x).add_arg(arg("axis") = 1)),
                "Unknown keyword argument 'axis'"));
    EXPECT(says(call("rfc_cpp::topk", FunctionArgs().add_arg(x).add_arg(5).add_arg(arg("k") = 3)),
                "argument 'k' specified twice"));
    EXPECT(says(call("rfc_cpp::matmul", FunctionArgs().add_arg(x)), "missing value for argument 'b'"));
    EXPECT(says(call("rfc_cpp::dropout", FunctionArgs().add_arg(x).add_arg(0.2).add_arg(false)),
                "keyword-only argument 'training' passed as positional"));
    for (const auto& wrong : {arg("k"), arg("twice")}) {
        bool thrown = false;
        try {
            FunctionArgs args;
            args.add_arg(arg("twice") = 1).add_arg(wrong.name == "k" ? wrong : arg("twice") = 2);
        } catch (const c10::Error&) {
            thrown = true;
        }
        EXPECT(thrown);
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("schemas", &schemas);
    m.def("right_calls", &right_calls);
    m.def("wrong_calls", &wrong_calls);
    m.def("lists_of_arguments", &lists_of_arguments);
    m.def("functions_alone", &functions_alone);
}
