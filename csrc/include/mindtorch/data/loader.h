// torch::data::make_data_loader: batches of a dataset, made by the caller or by threads.
#pragma once

#include <mindtorch/data/datasets.h>
#include <mindtorch/data/samplers.h>
#include <mindtorch/nn/options.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace torch {
namespace data {

struct DataLoaderOptions {
    DataLoaderOptions() = default;
    DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}  // NOLINT

    TORCH_ARG(size_t, batch_size) = 1;
    TORCH_ARG(size_t, workers) = 0;              // threads
    TORCH_ARG(std::optional<size_t>, max_jobs);  // batches that are made ahead; twice the threads if not given
    TORCH_ARG(std::optional<std::chrono::milliseconds>, timeout);
    TORCH_ARG(bool, enforce_ordering) = true;  // batches come as they were asked for
    TORCH_ARG(bool, drop_last) = false;        // the last batch, if it is smaller
};
struct FullDataLoaderOptions {
    explicit FullDataLoaderOptions(DataLoaderOptions o)
        : batch_size(o.batch_size()),
          workers(o.workers()),
          max_jobs(o.max_jobs().value_or(2 * o.workers())),
          timeout(o.timeout()),
          enforce_ordering(o.enforce_ordering()),
          drop_last(o.drop_last()) {}

    size_t batch_size, workers, max_jobs;
    std::optional<std::chrono::milliseconds> timeout;
    bool enforce_ordering, drop_last;
};

// A pass over batches. Each is fetched when it is asked for; the end is where there are no more.
template <class Batch>
class Iterator {
  public:
    using difference_type = std::ptrdiff_t;
    using value_type = Batch;
    using pointer = Batch*;
    using reference = Batch&;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;  // the end
    explicit Iterator(std::function<std::optional<Batch>()> fetch) : pass_(std::make_shared<Pass>()) {
        pass_->fetch = std::move(fetch);
    }
    Iterator& operator++() {
        TORCH_CHECK(pass_, "Incrementing the DataLoader's past-the-end iterator is not allowed");
        TORCH_CHECK(current(), "Attempted to increment iterator past the end");
        pass_->batch = pass_->fetch();
        return *this;
    }
    Batch& operator*() const {
        TORCH_CHECK(pass_, "Dereferencing the DataLoader's past-the-end iterator is not allowed");
        TORCH_CHECK(current(), "Attempted to dereference iterator that was past the end");
        return *pass_->batch;
    }
    Batch* operator->() const { return &**this; }
    bool operator==(const Iterator& other) const {
        if (pass_ && other.pass_) return pass_ == other.pass_;
        return !current() && !other.current();
    }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

  private:
    struct Pass {
        std::function<std::optional<Batch>()> fetch;
        std::optional<Batch> batch;
        bool begun = false;
    };
    bool current() const {
        if (!pass_) return false;
        if (!pass_->begun) {
            pass_->batch = pass_->fetch();
            pass_->begun = true;
        }
        return pass_->batch.has_value();
    }
    std::shared_ptr<Pass> pass_;
};

namespace detail {

// Where threads find requests and leave what they made. Whoever waits here has given Python's lock up before.
template <class Request, class Batch>
class Exchange {
  public:
    struct Answer {
        std::optional<Batch> batch;
        std::exception_ptr exception;
    };

    void ask(Request request) {
        {
            const mindtorch::WithoutPython free;
            const std::lock_guard<std::mutex> lock(mutex_);
            requests_.emplace_back(asked_++, std::move(request));
            pending_++;
        }
        changed_.notify_all();
    }
    // The next request and its number; none when there will be no more.
    std::optional<std::pair<size_t, Request>> take() {
        const mindtorch::WithoutPython free;
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !requests_.empty(); });
        if (closed_) return std::nullopt;
        auto first = std::move(requests_.front());
        requests_.pop_front();
        return first;
    }
    void answer(size_t number, Answer made) {
        {
            const mindtorch::WithoutPython free;
            const std::lock_guard<std::mutex> lock(mutex_);
            if (number >= first_) answers_.emplace(number, std::move(made));
        }
        changed_.notify_all();
    }
    // An answer, in the order of the requests or as they come; none if nothing was asked for.
    std::optional<Answer> receive(bool in_order, const std::optional<std::chrono::milliseconds>& timeout) {
        const mindtorch::WithoutPython free;
        std::unique_lock<std::mutex> lock(mutex_);
        if (pending_ == 0) return std::nullopt;
        const auto there = [&] { return !answers_.empty() && (!in_order || answers_.begin()->first == expected_); };
        if (!timeout) {
            changed_.wait(lock, there);
        } else if (!changed_.wait_for(lock, *timeout, there)) {
            TORCH_CHECK(false, "Timeout in DataLoader queue while waiting for next batch (timeout was ",
                        timeout->count(), " ms)");
        }
        Answer found = std::move(answers_.begin()->second);
        expected_ = answers_.begin()->first + 1;
        answers_.erase(answers_.begin());
        pending_--;
        return found;
    }
    size_t pending() {
        const mindtorch::WithoutPython free;
        const std::lock_guard<std::mutex> lock(mutex_);
        return pending_;
    }
    // Forget what was asked for; what is being made is thrown away when it comes.
    void forget() {
        const mindtorch::WithoutPython free;
        const std::lock_guard<std::mutex> lock(mutex_);
        requests_.clear();
        answers_.clear();
        pending_ = 0;
        first_ = expected_ = asked_;
    }
    void close() {
        {
            const mindtorch::WithoutPython free;
            const std::lock_guard<std::mutex> lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<size_t, Request>> requests_;
    std::map<size_t, Answer> answers_;
    size_t asked_ = 0, expected_ = 0, first_ = 0, pending_ = 0;
    bool closed_ = false;
};

}  // namespace detail

template <class Dataset, class Batch, class BatchRequest>
class DataLoaderBase {
  public:
    using BatchType = Batch;
    using BatchRequestType = BatchRequest;

    explicit DataLoaderBase(DataLoaderOptions options, std::unique_ptr<Dataset> main_thread_dataset = nullptr)
        : options_(std::move(options)), main_thread_dataset_(std::move(main_thread_dataset)) {}
    DataLoaderBase(const DataLoaderBase&) = delete;
    DataLoaderBase& operator=(const DataLoaderBase&) = delete;
    virtual ~DataLoaderBase() { join(); }

    Iterator<Batch> begin() {
        TORCH_CHECK(exchange_.pending() == 0,
                    "Attempted to get a new DataLoader iterator while another iterator is not yet exhausted");
        reset();
        return Iterator<Batch>([this] { return next(); });
    }
    Iterator<Batch> end() { return {}; }
    // Ends the threads. No more batches can be had.
    void join() {
        if (joined_) return;
        joined_ = true;
        exchange_.forget();
        exchange_.close();
        const mindtorch::WithoutPython free;
        for (std::thread& worker : workers_) worker.join();
    }
    const FullDataLoaderOptions& options() const noexcept { return options_; }

  protected:
    virtual std::optional<BatchRequest> get_batch_request() = 0;
    virtual void reset() {
        exchange_.forget();
        ask(options_.max_jobs);
    }
    void start(Dataset& dataset) {
        while (auto job = exchange_.take()) {
            typename detail::Exchange<BatchRequest, Batch>::Answer made;
            try {
                made.batch = dataset.get_batch(std::move(job->second));
            } catch (...) {
                made.exception = std::current_exception();
            }
            exchange_.answer(job->first, std::move(made));
        }
    }

    const FullDataLoaderOptions options_;
    std::unique_ptr<Dataset> main_thread_dataset_;
    std::vector<std::thread> workers_;

  private:
    void ask(size_t count) {
        for (; options_.workers > 0 && count > 0; count--) {
            auto request = get_batch_request();
            if (!request) return;
            exchange_.ask(std::move(*request));
        }
    }
    std::optional<Batch> next() {
        if (options_.workers == 0) {
            auto request = get_batch_request();
            if (!request) return std::nullopt;
            return main_thread_dataset_->get_batch(std::move(*request));
        }
        while (auto answer = exchange_.receive(options_.enforce_ordering, options_.timeout)) {
            if (answer->exception) throw WorkerException(answer->exception);
            if (!answer->batch) continue;  // a stateful dataset had no more for this request
            ask(1);
            return std::move(answer->batch);
        }
        return std::nullopt;
    }

    detail::Exchange<BatchRequest, Batch> exchange_;
    bool joined_ = false;
};

// Of a dataset without a state: each thread has a copy of it, a sampler says what is wanted.
template <class Dataset, class Sampler>
class StatelessDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
  public:
    using super = DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
    using BatchRequestType = typename super::BatchRequestType;

    StatelessDataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
        : super(std::move(options)), sampler_(std::move(sampler)) {
        for (size_t i = 0; i < this->options_.workers; i++)
            this->workers_.emplace_back([this, dataset]() mutable { this->start(dataset); });
        if (this->options_.workers == 0) this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
    }
    ~StatelessDataLoader() override { this->join(); }

  private:
    void reset() override {
        sampler_.reset();
        super::reset();
    }
    std::optional<BatchRequestType> get_batch_request() override {
        auto request = sampler_.next(this->options_.batch_size);
        if (request && this->options_.drop_last && request->size() < this->options_.batch_size) return std::nullopt;
        TORCH_INTERNAL_ASSERT(!request || request->size() > 0);
        return request;
    }

    Sampler sampler_;
};

// Of a dataset with a state, which all threads share.
template <class Dataset>
class StatefulDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
  public:
    using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType>;
    using BatchRequestType = typename super::BatchRequestType;

    StatefulDataLoader(Dataset dataset, DataLoaderOptions options)
        : super(std::move(options), std::make_unique<Dataset>(std::move(dataset))) {
        for (size_t i = 0; i < this->options_.workers; i++)
            this->workers_.emplace_back([this] { this->start(*this->main_thread_dataset_); });
    }
    ~StatefulDataLoader() override { this->join(); }

  private:
    void reset() override {
        this->main_thread_dataset_->reset();
        super::reset();
    }
    std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

template <class Dataset, class Sampler>
std::enable_if_t<!Dataset::is_stateful, std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>> make_data_loader(
    Dataset dataset, Sampler sampler, DataLoaderOptions options) {
    return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler),
                                                                   std::move(options));
}
template <class Sampler = samplers::RandomSampler, class Dataset>
std::enable_if_t<!Dataset::is_stateful && std::is_constructible_v<Sampler, size_t>,
                 std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>>
make_data_loader(Dataset dataset, DataLoaderOptions options = DataLoaderOptions()) {
    const std::optional<size_t> size = dataset.size();
    TORCH_CHECK(size.has_value(), "Expected the dataset to be sized in order to construct the Sampler");
    return make_data_loader(std::move(dataset), Sampler(*size), std::move(options));
}
template <class Dataset, class = std::enable_if_t<Dataset::is_stateful>>
std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(Dataset dataset,
                                                              DataLoaderOptions options = DataLoaderOptions()) {
    return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), std::move(options));
}

}  // namespace data
}  // namespace torch
