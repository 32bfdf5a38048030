// Streams and events as the runtime library holds them, and what capturing adds to them.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "stream.h"

namespace emu {

struct Capture;
struct Update;
struct Queue;
using Clock = std::chrono::steady_clock;

struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0, completed = 0;  // how often
    // An event of outside (ACL_EVENT_EXTERNAL) is a flag: a record raises it, a wait lasts until it is up, a reset
    // takes it down. In a capture all three are tasks as any other.
    bool external = false;
    Clock::time_point when;
    bool live = true;
    Capture* capture = nullptr;  // the capture in which it was recorded last
    Queue* recorder = nullptr;   // and the stream there
};

// What the program's callback is told of a task that failed.
struct Failure {
    uint32_t task;
    int stream, device, code;
};
void tell_failure(const Failure& failure);

struct Queue {
    int id, device;
    bool is_default = false, live = true, stop = false, busy = false;
    std::mutex mutex;
    std::condition_variable arrived, idle;
    std::deque<Work> waiting;
    Work running;
    uint32_t tasks = 0;  // how many it was given
    int error = 0;
    std::string error_text;
    unsigned random;
    Capture* capture = nullptr;  // what its work is recorded into instead of being done
    Update* update = nullptr;    // the same for tasks that replace others
    std::thread thread;

    void loop() {
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            arrived.wait(lock, [&] { return stop || !waiting.empty(); });
            if (waiting.empty()) return;
            running = std::move(waiting.front());
            waiting.pop_front();
            busy = true;
            lock.unlock();
            pause();
            std::string problem = check_memory(running);
            int code = kAicoreException;
            if (problem.empty()) {
                code = injected(running.name.c_str(), "@stream");
                if (code)
                    problem = text("injected error ", code);
                else
                    problem = attempt(running);
                if (!problem.empty() && !code) code = kAicoreException;
            }
            if (!problem.empty()) tell_failure({running.task, id, device, code});
            lock.lock();
            if (!problem.empty() && !error) {
                error = code;
                error_text = text(running.name, " failed on stream ", id, " of device ", device, ": ", problem);
            }
            running = Work();
            busy = false;
            if (waiting.empty()) idle.notify_all();
        }
    }
    static std::string attempt(const Work& w) {  // work's problem; that the host's memory does not suffice is one
        try {
            return w.run();
        } catch (const std::bad_alloc&) {
            return "this host has too little memory to emulate it";
        }
    }
    static std::string check_memory(const Work& w) {  // what is wrong with the memory that work uses
        for (auto& [p, n] : w.memory) {
            std::string problem = n ? range_problem(p, n) : "";
            if (!problem.empty()) {
                misused(0, text(w.name, ": ", problem));
                return problem;
            }
        }
        return "";
    }
    void pause() {
        const Settings& s = settings();
        int us = s.delay_us;
        if (s.shuffle) {
            random = random * 1664525u + 1013904223u;
            us = static_cast<int>((random >> 16) % static_cast<unsigned>(s.delay_us ? s.delay_us : 500));
        }
        if (us) std::this_thread::sleep_for(std::chrono::microseconds(us));
    }
};

// The stream of a handle (null is the default one of the current device), or null and a code.
Queue* queue_of(aclrtStream handle, const char* function, int* code);
int wait_for(Queue* q, int timeout_ms);  // -1: for ever
int push(Queue* q, Work w);

// ---- capture.cpp ----

// What a call that waits for a stream or event, or asks about it, returns if that one is being captured; 0 if not. The
// capture is spoiled.
int refuse_captured(Capture* capture, int code, const char* function, const std::string& what);
// Work for a stream that is being captured.
int record(Queue* q, Work w);
// An event, recorded in and waited for by a stream: whether capturing took the call over, and then its code.
bool captured_record(Event* e, Queue* q, int* code);
bool captured_wait(Event* e, Queue* q, int* code);
bool any_capture();  // whether some capture is under way
// What an unsafe call (one that works beside the streams) returns on this thread while others capture; 0 if it may go
// on.
int refuse_unsafe(const char* function);

}  // namespace emu
