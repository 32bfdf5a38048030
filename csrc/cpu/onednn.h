// oneDNN: the library (loaded at the first use), its engine and stream, and caches of primitives by shape.
//
// Creating a primitive costs 120 to 140 us, so each thread keeps those it has made; a cached one owns its memory
// objects, of which only the data pointers change from call to call.
#pragma once

#include <dnnl.h>

#include <cstddef>
#include <cstdint>

#include "core/typed_kernel.h"

namespace mt::onednn {

// The functions of the C API that we call.
#define MT_ONEDNN_FUNCTIONS(F)                                   \
    F(dnnl_engine_create)                                        \
    F(dnnl_stream_create)                                        \
    F(dnnl_memory_desc_create_with_strides)                      \
    F(dnnl_memory_desc_create_with_tag)                          \
    F(dnnl_memory_desc_destroy)                                  \
    F(dnnl_memory_desc_equal)                                    \
    F(dnnl_memory_desc_get_size)                                 \
    F(dnnl_memory_create)                                        \
    F(dnnl_memory_set_data_handle)                               \
    F(dnnl_memory_destroy)                                       \
    F(dnnl_primitive_attr_create)                                \
    F(dnnl_primitive_attr_destroy)                               \
    F(dnnl_primitive_attr_set_scratchpad_mode)                   \
    F(dnnl_primitive_attr_set_post_ops)                          \
    F(dnnl_post_ops_create)                                      \
    F(dnnl_post_ops_destroy)                                     \
    F(dnnl_post_ops_append_eltwise)                              \
    F(dnnl_post_ops_append_binary)                               \
    F(dnnl_memory_desc_clone)                                    \
    F(dnnl_matmul_primitive_desc_create)                         \
    F(dnnl_convolution_forward_primitive_desc_create)            \
    F(dnnl_convolution_backward_data_primitive_desc_create)      \
    F(dnnl_convolution_backward_weights_primitive_desc_create)   \
    F(dnnl_deconvolution_forward_primitive_desc_create)          \
    F(dnnl_deconvolution_backward_data_primitive_desc_create)    \
    F(dnnl_deconvolution_backward_weights_primitive_desc_create) \
    F(dnnl_reorder_primitive_desc_create)                        \
    F(dnnl_primitive_desc_query_md)                              \
    F(dnnl_primitive_desc_destroy)                               \
    F(dnnl_primitive_create)                                     \
    F(dnnl_primitive_execute)                                    \
    F(dnnl_primitive_destroy)                                    \
    F(dnnl_sgemm)

struct Api {
#define MT_FIELD(name) decltype(&::name) name;
    MT_ONEDNN_FUNCTIONS(MT_FIELD)
#undef MT_FIELD
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

// False if the environment says MINDTORCH_ONEDNN=0: products and convolutions go through OpenBLAS and own loops then,
// as in a build without oneDNN.
bool is_wanted();
// Loads the library when first called (needs the GIL then).
const Api& api();

void check(dnnl_status_t status, const char* what);

// Sizes and strides of one operand as oneDNN wants them.
struct Operand {
    int ndim = 0;
    dnnl_dims_t sizes{}, strides{};
    dnnl_data_type_t type = dnnl_f32;
    Operand() = default;
    Operand(IntSpan sizes, IntSpan strides, dnnl_data_type_t type);
    dnnl_memory_desc_t plain() const;  // described by its strides
    dnnl_memory_desc_t any() const;    // whatever layout the primitive likes best
};

dnnl_data_type_t data_type(DType t);
// Whether this processor has instructions for bfloat16 products (AVX512_BF16).
bool has_native_bfloat16();

// Whether products of 8-bit numbers are exact: without AVX-512's VNNI sums of pairs are cut off at 16 bits.
bool has_exact_int8();

// What identifies a primitive: a fixed number of words, compared as bytes.
struct Key {
    static constexpr int kWords = 96;
    int64_t words[kWords];
    int used = 0;
    void add(int64_t word) {
        if (used < kWords) words[used++] = word;
    }
    void add(IntSpan list) {
        add(list.size);
        for (int64_t v : list) add(v);
    }
    bool operator==(const Key& other) const;
};

// A primitive with one memory object for each argument. Arguments whose layout differs from the tensor's own go through
// a reorder into (or out of) a buffer that lives with the call.
class Primitive {
  public:
    Primitive() = default;
    Primitive(const Primitive&) = delete;
    Primitive& operator=(const Primitive&) = delete;
    ~Primitive();

    // Takes the descriptor over.
    void create(dnnl_primitive_desc_t description);
    // Argument `arg` of the primitive is a tensor laid out as `outside`; `query` names the layout that the primitive
    // wants.
    void bind(int arg, const Operand& outside, dnnl_query_t query, int index, bool is_output);
    // Argument `arg` is laid out as the primitive wants it already.
    void bind_as_wanted(int arg, dnnl_query_t query, int index);
    const_dnnl_memory_desc_t wanted(dnnl_query_t query, int index) const {
        return api().dnnl_primitive_desc_query_md(description_, query, index);
    }
    bool is_made() const { return primitive_ != nullptr; }
    // Pointers in the order of the bind() calls.
    void execute(std::initializer_list<void*> data) { execute(data.begin(), static_cast<int>(data.size())); }
    void execute(void* const* data, int count);

  private:
    static constexpr int kMaxArguments = 8;
    struct Argument {
        int arg;
        bool is_output;
        dnnl_memory_t outside = nullptr;
        dnnl_memory_t inside = nullptr;  // null: the same layout
        dnnl_primitive_t reorder = nullptr;
        size_t inside_bytes = 0;
    };
    dnnl_primitive_desc_t description_ = nullptr;
    dnnl_primitive_t primitive_ = nullptr;
    Argument arguments_[kMaxArguments];
    int count_ = 0;
};

// The calling thread's primitive for `key`; `make` fills a fresh one in.
Primitive& cached(const Key& key, void (*make)(Primitive&, void* context), void* context);
template <class F>
Primitive& cached(const Key& key, F&& make) {
    return cached(key, [](Primitive& p, void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(p); }, &make);
}

// Makes OpenMP's thread count of this thread what torch.get_num_threads() says.
void use_our_thread_count();

}  // namespace mt::onednn
