// torch::jit::Module: archives of TorchScript that are read, called, changed and written from C++. The same file is
// compiled against PyTorch. The Module of the archives is the one that test_jit.py traces.
#include <torch/extension.h>

#include <torch/csrc/jit/python/module_python.h>
#include <torch/script.h>

#include <sstream>

#include "expect.h"

namespace {

using torch::jit::IValue;

template <class List>
std::vector<std::string> names_of(const List& list) {
    std::vector<std::string> all;
    for (const auto& member : list) all.push_back(member.name);
    return all;
}
using Names = std::vector<std::string>;

at::Tensor first_of(const torch::jit::Module& m) { return *m.parameters().begin(); }

void check_calls(const std::string& path) {
    torch::jit::Module m = torch::jit::load(path);
    at::Tensor x = at::ones({2, 3}), doubled = m.get_method("twice")({x}).toTensor();
    EXPECT(at::equal(doubled, x * 2) && at::equal(m.run_method("twice", x).toTensor(), doubled));
    at::Tensor y = m.forward({x}).toTensor();
    EXPECT(y.sizes() == at::IntArrayRef({2, 4}) && at::equal(m({x}).toTensor(), y));
    EXPECT(at::equal(m.forward({}, {{"x", x}}).toTensor(), y));
    y.sum().backward();
    EXPECT(first_of(m).grad().defined());
    {
        torch::NoGradGuard off;
        EXPECT(!torch::jit::load(path).forward({x}).toTensor().requires_grad());  // PyTorch's keeps the mode of a run
    }
    torch::jit::Method forward = m.get_method("forward");
    torch::jit::Stack stack{x};
    m.get_method("twice").run(stack);
    EXPECT(stack.size() == 1 && stack[0].toTensor().sum().item<double>() == 12);
    EXPECT(forward.name() == "forward" && forward.owner() == m && m.find_method("twice"));
    EXPECT(!m.find_method("thrice") && m.get_methods().size() == 2);
    EXPECT(said(error_of([&] { m.get_method("thrice"); }), "Method 'thrice' is not defined."));
    EXPECT(said(error_of([&] { m.forward({}); }), "forward() "));
    EXPECT(said(error_of([&] { m.forward({at::ones({2, 4})}); }), "shapes cannot be multiplied"));
}

void check_members(const std::string& path) {
    torch::jit::script::Module m = torch::jit::load(path, torch::kCPU);
    EXPECT(names_of(m.named_parameters()) == Names({"scale", "linear.weight", "linear.bias"}));
    EXPECT(names_of(m.named_parameters(false)) == Names({"scale"}) && m.parameters().size() == 3);
    EXPECT(names_of(m.named_buffers()) == Names({"offset"}) && m.buffers(false).size() == 1);
    EXPECT(names_of(m.named_children()) == Names({"linear"}) && m.children().size() == 1);
    EXPECT(names_of(m.named_modules()) == Names({"", "linear"}) && *m.modules().begin() == m);
    const Names all = names_of(m.named_attributes()), own = names_of(m.named_attributes(false));
    for (const char* name : {"scale", "offset", "training", "linear"})
        EXPECT(std::count(own.begin(), own.end(), name) == 1);
    EXPECT(all.size() > own.size() && std::count(all.begin(), all.end(), "linear.training") == 1);
    EXPECT(m.attributes(false).size() == own.size());
    EXPECT(m.attr("linear").isModule() && m.attr("linear").toModule().hasattr("weight"));
    EXPECT(!m.attr("training").isModule() && !IValue(3).isModule());
    EXPECT(said(error_of([&] { m.attr("training").toModule(); }), "Module"));
    EXPECT(m.hasattr("scale") && !m.hasattr("none") && m.attr("none", 4).toInt() == 4);
    EXPECT(m.attr("scale", 4).isTensor());
    EXPECT(said(error_of([&] { m.attr("none"); }), "does not have a field with name 'none'"));
    EXPECT(error_of([&] { m.setattr("none", 4); }) != "");
    EXPECT(!torch::jit::Module(m.attr("linear").toModule()).find_method("twice"));
}

void check_changes(const std::string& path) {
    torch::jit::Module m = torch::jit::load(path);
    m.train();
    EXPECT(m.is_training() && (*m.children().begin()).is_training());
    m.eval();
    EXPECT(!m.is_training() && !(*m.children().begin()).is_training());
    m.setattr("training", true);
    EXPECT(m.is_training() && !(*m.children().begin()).is_training());
    m.setattr("scale", at::full({4}, 3.0));
    EXPECT(first_of(m)[0].item<double>() == 3 && m.parameters().size() == 3);
    m.register_parameter("more", at::ones({2}).set_requires_grad(true), false);
    m.register_buffer("kept", at::ones({5}));
    EXPECT(m.parameters().size() == 4 && m.attr("more").toTensor().requires_grad() && m.buffers().size() == 2);
    m.to(torch::kDouble);
    EXPECT(first_of(m).scalar_type() == torch::kDouble && m.attr("offset").toTensor().scalar_type() == torch::kDouble);
    m.to(at::Device("cpu"));
    m.to(at::Device("cpu"), torch::kFloat);
    EXPECT(first_of(m).scalar_type() == torch::kFloat);

    torch::jit::Module copy = m.copy(), clone = m.clone(), shared = m.clone(true), deep = m.deepcopy();
    EXPECT(copy != m && *copy.children().begin() == *m.children().begin());
    for (const torch::jit::Module& other : {clone, shared, deep})
        EXPECT(*other.children().begin() != *m.children().begin());
    {
        torch::NoGradGuard off;
        first_of(m).fill_(7);
    }
    EXPECT(first_of(copy)[0].item<double>() == 7 && first_of(shared)[0].item<double>() == 7);
    EXPECT(first_of(clone)[0].item<double>() == 3 && first_of(deep)[0].item<double>() == 3);
    copy.setattr("scale", at::zeros({4}));
    EXPECT(first_of(m)[0].item<double>() == 7 && first_of(copy)[0].item<double>() == 0);
    EXPECT(said(error_of([&] {
                    m.train();
                    torch::jit::freeze(m);
                }),
                "eval"));
    m.eval();
    at::Tensor x = at::ones({2, 3});
    EXPECT(at::allclose(torch::jit::freeze(m).forward({x}).toTensor(), m.forward({x}).toTensor()));
}

void check_files(const std::string& path, const std::string& again) {
    torch::jit::Module m = torch::jit::load(path);
    at::Tensor x = at::arange(6, at::kFloat).reshape({2, 3}), expected = m.forward({x}).toTensor();
    m.save(again, {{"note", "hello"}});
    torch::jit::ExtraFilesMap extra{{"note", ""}, {"other", "kept"}};
    EXPECT(at::equal(torch::jit::load(again, torch::kCPU, extra).forward({x}).toTensor(), expected));
    EXPECT(extra["note"] == "hello" && extra["other"] == "kept");
    std::ostringstream written;
    m.save(written, {{"note", "bytes"}});
    std::istringstream stream(written.str());
    EXPECT(at::equal(torch::jit::load(stream, std::nullopt, extra).forward({x}).toTensor(), expected));
    EXPECT(extra["note"] == "bytes");
    std::istringstream once_more(written.str()), none("no archive");
    EXPECT(torch::jit::load(once_more).parameters().size() == 3);
    EXPECT_THROW(torch::jit::load(none), std::exception, "");
    EXPECT_THROW(torch::jit::load(path + ".none"), c10::Error, "none");
}

// Of a program of several Modules that PyTorch scripted.
std::vector<at::Tensor> run(const std::string& path, const at::Tensor& x) {
    torch::jit::Module m = torch::jit::load(path);
    IValue pair = m.run_method("pair", x, x);
    std::vector<at::Tensor> all;
    for (const IValue& item : pair.toTuple()->elements())
        if (item.isTensor()) all.push_back(item.toTensor());
    all.push_back(m.forward({x}).toTuple()->elements()[0].toTensor());
    return all;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("calls", &check_calls, py::call_guard<py::gil_scoped_release>());
    m.def("members", &check_members);
    m.def("changes", &check_changes);
    m.def("files", &check_files);
    m.def("run", &run);
    m.def("parameters", [](const py::object& given) -> std::optional<size_t> {
        const std::optional<torch::jit::Module> module = torch::jit::as_module(given);
        return module ? std::optional<size_t>(module->parameters().size()) : std::nullopt;
    });
}
