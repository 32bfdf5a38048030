// The boundary's table, and who may have it.
#include <string>

#include "boundary/boundary.h"

namespace mt::boundary {
namespace {

const mt_boundary& the_table() {
    static const mt_boundary table = [] {
        mt_boundary t{};
        t.size = sizeof(mt_boundary);
        t.version = MT_BOUNDARY_VERSION;
        fill_errors(t);
        fill_tensors(t);
        fill_objects(t);
        fill_operators(t);
        fill_registration(t);
        fill_autograd(t);
        fill_threads(t);
        fill_storages(t);
        fill_descriptions(t);
        return t;
    }();
    return table;
}

}  // namespace
}  // namespace mt::boundary

extern "C" const mt_boundary* mindtorch_boundary(uint32_t version, uint32_t size, const char* who) {
    const mt_boundary& table = mt::boundary::the_table();
    if (version <= table.version && size <= table.size) return &table;
    table.load_failed(
        MT_ERROR_RUNTIME,
        mt::concat(who, " was compiled against version ", version, " (", size,
                   " bytes) of mindtorch_v2's boundary, and the installed mindtorch_v2 offers version ", table.version,
                   " (", table.size, " bytes): install the mindtorch_v2 that it was compiled with, or compile it again")
            .c_str());
    return nullptr;
}
