"""torch.hub: files by address, whole or not at all; entry points of a folder."""

import hashlib

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "there" / "net-00000000.pth"
    path.parent.mkdir()
    torch.save({"w": torch.arange(3.0)}, path)
    right = path.with_name(f"net-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.pth")
    right.write_bytes(path.read_bytes())
    return path, right


def test_state_dict_from_url(weights, tmp_path, capsys):
    wrong, right = weights
    folder = tmp_path / "here"
    loaded = torch.hub.load_state_dict_from_url(right.as_uri(), folder, check_hash=True, progress=False)
    assert loaded["w"].tolist() == [0.0, 1.0, 2.0]
    assert capsys.readouterr().out == f'Downloading: "{right.as_uri()}" to {folder / right.name}\n'
    right.unlink()  # the file is kept
    assert torch.hub.load_state_dict_from_url(right.as_uri(), folder)["w"].shape == (3,)
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "00000000", got '):
        torch.hub.load_state_dict_from_url(wrong.as_uri(), folder, check_hash=True, progress=False)
    assert [path.name for path in folder.iterdir()] == [right.name]


def test_directory(monkeypatch):
    monkeypatch.setattr(torch.hub, "_directory", None)  # a program before this one may have set it
    monkeypatch.setenv("TORCH_HOME", "/some/where")
    assert torch.hub.get_dir() == "/some/where/hub"
    torch.hub.set_dir("/else/where")
    assert torch.hub.get_dir() == "/else/where"


def test_entry_points(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        'dependencies = ["json"]\n\ndef net(width=2):\n    "A net."\n    return [0] * width\n\ndef _private(): ...\n'
    )
    local = {"source": "local"}
    assert torch.hub.list(tmp_path, **local) == ["net"]
    assert torch.hub.help(tmp_path, "net", **local) == "A net."
    assert torch.hub.load(tmp_path, "net", width=3, **local) == [0, 0, 0]
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        torch.hub.load(tmp_path, "other", **local)
    with pytest.raises(NotImplementedError, match=r"source='github' is not implemented"):
        torch.hub.load("owner/name", "net")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        torch.hub.load("owner/name", "net", source="web")
