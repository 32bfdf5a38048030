"""Nested containers as trees: taken apart into leaves and a `TreeSpec`, and put together again.

Dicts keep their order, None is a leaf, and so is everything whose exact class is not registered.
"""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mindtorch_v2._core.dtype import Size

__all__ = [
    "DictKey",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any
Context = Any
_cxx_pytree_exists = _cxx_pytree_dynamo_traceable = False  # there is no second implementation in C++


class NodeDef(NamedTuple):
    """How one class of containers is taken apart and put together."""

    type: type
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None


class SequenceKey(NamedTuple):
    """The place of an item in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[Any]) -> Any:
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """The place of a value in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[Any, Any]) -> Any:
        return mapping[self.key]


DictKey = MappingKey


class GetAttrKey(NamedTuple):
    """The place of an attribute in an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


SUPPORTED_NODES: dict[type, NodeDef] = {}
_serializers: dict[type, tuple] = {}
_constants: set[type] = set()


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[..., Any],
    unflatten_fn: Callable[..., Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[..., Any] | None = None,
    from_dumpable_context: Callable[..., Any] | None = None,
    flatten_with_keys_fn: Callable[..., Any] | None = None,
) -> None:
    """Register `cls` as a container.

    `flatten_fn(obj)` returns (children, context), `unflatten_fn(children, context)` the object again;
    `flatten_with_keys_fn(obj)` returns ([(key, child), ...], context). The other arguments are for `treespec_dumps`.
    Raises ValueError if the class is registered already, or if only one of the two context functions is given.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _register(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
        flatten_with_keys_fn,
    )


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **options) -> None:
    """The older name of `register_pytree_node`, which may replace a registration."""
    options.setdefault("serialized_type_name", None)
    _register(
        cls,
        flatten_fn,
        unflatten_fn,
        options["serialized_type_name"],
        options.get("to_dumpable_context"),
        options.get("from_dumpable_context"),
        options.get("flatten_with_keys_fn"),
    )


_private_register_pytree_node = _register_pytree_node


def _register(cls, flatten_fn, unflatten_fn, name, to_dumpable, from_dumpable, flatten_with_keys_fn) -> None:
    if (to_dumpable is None) != (from_dumpable is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _serializers[cls] = (name, to_dumpable, from_dumpable)


def _deregister_pytree_node(cls) -> None:
    """Undo the registration of `cls`."""
    del SUPPORTED_NODES[cls]
    del _serializers[cls]


def register_constant(cls: type) -> None:
    """Register `cls`, whose instances are compared and hashed by value, as a container without children."""
    equal: Any = cls.__eq__
    if equal is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    _constants.add(cls)
    register_pytree_node(
        cls,
        lambda obj: ([], _Constant(obj)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda obj: ([], _Constant(obj)),
    )


@dataclasses.dataclass(frozen=True)
class _Constant:
    value: Any


def is_constant_class(cls: type) -> bool:
    """Whether `cls` was registered by `register_constant`."""
    return cls in _constants


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a dataclass whose fields (those in `field_names`, without `drop_field_names`) are the children."""
    dropped = set(drop_field_names or ())
    names = field_names if field_names is not None else [f.name for f in dataclasses.fields(cls) if f.init]
    names = [name for name in names if name not in dropped]

    def flatten(obj: Any) -> tuple:
        kept = [name for name in names if getattr(obj, name) is not None]
        nones = [name for name in names if getattr(obj, name) is None]
        return [getattr(obj, name) for name in kept], [kept, nones]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        kept, nones = context
        return cls(**dict(zip(kept, values)), **dict.fromkeys(nones))

    def flatten_with_keys(obj: Any) -> tuple:
        values, context = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


# ---- the containers of the standard library ----


def _list_flatten(value) -> tuple:
    return value, None


def _list_unflatten(values, context) -> list:
    return list(values)


def _list_flatten_with_keys(value) -> tuple:
    return [(SequenceKey(i), item) for i, item in enumerate(value)], None


def _tuple_flatten(value) -> tuple:
    return list(value), None


def _tuple_unflatten(values, context) -> tuple:
    return tuple(values)


def _dict_flatten(value) -> tuple:
    return list(value.values()), list(value.keys())


def _dict_unflatten(values, context) -> dict:
    return dict(zip(context, values))


def _dict_flatten_with_keys(value) -> tuple:
    values, context = _dict_flatten(value)
    return [(MappingKey(key), item) for key, item in zip(context, values)], context


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values))


def _defaultdict_flatten(value) -> tuple:
    values, keys = _dict_flatten(value)
    return values, [value.default_factory, keys]


def _defaultdict_unflatten(values, context):
    factory, keys = context
    return defaultdict(factory, zip(keys, values))


def _defaultdict_flatten_with_keys(value) -> tuple:
    return _dict_flatten_with_keys(value)[0], [value.default_factory, list(value.keys())]


def _deque_flatten(value) -> tuple:
    return list(value), value.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _deque_flatten_with_keys(value) -> tuple:
    return [(SequenceKey(i), item) for i, item in enumerate(value)], value.maxlen


def _namedtuple_flatten(value) -> tuple:
    return list(value), type(value)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _namedtuple_flatten_with_keys(value) -> tuple:
    return [(GetAttrKey(name), item) for name, item in zip(value._fields, value)], type(value)


_register(list, _list_flatten, _list_unflatten, "builtins.list", None, None, _list_flatten_with_keys)
_register(tuple, _tuple_flatten, _tuple_unflatten, "builtins.tuple", None, None, _list_flatten_with_keys)
_register(dict, _dict_flatten, _dict_unflatten, "builtins.dict", None, None, _dict_flatten_with_keys)
_register(
    OrderedDict, _dict_flatten, _ordereddict_unflatten, "collections.OrderedDict", None, None, _dict_flatten_with_keys
)
_register(
    defaultdict,
    _defaultdict_flatten,
    _defaultdict_unflatten,
    "collections.defaultdict",
    None,
    None,
    _defaultdict_flatten_with_keys,
)
_register(deque, _deque_flatten, _deque_unflatten, "collections.deque", None, None, _deque_flatten_with_keys)
_register(
    namedtuple,
    _namedtuple_flatten,
    _namedtuple_unflatten,
    "collections.namedtuple",
    None,
    None,
    _namedtuple_flatten_with_keys,
)
_register(Size, _tuple_flatten, _tuple_unflatten, "torch.Size", None, None, _list_flatten_with_keys)


def is_namedtuple_class(cls: type) -> bool:
    """Whether `cls` was made by `namedtuple` or `NamedTuple` (or inherits from such a class)."""
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    fields = getattr(cls, "_fields", None)
    return type(fields) is tuple and all(type(field) is str for field in fields) and hasattr(cls, "_make")


def _is_namedtuple_instance(tree):
    return is_namedtuple_class(type(tree))


def _get_node_type(tree):
    cls = type(tree)
    if cls not in SUPPORTED_NODES and issubclass(cls, tuple):
        if cls.__module__ == "torch.return_types":  # made when their operators are
            _register(
                cls, _tuple_flatten, lambda values, context: cls(values), None, None, None, _list_flatten_with_keys
            )
        elif is_namedtuple_class(cls):
            return namedtuple
    return cls


def _is_leaf(tree, is_leaf=None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


class TreeSpec:
    """The structure of a tree: its container class, that class' context, and the structures of the children."""

    __slots__ = ("_children", "_context", "_type", "num_children", "num_leaves", "num_nodes")
    num_leaves: int
    num_nodes: int

    def __init__(self, type: Any, context: Any, children_specs: Sequence[TreeSpec]) -> None:
        self._type = type
        self._context = context
        self._children = list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in self._children)

    @property
    def type(self) -> type | None:
        return self._type

    @property
    def context(self) -> list[str] | None:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def is_leaf(self) -> bool:
        return self._type is None

    def children(self) -> list:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self._type == other._type and self._context == other._context and self._children == other._children

    def __hash__(self) -> int:
        context = self._context
        if self._type in (dict, OrderedDict, defaultdict):
            context = tuple(map(str, context))
        return hash((self._type, str(context), tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self._type is None:
            return "*"
        head = f"TreeSpec({self._type.__name__}, {self._context}, ["
        inner = indent + 2
        text = ""
        if self._children:
            text = self._children[0].__repr__(inner)
            text += "".join(",\n" + " " * inner + child.__repr__(inner) for child in self._children[1:])
        return head + text + "])"

    def flatten_up_to(self, tree: Any) -> list:
        """The subtrees of `tree` in the places of this structure's leaves; raises ValueError if it does not fit."""
        if self._type is None:
            return [tree]
        kind = _get_node_type(tree)
        if kind is not self._type:
            both = (dict, OrderedDict, defaultdict)
            if kind not in both or self._type not in both:
                raise ValueError(f"Type mismatch; expected {self._type!r}, but got {type(tree)!r}.")
        if kind in (dict, OrderedDict, defaultdict):
            keys = self._context[1] if self._type is defaultdict else self._context
            if set(keys) != set(tree):
                missing, extra = set(keys) - set(tree), set(tree) - set(keys)
                text = (f"; missing key(s): {missing}" if missing else "") + (
                    f"; extra key(s): {extra}" if extra else ""
                )
                raise ValueError(f"Node keys mismatch{text}.")
            children = [tree[key] for key in keys]
        else:
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            children = list(children)
            if len(children) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
            if kind is not deque and context != self._context:
                raise ValueError(f"Node context mismatch for custom node type {self._type!r}.")
        return [leaf for child, spec in zip(children, self._children) for leaf in spec.flatten_up_to(child)]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves; raises ValueError if their number does not fit."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self._type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self._type].unflatten_fn(children, self._context)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __repr__(self, indent: int = 0) -> str:
        return "*"


_LEAF_SPEC = LeafSpec()


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF_SPEC


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of `tree` and its structure. `is_leaf(subtree)` may declare containers to be leaves.

    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, 3)})
    >>> leaves
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    if _is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of structure `treespec` with these leaves.

    >>> from mindtorch_v2.utils import _pytree
    >>> leaves, structure = _pytree.tree_flatten({"a": 1, "b": [2, 3]})
    >>> _pytree.tree_unflatten([10, 20, 30], structure)
    {'a': 10, 'b': [20, 30]}
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yield the leaves."""
    if _is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """The leaves, as a list."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree of `func(leaf, *leaves of the other trees in the same place)`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten([func(*items) for items in zip(*columns)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call `func` as `tree_map` does, for its effects; return `tree`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for items in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests)):
        func(*items)
    return tree


def _tester(type_or_types_or_pred):
    if isinstance(type_or_types_or_pred, (type, tuple)) or not callable(type_or_types_or_pred):
        return lambda leaf: isinstance(leaf, type_or_types_or_pred)
    return type_or_types_or_pred


def map_only(type_or_types_or_pred: Any, /) -> Callable[..., Any]:
    """A decorator: the function on leaves of these types (or that the predicate holds for), others unchanged."""
    test = _tester(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if test(leaf) else leaf


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """`tree_map` for leaves of these types only."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """`tree_map_` for leaves of these types only."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether `pred` holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether `pred` holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether `pred` holds for every leaf of these types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether `pred` holds for some leaf of these types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree`, each repeated for the leaves of `treespec` in its place; None if they do not fit."""
    if _is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _get_node_type(tree) is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    children = list(children)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    result = []
    for child, spec in zip(children, treespec.children_specs):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        result += flat
    return result


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple:
    """The leaves with their places (tuples of keys), and the structure."""
    return list(_with_path((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """The leaves with their places (tuples of keys)."""
    return list(_with_path((), tree, is_leaf))


def _with_path(path, tree, is_leaf):
    if _is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn "
            "argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _with_path((*path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The tree of `func(place, leaf, *leaves of the other trees)`."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[path for path, _ in pairs], [leaf for _, leaf in pairs], *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten([func(*items) for items in zip(*columns)])


def keystr(kp: tuple[Any, ...]) -> str:
    """The text of a place, as in "['a'][0].x"."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: tuple[Any, ...]) -> Any:
    """The subtree of `obj` in the place `kp`."""
    for key in kp:
        obj = key.get(obj)
    return obj


def treespec_pprint(treespec: TreeSpec) -> str:
    """The text of a structure: its containers, with an asterisk for each leaf."""
    return repr(treespec.unflatten([_LEAF_SPEC] * treespec.num_leaves))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON. Raises NotImplementedError for a class registered without a name or with other contexts."""
    return json.dumps((1, _dump(treespec)))


def _dump(spec) -> dict:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name, to_dumpable, _ = _serializers[spec.type]
    if name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with "
            "a `serialized_type_name` kwarg."
        )
    if to_dumpable is not None:
        context = to_dumpable(spec.context)
    elif spec.type in (namedtuple, defaultdict):
        raise NotImplementedError(f"treespec_dumps: the context of {spec.type} has no JSON form")
    else:
        context = json.dumps(spec.context)
    return {"type": name, "context": context, "children_spec": [_dump(child) for child in spec.children_specs]}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote."""
    protocol, data = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _load(data)


def _load(data):
    if data["type"] is None:
        return _LEAF_SPEC
    kinds = {name: kind for kind, (name, _, _) in _serializers.items() if name is not None}
    if data["type"] not in kinds:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered")
    kind = kinds[data["type"]]
    from_dumpable = _serializers[kind][2]
    context = from_dumpable(data["context"]) if from_dumpable is not None else json.loads(data["context"])
    return TreeSpec(kind, context, [_load(child) for child in data["children_spec"]])


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list:
    """The leaves of the arguments of a call."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_iter(value)]
