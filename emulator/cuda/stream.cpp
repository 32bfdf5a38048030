// Streams and events. A stream is a thread that does its work in the order in which it was given; it starts with the
// first piece of work.
#include "emulator.h"

namespace emu {
namespace {

Registry<Event>& events() {
    static auto* all = new Registry<Event>;
    return *all;
}

std::shared_ptr<Stream> make_stream(Device* device, unsigned flags, int priority, bool legacy) {
    auto s = std::make_shared<Stream>();
    s->device = device;
    s->flags = flags;
    s->priority = priority;
    s->legacy = legacy;
    s->handle = streams().add(s);
    s->random = (reinterpret_cast<uintptr_t>(s->handle) + 1) * 0x9E3779B97F4A7C15u ^ settings().hostile;
    return s;
}

void pause(Stream& s, unsigned most_us) {
    if (!settings().hostile) return;
    uint64_t r = next_random(s.random);
    if (r % 4) std::this_thread::sleep_for(std::chrono::microseconds(r / 4 % most_us));
}

// Blocking streams and the legacy one wait for each other.
void add_legacy_order(const std::shared_ptr<Stream>& stream, Work& work) {
    Device* device = stream->device;
    if (stream->legacy) {
        for (auto& other : streams().all())
            if (other->device == device && other != stream && !(other->flags & CU_STREAM_NON_BLOCKING)) {
                Point p = other->now();
                if (!p.reached()) work.after.push_back(p);
            }
        return;
    }
    if (stream->flags & CU_STREAM_NON_BLOCKING) return;
    std::shared_ptr<Stream> legacy;
    {
        std::lock_guard<std::mutex> lock(device->mutex);
        legacy = device->legacy;
    }
    if (!legacy) return;
    Point p = legacy->now();
    if (!p.reached()) work.after.push_back(p);
}

std::shared_ptr<Event> event_of(CUevent handle) { return events().find(handle); }

}  // namespace

uint64_t next_random(uint64_t& state) {  // xorshift64*
    if (!state) state = 0x2545F4914F6CDD1D;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545F4914F6CDD1D) >> 16;
}

Registry<Stream>& streams() {
    static auto* all = new Registry<Stream>;
    return *all;
}

Fault perform(const Work& work) {
    if (int code = injected(work.name.c_str(), "@stream"))
        return {code, work.name + ": injected error " + std::to_string(code)};
    return work.guarded ? protect(work.name, work.run) : work.run();
}

bool Point::reached() const {
    if (!stream) return true;
    std::lock_guard<std::mutex> lock(stream->mutex);
    return stream->completed >= ticket;
}

void Point::wait() const {
    if (!stream) return;
    std::unique_lock<std::mutex> lock(stream->mutex);
    stream->done.wait(lock, [&] { return stream->completed >= ticket; });
}

void Stream::loop() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
        arrived.wait(lock, [&] { return closed || !waiting.empty(); });
        if (waiting.empty()) return;
        Work work = std::move(waiting.front());
        waiting.pop_front();
        lock.unlock();
        for (const Point& p : work.after) p.wait();
        pause(*this, 300);
        if (!device->sticky) {
            Fault fault = perform(work);
            if (fault.code) device->fail(fault);
        }
        work = Work();
        lock.lock();
        completed++;
        done.notify_all();
    }
}

int stream_of(CUstream handle, std::shared_ptr<Stream>* stream) {
    if (handle && handle != reinterpret_cast<CUstream>(1)) {
        *stream = streams().find(handle);
        return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    Device* device = nullptr;
    if (int code = current(&device)) return code;
    std::lock_guard<std::mutex> lock(device->mutex);
    if (!device->legacy) device->legacy = make_stream(device, 0, 0, true);
    *stream = device->legacy;
    return CUDA_SUCCESS;
}

int submit(const std::shared_ptr<Stream>& stream, Work work) {
    if (capturing(stream)) return record_node(stream, std::move(work));
    if (int code = stream->device->sticky) return code;
    if (int code = refuse_legacy(stream)) return code;
    add_legacy_order(stream, work);
    std::lock_guard<std::mutex> lock(stream->mutex);
    if (!stream->started) {
        stream->started = true;
        std::thread([self = stream] { self->loop(); }).detach();
    }
    stream->waiting.push_back(std::move(work));
    stream->submitted++;
    stream->arrived.notify_one();
    return CUDA_SUCCESS;
}

void wait_for_device(Device* device) {
    for (auto& s : streams().all())
        if (s->device == device) s->now().wait();
}

}  // namespace emu

using namespace emu;

EMULATED_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    EMULATED_CURRENT(cuStreamCreateWithPriority);
    if (!stream || flags & ~CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    int clamped = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    *stream = static_cast<CUstream>(make_stream(device, flags, clamped, false)->handle);
    count(kStreams, 1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return cuStreamCreateWithPriority(stream, flags, 0);
}

// Its work is done all the same.
EMULATED_API CUresult cuStreamDestroy_v2(CUstream handle) {
    EMULATED_ENTER(cuStreamDestroy_v2);
    auto stream = streams().find(handle);
    if (!stream || stream->legacy) return CUDA_ERROR_INVALID_HANDLE;
    streams().remove(handle);
    count(kStreams, -1);
    std::lock_guard<std::mutex> lock(stream->mutex);
    stream->closed = true;
    stream->arrived.notify_all();
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuStreamSynchronize(CUstream handle) {
    EMULATED_CURRENT(cuStreamSynchronize);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (int code = refuse_captured(stream)) return code;
    stream->now().wait();
    return stream->device->sticky;
}

EMULATED_API CUresult cuStreamQuery(CUstream handle) {
    EMULATED_CURRENT(cuStreamQuery);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (int code = refuse_captured(stream)) return code;
    if (int code = stream->device->sticky) return code;
    return stream->now().reached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

EMULATED_API CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    EMULATED_CURRENT(cuStreamGetPriority);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
    EMULATED_CURRENT(cuStreamGetFlags);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
    EMULATED_CURRENT(cuStreamGetCtx);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = stream->device->context;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuEventCreate(CUevent* result, unsigned flags) {
    EMULATED_CURRENT(cuEventCreate);
    if (!result || flags & ~7u) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    auto event = std::make_shared<Event>();
    event->device = device;
    event->flags = flags;
    *result = static_cast<CUevent>(events().add(event));
    count(kEvents, 1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuEventDestroy_v2(CUevent handle) {
    EMULATED_ENTER(cuEventDestroy_v2);
    if (!events().remove(handle)) return CUDA_ERROR_INVALID_HANDLE;
    count(kEvents, -1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
    EMULATED_CURRENT(cuEventRecord);
    auto event = event_of(handle);
    std::shared_ptr<Stream> stream;
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (int code = stream_of(stream_handle, &stream)) return code;
    if (event->device != stream->device) return CUDA_ERROR_INVALID_HANDLE;
    bool taken = false;
    if (int code = captured_record(*event, stream, &taken); code || taken) return code;
    uint64_t generation;
    {
        std::lock_guard<std::mutex> lock(event->mutex);
        event->capture.reset();
        generation = ++event->generation;
        event->when = std::chrono::steady_clock::now();
    }
    if (settings().noop) return CUDA_SUCCESS;
    Work work;
    work.name = "cuEventRecord";
    work.run = [event, generation, raw = stream.get()] {
        pause(*raw, 1500);
        std::lock_guard<std::mutex> lock(event->mutex);
        if (event->generation == generation) event->when = std::chrono::steady_clock::now();
        return Fault{};
    };
    if (int code = submit(stream, std::move(work))) return code;
    Point here = stream->now();
    std::lock_guard<std::mutex> lock(event->mutex);
    if (event->generation == generation) event->point = here;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuEventQuery(CUevent handle) {
    EMULATED_CURRENT(cuEventQuery);
    auto event = event_of(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (int code = refuse_captured_event(*event)) return code;
    if (int code = refuse_unsafe()) return code;
    Point point;
    {
        std::lock_guard<std::mutex> lock(event->mutex);
        point = event->point;
    }
    return point.reached() ? event->device->sticky.load() : CUDA_ERROR_NOT_READY;
}

EMULATED_API CUresult cuEventSynchronize(CUevent handle) {
    EMULATED_CURRENT(cuEventSynchronize);
    auto event = event_of(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (int code = refuse_captured_event(*event)) return code;
    Point point;
    {
        std::lock_guard<std::mutex> lock(event->mutex);
        point = event->point;
    }
    point.wait();
    return event->device->sticky;
}

EMULATED_API CUresult cuEventElapsedTime_v2(float* ms, CUevent start, CUevent end) {
    EMULATED_CURRENT(cuEventElapsedTime_v2);
    auto first = event_of(start), last = event_of(end);
    if (!first || !last || first->device != last->device) return CUDA_ERROR_INVALID_HANDLE;
    if (!ms) return CUDA_ERROR_INVALID_VALUE;
    std::chrono::steady_clock::time_point times[2];
    Event* both[2] = {first.get(), last.get()};
    for (int i = 0; i < 2; i++) {
        std::unique_lock<std::mutex> lock(both[i]->mutex);
        if (both[i]->flags & CU_EVENT_DISABLE_TIMING || !both[i]->generation) return CUDA_ERROR_INVALID_HANDLE;
        Point point = both[i]->point;
        lock.unlock();
        if (!point.reached()) return CUDA_ERROR_NOT_READY;
        lock.lock();
        times[i] = both[i]->when;
    }
    *ms = std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
    return device->sticky;
}

EMULATED_API CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent end) {
    return cuEventElapsedTime_v2(ms, start, end);
}

EMULATED_API CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned flags) {
    EMULATED_CURRENT(cuStreamWaitEvent);
    auto event = event_of(handle);
    std::shared_ptr<Stream> stream;
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (int code = stream_of(stream_handle, &stream)) return code;
    if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
    bool taken = false;
    if (int code = captured_wait(*event, stream, &taken); code || taken) return code;
    Work work;
    {
        std::lock_guard<std::mutex> lock(event->mutex);
        if (event->point.stream == stream) return CUDA_SUCCESS;
        work.after.push_back(event->point);
    }
    if (work.after[0].reached()) return CUDA_SUCCESS;
    work.name = "cuStreamWaitEvent";
    work.run = [] { return Fault{}; };
    return submit(stream, std::move(work));
}

EMULATED_API CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
    EMULATED_CURRENT(cuLaunchHostFunc);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    Work work;
    work.name = "cuLaunchHostFunc";
    work.guarded = false;
    work.run = [=] {
        t_in_host_function = true;
        function(data);
        t_in_host_function = false;
        return Fault{};
    };
    return submit(stream, std::move(work));
}

// Work of a library beside this one, such as cuBLAS: `drop` frees `data` when it is not needed any more.
EMULATED_API int emulated_enqueue(CUstream handle, const char* name, void (*run)(void*), void* data,
                                  void (*drop)(void*)) {
    std::shared_ptr<void> owned(data, drop);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (settings().noop) return CUDA_SUCCESS;
    Work work;
    work.name = name;
    work.run = [=] {
        run(owned.get());
        return Fault{};
    };
    return submit(stream, std::move(work));
}
