// Custom classes, which schemas name as __torch__.torch.classes.<namespace>.<name>.
#pragma once

#include <string>

namespace mt {

void add_class(const std::string& name);  // "namespace.name"

}  // namespace mt
