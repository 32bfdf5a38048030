// torch::data::samplers: which examples come next.
#pragma once

#include <mindtorch/data/example.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace torch {
namespace data {
namespace samplers {

template <class BatchRequest = std::vector<size_t>>
class Sampler {
  public:
    using BatchRequestType = BatchRequest;
    virtual ~Sampler() = default;
    virtual void reset(std::optional<size_t> new_size) = 0;
    virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
    virtual void save(serialize::OutputArchive& archive) const = 0;
    virtual void load(serialize::InputArchive& archive) = 0;
};
template <class BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Sampler<BatchRequest>& sampler) {
    sampler.save(archive);
    return archive;
}
template <class BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Sampler<BatchRequest>& sampler) {
    sampler.load(archive);
    return archive;
}

namespace detail {
inline void write(serialize::OutputArchive& archive, const char* name, size_t number) {
    archive.write(name, torch::tensor(static_cast<int64_t>(number)));
}
inline size_t read(serialize::InputArchive& archive, const char* name) {
    at::Tensor tensor;
    archive.read(name, tensor);
    return static_cast<size_t>(tensor.item<int64_t>());
}
}  // namespace detail

// 0, 1, 2, ...
class SequentialSampler : public Sampler<> {
  public:
    explicit SequentialSampler(size_t size) : size_(size) {}
    void reset(std::optional<size_t> new_size = std::nullopt) override {
        size_ = new_size.value_or(size_);
        index_ = 0;
    }
    std::optional<std::vector<size_t>> next(size_t batch_size) override {
        if (index_ >= size_) return std::nullopt;
        std::vector<size_t> indices(std::min(batch_size, size_ - index_));
        std::iota(indices.begin(), indices.end(), index_);
        index_ += indices.size();
        return indices;
    }
    void save(serialize::OutputArchive& archive) const override { detail::write(archive, "index", index_); }
    void load(serialize::InputArchive& archive) override { index_ = detail::read(archive, "index"); }
    size_t index() const noexcept { return index_; }

  private:
    size_t size_, index_ = 0;
};

// All of them in an order that torch::randperm draws.
class RandomSampler : public Sampler<> {
  public:
    explicit RandomSampler(int64_t size, at::ScalarType index_dtype = at::kLong)
        : indices_(at::randperm(size, index_dtype)) {}
    void reset(std::optional<size_t> new_size = std::nullopt) override {
        const int64_t size = new_size ? static_cast<int64_t>(*new_size) : indices_.numel();
        indices_ = at::randperm(size, indices_.scalar_type());
        index_ = 0;
    }
    std::optional<std::vector<size_t>> next(size_t batch_size) override {
        const int64_t left = indices_.numel() - index_;
        if (left <= 0) return std::nullopt;
        const int64_t count = static_cast<int64_t>(std::min(batch_size, static_cast<size_t>(left)));
        const at::Tensor drawn = indices_.slice(0, index_, index_ + count).to(at::kLong).contiguous();
        const int64_t* begin = drawn.const_data_ptr<int64_t>();
        index_ += count;
        return std::vector<size_t>(begin, begin + count);
    }
    void save(serialize::OutputArchive& archive) const override {
        detail::write(archive, "index", static_cast<size_t>(index_));
        archive.write("indices", indices_, true);
    }
    void load(serialize::InputArchive& archive) override {
        index_ = static_cast<int64_t>(detail::read(archive, "index"));
        archive.read("indices", indices_, true);
    }
    size_t index() const noexcept { return static_cast<size_t>(index_); }

  private:
    at::Tensor indices_;
    int64_t index_ = 0;
};

// A part for each of several processes. With duplicates all parts are of one length, else what is left over is left
// out.
template <class BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
  public:
    DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
        : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {}
    void set_epoch(size_t epoch) { epoch_ = epoch; }
    size_t epoch() const { return epoch_; }

  protected:
    size_t local_sample_count() { return (allow_duplicates_ ? size_ + num_replicas_ - 1 : size_) / num_replicas_; }

    size_t size_, num_replicas_, rank_, epoch_ = 0;
    bool allow_duplicates_;
};

namespace detail {
// What the two below have in common: a list for all processes, and this one's place in it.
class ListedSampler : public DistributedSampler<> {
  public:
    ListedSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
        : DistributedSampler<>(size, num_replicas, rank, allow_duplicates) {}
    void reset(std::optional<size_t> new_size = std::nullopt) override {
        size_ = new_size.value_or(size_);
        list();
        order(all_);
        index_ = begin_;
    }
    std::optional<std::vector<size_t>> next(size_t batch_size) override {
        if (index_ == end_) return std::nullopt;
        const size_t first = index_;
        index_ = std::min(end_, first + batch_size);
        return std::vector<size_t>(all_.begin() + static_cast<std::ptrdiff_t>(first),
                                   all_.begin() + static_cast<std::ptrdiff_t>(index_));
    }
    void save(serialize::OutputArchive& archive) const override {
        write(archive, "sample_index_", index_);
        write(archive, "epoch_", epoch_);
    }
    void load(serialize::InputArchive& archive) override {
        set_epoch(read(archive, "epoch_"));
        reset(size_);  // the order is that of the epoch
        index_ = read(archive, "sample_index_");
    }
    size_t index() const noexcept { return index_; }

  protected:
    virtual void order(std::vector<size_t>& /*all*/) const {}

  private:
    void list() {
        const size_t each = local_sample_count();
        all_.resize(num_replicas_ == 1 ? size_ : each * num_replicas_);
        for (size_t i = 0; i < all_.size(); i++) all_[i] = i < size_ ? i : i - size_;  // the first ones again
        begin_ = rank_ * each;
        end_ = begin_ + each;
    }

    size_t begin_ = 0, end_ = 0, index_ = 0;
    std::vector<size_t> all_;
};
}  // namespace detail

class DistributedSequentialSampler : public detail::ListedSampler {
  public:
    explicit DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                                          bool allow_duplicates = true)
        : ListedSampler(size, num_replicas, rank, allow_duplicates) {
        reset(size);
    }
};
// The order of an epoch is the same in all processes.
class DistributedRandomSampler : public detail::ListedSampler {
  public:
    explicit DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                                      bool allow_duplicates = true)
        : ListedSampler(size, num_replicas, rank, allow_duplicates) {
        reset(size);
    }

  protected:
    void order(std::vector<size_t>& all) const override {
        std::mt19937 drawn(static_cast<std::mt19937::result_type>(epoch_));
        std::shuffle(all.begin(), all.end(), drawn);
    }
};

// A request of a kind of one's own.
struct CustomBatchRequest {
    CustomBatchRequest() = default;
    CustomBatchRequest(const CustomBatchRequest&) = default;
    CustomBatchRequest(CustomBatchRequest&&) noexcept = default;
    CustomBatchRequest& operator=(const CustomBatchRequest&) = default;
    virtual ~CustomBatchRequest() = default;
    virtual size_t size() const = 0;
};
struct BatchSize : CustomBatchRequest {
    explicit BatchSize(size_t size) : size_(size) {}
    size_t size() const noexcept override { return size_; }
    operator size_t() const noexcept { return size_; }  // NOLINT

    size_t size_;
};

// So many examples, until an epoch is full.
class StreamSampler : public Sampler<BatchSize> {
  public:
    explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
    void reset(std::optional<size_t> new_size = std::nullopt) override {
        epoch_size_ = new_size.value_or(epoch_size_);
        given_ = 0;
    }
    std::optional<BatchSize> next(size_t batch_size) override {
        if (given_ >= epoch_size_) return std::nullopt;
        const size_t count = std::min(batch_size, epoch_size_ - given_);
        given_ += count;
        return BatchSize(count);
    }
    void save(serialize::OutputArchive& archive) const override {
        detail::write(archive, "examples_retrieved_so_far", given_);
    }
    void load(serialize::InputArchive& archive) override {
        given_ = detail::read(archive, "examples_retrieved_so_far");
    }

  private:
    size_t given_ = 0, epoch_size_;
};

}  // namespace samplers
}  // namespace data
}  // namespace torch
