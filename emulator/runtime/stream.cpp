// Devices, streams and events. A stream is a thread that runs its tasks in the order in which they were given.
#include "queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace emu {
namespace {

struct Device {
    Queue* default_queue = nullptr;
};

struct State {
    std::mutex mutex;
    bool initialised = false;
    int next_id = 0;
    std::set<Queue*> queues;
    std::set<Event*> events;
    std::vector<Device> devices;
};
State& state() {
    static State* s = new State;
    return *s;
}
thread_local int t_device = -1;
thread_local uint32_t t_last_task = 0;
std::atomic<aclrtExceptionInfoCallback> g_callback{nullptr};

Queue* start(int device, bool is_default) {  // with the state locked
    State& s = state();
    Queue* q = new Queue;
    q->id = s.next_id++;
    q->device = device;
    q->is_default = is_default;
    q->random = settings().shuffle * 2654435761u + static_cast<unsigned>(q->id);
    s.queues.insert(q);
    q->thread = std::thread([q] { q->loop(); });
    q->thread.detach();
    return q;
}

}  // namespace

Queue* queue_of(aclrtStream handle, const char* function, int* code) {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!handle) {
        if (t_device < 0) {
            *code = failed(kContextNull, text(function, ": this thread has no device (aclrtSetDevice)"));
            return nullptr;
        }
        Device& d = s.devices[static_cast<size_t>(t_device)];
        if (!d.default_queue) d.default_queue = start(t_device, true);
        return d.default_queue;
    }
    Queue* q = static_cast<Queue*>(handle);
    if (!s.queues.count(q) || !q->live) {
        *code = misused(kInvalidHandle, text(function, ": ", handle, " is no stream, or one that was destroyed"));
        return nullptr;
    }
    return q;
}
namespace {

Event* event_of(aclrtEvent handle, const char* function, int* code) {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    Event* e = static_cast<Event*>(handle);
    if (!s.events.count(e) || !e->live) {
        *code = misused(kInvalidHandle, text(function, ": ", handle, " is no event, or one that was destroyed"));
        return nullptr;
    }
    return e;
}

int take_error(Queue* q) {
    std::string message;
    int code;
    {
        std::lock_guard<std::mutex> lock(q->mutex);
        code = std::exchange(q->error, 0);
        message = std::exchange(q->error_text, "");
    }
    return code ? failed(code, message) : 0;
}

}  // namespace

int wait_for(Queue* q, int timeout_ms) {
    {
        std::unique_lock<std::mutex> lock(q->mutex);
        auto done = [&] { return q->waiting.empty() && !q->busy; };
        if (timeout_ms < 0)
            q->idle.wait(lock, done);
        else if (!q->idle.wait_for(lock, std::chrono::milliseconds(timeout_ms), done))
            return failed(kStreamSyncTimeout, text("stream ", q->id, " was not done within ", timeout_ms, " ms"));
    }
    return take_error(q);
}

int push(Queue* q, Work w) {
    if (q->capture || q->update) return record(q, std::move(w));
    std::lock_guard<std::mutex> lock(q->mutex);
    t_last_task = w.task = ++q->tasks;
    q->waiting.push_back(std::move(w));
    q->arrived.notify_one();
    return kSuccess;
}

void tell_failure(const Failure& failure) {
    Failure told = failure;
    if (auto callback = g_callback.load()) callback(reinterpret_cast<aclrtExceptionInfo*>(&told));
}

namespace {

std::vector<Queue*> queues_of(int device) {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    std::vector<Queue*> r;
    for (Queue* q : s.queues)
        if (q->live && (device < 0 || q->device == device)) r.push_back(q);
    return r;
}

int initialised(const char* function) {
    return state().initialised ? 0 : failed(kUninitialized, text(function, ": aclInit was not called"));
}

void stop(Queue* q) {
    std::lock_guard<std::mutex> lock(q->mutex);
    q->stop = true;
    q->live = false;
    q->arrived.notify_one();
}

}  // namespace

int current_device() { return t_device; }

int enqueue(aclrtStream stream, Work work) {
    int code = 0;
    Queue* q = queue_of(stream, work.name.c_str(), &code);
    return q ? push(q, std::move(work)) : code;
}
int drain(aclrtStream stream) {
    int code = 0;
    Queue* q = queue_of(stream, "aclrtMemcpyAsync", &code);
    return q ? wait_for(q, -1) : code;
}

std::string pending_user(const void* begin, size_t size) {
    auto overlaps = [&](const Work& w) {
        for (auto& [p, n] : w.memory)
            if (static_cast<const char*>(p) < static_cast<const char*>(begin) + size &&
                static_cast<const char*>(p) + n > static_cast<const char*>(begin))
                return true;
        return false;
    };
    for (Queue* q : queues_of(-1)) {
        std::lock_guard<std::mutex> lock(q->mutex);
        if (q->busy && overlaps(q->running)) return text(q->running.name, ", which runs on stream ", q->id);
        for (const Work& w : q->waiting)
            if (overlaps(w)) return text(w.name, ", which waits on stream ", q->id);
    }
    return "";
}

}  // namespace emu

using namespace emu;

// ---- the process and its devices ----

EMU_API aclError aclInit(const char*) {
    EMU_ENTER("aclInit");
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.initialised) return failed(kRepeatInitialize, "aclInit: called before");
    s.initialised = true;
    s.devices.resize(static_cast<size_t>(settings().devices));
    return kSuccess;
}

EMU_API aclError aclFinalize() {
    EMU_ENTER("aclFinalize");
    if (!state().initialised) return failed(kRepeatFinalize, "aclFinalize: aclInit was not called, or this was before");
    for (Queue* q : queues_of(-1)) {
        if (wait_for(q, 10000)) std::fprintf(stderr, "[emulator] aclFinalize: %s\n", recent_message());
        if (!q->is_default) misused(0, text("aclFinalize: stream ", q->id, " was not destroyed"));
        stop(q);
    }
    State& s = state();
    size_t events = 0;
    {
        std::lock_guard<std::mutex> lock(s.mutex);
        for (Event* e : s.events) events += e->live;
        s.initialised = false;
        for (Device& d : s.devices) d.default_queue = nullptr;
    }
    if (events) misused(0, text("aclFinalize: ", events, " events were not destroyed"));
    if (size_t n = leaked_blocks())
        misused(0, text("aclFinalize: ", n, " allocations of device memory were not freed"));
    return kSuccess;
}

EMU_API aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
    *major = 1;
    *minor = 13;
    *patch = 0;
    return kSuccess;
}
EMU_API const char* aclrtGetSocName() {
    static const std::string name = settings().soc + "-emulated";
    return name.c_str();
}
EMU_API aclError aclrtGetDeviceCount(uint32_t* n) {
    EMU_ENTER("aclrtGetDeviceCount");
    *n = static_cast<uint32_t>(settings().devices);
    return kSuccess;
}
EMU_API aclError aclrtSetDevice(int32_t device) {
    EMU_ENTER("aclrtSetDevice");
    if (int e = initialised("aclrtSetDevice")) return e;
    if (device < 0 || device >= settings().devices)
        return failed(kInvalidDevice, text("aclrtSetDevice: ", device, " of ", settings().devices, " devices"));
    t_device = device;
    return kSuccess;
}
EMU_API aclError aclrtGetDevice(int32_t* device) {
    EMU_ENTER("aclrtGetDevice");
    if (t_device < 0) return failed(kContextNull, "aclrtGetDevice: this thread has no device (aclrtSetDevice)");
    *device = t_device;
    return kSuccess;
}
EMU_API aclError aclrtResetDevice(int32_t device) {
    EMU_ENTER("aclrtResetDevice");
    if (device < 0 || device >= settings().devices) return failed(kInvalidDevice, "aclrtResetDevice: no such device");
    for (Queue* q : queues_of(device)) wait_for(q, -1);
    if (t_device == device) t_device = -1;
    return kSuccess;
}
EMU_API aclError aclrtGetCurrentContext(aclrtContext* context) {
    EMU_ENTER("aclrtGetCurrentContext");
    if (t_device < 0) return failed(kContextNull, "aclrtGetCurrentContext: this thread has no device (aclrtSetDevice)");
    *context = reinterpret_cast<aclrtContext>(static_cast<intptr_t>(t_device) + 1);
    return kSuccess;
}
EMU_API aclError aclrtSetCurrentContext(aclrtContext context) {
    EMU_ENTER("aclrtSetCurrentContext");
    intptr_t device = reinterpret_cast<intptr_t>(context) - 1;
    if (device < 0 || device >= settings().devices)
        return misused(kParamInvalid, text("aclrtSetCurrentContext: ", context, " is no context"));
    t_device = static_cast<int>(device);
    return kSuccess;
}
EMU_API aclError aclrtGetRunMode(aclrtRunMode* mode) {
    *mode = static_cast<aclrtRunMode>(1);
    return kSuccess;
}
namespace {
int64_t g_system_options[4] = {};
}
EMU_API aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
    EMU_ENTER("aclrtSetSysParamOpt");
    if (option < 0 || option > 1) return failed(kParamInvalid, text("aclrtSetSysParamOpt: option ", int(option)));
    g_system_options[option] = value;
    return kSuccess;
}
EMU_API aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t* value) {
    EMU_ENTER("aclrtGetSysParamOpt");
    if (option < 0 || option > 1) return failed(kParamInvalid, text("aclrtGetSysParamOpt: option ", int(option)));
    *value = g_system_options[option];
    return kSuccess;
}
// An emulated operator takes as long as the host needs for it, which says nothing of a device: the limit is not
// enforced.
EMU_API aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t) {
    EMU_ENTER("aclrtSetOpExecuteTimeOutWithMs");
    return kSuccess;
}
EMU_API aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo what, int64_t* value) {
    EMU_ENTER("aclGetDeviceCapability");
    if (device >= static_cast<uint32_t>(settings().devices))
        return failed(kInvalidDevice, "aclGetDeviceCapability: no such device");
    const int64_t values[] = {8, 16, int64_t(192) << 20};
    if (what < 0 || what > 2) return failed(kParamInvalid, text("aclGetDeviceCapability: ", int(what)));
    *value = values[what];
    return kSuccess;
}
EMU_API aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attr, int64_t* value) {
    EMU_ENTER("aclrtGetDeviceInfo");
    if (device >= static_cast<uint32_t>(settings().devices))
        return failed(kInvalidDevice, "aclrtGetDeviceInfo: no such device");
    constexpr int kAiCores = 101, kCubeCores = 102, kVectorCores = 201;
    if (attr == kAiCores || attr == kCubeCores)
        *value = 8;
    else if (attr == kVectorCores)
        *value = 16;
    else
        return failed(kFeatureNotSupported,
                      text("aclrtGetDeviceInfo: the emulator does not know attribute ", int(attr)));
    return kSuccess;
}
// The share of time in which units worked: of an emulated device all of it or none, as it works now or not.
namespace {
bool works(int32_t device) {
    bool busy = false;
    for (Queue* q : queues_of(device)) {
        std::lock_guard<std::mutex> lock(q->mutex);
        busy = busy || q->busy || !q->waiting.empty();
    }
    return busy;
}
}  // namespace
EMU_API aclError aclrtGetDeviceUtilizationRate(int32_t device, aclrtUtilizationInfo* info) {
    EMU_ENTER("aclrtGetDeviceUtilizationRate");
    if (device < 0 || device >= settings().devices)
        return failed(kInvalidDevice, "aclrtGetDeviceUtilizationRate: no such device");
    if (!info) return failed(kParamInvalid, "aclrtGetDeviceUtilizationRate: the structure is null");
    info->cubeUtilization = info->vectorUtilization = works(device) ? 100 : 0;
    info->aicpuUtilization = info->memoryUtilization = -1;  // not told
    info->utilizationExtend = nullptr;
    return kSuccess;
}
EMU_API aclError aclrtSynchronizeDevice() {
    EMU_ENTER("aclrtSynchronizeDevice");
    if (t_device < 0) return failed(kContextNull, "aclrtSynchronizeDevice: this thread has no device (aclrtSetDevice)");
    int first = 0;
    std::string message;
    do {  // a task may give a stream work that was waited for already
        for (Queue* q : queues_of(t_device)) {
            int code = q->capture ? refuse_captured(q->capture, kStreamCaptured, "aclrtSynchronizeDevice", "a stream")
                                  : wait_for(q, -1);
            if (code && !first) {
                first = code;
                message = recent_message();
            }
        }
    } while (!first && works(t_device));
    return first ? failed(first, message) : kSuccess;
}

// ---- tasks that fail ----

EMU_API aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
    EMU_ENTER("aclrtSetExceptionInfoCallback");
    g_callback = callback;
    return kSuccess;
}
EMU_API aclError aclrtGetThreadLastTaskId(uint32_t* task) {
    if (!task) return failed(kParamInvalid, "aclrtGetThreadLastTaskId: nowhere to put the number");
    *task = t_last_task;
    return kSuccess;
}
namespace {
const Failure& failure_of(const aclrtExceptionInfo* info) { return *reinterpret_cast<const Failure*>(info); }
}  // namespace
EMU_API uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) { return failure_of(info).task; }
EMU_API uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
    return static_cast<uint32_t>(failure_of(info).stream);
}
EMU_API uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
    return static_cast<uint32_t>(failure_of(info).device);
}
EMU_API uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
    return static_cast<uint32_t>(failure_of(info).code);
}

// ---- streams ----

EMU_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
    EMU_ENTER("aclrtCreateStreamWithConfig");
    if (!stream) return failed(kParamInvalid, "aclrtCreateStreamWithConfig: nowhere to put the stream");
    if (t_device < 0)
        return failed(kContextNull, "aclrtCreateStreamWithConfig: this thread has no device (aclrtSetDevice)");
    std::lock_guard<std::mutex> lock(state().mutex);
    *stream = start(t_device, false);
    count(kStreams, 1);
    return kSuccess;
}
EMU_API aclError aclrtCreateStream(aclrtStream* stream) {
    EMU_ENTER("aclrtCreateStream");
    return aclrtCreateStreamWithConfig(stream, 0, 0);
}
EMU_API aclError aclrtDestroyStream(aclrtStream stream) {
    EMU_ENTER("aclrtDestroyStream");
    if (!stream) return failed(kParamInvalid, "aclrtDestroyStream: the default stream cannot be destroyed");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtDestroyStream", &code);
    if (!q) return code;
    if (q->capture) return refuse_captured(q->capture, kStreamCaptured, "aclrtDestroyStream", "the stream");
    code = wait_for(q, -1);
    stop(q);
    count(kStreams, -1);
    return code;
}
EMU_API aclError aclrtSynchronizeStream(aclrtStream stream) {
    EMU_ENTER("aclrtSynchronizeStream");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtSynchronizeStream", &code);
    if (q && q->capture) return refuse_captured(q->capture, kStreamCaptured, "aclrtSynchronizeStream", "the stream");
    return q ? wait_for(q, -1) : code;
}
EMU_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    EMU_ENTER("aclrtSynchronizeStreamWithTimeout");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtSynchronizeStreamWithTimeout", &code);
    if (q && q->capture)
        return refuse_captured(q->capture, kStreamCaptured, "aclrtSynchronizeStreamWithTimeout", "the stream");
    return q ? wait_for(q, timeout) : code;
}
EMU_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
    EMU_ENTER("aclrtStreamQuery");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtStreamQuery", &code);
    if (!q) return code;
    if (q->capture) return refuse_captured(q->capture, kStreamCaptured, "aclrtStreamQuery", "the stream");
    std::lock_guard<std::mutex> lock(q->mutex);
    *status = static_cast<aclrtStreamStatus>(q->waiting.empty() && !q->busy ? 0 : 1);
    return kSuccess;
}
EMU_API aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) {
    EMU_ENTER("aclrtStreamGetId");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtStreamGetId", &code);
    if (!q) return code;
    *id = q->id;
    return kSuccess;
}

// ---- events ----

namespace {
constexpr uint32_t kEventExternal = 0x20;  // ACL_EVENT_EXTERNAL
}
EMU_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    EMU_ENTER("aclrtCreateEventExWithFlag");
    if (!event) return failed(kParamInvalid, "aclrtCreateEventExWithFlag: nowhere to put the event");
    std::lock_guard<std::mutex> lock(state().mutex);
    Event* e = new Event;
    e->external = flag & kEventExternal;
    state().events.insert(e);
    count(kEvents, 1);
    *event = e;
    return kSuccess;
}
EMU_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    EMU_ENTER("aclrtCreateEventWithFlag");
    return aclrtCreateEventExWithFlag(event, flag);
}
EMU_API aclError aclrtCreateEvent(aclrtEvent* event) {
    EMU_ENTER("aclrtCreateEvent");
    return aclrtCreateEventExWithFlag(event, 0);
}
EMU_API aclError aclrtDestroyEvent(aclrtEvent event) {
    EMU_ENTER("aclrtDestroyEvent");
    int code = 0;
    Event* e = event_of(event, "aclrtDestroyEvent", &code);
    if (!e) return code;
    std::lock_guard<std::mutex> lock(state().mutex);
    e->live = false;  // tasks that wait for it may still run: the few bytes stay
    count(kEvents, -1);
    return kSuccess;
}
EMU_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    EMU_ENTER("aclrtRecordEvent");
    int code = 0;
    Event* e = event_of(event, "aclrtRecordEvent", &code);
    Queue* q = e ? queue_of(stream, "aclrtRecordEvent", &code) : nullptr;
    if (!q || (!e->external && captured_record(e, q, &code))) return code;
    uint64_t turn = 1;
    if (!e->external) {
        std::lock_guard<std::mutex> lock(e->mutex);
        turn = ++e->recorded;
    }
    Work w;
    w.name = "aclrtRecordEvent";
    w.run = [e, turn] {
        std::lock_guard<std::mutex> lock(e->mutex);
        if (e->external) e->recorded = turn;
        e->completed = std::max(e->completed, turn);
        e->when = Clock::now();
        e->changed.notify_all();
        return std::string();
    };
    return push(q, std::move(w));
}
EMU_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    EMU_ENTER("aclrtStreamWaitEvent");
    int code = 0;
    Event* e = event_of(event, "aclrtStreamWaitEvent", &code);
    Queue* q = e ? queue_of(stream, "aclrtStreamWaitEvent", &code) : nullptr;
    if (!q || (!e->external && captured_wait(e, q, &code))) return code;
    uint64_t turn = 1;
    if (!e->external) {
        std::lock_guard<std::mutex> lock(e->mutex);
        turn = e->recorded;
    }
    Work w;
    w.name = "aclrtStreamWaitEvent";
    w.run = [e, turn] {
        std::unique_lock<std::mutex> lock(e->mutex);
        e->changed.wait(lock, [&] { return e->completed >= turn; });
        return std::string();
    };
    return push(q, std::move(w));
}
EMU_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    EMU_ENTER("aclrtResetEvent");
    int code = 0;
    Event* e = event_of(event, "aclrtResetEvent", &code);
    Queue* q = e ? queue_of(stream, "aclrtResetEvent", &code) : nullptr;
    if (!q) return code;
    if (!e->external)
        return failed(kFeatureNotSupported, "aclrtResetEvent: only for events made with ACL_EVENT_EXTERNAL here");
    Work w;
    w.name = "aclrtResetEvent";
    w.run = [e] {
        std::lock_guard<std::mutex> lock(e->mutex);
        e->recorded = e->completed = 0;
        return std::string();
    };
    return push(q, std::move(w));
}
EMU_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    EMU_ENTER("aclrtQueryEventStatus");
    int code = 0;
    Event* e = event_of(event, "aclrtQueryEventStatus", &code);
    if (!e) return code;
    if (e->capture) return refuse_captured(e->capture, kEventCaptured, "aclrtQueryEventStatus", "the event");
    std::lock_guard<std::mutex> lock(e->mutex);
    *status = static_cast<aclrtEventRecordedStatus>(e->completed >= (e->external ? 1 : e->recorded));
    return kSuccess;
}
EMU_API aclError aclrtSynchronizeEvent(aclrtEvent event) {
    EMU_ENTER("aclrtSynchronizeEvent");
    int code = 0;
    Event* e = event_of(event, "aclrtSynchronizeEvent", &code);
    if (!e) return code;
    if (e->capture) return refuse_captured(e->capture, kEventCaptured, "aclrtSynchronizeEvent", "the event");
    std::unique_lock<std::mutex> lock(e->mutex);
    uint64_t turn = e->external ? 1 : e->recorded;
    e->changed.wait(lock, [&] { return e->completed >= turn; });
    return kSuccess;
}
EMU_API aclError aclrtEventElapsedTime(float* ms, aclrtEvent first, aclrtEvent second) {
    EMU_ENTER("aclrtEventElapsedTime");
    int code = 0;
    Event* a = event_of(first, "aclrtEventElapsedTime", &code);
    Event* b = a ? event_of(second, "aclrtEventElapsedTime", &code) : nullptr;
    if (!b) return code;
    for (Event* e : {a, b})
        if (e->capture) return refuse_captured(e->capture, kEventCaptured, "aclrtEventElapsedTime", "an event");
    Clock::time_point when[2];
    Event* both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        std::lock_guard<std::mutex> lock(both[i]->mutex);
        if (both[i]->completed == 0 || both[i]->completed < both[i]->recorded)
            return failed(kEventTimestamp, "aclrtEventElapsedTime: an event was not recorded, or is not complete");
        when[i] = both[i]->when;
    }
    *ms = std::chrono::duration<float, std::milli>(when[1] - when[0]).count();
    return kSuccess;
}

// Microseconds of a clock of the device's own.
EMU_API aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
    EMU_ENTER("aclrtEventGetTimestamp");
    int code = 0;
    Event* e = event_of(event, "aclrtEventGetTimestamp", &code);
    if (!e) return code;
    std::lock_guard<std::mutex> lock(e->mutex);
    if (e->completed == 0 || e->completed < e->recorded)
        return failed(kEventTimestamp, "aclrtEventGetTimestamp: the event was not recorded, or is not complete");
    const auto since = e->when.time_since_epoch();
    *timestamp = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
    return kSuccess;
}
