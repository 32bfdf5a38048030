// torch::data::transforms: what is done to batches, to each example, to each tensor.
#pragma once

#include <mindtorch/data/example.h>

#include <functional>

namespace torch {
namespace data {
namespace transforms {

template <class InputBatch, class OutputBatch>
class BatchTransform {
  public:
    using InputBatchType = InputBatch;
    using OutputBatchType = OutputBatch;
    virtual ~BatchTransform() = default;
    virtual OutputBatch apply_batch(InputBatch input_batch) = 0;
};

// Each example of a batch.
template <class Input, class Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
  public:
    using InputType = Input;
    using OutputType = Output;
    virtual Output apply(Input input) = 0;
    std::vector<Output> apply_batch(std::vector<Input> input_batch) override {
        std::vector<Output> outputs;
        outputs.reserve(input_batch.size());
        for (Input& input : input_batch) outputs.push_back(apply(std::move(input)));
        return outputs;
    }
};

// The two by a function.
template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
  public:
    using FunctionType = std::function<Output(Input)>;
    explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
    Output apply_batch(Input input_batch) override { return function_(std::move(input_batch)); }

  private:
    FunctionType function_;
};
template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
  public:
    using FunctionType = std::function<Output(Input)>;
    explicit Lambda(FunctionType function) : function_(std::move(function)) {}
    Output apply(Input input) override { return function_(std::move(input)); }

  private:
    FunctionType function_;
};

// A batch becomes one example.
template <class T, class BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;
template <class T, class BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

template <class T = Example<>>
struct Stack;
template <>
struct Stack<Example<>> : Collation<Example<>> {
    Example<> apply_batch(std::vector<Example<>> examples) override {
        std::vector<at::Tensor> data, targets;
        for (Example<>& e : examples) {
            data.push_back(std::move(e.data));
            targets.push_back(std::move(e.target));
        }
        return {at::stack(data), at::stack(targets)};
    }
};
template <>
struct Stack<TensorExample> : Collation<TensorExample> {
    TensorExample apply_batch(std::vector<TensorExample> examples) override {
        std::vector<at::Tensor> data;
        for (TensorExample& e : examples) data.push_back(std::move(e.data));
        return at::stack(data);
    }
};

// The tensor of each example; its target stays.
template <class Target = at::Tensor>
class TensorTransform : public Transform<Example<at::Tensor, Target>, Example<at::Tensor, Target>> {
  public:
    using E = Example<at::Tensor, Target>;
    virtual at::Tensor operator()(at::Tensor input) = 0;
    E apply(E input) override {
        input.data = (*this)(std::move(input.data));
        return input;
    }
};
template <class Target = at::Tensor>
class TensorLambda : public TensorTransform<Target> {
  public:
    using FunctionType = std::function<at::Tensor(at::Tensor)>;
    explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
    at::Tensor operator()(at::Tensor input) override { return function_(std::move(input)); }

  private:
    FunctionType function_;
};

// (input - mean) / stddev, with a number of each for every channel of a picture.
template <class Target = at::Tensor>
struct Normalize : TensorTransform<Target> {
    Normalize(at::ArrayRef<double> means, at::ArrayRef<double> deviations)
        : mean(for_channels(means)), stddev(for_channels(deviations)) {}
    at::Tensor operator()(at::Tensor input) override { return input.sub(mean).div(stddev); }

    at::Tensor mean, stddev;

  private:
    static at::Tensor for_channels(at::ArrayRef<double> values) {
        return torch::tensor(values, at::kFloat).unsqueeze(1).unsqueeze(2);
    }
};

}  // namespace transforms
}  // namespace data
}  // namespace torch
