// Schemas of the forms that follow from an operator's functional one: in-place, and with out=.
#pragma once

#include "schema.h"

namespace mt {

// "add.Tensor" -> "add_.Tensor", which writes its first argument and returns it.
Schema inplace_schema(const Schema& functional);
// "add.Tensor" -> "add.out": a keyword-only tensor for each result, written and returned. Of those that PyTorch
// generates, a list of results has a list to write, and dtype, layout, device and pin_memory follow from what is
// written.
Schema out_schema(const Schema& functional, const std::string& overload, bool generated = false);

}  // namespace mt
