"""Through whom modules that cannot be packaged came in."""

from mindtorch_v2.package.package_exporter import PackagingError


def find_first_use_of_broken_modules(exc: PackagingError) -> dict[str, list[str]]:
    """Of each module that an error names: the chain of modules that need one another, from what was saved to it.

    >>> import io
    >>> from mindtorch_v2.package import PackageExporter, PackagingError
    >>> from mindtorch_v2.package.analyze import find_first_use_of_broken_modules
    >>> try:
    ...     with PackageExporter(io.BytesIO()) as exporter:
    ...         exporter.save_source_string("mine", "import numpy")
    ... except PackagingError as error:
    ...     find_first_use_of_broken_modules(error)
    {'numpy': ['mine', 'numpy']}
    """
    graph, chains = exc.dependency_graph, {}
    for name, attributes in graph.nodes.items():
        if attributes.get("error") is None:
            continue
        chain = [name]
        while (before := next((each for each in graph.predecessors(chain[-1]) if each not in chain), None)) is not None:
            chain.append(before)
        chains[name] = chain[::-1]
    return chains
