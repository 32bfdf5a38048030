// Running a graph: its operators are enqueued one by one, in an order that only the edges decide.
#include "execute.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace emu::ge {
namespace {

std::map<std::string, Kernel>& kernels() {
    static auto* table = new std::map<std::string, Kernel>;
    return *table;
}
std::map<std::string, Callback>& callbacks() {
    static auto* table = new std::map<std::string, Callback>;
    return *table;
}
std::mutex callbacks_mutex;

// ASCEND_EMULATOR_ORDER chooses among the orders that the edges allow; every run takes another one.
unsigned next_order() {
    static const char* asked = std::getenv("ASCEND_EMULATOR_ORDER");
    static std::atomic<unsigned> runs{0};
    return (asked ? static_cast<unsigned>(std::strtoul(asked, nullptr, 10)) : 1u) * 7919u + runs++;
}

bool is_structure(const Op& op) {
    return op.type == "Data" || op.type == "Const" || op.type == "NetOutput" || op.type == "NoOp";
}

}  // namespace

Registered::Registered(const char* type, Kernel kernel) { kernels()[type] = kernel; }
Kernel kernel_of(const std::string& type) {
    auto found = kernels().find(type);
    return found == kernels().end() ? nullptr : found->second;
}
Callback callback_of(const std::string& type) {
    std::lock_guard<std::mutex> lock(callbacks_mutex);
    auto found = callbacks().find(type);
    return found == callbacks().end() ? nullptr : found->second;
}

Instance::~Instance() {
    for (auto* kept : {&values, &scratch})
        for (auto& [key, memory] : *kept)
            if (memory) aclrtFree(memory);
}

void* Instance::buffer(std::map<std::pair<int, int>, void*>& kept, std::pair<int, int> key, size_t bytes) {
    auto found = kept.find(key);
    if (found != kept.end()) return found->second;
    void* made = nullptr;
    if (bytes && aclrtMalloc(&made, bytes, aclrtMemMallocPolicy{}))
        throw text("no device memory for ", bytes, " bytes");
    kept[key] = made;
    return made;
}

void Instance::load() {
    std::string missing;
    for (size_t i = 0; i < graph.ops.size(); i++) {
        const Op& op = graph.ops[i];
        if (!is_structure(op) && !kernel_of(op.type) && !callback_of(op.type))
            missing += text(missing.empty() ? "" : ", ", op.type, " ('", op.name, "')");
        if (op.type == "Data") continue;
        for (size_t j = 0; j < op.outputs.size(); j++) {
            if (op.written_input(j) >= 0) continue;
            buffer(values, {static_cast<int>(i), static_cast<int>(j)}, op.outputs[j].nbytes());
        }
        if (op.type == "Const") {
            auto found = op.attrs.find("value");
            if (found == op.attrs.end() || op.outputs.size() != 1 ||
                found->second.data.size() != op.outputs[0].nbytes())
                throw text("Const '", op.name, "': its data do not have the size of its output");
            const std::string& data = found->second.data;
            if (!data.empty()) {
                void* to = values[{static_cast<int>(i), 0}];
                if (aclrtMemcpy(to, data.size(), data.data(), data.size(), kHostToDevice))
                    throw text("Const '", op.name, "': its data could not be copied");
            }
        }
    }
    if (!missing.empty()) throw text("no kernel for the operators ", missing);
}

void* Instance::address(Edge e) const {
    const Op& op = graph.ops[static_cast<size_t>(e.op)];
    if (op.type == "Data") return bound[static_cast<size_t>(op.attrs.at("index").i)];
    int written = op.written_input(static_cast<size_t>(e.output));
    if (written >= 0) return address(op.from[static_cast<size_t>(written)]);
    return values.at({e.op, e.output});
}

void Instance::run(const std::vector<void*>& inputs, const std::vector<void*>& outputs, aclrtStream stream) {
    std::lock_guard<std::mutex> lock(running);
    bound = inputs;
    for (int i : ordered(graph, next_order())) {
        const Op& op = graph.ops[static_cast<size_t>(i)];
        if (op.type == "NetOutput") {
            for (size_t j = 0; j < op.from.size(); j++) {
                const Edge& e = op.from[j];
                size_t n = graph.ops[static_cast<size_t>(e.op)].outputs[static_cast<size_t>(e.output)].nbytes();
                if (n && aclrtMemcpyAsync(outputs[j], n, address(e), n, kDeviceToDevice, stream))
                    throw text("output ", j, " could not be copied");
            }
        } else if (Kernel kernel = kernel_of(op.type)) {
            Call call(*this, i, stream);
            kernel(call);
        } else if (!is_structure(op)) {
            Callback callback = callback_of(op.type);
            std::vector<void*> in, out;
            for (const Edge& e : op.from) in.push_back(e.op < 0 ? nullptr : address(e));
            for (size_t j = 0; j < op.outputs.size(); j++) out.push_back(address({i, static_cast<int>(j)}));
            if (!callback || callback(op.bytes.data(), op.bytes.size(), in.data(), out.data(), stream))
                throw text(op.type, " '", op.name, "': the program's kernel failed");
        }
    }
}

// ---- what kernels see ----

Call::Call(Instance& instance, int index, aclrtStream s)
    : op(instance.graph.ops[static_cast<size_t>(index)]), stream(s), instance_(instance), index_(index) {}

Call::~Call() {
    for (auto* x : lists_) aclDestroyTensorList(x);
    for (auto* x : tensors_) aclDestroyTensor(x);
    for (auto* x : scalars_) aclDestroyScalar(x);
    for (auto* x : arrays_) aclDestroyIntArray(x);
    for (auto* x : flags_) aclDestroyBoolArray(x);
}

namespace {

aclTensor* tensor_of(aclDataType dtype, const Shape& sizes, const Shape& strides, int64_t offset, int64_t storage,
                     void* address) {
    aclTensor* made =
        aclCreateTensor(sizes.data(), sizes.size(), dtype, strides.data(), offset, ACL_FORMAT_ND, &storage, 1, address);
    if (!made) throw std::string("no descriptor could be made");
    return made;
}
Shape dense(const Shape& sizes) {
    Shape r(sizes.size());
    int64_t n = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
        r[i] = n;
        n *= sizes[i];
    }
    return r;
}
int place(const std::vector<Desc>& among, const std::string& name) {
    for (size_t i = 0; i < among.size(); i++)
        if (among[i].name == name) return static_cast<int>(i);
    return -1;
}

}  // namespace

Shape sizes_of(T t) { return Shape(t->view.sizes, t->view.sizes + t->view.rank); }
Shape strides_of(T t) { return Shape(t->view.strides, t->view.strides + t->view.rank); }

T Call::optional(const char* name) const {
    int i = place(op.inputs, name);
    if (i < 0 || op.from[static_cast<size_t>(i)].op < 0) return nullptr;
    Edge e = op.from[static_cast<size_t>(i)];
    const Desc& d = instance_.graph.ops[static_cast<size_t>(e.op)].outputs[static_cast<size_t>(e.output)];
    aclTensor* made = tensor_of(d.dtype, d.dims, dense(d.dims), 0, d.numel(), instance_.address(e));
    const_cast<Call*>(this)->tensors_.push_back(made);
    return made;
}
T Call::in(const char* name) const {
    T found = optional(name);
    if (!found) throw text(op.type, " '", op.name, "': the input '", name, "' is missing");
    return found;
}
const Desc& Call::desc_in(const char* name) const {
    int i = place(op.inputs, name);
    if (i < 0 || op.from[static_cast<size_t>(i)].op < 0)
        throw text(op.type, " '", op.name, "': the input '", name, "' is missing");
    Edge e = op.from[static_cast<size_t>(i)];
    return instance_.graph.ops[static_cast<size_t>(e.op)].outputs[static_cast<size_t>(e.output)];
}
std::vector<T> Call::dynamic(const std::string& name) const {
    std::vector<T> r;
    for (size_t i = 0;; i++) {
        T each = optional((name + std::to_string(i)).c_str());
        if (!each) return r;
        r.push_back(each);
    }
}
O Call::out(size_t i) const {
    const Desc& d = op.outputs[i];
    aclTensor* made =
        tensor_of(d.dtype, d.dims, dense(d.dims), 0, d.numel(), instance_.address({index_, static_cast<int>(i)}));
    const_cast<Call*>(this)->tensors_.push_back(made);
    return made;
}
O Call::out(const char* name) const {
    int i = place(op.outputs, name);
    if (i < 0) throw text(op.type, " '", op.name, "': the output '", name, "' is missing");
    return out(static_cast<size_t>(i));
}
const Attr& Call::attr(const char* name) const {
    auto found = op.attrs.find(name);
    if (found == op.attrs.end()) throw text(op.type, " '", op.name, "': the attribute '", name, "' is missing");
    return found->second;
}

namespace {

template <class R>
std::vector<R> numbers(const std::string& bytes, const Desc& d) {
    std::vector<R> r(static_cast<size_t>(d.numel()));
    auto read = [&](auto e) {
        using E = decltype(e);
        for (size_t i = 0; i < r.size(); i++) {
            E v;
            std::memcpy(&v, bytes.data() + i * sizeof(E), sizeof(E));
            r[i] = static_cast<R>(v);
        }
    };
    if (d.dtype == ACL_INT64)
        read(int64_t());
    else if (d.dtype == ACL_INT32)
        read(int32_t());
    else if (d.dtype == ACL_FLOAT)
        read(float());
    else if (d.dtype == ACL_DOUBLE)
        read(double());
    else
        throw text("numbers of ", dtype_name(d.dtype), " cannot be read");
    return r;
}

}  // namespace

static std::string bytes_of(const Instance& instance, const Call& call, const char* name) {
    int i = place(call.op.inputs, name);
    const Desc& d = call.desc_in(name);
    Edge e = call.op.from[static_cast<size_t>(i)];
    const Op& source = instance.graph.ops[static_cast<size_t>(e.op)];
    if (source.type == "Const") return source.attrs.at("value").data;
    std::string bytes(d.nbytes(), 0);
    if (aclrtSynchronizeStream(call.stream) ||
        (!bytes.empty() && aclrtMemcpy(bytes.data(), bytes.size(), instance.address(e), bytes.size(), kDeviceToHost)))
        throw text(call.op.type, " '", call.op.name, "': the input '", name, "' could not be read");
    return bytes;
}
Shape Call::host(const char* name) const { return numbers<int64_t>(bytes_of(instance_, *this, name), desc_in(name)); }
double Call::host_real(const char* name) const {
    auto found = numbers<double>(bytes_of(instance_, *this, name), desc_in(name));
    if (found.size() != 1) throw text(op.type, " '", op.name, "': the input '", name, "' must be one number");
    return found[0];
}

aclScalar* Call::number(double v) { return scalars_.emplace_back(aclCreateScalar(&v, ACL_DOUBLE)); }
aclScalar* Call::number(int64_t v) { return scalars_.emplace_back(aclCreateScalar(&v, ACL_INT64)); }
aclIntArray* Call::ints(const Shape& v) { return arrays_.emplace_back(aclCreateIntArray(v.data(), v.size())); }
aclBoolArray* Call::flags(std::initializer_list<bool> v) {
    return flags_.emplace_back(aclCreateBoolArray(v.begin(), v.size()));
}
aclTensorList* Call::list(const std::vector<T>& v) {
    std::vector<const aclTensor*> own;  // a list ends the lives of its tensors
    for (T t : v) {
        if (!t) {
            own.push_back(tensor_of(ACL_INT64, {0}, {1}, 0, 0, nullptr));
            continue;
        }
        own.push_back(tensor_of(t->view.dtype, sizes_of(t), strides_of(t), t->view.offset, t->view.storage,
                                const_cast<char*>(t->view.base)));
    }
    return lists_.emplace_back(aclCreateTensorList(own.data(), own.size()));
}
O Call::view(T of, const Shape& sizes, const Shape& strides, int64_t offset) {
    return tensors_.emplace_back(tensor_of(of->view.dtype, sizes, strides, of->view.offset + offset, of->view.storage,
                                           const_cast<char*>(of->view.base)));
}
O Call::reshaped(T of, const Shape& sizes) { return view(of, sizes, dense(sizes)); }
O Call::scratch(aclDataType dtype, const Shape& sizes) {
    int64_t n = 1;
    for (int64_t d : sizes) n *= d;
    void* memory = instance_.buffer(instance_.scratch, {index_, buffers_++}, static_cast<size_t>(n) * itemsize(dtype));
    return tensors_.emplace_back(tensor_of(dtype, sizes, dense(sizes), 0, n, memory));
}

void Call::check(int code, const char* function) const {
    if (!code) return;
    const char* why = recent_message();
    throw text(op.type, " '", op.name, "': ", function, " returned ", code, why ? text(": ", why) : "");
}
void Call::launch(aclnnStatus (*second)(void*, uint64_t, aclOpExecutor*, aclrtStream), uint64_t size, aclOpExecutor* e,
                  const char* function) {
    void* memory = size ? instance_.buffer(instance_.scratch, {index_, buffers_++}, size) : nullptr;
    check(second(memory, size, e, stream), function);
}

}  // namespace emu::ge

// The program's own kernel for operators of a type. Not part of Ascend's interface: there, operator packages are
// installed.
EMU_API int emulatorGeOperator(const char* type, emu::ge::Callback callback) {
    std::lock_guard<std::mutex> lock(emu::ge::callbacks_mutex);
    emu::ge::callbacks()[type] = callback;
    return kSuccess;
}
