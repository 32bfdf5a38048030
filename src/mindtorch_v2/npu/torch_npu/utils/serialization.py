"""Files that are written beside the program."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import threading
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.npu._error_code import ErrCode, pta_error

__all__ = ["save_async"]


def save_async(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False, model: Any = None,
) -> None:  # fmt: skip
    """Save an object as it is now, while the program goes on; `torch.save` otherwise.

    The copy to the host is made before this returns, the file by a thread, for which the process waits when it ends. A file has its
    name once it is whole. What fails in the thread is printed, as of any thread.

    Args:
        f: a path, or an object with `write`, which must not be used meanwhile.
        model: accepted; what its next step changes is not in the file, whether it is given or not.

    Raises:
        RuntimeError: the older form of files is asked for.
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError("save_async() writes files of the newer form only" + pta_error(ErrCode.PARAM))
    held = io.BytesIO()
    torch.save(obj, held, pickle_module, pickle_protocol, _disable_byteorder_record=_disable_byteorder_record)

    def write() -> None:
        if hasattr(f, "write"):
            f.write(held.getbuffer())
            return
        path = pathlib.Path(f)
        part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
                file.write(held.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    threading.Thread(target=write, name="save_async").start()
