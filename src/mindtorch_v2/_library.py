"""What operators defined at run time are made of: schemas from annotations, kernels for autograd, aliasing checks."""

import inspect
import types
import typing
from collections.abc import Sequence

from mindtorch_v2 import _C
from mindtorch_v2._autograd.function import Function
from mindtorch_v2._tensor import Tensor

__all__ = ["BelowAutograd", "autograd_kernel", "checked_kernel", "find_handle", "infer_schema", "split_name"]


def split_name(qualname):
    """Namespace and name of "ns::name"; raises ValueError if there is not exactly one "::" in it."""
    parts = qualname.split("::")
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            f"Expected `name` to be of the form 'namespace::name', got {qualname!r}: an operator needs a namespace, and "
            "only one"
        )
    return parts[0], parts[1]


def find_handle(name):
    """The operator "ns::name" or "ns::name.overload" of the registry; raises RuntimeError if there is none."""
    base, _, overload = name.partition(".")
    handle = _C._find_operator(base, "" if overload == "default" else overload)
    if handle is None:
        raise RuntimeError(f"operator {name} does not exist")
    return handle


# ---- schemas from annotations ----


def _types():
    tensor = Tensor
    plain = {tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str"}
    plain |= {_C.dtype: "ScalarType", _C.device: "Device", _C.Generator: "Generator"}
    number = int | float | bool
    table = {kind: name for kind, name in plain.items()}
    table |= {typing.Union[int, float, bool]: "Scalar", number: "Scalar"}
    for kind, name in list(table.items()):
        table[typing.Optional[kind]] = f"{name}?"
    for kind in (tensor, int, float, bool):
        for sequence in (Sequence[kind], typing.Sequence[kind], list[kind], typing.List[kind]):
            table[sequence] = f"{plain[kind]}[]"
            table[typing.Optional[sequence]] = f"{plain[kind]}[]?"
    for sequence in (Sequence[typing.Optional[tensor]], list[typing.Optional[tensor]]):
        table[sequence] = "Tensor?[]"
    return table


_RETURNS = {
    "SymInt": "SymInt",
    "Tensor": "Tensor",
    "Tensor[]": "Tensor[]",
    "float": "float",
    "bool": "bool",
    "Scalar": "Scalar",
}


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema that a function's annotations and defaults say, without the operator's name unless `op_name` is given.

    `mutates_args` names the tensors that the function writes to, or is "unknown": then all of them are marked.
    Raises ValueError for annotations that no schema type stands for.
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    table = _types()
    parts, marked, seen_keyword, position = [], set(), False, 0
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise _schema_error(
                "We do not support positional-only args, varargs, or varkwargs.", prototype_function, signature
            )
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_keyword:
            parts.append("*")
            seen_keyword = True
        if parameter.annotation is inspect.Parameter.empty:
            raise _schema_error(f"Parameter {name} must have a type annotation.", prototype_function, signature)
        annotation = hints.get(name, parameter.annotation)
        kind = _lookup(table, annotation)
        if kind is None:
            raise _schema_error(
                f"Parameter {name} has unsupported type {parameter.annotation}.", prototype_function, signature
            )
        if (mutates_args == "unknown" and kind.startswith("Tensor")) or (
            mutates_args != "unknown" and name in mutates_args
        ):
            if not kind.startswith("Tensor"):
                raise _schema_error(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated",
                    prototype_function,
                    signature,
                )
            kind = f"Tensor(a{position}!){kind[len('Tensor') :]}"
            marked.add(name)
        parts.append(f"{kind} {name}{_default(parameter.default)}")
        position += 1
    if mutates_args != "unknown":
        unknown = set(mutates_args) - set(signature.parameters)
        if unknown:
            raise _schema_error(
                f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should "
                'contain the names of all args that the custom op mutates, or just the string "unknown" '
                "if you don't know.",
                prototype_function,
                signature,
            )
    returns = _returns(hints.get("return", signature.return_annotation), table, prototype_function, signature)
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _schema_error(text, function, signature):
    return ValueError(f"infer_schema(func): {text} Got func with signature {signature})")


def _lookup(table, annotation):
    kind = table.get(annotation)
    if kind is None and isinstance(annotation, types.UnionType):
        kind = table.get(typing.Union[typing.get_args(annotation)])
    return kind


def _default(value):
    if value is inspect.Parameter.empty:
        return ""
    if value is None or isinstance(value, (int, float, bool)):
        return f"={value}"
    if isinstance(value, str):
        return f'="{value}"'
    if isinstance(value, _C.dtype):
        return f"={str(value).rpartition('.')[2]}"
    if isinstance(value, _C.device):
        return f'="{value}"'
    raise ValueError(f"infer_schema(func): unsupported default value type {type(value)}")


def _returns(annotation, table, function, signature):
    if annotation is inspect.Parameter.empty:
        raise _schema_error("No return type annotation was provided. Please add one.", function, signature)
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        kinds = [table.get(each) for each in typing.get_args(annotation)]
    else:
        kinds = [table.get(annotation)]
    if any(kind not in _RETURNS for kind in kinds):
        raise _schema_error(f"Return has unsupported type {annotation}.", function, signature)
    return kinds[0] if typing.get_origin(annotation) is not tuple else f"({', '.join(kinds)})"


# ---- kernels ----


class BelowAutograd:
    """A context in which calls of operators skip autograd (and the tracking of views and versions stays)."""

    _keys = None

    def __enter__(self):
        if BelowAutograd._keys is None:
            names = ("AutogradOther", "AutogradCPU", "AutogradCUDA", "AutogradNPU", "AutogradMeta")
            bits = 0
            for name in names:
                bits |= _C._key_bit(name)
            BelowAutograd._keys = bits
        self._before = _C._tls_keys()
        include, exclude = self._before
        _C._set_tls_keys(include, exclude | BelowAutograd._keys)

    def __exit__(self, *exception):
        _C._set_tls_keys(*self._before)


def _tensors(values):
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (each for each in value if isinstance(each, Tensor))


def checked_kernel(name, function):
    """`function` as a kernel whose results must be new: none may be an argument, a view of one, or given twice."""

    def kernel(*args, **kwargs):
        result = function(*args, **kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        seen = {
            tensor.untyped_storage().data_ptr()
            for tensor in _tensors((*args, *kwargs.values()))
            if not tensor.is_meta and tensor.untyped_storage().nbytes()
        }
        for output in _tensors(outputs):
            if output.is_meta or not output.untyped_storage().nbytes():
                continue
            place = output.untyped_storage().data_ptr()
            if place in seen:
                raise RuntimeError(
                    f"{name} (with implementation in {getattr(function, '__module__', '???')}): The output of this custom "
                    "operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to "
                    "this custom operator or other returns. The most common way to trigger this error is if we have y = "
                    "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output "
                    "tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
                )
            seen.add(place)
        return result

    return kernel


def autograd_kernel(handle, name, backward, setup_context):
    """The kernel of the Autograd key: runs the operator below autograd and records `backward(ctx, *grads)`.

    `setup_context(ctx, inputs, output)` keeps what the formula reads; keyword-only arguments come to it as
    `keyword_only_inputs`. Without a formula, going backward raises.
    """
    positional = [argument for argument in handle.arguments if not argument["kwarg_only"]]
    keyword_only = [argument for argument in handle.arguments if argument["kwarg_only"]]

    def call(args, kwargs):
        with BelowAutograd():
            return handle(*args, **kwargs)

    def forward(ctx, metadata, *args):
        plain = _join(args, metadata["lists"])
        result = call(plain, metadata["kwargs"])
        if setup_context is not None:
            filled = plain + tuple(each["default"] for each in positional[len(plain) :])
            ctx.set_materialize_grads(True)
            if keyword_only:
                given = {each["name"]: metadata["kwargs"].get(each["name"], each["default"]) for each in keyword_only}
                setup_context(ctx=ctx, inputs=filled, keyword_only_inputs=given, output=result)
            else:
                setup_context(ctx=ctx, inputs=filled, output=result)
        ctx._operator_lists = metadata["lists"]
        ctx._operator_arguments = len(plain)
        if isinstance(result, list):
            ctx._operator_list_output = True
            return tuple(result)
        ctx._operator_list_output = False
        return result

    def run_backward(ctx, *grads):
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through {name}.default but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        result = backward(ctx, list(grads)) if ctx._operator_list_output else backward(ctx, *grads)
        gradients = list(result) if isinstance(result, tuple) else [result]
        gradients += [None] * (ctx._operator_arguments - len(gradients))
        flat = []
        for gradient, length in zip(gradients, ctx._operator_lists):
            if length is None:
                flat.append(gradient)
            else:
                flat += [None] * length if gradient is None else list(gradient)
        return None, *flat

    function = type(
        f"GeneratedBackwardFor_{name.replace('::', '_').replace('.', '_')}",
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(run_backward)},
    )

    def kernel(*args, **kwargs):
        if not _C.is_grad_enabled() or not any(tensor.requires_grad for tensor in _tensors((*args, *kwargs.values()))):
            return call(args, kwargs)
        flat, lists = _split(args)
        result = function.apply({"kwargs": kwargs, "lists": lists}, *flat)
        return list(result) if handle.returns and handle.returns[0]["type"] == "Tensor[]" else result

    return kernel


def _split(args):
    """The arguments with lists of tensors taken apart, and the length of each list (None for what is no list)."""
    flat, lists = [], []
    for value in args:
        if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
            flat += value
            lists.append(len(value))
        else:
            flat.append(value)
            lists.append(None)
    return flat, lists


def _join(flat, lists):
    values, joined = iter(flat), []
    for length in lists:
        joined.append(next(values) if length is None else [next(values) for _ in range(length)])
    return tuple(joined)
