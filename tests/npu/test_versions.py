"""Which versions go together, and what is said of those that do not."""

import pathlib
import re
import subprocess
import sys

import pytest

from mindtorch_v2._backends.npu import environment, versions

_ROOT = pathlib.Path(__file__).parents[2]


def test_each_release_is_for_one_pytorch_and_one_cann() -> None:
    names = [release.torch_npu for release in versions.RELEASES]
    assert len(set(names)) == len(names) == 26
    found = {release.torch_npu: (release.pytorch, release.cann) for release in versions.RELEASES}
    assert found["2.12.0"] == ("2.12.0", "9.1.0") and found["2.7.1.post8"] == ("2.7.1", "9.1.0")
    assert found["2.5.1.post1"] == ("2.5.1", "8.2.RC1")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("8.3.RC1", "8.3.rc1", True), ("8.3.RC1.alpha002", "8.3.RC1", True), ("8.3.RC1", "8.3.RC2", False),
        ("9.1.0", "9.0.0", False), ("9.1", "9.1.0", True), ("8.5.0", "8.5.0-beta.1", True),
    ],
)  # fmt: skip
def test_names_of_one_version(one: str, other: str, expected: bool) -> None:
    assert versions.same(one, other) is expected and versions.same(other, one) is expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("opp/version.info", "Version=8.3.RC1\nversion_dir=8.3.RC1\n"),
        (
            "x86_64-linux/ascend_toolkit_install.info",
            "package_name=Ascend-cann-toolkit\nversion=8.3.RC1\narch=x86_64\n",
        ),
        ("version.cfg", "# a comment\nruntime_running_version=[7.8.0.1:8.3.RC1]\n"),
    ],
)
def test_the_files_of_a_toolkit_tell_its_version(name: str, text: str, tmp_path: pathlib.Path) -> None:
    assert versions.of_cann(str(tmp_path)) is None
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert versions.of_cann(str(tmp_path)) == "8.3.RC1"


def test_what_fits_is_said() -> None:
    assert versions.report("9.0.0", None, None) == [
        "CANN: 9.0.0", "torch_npu for it: 2.9.0.post2, 2.8.0.post4, 2.7.1.post4 (this package needs none)",
    ]  # fmt: skip
    assert versions.report(None, None, None) == ["CANN: its files tell no version"]
    assert "is in no statement of torch_npu's that is known here" in versions.report("12.0.0", None, None)[1]
    assert versions.report("9.1.0", "2.12.0", "2.12.0+cpu")[2:] == [
        "torch_npu 2.12.0 is installed beside this package, which does not use it"
    ]


@pytest.mark.parametrize(
    ("cann", "torch_npu", "pytorch", "said"),
    [
        ("9.1.0", "2.7.1.post2", "2.7.1", "it does not fit: torch_npu 2.7.1.post2 is for CANN 8.5.0, here is 9.1.0"),
        ("8.5.0", "2.7.1.post2", "2.6.0", "it does not fit: torch_npu 2.7.1.post2 is for PyTorch 2.7.1, here is 2.6.0"),
        ("8.5.0", "2.7.1.post2+abc", None, "it cannot be imported: torch_npu 2.7.1.post2+abc needs PyTorch 2.7.1"),
        (None, "2.7.0", None, "torch_npu 2.7.0 is of no release that is known here"),
    ],
)
def test_what_does_not_fit_is_named(cann: str | None, torch_npu: str, pytorch: str | None, said: str) -> None:
    assert any(line.startswith(said) for line in versions.report(cann, torch_npu, pytorch))


def test_a_torch_npu_beside_us_is_found(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "torch_npu-2.7.1.post2.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.7.1.post2\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert versions.installed("torch-npu") == "2.7.1.post2"
    assert "torch_npu 2.7.1.post2 is installed beside this package, which does not use it" in versions.of_this_host()


@pytest.mark.skipif(not (_ROOT / "docs" / "npu-versions.md").exists(), reason="the page is not installed")
def test_the_page_has_the_table() -> None:
    command = [sys.executable, str(_ROOT / "tools" / "list_npu_versions.py"), "--check"]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


def test_versions_of_cann_have_an_order() -> None:
    names = ["8.1.RC1", "8.2.RC1.alpha003", "8.2.RC1", "8.2.RC2", "8.2.0", "8.3.RC1", "8.5.0", "9.0.0", "10.0.RC1"]
    assert sorted(names, key=versions.order) == names
    with pytest.raises(ValueError, match="'eight' is no version of CANN"):
        versions.order("eight")


@pytest.mark.parametrize(
    ("content", "cann", "message"),
    [
        (None, "9.0.0", "is invalid: there is no such file"),
        ("{", "9.0.0", "Failed to parse user acl json"),
        ('{"dump": {}}', "9.0.0", "lacks 'defaultDevice': add"),
        ('{"defaultDevice": "0"}', "8.3.RC1", "lacks 'defaultDevice'"),
        ('{"defaultDevice": {"default_device": "1"}}', "9.0.0", "requires \"default_device\": \"0\", but it is '1'"),
        ('{"defaultDevice": {"default_device": "0"}}', "8.2.RC1", "contains 'defaultDevice', which CANN 8.2.RC1 does not know"),
        ('{"defaultDevice": {"default_device": "0"}}', "8.3.RC1", ""),
        ('{"dump": {}}', "8.2.RC1", ""),
    ],
)  # fmt: skip
def test_the_file_of_options_is_held_to_its_rules(
    content: str | None, cann: str, message: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "acl.json"
    if content is not None:
        path.write_text(content)
    (tmp_path / "version.info").write_text(f"Version={cann}\n")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    monkeypatch.setenv(environment.OPTIONS_FILE, str(path))
    if message:
        with pytest.raises(RuntimeError, match=re.escape(message)):
            environment.options_file()
    else:
        assert environment.options_file() == bytes(path)


def test_no_file_of_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.OPTIONS_FILE, raising=False)
    assert environment.options_file() is None
