"""Behaviours of torch.library as PyTorch 2.13 was seen to have them: the recording, and how a case is compared with it."""

import itertools
import json
import pathlib

import pytest

SNAPSHOT = pathlib.Path(__file__).parents[1] / "snapshots" / "library" / "behaviours.jsonl"
RECORDED = {case["case"]: case for case in map(json.loads, SNAPSHOT.read_text().splitlines())}
_numbers = itertools.count()


def namespace():
    """The name of a namespace that no other case uses."""
    return f"behaviour_{next(_numbers)}"


class Cases(dict):
    """The functions that do what the recorded cases say, by name of the case."""

    def case(self, name, upto=None, like=None):
        """A decorator; errors are compared up to `upto`, results by `like(result)`."""

        def register(function):
            assert name in RECORDED, name
            self[name] = (function, upto, like)
            return function

        return register

    def check(self, name):
        """Do what the case says; it has to end as recorded."""
        function, upto, like = self[name]
        recorded = RECORDED[name]
        if "error" in recorded:
            kind, text = recorded["error"]
            with pytest.raises(Exception) as raised:  # its class is compared below
                function()
            assert type(raised.value).__name__ == kind
            said = str(raised.value)
            if upto and upto in text:
                said, text = said.partition(upto)[0], text.partition(upto)[0]
            assert said.replace("mindtorch_v2.", "torch.").replace("torch._tensor.Tensor", "torch.Tensor") == text
            return
        result = function()
        expected = recorded["result"]
        if like is None:
            assert repr(result) == expected
        else:
            said = like(result if isinstance(result, str) else repr(result))
            assert said in (like(expected), expected.strip("'"), expected)
