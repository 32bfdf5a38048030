// torch::nn in C++: functions with options, modules of one's own, layers. Compiled against our headers and, with
// --live, against PyTorch's, unchanged.
#include <torch/extension.h>

#include <sstream>

#include "expect.h"

namespace F = torch::nn::functional;
namespace nn = torch::nn;

static bool near(const torch::Tensor& t, std::vector<double> values) {
    const auto expected = torch::tensor(values, torch::kDouble).reshape(t.sizes());
    return torch::allclose(t.detach().to(torch::kDouble), expected, 1e-5, 1e-6);
}

static void functions() {
    torch::Tensor x = torch::tensor({1.0, 2.0, 3.0}).reshape({1, 1, 3});
    EXPECT(near(F::pad(x, F::PadFuncOptions({1, 2})), {0, 1, 2, 3, 0, 0}));
    EXPECT(near(F::pad(x, F::PadFuncOptions({1, 0}).mode(torch::kConstant).value(7)), {7, 1, 2, 3}));
    EXPECT(near(F::pad(x, F::PadFuncOptions({1, 1}).mode(torch::kReflect)), {2, 1, 2, 3, 2}));
    EXPECT(near(F::pad(x, F::PadFuncOptions({1, 1}).mode(torch::kReplicate)), {1, 1, 2, 3, 3}));
    EXPECT(near(F::pad(x, F::PadFuncOptions({1, 1}).mode(torch::kCircular)), {3, 1, 2, 3, 1}));
    EXPECT(near(F::interpolate(x, F::InterpolateFuncOptions().scale_factor(std::vector<double>({2}))),
                {1, 1, 2, 2, 3, 3}));
    EXPECT(near(
        F::interpolate(
            x, F::InterpolateFuncOptions().size(std::vector<int64_t>({5})).mode(torch::kLinear).align_corners(true)),
        {1, 1.5, 2, 2.5, 3}));
    EXPECT_THROW(F::interpolate(x, F::InterpolateFuncOptions()), c10::Error, "either size or scale_factor");
    torch::Tensor image = torch::arange(4.0).reshape({1, 1, 2, 2});
    EXPECT(
        near(F::interpolate(image, F::InterpolateFuncOptions().size(std::vector<int64_t>({1, 1})).mode(torch::kArea)),
             {1.5}));
    EXPECT(
        near(F::grid_sample(image, torch::zeros({1, 1, 1, 2}), F::GridSampleFuncOptions().align_corners(true)), {1.5}));
    EXPECT(near(F::softmax(torch::zeros({2}), F::SoftmaxFuncOptions(0)), {0.5, 0.5}));
    EXPECT(near(F::log_softmax(torch::zeros({2}), 0), {-0.6931472, -0.6931472}));
    EXPECT(near(F::leaky_relu(torch::tensor({-1.0, 2.0}), F::LeakyReLUFuncOptions().negative_slope(0.5)), {-0.5, 2}));
    torch::Tensor changed = torch::tensor({-1.0, 2.0});
    F::relu(changed, F::ReLUFuncOptions().inplace(true));
    EXPECT(near(changed, {0, 2}));
    EXPECT(near(F::dropout(x, F::DropoutFuncOptions().p(0.5).training(false)), {1, 2, 3}));
    EXPECT(near(F::normalize(torch::tensor({3.0, 4.0}), F::NormalizeFuncOptions().dim(0)), {0.6, 0.8}));
    EXPECT(near(F::linear(torch::tensor({1.0, 2.0}), torch::tensor({{1.0, 1.0}}), torch::tensor({0.5})), {3.5}));
    EXPECT(near(F::conv1d(x, torch::ones({1, 1, 3}), F::Conv1dFuncOptions().padding(torch::kSame)), {3, 6, 5}));
    EXPECT(near(F::conv1d(x, torch::ones({1, 1, 2}), F::Conv1dFuncOptions().bias(torch::ones({1})).padding(1)),
                {2, 4, 6, 4}));
    EXPECT(near(F::max_pool1d(x, F::MaxPool1dFuncOptions(2).stride(1)), {2, 3}));
    EXPECT(near(F::avg_pool2d(image, F::AvgPool2dFuncOptions({2, 2})), {1.5}));
    EXPECT(F::unfold(image, F::UnfoldFuncOptions(2)).sizes() == torch::IntArrayRef({1, 4, 1}));
    EXPECT(near(F::layer_norm(torch::tensor({1.0, 3.0}), F::LayerNormFuncOptions({2}).eps(0)), {-1, 1}));
    torch::Tensor logits = torch::zeros({2, 2}), classes = torch::tensor({0, 1});
    EXPECT(near(F::cross_entropy(logits, classes, F::CrossEntropyFuncOptions().reduction(torch::kSum)), {1.3862944}));
    EXPECT(near(F::mse_loss(x, x + 2), {4}) && near(F::l1_loss(x, x - 1, F::L1LossFuncOptions(torch::kSum)), {3}));
    EXPECT(near(F::kl_div(torch::zeros({2}), torch::ones({2}), F::KLDivFuncOptions(torch::kBatchMean)), {0}));
    EXPECT(near(F::smooth_l1_loss(torch::zeros({1}), torch::full({1}, 0.5)), {0.125}));
    EXPECT(near(F::cosine_similarity(torch::tensor({{1.0, 0.0}}), torch::tensor({{0.0, 2.0}})), {0}));
    EXPECT(F::one_hot(torch::tensor({1}), 3).sum().item<int64_t>() == 1);
    EXPECT(near(F::embedding(torch::tensor({1}), torch::tensor({{1.0}, {2.0}})), {2}));
    EXPECT(F::PadFuncOptions({1}).value(2).value() == 2);
}

struct ScaleImpl : nn::Cloneable<ScaleImpl> {
    explicit ScaleImpl(int64_t n) : n_(n) { reset(); }
    void reset() override {
        factor = register_parameter("factor", torch::full({n_}, 2.0));
        seen = register_buffer("seen", torch::zeros({}));
        inner = register_module("inner", nn::Linear(nn::LinearOptions(n_, 1).bias(false)));
    }
    torch::Tensor forward(torch::Tensor x) {
        seen += 1;
        return inner(x * factor);
    }
    void grow(const std::string& name) { register_parameter(name, torch::ones({2})); }
    int64_t n_;
    torch::Tensor factor, seen;
    nn::Linear inner{nullptr};
};
TORCH_MODULE(Scale);

static void modules() {
    Scale scale(3);
    std::vector<std::string> names = scale->named_parameters().keys();
    EXPECT(names == std::vector<std::string>({"factor", "inner.weight"}));
    EXPECT(scale->parameters().size() == 2 && scale->parameters(false).size() == 1 && scale->buffers().size() == 1);
    EXPECT(scale->named_buffers()["seen"].item<double>() == 0);
    EXPECT(scale->modules().size() == 2 && scale->named_modules().keys()[1] == "inner" &&
           scale->children().size() == 1);
    EXPECT(scale->named_children()["inner"]->as<nn::Linear::Impl>() != nullptr);
    scale->inner->weight.set_data(torch::ones({1, 3}));
    torch::Tensor y = scale(torch::ones({3}));
    EXPECT(near(y, {6}) && scale->seen.item<double>() == 1);
    y.sum().backward();
    EXPECT(near(scale->factor.grad(), {1, 1, 1}));
    auto copy = std::dynamic_pointer_cast<ScaleImpl>(scale->clone());
    {
        torch::NoGradGuard guard;
        copy->factor.fill_(1);
        copy->inner->weight.fill_(0);
    }
    EXPECT(near(scale->factor, {2, 2, 2}) && near(scale->inner->weight, {1, 1, 1}) &&
           near(copy->forward(torch::ones({3})), {0}));
    scale->zero_grad();
    EXPECT(!scale->factor.grad().defined());
    EXPECT(scale->is_training() && scale->inner->is_training());
    scale->eval();
    EXPECT(!scale->is_training() && !scale->inner->is_training());
    scale->to(torch::kDouble);
    EXPECT(scale->factor.dtype() == torch::kDouble && scale->inner->weight.dtype() == torch::kDouble);
    int64_t count = 0;
    scale->apply([&](nn::Module& m) { count += static_cast<int64_t>(m.parameters(false).size()); });
    EXPECT(count == 2);
    EXPECT_THROW(scale->register_parameter("a.b", torch::ones({1})), c10::Error, "must not contain a dot (got 'a.b')");
    EXPECT_THROW(scale->register_buffer("", torch::ones({1})), c10::Error, "Buffer name must not be empty");
    EXPECT_THROW(scale->register_parameter("factor", torch::ones({1})), c10::Error, "'factor' already defined");
    Scale empty = nullptr;
    EXPECT(empty.is_empty() && !empty);
    EXPECT_THROW(empty->n_, c10::Error, "Accessing empty ModuleHolder");
    std::stringstream file;
    torch::serialize::OutputArchive out;
    scale->save(out);
    out.save_to(file);
    Scale read(3);
    read->to(torch::kDouble);
    torch::serialize::InputArchive in;
    in.load_from(file);
    read->load(in);
    EXPECT(near(read->factor, {2, 2, 2}) && near(read->inner->weight, {1, 1, 1}));
    torch::Tensor t = torch::ones({1}, torch::requires_grad());
    t.mutable_grad() = torch::full({1}, 3.0);
    EXPECT(near(t.grad(), {3}));
    t.mutable_grad().reset();
    EXPECT(!t.grad().defined());
}

static void layers() {
    nn::Sequential net(nn::Linear(2, 8), nn::ReLU(), nn::Linear(8, 1));
    EXPECT(net->size() == 3 && net->named_parameters().keys()[2] == "2.weight");
    torch::Tensor x = torch::tensor({{0.0, 1.0}, {1.0, 0.0}}), y = torch::tensor({{1.0}, {-1.0}});
    double first = 0, last = 0;
    for (int step = 0; step < 60; step++) {
        net->zero_grad();
        torch::Tensor loss = nn::MSELoss()(net->forward(x), y);
        loss.backward();
        torch::NoGradGuard guard;
        for (auto& p : net->parameters()) p.sub_(0.1 * p.grad());
        (step ? last : first) = loss.item<double>();
    }
    EXPECT(last < 0.1 * first);
    nn::BatchNorm1d norm(nn::BatchNormOptions(1).momentum(0.5));
    torch::Tensor batch = torch::tensor({{1.0}, {3.0}});
    EXPECT(near(norm(batch), {-0.999995, 0.999995}) && near(norm->running_mean, {1}) && near(norm->running_var, {1.5}));
    norm->eval();
    EXPECT(near(norm(torch::ones({1, 1})), {0}));
    EXPECT_THROW(norm(torch::ones({1})), c10::Error, "got 1D input");
    nn::Embedding table(nn::EmbeddingOptions(3, 2).padding_idx(0));
    EXPECT(near(table->weight[0], {0, 0}));
    nn::Embedding fixed = nn::Embedding::from_pretrained(torch::ones({2, 2}));
    EXPECT(!fixed->weight.requires_grad());
    nn::Conv1d conv(nn::Conv1dOptions(1, 1, 3).padding(1).bias(false).padding_mode(torch::kReplicate));
    conv->weight.set_data(torch::ones({1, 1, 3}));
    EXPECT(near(conv(torch::tensor({1.0, 2.0, 3.0}).reshape({1, 1, 3})), {4, 6, 8}));
    EXPECT(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 3, 2).stride(2))(torch::ones({1, 2, 4, 4})).size(2) == 8);
    EXPECT(nn::Conv2d(nn::Conv2dOptions(2, 4, {3, 1}).groups(2))->weight.sizes() == torch::IntArrayRef({4, 1, 3, 1}));
    EXPECT(near(nn::LayerNorm(nn::LayerNormOptions({2}).eps(0))(torch::tensor({1.0, 3.0})), {-1, 1}));
    EXPECT(nn::GroupNorm(2, 4)(torch::ones({1, 4, 2})).size(1) == 4);
    EXPECT(nn::MaxPool2d(nn::MaxPool2dOptions(2))(torch::ones({1, 1, 4, 4})).size(3) == 2);
    EXPECT(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({1, 1}))(torch::ones({1, 1, 4, 4})).numel() == 1);
    nn::Dropout drop(0.5);
    drop->eval();
    EXPECT(near(drop(torch::ones({2})), {1, 1}));
    std::ostringstream text;
    text << nn::Linear(nn::LinearOptions(3, 4).bias(false));
    EXPECT(text.str() == "torch::nn::Linear(in_features=3, out_features=4, bias=false)");
    nn::ModuleList list(nn::Linear(1, 1), nn::ReLU());
    list->push_back(nn::Tanh());
    EXPECT(list->size() == 3 && list[2]->as<nn::TanhImpl>() != nullptr);
}

// The parameters of layers that follow a seed.
static std::vector<torch::Tensor> seeded(int64_t seed) {
    torch::manual_seed(seed);
    nn::Linear a(3, 2);
    nn::Conv2d b(2, 3, 2);
    nn::Embedding c(4, 2);
    torch::Tensor d = nn::init::xavier_normal_(torch::empty({3, 4})),
                  e = nn::init::kaiming_normal_(torch::empty({3, 4}));
    return {a->weight, a->bias, b->weight, b->bias, c->weight, d, e};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    using Unlocked = py::call_guard<py::gil_scoped_release>;  // as the engine wants it there
    m.def("functions", &functions);
    m.def("modules", &modules, Unlocked());
    m.def("layers", &layers, Unlocked());
    m.def("seeded", &seeded);
    torch::python::bind_module<ScaleImpl>(m, "Scale").def(py::init<int64_t>()).def("grow", &ScaleImpl::grow);
}
