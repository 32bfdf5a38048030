// Defining operators and registering their kernels.
#pragma once

#include <mindtorch/dispatcher.h>

namespace torch {

template <class F, F* f>
struct CompileTimeFunction {
    using type = F;
    using FuncType = F;
    static constexpr F* func_ptr() { return f; }
    template <class... A>
    decltype(auto) operator()(A&&... args) const {
        return f(std::forward<A>(args)...);
    }
};
}  // namespace torch
namespace mindtorch MINDTORCH_HIDDEN {
template <class F, F* f>
struct Signature<torch::CompileTimeFunction<F, f>> : Signature<F> {};
}  // namespace mindtorch MINDTORCH_HIDDEN
namespace mindtorch MINDTORCH_HIDDEN {

// A type as both C++ and a schema write it: "int[2]" is a list of int64_t, and so are enumerations numbers.
inline std::string plain_type(const c10::Argument& a) {
    std::string t = a.type()->str();
    for (const char* number : {"SymInt", "ScalarType", "Layout", "MemoryFormat"})
        if (t.rfind(number, 0) == 0) t = "int" + t.substr(std::strlen(number));
    const size_t open = t.find('['), close = t.find(']');
    if (open != std::string::npos && close != std::string::npos) t.erase(open + 1, close - open - 1);
    return t;
}
// Why a kernel of that schema cannot be the operator's; "" where it can. Types that C++ writes in several ways pass.
inline std::string difference(const c10::FunctionSchema& expected, const c10::FunctionSchema& kernel) {
    auto compare = [](const std::vector<c10::Argument>& a, const std::vector<c10::Argument>& b,
                      const char* what) -> std::string {
        if (a.size() != b.size())
            return c10::str("The number of ", what, "s is different. ", a.size(), " vs ", b.size(), ".");
        auto known = [](const std::string& t) {
            const std::string word = t.substr(0, t.find_first_of("[?"));
            for (const char* each : {"Tensor", "int", "float", "bool", "str", "Scalar", "Device", "Generator"})
                if (word == each) return true;
            return false;
        };
        for (size_t i = 0; i < a.size(); i++) {
            const std::string wanted = plain_type(a[i]), got = plain_type(b[i]);
            if (wanted != got && known(wanted) && known(got))
                return c10::str("Type mismatch in ", what, " ", i + 1, ": ", wanted, " vs ", got, ".");
        }
        return "";
    };
    const std::string first = compare(expected.arguments(), kernel.arguments(), "argument");
    if (!first.empty() || expected.is_varret()) return first;
    return compare(expected.returns(), kernel.returns(), "return");
}

}  // namespace mindtorch MINDTORCH_HIDDEN
namespace torch {

// What a call of a CppFunction gives: a value, or none.
class FunctionResult {
  public:
    FunctionResult() = default;
    explicit FunctionResult(c10::IValue value) : value_(std::move(value)) {}
    static FunctionResult void_result() { return FunctionResult(); }
    bool has_value() const { return value_.has_value(); }
    const c10::IValue& get_value() const {
        TORCH_CHECK(value_, "FunctionResult: the function returned nothing, so there is no value");
        return *value_;
    }
    // The value as that type; an error if it is of another.
    template <class T>
    auto get() const {
        return get_value().template to<std::remove_cv_t<std::remove_reference_t<T>>>();
    }

  private:
    std::optional<c10::IValue> value_;
};

// A kernel of any kind.
class CppFunction {
  public:
    CppFunction() = default;
    template <class F, class = std::enable_if_t<!std::is_same<std::decay_t<F>, CppFunction>::value>>
    CppFunction(F&& f) {
        using Functor = std::decay_t<F>;
        using Sig = mindtorch::signature_of<Functor>;
        using Kernel = mindtorch::Unboxed<Functor, Sig>;
        kernel_ = Kernel::run;
        context_ =
            std::shared_ptr<void>(new Kernel{std::forward<F>(f)}, [](void* p) { delete static_cast<Kernel*>(p); });
        schema_ = [] { return mindtorch::SchemaOf<Sig>::text(); };
    }
    static CppFunction makeFallthrough() { return CppFunction(); }
    static CppFunction makeNamedNotSupported() { return CppFunction(); }
    template <void (*f)(const c10::OperatorHandle&, torch::jit::Stack*)>
    static CppFunction makeFromBoxedFunction() {
        return boxed([](const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* s) { f(op, s); });
    }
    template <void (*f)(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*)>
    static CppFunction makeFromBoxedFunction() {
        return boxed([](const c10::OperatorHandle& op, c10::DispatchKeySet k, torch::jit::Stack* s) { f(op, k, s); });
    }
    template <class Functor>
    static CppFunction makeFromBoxedFunctor(std::unique_ptr<Functor> functor) {
        return boxed(
            [shared = std::shared_ptr<Functor>(std::move(functor))](
                const c10::OperatorHandle& op, c10::DispatchKeySet k, torch::jit::Stack* s) { (*shared)(op, k, s); });
    }
    template <class F>
    static CppFunction makeFromUnboxedFunction(F* f) {
        return CppFunction(f);
    }
    template <class F>
    static CppFunction makeUnboxedOnly(F* f) {
        return CppFunction(f);
    }
    CppFunction& debug(std::string) & { return *this; }
    CppFunction&& debug(std::string) && { return std::move(*this); }
    CppFunction with_key(c10::DispatchKey k) && {
        key_ = k;
        return std::move(*this);
    }
    std::optional<c10::DispatchKey> key() const { return key_; }
    mt_kernel kernel() const { return kernel_; }
    // A reference for the core, given back by `release`.
    void* context() const { return context_ ? new std::shared_ptr<void>(context_) : nullptr; }
    static void release(void* p) { delete static_cast<std::shared_ptr<void>*>(p); }
    bool has_schema() const { return schema_ != nullptr; }
    std::string schema() const {
        TORCH_CHECK(schema_, "a schema cannot be inferred from a boxed function or a fallthrough");
        return schema_();
    }
    bool valid() const { return kernel_ != nullptr; }
    bool isValid() const { return valid(); }
    bool isFallthrough() const { return !valid(); }
    // Calls the function itself, without an operator; by position, as its parameters have no names.
    FunctionResult call_with_args(const FunctionArgs& given) const {
        TORCH_CHECK(valid(), "CppFunction is not initialized: it has no function to call");
        TORCH_CHECK(schema_, "a boxed function is called through its operator");
        TORCH_CHECK(!given.has_named_args(), "a function without a schema takes its arguments by position");
        const c10::FunctionSchema own("function" + schema_());
        const size_t n = own.arguments().size(), results = own.returns().size();
        TORCH_CHECK(given.size() == n, "Function expects ", n, " arguments, got ", given.size());
        std::vector<mindtorch::Packed> packed;
        std::vector<mt_value> args, rets(results);
        for (const c10::IValue& v : given.args()) packed.push_back(mindtorch::pack(v));
        for (const mindtorch::Packed& p : packed) args.push_back(p.v);
        mt_call call{};
        call.args = args.data();
        call.rets = rets.data();
        call.nargs = static_cast<int32_t>(n);
        call.nrets = static_cast<int32_t>(results);
        try {
            mindtorch::check(kernel_(context_.get(), &call));
        } catch (const c10::Error& e) {
            throw c10::Error("Function call failed: " + e.msg(),
                             e.kind() == MT_ERROR_PYTHON ? MT_ERROR_RUNTIME : e.kind());
        }
        c10::IValue::Items found;
        for (mt_value& r : rets) {
            found.push_back(mindtorch::from<c10::IValue>(r));
            mindtorch::drop(r);
        }
        if (found.empty()) return FunctionResult::void_result();
        return FunctionResult(found.size() == 1 ? std::move(found[0]) : c10::IValue::tuple(std::move(found)));
    }
    template <class... A>
    FunctionResult call(A&&... args) const {
        return call_with_args(FunctionArgs::from_vector({c10::IValue(std::forward<A>(args))...}));
    }

    // What the core enters: the context is a pointer to the shared one.
    static int enter(void* context, mt_call* c) {
        Entry* e = static_cast<Entry*>(context);
        return e->kernel(e->context.get(), c);
    }
    struct Entry {
        mt_kernel kernel;
        std::shared_ptr<void> context;
    };
    Entry* entry() const { return new Entry{kernel_, context_}; }
    static void release_entry(void* p) { delete static_cast<Entry*>(p); }

  private:
    using Boxed = std::function<void(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*)>;
    static CppFunction boxed(Boxed f) {
        CppFunction k;
        k.kernel_ = run_boxed;
        k.context_ = std::shared_ptr<void>(new Boxed(std::move(f)), [](void* p) { delete static_cast<Boxed*>(p); });
        return k;
    }
    static int run_boxed(void* context, mt_call* c) {
        try {
            torch::jit::Stack stack;
            for (int i = 0; i < c->nargs; i++) stack.push_back(mindtorch::from<c10::IValue>(c->args[i]));
            (*static_cast<Boxed*>(context))(c10::OperatorHandle(c->op), c10::DispatchKeySet(c->keys), &stack);
            const size_t named = c10::OperatorHandle(c->op).named_results();
            const bool more = named < static_cast<size_t>(c->nrets);  // the schema says "..."
            TORCH_CHECK(more ? stack.size() >= named : stack.size() == named, "a boxed kernel left ", stack.size(),
                        " values on the stack, its operator has ", named, more ? " results or more" : " results");
            for (size_t i = 0; i < named; i++) c->rets[i] = mindtorch::owned(mindtorch::pack(stack[i]));
            if (more) {
                const auto first = stack.begin() + static_cast<std::ptrdiff_t>(named);
                c->rets[named] = mindtorch::owned(mindtorch::pack(c10::IValue::list({first, stack.end()})));
            }
            return 0;
        } catch (...) {
            return mindtorch::report_exception();
        }
    }
    mt_kernel kernel_ = nullptr;
    std::shared_ptr<void> context_;
    std::string (*schema_)() = nullptr;
    std::optional<c10::DispatchKey> key_;
};
template <class F>
CppFunction dispatch(c10::DispatchKey key, F&& f) {
    return CppFunction(std::forward<F>(f)).with_key(key);
}
template <class F>
CppFunction dispatch(c10::DeviceType d, F&& f) {
    return dispatch(c10::key_of_device(d), std::forward<F>(f));
}
inline const char* schema(const char* text) { return text; }

template <class T>
class class_;

enum class _RegisterOrVerify { REGISTER, VERIFY };

// A schema as an object. What it tells of aliases stands in its text.
inline c10::FunctionSchema schema(const char* text, c10::AliasAnalysisKind = c10::AliasAnalysisKind::FROM_SCHEMA,
                                  bool = false) {
    return c10::FunctionSchema(std::string(text));
}
inline c10::FunctionSchema schema(const char* text, bool) { return c10::FunctionSchema(std::string(text)); }

class Library {
  public:
    enum Kind { DEF, IMPL, FRAGMENT };
    Library(Kind kind, std::string ns, const char* key, const char* file, int line)
        : ns_(std::move(ns)), key_(std::string_view(key) == "Autocast" ? "AutocastCUDA" : key) {  // one key, as in c10
        static const char* const kinds[] = {"DEF", "IMPL", "FRAGMENT"};
        mt_object o = nullptr;
        mindtorch::check(
            mindtorch::api().library(kinds[kind], ns_.c_str(), key_.empty() ? nullptr : key_.c_str(), file, line, &o));
        object_ = mindtorch::Object::steal(o);
    }
    Library(Kind kind, std::string ns, std::optional<c10::DispatchKey> key, const char* file, uint32_t line)
        : Library(kind, std::move(ns), key ? c10::toString(*key) : "", file, static_cast<int>(line)) {}
    Library(const Library&) = delete;
    Library(Library&&) = default;
    // What it registered goes with it.
    ~Library() {
        if (!object_) return;
        mt_value library{}, nothing{};
        library.tag = MT_OBJECT;
        library.as.object = object_.get();
        mindtorch::find_api()->call_python("mindtorch_v2._library.compiled", "forget_library", &library, 1, &nothing);
    }

    Library& def(const char* text, const std::vector<at::Tag>& tags = {},
                 _RegisterOrVerify rv = _RegisterOrVerify::REGISTER) & {
        check_registers(rv);
        std::vector<const char*> names;
        for (at::Tag t : tags) names.push_back(mindtorch::tag_name(t));
        mindtorch::check(
            mindtorch::api().define(object_.get(), text, names.data(), static_cast<int32_t>(names.size())));
        return *this;
    }
    Library& def(const std::string& text, const std::vector<at::Tag>& tags = {},
                 _RegisterOrVerify rv = _RegisterOrVerify::REGISTER) & {
        return def(text.c_str(), tags, rv);
    }
    Library& def(const c10::FunctionSchema& schema, const std::vector<at::Tag>& tags = {}) & {
        return def(schema.text().c_str(), tags);
    }
    // A schema, or a name: then the schema follows from the function's type.
    template <class F>
    Library& def(const char* text, F&& f, const std::vector<at::Tag>& tags = {}) & {
        CppFunction kernel(std::forward<F>(f));
        std::string schema = text;
        if (schema.find('(') == std::string::npos) {
            schema += kernel.schema();
        }
        def(schema.c_str(), tags);
        const std::string name = schema.substr(0, schema.find('('));
        return implement(name.c_str(), kernel, "CompositeImplicitAutograd");
    }
    template <class F>
    Library& def(const std::string& text, F&& f, const std::vector<at::Tag>& tags = {}) & {
        return def(text.c_str(), std::forward<F>(f), tags);
    }
    template <class F>
    Library& impl(const char* name, F&& f, _RegisterOrVerify rv = _RegisterOrVerify::REGISTER) & {
        check_registers(rv);
        return implement(name, CppFunction(std::forward<F>(f)), nullptr);
    }
    template <class F>
    Library& impl(const std::string& name, F&& f) & {
        return impl(name.c_str(), std::forward<F>(f));
    }
    // For a dispatch key or a type of device.
    template <class Key, class F, class = std::enable_if_t<std::is_enum_v<std::decay_t<Key>>>>
    Library& impl(const char* name, Key&& key, F&& f) & {
        return implement(name, dispatch(key, std::forward<F>(f)), nullptr);
    }
    template <class F>
    Library& impl_UNBOXED(const char* name, F* f) & {
        return impl(name, f);
    }
    template <class F>
    Library& fallback(F&& f) & {
        CppFunction k(std::forward<F>(f));
        mindtorch::check(mindtorch::api().fallback(object_.get(), key_of(k, nullptr),
                                                   k.kernel() ? CppFunction::enter : nullptr,
                                                   k.kernel() ? k.entry() : nullptr, CppFunction::release_entry));
        return *this;
    }
    // Where the operator's fake kernel is in Python: PyTorch looks there; here it is found in the same registry.
    Library& set_python_module(const char*, const char* = "") & { return *this; }
    Library& impl_abstract_pystub(const char* module, const char* context = "") & {
        return set_python_module(module, context);
    }
    template <class T>
    torch::class_<T> class_(const std::string& name);
    const std::string& ns() const { return ns_; }
    mt_object handle() const { return object_.get(); }

    Library& implement(const char* name, const CppFunction& k, const char* key) {
        if (k.has_schema()) check_fits(name, k.schema());
        mindtorch::check(mindtorch::api().implement(object_.get(), name, key_of(k, key),
                                                    k.kernel() ? CppFunction::enter : nullptr,
                                                    k.kernel() ? k.entry() : nullptr, CppFunction::release_entry));
        return *this;
    }

  private:
    static void check_registers(_RegisterOrVerify rv) {
        TORCH_CHECK_NOT_IMPLEMENTED(rv == _RegisterOrVerify::REGISTER,
                                    "Library: registrations are made here, not only verified");
    }
    // A kernel has the arguments and results of its operator, where that is defined already.
    void check_fits(const std::string& name, const std::string& inferred) const {
        const std::string full = name.find("::") == std::string::npos ? ns_ + "::" + name : name;
        const size_t dot = full.find('.', full.find("::") + 2);
        const mt_operator op = mindtorch::api().find(full.substr(0, dot).c_str(),
                                                     dot == std::string::npos ? "" : full.substr(dot + 1).c_str());
        if (!op) return;
        const c10::FunctionSchema expected = c10::OperatorHandle(op).schema(), own("kernel" + inferred);
        const std::string reason = mindtorch::difference(expected, own);
        TORCH_CHECK(reason.empty(),
                    "Inferred operator schema for a C++ kernel function doesn't match the expected function schema.\n"
                    "  operator: ",
                    full, "\n  expected schema: ", expected, "\n  inferred schema: ", inferred, "\n  reason: ", reason);
    }
    const char* key_of(const CppFunction& k, const char* key) const {
        if (k.key()) return c10::toString(*k.key());
        return key ? key : key_.empty() ? nullptr : key_.c_str();
    }
    std::string ns_, key_;
    mindtorch::Object object_;
};

namespace detail {
struct TorchLibraryInit {
    template <class F>
    TorchLibraryInit(Library::Kind kind, F* init, const char* ns, const char* key, const char* file, int line) {
        mindtorch::registering([&] {
            init(*new Library(kind, ns, key, file, line));  // for ever, as the code that it registers is there
        });
    }
};
}  // namespace detail

// The oldest form: an operator of a function, its schema inferred where none is given.
class RegisterOperators {
  public:
    class Options {
      public:
        Options&& schema(const std::string& text) && {
            schema_ = text;
            return std::move(*this);
        }
        Options&& aliasAnalysis(c10::AliasAnalysisKind) && { return std::move(*this); }
        template <class F, F* f>
        Options&& kernel(c10::DispatchKey key) && {
            kernels_.emplace_back(torch::dispatch(key, f));
            return std::move(*this);
        }
        template <class F>
        Options&& kernel(c10::DispatchKey key, F&& f) && {
            kernels_.emplace_back(torch::dispatch(key, std::forward<F>(f)));
            return std::move(*this);
        }
        template <class F, F* f>
        Options&& catchAllKernel() && {
            kernels_.emplace_back(CppFunction(f));
            return std::move(*this);
        }
        template <class F>
        Options&& catchAllKernel(F&& f) && {
            kernels_.emplace_back(CppFunction(std::forward<F>(f)));
            return std::move(*this);
        }

      private:
        friend class RegisterOperators;
        std::string schema_;
        std::vector<CppFunction> kernels_;
    };
    static Options options() { return Options(); }

    RegisterOperators() = default;
    template <class... A>
    explicit RegisterOperators(A&&... args) {
        add(std::forward<A>(args)...);
    }
    template <class F, class = std::enable_if_t<!std::is_same<std::decay_t<F>, Options>::value>>
    RegisterOperators&& op(const std::string& text, F&& f) && {
        add(text, std::forward<F>(f));
        return std::move(*this);
    }
    RegisterOperators&& op(const std::string& text, Options&& o = Options()) && {
        add(text, std::move(o));
        return std::move(*this);
    }
    RegisterOperators&& op(Options&& o) && {
        const std::string text = o.schema_;
        add(text, std::move(o));
        return std::move(*this);
    }

  private:
    template <class F, class = std::enable_if_t<!std::is_same<std::decay_t<F>, Options>::value>>
    void add(const std::string& text, F&& f) {
        Options o;
        o.kernels_.emplace_back(CppFunction(std::forward<F>(f)));
        add(text, std::move(o));
    }
    void add(const std::string& given, Options&& o) {
        mindtorch::registering([&] {
            std::string text = given;
            const size_t colons = text.find("::");
            TORCH_CHECK(colons != std::string::npos, "an operator's name has a namespace, 'ns::name', got ", text);
            if (text.find('(') == std::string::npos) {
                TORCH_CHECK(!o.kernels_.empty(), "no schema can be inferred for ", text, " without a kernel");
                text += o.kernels_[0].schema();
            }
            auto& library = *new Library(Library::FRAGMENT, text.substr(0, colons), "", "RegisterOperators", 0);
            library.def(text.c_str());
            const std::string name = text.substr(0, text.find('('));
            for (const CppFunction& k : o.kernels_)
                library.implement(name.c_str(), k, k.key() ? nullptr : "CompositeImplicitAutograd");
        });
    }
};
namespace jit {
using torch::RegisterOperators;
}

}  // namespace torch
namespace c10 {
using torch::RegisterOperators;
using KernelFunction = torch::CppFunction;
template <class F, F* f>
using CompileTimeFunctionPointer = torch::CompileTimeFunction<F, f>;
template <class T>
struct is_compile_time_function_pointer : std::false_type {};
template <class F, F* f>
struct is_compile_time_function_pointer<torch::CompileTimeFunction<F, f>> : std::true_type {};
}  // namespace c10

#define TORCH_FN_TYPE(f) ::torch::CompileTimeFunction<std::remove_pointer_t<std::remove_reference_t<decltype(f)>>, f>
#define TORCH_FN(f) TORCH_FN_TYPE(f)()
#define TORCH_SELECTIVE_NAME(x) x
#define TORCH_SELECTIVE_SCHEMA(x) x
#define TORCH_SELECTIVE_CLASS(x) x

#define TORCH_LIBRARY(ns, m)                                                         \
    static void TORCH_LIBRARY_init_##ns(torch::Library&);                            \
    static const torch::detail::TorchLibraryInit TORCH_LIBRARY_static_init_##ns(     \
        torch::Library::DEF, &TORCH_LIBRARY_init_##ns, #ns, "", __FILE__, __LINE__); \
    void TORCH_LIBRARY_init_##ns([[maybe_unused]] torch::Library& m)
#define MINDTORCH_LIBRARY_BLOCK(kind, ns, key, m, id)                                                             \
    static void C10_CONCATENATE(TORCH_LIBRARY_##kind##_init_##ns##_, id)(torch::Library&);                        \
    static const torch::detail::TorchLibraryInit C10_CONCATENATE(TORCH_LIBRARY_##kind##_static_init_##ns##_, id)( \
        torch::Library::kind, &C10_CONCATENATE(TORCH_LIBRARY_##kind##_init_##ns##_, id), #ns, key, __FILE__,      \
        __LINE__);                                                                                                \
    void C10_CONCATENATE(TORCH_LIBRARY_##kind##_init_##ns##_, id)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) MINDTORCH_LIBRARY_BLOCK(FRAGMENT, ns, "", m, C10_UID)
#define TORCH_LIBRARY_IMPL(ns, k, m) MINDTORCH_LIBRARY_BLOCK(IMPL, ns, #k, m, C10_UID)
