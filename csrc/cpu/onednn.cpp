// Loading oneDNN, and the per-thread caches of primitives.
#include "onednn.h"

#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "shared_library.h"

namespace mt::onednn {
namespace {

Api load() {
    void* library = open_shared_library({"*/mindtorch_v2/_lib/libdnnl.so.3", "*/../../libdnnl.so.3",
                                         "*/lib/libdnnl.so.3", "*/../../../libdnnl.so.3", "libdnnl.so.3"},
                                        "onednn-cpu-gomp", " (or set MINDTORCH_ONEDNN=0 to do without it)");
    Api a;
#define MT_LOOK_UP(name) a.name = reinterpret_cast<decltype(a.name)>(symbol_of(library, #name));
    MT_ONEDNN_FUNCTIONS(MT_LOOK_UP)
#undef MT_LOOK_UP
    check(a.dnnl_engine_create(&a.engine, dnnl_cpu, 0), "engine");
    check(a.dnnl_stream_create(&a.stream, a.engine, dnnl_stream_default_flags), "stream");
    return a;
}

struct KeyHash {
    size_t operator()(const Key& key) const {
        uint64_t h = 0x9e3779b97f4a7c15ull;
        for (int i = 0; i < key.used; i++)
            h = (h ^ static_cast<uint64_t>(key.words[i])) * 0xff51afd7ed558ccdull, h ^= h >> 29;
        return h;
    }
};

constexpr size_t kCacheBound = 1024;

}  // namespace

bool is_wanted() {
    static const bool wanted = [] {
        const char* choice = std::getenv("MINDTORCH_ONEDNN");
        return !choice || std::strcmp(choice, "0") != 0;
    }();
    return wanted;
}

const Api& api() {
    static const Api loaded = load();
    return loaded;
}

void check(dnnl_status_t status, const char* what) {
    MT_CHECK(status == dnnl_success, "oneDNN could not make or run: ", what, " (status ", static_cast<int>(status),
             ")");
}

bool Key::operator==(const Key& other) const {
    return used == other.used && std::memcmp(words, other.words, sizeof(int64_t) * static_cast<size_t>(used)) == 0;
}

Operand::Operand(IntSpan sizes_, IntSpan strides_, dnnl_data_type_t type_)
    : ndim(static_cast<int>(sizes_.size)), type(type_) {
    for (int i = 0; i < ndim; i++) sizes[i] = sizes_[i], strides[i] = strides_[i];
}

dnnl_memory_desc_t Operand::plain() const {
    dnnl_memory_desc_t d;
    check(api().dnnl_memory_desc_create_with_strides(&d, ndim, sizes, type, strides), "memory descriptor");
    return d;
}

dnnl_memory_desc_t Operand::any() const {
    dnnl_memory_desc_t d;
    check(api().dnnl_memory_desc_create_with_tag(&d, ndim, sizes, type, dnnl_format_tag_any), "memory descriptor");
    return d;
}

dnnl_data_type_t data_type(DType t) {
    switch (t) {
        case DType::Float32:
            return dnnl_f32;
        case DType::BFloat16:
            return dnnl_bf16;
        case DType::Float16:
            return dnnl_f16;
        case DType::Int8:
            return dnnl_s8;
        case DType::UInt8:
            return dnnl_u8;
        case DType::Int32:
            return dnnl_s32;
        default:
            return dnnl_data_type_undef;
    }
}

bool has_exact_int8() {
#if defined(__x86_64__)
    static const bool exact = __builtin_cpu_supports("avx512vnni");
    return exact;
#else
    return false;
#endif
}

bool has_native_bfloat16() {
#if defined(__x86_64__)
    static const bool found = __builtin_cpu_supports("avx512bf16");
    return found;
#else
    return false;
#endif
}

Primitive::~Primitive() {
    const Api& a = api();
    for (int i = 0; i < count_; i++) {
        Argument& g = arguments_[i];
        if (g.outside) a.dnnl_memory_destroy(g.outside);
        if (g.inside) a.dnnl_memory_destroy(g.inside);
        if (g.reorder) a.dnnl_primitive_destroy(g.reorder);
    }
    if (primitive_) a.dnnl_primitive_destroy(primitive_);
    if (description_) a.dnnl_primitive_desc_destroy(description_);
}

void Primitive::create(dnnl_primitive_desc_t description) {
    description_ = description;
    check(api().dnnl_primitive_create(&primitive_, description), "primitive");
}

void Primitive::bind(int arg, const Operand& outside, dnnl_query_t query, int index, bool is_output) {
    const Api& a = api();
    Argument& g = arguments_[count_++];
    g.arg = arg;
    g.is_output = is_output;
    dnnl_memory_desc_t ours = outside.plain();
    const_dnnl_memory_desc_t theirs = a.dnnl_primitive_desc_query_md(description_, query, index);
    check(a.dnnl_memory_create(&g.outside, ours, a.engine, DNNL_MEMORY_NONE), "memory");
    if (!a.dnnl_memory_desc_equal(ours, theirs)) {
        check(a.dnnl_memory_create(&g.inside, theirs, a.engine, DNNL_MEMORY_NONE), "memory");
        g.inside_bytes = a.dnnl_memory_desc_get_size(theirs);
        dnnl_primitive_desc_t reorder;
        check(a.dnnl_reorder_primitive_desc_create(&reorder, is_output ? theirs : ours, a.engine,
                                                   is_output ? ours : theirs, a.engine, nullptr),
              "reorder");
        check(a.dnnl_primitive_create(&g.reorder, reorder), "reorder");
        a.dnnl_primitive_desc_destroy(reorder);
    }
    a.dnnl_memory_desc_destroy(ours);
}

void Primitive::bind_as_wanted(int arg, dnnl_query_t query, int index) {
    const Api& a = api();
    Argument& g = arguments_[count_++];
    g.arg = arg;
    g.is_output = false;
    check(a.dnnl_memory_create(&g.outside, wanted(query, index), a.engine, DNNL_MEMORY_NONE), "memory");
}

void Primitive::execute(void* const* data, int count) {
    const Api& a = api();
    use_our_thread_count();
    dnnl_exec_arg_t args[kMaxArguments];
    Storage* buffers[kMaxArguments] = {};
    MT_CHECK(count == count_, "a oneDNN primitive takes ", count_, " arguments, got ", count);
    int i = 0;
    for (; i < count;) {
        Argument& g = arguments_[i];
        a.dnnl_memory_set_data_handle(g.outside, data[i]);
        args[i] = {g.arg, g.inside ? g.inside : g.outside};
        if (g.inside) {
            buffers[i] = storage_alloc(g.inside_bytes + 64, Device());
            void* aligned =
                reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(buffers[i]->data) + 63) & ~uintptr_t(63));
            a.dnnl_memory_set_data_handle(g.inside, aligned);
        }
        i++;
    }
    dnnl_status_t status = dnnl_success;
    {
        NoGil released;
        auto reorder = [&](Argument& g) {
            dnnl_exec_arg_t r[2] = {{DNNL_ARG_FROM, g.is_output ? g.inside : g.outside},
                                    {DNNL_ARG_TO, g.is_output ? g.outside : g.inside}};
            return a.dnnl_primitive_execute(g.reorder, a.stream, 2, r);
        };
        for (int k = 0; k < i && status == dnnl_success; k++)
            if (arguments_[k].reorder && !arguments_[k].is_output) status = reorder(arguments_[k]);
        if (status == dnnl_success) status = a.dnnl_primitive_execute(primitive_, a.stream, i, args);
        for (int k = 0; k < i && status == dnnl_success; k++)
            if (arguments_[k].reorder && arguments_[k].is_output) status = reorder(arguments_[k]);
    }
    for (int k = 0; k < i; k++)
        if (buffers[k]) buffers[k]->drop();
    check(status, "execution");
}

Primitive& cached(const Key& key, void (*make)(Primitive&, void*), void* context) {
    thread_local std::unordered_map<Key, std::unique_ptr<Primitive>, KeyHash> cache;
    api();
    use_our_thread_count();
    Key full = key;
    full.add(num_threads());
    MT_CHECK(full.used < Key::kWords, "oneDNN cache key is too long");
    auto found = cache.find(full);
    if (found != cache.end()) return *found->second;
    auto fresh = std::make_unique<Primitive>();
    make(*fresh, context);
    if (cache.size() >= kCacheBound) cache.clear();
    return *(cache[full] = std::move(fresh));
}

void use_our_thread_count() {
    int wanted = num_threads();
    if (omp_get_max_threads() != wanted) omp_set_num_threads(wanted);
}

}  // namespace mt::onednn
