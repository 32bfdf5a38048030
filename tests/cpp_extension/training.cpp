// torch::optim, recurrent layers, containers, archives and RECORD_FUNCTION in C++. Compiled against our headers and,
// with
// --live, against PyTorch's, unchanged.
#include <torch/extension.h>

#include <ATen/record_function.h>
#include <torch/csrc/autograd/record_function_ops.h>

#include <sstream>

#include "expect.h"

namespace nn = torch::nn;
namespace optim = torch::optim;

struct Net : nn::Module {
    Net() : lstm(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true)), fc(8, 1) {
        register_module("lstm", lstm);
        register_module("fc", fc);
    }
    torch::Tensor forward(torch::Tensor x) { return fc(std::get<0>(lstm(x)).select(0, -1)); }
    nn::LSTM lstm;
    nn::Linear fc;
};

static std::unique_ptr<optim::Optimizer> make(const std::string& kind, std::vector<torch::Tensor> p) {
    if (kind == "sgd")
        return std::make_unique<optim::SGD>(p, optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01));
    if (kind == "adam")
        return std::make_unique<optim::Adam>(p, optim::AdamOptions(0.1).amsgrad(true).weight_decay(0.1));
    if (kind == "adamw") return std::make_unique<optim::AdamW>(p, 0.05);
    if (kind == "rmsprop")
        return std::make_unique<optim::RMSprop>(p, optim::RMSpropOptions(0.01).centered(true).momentum(0.5));
    if (kind == "adagrad") return std::make_unique<optim::Adagrad>(p, optim::AdagradOptions(0.1).lr_decay(0.1));
    if (kind == "wolfe")
        return std::make_unique<optim::LBFGS>(p, optim::LBFGSOptions(1).line_search_fn("strong_wolfe"));
    return std::make_unique<optim::LBFGS>(p, optim::LBFGSOptions(0.2).max_iter(3).history_size(2));
}

// The loss after five steps of a small network.
static double train(const std::string& kind) {
    torch::manual_seed(0);
    auto net = std::make_shared<Net>();
    const auto x = torch::randn({5, 2, 3});
    auto optimizer = make(kind, net->parameters());
    optim::StepLR schedule(*optimizer, 2, 0.5);
    const auto loss = [&] { return (net->forward(x) - 1).pow(2).mean(); };
    for (int i = 0; i < 5; i++) {
        optimizer->step([&] {
            optimizer->zero_grad();
            auto found = loss();
            found.backward();
            if (kind != "lbfgs") nn::utils::clip_grad_norm_(net->parameters(), 1.0);
            return found;
        });
        schedule.step();
    }
    return loss().item<double>();
}

static void optimizers() {
    auto a = torch::ones({2}, torch::requires_grad()), b = torch::ones({1}, torch::requires_grad());
    optim::OptimizerParamGroup first({a}, std::make_unique<optim::SGDOptions>(0.5));
    optim::SGD sgd({first, optim::OptimizerParamGroup({b})}, optim::SGDOptions(0.25));
    EXPECT(sgd.param_groups().size() == 2);
    EXPECT(sgd.param_groups()[0].options().get_lr() == 0.5 && sgd.param_groups()[1].options().get_lr() == 0.25);
    EXPECT(static_cast<optim::SGDOptions&>(sgd.defaults()).momentum() == 0);
    (a.sum() + b.sum()).backward();
    sgd.step();
    EXPECT(torch::equal(a.detach(), torch::full({2}, 0.5)) && torch::equal(b.detach(), torch::full({1}, 0.75)));
    sgd.zero_grad();
    EXPECT(!a.grad().defined());
    sgd.param_groups()[0].options().set_lr(0.125);
    EXPECT(static_cast<optim::SGDOptions&>(sgd.param_groups()[0].options()).lr() == 0.125);
    EXPECT_THROW(optim::SGD({a * 1}, 0.1), c10::Error, "can't optimize a non-leaf Tensor");
    EXPECT_THROW(optim::Adam({a}, optim::AdamOptions(-1)), c10::Error, "Invalid learning rate");
    EXPECT_THROW(optim::SGD({a}, optim::SGDOptions(1).nesterov(true)), c10::Error, "Nesterov momentum requires");
    EXPECT(optim::AdamOptions(0.1) == optim::AdamOptions(0.1));

    optim::ReduceLROnPlateauScheduler plateau(sgd, optim::ReduceLROnPlateauScheduler::min, 0.5, 1);
    for (int i = 0; i < 3; i++) plateau.step(1);
    EXPECT(sgd.param_groups()[0].options().get_lr() == 0.0625);

    // What it keeps goes into another one.
    const auto begin = [] { return torch::tensor({1.0, 2.0}, torch::requires_grad()); };
    auto p = begin(), q = begin();
    optim::Adam one({p}, 0.1), two({q}, 0.5);
    p.pow(2).sum().backward();
    one.step();
    std::stringstream archive;
    torch::save(one, archive);
    torch::load(two, archive);
    q.set_data(p.detach().clone());
    q.mutable_grad() = p.grad().clone();
    one.step();
    two.step();
    EXPECT(torch::equal(p.detach(), q.detach()));
    EXPECT(two.param_groups()[0].options().get_lr() == 0.1 && two.state().size() == 1);
}

static void containers() {
    torch::manual_seed(1);
    nn::Sequential named({{"a", nn::Linear(3, 4)}, {"b", nn::Functional(torch::relu)}, {"c", nn::Linear(4, 1)}});
    EXPECT(named->named_parameters().contains("c.weight") && named->size() == 3);
    EXPECT(named->forward(torch::ones({2, 3})).size(1) == 1);
    EXPECT_THROW(named->forward(1.0), c10::Error, "Expected argument #0 to be of type");
    EXPECT_THROW(named->forward<int>(torch::ones({2, 3})), std::exception, "");

    struct Sum : nn::Module {
        torch::Tensor forward(torch::Tensor a, torch::Tensor b) { return a + b; }
    };
    nn::Sequential two(std::make_shared<Sum>(), nn::Functional(torch::leaky_relu, 0.5));
    EXPECT(two->forward(torch::full({1}, -3.0), torch::ones({1})).item<double>() == -1);
    nn::AnyModule any(nn::Linear(2, 3));
    EXPECT(any.forward(torch::ones({1, 2})).size(1) == 3 && any.get<nn::LinearImpl>().options.out_features() == 3);
    EXPECT_THROW(any.get<nn::GRUImpl>(), c10::Error, "Attempted to cast module");

    torch::OrderedDict<std::string, std::shared_ptr<nn::Module>> by_name;
    by_name.insert("a", nn::Linear(1, 2).ptr());
    nn::ModuleDict modules(by_name);
    EXPECT(modules->contains("a") && modules->at<nn::LinearImpl>("a").bias.size(0) == 2);
    nn::ParameterList list(torch::ones({2}), torch::zeros({1}));
    EXPECT(list->size() == 2 && list->named_parameters().contains("1"));
    nn::ParameterDict dict;
    dict->insert("w", torch::ones({2}));
    EXPECT(dict->named_parameters().keys() == std::vector<std::string>{"w"} && dict["w"].size(0) == 2);

    auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(named->clone());
    EXPECT(copy->size() == 3 && torch::equal(copy->forward(torch::ones({1, 3})), named->forward(torch::ones({1, 3}))));
    nn::Sequential other({{"a", nn::Linear(3, 4)}, {"b", nn::Functional(torch::relu)}, {"c", nn::Linear(4, 1)}});
    std::stringstream archive;
    torch::save(named, archive);
    torch::load(other, archive);
    EXPECT(torch::equal(other->forward(torch::ones({1, 3})), named->forward(torch::ones({1, 3}))));

    EXPECT(nn::InstanceNorm1d(2)->forward(torch::tensor({{{1.0, 3.0}, {5.0, 5.0}}}))[0][0][1].item<double>() > 0.999);
    EXPECT(nn::ReflectionPad2d(1)->forward(torch::ones({1, 1, 2, 2})).size(3) == 4);
    EXPECT(nn::ConstantPad1d(2, 7.0)->forward(torch::zeros({1, 1, 1})).sum().item<double>() == 28);
    EXPECT(nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2}))
               ->forward(torch::ones({1, 1, 3}))
               .size(2) == 6);
    EXPECT(nn::PixelShuffle(2)->forward(torch::ones({1, 4, 1, 1})).size(3) == 2);
    EXPECT(nn::Bilinear(2, 3, 4)->forward(torch::ones({5, 2}), torch::ones({5, 3})).size(1) == 4);
    EXPECT(nn::PReLU()->forward(torch::full({1}, -1.0)).item<double>() == -0.25);
    EXPECT(nn::Threshold(1, 20)->forward(torch::tensor({0.5, 2.0})).sum().item<double>() == 22);

    auto weight = torch::tensor({3.0, 4.0}, torch::requires_grad());
    weight.pow(2).sum().backward();
    EXPECT(nn::utils::clip_grad_norm_(weight, 5.0) == 10 && std::abs(weight.grad()[1].item<double>() - 4) < 1e-5);
    nn::utils::clip_grad_value_(weight, 1.0);
    EXPECT(torch::equal(weight.grad(), torch::ones({2}, torch::kDouble).to(weight.dtype())));
    EXPECT(nn::utils::parameters_to_vector({torch::ones({2, 2}), torch::ones({1})}).size(0) == 5);
}

static void values() {
    const std::vector<torch::Tensor> tensors{torch::ones({2}), torch::arange(3)};
    std::stringstream archive;
    torch::save(tensors, archive);
    std::vector<torch::Tensor> read;
    torch::load(read, archive);
    EXPECT(read.size() == 2 && torch::equal(read[1], tensors[1]));
    const auto loaded = torch::pickle_load(torch::pickle_save(c10::IValue(torch::full({2}, 200))));
    EXPECT(torch::equal(loaded.toTensor(), torch::full({2}, 200)));

    c10::IValue text("words");
    EXPECT(text.toString()->string() == "words" && text.toOptionalStringRef()->get() == "words");
    const std::string& same = text.toStringRef();
    EXPECT(same.size() == 5);
    c10::IValue map(std::unordered_map<std::string, int64_t>{{"a", 1}});
    EXPECT(map.isGenericDict() && map.toGenericDict().at("a").toInt() == 1);
    c10::IValue sizes(std::vector<int64_t>{2, 3});
    EXPECT(sizes.toDimVector()[1] == 3 && !sizes.isOptionalTensorList() && sizes.isIntList());
    EXPECT(c10::IValue(c10::SymInt(4)).toSymInt() == 4);
    const torch::Tensor t = torch::ones({2});
    EXPECT(c10::IValue(t).isAliasOf(c10::IValue(t.view({1, 2}))) && !c10::IValue(t).isAliasOf(c10::IValue(t + 1)));
    c10::List<std::optional<torch::Tensor>> maybe({t, std::nullopt});
    EXPECT(c10::IValue(maybe).toOptionalTensorVector().size() == 2);
}

// Outputs of layers that begin with a seed.
static std::vector<torch::Tensor> recurrent() {
    torch::manual_seed(2);
    nn::GRU gru(nn::GRUOptions(3, 4).batch_first(true));
    nn::RNN rnn(nn::RNNOptions(3, 4).nonlinearity(torch::kReLU));
    nn::LSTM lstm(nn::LSTMOptions(3, 4).proj_size(2));
    nn::LSTMCell lstm_cell(3, 4);
    nn::GRUCell gru_cell(3, 4);
    nn::RNNCell rnn_cell(3, 4);
    const auto x = torch::linspace(-1, 1, 18).reshape({2, 3, 3}), row = x.select(0, 0);
    EXPECT_THROW(gru(row), c10::Error, "input must have 3 dimensions, got 2");
    const auto packed = nn::utils::rnn::pack_padded_sequence(x, torch::tensor({2, 3}), true, false);
    auto [steps, last] = gru->forward_with_packed_input(packed);
    auto [padded, lengths] = nn::utils::rnn::pad_packed_sequence(steps, true);
    EXPECT(torch::equal(lengths, torch::tensor({2, 3})));
    EXPECT(std::get<0>(lstm->forward_with_packed_input(packed)).data().size(1) == 2);
    return {std::get<0>(gru(x)),
            std::get<1>(rnn(x)),
            std::get<0>(lstm(x)),
            std::get<0>(lstm_cell(row)),
            gru_cell(row),
            rnn_cell(row),
            padded,
            last};
}

static void recorded(const torch::Tensor& x) {
    RECORD_FUNCTION("training::outer", std::vector<c10::IValue>({x}));
    {
        RECORD_USER_SCOPE("training::mine");
        (void)x.exp();
    }
    auto entered = torch::autograd::profiler::record_function_enter_new("training::entered");
    (void)x.log();
    entered.reset();
    at::RecordFunction by_hand(at::RecordScope::FUNCTION);
    if (by_hand.isActive()) by_hand.before("training::by_hand");
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    const auto without_lock = py::call_guard<py::gil_scoped_release>();
    m.def("train", &train, without_lock);
    m.def("optimizers", &optimizers, without_lock);
    m.def("containers", &containers, without_lock);
    m.def("values", &values);
    m.def("recurrent", &recurrent);
    m.def("recorded", &recorded);
}
