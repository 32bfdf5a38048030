"""A native kernel and the schema of the row that binds it: what does not fit raises when it is bound."""

import pytest

import mindtorch_v2 as torch

SCHEMAS = [
    # elu's kernel: (const Tensor& self, double alpha, double scale, double input_scale)
    (
        "too_few(Tensor self, Scalar alpha) -> Tensor",
        "elu",
        "kernel_signature_test::too_few: the kernel 'elu' takes 4 arguments, the schema has 2: ",
    ),
    (
        "other_kind(Tensor self, Tensor alpha, Scalar scale, Scalar input_scale) -> Tensor",
        "elu",
        "kernel_signature_test::other_kind: the kernel 'elu' takes argument 1, 'alpha', as double; "
        "the schema has Tensor alpha: ",
    ),
    (
        "other_order(Scalar alpha, Tensor self, Scalar scale, Scalar input_scale) -> Tensor",
        "elu",
        "kernel_signature_test::other_order: the kernel 'elu' takes argument 0, 'alpha', as const Tensor&; "
        "the schema has Scalar alpha: ",
    ),
    (
        "may_be_none(Tensor? self) -> Tensor",
        "relu",
        "kernel_signature_test::may_be_none: the kernel 'relu' takes argument 0, 'self', as const Tensor&; "
        "the schema has Tensor? self: ",
    ),
]


@pytest.mark.parametrize(
    ("schema", "kernel", "message"), SCHEMAS, ids=[schema.split("(")[0] for schema, _, _ in SCHEMAS]
)
def test_a_kernel_that_does_not_fit_is_refused(schema, kernel, message):
    operator = torch._C._define("kernel_signature_test", schema)
    try:
        with pytest.raises(TypeError) as refused:
            operator.impl("CPU", kernel)
        assert str(refused.value) == f"{message}kernel_signature_test::{schema}"
        assert operator.kernels() == {}
    finally:
        torch._C._erase_operator(operator)


def test_an_argument_that_is_never_none_may_go_to_a_parameter_that_can_be():
    operator = torch._C._define("kernel_signature_test", "given(Tensor self, float eps) -> Tensor")
    try:
        assert operator.impl("CPU", "logit")
        assert list(operator.kernels()) == ["CPU"]
    finally:
        torch._C._erase_operator(operator)


SHAPE_RULES = [
    # glu's rule: (const Tensor& self, int64_t dim)
    (
        "words_of_other_kinds(Tensor self, Scalar dim) -> Tensor",
        ("glu", ["self", "dim"]),
        "the shape rule 'glu' takes word 1, 'dim', as int64_t; the schema has Scalar dim: ",
    ),
    (
        "a_word_too_few(Tensor self, int dim) -> Tensor",
        ("glu", ["self"]),
        "the shape rule 'glu' needs word 1, as int64_t; the row names no argument for it: ",
    ),
    (
        "a_word_too_many(Tensor self, int dim, int n) -> Tensor",
        ("glu", ["self", "dim", "n"]),
        "the row gives the shape rule 'glu' 3 words, it takes 2: ",
    ),
    (
        "no_words_and_another_schema(int dim, Tensor self) -> Tensor",
        ("mm", []),
        "the shape rule 'mm' takes word 0, 'dim', as const Tensor&; the schema has int dim: ",
    ),
    (
        "any_number_of_words(Tensor self, str mode) -> Tensor",
        ("pointwise", ["self", "mode"]),
        "the shape rule 'pointwise' takes word 1, 'mode', as std::optional<Input>; the schema has str mode: ",
    ),
]


@pytest.mark.parametrize(
    ("schema", "rule", "message"), SHAPE_RULES, ids=[schema.split("(")[0] for schema, _, _ in SHAPE_RULES]
)
def test_words_that_do_not_fit_a_shape_rule_are_refused(schema, rule, message):
    operator = torch._C._define("kernel_signature_test", schema)
    try:
        with pytest.raises(TypeError) as refused:
            operator.set_shape(*rule)
        name = schema.split("(")[0]
        assert str(refused.value) == f"kernel_signature_test::{name}: {message}kernel_signature_test::{schema}"
    finally:
        torch._C._erase_operator(operator)


def test_a_rule_without_an_argument_that_it_may_do_without():
    operator = torch._C._define("kernel_signature_test", "counted(int n, ScalarType dtype) -> Tensor")
    try:
        operator.set_shape("eye", ["n", -1, "dtype"])
        with pytest.raises(TypeError, match="needs word 0, as int64_t"):
            operator.set_shape("eye", [-1, -1, "dtype"])
    finally:
        torch._C._erase_operator(operator)
