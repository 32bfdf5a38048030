"""Names of operators that hide numbers from who runs a model: what they do to them is a secret of a service on the device."""

from __future__ import annotations

from typing import Any, NoReturn

from .checks import composite


def _secret(operator: str) -> NoReturn:
    raise NotImplementedError(
        f"{operator}(): how numbers are obfuscated is not documented; compute on them as they are"
    )


@composite(
    "npu::obfuscation_initialize(int hidden_size, int tp_rank, int cmd, *, ScalarType? data_type=None, int? model_obf_seed_id=0, int? "
    "data_obf_seed_id=0, int? thread_num=4, float? obf_coefficient=1.0) -> Tensor",
    "Raises NotImplementedError: the service of the device that obfuscates is not documented.",
    explicit=True,
    samples=None,
)
def obfuscation_initialize(
    hidden_size: int, tp_rank: int, cmd: int, *, data_type: Any = None, model_obf_seed_id: Any = 0, data_obf_seed_id: Any = 0,
    thread_num: Any = 4, obf_coefficient: Any = 1.0,
) -> Any:  # fmt: skip
    _secret("obfuscation_initialize")


@composite(
    "npu::obfuscation_calculate(Tensor fd, Tensor x, Tensor param, *, float? obf_coefficient=1.0) -> Tensor",
    "Raises NotImplementedError: how numbers are obfuscated is not documented.",
    explicit=True,
    samples=None,
)
def obfuscation_calculate(fd: Any, x: Any, param: Any, *, obf_coefficient: Any = 1.0) -> Any:
    _secret("obfuscation_calculate")


@composite(
    "npu::obfuscation_finalize(Tensor fd_to_close) -> Tensor",
    "Raises NotImplementedError: the service of the device that obfuscates is not documented.",
    explicit=True,
    samples=None,
)
def obfuscation_finalize(fd_to_close: Any) -> Any:
    _secret("obfuscation_finalize")
