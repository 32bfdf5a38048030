// Recurrent layers of torch::nn, their cells, and the sequences of several lengths that they take.
#pragma once

#include <mindtorch/nn/layers.h>

namespace torch {
namespace nn {
namespace utils {
namespace rnn {

inline at::Tensor invert_permutation(const at::Tensor& permutation) {
    if (!permutation.defined()) return {};
    at::Tensor inverse = at::empty_like(permutation);
    inverse.scatter_(0, permutation, at::arange(0, permutation.numel(), permutation.options()));
    return inverse;
}

// Steps of several sequences, one time step after another; `batch_sizes` says how many sequences have each.
class PackedSequence {
  public:
    PackedSequence() = default;
    explicit PackedSequence(at::Tensor data, at::Tensor batch_sizes, at::Tensor sorted_indices = {},
                            at::Tensor unsorted_indices = {})
        : data_(std::move(data)),
          batch_sizes_(std::move(batch_sizes)),
          sorted_(std::move(sorted_indices)),
          unsorted_(unsorted_indices.defined() ? std::move(unsorted_indices) : invert_permutation(sorted_)) {
        TORCH_CHECK(
            batch_sizes_.device().is_cpu(),
            "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
            "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn::utils::rnn");
    }
    const at::Tensor& data() const { return data_; }
    const at::Tensor& batch_sizes() const { return batch_sizes_; }
    const at::Tensor& sorted_indices() const { return sorted_; }
    const at::Tensor& unsorted_indices() const { return unsorted_; }
    PackedSequence to(at::TensorOptions options) const {
        at::Tensor data = data_.to(options);
        if (data.is_same(data_)) return *this;
        auto moved = [&](const at::Tensor& t) { return t.defined() ? t.to(data.device()) : t; };
        return PackedSequence(data, batch_sizes_, moved(sorted_), moved(unsorted_));
    }
    bool is_cuda() const { return data_.is_cuda(); }

  private:
    at::Tensor data_, batch_sizes_, sorted_, unsorted_;
};

inline PackedSequence pack_padded_sequence(at::Tensor input, at::Tensor lengths, bool batch_first = false,
                                           bool enforce_sorted = true) {
    lengths = lengths.to(at::kLong);
    at::Tensor order;
    if (!enforce_sorted) {
        std::tie(lengths, order) = at::sort(lengths, -1, true);
        order = order.to(input.device());
        input = input.index_select(batch_first ? 0 : 1, order);
    }
    auto [data, batch_sizes] = at::_pack_padded_sequence(input, lengths, batch_first);
    return PackedSequence(data, batch_sizes, order, {});
}
inline std::tuple<at::Tensor, at::Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                                              double padding_value = 0.0,
                                                              std::optional<int64_t> total_length = std::nullopt) {
    const int64_t longest = sequence.batch_sizes().size(0);
    TORCH_CHECK(
        total_length.value_or(longest) >= longest,
        "Expected total_length to be at least the length of the longest sequence in input, but got total_length=",
        total_length.value_or(longest), " and max sequence length being ", longest);
    auto [padded, lengths] = at::_pad_packed_sequence(sequence.data(), sequence.batch_sizes(), batch_first,
                                                      padding_value, total_length.value_or(longest));
    const at::Tensor& order = sequence.unsorted_indices();
    if (!order.defined()) return {padded, lengths};
    return {padded.index_select(batch_first ? 0 : 1, order), lengths.index({order.cpu()})};
}
inline at::Tensor pad_sequence(at::ArrayRef<at::Tensor> sequences, bool batch_first = false, double padding_value = 0,
                               std::string_view padding_side = "right") {
    return at::pad_sequence(sequences, batch_first, padding_value, padding_side);
}
inline PackedSequence pack_sequence(at::ArrayRef<at::Tensor> sequences, bool enforce_sorted = true) {
    std::vector<int64_t> lengths;
    for (const at::Tensor& s : sequences) lengths.push_back(s.size(0));
    return pack_padded_sequence(at::pad_sequence(sequences), at::tensor(lengths), false, enforce_sorted);
}

}  // namespace rnn
}  // namespace utils

// The options of a layer; a cell has the first three.
#define MINDTORCH_RECURRENT_OPTIONS(Name)                                                                              \
    struct Name##Options {                                                                                             \
        Name##Options(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {} \
        TORCH_ARG(int64_t, input_size);                                                                                \
        TORCH_ARG(int64_t, hidden_size);                                                                               \
        TORCH_ARG(bool, bias) = true;                                                                                  \
        MINDTORCH_##Name##_OPTIONS                                                                                     \
    }
#define MINDTORCH_LAYERS_OPTIONS          \
    TORCH_ARG(int64_t, num_layers) = 1;   \
    TORCH_ARG(bool, batch_first) = false; \
    TORCH_ARG(double, dropout) = 0.0;     \
    TORCH_ARG(bool, bidirectional) = false;
using RecurrentNonlinearity = std::variant<enumtype::kTanh, enumtype::kReLU>;
#define MINDTORCH_RNN_OPTIONS MINDTORCH_LAYERS_OPTIONS TORCH_ARG(RecurrentNonlinearity, nonlinearity) = kTanh;
#define MINDTORCH_LSTM_OPTIONS MINDTORCH_LAYERS_OPTIONS TORCH_ARG(int64_t, proj_size) = 0;
#define MINDTORCH_GRU_OPTIONS MINDTORCH_LAYERS_OPTIONS
#define MINDTORCH_RNNCell_OPTIONS TORCH_ARG(RecurrentNonlinearity, nonlinearity) = kTanh;
#define MINDTORCH_LSTMCell_OPTIONS
#define MINDTORCH_GRUCell_OPTIONS
MINDTORCH_RECURRENT_OPTIONS(RNN);
MINDTORCH_RECURRENT_OPTIONS(LSTM);
MINDTORCH_RECURRENT_OPTIONS(GRU);
MINDTORCH_RECURRENT_OPTIONS(RNNCell);
MINDTORCH_RECURRENT_OPTIONS(LSTMCell);
MINDTORCH_RECURRENT_OPTIONS(GRUCell);
#undef MINDTORCH_RECURRENT_OPTIONS
#undef MINDTORCH_LAYERS_OPTIONS
#undef MINDTORCH_RNN_OPTIONS
#undef MINDTORCH_LSTM_OPTIONS
#undef MINDTORCH_GRU_OPTIONS
#undef MINDTORCH_RNNCell_OPTIONS
#undef MINDTORCH_LSTMCell_OPTIONS
#undef MINDTORCH_GRUCell_OPTIONS

// The weights of all layers and directions, and how a hidden state is checked.
template <class Derived, class Options>
class RecurrentBase : public Cloneable<Derived> {
  public:
    explicit RecurrentBase(const Options& given, const char* kind, int64_t gates)
        : options(given), kind_(kind), gates_(gates) {
        TORCH_CHECK(
            0 <= options.dropout() && options.dropout() <= 1,
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed");
        if (options.dropout() > 0 && options.num_layers() == 1)
            TORCH_WARN(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                "num_layers greater than 1, but got dropout=",
                options.dropout(), " and num_layers=", options.num_layers());
        TORCH_CHECK(options.hidden_size() > 0, "hidden_size must be positive");
        TORCH_CHECK(options.num_layers() > 0, "num_layers must be positive");
        TORCH_CHECK(0 <= proj() && proj() < options.hidden_size(),
                    "proj_size has to be a positive integer, smaller than hidden_size or zero to disable projections");
        RecurrentBase::reset();
    }
    void reset() override {
        weights_.clear();
        const int64_t hidden = options.hidden_size(), outputs = proj() ? proj() : hidden;
        for (int64_t layer = 0; layer < options.num_layers(); layer++)
            for (int64_t d = 0; d < directions(); d++) {
                const std::string suffix = "_l" + std::to_string(layer) + (d ? "_reverse" : "");
                const int64_t inputs = layer == 0 ? options.input_size() : outputs * directions();
                add("weight_ih" + suffix, {gates_ * hidden, inputs});
                add("weight_hh" + suffix, {gates_ * hidden, outputs});
                if (options.bias()) {
                    add("bias_ih" + suffix, {gates_ * hidden});
                    add("bias_hh" + suffix, {gates_ * hidden});
                }
                if (proj()) add("weight_hr" + suffix, {proj(), hidden});
            }
        reset_parameters();
    }
    void reset_parameters() {
        const double bound = 1 / std::sqrt(static_cast<double>(options.hidden_size()));
        for (const at::Tensor& w : all_weights()) init::uniform_(w, -bound, bound);
    }
    void flatten_parameters() {}  // weights need not lie together here
    std::vector<at::Tensor> all_weights() const {
        std::vector<at::Tensor> all;
        for (const std::string& name : weights_) all.push_back(this->parameters_[name]);
        return all;
    }
    void pretty_print(std::ostream& stream) const override {
        stream << std::boolalpha << "torch::nn::" << kind_ << "(input_size=" << options.input_size()
               << ", hidden_size=" << options.hidden_size() << ", num_layers=" << options.num_layers()
               << ", bias=" << options.bias() << ", batch_first=" << options.batch_first()
               << ", dropout=" << options.dropout() << ", bidirectional=" << options.bidirectional();
        if (proj()) stream << ", proj_size=" << proj();
        stream << ")";
    }
    Options options;

  protected:
    int64_t directions() const { return options.bidirectional() ? 2 : 1; }
    int64_t proj() const {
        if constexpr (std::is_same_v<Options, LSTMOptions>)
            return options.proj_size();
        else
            return 0;
    }
    void check_input(const at::Tensor& input, int64_t dim) const {
        TORCH_CHECK(input.dim() == dim, "input must have ", dim, " dimensions, got ", input.dim());
        TORCH_CHECK(input.size(-1) == options.input_size(), "input.size(-1) must be equal to input_size. Expected ",
                    options.input_size(), ", got ", input.size(-1));
    }
    // A hidden state of `width`, zeros where none is given.
    at::Tensor state(const at::Tensor& given, const at::Tensor& input, int64_t batch, int64_t width,
                     const at::Tensor& order = {}, const char* what = "hidden") const {
        const int64_t layers = options.num_layers() * directions();
        if (!given.defined()) return at::zeros({layers, batch, width}, input.options());
        TORCH_CHECK(given.sizes() == at::IntArrayRef({layers, batch, width}), "Expected ", what, " size ",
                    at::IntArrayRef({layers, batch, width}), ", got ", given.sizes());
        return order.defined() ? given.index_select(1, order) : given;
    }
    static at::Tensor reordered(const at::Tensor& t, const at::Tensor& order) {
        return order.defined() ? t.index_select(1, order) : t;
    }
    int64_t batch_of(const at::Tensor& input) const { return input.size(options.batch_first() ? 0 : 1); }

  private:
    void add(std::string name, std::vector<int64_t> sizes) {
        this->register_parameter(name, at::empty(sizes));
        weights_.push_back(std::move(name));
    }
    const char* kind_;
    int64_t gates_;
    std::vector<std::string> weights_;
};

// RNN and GRU, which have one hidden state.
#define MINDTORCH_RECURRENT(Name, gates, function)                                                                   \
    class Name##Impl : public RecurrentBase<Name##Impl, Name##Options> {                                             \
      public:                                                                                                        \
        Name##Impl(int64_t input_size, int64_t hidden_size) : Name##Impl(Name##Options(input_size, hidden_size)) {}  \
        explicit Name##Impl(const Name##Options& given) : RecurrentBase(given, #Name, gates) {}                      \
        std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& input, at::Tensor hx = {}) {                    \
            check_input(input, 3);                                                                                   \
            hx = state(hx, input, batch_of(input), options.hidden_size());                                           \
            return function(input, hx, all_weights(), options.bias(), options.num_layers(), options.dropout(),       \
                            is_training(), options.bidirectional(), options.batch_first());                          \
        }                                                                                                            \
        std::tuple<utils::rnn::PackedSequence, at::Tensor> forward_with_packed_input(                                \
            const utils::rnn::PackedSequence& packed, at::Tensor hx = {}) {                                          \
            const at::Tensor& sizes = packed.batch_sizes();                                                          \
            check_input(packed.data(), 2);                                                                           \
            hx = state(hx, packed.data(), sizes[0].item<int64_t>(), options.hidden_size(), packed.sorted_indices()); \
            auto [out, hidden] =                                                                                     \
                function(packed.data(), sizes, hx, all_weights(), options.bias(), options.num_layers(),              \
                         options.dropout(), is_training(), options.bidirectional());                                 \
            return {utils::rnn::PackedSequence(out, sizes, packed.sorted_indices(), packed.unsorted_indices()),      \
                    reordered(hidden, packed.unsorted_indices())};                                                   \
        }                                                                                                            \
    };                                                                                                               \
    TORCH_MODULE(Name)
MINDTORCH_RECURRENT(GRU, 3, at::gru);
#define MINDTORCH_RNN(...)                                                                       \
    (std::holds_alternative<enumtype::kTanh>(options.nonlinearity()) ? at::rnn_tanh(__VA_ARGS__) \
                                                                     : at::rnn_relu(__VA_ARGS__))
MINDTORCH_RECURRENT(RNN, 1, MINDTORCH_RNN);
#undef MINDTORCH_RNN
#undef MINDTORCH_RECURRENT

class LSTMImpl : public RecurrentBase<LSTMImpl, LSTMOptions> {
  public:
    using States = std::tuple<at::Tensor, at::Tensor>;
    LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
    explicit LSTMImpl(const LSTMOptions& given) : RecurrentBase(given, "LSTM", 4) {}
    std::tuple<at::Tensor, States> forward(const at::Tensor& input, std::optional<States> hx = {}) {
        check_input(input, 3);
        const auto [h, c] = both(hx, input, batch_of(input), {});
        auto [out, hidden, cell] =
            at::lstm(input, {h, c}, all_weights(), options.bias(), options.num_layers(), options.dropout(),
                     is_training(), options.bidirectional(), options.batch_first());
        return {out, States(hidden, cell)};
    }
    std::tuple<utils::rnn::PackedSequence, States> forward_with_packed_input(const utils::rnn::PackedSequence& packed,
                                                                             std::optional<States> hx = {}) {
        const at::Tensor& sizes = packed.batch_sizes();
        check_input(packed.data(), 2);
        const auto [h, c] = both(hx, packed.data(), sizes[0].item<int64_t>(), packed.sorted_indices());
        auto [out, hidden, cell] =
            at::lstm(packed.data(), sizes, {h, c}, all_weights(), options.bias(), options.num_layers(),
                     options.dropout(), is_training(), options.bidirectional());
        return {utils::rnn::PackedSequence(out, sizes, packed.sorted_indices(), packed.unsorted_indices()),
                States(reordered(hidden, packed.unsorted_indices()), reordered(cell, packed.unsorted_indices()))};
    }

  private:
    States both(const std::optional<States>& hx, const at::Tensor& input, int64_t batch,
                const at::Tensor& order) const {
        const States given = hx.value_or(States());
        return {state(std::get<0>(given), input, batch, proj() ? proj() : options.hidden_size(), order, "hidden[0]"),
                state(std::get<1>(given), input, batch, options.hidden_size(), order, "hidden[1]")};
    }
};
TORCH_MODULE(LSTM);

// One step.
template <class Derived, class Options>
class RecurrentCellBase : public Cloneable<Derived> {
  public:
    RecurrentCellBase(const Options& given, const char* kind, int64_t gates)
        : options(given), kind_(kind), gates_(gates) {
        RecurrentCellBase::reset();
    }
    void reset() override {
        const int64_t rows = gates_ * options.hidden_size();
        weight_ih = this->register_parameter("weight_ih", at::empty({rows, options.input_size()}));
        weight_hh = this->register_parameter("weight_hh", at::empty({rows, options.hidden_size()}));
        bias_ih = this->register_parameter("bias_ih", options.bias() ? at::empty({rows}) : at::Tensor());
        bias_hh = this->register_parameter("bias_hh", options.bias() ? at::empty({rows}) : at::Tensor());
        reset_parameters();
    }
    void reset_parameters() {
        const double bound = 1 / std::sqrt(static_cast<double>(options.hidden_size()));
        for (const at::Tensor& w : this->parameters()) init::uniform_(w, -bound, bound);
    }
    void pretty_print(std::ostream& stream) const override {
        stream << std::boolalpha << "torch::nn::" << kind_ << "(" << options.input_size() << ", "
               << options.hidden_size();
        if (!options.bias()) stream << ", bias=" << options.bias();
        stream << ")";
    }
    Options options;
    at::Tensor weight_ih, weight_hh, bias_ih, bias_hh;

  protected:
    at::Tensor state(const at::Tensor& given, const at::Tensor& input) const {
        TORCH_CHECK(input.size(-1) == options.input_size(), "input has inconsistent input_size: got ", input.size(-1),
                    " expected ", options.input_size());
        if (!given.defined()) return at::zeros({input.size(0), options.hidden_size()}, input.options());
        TORCH_CHECK(given.size(-1) == options.hidden_size(), "hidden has inconsistent hidden_size: got ",
                    given.size(-1), ", expected ", options.hidden_size());
        return given;
    }

  private:
    const char* kind_;
    int64_t gates_;
};
class RNNCellImpl : public RecurrentCellBase<RNNCellImpl, RNNCellOptions> {
  public:
    RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
    explicit RNNCellImpl(const RNNCellOptions& given) : RecurrentCellBase(given, "RNNCell", 1) {}
    at::Tensor forward(const at::Tensor& input, const at::Tensor& hx = {}) {
        const at::Tensor h = state(hx, input);
        return std::holds_alternative<enumtype::kTanh>(options.nonlinearity())
                   ? at::rnn_tanh_cell(input, h, weight_ih, weight_hh, bias_ih, bias_hh)
                   : at::rnn_relu_cell(input, h, weight_ih, weight_hh, bias_ih, bias_hh);
    }
};
TORCH_MODULE(RNNCell);
class GRUCellImpl : public RecurrentCellBase<GRUCellImpl, GRUCellOptions> {
  public:
    GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
    explicit GRUCellImpl(const GRUCellOptions& given) : RecurrentCellBase(given, "GRUCell", 3) {}
    at::Tensor forward(const at::Tensor& input, const at::Tensor& hx = {}) {
        return at::gru_cell(input, state(hx, input), weight_ih, weight_hh, bias_ih, bias_hh);
    }
};
TORCH_MODULE(GRUCell);
class LSTMCellImpl : public RecurrentCellBase<LSTMCellImpl, LSTMCellOptions> {
  public:
    using States = std::tuple<at::Tensor, at::Tensor>;
    LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
    explicit LSTMCellImpl(const LSTMCellOptions& given) : RecurrentCellBase(given, "LSTMCell", 4) {}
    States forward(const at::Tensor& input, std::optional<States> hx = {}) {
        const States given = hx.value_or(States());
        return at::lstm_cell(input, {state(std::get<0>(given), input), state(std::get<1>(given), input)}, weight_ih,
                             weight_hh, bias_ih, bias_hh);
    }
};
TORCH_MODULE(LSTMCell);

}  // namespace nn
}  // namespace torch
