"""The words between a `TCPStore` and its server: a greeting that proves the job's word, then questions and answers.

A message is its length, the number of its fields, and each field with its length before it. Lengths are bounded before
memory is taken, as PyTorch bounds them; a stranger may send a greeting and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import struct
from collections.abc import Iterable

from mindtorch_v2.distributed._errors import DistNetworkError

TOKEN_VARIABLE = "MINDTORCH_JOB_TOKEN"
"""Names the environment variable with the job's secret; `torchrun` makes one, several machines need the same."""

LARGEST_VALUE = 8 << 20
LARGEST_MESSAGE = LARGEST_VALUE + (2 << 20)
MOST_FIELDS = 1 << 17
LENGTH = struct.Struct("<I")

_MAGIC = b"mindtorch store\x01"
_NONCE = 16
CHALLENGE_SIZE = len(_MAGIC) + _NONCE
PROOF_SIZE = _NONCE + hashlib.sha256().digest_size
VERDICT_SIZE = 1 + hashlib.sha256().digest_size


def job_token() -> bytes:
    """The job's secret; empty if there is none."""
    return os.environ.get(TOKEN_VARIABLE, "").encode()


def _signed(token: bytes, role: bytes, nonce: bytes) -> bytes:
    return hmac.new(token, role + nonce, hashlib.sha256).digest()


def challenge() -> bytes:
    """The server's first word: who it is, and a number that is used once."""
    return _MAGIC + secrets.token_bytes(_NONCE)


def proof(token: bytes, challenged: bytes) -> bytes:
    """The client's answer: that it knows the token, and a number of its own. DistNetworkError for what is no server."""
    if not challenged.startswith(_MAGIC):
        raise DistNetworkError("what answers there is no TCPStore of mindtorch_v2")
    return secrets.token_bytes(_NONCE) + _signed(token, b"client", challenged[len(_MAGIC) :])


def verdict(token: bytes, challenged: bytes, proven: bytes) -> bytes | None:
    """The server's answer to a proof, which proves the server; None if the client does not know the token."""
    if not hmac.compare_digest(proven[_NONCE:], _signed(token, b"client", challenged[len(_MAGIC) :])):
        return None
    return b"\x01" + _signed(token, b"server", proven[:_NONCE])


def is_accepted(token: bytes, proven: bytes, judged: bytes) -> bool:
    """Whether a verdict lets the client in, and comes from a server that knows the token."""
    return judged[:1] == b"\x01" and hmac.compare_digest(judged[1:], _signed(token, b"server", proven[:_NONCE]))


REFUSED = bytes(VERDICT_SIZE)


def pack(fields: Iterable[bytes]) -> bytes:
    """A message. ValueError if it is larger than a server takes."""
    fields = list(fields)
    body = LENGTH.pack(len(fields)) + b"".join(LENGTH.pack(len(field)) + field for field in fields)
    if len(body) > LARGEST_MESSAGE or len(fields) > MOST_FIELDS:
        raise ValueError(
            f"a store takes values of at most {LARGEST_VALUE} bytes, and {MOST_FIELDS} keys at a time: got {len(body)} "
            f"bytes in {len(fields)} fields. Send data by a collective, and keep in the store where it is"
        )
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes) -> list[bytes]:
    """The fields of a message without its length. DistNetworkError for what is no message."""
    view, fields = memoryview(body), []
    try:
        (count,) = LENGTH.unpack_from(view)
        position = LENGTH.size
        for _ in range(min(count, MOST_FIELDS + 1)):
            (size,) = LENGTH.unpack_from(view, position)
            position += LENGTH.size
            fields.append(bytes(view[position : position + size]))
            position += size
    except struct.error:
        position = -1
    if position != len(view) or len(fields) != count:
        raise DistNetworkError("what came is no message of a TCPStore")
    return fields
