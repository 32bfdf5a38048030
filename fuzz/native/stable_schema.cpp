// Texts of schemas as the stable ABI reads them, and as the core does: what both take has as many arguments and results
// for each.
#include <exception>

#include "core/error.h"
#include "core/schema.h"
#include "driver.h"
#include "stable/abi.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzzing::start("");
    return 0;
}

namespace {

void compare(const mt::Schema& schema, const std::string& text) {
    const mt::stable::Types types = mt::stable::types_of_schema(text);
    if (types.args.size() != schema.args.size() || types.returns.size() != schema.returns.size())
        fuzzing::wrong("types_of_schema", text + " has " + std::to_string(types.args.size()) + " arguments and " +
                                              std::to_string(types.returns.size()) + " results");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    try {  // of any text: it ends
        mt::stable::types_of_schema(text);
    } catch (const std::exception&) {
    }
    try {
        const mt::Schema schema = mt::parse_schema(text);
        compare(schema, schema.text());  // what an operator is asked for
    } catch (const mt::Error&) {
    }
    return 0;
}
