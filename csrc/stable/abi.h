// What the files of PyTorch's stable ABI share: errors, handles, and values as schemas have them.
//
// libtorch_cpu.so stands on the boundary's table (mindtorch/boundary.h) alone, as every library of operators does.
#pragma once

#include <mindtorch/boundary.h>
#include <mindtorch/stable/c.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"

namespace mt::stable {

const mt_boundary& core();

// ---- errors ----

struct Failure : std::exception {
    explicit Failure(std::string t) : text(std::move(t)) {}
    const char* what() const noexcept override { return text.c_str(); }
    std::string text;
};
template <class... A>
[[noreturn]] void fail(const A&... parts) {
    std::string text;
    (append(text, parts), ...);
    throw Failure(std::move(text));
}
[[noreturn]] void fail_with_core_error();  // what the core has just reported
inline void check(int status) {
    if (__builtin_expect(status != 0, 0)) fail_with_core_error();
}
inline void expect_pointer(const void* p, const char* what) {
    if (__builtin_expect(!p, 0)) fail(what, " was expected, got a null pointer");
}
// The text of an argument that must be there.
inline const char* text(const char* s, const char* what) {
    expect_pointer(s, what);
    return s;
}
void keep_exception() noexcept;          // inside catch (...): its text becomes this thread's
uint64_t failures_of_thread() noexcept;  // how often that happened
const std::string& kept_text() noexcept;

// Runs a body; no exception leaves it.
template <class F>
AOTITorchError guarded(F&& body) noexcept {
    try {
        body();
        return AOTI_TORCH_SUCCESS;
    } catch (...) {
        keep_exception();
        return AOTI_TORCH_FAILURE;
    }
}
// The same for a body that writes results to places of the caller's.
template <class A, class F>
AOTITorchError guarded(const A* place, F&& body) noexcept {
    return guarded([&] {
        expect_pointer(place, "a place for the result");
        body();
    });
}
template <class A, class B, class F>
AOTITorchError guarded(const A* place, const B* second, F&& body) noexcept {
    return guarded(place, [&] {
        expect_pointer(second, "a place for the second result");
        body();
    });
}

// ---- handles ----
//
// A handle is no address but a kind, a count of uses and a place in a table. So a handle that was deleted, one of
// another kind and any other number are told from one that counts, and raise instead of touching memory.

enum class Kind : uint8_t { Tensor = 1, Generator, Stream, List, String, Guard, Library };
uint64_t new_handle(Kind kind, void* held);
void* held_by(uint64_t handle, Kind kind);      // Failure if it is none
void* take_handle(uint64_t handle, Kind kind);  // the same, and the handle ends

template <class H>
uint64_t number(H* h) {
    return reinterpret_cast<uint64_t>(h);
}
inline mt_tensor tensor(AtenTensorHandle h) {  // borrowed, null if undefined
    return static_cast<mt_tensor>(held_by(number(h), Kind::Tensor));
}
inline mt_tensor defined(AtenTensorHandle h) {
    mt_tensor t = tensor(h);
    if (!t) fail("the tensor is undefined");
    return t;
}
inline AtenTensorHandle own(mt_tensor t) {  // takes the reference
    return reinterpret_cast<AtenTensorHandle>(new_handle(Kind::Tensor, t));
}
struct List {
    std::vector<StableIValue> items;
};
inline List& list(uint64_t h) { return *static_cast<List*>(held_by(h, Kind::List)); }
inline std::string& string(uint64_t h) { return *static_cast<std::string*>(held_by(h, Kind::String)); }

// ---- values ----

// Of numbers of the caller's, one or two for each dimension: a length beyond all of them is no length but rubbish.
inline void expect_list(const int64_t* p, int64_t n) {
    constexpr int64_t most = 128;
    if (n < 0 || n > most) fail("a list of 0 to ", most, " numbers was expected, got one of ", n);
    if (n) expect_pointer(p, "a list of numbers");
}

// A type of a schema: '?' and '[' before what they are of, then a letter: t(ensor) i(nt) d(ouble) b(ool) y (element
// type) l(ayout) m(emory format) v (device) s(tring) g(enerator); 'x' and its name for what the ABI has no form of.
using Type = std::string;
struct Types {
    std::vector<Type> args, returns;
};
Types types_of_schema(std::string_view schema);
const Types& types_of(mt_operator op);

// References to give back, and memory that values point into, for the time of a call.
class Keeper {
  public:
    Keeper() = default;
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;
    ~Keeper();
    void keep(void* reference) { references_.push_back(reference); }
    template <class T>
    T* room(size_t n) {
        blocks_.emplace_back(n * sizeof(T) + 1);
        return reinterpret_cast<T*>(blocks_.back().data());
    }

  private:
    std::vector<void*> references_;
    std::vector<std::vector<char>> blocks_;
};

StableIValue cell_of(const mt_value& v, const char* type);  // a new reference goes into the cell
void drop_cell(StableIValue cell, const char* type) noexcept;
// What a cell holds, which is taken out of it. As an argument lists are the core's own, borrowed from `keeper`.
mt_value argument_of(StableIValue cell, const char* type, Keeper& keeper);
mt_value result_of(StableIValue cell, const char* type);  // owns

// ---- calls ----

inline mt_value value(mt_tensor t) {
    mt_value v{};
    v.tag = t ? MT_TENSOR : MT_NONE;
    v.as.tensor = t;
    return v;
}
inline mt_value value(bool b) {
    mt_value v{};
    v.tag = MT_BOOL;
    v.as.boolean = b;
    return v;
}
inline mt_value value(int64_t i) {
    mt_value v{};
    v.tag = MT_INT;
    v.as.integer = i;
    return v;
}
inline mt_value value(double d) {
    mt_value v{};
    v.tag = MT_DOUBLE;
    v.as.real = d;
    return v;
}
inline mt_value value(const char* s) {
    mt_value v{};
    v.tag = s ? MT_STRING : MT_NONE;
    v.as.string = s;
    v.len = s ? static_cast<uint32_t>(std::char_traits<char>::length(s)) : 0;
    return v;
}
inline mt_value value(mt_object o) {
    mt_value v{};
    v.tag = o ? MT_OBJECT : MT_NONE;
    v.as.object = o;
    return v;
}
inline mt_value ints(const int64_t* p, int64_t n) {
    expect_list(p, n);
    mt_value v{};
    v.tag = MT_INT_LIST;
    v.as.ints = p;
    v.len = static_cast<uint32_t>(n);
    return v;
}
inline mt_value none() { return mt_value{}; }
inline mt_device device_numbered(int64_t type, int64_t index) {
    constexpr int64_t types = 21;  // that PyTorch counts
    if (type < 0 || type >= types || index < -1 || index > 127) fail("no device has type ", type, " and index ", index);
    return {static_cast<uint8_t>(type), static_cast<int8_t>(index)};
}
// A new tensor's: a CPU has no number there, as in PyTorch.
inline mt_device device_of_new(int64_t type, int64_t index) {
    mt_device d = device_numbered(type, index);
    if (type == 0) d.index = -1;
    return d;
}
inline mt_value value(mt_device d) {
    mt_value v{};
    v.tag = MT_DEVICE;
    v.as.device = d;
    return v;
}
inline uint8_t known_dtype(int32_t number) {
    if (!aoti_torch_dtype_element_size(number)) fail("no element type has the number ", number);
    return static_cast<uint8_t>(number);
}
inline mt_value dtype_value(int32_t number) {
    mt_value v{};
    v.tag = MT_DTYPE;
    v.as.dtype = known_dtype(number);
    return v;
}

// The core counts mkldnn before sparse_csr, PyTorch the other way round. Both ways.
inline int64_t layout_number(int64_t n) { return n == 2 ? 3 : n == 3 ? 2 : n; }
inline mt_value layout_value(int32_t number) {
    if (number < 0 || number > 7) fail("no layout has the number ", number);
    mt_value v{};
    v.tag = MT_LAYOUT;
    v.as.integer = layout_number(number);
    return v;
}

mt_operator operator_named(const char* name, const char* overload);  // Failure if there is none
// Calls an operator that gives one value, which the caller owns.
mt_value call(const char* name, const char* overload, std::initializer_list<mt_value> args);
inline AtenTensorHandle call_for_tensor(const char* name, const char* overload, std::initializer_list<mt_value> args) {
    return own(call(name, overload, args).as.tensor);
}
// A function of mindtorch_v2._library.stable.
mt_value call_hook(const char* name, std::initializer_list<mt_value> args);

}  // namespace mt::stable
