// What the emulator's own files share: settings, faults, devices, streams and their work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver.h"

namespace emu {

// ---- settings, read from the environment once ----

struct Settings {
    int devices;       // MINDTORCH_CUDA_EMULATED_DEVICES, as far as CUDA_VISIBLE_DEVICES lets them be seen
    size_t memory;     // bytes of each device: MINDTORCH_CUDA_EMULATED_MEMORY ("8G")
    unsigned hostile;  // seed of random delays and orders: MINDTORCH_CUDA_HOSTILE; 0 for none
    bool noop;         // launches and copies do nothing: MINDTORCH_CUDA_NOOP
    bool blocking;     // each launch is waited for: CUDA_LAUNCH_BLOCKING
};
const Settings& settings();

// ---- errors ----

// What went wrong while a stream ran its work; code 0: nothing did.
struct Fault {
    int code = 0;
    std::string text;
};
bool is_sticky(int code);  // whether a context is lost by it
// Opens an entry point: the code that it has to return at once, 0 if it may go on.
int enter(const char* function, bool needs_init = true);
// The code that MINDTORCH_CUDA_FAULTS wants of this call, 0 for none. Counts the call.
int injected(const char* function, const char* suffix = "");
void told(const std::string& text);  // keeps a fault's text for emulated_fault(), and prints it
extern thread_local bool t_in_host_function;

enum Counted {
    kAllocations,
    kAllocatedBytes,
    kPinned,
    kPinnedBytes,
    kStreams,
    kEvents,
    kModules,
    kGraphs,
    kGraphExecs,
    kCounted
};
void count(Counted kind, long long change);
extern std::atomic<long long> g_launches, g_blocks;

// ---- handles: numbers that are never given twice, so that one of a destroyed object is known as such ----

void* new_handle();

template <class T>
class Registry {
  public:
    void* add(std::shared_ptr<T> object) {
        std::lock_guard<std::mutex> lock(mutex_);
        void* handle = new_handle();
        objects_[handle] = std::move(object);
        return handle;
    }
    std::shared_ptr<T> find(const void* handle) {
        std::lock_guard<std::mutex> lock(mutex_);
        auto at = objects_.find(const_cast<void*>(handle));
        return at == objects_.end() ? nullptr : at->second;
    }
    std::shared_ptr<T> remove(const void* handle) {
        std::lock_guard<std::mutex> lock(mutex_);
        auto at = objects_.find(const_cast<void*>(handle));
        if (at == objects_.end()) return nullptr;
        std::shared_ptr<T> object = std::move(at->second);
        objects_.erase(at);
        return object;
    }
    template <class F>
    void remove_if(F matches) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto at = objects_.begin(); at != objects_.end();)
            at = matches(*at->second) ? objects_.erase(at) : std::next(at);
    }
    std::vector<std::shared_ptr<T>> all() {
        std::lock_guard<std::mutex> lock(mutex_);
        std::vector<std::shared_ptr<T>> r;
        for (auto& entry : objects_) r.push_back(entry.second);
        return r;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<void*, std::shared_ptr<T>> objects_;
};

// ---- devices ----

struct Stream;

// A device and its primary context.
struct Device {
    int index = 0;     // as the program counts
    int physical = 0;  // as CUDA_VISIBLE_DEVICES counts
    CUcontext context = nullptr;
    std::mutex mutex;
    int retained = 0;
    std::atomic<int> sticky{0};
    std::shared_ptr<Stream> legacy;
    std::vector<bool> peers;

    void fail(const Fault& fault);
};
std::vector<std::unique_ptr<Device>>& devices();
Device* device_of(CUcontext context);  // null if it is no context, or a released one
// The device of this thread's context, or a code: none, a released one, or one with a sticky error.
int current(Device** device);
Device* current_or_null();

// ---- streams ----

// A place in the work of a stream.
struct Point {
    std::shared_ptr<Stream> stream;
    uint64_t ticket = 0;
    bool reached() const;
    void wait() const;
};

// What a stream does; more than once, where it became part of a graph.
struct Work {
    std::string name;
    std::function<Fault()> run;
    std::vector<Point> after;
    bool guarded = true;  // false for the program's own functions: what goes wrong there is not the device's
};
Fault perform(const Work& work);

struct Capture;

struct Stream : std::enable_shared_from_this<Stream> {
    Device* device = nullptr;
    void* handle = nullptr;
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false;
    std::mutex mutex;
    std::condition_variable arrived, done;
    std::deque<Work> waiting;
    uint64_t submitted = 0, completed = 0;
    bool started = false, closed = false;
    uint64_t random = 1;
    std::shared_ptr<Capture> capture;  // what its work is recorded into
    std::vector<size_t> tail;          // there: what the next work comes after

    void loop();
    Point now() {
        std::lock_guard<std::mutex> lock(mutex);
        return {shared_from_this(), submitted};
    }
};
Registry<Stream>& streams();
// The stream of a handle, or a code.
int stream_of(CUstream handle, std::shared_ptr<Stream>* stream);
// Puts work onto a stream, or into what is being captured from it.
int submit(const std::shared_ptr<Stream>& stream, Work work);
void wait_for_device(Device* device);
uint64_t next_random(uint64_t& state);

// Runs work so that an access to memory that is not there becomes a fault. (guard.cpp)
Fault protect(const std::string& name, const std::function<Fault()>& work);
// Leaves the work that this thread's protect() runs.
[[noreturn]] void abandon(const Fault& fault);
// What names the place of a fault better than the work's name, while a kernel runs.
extern thread_local std::string (*t_place)();

// ---- capture.cpp ----

struct Event;
bool capturing(const std::shared_ptr<Stream>& stream);
// What work on the legacy stream returns while a stream that it would have to wait for is captured.
int refuse_legacy(const std::shared_ptr<Stream>& stream);
int record_node(const std::shared_ptr<Stream>& stream, Work work);
// What a call that must not be made while work is captured returns; 0 if it may go on.
int refuse_unsafe();
// The same for waiting for a stream, or asking about it, that is itself captured.
int refuse_captured(const std::shared_ptr<Stream>& stream);
int captured_record(Event& event, const std::shared_ptr<Stream>& stream, bool* taken);
int captured_wait(Event& event, const std::shared_ptr<Stream>& stream, bool* taken);
int refuse_captured_event(Event& event);
void reset_graphs(Device* device);

struct Event {
    Device* device = nullptr;
    unsigned flags = 0;
    std::mutex mutex;
    Point point;  // where it was recorded last
    uint64_t generation = 0;
    std::chrono::steady_clock::time_point when;
    std::shared_ptr<Capture> capture;  // in which it was recorded last
    std::vector<size_t> nodes;         // and after what
};

// ---- memory.cpp ----

// What is wrong with [p, p + n) as device memory; empty if it lies in one live allocation.
std::string describe_address(uintptr_t address);
bool is_device_range(uintptr_t begin, size_t size);
bool is_host_range_pinned(uintptr_t begin, size_t size);
void reset_memory(Device* device);
void reset_modules(Device* device);

}  // namespace emu

#define EMULATED_ENTER(function)                             \
    do {                                                     \
        if (int code_ = emu::enter(#function)) return code_; \
    } while (0)
// The same, and the device of the current context.
#define EMULATED_CURRENT(function)                           \
    EMULATED_ENTER(function);                                \
    emu::Device* device = nullptr;                           \
    do {                                                     \
        if (int code_ = emu::current(&device)) return code_; \
    } while (0)
