#include "fused.h"

namespace mt {

std::atomic<LoopRecorder*> LoopRecorder::current_{nullptr};

namespace {
FusedMachine g_machine{nullptr, nullptr};
}

void set_fused_machine(const FusedMachine& machine) { g_machine = machine; }
const FusedMachine& fused_machine() {
    MT_CHECK_AS(NotImplemented, g_machine.run, "no CPU kernels are loaded that run fused loops");
    return g_machine;
}

}  // namespace mt
