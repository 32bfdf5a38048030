// Operators: called by name, registered, and their kernels in libraries entered.
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <unordered_map>

#include "stable/abi.h"

extern "C" int Py_IsInitialized();

namespace mt::stable {

namespace {

// Operators that are another one's second name here, aten::divide say; asked for once.
mt_operator by_second_name(const char* name, const char* overload) {
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<std::string, std::string>;
    {
        std::lock_guard<std::mutex> lock(mutex);
        auto found = known.find(name);
        if (found != known.end()) return core().find(found->second.c_str(), overload);
    }
    const mt_value answer = call_hook("first_name", {value(name)});
    if (answer.tag != MT_OBJECT) return nullptr;
    Keeper keeper;
    keeper.keep(answer.as.object);
    mt_value text{};
    check(core().value_of(answer.as.object, &text));
    std::string first(text.as.string, text.len);
    std::lock_guard<std::mutex> lock(mutex);
    return core().find(known.emplace(name, std::move(first)).first->second.c_str(), overload);
}

}  // namespace

mt_operator operator_named(const char* name, const char* overload) {
    if (!name || !overload) fail("an operator's name and overload were expected, got a null pointer");
    mt_operator op = core().find(name, overload);
    if (!op) op = by_second_name(name, overload);
    if (!op) fail("Could not find schema for ", name, *overload ? "." : "", overload, ".");
    return op;
}

mt_value call(const char* name, const char* overload, std::initializer_list<mt_value> args) {
    std::vector<mt_value> copy(args);
    mt_value result{};
    check(core().call(operator_named(name, overload), copy.data(), static_cast<int32_t>(copy.size()), &result, 1));
    return result;
}

mt_value call_hook(const char* name, std::initializer_list<mt_value> args) {
    mt_value result{};
    check(core().call_python("mindtorch_v2._library.stable", name, args.begin(), static_cast<int32_t>(args.size()),
                             &result));
    return result;
}

namespace {

void release(const mt_value& v) {
    if (v.tag == MT_TENSOR || v.tag == MT_OBJECT || v.tag == MT_GENERATOR) core().release(v.as.object);
}

// All arguments are taken out of the stack, also where one of them is no value.
void call_on_stack(const char* name, const char* overload, StableIValue* stack) {
    mt_operator op = operator_named(name, overload);
    const Types& types = types_of(op);
    if (!types.args.empty() || !types.returns.empty()) expect_pointer(stack, "a stack of arguments");
    Keeper keeper;
    std::vector<mt_value> args(types.args.size());
    for (size_t i = 0; i < args.size(); i++) {
        try {
            args[i] = argument_of(stack[i], types.args[i].c_str(), keeper);
        } catch (...) {
            for (i++; i < args.size(); i++) drop_cell(stack[i], types.args[i].c_str());
            throw;
        }
    }
    std::vector<mt_value> rets(types.returns.size());
    check(core().call(op, args.data(), static_cast<int32_t>(args.size()), rets.data(),
                      static_cast<int32_t>(rets.size())));
    size_t done = 0;
    try {
        for (; done < rets.size(); done++) stack[done] = cell_of(rets[done], types.returns[done].c_str());
    } catch (...) {
        for (size_t i = 0; i < done; i++) drop_cell(stack[i], types.returns[i].c_str());
        for (const mt_value& v : rets) release(v);
        throw;
    }
    for (const mt_value& v : rets) release(v);
}

// ---- kernels ----

using Function = void (*)(StableIValue*, uint64_t, uint64_t);

// This thread's modes, as they were.
class Modes {
  public:
    Modes() : grad_(core().grad_mode()) { core().keys_of_thread(&included_, &excluded_); }
    ~Modes() {
        core().set_keys_of_thread(included_, excluded_);
        core().set_grad_mode(grad_);
    }

  private:
    int grad_;
    uint64_t included_, excluded_;
};

// The class of Python's that an exception of C++'s library becomes.
int kind_of(const std::exception& e) {
    if (dynamic_cast<const std::out_of_range*>(&e)) return MT_ERROR_INDEX;
    if (dynamic_cast<const std::invalid_argument*>(&e) || dynamic_cast<const std::domain_error*>(&e) ||
        dynamic_cast<const std::length_error*>(&e) || dynamic_cast<const std::range_error*>(&e))
        return MT_ERROR_VALUE;
    if (dynamic_cast<const std::overflow_error*>(&e)) return MT_ERROR_OVERFLOW;
    if (dynamic_cast<const std::bad_alloc*>(&e)) return MT_ERROR_MEMORY;
    return MT_ERROR_RUNTIME;
}

void enter(Function function, StableIValue* stack, uint64_t nargs, uint64_t nrets, int& kind) {
    const uint64_t before = failures_of_thread();
    try {
        function(stack, nargs, nrets);
    } catch (const std::exception& e) {
        // Libraries that were built for PyTorch 2.12 and earlier say only which call failed, not why.
        const std::string text = e.what();
        kind = kind_of(e);
        if (failures_of_thread() != before && text.find("API call failed at") != text.npos &&
            text.find(kept_text()) == text.npos)
            fail(kept_text(), " (", text, ")");
        fail(text);
    }
}

int run_kernel(void* context, mt_call* call) {
    int kind = MT_ERROR_RUNTIME;
    const AOTITorchError status = guarded([&] {
        Function function = reinterpret_cast<Function>(context);
        const Types& types = types_of(call->op);
        const size_t nargs = types.args.size(), nrets = types.returns.size();
        std::vector<StableIValue> stack(std::max(nargs, nrets));
        size_t done = 0;
        try {
            for (; done < nargs; done++) stack[done] = cell_of(call->args[done], types.args[done].c_str());
        } catch (...) {
            for (size_t i = 0; i < done; i++) drop_cell(stack[i], types.args[i].c_str());
            throw;
        }
        {
            Modes kept;
            enter(function, stack.data(), nargs, nrets, kind);
        }
        for (size_t i = 0; i < nrets; i++) {
            try {
                call->rets[i] = result_of(stack[i], types.returns[i].c_str());
            } catch (...) {
                for (size_t j = 0; j < i; j++) release(call->rets[j]);
                for (size_t j = 0; j < nrets; j++) call->rets[j] = none();
                for (i++; i < nrets; i++) drop_cell(stack[i], types.returns[i].c_str());
                throw;
            }
        }
    });
    if (status != AOTI_TORCH_SUCCESS) core().set_error(kind, kept_text().data(), kept_text().size(), nullptr);
    return status;
}

// ---- registration ----

struct Library {
    mt_object object;  // null: its registration failed while a file was being loaded, which fails then
};
Library& library(TorchLibraryHandle h) { return *static_cast<Library*>(held_by(number(h), Kind::Library)); }

// What fails in a static initialiser must not come back as an error: the wrappers throw then, which ends the process.
// Who loads the file raises it.
template <class F>
AOTITorchError registered(F&& body) noexcept {
    return guarded([&] {
        try {
            body();
        } catch (const std::exception& e) {
            const std::string text = e.what();
            if (!call_hook("is_loading", {}).as.boolean) throw;
            core().load_failed(MT_ERROR_RUNTIME, text.c_str());
        }
    });
}

AOTITorchError new_library(const char* kind, const char* ns, const char* key, const char* file, uint32_t line,
                           TorchLibraryHandle* ret) {
    return guarded(ret, [&] {
        auto made = std::make_unique<Library>();
        const AOTITorchError status = registered([&] {
            expect_pointer(ns, "a namespace");
            if (*kind == 'I') expect_pointer(key, "a dispatch key");
            check(core().library(kind, ns, key, file ? file : "", static_cast<int>(line), &made->object));
        });
        if (status != AOTI_TORCH_SUCCESS) fail(std::string(kept_text()));
        *ret = reinterpret_cast<TorchLibraryHandle>(new_handle(Kind::Library, made.get()));
        made.release();
    });
}

AOTITorchError define(TorchLibraryHandle h, const char* schema, const int32_t* tags, int32_t ntags) {
    return registered([&] {
        const Library& l = library(h);
        if (!l.object) return;
        expect_pointer(schema, "a schema");
        if (ntags < 0 || ntags > 1000) fail("0 to 1000 tags were expected, got ", ntags);
        if (ntags) expect_pointer(tags, "a list of tags");
        std::vector<const char*> names;
        for (int32_t i = 0; i < ntags; i++) {
            const char* found = nullptr;
#define TAG(name, number) \
    if (tags[i] == number && std::string_view(#name).starts_with("torch_tag_")) found = #name + 10;
            MINDTORCH_STABLE_NUMBERS(TAG)
#undef TAG
            if (!found) fail("no tag has the number ", tags[i]);
            names.push_back(found);
        }
        check(core().define(l.object, schema, names.data(), ntags));
    });
}

AOTITorchError implement(TorchLibraryHandle h, const char* name, Function fn) {
    return registered([&] {
        const Library& l = library(h);
        if (!l.object) return;
        expect_pointer(name, "the name of an operator");
        if (!fn) fail("the kernel of ", name, " is a null pointer");
        check(core().implement(l.object, name, nullptr, run_kernel, reinterpret_cast<void*>(fn), nullptr));
    });
}

}  // namespace
}  // namespace mt::stable

using namespace mt::stable;

AOTITorchError torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack, uint64_t version) {
    return guarded([&] { call_on_stack(name, overload, stack); });
}
AOTITorchError aoti_torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack) {
    return guarded([&] { call_on_stack(name, overload, stack); });
}

AOTITorchError aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line, TorchLibraryHandle* ret) {
    return new_library("DEF", ns, nullptr, file, line, ret);
}
AOTITorchError aoti_torch_library_init_fragment(const char* ns, const char* file, uint32_t line,
                                                TorchLibraryHandle* ret) {
    return new_library("FRAGMENT", ns, nullptr, file, line, ret);
}
AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* key, const char* file, uint32_t line,
                                            TorchLibraryHandle* ret) {
    return new_library("IMPL", ns, key, file, line, ret);
}
AOTITorchError aoti_torch_library_def(TorchLibraryHandle self, const char* schema) {
    return define(self, schema, nullptr, 0);
}
AOTITorchError torch_library_def_with_tags(TorchLibraryHandle self, const char* schema, const int32_t* tags,
                                           int32_t num_tags) {
    return define(self, schema, tags, num_tags);
}
AOTITorchError aoti_torch_library_impl(TorchLibraryHandle self, const char* name, Function fn) {
    return implement(self, name, fn);
}
AOTITorchError torch_library_impl(TorchLibraryHandle self, const char* name, Function fn, uint64_t version) {
    return implement(self, name, fn);
}
AOTITorchError torch_library_set_python_module(TorchLibraryHandle self, const char* pymodule, const char* context) {
    return registered([&] {
        const Library& l = library(self);
        if (!l.object) return;
        const char* module = text(pymodule, "the name of a module of Python");
        call_hook("set_python_module", {value(l.object), value(module), value(context ? context : "")});
    });
}
AOTITorchError aoti_torch_delete_library_object(TorchLibraryHandle h) {
    return guarded([&] {
        std::unique_ptr<Library> l(static_cast<Library*>(take_handle(number(h), Kind::Library)));
        if (!l->object) return;
        // At the end of the process, when static objects go, nothing is unregistered any more.
        if (!Py_IsInitialized()) return;
        call_hook("forget_library", {value(l->object)});
        core().release(l->object);
    });
}
