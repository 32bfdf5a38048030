// Schemas of the forms that follow from an operator's functional one: in-place, and with out=.
#pragma once

#include "schema.h"

namespace mt {

// "add.Tensor" -> "add_.Tensor", which writes its first argument and returns it; `overload` if that is another.
Schema inplace_schema(const Schema& functional, const std::string& overload = "");
// "add.Tensor" -> "add.out": a keyword-only tensor for each result, written and returned. Of those that PyTorch
// generates, a list of results has a list to write, and dtype, layout, device and pin_memory follow from what is
// written. What is written is called as the result that it holds, or by `names`.
Schema out_schema(const Schema& functional, const std::string& overload, bool generated = false,
                  const std::vector<std::string>& names = {});

}  // namespace mt
