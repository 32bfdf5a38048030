// Capturing the work of streams into graphs, and launching them.
#include <algorithm>
#include <cstdio>
#include <set>

#include "emulator.h"

namespace emu {
namespace {

struct Node {
    Work work;
    std::vector<size_t> after;
    CUgraphNode handle = nullptr;
};

struct Graph {
    Device* device = nullptr;
    std::vector<Node> nodes;
};

struct GraphExec {
    Device* device = nullptr;
    std::shared_ptr<const std::vector<Node>> nodes;
    std::mutex mutex;
    Point last;  // its launches come one after the other
};

}  // namespace

struct Capture {
    std::mutex mutex;
    uint64_t id = 0;
    int mode = 0;
    std::thread::id thread;
    Stream* origin = nullptr;
    std::vector<std::shared_ptr<Stream>> members;
    std::shared_ptr<Graph> graph;
    void* graph_handle = nullptr;
    bool invalid = false, ended = false;
};

namespace {

struct Captures {
    std::mutex mutex;
    std::vector<std::shared_ptr<Capture>> active;
    std::atomic<int> number{0};
    uint64_t ids = 0;
};
Captures& captures() {
    static auto* all = new Captures;
    return *all;
}
Registry<Graph>& graphs() {
    static auto* all = new Registry<Graph>;
    return *all;
}
Registry<GraphExec>& execs() {
    static auto* all = new Registry<GraphExec>;
    return *all;
}
thread_local int t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::shared_ptr<Capture> capture_of(Stream& stream) {
    if (!captures().number.load(std::memory_order_acquire)) return nullptr;
    std::lock_guard<std::mutex> lock(stream.mutex);
    return stream.capture;
}

int spoil(Capture& capture, int code) {
    std::lock_guard<std::mutex> lock(capture.mutex);
    capture.invalid = true;
    return code;
}

// Whether all nodes come before one of `tail`.
bool joined(const Graph& graph, const std::vector<size_t>& tail) {
    std::vector<bool> seen(graph.nodes.size());
    std::vector<size_t> open = tail;
    while (!open.empty()) {
        size_t i = open.back();
        open.pop_back();
        if (seen[i]) continue;
        seen[i] = true;
        for (size_t before : graph.nodes[i].after) open.push_back(before);
    }
    return std::all_of(seen.begin(), seen.end(), [](bool s) { return s; });
}

void finish(const std::shared_ptr<Capture>& capture) {
    for (auto& s : capture->members) {
        std::lock_guard<std::mutex> lock(s->mutex);
        if (s->capture == capture) s->capture.reset();
        s->tail.clear();
    }
    std::lock_guard<std::mutex> lock(captures().mutex);
    auto& active = captures().active;
    active.erase(std::remove(active.begin(), active.end(), capture), active.end());
    captures().number = static_cast<int>(active.size());
    std::lock_guard<std::mutex> inner(capture->mutex);
    capture->ended = true;
}

// The nodes in an order that respects what comes after what, and under hostile scheduling another one each time.
Fault run_nodes(const std::vector<Node>& nodes) {
    static std::atomic<uint64_t> launches{0};
    uint64_t random = settings().hostile + ++launches * 7919;
    std::vector<size_t> missing(nodes.size()), ready;
    std::vector<std::vector<size_t>> next(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++) {
        missing[i] = nodes[i].after.size();
        for (size_t before : nodes[i].after) next[before].push_back(i);
        if (!missing[i]) ready.push_back(i);
    }
    while (!ready.empty()) {
        size_t pick = settings().hostile ? next_random(random) % ready.size() : 0;
        size_t i = ready[pick];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
        Fault fault = perform(nodes[i].work);
        if (fault.code) return fault;
        for (size_t after : next[i])
            if (!--missing[after]) ready.push_back(after);
    }
    return {};
}

int type_of(const Node& node) {
    const std::string& name = node.work.name;
    if (name.rfind("cuMemcpy", 0) == 0) return 1;
    if (name.rfind("cuMemset", 0) == 0) return 2;
    if (name == "cuLaunchHostFunc") return 3;
    if (name == "cuGraphLaunch") return 4;
    return 0;
}

}  // namespace

bool capturing(const std::shared_ptr<Stream>& stream) { return capture_of(*stream) != nullptr; }

int record_node(const std::shared_ptr<Stream>& stream, Work work) {
    auto capture = capture_of(*stream);
    if (!capture) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::lock_guard<std::mutex> lock(capture->mutex);
    if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    work.after.clear();
    Node node;
    node.work = std::move(work);
    node.handle = static_cast<CUgraphNode>(new_handle());
    std::lock_guard<std::mutex> inner(stream->mutex);
    node.after = stream->tail;
    stream->tail = {capture->graph->nodes.size()};
    capture->graph->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
}

int refuse_unsafe() {
    Captures& all = captures();
    if (!all.number.load(std::memory_order_acquire) || t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    std::lock_guard<std::mutex> lock(all.mutex);
    for (auto& c : all.active) {
        bool mine = c->thread == std::this_thread::get_id();
        bool minds = mine ? c->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                          : c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (minds) return spoil(*c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return CUDA_SUCCESS;
}

int refuse_captured(const std::shared_ptr<Stream>& stream) {
    auto capture = capture_of(*stream);
    return capture ? spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
}

int refuse_legacy(const std::shared_ptr<Stream>& stream) {
    Captures& all = captures();
    if (!stream->legacy || !all.number.load(std::memory_order_acquire)) return CUDA_SUCCESS;
    std::lock_guard<std::mutex> lock(all.mutex);
    for (auto& c : all.active)
        for (auto& s : c->members)
            if (s->device == stream->device && !(s->flags & CU_STREAM_NON_BLOCKING))
                return spoil(*c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return CUDA_SUCCESS;
}

int captured_record(Event& event, const std::shared_ptr<Stream>& stream, bool* taken) {
    auto capture = capture_of(*stream);
    if (!capture) return CUDA_SUCCESS;
    *taken = true;
    {
        std::lock_guard<std::mutex> lock(capture->mutex);
        if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    std::vector<size_t> tail;
    {
        std::lock_guard<std::mutex> lock(stream->mutex);
        tail = stream->tail;
    }
    std::lock_guard<std::mutex> lock(event.mutex);
    event.capture = capture;
    event.nodes = tail;
    return CUDA_SUCCESS;
}

int captured_wait(Event& event, const std::shared_ptr<Stream>& stream, bool* taken) {
    auto capture = capture_of(*stream);
    std::shared_ptr<Capture> recorded;
    std::vector<size_t> nodes;
    {
        std::lock_guard<std::mutex> lock(event.mutex);
        recorded = event.capture;
        nodes = event.nodes;
    }
    if (recorded) {
        std::lock_guard<std::mutex> lock(recorded->mutex);
        if (recorded->ended) recorded.reset();
    }
    if (!capture && !recorded) return CUDA_SUCCESS;
    *taken = true;
    if (capture && !recorded) return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (capture && capture != recorded) {
        spoil(*recorded, 0);
        return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    std::lock_guard<std::mutex> lock(recorded->mutex);
    if (recorded->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::lock_guard<std::mutex> inner(stream->mutex);
    if (!capture) {
        stream->capture = recorded;
        stream->tail.clear();
        recorded->members.push_back(stream);
    }
    for (size_t n : nodes)
        if (std::find(stream->tail.begin(), stream->tail.end(), n) == stream->tail.end()) stream->tail.push_back(n);
    return CUDA_SUCCESS;
}

int refuse_captured_event(Event& event) {
    std::shared_ptr<Capture> capture;
    {
        std::lock_guard<std::mutex> lock(event.mutex);
        capture = event.capture;
    }
    if (!capture) return CUDA_SUCCESS;
    {
        std::lock_guard<std::mutex> lock(capture->mutex);
        if (capture->ended) return CUDA_SUCCESS;
    }
    return spoil(*capture, CUDA_ERROR_CAPTURED_EVENT);
}

void reset_graphs(Device* device) {
    graphs().remove_if([&](Graph& g) {
        if (g.device == device) count(kGraphs, -1);
        return g.device == device;
    });
    execs().remove_if([&](GraphExec& e) {
        if (e.device == device) count(kGraphExecs, -1);
        return e.device == device;
    });
}

}  // namespace emu

using namespace emu;

EMULATED_API CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
    EMULATED_CURRENT(cuStreamBeginCapture_v2);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (capturing(stream)) return 401;  // CUDA_ERROR_ILLEGAL_STATE
    auto capture = std::make_shared<Capture>();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream.get();
    capture->members.push_back(stream);
    capture->graph = std::make_shared<Graph>();
    capture->graph->device = stream->device;
    capture->graph_handle = graphs().add(capture->graph);
    count(kGraphs, 1);
    std::lock_guard<std::mutex> lock(captures().mutex);
    capture->id = ++captures().ids;
    captures().active.push_back(capture);
    captures().number = static_cast<int>(captures().active.size());
    std::lock_guard<std::mutex> inner(stream->mutex);
    stream->capture = capture;
    stream->tail.clear();
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuStreamEndCapture(CUstream handle, CUgraph* result) {
    EMULATED_CURRENT(cuStreamEndCapture);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    *result = nullptr;
    auto capture = capture_of(*stream);
    if (!capture) return 401;  // CUDA_ERROR_ILLEGAL_STATE
    if (capture->origin != stream.get()) return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
        return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    std::vector<size_t> tail;
    {
        std::lock_guard<std::mutex> lock(stream->mutex);
        tail = stream->tail;
    }
    int code = CUDA_SUCCESS;
    {
        std::lock_guard<std::mutex> lock(capture->mutex);
        if (capture->invalid)
            code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else if (!joined(*capture->graph, tail))
            code = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    finish(capture);
    if (code) {
        graphs().remove(capture->graph_handle);
        count(kGraphs, -1);
        return code;
    }
    *result = static_cast<CUgraph>(capture->graph_handle);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuStreamIsCapturing(CUstream handle, int* status) {
    EMULATED_CURRENT(cuStreamIsCapturing);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (auto capture = capture_of(*stream)) {
        std::lock_guard<std::mutex> lock(capture->mutex);
        *status = capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int* status, cuuint64_t* id, CUgraph* graph,
                                                const CUgraphNode** after, size_t* number) {
    EMULATED_CURRENT(cuStreamGetCaptureInfo_v2);
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(handle, &stream)) return code;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    auto capture = capture_of(*stream);
    if (!capture) return CUDA_SUCCESS;
    std::lock_guard<std::mutex> lock(capture->mutex);
    *status = capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (capture->invalid) return CUDA_SUCCESS;
    if (id) *id = capture->id;
    if (graph) *graph = static_cast<CUgraph>(capture->graph_handle);
    static thread_local std::vector<CUgraphNode> nodes;
    nodes.clear();
    std::lock_guard<std::mutex> inner(stream->mutex);
    for (size_t i : stream->tail) nodes.push_back(capture->graph->nodes[i].handle);
    if (after) *after = nodes.data();
    if (number) *number = nodes.size();
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
    EMULATED_ENTER(cuThreadExchangeStreamCaptureMode);
    if (!mode || *mode < 0 || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, t_mode);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* result, CUgraph handle, unsigned long long flags) {
    EMULATED_CURRENT(cuGraphInstantiateWithFlags);
    auto graph = graphs().find(handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    if (!result || flags & ~15ull) return CUDA_ERROR_INVALID_VALUE;
    auto exec = std::make_shared<GraphExec>();
    exec->device = graph->device;
    exec->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
    *result = static_cast<CUgraphExec>(execs().add(exec));
    count(kGraphExecs, 1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    EMULATED_CURRENT(cuGraphLaunch);
    auto exec = execs().find(handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(stream_handle, &stream)) return code;
    if (settings().noop) return CUDA_SUCCESS;
    Work work;
    work.name = "cuGraphLaunch";
    work.guarded = false;  // each node is for itself
    work.run = [nodes = exec->nodes] { return run_nodes(*nodes); };
    std::lock_guard<std::mutex> lock(exec->mutex);
    if (exec->last.stream && exec->last.stream != stream) work.after.push_back(exec->last);
    if (int code = submit(stream, std::move(work))) return code;
    exec->last = stream->now();
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuGraphUpload(CUgraphExec handle, CUstream) {
    EMULATED_CURRENT(cuGraphUpload);
    return execs().find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMULATED_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
    EMULATED_ENTER(cuGraphExecDestroy);
    if (!execs().remove(handle)) return CUDA_ERROR_INVALID_VALUE;
    count(kGraphExecs, -1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuGraphDestroy(CUgraph handle) {
    EMULATED_ENTER(cuGraphDestroy);
    if (!graphs().remove(handle)) return CUDA_ERROR_INVALID_VALUE;
    count(kGraphs, -1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* number) {
    EMULATED_ENTER(cuGraphGetNodes);
    auto graph = graphs().find(handle);
    if (!graph || !number) return CUDA_ERROR_INVALID_VALUE;
    if (nodes)
        for (size_t i = 0; i < *number; i++) nodes[i] = i < graph->nodes.size() ? graph->nodes[i].handle : nullptr;
    if (!nodes || *number > graph->nodes.size()) *number = graph->nodes.size();
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuGraphNodeGetType(CUgraphNode handle, int* type) {
    EMULATED_ENTER(cuGraphNodeGetType);
    if (!type) return CUDA_ERROR_INVALID_VALUE;
    for (auto& graph : graphs().all())
        for (const Node& node : graph->nodes)
            if (node.handle == handle) {
                *type = type_of(node);
                return CUDA_SUCCESS;
            }
    return CUDA_ERROR_INVALID_VALUE;
}

EMULATED_API CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned) {
    EMULATED_ENTER(cuGraphDebugDotPrint);
    auto graph = graphs().find(handle);
    if (!graph || !path) return CUDA_ERROR_INVALID_VALUE;
    FILE* file = std::fopen(path, "w");
    if (!file) return CUDA_ERROR_INVALID_VALUE;
    std::fputs("digraph captured {\n", file);
    for (size_t i = 0; i < graph->nodes.size(); i++) {
        std::fprintf(file, "  n%zu [label=\"%s\"];\n", i, graph->nodes[i].work.name.c_str());
        for (size_t before : graph->nodes[i].after) std::fprintf(file, "  n%zu -> n%zu;\n", before, i);
    }
    std::fputs("}\n", file);
    std::fclose(file);
    return CUDA_SUCCESS;
}
