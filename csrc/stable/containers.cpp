// Cells of optional values, lists, strings.
#include "stable/abi.h"

using namespace mt::stable;

// Libraries of before 2.13 make cells with `new` and free them with `delete`: both sides must.
AOTITorchError torch_new_stable_ivalue(StableIValue** ret_value) {
    return guarded(ret_value, [&] { *ret_value = new StableIValue(0); });
}
AOTITorchError torch_delete_stable_ivalue(StableIValue* value) {
    return guarded([&] {
        expect_pointer(value, "the cell of an optional value");
        delete value;
    });
}

AOTITorchError torch_new_list_reserve_size(size_t size, StableListHandle* ret) {
    return guarded(ret, [&] {
        List* l = new List;
        try {
            l->items.reserve(size);
            *ret = reinterpret_cast<StableListHandle>(new_handle(Kind::List, l));
        } catch (...) {
            delete l;
            throw;
        }
    });
}
AOTITorchError torch_delete_list(StableListHandle h) {
    return guarded([&] { delete static_cast<List*>(take_handle(number(h), Kind::List)); });
}
AOTITorchError torch_list_size(StableListHandle h, size_t* size) {
    return guarded(size, [&] { *size = list(number(h)).items.size(); });
}
static StableIValue& item(StableListHandle h, size_t index) {
    std::vector<StableIValue>& items = list(number(h)).items;
    if (index >= items.size()) fail("list index ", index, " is out of range, the list has ", items.size(), " items");
    return items[index];
}
AOTITorchError torch_list_get_item(StableListHandle h, size_t index, StableIValue* element) {
    return guarded(element, [&] { *element = item(h, index); });
}
AOTITorchError torch_list_set_item(StableListHandle h, size_t index, StableIValue element) {
    return guarded([&] { item(h, index) = element; });
}
AOTITorchError torch_list_push_back(StableListHandle h, StableIValue element) {
    return guarded([&] { list(number(h)).items.push_back(element); });
}

AOTITorchError torch_new_string_handle(const char* data, size_t length, StringHandle* handle) {
    return guarded(handle, [&] {
        if (length) expect_pointer(data, "a text");
        std::string* s = new std::string(data ? data : "", length);
        *handle = reinterpret_cast<StringHandle>(new_handle(Kind::String, s));
    });
}
AOTITorchError torch_delete_string(StringHandle h) {
    return guarded([&] { delete static_cast<std::string*>(take_handle(number(h), Kind::String)); });
}
AOTITorchError torch_string_length(StringHandle h, size_t* length) {
    return guarded(length, [&] { *length = string(number(h)).size(); });
}
AOTITorchError torch_string_c_str(StringHandle h, const char** data) {
    return guarded(data, [&] { *data = string(number(h)).c_str(); });
}
