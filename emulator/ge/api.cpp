// aclmdl*: models are loaded from files, described, and run. The emulator's model files are the .air files themselves.
#include <cstdio>
#include <optional>

#include "execute.h"

using emu::failed;
using emu::text;
using emu::ge::Instance;

struct aclDataBuffer {
    void* data;
    size_t size;
};
struct aclmdlDataset {
    std::vector<aclDataBuffer*> buffers;
};
struct aclmdlDesc {
    std::vector<emu::ge::Desc> inputs, outputs;
};

namespace {

constexpr aclError kInvalidFile = 100003, kParseModel = 100013, kInvalidModel = 100011;
constexpr aclError kInputNotMatch = 100017, kOutputNotMatch = 100018, kExecuteFailed = 507011;

struct Models {
    std::mutex mutex;
    std::map<uint32_t, std::shared_ptr<Instance>> loaded;
    uint32_t next = 1;
};
Models& models() {
    static auto* m = new Models;
    return *m;
}
std::shared_ptr<Instance> find(uint32_t id) {
    std::lock_guard<std::mutex> lock(models().mutex);
    auto found = models().loaded.find(id);
    return found == models().loaded.end() ? nullptr : found->second;
}

// A file's bytes; none if it cannot be read.
std::optional<std::string> bytes_of(const char* path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), std::fclose);
    if (!file) return std::nullopt;
    std::string bytes;
    char block[1 << 16];
    while (const size_t n = std::fread(block, 1, sizeof block, file.get())) bytes.append(block, n);
    if (std::ferror(file.get())) return std::nullopt;
    return bytes;
}

std::vector<emu::ge::Desc> results_of(const emu::ge::Graph& graph) {
    std::vector<emu::ge::Desc> r;
    for (const auto& e : graph.ops[static_cast<size_t>(graph.result)].from)
        r.push_back(graph.ops[static_cast<size_t>(e.op)].outputs[static_cast<size_t>(e.output)]);
    return r;
}
std::vector<emu::ge::Desc> inputs_of(const emu::ge::Graph& graph) {
    std::vector<emu::ge::Desc> r;
    for (int i : graph.inputs) r.push_back(graph.ops[static_cast<size_t>(i)].outputs[0]);
    return r;
}

// Empty if the buffers fit the descriptions.
std::string misfit(const aclmdlDataset* given, const std::vector<emu::ge::Desc>& expected,
                   std::vector<void*>& addresses) {
    size_t n = given ? given->buffers.size() : 0;
    if (n != expected.size()) return text(n, " buffers were given, the model has ", expected.size());
    for (size_t i = 0; i < n; i++) {
        const aclDataBuffer* b = given->buffers[i];
        size_t bytes = expected[i].nbytes();
        if (b->size < bytes) return text("buffer ", i, " has ", b->size, " bytes, the model needs ", bytes);
        std::string problem = bytes ? emu::range_problem(b->data, bytes) : "";
        if (!problem.empty()) return text("buffer ", i, ": ", problem);
        addresses.push_back(b->data);
    }
    return "";
}

aclError enqueue(const char* function, uint32_t id, const aclmdlDataset* in, aclmdlDataset* out, aclrtStream stream) {
    auto instance = find(id);
    if (!instance) return failed(kInvalidModel, text(function, ": no model has the number ", id));
    std::vector<void*> inputs, outputs;
    std::string wrong = misfit(in, inputs_of(instance->graph), inputs);
    if (!wrong.empty()) return failed(kInputNotMatch, text(function, ", inputs: ", wrong));
    wrong = misfit(out, results_of(instance->graph), outputs);
    if (!wrong.empty()) return failed(kOutputNotMatch, text(function, ", outputs: ", wrong));
    try {
        instance->run(inputs, outputs, stream);
    } catch (const std::string& why) {
        return failed(kExecuteFailed, text(function, ": ", why));
    }
    return kSuccess;
}

}  // namespace

EMU_API aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) { return new aclDataBuffer{data, size}; }
EMU_API aclError aclDestroyDataBuffer(const aclDataBuffer* b) {
    delete b;
    return kSuccess;
}
EMU_API aclmdlDataset* aclmdlCreateDataset() { return new aclmdlDataset; }
EMU_API aclError aclmdlDestroyDataset(const aclmdlDataset* d) {
    delete d;
    return kSuccess;
}
EMU_API aclError aclmdlAddDatasetBuffer(aclmdlDataset* d, aclDataBuffer* b) {
    if (!d || !b) return failed(kParamInvalid, "aclmdlAddDatasetBuffer: an argument is null");
    d->buffers.push_back(b);
    return kSuccess;
}

EMU_API aclError aclmdlLoadFromMem(const void* model, size_t size, uint32_t* id) {
    EMU_ENTER("aclmdlLoadFromMem");
    if (!model || !id) return failed(kParamInvalid, "aclmdlLoadFromMem: an argument is null");
    auto made = std::make_shared<Instance>();
    try {
        made->graph = emu::ge::parse(std::string(static_cast<const char*>(model), size));
        made->load();
    } catch (const std::string& why) {
        return failed(kParseModel, "the model could not be loaded: " + why);
    }
    std::lock_guard<std::mutex> lock(models().mutex);
    *id = models().next++;
    models().loaded[*id] = std::move(made);
    return kSuccess;
}
EMU_API aclError aclmdlLoadFromFile(const char* path, uint32_t* id) {
    EMU_ENTER("aclmdlLoadFromFile");
    if (!path || !id) return failed(kParamInvalid, "aclmdlLoadFromFile: an argument is null");
    const std::optional<std::string> bytes = bytes_of(path);
    if (!bytes) return failed(kInvalidFile, text("aclmdlLoadFromFile: '", path, "' cannot be read"));
    return aclmdlLoadFromMem(bytes->data(), bytes->size(), id);
}
EMU_API aclError aclmdlUnload(uint32_t id) {
    EMU_ENTER("aclmdlUnload");
    std::shared_ptr<Instance> ended;
    std::lock_guard<std::mutex> lock(models().mutex);
    auto found = models().loaded.find(id);
    if (found == models().loaded.end())
        return emu::misused(kInvalidModel, text("aclmdlUnload: no model has the number ", id));
    ended = std::move(found->second);
    models().loaded.erase(found);
    return kSuccess;
}

EMU_API aclmdlDesc* aclmdlCreateDesc() { return new aclmdlDesc; }
EMU_API aclError aclmdlDestroyDesc(aclmdlDesc* d) {
    delete d;
    return kSuccess;
}
EMU_API aclError aclmdlGetDesc(aclmdlDesc* d, uint32_t id) {
    auto instance = find(id);
    if (!d || !instance) return failed(kInvalidModel, text("aclmdlGetDesc: no model has the number ", id));
    d->inputs = inputs_of(instance->graph);
    d->outputs = results_of(instance->graph);
    return kSuccess;
}
EMU_API size_t aclmdlGetNumInputs(aclmdlDesc* d) { return d ? d->inputs.size() : 0; }
EMU_API size_t aclmdlGetNumOutputs(aclmdlDesc* d) { return d ? d->outputs.size() : 0; }
EMU_API size_t aclmdlGetInputSizeByIndex(aclmdlDesc* d, size_t i) {
    return d && i < d->inputs.size() ? d->inputs[i].nbytes() : 0;
}
EMU_API size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* d, size_t i) {
    return d && i < d->outputs.size() ? d->outputs[i].nbytes() : 0;
}

EMU_API aclError aclmdlExecuteAsync(uint32_t id, const aclmdlDataset* in, aclmdlDataset* out, aclrtStream stream) {
    EMU_ENTER("aclmdlExecuteAsync");
    return enqueue("aclmdlExecuteAsync", id, in, out, stream);
}
EMU_API aclError aclmdlExecute(uint32_t id, const aclmdlDataset* in, aclmdlDataset* out) {
    EMU_ENTER("aclmdlExecute");
    if (int code = enqueue("aclmdlExecute", id, in, out, nullptr)) return code;
    return aclrtSynchronizeStream(nullptr);
}
