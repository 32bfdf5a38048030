// torch::jit::Operator: the operators of a name, and each as a function of a stack.
#pragma once

#include <mindtorch/library.h>
#include <mindtorch/symbol.h>

namespace torch {
namespace jit {

using Operation = std::function<void(Stack&)>;
class Operator {
  public:
    explicit Operator(c10::OperatorHandle op) : op_(op), schema_(op.schema()) {}
    const c10::FunctionSchema& schema() const { return schema_; }
    Operation getOperation() const {
        return [op = op_](Stack& stack) { op.callBoxed(stack); };
    }

  private:
    c10::OperatorHandle op_;
    c10::FunctionSchema schema_;
};
inline std::shared_ptr<Operator> findOperatorFor(const c10::OperatorName& name) {
    const auto found = c10::Dispatcher::singleton().findSchema(name);
    return found ? std::make_shared<Operator>(*found) : nullptr;
}
// All overloads of "ns::name".
inline std::vector<std::shared_ptr<Operator>> getAllOperatorsFor(c10::Symbol name) {
    const mindtorch::Object schemas =
        mindtorch::Object::steal(mindtorch::call_python("mindtorch_v2._C", "_jit_get_schemas_for_operator",
                                                        {mindtorch::arg(name.toQualString())})
                                     .as.object);
    std::vector<std::shared_ptr<Operator>> all;
    for (int64_t i = 0, n = mindtorch::api().length(schemas.get()); i < n; i++) {
        mt_value item{};
        mindtorch::check(mindtorch::api().item(schemas.get(), i, &item));
        const mt_value r = mindtorch::call_python("builtins", "getattr", {item, mindtorch::arg("overload_name")});
        all.push_back(findOperatorFor(c10::OperatorName(name.toQualString(), mindtorch::from<std::string>(r))));
        mindtorch::drop(r);
    }
    return all;
}

}  // namespace jit
}  // namespace torch
