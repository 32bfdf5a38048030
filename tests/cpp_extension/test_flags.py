"""Flags and folders as programs write them: PyTorch hands them to a shell, which reads words."""

from unittest import mock

import pytest

from mindtorch_v2.utils import _ninja, cpp_extension


def test_items_may_hold_several_words(tmp_path):
    (tmp_path / "a.cpp").touch()
    with mock.patch.object(_ninja, "build_shared_library", side_effect=KeyboardInterrupt) as build:
        with pytest.raises(KeyboardInterrupt):
            cpp_extension.load(
                "flags",
                [str(tmp_path / "a.cpp")],
                extra_cflags=["-g\n\n", "-O0 -Wall", "-DNAME='\"two words\"'"],
                extra_ldflags=["-lm -lz"],
                extra_include_paths=[f"   {tmp_path}\n"],
                build_directory=str(tmp_path),
            )
    _, _, _, flags, link_flags, includes, *_ = build.call_args.args
    assert flags == ["-g", "-O0", "-Wall", '-DNAME="two words"'] and link_flags == ["-lm", "-lz"]
    assert includes == [str(tmp_path)]
