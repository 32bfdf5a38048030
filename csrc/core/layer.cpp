#include "layer.h"

namespace mt {

namespace {
LayerMachine g_machine{nullptr, nullptr};
}

void set_layer_machine(const LayerMachine& machine) { g_machine = machine; }
const LayerMachine* layer_machine() { return g_machine.run ? &g_machine : nullptr; }

}  // namespace mt
