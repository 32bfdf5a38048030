// Counted pointers, values as objects, their types, names, sets of keys, warnings, nodes of the graph, process groups.
// Compiled against our headers and, with --live, against PyTorch's, unchanged.
#include <torch/extension.h>

#include <pybind11/chrono.h>

#include <ATen/core/symbol.h>
#if __has_include(<ATen/core/Dimname.h>)  // PyTorch had them up to 2.12
#include <ATen/core/Dimname.h>
#define HAS_DIMNAMES
#endif
#include <c10/core/QScheme.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include <sstream>
#include <thread>

#include "expect.h"

namespace {

struct Counted : c10::intrusive_ptr_target {
    explicit Counted(int* deleted) : deleted_(deleted) {}
    ~Counted() override { ++*deleted_; }
    int* deleted_;
    int* freed_ = nullptr;
    void release_resources() override {
        if (freed_) ++*freed_;
    }
};

void counted_pointers() {
    int deleted = 0, freed = 0;
    auto a = c10::make_intrusive<Counted>(&deleted);
    EXPECT(a.unique() && a.use_count() == 1 && a != nullptr);
    c10::weak_intrusive_ptr<Counted> weak(a);
    EXPECT(!weak.expired() && weak.lock() == a && a.weak_use_count() == 2);
    {
        auto b = weak.lock();
        EXPECT(b.use_count() == 2 && !a.unique());
    }
    a->freed_ = &freed;
    a.reset();
    EXPECT(weak.expired() && !weak.lock().defined() && weak.use_count() == 0);
    EXPECT(freed == 1 && deleted == 0);  // the memory is there until nobody watches
    weak.reset();
    EXPECT(deleted == 1);
    auto c = c10::make_intrusive<Counted>(&deleted);
    Counted* plain = c.get();
    c10::raw::intrusive_ptr::incref(plain);
    EXPECT(c.use_count() == 2);
    c10::raw::intrusive_ptr::decref(plain);
    std::unordered_map<c10::intrusive_ptr<Counted>, int> by_pointer{{c, 7}};
    EXPECT(by_pointer.at(c) == 7);
    // Of many threads that ask for it while it goes, each gets it whole or not at all.
    for (int round = 0; round < 50; round++) {
        int gone = 0;
        auto shared = c10::make_intrusive<Counted>(&gone);
        c10::weak_intrusive_ptr<Counted> watched(shared);
        std::thread other([&] {
            if (auto held = watched.lock()) TORCH_CHECK(held->deleted_ == &gone);
        });
        shared.reset();
        other.join();
        watched.reset();
        EXPECT(gone == 1);
    }
    const auto borrowed = c10::MaybeOwned<at::Tensor>::borrowed(at::ones(1));
    EXPECT(borrowed->numel() == 1);
}

void values() {
    const c10::IValue inner(std::vector<at::Tensor>{at::ones(2)});
    const c10::IValue tuple(std::make_tuple(inner, std::string("s"), int64_t(3)));
    int64_t seen = 0;
    tuple.visit([&](const c10::IValue&) { return ++seen > 100; });
    EXPECT(seen == 5);
    const c10::IValue copy = tuple.deepcopy();
    EXPECT(copy.toTupleRef().elements()[1] == tuple.toTupleRef().elements()[1]);
    copy.toTupleRef().elements()[0].toTensorVector()[0].zero_();
    EXPECT(inner.toTensorVector()[0].sum().item<double>() == 2);
    EXPECT(!copy.overlaps(tuple) && tuple.overlaps(inner));
    EXPECT(c10::IValue::hash(c10::IValue(3)) == c10::IValue::hash(c10::IValue(3)));
    EXPECT(said(error_of([&] { c10::IValue::hash(inner); }), "hash"));
    const c10::IValue same = inner;
    EXPECT(same.use_count() == inner.use_count() && inner.use_count() >= 2);
    c10::Dict<std::string, int64_t> dict;
    dict.insert("a", 1);
    const c10::Dict<std::string, int64_t> other = dict.copy();
    EXPECT(!other.is(dict) && dict == other);
    other.insert("b", 2);
    EXPECT(dict.size() == 1 && dict != other);
    c10::Dict<at::Tensor, int64_t> by_tensor;
    const at::Tensor key = at::ones(1);
    by_tensor.insert(key, 4);
    EXPECT(by_tensor.at(key) == 4 && !by_tensor.contains(at::ones(1)));
    const at::Tensor x = at::ones(2);
    EXPECT(x.to(at::ones(1, at::kDouble).dtype()).scalar_type() == at::kDouble);
    EXPECT(x.to(at::Device(at::kCPU), at::ones(1, at::kLong).dtype()).scalar_type() == at::kLong);
    EXPECT(!x.is_conj() && at::conj(at::ones(1, at::kComplexFloat)).is_conj());
    EXPECT(torch::tensor(c10::complex<double>(1, 2)).scalar_type() == at::kComplexDouble);
    EXPECT(torch::fft::fftfreq(4, torch::kDouble).scalar_type() == at::kDouble);
    // A storage keeps its memory.
    const c10::Storage storage = [] { return at::full({2}, 5.0f).storage(); }();
    EXPECT(static_cast<const float*>(storage.data())[1] == 5 && storage.nbytes() == 8);
    at::Tensor over = at::empty({0});
    over.set_(storage, 1, {1});
    EXPECT(over.item<float>() == 5 && storage.data() == over.storage().data());
    // A derivative into a given tensor, and complex numbers beside whole ones.
    at::Tensor into = at::empty({0});
    at::sigmoid_backward_out(into, at::ones(2), at::full({2}, 0.5));
    EXPECT(into.sum().item<double>() == 0.5);
    EXPECT(2 * c10::complex<double>(1, 2) == c10::complex<double>(2, 4));
    EXPECT(at::Scalar(c10::complex<double>(1, 2)).conj().toComplexDouble().imag() == -2);
    c10::OperatorName name("add", "");
    EXPECT(!name.getNamespace() && name.setNamespaceIfNotSet("aten") && name.name == "aten::add");
    const auto all = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString("aten::sigmoid"));
    bool found = false;
    for (const auto& each : all)
        if (each->schema().overload_name().empty()) {
            torch::jit::Stack stack{at::zeros(1)};
            each->getOperation()(stack);
            found = stack.size() == 1 && stack[0].toTensor().item<double>() == 0.5;
        }
    EXPECT(found);
}

void types() {
    using namespace c10;
    const TypePtr list = ListType::create(IntType::get());
    EXPECT(list->kind() == TypeKind::ListType && list->str() == "int[]");
    EXPECT(list->cast<ListType>() && list->expect<ListType>()->getElementType()->kind() == TypeKind::IntType);
    EXPECT(!list->cast<DictType>() && list->castRaw<ListType>());
    const TypePtr optional = OptionalType::create(TensorType::get());
    EXPECT(optional->annotation_str() == "Optional[Tensor]" && TensorType::get()->isSubtypeOf(*optional));
    EXPECT(NoneType::get()->isSubtypeOf(*optional) && !optional->isSubtypeOf(*TensorType::get()));
    const TypePtr dict = DictType::create(StringType::get(), FloatType::get());
    EXPECT(dict->expectRef<DictType>().getValueType()->kind() == TypeKind::FloatType);
    EXPECT(TupleType::create({IntType::get(), BoolType::get()})->elements().size() == 2);
    EXPECT(*getTypePtr<std::vector<int64_t>>() == *list &&
           typeKindToString(TypeKind::IntType) == std::string("IntType"));
    EXPECT(IValue(3).type()->kind() == TypeKind::IntType && IValue(at::ones(1)).type()->kind() == TypeKind::TensorType);
    const auto schema = torch::jit::parseSchema("f(Tensor[] a, int? b=None) -> (Tensor, Tensor)");
    EXPECT(schema.arguments()[0].type()->cast<ListType>()->getElementType()->kind() == TypeKind::TensorType);
    EXPECT(schema.arguments()[1].type()->cast<OptionalType>() && !schema.hasAnyAliasInfo());
}

void names() {
    const auto add = c10::Symbol::fromQualString("aten::add");
    EXPECT(add == c10::Symbol::aten("add") && add != c10::Symbol::prim("add"));
    EXPECT(add.toUnqualString() == std::string("add") && add.toQualString() == std::string("aten::add"));
    EXPECT(add.is_aten() && !add.is_attr() && add.ns().toUnqualString() == std::string("aten"));
#ifdef HAS_DIMNAMES
    const at::Dimname channel = at::Dimname::fromSymbol(c10::Symbol::dimname("C")), any = at::Dimname::wildcard();
    EXPECT(channel.matches(any) && channel.unify(any) == channel && any.isWildcard());
    EXPECT(at::Dimname::isValidName("a_1") && !at::Dimname::isValidName("1a"));
#endif
    EXPECT(toString(c10::kPerTensorAffine) == "per_tensor_affine");
}

void keys() {
    using c10::DispatchKey;
    using c10::DispatchKeySet;
    const DispatchKeySet set({DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::ADInplaceOrView});
    std::vector<DispatchKey> found;
    for (DispatchKey k : set) found.push_back(k);
    EXPECT(found.size() == 3 && found[0] == DispatchKey::CPU && found[1] == DispatchKey::ADInplaceOrView);
    EXPECT(set.has_all(DispatchKeySet(DispatchKey::CPU)) &&
           set.isSupersetOf(DispatchKeySet(DispatchKey::ADInplaceOrView)));
    EXPECT(DispatchKeySet().begin() == DispatchKeySet().end());
    EXPECT(!c10::impl::tls_is_dispatch_key_excluded(DispatchKey::ADInplaceOrView));
    c10::impl::tls_set_dispatch_key_excluded(DispatchKey::ADInplaceOrView, true);
    EXPECT(c10::impl::tls_local_dispatch_key_set().excluded_.has(DispatchKey::ADInplaceOrView));
    {
        const c10::impl::ForceDispatchKeyGuard force(
            c10::impl::LocalDispatchKeySet(c10::impl::tls_local_dispatch_key_set()));
    }
    c10::impl::tls_set_dispatch_key_excluded(DispatchKey::ADInplaceOrView, false);
    EXPECT(!c10::impl::tls_is_dispatch_key_excluded(DispatchKey::ADInplaceOrView));
    EXPECT(c10::getAutogradKeyFromBackend(c10::BackendComponent::CPUBit) == DispatchKey::AutogradCPU);
    EXPECT(c10::computeDispatchKey(at::kFloat, c10::kStrided, at::Device(at::kCPU)) == DispatchKey::CPU);
    EXPECT(at::dtype_or_default(std::optional<at::ScalarType>()) == at::kFloat);
}

struct Heard : c10::WarningHandler {
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
    std::vector<std::string> texts;
};
void warnings() {
    Heard heard;
    {
        const c10::WarningUtils::WarningHandlerGuard guard(&heard);
        TORCH_WARN("first ", 1);
        for (int i = 0; i < 2; i++) TORCH_WARN_ONCE("once");
        TORCH_WARN_DEPRECATION("old");
    }
    EXPECT(heard.texts.size() == 3 && heard.texts[0] == "first 1" && heard.texts[2] == "old");
    EXPECT_THROW(
        [] {
            TORCH_CHECK_WITH(IndexError, false, "of ", 3);
            return 0;
        }(),
        c10::IndexError, "of 3");
    try {
        TORCH_CHECK(false, "inner");
    } catch (c10::Error& e) {
        e.add_context("while testing");
        EXPECT(said(e.what(), "inner") && said(e.what(), "while testing") && e.context().size() == 1);
    }
}

// A node of its own: not a torch::autograd::Function, as older extensions write it.
struct SquareBackward : torch::autograd::Node {
    torch::autograd::SavedVariable x;
    torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
        EXPECT(should_compute_output(0));
        return {gradients[0] * x.unpack() * 2};
    }
    std::string name() const override { return "SquareBackward"; }
};
at::Tensor square(const at::Tensor& x) {
    at::Tensor out;
    {
        at::NoGradGuard guard;
        out = x * x;
    }
    if (torch::autograd::compute_requires_grad(x)) {
        auto node = c10::make_intrusive<SquareBackward>();
        node->x = torch::autograd::SavedVariable(x, false);
        node->set_next_edges(torch::autograd::collect_next_edges(x));
        torch::autograd::set_history(out, node);
    }
    return out;
}

// Every collective of a group of one, called from C++.
double collectives(const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
    EXPECT(group->getRank() == 0 && group->getSize() == 1);
    std::vector<at::Tensor> x{at::full({2}, 3.0)}, gathered{at::empty({2}, at::kDouble)};
    x[0] = x[0].to(at::kDouble);
    c10d::AllreduceOptions most;
    most.reduceOp = c10d::ReduceOp::MAX;
    EXPECT(group->allreduce(x, most)->wait());
    group->broadcast(x, c10d::BroadcastOptions())->wait();
    std::vector<std::vector<at::Tensor>> lists{gathered};
    const auto work = group->allgather(lists, x);
    work->wait();
    EXPECT(work->isCompleted());
    at::Tensor out = at::zeros({2}, at::kDouble);
    group->_allgather_base(out, x[0])->wait();
    group->barrier()->wait();
    EXPECT(c10d::newLikeFlat(x).sizes() == at::IntArrayRef({1, 2}));
    return (gathered[0] + out).sum().item<double>();
}
std::string stored(const c10::intrusive_ptr<c10d::Store>& store) {
    store->set("key", std::string("v\xff"));
    EXPECT(store->add("number", 2) == 2 && store->check({"key"}) && !store->check({"none"}));
    const std::vector<uint8_t> value = store->get("key");
    return std::to_string(value.size()) + " " + std::to_string(value[1]);
}

// A function of CPython's C interface.
PyObject* checked(PyObject*, PyObject* number) {
    HANDLE_TH_ERRORS
    const long n = PyLong_AsLong(number);
    if (PyErr_Occurred()) throw python_error();
    TORCH_CHECK_INDEX(n >= 0, "negative: ", n);
    if (n > 9) throw torch::TypeError("of 2 digits");
    return PyLong_FromLong(n + 1);
    END_HANDLE_TH_ERRORS
}
PyMethodDef methods[] = {{"checked", checked, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    PyModule_AddFunctions(m.ptr(), methods);
    m.def("counted_pointers", &counted_pointers);
    m.def("values", &values);
    m.def("types", &types);
    m.def("names", &names);
    m.def("keys", &keys);
    m.def("warnings", &warnings);
    m.def("square", &square);
    m.def("collectives", &collectives);
    m.def("stored", &stored);
}
