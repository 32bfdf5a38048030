// torch::data::datasets: what gives examples by index, by amount or of its own accord.
#pragma once

#include <mindtorch/data/example.h>

#include <array>
#include <fstream>

namespace torch {
namespace data {
namespace datasets {

template <class Source, class Transform>
class MapDataset;
template <class Source, class Transform>
MapDataset<Source, Transform> map(Source dataset, Transform transform);

namespace detail {
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace detail

// The base: batches for requests. One whose batches are optional keeps a state and ends by itself.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = at::ArrayRef<size_t>>
class BatchDataset {
  public:
    using SelfType = Self;
    using BatchType = Batch;
    using BatchRequestType = BatchRequest;
    static constexpr bool is_stateful = detail::is_optional<Batch>::value;

    virtual ~BatchDataset() = default;
    virtual Batch get_batch(BatchRequest request) = 0;
    virtual std::optional<size_t> size() const = 0;

    template <class Transform>
    MapDataset<Self, Transform> map(Transform transform) & {
        return datasets::map(static_cast<Self&>(*this), std::move(transform));
    }
    template <class Transform>
    MapDataset<Self, Transform> map(Transform transform) && {
        return datasets::map(static_cast<Self&&>(*this), std::move(transform));
    }
};

// Examples by index.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
  public:
    using ExampleType = SingleExample;
    virtual ExampleType get(size_t index) = 0;
    std::vector<ExampleType> get_batch(at::ArrayRef<size_t> indices) override {
        std::vector<ExampleType> batch;
        batch.reserve(indices.size());
        for (const size_t index : indices) batch.push_back(get(index));
        return batch;
    }
};

// Examples by amount.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

// Examples until there are no more: then get_batch gives nothing.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
  public:
    virtual void reset() = 0;
    virtual void save(serialize::OutputArchive& archive) const = 0;
    virtual void load(serialize::InputArchive& archive) = 0;
};
template <class... Args>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const StatefulDataset<Args...>& dataset) {
    dataset.save(archive);
    return archive;
}
template <class... Args>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, StatefulDataset<Args...>& dataset) {
    dataset.load(archive);
    return archive;
}

// A dataset whose batches go through a transform.
template <class Source, class Transform>
class MapDataset
    : public BatchDataset<MapDataset<Source, Transform>,
                          std::conditional_t<Source::is_stateful, std::optional<typename Transform::OutputBatchType>,
                                             typename Transform::OutputBatchType>,
                          typename Source::BatchRequestType> {
  public:
    using DatasetType = Source;
    using TransformType = Transform;
    using BatchRequestType = typename Source::BatchRequestType;
    using OutputBatchType = std::conditional_t<Source::is_stateful, std::optional<typename Transform::OutputBatchType>,
                                               typename Transform::OutputBatchType>;

    MapDataset(Source dataset, Transform transform) : dataset_(std::move(dataset)), transform_(std::move(transform)) {}
    OutputBatchType get_batch(BatchRequestType request) override {
        auto batch = dataset_.get_batch(std::move(request));
        if constexpr (Source::is_stateful) {
            if (!batch) return std::nullopt;
            return transform_.apply_batch(std::move(*batch));
        } else {
            return transform_.apply_batch(std::move(batch));
        }
    }
    std::optional<size_t> size() const noexcept override { return dataset_.size(); }
    void reset() { dataset_.reset(); }
    const Source& dataset() noexcept { return dataset_; }
    const Transform& transform() noexcept { return transform_; }

  private:
    Source dataset_;
    Transform transform_;
};

template <class Source, class Transform>
MapDataset<Source, Transform> map(Source dataset, Transform transform) {
    using Batch = typename Source::BatchType;
    using Given = typename std::conditional_t<Source::is_stateful, Batch, std::optional<Batch>>::value_type;
    static_assert(std::is_same_v<Given, typename Transform::InputBatchType>,
                  "the transform does not take the batches that the dataset gives");
    return {std::move(dataset), std::move(transform)};
}

// One dataset for all copies of this object.
template <class Underlying>
class SharedBatchDataset : public BatchDataset<SharedBatchDataset<Underlying>, typename Underlying::BatchType,
                                               typename Underlying::BatchRequestType> {
  public:
    using BatchType = typename Underlying::BatchType;
    using BatchRequestType = typename Underlying::BatchRequestType;
    SharedBatchDataset(std::shared_ptr<Underlying> dataset) : dataset_(std::move(dataset)) {}  // NOLINT
    BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
    std::optional<size_t> size() const override { return dataset_->size(); }
    void reset() { dataset_->reset(); }
    Underlying& operator*() { return *dataset_; }
    const Underlying& operator*() const { return *dataset_; }
    Underlying* operator->() { return dataset_.get(); }
    const Underlying* operator->() const { return dataset_.get(); }

  private:
    std::shared_ptr<Underlying> dataset_;
};
template <class Underlying, class... Args>
SharedBatchDataset<Underlying> make_shared_dataset(Args&&... args) {
    return std::make_shared<Underlying>(std::forward<Args>(args)...);
}

// The rows of a tensor.
struct TensorDataset : Dataset<TensorDataset, TensorExample> {
    explicit TensorDataset(const std::vector<at::Tensor>& tensors) : tensor(at::stack(tensors)) {}
    explicit TensorDataset(at::Tensor t) : tensor(std::move(t)) {}
    TensorExample get(size_t index) override { return tensor[static_cast<int64_t>(index)]; }
    std::optional<size_t> size() const override { return static_cast<size_t>(tensor.size(0)); }

    at::Tensor tensor;
};

// Handwritten digits, from the four files of that name in a folder. Images are between 0 and 1.
class MNIST : public Dataset<MNIST> {
  public:
    enum class Mode { kTrain, kTest };
    explicit MNIST(const std::string& root, Mode mode = Mode::kTrain) : train_(mode == Mode::kTrain) {
        const std::string begin = root + (root.empty() || root.back() == '/' ? "" : "/") + (train_ ? "train" : "t10k");
        images_ = read(begin + "-images-idx3-ubyte", "images", 2051, 3).unsqueeze(1).to(at::kFloat).div_(255);
        targets_ = read(begin + "-labels-idx1-ubyte", "targets", 2049, 1).to(at::kLong);
        TORCH_CHECK(images_.size(0) == targets_.size(0), "MNIST: ", images_.size(0), " images and ", targets_.size(0),
                    " targets in ", root);
    }
    Example<> get(size_t index) override {
        const auto i = static_cast<int64_t>(index);
        return {images_[i], targets_[i]};
    }
    std::optional<size_t> size() const override { return static_cast<size_t>(images_.size(0)); }
    bool is_train() const noexcept { return train_; }
    const at::Tensor& images() const { return images_; }
    const at::Tensor& targets() const { return targets_; }

  private:
    // A file that begins with a number for its kind and its sizes, four bytes each, the greatest first.
    static at::Tensor read(const std::string& path, const char* what, uint32_t kind, size_t dimensions) {
        std::ifstream file(path, std::ios::binary);
        TORCH_CHECK(file, "Error opening ", what, " file at ", path);
        const auto number = [&] {
            std::array<unsigned char, 4> bytes{};
            file.read(reinterpret_cast<char*>(bytes.data()), 4);
            TORCH_CHECK(file, path, " ends before its sizes do");
            return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
        };
        const uint32_t found = number();
        TORCH_CHECK(found == kind, path, " has no ", what, ": expected it to begin with ", kind, ", found ", found);
        std::vector<int64_t> sizes;
        for (size_t i = 0; i < dimensions; i++) sizes.push_back(number());
        TORCH_CHECK(dimensions < 2 || (sizes[1] == 28 && sizes[2] == 28), path, ": expected images of 28 x 28, found ",
                    sizes[1], " x ", sizes[dimensions - 1]);
        const auto begin = file.tellg();
        file.seekg(0, std::ios::end);
        int64_t count = 1;
        for (const int64_t size : sizes) count *= size;
        TORCH_CHECK(file.tellg() - begin >= count, path, ": expected ", count, " bytes of ", what, ", found ",
                    static_cast<int64_t>(file.tellg() - begin));
        file.seekg(begin);
        at::Tensor bytes = at::empty(sizes, at::kByte);
        file.read(reinterpret_cast<char*>(bytes.data_ptr()), count);
        TORCH_CHECK(file, "Error reading ", what, " file at ", path);
        return bytes;
    }

    bool train_;
    at::Tensor images_, targets_;
};

}  // namespace datasets
}  // namespace data
}  // namespace torch
