// Texts of schemas. What is accepted prints as a text that is accepted, and prints the same.
#include "core/error.h"
#include "core/schema.h"
#include "driver.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzzing::start("");
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    if (!size) return -1;
    const bool variables = bytes[0] & 1;
    const std::string text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
    std::string printed;
    try {
        printed = mt::parse_schema(text, variables).text();
    } catch (const mt::Error&) {
        return 0;
    }
    try {
        const std::string again = mt::parse_schema(printed, variables).text();
        if (again != printed) fuzzing::wrong("schema", text + " -> " + printed + " -> " + again);
    } catch (const mt::Error& error) {
        fuzzing::wrong("schema", text + " -> " + printed + ": " + error.text);
    }
    return 0;
}
