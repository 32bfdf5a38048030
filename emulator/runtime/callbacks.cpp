// Functions of the host between a stream's tasks (aclrtLaunchCallback). The thread that subscribed to the stream runs
// them, one each time that it calls aclrtProcessReport; a blocking one holds the stream until it is done.
#include <map>
#include <memory>

#include <pthread.h>

#include "queue.h"

namespace emu {
namespace {

struct Report {
    aclrtCallback function;
    void* data;
    bool done = false;
};

// A thread that runs functions, with those that wait for it.
struct Subscriber {
    std::deque<std::shared_ptr<Report>> reports;
    int streams = 0;
};

struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<uint64_t, Subscriber> threads;
    std::map<Queue*, uint64_t> streams;
};
State& state() {
    static State* s = new State;
    return *s;
}

std::string run(Queue* q, const std::shared_ptr<Report>& report, bool blocking) {
    State& s = state();
    std::unique_lock<std::mutex> lock(s.mutex);
    auto found = s.streams.find(q);
    if (found == s.streams.end()) return "no thread is subscribed to the stream any more";
    s.threads[found->second].reports.push_back(report);
    s.changed.notify_all();
    if (blocking) s.changed.wait(lock, [&] { return report->done || !s.streams.count(q); });
    return blocking && !report->done ? "the thread that should run it unsubscribed" : "";
}

}  // namespace
}  // namespace emu

using namespace emu;

EMU_API aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
    EMU_ENTER("aclrtSubscribeReport");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtSubscribeReport", &code);
    if (!q) return code;
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.streams.emplace(q, threadId).second)
        return failed(kRepeatSubscribe, text("aclrtSubscribeReport: stream ", q->id, " is subscribed to already"));
    s.threads[threadId].streams++;
    return kSuccess;
}

EMU_API aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
    EMU_ENTER("aclrtUnSubscribeReport");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtUnSubscribeReport", &code);
    if (!q) return code;
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    auto found = s.streams.find(q);
    if (found == s.streams.end() || found->second != threadId)
        return failed(kStreamNotSubscribed,
                      text("aclrtUnSubscribeReport: that thread is not subscribed to stream ", q->id));
    s.streams.erase(found);
    if (!--s.threads[threadId].streams) s.threads.erase(threadId);
    s.changed.notify_all();
    return kSuccess;
}

EMU_API aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                                     aclrtStream stream) {
    EMU_ENTER("aclrtLaunchCallback");
    if (!fn) return failed(kParamInvalid, "aclrtLaunchCallback: no function");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtLaunchCallback", &code);
    if (!q) return code;
    {
        State& s = state();
        std::lock_guard<std::mutex> lock(s.mutex);
        if (!s.streams.count(q))
            return failed(kStreamNotSubscribed, text("aclrtLaunchCallback: no thread is subscribed to stream ", q->id));
    }
    Work w;
    w.name = "aclrtLaunchCallback";
    w.run = [q, fn, userData, blocking = blockType == kCallbackBlock] {
        return run(q, std::make_shared<Report>(Report{fn, userData}), blocking);
    };
    return push(q, std::move(w));
}

// On a thread of the device's, which the stream waits for.
EMU_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
    EMU_ENTER("aclrtLaunchHostFunc");
    if (!fn) return failed(kParamInvalid, "aclrtLaunchHostFunc: no function");
    int code = 0;
    Queue* q = queue_of(stream, "aclrtLaunchHostFunc", &code);
    if (!q) return code;
    Work w;
    w.name = "aclrtLaunchHostFunc";
    w.run = [fn, args]() -> std::string {
        fn(args);
        return {};
    };
    return push(q, std::move(w));
}

EMU_API aclError aclrtProcessReport(int32_t timeout) {
    EMU_ENTER("aclrtProcessReport");
    State& s = state();
    const auto own = static_cast<uint64_t>(pthread_self());
    std::shared_ptr<Report> report;
    {
        std::unique_lock<std::mutex> lock(s.mutex);
        if (!s.threads.count(own))
            return failed(kThreadNotSubscribed, "aclrtProcessReport: this thread subscribed to no stream");
        auto ready = [&] { return !s.threads.count(own) || !s.threads[own].reports.empty(); };
        if (timeout < 0)
            s.changed.wait(lock, ready);
        else if (!s.changed.wait_for(lock, std::chrono::milliseconds(timeout), ready))
            return failed(kCallbackTimeout, text("aclrtProcessReport: nothing to run within ", timeout, " ms"));
        if (!s.threads.count(own)) return failed(kThreadNotSubscribed, "aclrtProcessReport: the thread unsubscribed");
        report = s.threads[own].reports.front();
        s.threads[own].reports.pop_front();
    }
    report->function(report->data);
    std::lock_guard<std::mutex> lock(s.mutex);
    report->done = true;
    s.changed.notify_all();
    return kSuccess;
}
