// What descriptors say of themselves, for operators that users write.
#include "descriptors.h"

using namespace emu;

namespace {

// The checks that each question begins with.
aclnnStatus asked(const void* descriptor, bool answer_has_a_place, const char* function) {
    if (!descriptor || !answer_has_a_place) return failed(kParamNull, text(function, ": an argument is null"));
    if (!is_live(descriptor)) return misused(kOpParamInvalid, text(function, ": the descriptor was destroyed"));
    return kSuccess;
}

// Numbers that the caller frees.
aclnnStatus copied(const int64_t* from, int count, int64_t** to, uint64_t* size) {
    *size = static_cast<uint64_t>(count);
    *to = new int64_t[*size + 1];
    for (int i = 0; i < count; i++) (*to)[i] = from[i];
    return kSuccess;
}

}  // namespace

EMU_API aclnnStatus aclGetStorageShape(const aclTensor* t, int64_t** sizes, uint64_t* rank) {
    if (int e = asked(t, sizes && rank, "aclGetStorageShape")) return e;
    return copied(t->storage_dims, t->storage_rank, sizes, rank);
}
EMU_API aclnnStatus aclGetViewStrides(const aclTensor* t, int64_t** strides, uint64_t* rank) {
    if (int e = asked(t, strides && rank, "aclGetViewStrides")) return e;
    return copied(t->view.strides, t->view.rank, strides, rank);
}
EMU_API aclnnStatus aclGetViewOffset(const aclTensor* t, int64_t* offset) {
    if (int e = asked(t, offset, "aclGetViewOffset")) return e;
    *offset = t->view.offset;
    return kSuccess;
}
EMU_API aclnnStatus aclGetFormat(const aclTensor* t, aclFormat* format) {
    if (int e = asked(t, format, "aclGetFormat")) return e;
    *format = t->format;
    return kSuccess;
}
EMU_API aclnnStatus aclGetIntArraySize(const aclIntArray* a, uint64_t* size) {
    if (int e = asked(a, size, "aclGetIntArraySize")) return e;
    *size = a->values.size();
    return kSuccess;
}
EMU_API aclnnStatus aclGetFloatArraySize(const aclFloatArray* a, uint64_t* size) {
    if (int e = asked(a, size, "aclGetFloatArraySize")) return e;
    *size = a->values.size();
    return kSuccess;
}
EMU_API aclnnStatus aclGetBoolArraySize(const aclBoolArray* a, uint64_t* size) {
    if (int e = asked(a, size, "aclGetBoolArraySize")) return e;
    *size = a->values.size();
    return kSuccess;
}
EMU_API aclnnStatus aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
    if (int e = asked(list, size, "aclGetTensorListSize")) return e;
    *size = list->values.size();
    return kSuccess;
}
