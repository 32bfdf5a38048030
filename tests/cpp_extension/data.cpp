// torch::data in C++. Compiled against our headers and, with --live, against PyTorch's, unchanged.
#include <torch/extension.h>

#include <torch/data.h>

#include <chrono>
#include <set>
#include <sstream>
#include <thread>

#include "expect.h"

namespace data = torch::data;
namespace datasets = torch::data::datasets;
namespace samplers = torch::data::samplers;
namespace transforms = torch::data::transforms;
using Numbers = std::vector<size_t>;

// The squares of 0, 1, 2, ...
struct Squares : datasets::Dataset<Squares> {
    explicit Squares(size_t n) : n(n) {}
    data::Example<> get(size_t index) override {
        TORCH_CHECK(index != bad, "no example ", index);
        const auto x = torch::full({2}, static_cast<double>(index));
        return {x, x * x};
    }
    std::optional<size_t> size() const override { return n; }
    size_t n, bad = 1000;
};

// Counts down, for all threads together.
struct Countdown : datasets::StatefulDataset<Countdown, std::vector<int>> {
    std::optional<std::vector<int>> get_batch(size_t size) override {
        const std::lock_guard<std::mutex> lock(*mutex);
        std::vector<int> batch;
        for (; *left > 0 && batch.size() < size; --*left) batch.push_back(*left);
        if (batch.empty()) return std::nullopt;
        return batch;
    }
    std::optional<size_t> size() const override { return std::nullopt; }
    void reset() override { *left = 10; }
    void save(torch::serialize::OutputArchive& archive) const override { archive.write("left", torch::tensor(*left)); }
    void load(torch::serialize::InputArchive& archive) override {
        torch::Tensor t;
        archive.read("left", t);
        *left = t.item<int>();
    }
    std::shared_ptr<int> left = std::make_shared<int>(0);
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
};

static Numbers all(samplers::Sampler<>& sampler, size_t batch) {
    Numbers found;
    while (auto indices = sampler.next(batch)) {
        EXPECT(!indices->empty() && indices->size() <= batch);
        found.insert(found.end(), indices->begin(), indices->end());
    }
    EXPECT(!sampler.next(1));
    return found;
}

static void sampling() {
    samplers::SequentialSampler one_by_one(5);
    EXPECT(*one_by_one.next(2) == Numbers({0, 1}) && one_by_one.index() == 2);
    EXPECT(all(one_by_one, 2) == Numbers({2, 3, 4}));
    one_by_one.reset(3);
    EXPECT(all(one_by_one, 10) == Numbers({0, 1, 2}));
    one_by_one.reset();
    EXPECT(one_by_one.next(1)->size() == 1);

    // What a sampler was at is saved, and goes on elsewhere.
    torch::serialize::OutputArchive out;
    out << one_by_one;
    std::stringstream kept;
    out.save_to(kept);
    torch::serialize::InputArchive in;
    in.load_from(kept);
    samplers::SequentialSampler other(3);
    in >> other;
    EXPECT(all(other, 5) == Numbers({1, 2}));

    samplers::RandomSampler random(10);
    (void)random.next(4);
    torch::serialize::OutputArchive random_out;
    random_out << random;
    std::stringstream random_kept;
    random_out.save_to(random_kept);
    torch::serialize::InputArchive random_in;
    random_in.load_from(random_kept);
    samplers::RandomSampler again(10);
    random_in >> again;
    EXPECT(again.index() == 4);
    EXPECT(all(again, 3) == all(random, 3));

    samplers::StreamSampler stream(5);
    EXPECT(stream.next(3)->size() == 3 && size_t{*stream.next(3)} == 2 && !stream.next(3));
    stream.reset(1);
    EXPECT(stream.next(3)->size() == 1 && !stream.next(3));

    samplers::DistributedSequentialSampler first(7, 2, 0), second(7, 2, 1), short_one(7, 2, 1, false);
    EXPECT(all(first, 3) == Numbers({0, 1, 2, 3}));
    EXPECT(all(second, 3) == Numbers({4, 5, 6, 0}));
    EXPECT(all(short_one, 3) == Numbers({3, 4, 5}));
    samplers::DistributedRandomSampler drawn(6, 2, 0);
    drawn.set_epoch(3);
    drawn.reset();
    (void)drawn.next(1);
    torch::serialize::OutputArchive drawn_out;
    drawn_out << drawn;
    std::stringstream drawn_kept;
    drawn_out.save_to(drawn_kept);
    torch::serialize::InputArchive drawn_in;
    drawn_in.load_from(drawn_kept);
    samplers::DistributedRandomSampler drawn_again(6, 2, 0);
    drawn_in >> drawn_again;
    EXPECT(drawn_again.epoch() == 3 && drawn_again.index() == 1);
    EXPECT(all(drawn_again, 2) == all(drawn, 2));
}

// Two epochs of a RandomSampler, and an epoch of each process.
static std::vector<Numbers> orders(int64_t seed) {
    torch::manual_seed(static_cast<uint64_t>(seed));
    samplers::RandomSampler random(6);
    std::vector<Numbers> found{all(random, 4)};
    random.reset();
    found.push_back(all(random, 4));
    for (size_t rank = 0; rank < 2; rank++) {
        samplers::DistributedRandomSampler part(9, 2, rank);
        part.set_epoch(1);
        part.reset();
        found.push_back(all(part, 2));
    }
    return found;
}

static void mapping() {
    auto stacked = Squares(5).map(transforms::Stack<>());
    Numbers wanted{1, 3};
    data::Example<> batch = stacked.get_batch(wanted);
    EXPECT(torch::equal(batch.data, torch::tensor({1.0F, 1.0F, 3.0F, 3.0F}).view({2, 2})));
    EXPECT(batch.target[1][0].item<float>() == 9 && *stacked.size() == 5);

    auto halved = Squares(5)
                      .map(transforms::TensorLambda<>([](torch::Tensor x) { return x / 2; }))
                      .map(transforms::Lambda<data::Example<>>([](data::Example<> e) {
                          e.target += 1;
                          return e;
                      }))
                      .map(transforms::Stack<>());
    batch = halved.get_batch(wanted);
    EXPECT(batch.data[1][0].item<float>() == 1.5 && batch.target[1][0].item<float>() == 10);

    auto sums = datasets::TensorDataset(torch::eye(3))
                    .map(transforms::Collate<data::TensorExample>([](std::vector<data::TensorExample> examples) {
                        torch::Tensor sum = torch::zeros({3});
                        for (auto& example : examples) sum += example.data;
                        return data::TensorExample(sum);
                    }));
    wanted = {0, 2};
    const torch::Tensor sum = sums.get_batch(wanted).data;
    EXPECT(torch::equal(sum, torch::tensor({1.0F, 0.0F, 1.0F})));

    transforms::Normalize<> normalize({1.0, 2.0}, {2.0, 4.0});
    const auto picture = normalize(torch::ones({2, 1, 2}) * 3);
    EXPECT(torch::equal(picture.flatten(), torch::tensor({1.0F, 1.0F, 0.25F, 0.25F})));
    std::vector<torch::Tensor> rows{torch::zeros({2}), torch::ones({2})};
    datasets::TensorDataset table(rows);
    torch::Tensor row = table.get(1);
    EXPECT(*table.size() == 2 && torch::equal(row, torch::ones({2})));
}

static void loading() {
    for (const size_t workers : {0, 1, 3}) {
        auto loader = data::make_data_loader<samplers::SequentialSampler>(
            Squares(10).map(transforms::Stack<>()), data::DataLoaderOptions().batch_size(4).workers(workers));
        for (int epoch = 0; epoch < 2; epoch++) {
            std::vector<int64_t> sizes;
            float expected = 0;
            for (auto& batch : *loader) {
                sizes.push_back(batch.data.size(0));
                EXPECT(batch.data[0][0].item<float>() == expected);
                expected += 4;
            }
            EXPECT(sizes == std::vector<int64_t>({4, 4, 2}));
        }
        EXPECT(loader->options().max_jobs == 2 * workers && loader->options().batch_size == 4);

        auto whole = data::make_data_loader(
            Squares(10), samplers::RandomSampler(10),
            data::DataLoaderOptions(4).workers(workers).drop_last(true).enforce_ordering(false).max_jobs(workers * 3));
        std::set<float> seen;
        for (auto& batch : *whole) {
            EXPECT(batch.size() == 4);
            for (auto& example : batch) seen.insert(example.data[0].item<float>());
        }
        EXPECT(seen.size() == 8);

        auto counted = data::make_data_loader(Countdown(), data::DataLoaderOptions(3).workers(workers));
        for (int epoch = 0; epoch < 2; epoch++) {
            std::multiset<int> numbers;
            for (auto& batch : *counted) numbers.insert(batch.begin(), batch.end());
            EXPECT(numbers.size() == 10 && *numbers.begin() == 1 && *numbers.rbegin() == 10);
        }
    }

    auto shared = datasets::make_shared_dataset<Squares>(4);
    shared->n = 3;
    auto loader = data::make_data_loader(shared, 2);
    size_t count = 0;
    for (auto it = loader->begin(); it != loader->end(); ++it) count += it->size();
    EXPECT(count == 3);
    auto it = loader->begin();
    EXPECT(it == it && it != loader->end());
    EXPECT((*it).size() == 2);
    ++it;
    ++it;
    EXPECT(it == loader->end());
    EXPECT_THROW(++it, c10::Error, "Attempted to increment iterator past the end");
    EXPECT_THROW(*it, c10::Error, "Attempted to dereference iterator that was past the end");
    auto end = loader->end();
    EXPECT_THROW(++end, c10::Error, "Incrementing the DataLoader's past-the-end iterator is not allowed");
    loader->join();
}

static void failing() {
    Squares bad(6);
    bad.bad = 2;
    auto loader = data::make_data_loader<samplers::SequentialSampler>(bad, data::DataLoaderOptions(2).workers(2));
    auto it = loader->begin();
    EXPECT(it->size() == 2);
    EXPECT_THROW(++it, data::WorkerException, "Original message: no example 2");
    auto by_caller = data::make_data_loader<samplers::SequentialSampler>(bad, data::DataLoaderOptions(3));
    EXPECT_THROW(*by_caller->begin(), c10::Error, "no example 2");

    auto busy = data::make_data_loader<samplers::SequentialSampler>(Squares(6), data::DataLoaderOptions(1).workers(1));
    auto pass = busy->begin();
    (void)*pass;
    EXPECT_THROW(busy->begin(), c10::Error, "while another iterator is not yet exhausted");

    struct Slow : datasets::Dataset<Slow, int> {
        int get(size_t /*index*/) override {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            return 1;
        }
        std::optional<size_t> size() const override { return 2; }
    };
    auto slow =
        data::make_data_loader(Slow(), data::DataLoaderOptions().workers(1).timeout(std::chrono::milliseconds(10)));
    EXPECT_THROW(*slow->begin(), c10::Error, "Timeout in DataLoader queue while waiting for next batch");

    EXPECT_THROW(datasets::MNIST("/nowhere"), c10::Error, "Error opening images file at");
}

// Chunks of three numbers each; the second cannot be read if `broken`.
struct Chunks : datasets::ChunkDataReader<int> {
    using BatchType = std::vector<int>;
    explicit Chunks(bool broken = false) : broken(broken) {}
    std::vector<int> read_chunk(size_t i) override {
        if (broken && i == 1) throw std::runtime_error("a chunk is broken");
        const int begin = static_cast<int>(i) * 3;
        return {begin, begin + 1, begin + 2};
    }
    size_t chunk_count() override { return 4; }
    void reset() override {}
    bool broken;
};
using InOrder = samplers::SequentialSampler;
using Chunked = datasets::ChunkDataset<Chunks, InOrder, InOrder>;

static void chunks() {
    auto dataset =
        datasets::make_shared_dataset<Chunked>(Chunks(), InOrder(0), InOrder(0), datasets::ChunkDatasetOptions(1, 5));
    EXPECT(!dataset.size());
    EXPECT_THROW(dataset->get_batch(5), c10::Error, "Dataset needs to call reset() before calling get_batch().");
    auto loader = data::make_data_loader(dataset, data::DataLoaderOptions(5).workers(0));
    for (int epoch = 0; epoch < 2; epoch++) {
        std::vector<std::vector<int>> found;
        for (auto& batch : *loader) found.push_back(batch);
        EXPECT(found == std::vector<std::vector<int>>({{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {10, 11}}));
    }
    EXPECT_THROW(dataset->get_batch(4), c10::Error, "The requested batch size is 4");

    const auto doubled = [](std::vector<int>& batch) {
        for (int& i : batch) i *= 2;
    };
    using Mixed = datasets::ChunkDataset<Chunks>;
    auto mixed = datasets::make_shared_dataset<Mixed>(Chunks(), samplers::RandomSampler(0), samplers::RandomSampler(0),
                                                      datasets::ChunkDatasetOptions(2, 2, 4, 2), doubled);
    auto mixed_loader = data::make_data_loader(mixed, data::DataLoaderOptions(2).workers(2));
    std::set<int> numbers;
    for (auto& batch : *mixed_loader) numbers.insert(batch.begin(), batch.end());
    EXPECT(numbers.size() == 12 && *numbers.rbegin() == 22);

    auto broken = datasets::make_shared_dataset<Chunked>(Chunks(true), InOrder(0), InOrder(0),
                                                         datasets::ChunkDatasetOptions(1, 3));
    broken->reset();
    EXPECT(broken->get_batch()->size() == 3);
    EXPECT_THROW(broken->get_batch(), data::WorkerException, "a chunk is broken");
    EXPECT_THROW(datasets::ChunkDatasetOptions(0, 1), c10::Error, "Preloader count is 0");
    EXPECT_THROW(datasets::ChunkDatasetOptions(1, 4, 2), c10::Error, "Cache size is less than batch size");
}

// The first image and all targets of a folder of digits.
static std::pair<torch::Tensor, torch::Tensor> digits(const std::string& folder) {
    datasets::MNIST mnist(folder, datasets::MNIST::Mode::kTest);
    EXPECT(!mnist.is_train() && *mnist.size() == static_cast<size_t>(mnist.targets().size(0)));
    return {mnist.get(1).data, mnist.targets()};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("sampling", &sampling);
    m.def("orders", &orders);
    m.def("mapping", &mapping);
    m.def("loading", &loading);
    m.def("failing", &failing);
    m.def("chunks", &chunks);
    m.def("digits", &digits);
}
