// A library of the stable ABI whose kernels do what none may: with handles, with results, with errors, with threads. It
// stands on the C functions alone. Python calls each operator and expects an exception (hostile_kernels.py).
#include <mindtorch/stable/c.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Cell = StableIValue;
template <class H>
Cell number(H* handle) {
    return reinterpret_cast<Cell>(handle);
}
AtenTensorHandle tensor(Cell cell) { return reinterpret_cast<AtenTensorHandle>(cell); }
Cell text(const char* s) {
    StringHandle h;
    torch_new_string_handle(s, std::char_traits<char>::length(s), &h);
    return number(h);
}
void must(AOTITorchError status) {
    if (status) throw std::runtime_error(torch_exception_get_what_without_backtrace());
}
void must_fail(AOTITorchError status) {
    if (!status) throw std::logic_error("it was taken");
}

Cell g_kept = 0;  // from an earlier call

// ---- handles ----
void deletes_twice(Cell* stack, uint64_t, uint64_t) {
    must(aoti_torch_delete_tensor_object(tensor(stack[0])));
    must_fail(aoti_torch_delete_tensor_object(tensor(stack[0])));
    throw std::runtime_error(torch_exception_get_what_without_backtrace());
}
void returns_deleted(Cell* stack, uint64_t, uint64_t) { must(aoti_torch_delete_tensor_object(tensor(stack[0]))); }
void returns_rubbish(Cell* stack, uint64_t, uint64_t) { stack[0] = 0xdeadbeef; }
void returns_null(Cell* stack, uint64_t, uint64_t) { stack[0] = 0; }
void returns_a_string(Cell* stack, uint64_t, uint64_t) { stack[0] = text("no tensor"); }
void returns_same_twice(Cell* stack, uint64_t, uint64_t) { stack[1] = stack[0]; }
void returns_undefined(Cell* stack, uint64_t, uint64_t) {
    AtenTensorHandle h;
    must(aoti_torch_new_uninitialized_tensor(&h));
    stack[0] = number(h);
}
void keeps(Cell* stack, uint64_t, uint64_t) {
    AtenTensorHandle h;
    must(aoti_torch_new_tensor_handle(tensor(stack[0]), &h));
    g_kept = stack[0];
    must(aoti_torch_delete_tensor_object(tensor(stack[0])));
    stack[0] = number(h);
}
void returns_kept(Cell* stack, uint64_t, uint64_t) { stack[0] = g_kept; }
void list_in_itself(Cell* stack, uint64_t, uint64_t) {
    StableListHandle h;
    must(torch_new_list_reserve_size(1, &h));
    must(torch_list_push_back(h, number(h)));
    stack[0] = number(h);
}
void list_of_rubbish(Cell* stack, uint64_t, uint64_t) {
    StableListHandle h;
    must(torch_new_list_reserve_size(2, &h));
    must(torch_list_push_back(h, stack[0]));
    must(torch_list_push_back(h, 7));
    stack[0] = number(h);
}

// ---- values ----
void number_for_optional(Cell* stack, uint64_t, uint64_t) { stack[0] = 1; }
void odd_for_optional(Cell* stack, uint64_t, uint64_t) { stack[0] = 0x7fff00000001; }
void no_dtype(Cell* stack, uint64_t, uint64_t) { stack[0] = 99; }
void no_device(Cell* stack, uint64_t, uint64_t) { stack[0] = 99ULL << 32; }
void no_layout(Cell* stack, uint64_t, uint64_t) { stack[0] = 8; }
void no_format(Cell* stack, uint64_t, uint64_t) { stack[0] = 4; }
void no_text(Cell* stack, uint64_t, uint64_t) {
    StringHandle h;
    must(torch_new_string_handle("\xff\xfe", 2, &h));
    stack[0] = number(h);
}

// ---- calls ----
void calls_without_arguments(Cell*, uint64_t, uint64_t) { must(torch_call_dispatcher("aten::exp", "", nullptr, 0)); }
void calls_without_a_name(Cell* stack, uint64_t, uint64_t) { must(torch_call_dispatcher(nullptr, nullptr, stack, 0)); }
void calls_nothing(Cell* stack, uint64_t, uint64_t) { must(torch_call_dispatcher("aten::no_such", "", stack, 0)); }
void calls_with_rubbish(Cell*, uint64_t, uint64_t) {
    Cell stack[3] = {1, 2, 3};
    must(torch_call_dispatcher("aten::copy_", "", stack, 0));
}
void calls_with_a_used_handle(Cell* stack, uint64_t, uint64_t) {
    Cell first[2] = {stack[0]}, second[2] = {stack[0]};
    must(torch_call_dispatcher("aten::exp", "", first, 0));
    must(torch_call_dispatcher("aten::exp", "", second, 0));
}
void sizes_beyond_all(Cell* stack, uint64_t, uint64_t) {
    const int64_t sizes[2] = {INT64_MAX, INT64_MAX}, strides[2] = {1, 1};
    AtenTensorHandle h;
    must(aoti_torch_empty_strided(2, sizes, strides, 6, 0, -1, &h));
    stack[0] = number(h);
}
void sizes_below_zero(Cell* stack, uint64_t, uint64_t) {
    static float data[4];
    const int64_t sizes[1] = {-4}, strides[1] = {1};
    AtenTensorHandle h;
    must(torch_from_blob(data, 1, sizes, strides, 1, 6, 0, -1, &h, 0, nullptr, 0, nullptr, nullptr));
    stack[0] = number(h);
}
void strides_beyond_the_storage(Cell* stack, uint64_t, uint64_t) {
    const int64_t sizes[1] = {4}, strides[1] = {1 << 20};
    AtenTensorHandle h;
    must(aoti_torch__reinterpret_tensor(tensor(stack[0]), 1, sizes, strides, 0, &h));
    stack[0] = number(h);
}
void another_type(Cell* stack, uint64_t, uint64_t) {
    AtenTensorHandle h;
    must(aoti_torch_view_dtype(tensor(stack[0]), 256 + 6, &h));
    stack[0] = number(h);
}

// ---- errors ----
void throws_a_number(Cell*, uint64_t, uint64_t) { throw 42; }
void throws_a_text(Cell*, uint64_t, uint64_t) { throw "a text"; }
struct Own : std::exception {
    const char* what() const noexcept override { return "\xff no text \xfe"; }
};
void throws_no_text(Cell*, uint64_t, uint64_t) { throw Own(); }
void throws_at_length(Cell*, uint64_t, uint64_t) { throw std::runtime_error(std::string(1 << 20, 'x')); }
void checks_without_a_word(Cell*, uint64_t, uint64_t) { aoti_torch_check(false, nullptr, nullptr, 0, nullptr); }

// ---- threads ----
void throws_in_a_loop(Cell*, uint64_t, uint64_t) {
    must(torch_parallel_for(
        0, 1000, 1,
        [](int64_t begin, int64_t, void*) {
            if (begin >= 0) throw std::out_of_range("in a loop");
        },
        nullptr));
}
void throws_a_number_in_a_loop(Cell*, uint64_t, uint64_t) {
    must(torch_parallel_for(0, 1000, 1, [](int64_t, int64_t, void*) { throw 42; }, nullptr));
}
void fails_in_a_loop(Cell*, uint64_t, uint64_t) {
    must(torch_parallel_for(
        0, 1000, 1,
        [](int64_t, int64_t, void*) {
            Cell stack[2] = {16};
            must(torch_call_dispatcher("aten::exp", "", stack, 0));
        },
        nullptr));
}
void loops_without_a_body(Cell*, uint64_t, uint64_t) { must(torch_parallel_for(0, 10, 1, nullptr, nullptr)); }
// One handle that several threads delete at a time: it is deleted once.
void deletes_in_threads(Cell* stack, uint64_t, uint64_t) {
    const Cell cell = stack[0];
    for (int round = 0; round < 50; round++) {
        AtenTensorHandle h;
        must(aoti_torch_new_tensor_handle(tensor(cell), &h));
        struct Shared {
            AtenTensorHandle handle;
            int deleted;
        } shared{h, 0};
        must(torch_parallel_for(
            0, 8, 1,
            [](int64_t begin, int64_t end, void* p) {
                Shared& s = *static_cast<Shared*>(p);
                for (int64_t i = begin; i < end; i++)
                    if (!aoti_torch_delete_tensor_object(s.handle)) __atomic_fetch_add(&s.deleted, 1, __ATOMIC_SEQ_CST);
            },
            &shared));
        if (shared.deleted != 1) throw std::runtime_error("deleted " + std::to_string(shared.deleted) + " times");
    }
    must(aoti_torch_delete_tensor_object(tensor(cell)));
    throw std::runtime_error("deleted once");
}
void throws_in_a_deleter(Cell* stack, uint64_t, uint64_t) {
    static float data[4];
    const int64_t sizes[1] = {4}, strides[1] = {1};
    AtenTensorHandle h;
    must(torch_from_blob(
        data, 1, sizes, strides, 0, 6, 0, -1, &h, 0, nullptr, 0,
        [](void*, void*) { throw std::runtime_error("from a deleter"); }, nullptr));
    must(aoti_torch_delete_tensor_object(h));
    must(aoti_torch_delete_tensor_object(tensor(stack[0])));
    throw std::runtime_error("it went on");
}

#define KERNELS(_)                            \
    _(deletes_twice, "Tensor")                \
    _(returns_deleted, "Tensor")              \
    _(returns_rubbish, "Tensor")              \
    _(returns_null, "Tensor")                 \
    _(returns_a_string, "Tensor")             \
    _(returns_same_twice, "(Tensor, Tensor)") \
    _(returns_undefined, "Tensor")            \
    _(keeps, "Tensor")                        \
    _(returns_kept, "Tensor")                 \
    _(list_in_itself, "int[][]")              \
    _(list_of_rubbish, "Tensor[]")            \
    _(number_for_optional, "Tensor?")         \
    _(odd_for_optional, "int?")               \
    _(no_dtype, "ScalarType")                 \
    _(no_device, "Device")                    \
    _(no_layout, "Layout")                    \
    _(no_format, "MemoryFormat")              \
    _(no_text, "str")                         \
    _(calls_without_arguments, "Tensor")      \
    _(calls_without_a_name, "Tensor")         \
    _(calls_nothing, "Tensor")                \
    _(calls_with_rubbish, "Tensor")           \
    _(calls_with_a_used_handle, "Tensor")     \
    _(sizes_beyond_all, "Tensor")             \
    _(sizes_below_zero, "Tensor")             \
    _(strides_beyond_the_storage, "Tensor")   \
    _(another_type, "Tensor")                 \
    _(throws_a_number, "Tensor")              \
    _(throws_a_text, "Tensor")                \
    _(throws_no_text, "Tensor")               \
    _(throws_at_length, "Tensor")             \
    _(checks_without_a_word, "Tensor")        \
    _(throws_in_a_loop, "Tensor")             \
    _(throws_a_number_in_a_loop, "Tensor")    \
    _(fails_in_a_loop, "Tensor")              \
    _(loops_without_a_body, "Tensor")         \
    _(deletes_in_threads, "Tensor")           \
    _(throws_in_a_deleter, "Tensor")

[[gnu::constructor]] void load() {
    TorchLibraryHandle defined = nullptr, kernels = nullptr;
    aoti_torch_library_init_def("hostile_library", __FILE__, __LINE__, &defined);
    aoti_torch_library_init_impl("hostile_library", "CPU", __FILE__, __LINE__, &kernels);
#define REGISTER(name, returns)                                      \
    aoti_torch_library_def(defined, #name "(Tensor x) -> " returns); \
    torch_library_impl(kernels, #name, name, TORCH_ABI_VERSION);
    KERNELS(REGISTER)
}

}  // namespace
