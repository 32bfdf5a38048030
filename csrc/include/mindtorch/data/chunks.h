// torch::data::datasets::ChunkDataset: examples that lie in chunks, such as files, which threads read ahead.
#pragma once

#include <mindtorch/data/datasets.h>
#include <mindtorch/data/samplers.h>
#include <mindtorch/nn/options.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>

namespace torch {
namespace data {
namespace datasets {

template <class Example_, class Chunk = std::vector<Example_>>
class ChunkDataReader {
  public:
    using ChunkType = Chunk;
    using ExampleType = Example_;
    virtual ~ChunkDataReader() = default;
    virtual ChunkType read_chunk(size_t chunk_index) = 0;
    virtual size_t chunk_count() = 0;
    virtual void reset() = 0;
};

struct ChunkDatasetOptions {
    ChunkDatasetOptions() = delete;
    ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                        size_t cross_chunk_shuffle_count = 1)
        : preloader_count_(preloader_count),
          batch_size_(batch_size),
          cache_size_(cache_size),
          cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
        TORCH_CHECK(preloader_count_ > 0, "Preloader count is 0. At least one preloader needs to be specified.");
        TORCH_CHECK(batch_size_ > 0, "Batch size is 0. A positive batch size needs to be specified.");
        TORCH_CHECK(cache_size_ > 0, "Cache size is 0. A positive cache size needs to be specified.");
        TORCH_CHECK(cache_size_ >= batch_size_,
                    "Cache size is less than batch size. Cache needs to be large enough to hold at least one batch.");
        TORCH_CHECK(cross_chunk_shuffle_count_ > 0, "cross_chunk_shuffle_count needs to be greater than 0.");
    }

    TORCH_ARG(size_t, preloader_count);  // threads that read
    TORCH_ARG(size_t, batch_size);
    TORCH_ARG(size_t, cache_size) = 2048;              // examples that are kept ready
    TORCH_ARG(size_t, cross_chunk_shuffle_count) = 1;  // chunks whose examples are mixed
};

namespace detail {

// Batches that were read and wait to be asked for. Whoever waits here has given Python's lock up before.
template <class Batch, class ExampleSampler>
class BatchCache {
  public:
    BatchCache(size_t batch_size, ExampleSampler& order, size_t capacity)
        : batch_size_(batch_size), capacity_(capacity), order_(order) {}

    // Waits for room; the examples go into batches in the sampler's order.
    void add(Batch examples) {
        {
            const mindtorch::WithoutPython free;
            std::unique_lock<std::mutex> lock(mutex_);
            changed_.wait(lock, [this] { return stopped_ || count_ < capacity_; });
            if (stopped_) return;
            order_.reset(examples.size());
            while (auto indices = order_.next(room())) {
                if (slots_.empty() || slots_.back().failed || slots_.back().examples.size() == batch_size_)
                    slots_.emplace_back();
                for (const size_t i : *indices) slots_.back().examples.push_back(std::move(examples[i]));
                count_ += indices->size();
            }
        }
        changed_.notify_all();
    }
    void add(std::exception_ptr failed) {
        {
            const mindtorch::WithoutPython free;
            const std::lock_guard<std::mutex> lock(mutex_);
            if (stopped_) return;
            slots_.emplace_back();
            slots_.back().failed = std::move(failed);
        }
        changed_.notify_all();
    }
    // The next batch, none at the end; a WorkerException where reading failed.
    std::optional<Batch> take() {
        std::exception_ptr failed;
        Batch examples;
        {
            const mindtorch::WithoutPython free;
            std::unique_lock<std::mutex> lock(mutex_);
            changed_.wait(lock, [this] { return stopped_ || ready(); });
            if (slots_.empty()) return std::nullopt;
            failed = std::move(slots_.front().failed);
            examples = std::move(slots_.front().examples);
            slots_.pop_front();
            count_ -= examples.size();
        }
        changed_.notify_all();
        if (failed) throw WorkerException(failed);
        return examples;
    }
    // No more will be added. What is there can still be had.
    void stop() {
        {
            const mindtorch::WithoutPython free;
            const std::lock_guard<std::mutex> lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

  private:
    struct Slot {
        Batch examples;
        std::exception_ptr failed;
    };
    bool ready() const {
        return !slots_.empty() &&
               (slots_.front().failed || slots_.size() > 1 || slots_.front().examples.size() == batch_size_);
    }
    size_t room() const {
        const bool open = !slots_.empty() && !slots_.back().failed && slots_.back().examples.size() < batch_size_;
        return open ? batch_size_ - slots_.back().examples.size() : batch_size_;
    }

    const size_t batch_size_, capacity_;
    ExampleSampler& order_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Slot> slots_;
    size_t count_ = 0;
    bool stopped_ = false;
};

}  // namespace detail

// One sampler draws chunks, the other the order of a chunk's examples. The threads read from `reset` on.
template <class ChunkReader, class ChunkSampler = samplers::RandomSampler,
          class ExampleSampler = samplers::RandomSampler>
class ChunkDataset final : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                                                  typename ChunkReader::BatchType, size_t> {
  public:
    using UnwrappedBatchType = typename ChunkReader::BatchType;
    using BatchType = std::optional<UnwrappedBatchType>;
    using BatchRequestType = size_t;
    using ChunkSamplerType = ChunkSampler;
    using ExampleSamplerType = ExampleSampler;

    ChunkDataset(ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
                 ChunkDatasetOptions options, std::function<void(UnwrappedBatchType&)> preprocessing_policy = {})
        : chunk_reader_(std::move(chunk_reader)),
          chunk_sampler_(std::move(chunk_sampler)),
          example_sampler_(std::move(example_sampler)),
          options_(std::move(options)),
          preprocess_(std::move(preprocessing_policy)) {}
    ~ChunkDataset() override { stop(); }

    BatchType get_batch(size_t batch_size) override {
        TORCH_CHECK(cache_ != nullptr, "Dataset needs to call reset() before calling get_batch().");
        TORCH_CHECK(batch_size == options_.batch_size(),
                    "The requested batch size does not match with the initialized ",
                    "batch size.\n The requested batch size is ", batch_size,
                    ", while the dataset is created with batch size equal to ", options_.batch_size());
        return cache_->take();
    }
    BatchType get_batch() { return get_batch(options_.batch_size()); }
    void reset() override {
        stop();
        if (!loaded_) {
            chunk_reader_.reset();
            chunk_sampler_.reset(chunk_reader_.chunk_count());
        }
        loaded_ = false;
        cache_ = std::make_unique<Cache>(options_.batch_size(), example_sampler_, options_.cache_size());
        quit_ = false;
        reading_ = options_.preloader_count();
        for (size_t i = 0; i < options_.preloader_count(); i++) readers_.emplace_back([this] { read(); });
    }
    std::optional<size_t> size() const override { return std::nullopt; }
    ChunkSampler& chunk_sampler() { return chunk_sampler_; }
    void save(serialize::OutputArchive& archive) const override {
        const mindtorch::WithoutPython free;
        const std::lock_guard<std::mutex> lock(chunks_);
        chunk_sampler_.save(archive);
    }
    void load(serialize::InputArchive& archive) override {
        const mindtorch::WithoutPython free;
        const std::lock_guard<std::mutex> lock(chunks_);
        chunk_sampler_.load(archive);
        loaded_ = true;
    }

  private:
    using Cache = detail::BatchCache<UnwrappedBatchType, ExampleSampler>;

    void stop() {
        quit_ = true;
        if (cache_) cache_->stop();
        const mindtorch::WithoutPython free;
        for (std::thread& reader : readers_) reader.join();
        readers_.clear();
    }
    auto draw() {
        const mindtorch::WithoutPython free;
        const std::lock_guard<std::mutex> lock(chunks_);
        return chunk_sampler_.next(options_.cross_chunk_shuffle_count());
    }
    void read() {
        while (!quit_) {
            try {
                const auto chunks = draw();
                if (!chunks) break;
                UnwrappedBatchType all;
                for (const size_t chunk : *chunks) {
                    auto examples = chunk_reader_.read_chunk(chunk);
                    std::move(examples.begin(), examples.end(), std::back_inserter(all));
                }
                if (preprocess_) preprocess_(all);
                if (!all.empty()) cache_->add(std::move(all));
            } catch (...) {
                cache_->add(std::current_exception());
            }
        }
        if (--reading_ == 0) cache_->stop();
    }

    ChunkReader chunk_reader_;
    ChunkSampler chunk_sampler_;
    ExampleSampler example_sampler_;
    const ChunkDatasetOptions options_;
    std::function<void(UnwrappedBatchType&)> preprocess_;
    std::unique_ptr<Cache> cache_;
    std::vector<std::thread> readers_;
    std::atomic<bool> quit_{true};
    std::atomic<size_t> reading_{0};
    mutable std::mutex chunks_;
    bool loaded_ = false;
};

}  // namespace datasets
}  // namespace data
}  // namespace torch
