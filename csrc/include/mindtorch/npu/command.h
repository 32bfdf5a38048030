// `OpCommand` and `OpPreparation` of torch_npu: work that a plug-in enqueues itself, and tensors for its results.
#pragma once

#include <mindtorch/npu/exception.h>
#include <mindtorch/npu/generator.h>
#include <mindtorch/npu/memory.h>
#include <mindtorch/npu/stream.h>

#include <functional>
#include <string>

using std::string;  // plug-ins write it without its namespace

// Logs of torch_npu, of which there are none.
#define ASCEND_LOGD(...) static_cast<void>(0)
#define ASCEND_LOGI(...) static_cast<void>(0)
#define ASCEND_LOGW(...) static_cast<void>(0)
#define ASCEND_LOGE(...) static_cast<void>(0)

namespace at_npu {
namespace native {

constexpr int N = 32;  // dimensions that lists of sizes have room for
using PROC_FUNC = std::function<int()>;

class OpCommand {
  public:
    OpCommand() = default;
    OpCommand(const OpCommand&) = delete;
    OpCommand& operator=(const OpCommand&) = delete;

    OpCommand& Name(const std::string& name) {
        name_ = name;
        return *this;
    }
    // The function that enqueues the work; what it returns is 0 or an error of CANN.
    OpCommand& SetCustomHandler(PROC_FUNC handler) {
        handler_ = std::move(handler);
        return *this;
    }
    // Operators by name, as CANN had them before ACLNN: Run says that they are not there.
    template <class... A>
    OpCommand& Input(A&&...) {
        return *this;
    }
    template <class... A>
    OpCommand& Output(A&&...) {
        return *this;
    }
    template <class... A>
    OpCommand& Attr(A&&...) {
        return *this;
    }
    template <class... A>
    OpCommand& Sync(A&&...) {
        return *this;
    }
    void Run() {
        TORCH_CHECK(
            handler_, "OpCommand: operator ", name_,
            " is called by name, through aclop, which is not implemented in mindtorch_v2; call its ACLNN function "
            "with EXEC_NPU_CMD, or give SetCustomHandler a function that enqueues the work");
        const PROC_FUNC handler = std::move(handler_);
        handler_ = nullptr;
        mindtorch::npu::enqueued(name_, c10_npu::current_device(), handler());
    }
    static void RunOpApi(const std::string& name, PROC_FUNC handler, bool sync = false) {
        OpCommand().Name(name).SetCustomHandler(std::move(handler)).Run();
        if (sync) c10_npu::getCurrentNPUStream().synchronize();
    }
    static void RunOpApiV2(const std::string& name, const PROC_FUNC& handler, bool sync = false) {
        RunOpApi(name, handler, sync);
    }

  private:
    std::string name_ = "(without a name)";
    PROC_FUNC handler_;
};

// New tensors for results. Formats of storage are the plain one here.
class OpPreparation {
  public:
    static at::Tensor apply_tensor_without_format(const at::Tensor& like) { return at::empty_like(like); }
    static at::Tensor apply_tensor_without_format(const at::Tensor& like, at::IntArrayRef sizes) {
        return at::empty(sizes, like.options());
    }
    static at::Tensor apply_tensor_without_format(at::IntArrayRef sizes, const at::TensorOptions& options) {
        return at::empty(sizes, options);
    }
    static at::Tensor apply_tensor(const at::Tensor& like) { return at::empty_like(like); }
    static at::Tensor apply_tensor(at::IntArrayRef sizes, const at::TensorOptions& options, const at::Tensor&) {
        return at::empty(sizes, options);
    }
    static at::Tensor ApplyTensor(const at::Tensor& like) { return at::empty_like(like); }
    static at::Tensor ApplyTensor(const at::Tensor& like, at::IntArrayRef sizes) {
        return at::empty(sizes, like.options());
    }
    static at::Tensor unsafe_empty_workspace(uint64_t bytes) {
        const at::TensorOptions options = at::TensorOptions().dtype(at::kByte);
        return at::empty({static_cast<int64_t>(bytes)}, options.device(c10_npu::getCurrentNPUStream().device()));
    }
};

}  // namespace native
}  // namespace at_npu
