// c10d: process groups in C++. A group, a store or a work that Python made is called through Python; a program's own
// classes stand beside them and are called as they are.
#pragma once

#include <mindtorch/library.h>
#include <mindtorch/math.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace c10 {
namespace ivalue {
// A value that is there later; on this thread's side it is waited for.
class Future : public intrusive_ptr_target {
  public:
    explicit Future(TypePtr type = AnyType::get(), std::vector<Device> devices = {})
        : type_(std::move(type)), devices_(std::move(devices)) {}
    void markCompleted(IValue value = {}) { finish(std::move(value), nullptr); }
    void setError(std::exception_ptr error) { finish({}, std::move(error)); }
    bool completed() const {
        const std::lock_guard<std::mutex> guard(lock_);
        return done_;
    }
    bool hasValue() const { return completed() && !error_; }
    bool hasError() const { return completed() && error_; }
    std::exception_ptr exception_ptr() const { return error_; }
    void wait() {
        std::unique_lock<std::mutex> guard(lock_);
        finished_.wait(guard, [&] { return done_; });
    }
    void waitAndThrow() {
        wait();
        if (error_) std::rethrow_exception(error_);
    }
    IValue value() {
        waitAndThrow();
        return value_;
    }
    const IValue& constValue() const {
        TORCH_CHECK(hasValue(), "the future has no value yet");
        return value_;
    }
    template <class F>
    void addCallback(F callback, bool = false) {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            if (!done_) {
                callbacks_.push_back([callback = std::move(callback)](Future& f) mutable { callback(f); });
                return;
            }
        }
        callback(*this);
    }
    template <class F>
    intrusive_ptr<Future> then(F callback, TypePtr type) {
        auto next = make_intrusive<Future>(std::move(type));
        addCallback([next, callback = std::move(callback)](Future& f) mutable {
            try {
                next->markCompleted(IValue(callback(f)));
            } catch (...) {
                next->setError(std::current_exception());
            }
        });
        return next;
    }
    const TypePtr& elementType() const { return type_; }
    const std::vector<Device>& devices() const { return devices_; }

  private:
    void finish(IValue value, std::exception_ptr error) {
        std::vector<std::function<void(Future&)>> callbacks;
        {
            const std::lock_guard<std::mutex> guard(lock_);
            TORCH_CHECK(!done_, "a future is completed once");
            value_ = std::move(value);
            error_ = std::move(error);
            done_ = true;
            callbacks.swap(callbacks_);
        }
        finished_.notify_all();
        for (const auto& each : callbacks) each(*this);
    }
    TypePtr type_;
    std::vector<Device> devices_;
    mutable std::mutex lock_;
    std::condition_variable finished_;
    std::vector<std::function<void(Future&)>> callbacks_;
    IValue value_;
    std::exception_ptr error_;
    bool done_ = false;
};
}  // namespace ivalue
}  // namespace c10

namespace c10d {

constexpr std::chrono::milliseconds kUnsetTimeout(-1), kNoTimeout(0);
constexpr auto kBackendDefaultTimeout = std::chrono::milliseconds(30 * 60 * 1000);
constexpr auto kProcessGroupDefaultTimeout = kBackendDefaultTimeout;

enum class OpType : std::uint8_t {
    BROADCAST = 0,
    ALLREDUCE = 1,
    ALLREDUCE_COALESCED = 2,
    REDUCE = 3,
    ALLGATHER = 4,
    _ALLGATHER_BASE = 5,
    ALLGATHER_COALESCED = 6,
    GATHER = 7,
    SCATTER = 8,
    REDUCE_SCATTER = 9,
    ALLTOALL_BASE = 10,
    ALLTOALL = 11,
    SEND = 12,
    RECV = 13,
    RECVANYSOURCE = 14,
    BARRIER = 15,
    _REDUCE_SCATTER_BASE = 16,
    COALESCED = 17,
    _ALLREDUCE_SPARSE = 18,
    UNKNOWN = 100,
};
inline std::string opTypeToString(OpType type) {
    static const char* const names[] = {"BROADCAST",
                                        "ALLREDUCE",
                                        "ALLREDUCE_COALESCED",
                                        "REDUCE",
                                        "ALLGATHER",
                                        "_ALLGATHER_BASE",
                                        "ALLGATHER_COALESCED",
                                        "GATHER",
                                        "SCATTER",
                                        "REDUCE_SCATTER",
                                        "ALLTOALL_BASE",
                                        "ALLTOALL",
                                        "SEND",
                                        "RECV",
                                        "RECVANYSOURCE",
                                        "BARRIER",
                                        "_REDUCE_SCATTER_BASE",
                                        "COALESCED",
                                        "_ALLREDUCE_SPARSE"};
    return type == OpType::UNKNOWN ? "UNKNOWN" : names[static_cast<size_t>(type)];
}
inline bool isP2POp(OpType type, bool batched = false) {
    return !batched && (type == OpType::SEND || type == OpType::RECV || type == OpType::RECVANYSOURCE);
}

// How the ranks' values become one.
struct ReduceOp : torch::CustomClassHolder {
    enum RedOpType : uint8_t {
        SUM = 0,
        AVG = 1,
        PRODUCT = 2,
        MIN = 3,
        MAX = 4,
        BAND = 5,
        BOR = 6,
        BXOR = 7,
        PREMUL_SUM = 8,
        UNUSED = 9
    };
    ReduceOp() = default;
    ReduceOp(RedOpType op) : op_(op) {}
    RedOpType op() const { return op_; }
    operator RedOpType() const { return op_; }
    bool operator==(std::uint8_t o) const { return op_ == o; }
    bool operator==(RedOpType o) const { return op_ == o; }
    bool operator==(const ReduceOp& o) const { return op_ == o.op_; }
    RedOpType op_ = SUM;
};

#define MINDTORCH_OPTIONS(Name, ...)                       \
    struct Name {                                          \
        __VA_ARGS__                                        \
        std::chrono::milliseconds timeout = kUnsetTimeout; \
        bool asyncOp = true;                               \
    };
MINDTORCH_OPTIONS(BroadcastOptions, int64_t rootRank = 0; int64_t rootTensor = 0;)
MINDTORCH_OPTIONS(AllreduceOptions, ReduceOp reduceOp = ReduceOp::SUM; std::optional<at::Tensor> sparseIndices;)
struct AllreduceCoalescedOptions : AllreduceOptions {};
MINDTORCH_OPTIONS(ReduceOptions, ReduceOp reduceOp = ReduceOp::SUM; int64_t rootRank = 0; int64_t rootTensor = 0;)
MINDTORCH_OPTIONS(AllgatherOptions, )
MINDTORCH_OPTIONS(GatherOptions, int64_t rootRank = 0;)
MINDTORCH_OPTIONS(ScatterOptions, int64_t rootRank = 0;)
MINDTORCH_OPTIONS(ReduceScatterOptions, ReduceOp reduceOp = ReduceOp::SUM;)
MINDTORCH_OPTIONS(AllToAllOptions, )
MINDTORCH_OPTIONS(BarrierOptions, std::vector<int64_t> device_ids; std::optional<at::Device> device;)
#undef MINDTORCH_OPTIONS
struct DistributedBackendOptions;

// What a collective that was begun gives: done when `wait` returns.
class Work : public torch::CustomClassHolder {
  public:
    explicit Work(int rank = -1, OpType type = OpType::UNKNOWN, const char* = nullptr,
                  const std::optional<std::vector<at::Tensor>>& = std::nullopt)
        : rank_(rank), type_(type) {}
    virtual bool isCompleted() {
        const std::lock_guard<std::mutex> guard(mutex_);
        return completed_;
    }
    virtual bool isSuccess() const {
        const std::lock_guard<std::mutex> guard(mutex_);
        return !exception_;
    }
    virtual std::exception_ptr exception() const {
        const std::lock_guard<std::mutex> guard(mutex_);
        return exception_;
    }
    virtual int sourceRank() const { refuse("sourceRank"); }
    virtual std::vector<at::Tensor> result() { refuse("result"); }
    virtual void synchronize() {}
    virtual bool wait(std::chrono::milliseconds timeout = kNoTimeout) {
        std::unique_lock<std::mutex> guard(mutex_);
        if (timeout == kNoTimeout)
            cv_.wait(guard, [&] { return completed_; });
        else
            TORCH_CHECK(cv_.wait_for(guard, timeout, [&] { return completed_; }), "Operation timed out!");
        if (exception_) std::rethrow_exception(exception_);
        guard.unlock();
        synchronize();
        return true;
    }
    virtual void abort() { refuse("abort"); }
    virtual c10::intrusive_ptr<c10::ivalue::Future> getFuture() { refuse("getFuture"); }
    OpType retrieveOpType() const { return type_; }

  protected:
    void finish(std::exception_ptr exception = nullptr) {
        const std::lock_guard<std::mutex> guard(mutex_);
        completed_ = true;
        exception_ = std::move(exception);
        cv_.notify_all();
    }
    void finishAndThrow(std::exception_ptr exception) {
        finish(exception);
        if (exception) std::rethrow_exception(exception);
    }
    [[noreturn]] static void refuse(const char* name) {
        mindtorch::fail(MT_ERROR_NOT_IMPLEMENTED, "", "Work::", name, " not implemented.");
    }
    mutable std::mutex mutex_;
    std::condition_variable cv_;
    bool completed_ = false;
    std::exception_ptr exception_;
    const int rank_;
    OpType type_;
};

}  // namespace c10d

namespace mindtorch MINDTORCH_HIDDEN {
// Calls of a Python object's methods, with values of any kind.
class PythonObject {
  public:
    explicit PythonObject(Object o) : object_(std::move(o)) {}
    const Object& object() const { return object_; }
    c10::IValue call(const char* method, const std::vector<c10::IValue>& args = {}) const {
        const Object bound =
            Object::steal(call_python("builtins", "getattr", {object_value(object_), arg(method)}).as.object);
        std::vector<Packed> packed;
        std::vector<mt_value> values;
        for (const c10::IValue& v : args) packed.push_back(pack(v));
        for (const Packed& p : packed) values.push_back(p.v);
        mt_value r{};
        check(api().call_object(bound.get(), values.data(), static_cast<int32_t>(values.size()), &r));
        c10::IValue result = from<c10::IValue>(r);
        drop(r);
        return result;
    }
    c10::IValue attribute(const char* name) const {
        const mt_value r = call_python("builtins", "getattr", {object_value(object_), arg(name)});
        c10::IValue result = from<c10::IValue>(r);
        drop(r);
        return result;
    }

  private:
    Object object_;
};
// An object of one of Python's options, with fields.
inline c10::IValue options_of(const char* cls, std::chrono::milliseconds timeout,
                              std::initializer_list<std::pair<const char*, c10::IValue>> fields) {
    const PythonObject made(Object::steal(call_python("mindtorch_v2.distributed", cls, {}).as.object));
    const auto set = [&](const char* name, const c10::IValue& v) {
        const Packed p = pack(v);
        drop(call_python("builtins", "setattr", {object_value(made.object()), arg(name), p.v}));
    };
    for (const auto& field : fields) set(field.first, field.second);
    if (timeout != c10d::kUnsetTimeout) {
        const mt_value delta = call_python("datetime", "timedelta",
                                           {arg(int64_t(0)), arg(int64_t(0)), arg(int64_t(timeout.count()) * 1000)});
        set("timeout", from<c10::IValue>(delta));
        drop(delta);
    }
    return made.object();
}
inline c10::IValue reduce_op(const c10d::ReduceOp& op) {
    static const char* const names[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"};
    TORCH_CHECK_NOT_IMPLEMENTED(op.op() <= c10d::ReduceOp::BXOR, "this kind of reduction is not here");
    const Object ops = Object::steal(
        call_python("builtins", "getattr",
                    {object_value(Object::steal(
                         call_python("importlib", "import_module", {arg("mindtorch_v2.distributed")}).as.object)),
                     arg("ReduceOp")})
            .as.object);
    return PythonObject(ops).attribute(names[op.op()]);
}
}  // namespace mindtorch MINDTORCH_HIDDEN

namespace c10d {

// A work of Python's.
class PythonWork : public Work {
  public:
    explicit PythonWork(mindtorch::Object o) : python_(std::move(o)) {}
    bool isCompleted() override { return python_.call("is_completed").toBool(); }
    bool isSuccess() const override { return python_.call("is_success").toBool(); }
    int sourceRank() const override { return static_cast<int>(python_.call("source_rank").toInt()); }
    std::vector<at::Tensor> result() override { return python_.call("result").toTensorVector(); }
    void synchronize() override { python_.call("synchronize"); }
    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override {
        if (timeout == kNoTimeout) return python_.call("wait").toBool();
        const mt_value delta = mindtorch::call_python(
            "datetime", "timedelta",
            {mindtorch::arg(int64_t(0)), mindtorch::arg(int64_t(0)), mindtorch::arg(int64_t(timeout.count()) * 1000)});
        const c10::IValue limit = mindtorch::from<c10::IValue>(delta);
        mindtorch::drop(delta);
        return python_.call("wait", {limit}).toBool();
    }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
        auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
        try {
            wait();
            future->markCompleted(c10::IValue(result()));
        } catch (...) {
            future->setError(std::current_exception());
        }
        return future;
    }
    const mindtorch::Object& object() const { return python_.object(); }

  private:
    mindtorch::PythonObject python_;
};

// Keys and values that all processes see.
class Store : public torch::CustomClassHolder {
  public:
    static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::seconds(300);
    static constexpr std::chrono::milliseconds kNoTimeout = std::chrono::milliseconds::zero();
    Store() = default;
    explicit Store(const std::chrono::milliseconds& timeout) : timeout_(timeout) {}
    void set(const std::string& key, const std::string& value) {
        set(key, std::vector<uint8_t>(value.begin(), value.end()));
    }
    virtual void set(const std::string& key, const std::vector<uint8_t>& value) = 0;
    std::string get_to_str(const std::string& key) {
        const std::vector<uint8_t> value = get(key);
        return std::string(value.begin(), value.end());
    }
    virtual std::vector<uint8_t> get(const std::string& key) = 0;
    virtual int64_t add(const std::string& key, int64_t value) = 0;
    virtual bool deleteKey(const std::string& key) = 0;
    virtual bool check(const std::vector<std::string>& keys) = 0;
    virtual int64_t getNumKeys() = 0;
    virtual void wait(const std::vector<std::string>& keys) = 0;
    virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
    virtual const std::chrono::milliseconds& getTimeout() const noexcept { return timeout_; }
    virtual void setTimeout(const std::chrono::milliseconds& timeout) { timeout_ = timeout; }

  protected:
    std::chrono::milliseconds timeout_ = kDefaultTimeout;
};
// A store of Python's.
class PythonStore : public Store {
  public:
    explicit PythonStore(mindtorch::Object o) : python_(std::move(o)) {}
    using Store::set;
    void set(const std::string& key, const std::vector<uint8_t>& value) override {
        const std::vector<int64_t> numbers(value.begin(), value.end());
        python_.call(
            "set",
            {key,
             mindtorch::Object::steal(
                 mindtorch::call_python("builtins", "bytes", {mindtorch::arg(c10::IntArrayRef(numbers))}).as.object)});
    }
    std::vector<uint8_t> get(const std::string& key) override {
        // Bytes have no form in C++'s values: as text of one character a byte.
        const c10::IValue bytes = python_.call("get", {key});
        const mindtorch::PythonObject held(bytes.object());
        std::vector<uint8_t> value;
        for (char32_t c : decoded(held.call("decode", {std::string("latin-1")}).toStringRef()))
            value.push_back(static_cast<uint8_t>(c));
        return value;
    }
    int64_t add(const std::string& key, int64_t value) override { return python_.call("add", {key, value}).toInt(); }
    bool deleteKey(const std::string& key) override { return python_.call("delete_key", {key}).toBool(); }
    bool check(const std::vector<std::string>& keys) override { return python_.call("check", {keys}).toBool(); }
    int64_t getNumKeys() override { return python_.call("num_keys").toInt(); }
    void wait(const std::vector<std::string>& keys) override { python_.call("wait", {keys}); }
    void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
        const mt_value delta = mindtorch::call_python(
            "datetime", "timedelta",
            {mindtorch::arg(int64_t(0)), mindtorch::arg(int64_t(0)), mindtorch::arg(int64_t(timeout.count()) * 1000)});
        const c10::IValue limit = mindtorch::from<c10::IValue>(delta);
        mindtorch::drop(delta);
        python_.call("wait", {keys, limit});
    }
    const mindtorch::Object& object() const { return python_.object(); }

  private:
    // Characters up to 255 of UTF-8.
    static std::vector<char32_t> decoded(const std::string& text) {
        std::vector<char32_t> all;
        for (size_t i = 0; i < text.size(); i++) {
            const auto byte = static_cast<unsigned char>(text[i]);
            all.push_back(byte < 0x80
                              ? byte
                              : static_cast<char32_t>((byte & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 63)));
        }
        return all;
    }
    mindtorch::PythonObject python_;
};

// The collectives of a library, and of a group.
#define MINDTORCH_COLLECTIVE(name, ...)                                                                          \
    virtual c10::intrusive_ptr<Work> name(__VA_ARGS__) {                                                         \
        mindtorch::fail(MT_ERROR_NOT_IMPLEMENTED, "", "Backend ", getBackendName(), " does not support " #name); \
    }
class Backend : public torch::CustomClassHolder {
  public:
    struct Options : torch::CustomClassHolder {
        explicit Options(std::string backend, std::chrono::milliseconds limit = kBackendDefaultTimeout)
            : timeout(limit), backend(std::move(backend)) {}
        std::chrono::milliseconds timeout;
        const std::string backend;
        std::string group_name;
        std::vector<uint64_t> global_ranks_in_group;
    };
    Backend(int rank, int size) : rank_(rank), size_(size) {}
    int getRank() const { return rank_; }
    int getSize() const { return size_; }
    virtual const std::string getBackendName() const { return "undefined"; }
    virtual bool supportsSplitting() const { return false; }
    virtual void startCoalescing() {}
    virtual c10::intrusive_ptr<Work> endCoalescing() { return nullptr; }
    virtual void setSequenceNumberForGroup() {}
    virtual uint64_t getSequenceNumberForGroup() { return 0; }
    using Tensors = std::vector<at::Tensor>;
    MINDTORCH_COLLECTIVE(broadcast, Tensors&, const BroadcastOptions& = BroadcastOptions())
    MINDTORCH_COLLECTIVE(allreduce, Tensors&, const AllreduceOptions& = AllreduceOptions())
    MINDTORCH_COLLECTIVE(allreduce_sparse, Tensors&, const AllreduceOptions& = AllreduceOptions())
    MINDTORCH_COLLECTIVE(allreduce_coalesced, Tensors&, const AllreduceCoalescedOptions& = AllreduceCoalescedOptions())
    MINDTORCH_COLLECTIVE(reduce, Tensors&, const ReduceOptions& = ReduceOptions())
    MINDTORCH_COLLECTIVE(allgather, std::vector<Tensors>&, Tensors&, const AllgatherOptions& = AllgatherOptions())
    MINDTORCH_COLLECTIVE(_allgather_base, at::Tensor&, at::Tensor&, const AllgatherOptions& = AllgatherOptions())
    MINDTORCH_COLLECTIVE(allgather_coalesced, std::vector<Tensors>&, Tensors&,
                         const AllgatherOptions& = AllgatherOptions())
    MINDTORCH_COLLECTIVE(allgather_into_tensor_coalesced, Tensors&, Tensors&,
                         const AllgatherOptions& = AllgatherOptions())
    MINDTORCH_COLLECTIVE(gather, std::vector<Tensors>&, Tensors&, const GatherOptions& = GatherOptions())
    MINDTORCH_COLLECTIVE(scatter, Tensors&, std::vector<Tensors>&, const ScatterOptions& = ScatterOptions())
    MINDTORCH_COLLECTIVE(reduce_scatter, Tensors&, std::vector<Tensors>&,
                         const ReduceScatterOptions& = ReduceScatterOptions())
    MINDTORCH_COLLECTIVE(_reduce_scatter_base, at::Tensor&, at::Tensor&,
                         const ReduceScatterOptions& = ReduceScatterOptions())
    MINDTORCH_COLLECTIVE(reduce_scatter_tensor_coalesced, Tensors&, Tensors&,
                         const ReduceScatterOptions& = ReduceScatterOptions())
    MINDTORCH_COLLECTIVE(alltoall_base, at::Tensor&, at::Tensor&, std::vector<int64_t>&, std::vector<int64_t>&,
                         const AllToAllOptions& = AllToAllOptions())
    MINDTORCH_COLLECTIVE(alltoall, Tensors&, Tensors&, const AllToAllOptions& = AllToAllOptions())
    MINDTORCH_COLLECTIVE(send, Tensors&, int, int)
    MINDTORCH_COLLECTIVE(recv, Tensors&, int, int)
    MINDTORCH_COLLECTIVE(recvAnysource, Tensors&, int)
    MINDTORCH_COLLECTIVE(barrier, const BarrierOptions& = BarrierOptions())

  protected:
    const int rank_, size_;
};
#undef MINDTORCH_COLLECTIVE

class ProcessGroup : public Backend {
  public:
    enum BackendType : uint8_t { UNDEFINED = 0, GLOO = 1, NCCL = 2, UCC = 3, MPI = 4, XCCL = 5, CUSTOM = 6 };
    using Work = c10d::Work;
    using Backend::Backend;
    ProcessGroup(const c10::intrusive_ptr<Store>&, int rank, int size) : Backend(rank, size) {}
    virtual const std::string& getGroupName() const {
        static const std::string none;
        return none;
    }
    int64_t getID() const { return reinterpret_cast<int64_t>(this); }
};

// A group of Python's.
class PythonGroup : public ProcessGroup {
  public:
    explicit PythonGroup(mindtorch::Object o)
        : ProcessGroup(number(o, "rank"), number(o, "size")),
          python_(o),
          name_(python_.call("name").toStringRef()),
          group_name_(python_.attribute("group_name").toStringRef()) {}
    const std::string getBackendName() const override { return name_; }
    const std::string& getGroupName() const override { return group_name_; }
    using Pointer = c10::intrusive_ptr<c10d::Work>;
    Pointer broadcast(Tensors& t, const BroadcastOptions& o = BroadcastOptions()) override {
        return begun("broadcast", {t, mindtorch::options_of("BroadcastOptions", o.timeout,
                                                            {{"rootRank", o.rootRank}, {"rootTensor", o.rootTensor}})});
    }
    Pointer allreduce(Tensors& t, const AllreduceOptions& o = AllreduceOptions()) override {
        return begun("allreduce", {t, mindtorch::options_of("AllreduceOptions", o.timeout,
                                                            {{"reduceOp", mindtorch::reduce_op(o.reduceOp)}})});
    }
    Pointer allreduce_coalesced(Tensors& t, const AllreduceCoalescedOptions& o = AllreduceCoalescedOptions()) override {
        return begun("allreduce_coalesced",
                     {t, mindtorch::options_of("AllreduceCoalescedOptions", o.timeout,
                                               {{"reduceOp", mindtorch::reduce_op(o.reduceOp)}})});
    }
    Pointer reduce(Tensors& t, const ReduceOptions& o = ReduceOptions()) override {
        return begun("reduce", {t, mindtorch::options_of(
                                       "ReduceOptions", o.timeout,
                                       {{"reduceOp", mindtorch::reduce_op(o.reduceOp)}, {"rootRank", o.rootRank}})});
    }
    Pointer allgather(std::vector<Tensors>& out, Tensors& in, const AllgatherOptions& = AllgatherOptions()) override {
        return begun("allgather", {lists(out), in});
    }
    Pointer _allgather_base(at::Tensor& out, at::Tensor& in, const AllgatherOptions& = AllgatherOptions()) override {
        return begun("_allgather_base", {out, in});
    }
    Pointer allgather_coalesced(std::vector<Tensors>& out, Tensors& in,
                                const AllgatherOptions& = AllgatherOptions()) override {
        return begun("allgather_coalesced", {lists(out), in});
    }
    Pointer allgather_into_tensor_coalesced(Tensors& out, Tensors& in,
                                            const AllgatherOptions& = AllgatherOptions()) override {
        return begun("allgather_into_tensor_coalesced", {out, in});
    }
    Pointer gather(std::vector<Tensors>& out, Tensors& in, const GatherOptions& o = GatherOptions()) override {
        return begun("gather",
                     {lists(out), in, mindtorch::options_of("GatherOptions", o.timeout, {{"rootRank", o.rootRank}})});
    }
    Pointer scatter(Tensors& out, std::vector<Tensors>& in, const ScatterOptions& o = ScatterOptions()) override {
        return begun("scatter",
                     {out, lists(in), mindtorch::options_of("ScatterOptions", o.timeout, {{"rootRank", o.rootRank}})});
    }
    Pointer reduce_scatter(Tensors& out, std::vector<Tensors>& in,
                           const ReduceScatterOptions& o = ReduceScatterOptions()) override {
        return begun("reduce_scatter", {out, lists(in), scattered(o)});
    }
    Pointer _reduce_scatter_base(at::Tensor& out, at::Tensor& in,
                                 const ReduceScatterOptions& o = ReduceScatterOptions()) override {
        return begun("_reduce_scatter_base", {out, in, scattered(o)});
    }
    Pointer reduce_scatter_tensor_coalesced(Tensors& out, Tensors& in,
                                            const ReduceScatterOptions& o = ReduceScatterOptions()) override {
        return begun("reduce_scatter_tensor_coalesced", {out, in, scattered(o)});
    }
    Pointer alltoall_base(at::Tensor& out, at::Tensor& in, std::vector<int64_t>& out_sizes,
                          std::vector<int64_t>& in_sizes, const AllToAllOptions& = AllToAllOptions()) override {
        return begun("alltoall_base", {out, in, out_sizes, in_sizes});
    }
    Pointer alltoall(Tensors& out, Tensors& in, const AllToAllOptions& = AllToAllOptions()) override {
        return begun("alltoall", {out, in});
    }
    Pointer send(Tensors& t, int to, int tag) override { return begun("send", {t, int64_t(to), int64_t(tag)}); }
    Pointer recv(Tensors& t, int from, int tag) override { return begun("recv", {t, int64_t(from), int64_t(tag)}); }
    Pointer recvAnysource(Tensors& t, int tag) override { return begun("recv_anysource", {t, int64_t(tag)}); }
    Pointer barrier(const BarrierOptions& = BarrierOptions()) override { return begun("barrier", {}); }
    const mindtorch::Object& object() const { return python_.object(); }

  private:
    static int number(const mindtorch::Object& o, const char* method) {
        return static_cast<int>(mindtorch::PythonObject(o).call(method).toInt());
    }
    static c10::IValue lists(const std::vector<Tensors>& all) {
        c10::IValue::Items items;
        for (const Tensors& each : all) items.emplace_back(each);
        return c10::IValue::list(std::move(items));
    }
    static c10::IValue scattered(const ReduceScatterOptions& o) {
        return mindtorch::options_of("ReduceScatterOptions", o.timeout,
                                     {{"reduceOp", mindtorch::reduce_op(o.reduceOp)}});
    }
    Pointer begun(const char* method, const std::vector<c10::IValue>& args) {
        return c10::make_intrusive<PythonWork>(python_.call(method, args).object());
    }
    mindtorch::PythonObject python_;
    std::string name_, group_name_;
};

// The group of that name, as operators of functional collectives are given it.
inline c10::intrusive_ptr<ProcessGroup> resolve_process_group(const std::string& name) {
    return c10::make_intrusive<PythonGroup>(mindtorch::Object::steal(
        mindtorch::call_python("mindtorch_v2.distributed._groups", "resolve_name", {mindtorch::arg(name)}).as.object));
}

// ---- what back ends are written with ----
inline at::Tensor newLikeFlat(const std::vector<at::Tensor>& tensors) {
    TORCH_CHECK(!tensors.empty(), "Received an empty list");
    std::vector<int64_t> sizes{static_cast<int64_t>(tensors.size())};
    sizes.insert(sizes.end(), tensors[0].sizes().begin(), tensors[0].sizes().end());
    return at::empty(sizes, tensors[0].options());
}
inline at::Tensor newLikeFlat(std::vector<std::vector<at::Tensor>>& tensors, size_t device) {
    return newLikeFlat(tensors.at(device));
}
inline at::Tensor flattenDenseTensors(at::TensorList tensors) {
    std::vector<at::Tensor> flat;
    for (const at::Tensor& t : tensors) flat.push_back(t.contiguous().view({-1}));
    return at::cat(flat);
}
inline std::vector<std::vector<int64_t>> getSizes(const std::vector<at::Tensor>& tensors) {
    std::vector<std::vector<int64_t>> all;
    for (const at::Tensor& t : tensors) all.push_back(t.sizes().vec());
    return all;
}
inline std::vector<int> getDevices(const std::vector<at::Tensor>& tensors) {
    std::vector<int> all;
    for (const at::Tensor& t : tensors) all.push_back(t.device().is_cpu() ? -1 : t.device().index());
    return all;
}
inline void checkSplitSizes(const std::vector<int64_t>& split, const at::Tensor& tensor, int group_size) {
    if (split.empty()) {
        TORCH_CHECK(tensor.size(0) % group_size == 0, "Tensor's dim 0 does not divide equally across group size");
        return;
    }
    TORCH_CHECK(split.size() == static_cast<size_t>(group_size), "Number of tensor splits not equal to group size");
    TORCH_CHECK(c10::sum_integers(split) == tensor.size(0), "Split sizes doesn't match total dim 0 size");
}
template <class T>
size_t computeLengthsAndOffsets(const std::vector<int64_t>& split, const at::Tensor& tensor, std::vector<T>* lengths,
                                std::vector<T>* offsets) {
    const int64_t rows = tensor.size(0), of_row = rows ? tensor.numel() / rows : 1;
    const bool equal = split.empty();
    size_t offset = 0;
    for (size_t i = 0; i < lengths->size(); i++) {
        const int64_t n = of_row * (equal ? rows / static_cast<int64_t>(lengths->size()) : split[i]);
        (*lengths)[i] = static_cast<T>(n);
        (*offsets)[i] = static_cast<T>(offset);
        offset += static_cast<size_t>(n);
    }
    return offset;
}
template <class T>
size_t computeLengthsAndOffsets(const std::vector<at::Tensor>& tensors, std::vector<T>* lengths,
                                std::vector<T>* offsets) {
    size_t offset = 0;
    for (size_t i = 0; i < lengths->size(); i++) {
        (*lengths)[i] = static_cast<T>(tensors[i].numel());
        (*offsets)[i] = static_cast<T>(offset);
        offset += static_cast<size_t>(tensors[i].numel());
    }
    return offset;
}

}  // namespace c10d

#ifdef PYBIND11_VERSION_MAJOR
#include <mindtorch/c10d_python.h>
#endif
