// Capture and replay (aclmdlRI). While a stream is captured its work is recorded and not done; streams join by waiting
// for an event of the capture. The order in which the host gave the work is one that every stream and event agrees
// with, so a replay runs it in that order, as one piece of work of the stream that it is given to.
#include <atomic>
#include <cstdio>
#include <memory>
#include <set>

#include "queue.h"

namespace emu {

// A part of a recording that can be replaced.
struct TaskGroup {
    size_t begin = 0, end = 0;
    Queue* queue = nullptr;
    void* model = nullptr;  // once the capture has ended
};
// What takes the place of a group.
struct Update {
    TaskGroup* group;
    std::vector<Work> tasks;
};

struct Capture {
    Queue* origin;
    aclmdlRICaptureMode mode;
    std::thread::id thread;
    std::vector<Work> tasks;
    std::set<Queue*> streams;
    std::set<Queue*> unjoined;  // streams with work that the origin does not wait for
    std::set<Event*> events;
    std::vector<TaskGroup*> groups;
    TaskGroup* open = nullptr;  // the group that is being recorded
    std::string problem;        // why it is invalid, if it is
    int code = 0;
};

namespace {

struct Model {
    std::mutex mutex;  // of the tasks
    std::vector<Work> tasks;
    std::vector<TaskGroup*> groups;
    std::atomic<int> running{0};
};

struct State {
    std::mutex mutex;
    std::set<Capture*> captures;
    std::set<Model*> models;
    std::set<TaskGroup*> groups;
};
State& state() {
    static State* s = new State;
    return *s;
}
std::atomic<int> g_captures{0};
thread_local aclmdlRICaptureMode t_mode = kCaptureGlobal;

int spoil(Capture* c, int code, const std::string& problem) {
    if (!c->code) {
        c->code = code;
        c->problem = problem;
    }
    return failed(code, problem);
}

// A stream with the captures of all locked; where there is no such stream, why.
struct LockedStream {
    int code = 0;
    Queue* const queue;
    std::unique_lock<std::mutex> lock;
    LockedStream(aclrtStream stream, const char* function) : queue(queue_of(stream, function, &code)) {
        if (queue) lock = std::unique_lock<std::mutex>(state().mutex);
    }
};

// The model of a handle, or null and a code.
Model* model_of(aclmdlRI handle, const char* function, int* code) {
    std::lock_guard<std::mutex> lock(state().mutex);
    for (Capture* c : state().captures)
        if (c == handle) {
            *code = failed(kModelCaptured, text(function, ": the model is still being captured"));
            return nullptr;
        }
    auto* m = static_cast<Model*>(handle);
    if (!state().models.count(m)) {
        *code = misused(kInvalidHandle, text(function, ": ", handle, " is no model, or one that was destroyed"));
        return nullptr;
    }
    return m;
}

void forget(const std::vector<TaskGroup*>& groups) {  // with the state locked
    for (TaskGroup* g : groups) {
        state().groups.erase(g);
        delete g;
    }
}

}  // namespace

bool any_capture() { return g_captures.load(std::memory_order_relaxed) > 0; }

int refuse_captured(Capture* c, int code, const char* function, const std::string& what) {
    std::lock_guard<std::mutex> lock(state().mutex);
    return spoil(c, code, text(function, ": ", what, " is being captured"));
}

int refuse_unsafe(const char* function) {
    if (!any_capture() || t_mode == kCaptureRelaxed) return 0;
    std::lock_guard<std::mutex> lock(state().mutex);
    for (Capture* c : state().captures) {
        bool own = c->thread == std::this_thread::get_id();
        if (c->mode == kCaptureRelaxed || (c->mode == kCaptureThreadLocal && !own)) continue;
        if (!own && t_mode == kCaptureThreadLocal) continue;
        return spoil(c, kCaptureModeNotSupported,
                     text(function, ": not while stream ", c->origin->id, " is captured in this mode"));
    }
    return 0;
}

int record(Queue* q, Work w) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (q->update) {
        q->update->tasks.push_back(std::move(w));
        return kSuccess;
    }
    Capture* c = q->capture;
    if (c->code) return failed(c->code, c->problem);
    if (q != c->origin) c->unjoined.insert(q);
    c->tasks.push_back(std::move(w));
    return kSuccess;
}

bool captured_record(Event* e, Queue* q, int* code) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (!q->capture) {
        e->capture = nullptr;
        return false;
    }
    e->capture = q->capture;
    e->recorder = q;
    q->capture->events.insert(e);
    *code = kSuccess;
    return true;
}

bool captured_wait(Event* e, Queue* q, int* code) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Capture *of_event = e->capture, *of_stream = q->capture;
    if (!of_event && !of_stream) return false;
    *code = kSuccess;
    if (!of_event)
        *code =
            spoil(of_stream, kCaptureDependency, "aclrtStreamWaitEvent: the event was recorded outside of the capture");
    else if (of_stream && of_stream != of_event)
        *code = spoil(of_stream, kStreamCaptureConflict, "aclrtStreamWaitEvent: event and stream are in two captures");
    else if (q->is_default)
        *code = spoil(of_event, kStreamCaptureImplicit, "aclrtStreamWaitEvent: the default stream cannot be captured");
    else if (!of_stream) {  // the stream joins
        q->capture = of_event;
        of_event->streams.insert(q);
        of_event->unjoined.insert(q);
    } else if (q == of_event->origin) {
        of_event->unjoined.erase(e->recorder);
    }
    return true;
}

}  // namespace emu

using namespace emu;

EMU_API aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    EMU_ENTER("aclmdlRICaptureBegin");
    if (mode < kCaptureGlobal || mode > kCaptureRelaxed)
        return failed(kParamInvalid, text("aclmdlRICaptureBegin: mode ", int(mode)));
    if (!is_recent_soc() && settings().soc.rfind("Ascend310P", 0) != 0)
        return failed(kFeatureNotSupported, text("aclmdlRICaptureBegin: not supported on ", settings().soc));
    LockedStream at(stream, "aclmdlRICaptureBegin");
    Queue* const q = at.queue;
    if (!q) return at.code;
    if (q->is_default)
        return failed(kStreamCaptureImplicit, "aclmdlRICaptureBegin: the default stream cannot be captured");
    if (q->capture) return failed(kStreamCaptured, "aclmdlRICaptureBegin: the stream is being captured");
    auto* c = new Capture;
    c->origin = q;
    c->mode = mode;
    c->thread = std::this_thread::get_id();
    c->streams.insert(q);
    q->capture = c;
    state().captures.insert(c);
    g_captures++;
    return kSuccess;
}

EMU_API aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* model) {
    EMU_ENTER("aclmdlRICaptureGetInfo");
    LockedStream at(stream, "aclmdlRICaptureGetInfo");
    Queue* const q = at.queue;
    if (!q) return at.code;
    Capture* c = q->capture;
    if (status) *status = !c ? kCaptureNone : c->code ? kCaptureInvalidated : kCaptureActive;
    if (model) *model = c;
    return kSuccess;
}

EMU_API aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* model) {
    EMU_ENTER("aclmdlRICaptureEnd");
    if (!model) return failed(kParamInvalid, "aclmdlRICaptureEnd: nowhere to put the model");
    LockedStream at(stream, "aclmdlRICaptureEnd");
    Queue* const q = at.queue;
    if (!q) return at.code;
    Capture* c = q->capture;
    *model = nullptr;
    if (!c) return failed(kStreamNotCaptured, text("aclmdlRICaptureEnd: stream ", q->id, " is not being captured"));
    if (c->origin != q)
        return spoil(c, kStreamCaptureUnmatched,
                     text("aclmdlRICaptureEnd: the capture was begun on stream ", c->origin->id, ", and stream ", q->id,
                          " joined it"));
    if (c->mode != kCaptureRelaxed && c->thread != std::this_thread::get_id())
        return spoil(c, kStreamCaptureWrongThread, "aclmdlRICaptureEnd: another thread began the capture");
    if (!c->unjoined.empty())
        spoil(c, kStreamUnjoined,
              text("aclmdlRICaptureEnd: stream ", (*c->unjoined.begin())->id, " joined the capture, and stream ",
                   c->origin->id, " does not wait for its last work"));
    if (c->open) spoil(c, kTaskGroupStatus, "aclmdlRICaptureEnd: a task group was begun and not ended");
    for (Queue* joined : c->streams) joined->capture = nullptr;
    for (Event* e : c->events)
        if (e->capture == c) e->capture = nullptr;
    const int code = c->code;
    if (code) {
        failed(code, c->problem);
        forget(c->groups);
    } else {
        auto* m = new Model;
        m->tasks = std::move(c->tasks);
        m->groups = std::move(c->groups);
        for (TaskGroup* g : m->groups) g->model = m;
        state().models.insert(m);
        count(kModels, 1);
        *model = m;
    }
    state().captures.erase(c);
    g_captures--;
    delete c;
    return code;
}

EMU_API aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
    EMU_ENTER("aclmdlRICaptureThreadExchangeMode");
    if (!mode || *mode < kCaptureGlobal || *mode > kCaptureRelaxed)
        return failed(kParamInvalid, "aclmdlRICaptureThreadExchangeMode: no mode");
    std::swap(*mode, t_mode);
    return kSuccess;
}

EMU_API aclError aclmdlRIExecuteAsync(aclmdlRI handle, aclrtStream stream) {
    EMU_ENTER("aclmdlRIExecuteAsync");
    int code = 0;
    Model* m = model_of(handle, "aclmdlRIExecuteAsync", &code);
    if (!m) return code;
    Work w;
    w.name = "aclmdlRIExecuteAsync";
    std::set<std::pair<const void*, size_t>> memory;
    {
        std::lock_guard<std::mutex> lock(m->mutex);
        for (const Work& task : m->tasks) memory.insert(task.memory.begin(), task.memory.end());
    }
    w.memory.assign(memory.begin(), memory.end());
    m->running++;
    w.run = [m]() -> std::string {
        std::string problem;
        for (size_t i = 0; i < m->tasks.size() && problem.empty(); i++) {
            Work task;
            {
                std::lock_guard<std::mutex> lock(m->mutex);
                task = m->tasks[i];
            }
            problem = Queue::check_memory(task);
            if (problem.empty()) problem = Queue::attempt(task);
            if (!problem.empty()) problem = text("task ", i, ", ", task.name, ": ", problem);
        }
        m->running--;
        return problem;
    };
    code = enqueue(stream, std::move(w));
    if (code) m->running--;
    return code;
}

EMU_API aclError aclmdlRIDestroy(aclmdlRI handle) {
    EMU_ENTER("aclmdlRIDestroy");
    int code = 0;
    Model* m = model_of(handle, "aclmdlRIDestroy", &code);
    if (!m) return code;
    if (m->running) return misused(kModelRunning, "aclmdlRIDestroy: the model is being executed");
    std::lock_guard<std::mutex> lock(state().mutex);
    state().models.erase(m);
    forget(m->groups);
    count(kModels, -1);
    delete m;
    return kSuccess;
}

EMU_API aclError aclmdlRIDebugPrint(aclmdlRI handle) {
    EMU_ENTER("aclmdlRIDebugPrint");
    int code = 0;
    Model* m = model_of(handle, "aclmdlRIDebugPrint", &code);
    if (!m) return code;
    for (size_t i = 0; i < m->tasks.size(); i++) std::printf("task %zu: %s\n", i, m->tasks[i].name.c_str());
    return kSuccess;
}

// One event for each task, in the form that browsers show as a trace; a task takes one unit of time.
EMU_API aclError aclmdlRIDebugJsonPrint(aclmdlRI handle, const char* path, uint32_t flags) {
    EMU_ENTER("aclmdlRIDebugJsonPrint");
    int code = 0;
    Model* m = model_of(handle, "aclmdlRIDebugJsonPrint", &code);
    if (!m) return code;
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file)
        return failed(kParamInvalid, text("aclmdlRIDebugJsonPrint: ", path ? path : "no path", " cannot be written"));
    std::fprintf(file, "[");
    for (size_t i = 0; i < m->tasks.size(); i++)
        std::fprintf(file, "%s\n{\"name\": \"%s\", \"ph\": \"X\", \"pid\": 0, \"tid\": 0, \"ts\": %zu, \"dur\": 1}",
                     i ? "," : "", m->tasks[i].name.c_str(), i);
    std::fprintf(file, "\n]\n");
    std::fclose(file);
    return kSuccess;
}

// ---- task groups ----

EMU_API aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
    EMU_ENTER("aclmdlRICaptureTaskGrpBegin");
    LockedStream at(stream, "aclmdlRICaptureTaskGrpBegin");
    Queue* const q = at.queue;
    if (!q) return at.code;
    Capture* c = q->capture;
    if (!c) return failed(kStreamNotCaptured, text("aclmdlRICaptureTaskGrpBegin: stream ", q->id, " is not captured"));
    if (c->open) return spoil(c, kTaskGroupStatus, "aclmdlRICaptureTaskGrpBegin: a group was begun and not ended");
    c->open = new TaskGroup;
    c->open->begin = c->tasks.size();
    c->open->queue = q;
    c->groups.push_back(c->open);
    state().groups.insert(c->open);
    return kSuccess;
}

EMU_API aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* group) {
    EMU_ENTER("aclmdlRICaptureTaskGrpEnd");
    if (!group) return failed(kParamInvalid, "aclmdlRICaptureTaskGrpEnd: nowhere to put the group");
    LockedStream at(stream, "aclmdlRICaptureTaskGrpEnd");
    Queue* const q = at.queue;
    if (!q) return at.code;
    Capture* c = q->capture;
    if (!c) return failed(kStreamNotCaptured, text("aclmdlRICaptureTaskGrpEnd: stream ", q->id, " is not captured"));
    if (!c->open || c->open->queue != q)
        return spoil(c, kTaskGroupStatus, "aclmdlRICaptureTaskGrpEnd: no group was begun on this stream");
    c->open->end = c->tasks.size();
    *group = std::exchange(c->open, nullptr);
    return kSuccess;
}

EMU_API aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp group) {
    EMU_ENTER("aclmdlRICaptureTaskUpdateBegin");
    LockedStream at(stream, "aclmdlRICaptureTaskUpdateBegin");
    Queue* const q = at.queue;
    if (!q) return at.code;
    auto* g = static_cast<TaskGroup*>(group);
    if (!state().groups.count(g))
        return misused(kInvalidHandle, text("aclmdlRICaptureTaskUpdateBegin: ", group, " is no task group"));
    if (!g->model) return failed(kModelCaptured, "aclmdlRICaptureTaskUpdateBegin: the model is still being captured");
    if (q->capture) return failed(kStreamCaptured, "aclmdlRICaptureTaskUpdateBegin: the stream is being captured");
    if (q->update)
        return failed(kTaskGroupStatus, "aclmdlRICaptureTaskUpdateBegin: the stream updates a group already");
    q->update = new Update{g, {}};
    return kSuccess;
}

EMU_API aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
    EMU_ENTER("aclmdlRICaptureTaskUpdateEnd");
    LockedStream at(stream, "aclmdlRICaptureTaskUpdateEnd");
    Queue* const q = at.queue;
    if (!q) return at.code;
    std::unique_ptr<Update> update(std::exchange(q->update, nullptr));
    if (!update) return failed(kTaskGroupStatus, "aclmdlRICaptureTaskUpdateEnd: the stream updates no group");
    if (!state().groups.count(update->group))
        return misused(kInvalidHandle, "aclmdlRICaptureTaskUpdateEnd: the model was destroyed meanwhile");
    auto* m = static_cast<Model*>(update->group->model);
    at.lock.unlock();
    size_t begin = update->group->begin, count = update->group->end - begin;
    if (update->tasks.size() != count)
        return failed(kParamInvalid,
                      text("aclmdlRICaptureTaskUpdateEnd: ", update->tasks.size(), " tasks for a group of ", count));
    for (size_t i = 0; i < count; i++)
        if (update->tasks[i].name != m->tasks[begin + i].name)
            return failed(kParamInvalid, text("aclmdlRICaptureTaskUpdateEnd: task ", i, " is ", update->tasks[i].name,
                                              ", in the group it is ", m->tasks[begin + i].name));
    Work w;
    w.name = "aclmdlRICaptureTaskUpdateEnd";
    w.run = [m, begin, tasks = std::move(update->tasks)] {
        std::lock_guard<std::mutex> lock(m->mutex);
        std::copy(tasks.begin(), tasks.end(), m->tasks.begin() + static_cast<std::ptrdiff_t>(begin));
        return std::string();
    };
    return push(q, std::move(w));
}
