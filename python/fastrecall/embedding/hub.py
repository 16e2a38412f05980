"""Download a model from the Hugging Face hub: the only step of this room that uses the network."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from fastrecall._files import atomic_write
from fastrecall.embedding.folders import NO_CACHE_HINT
from fastrecall.embedding.models import (
    CONFIG_FILES,
    MANIFEST,
    MODEL_PLACES,
    TOKENIZER_PLACES,
    ModelInfo,
    hub_folder,
    is_hub_id,
    model_digest,
    registry,
    registry_name,
    resolve_model,
    unknown_model,
)
from fastrecall.errors import CacheError, ModelError


def fetch_model(name: str, *, revision: str | None = None) -> ModelInfo:
    """Download a registry entry or a hub id (``owner/name``) into the cache folder.

    Only the ONNX file, the tokeniser and the configuration are taken. The commit, and the sha256 of
    what came, are recorded beside them and checked whenever the model is used. A model that is
    here is not downloaded again, unless a *revision* (branch, tag or commit) is asked for.

    Raises:
        ModelError: unknown, not on the hub, without an ONNX file, or the hub is out of reach.
        CacheError: the cache folder cannot be written.

    >>> fetch_model("fake").source
    'builtin'
    """
    entry = registry_name(name)
    if entry is None and not is_hub_id(name):
        raise unknown_model(name)
    if entry is not None and "hub" not in registry()[entry]:
        return resolve_model(entry)
    wanted = registry()[entry]["hub"] if entry else {}
    repo = wanted.get("repo", name)
    if revision is not None or not _is_whole(name):
        _download(
            repo,
            revision or "main",
            [wanted["model"]] if wanted else MODEL_PLACES,
            [wanted["tokenizer"]] if wanted else TOKENIZER_PLACES,
        )
    return resolve_model(name)


def _is_whole(name: str) -> bool:
    try:
        resolve_model(name)
    except ModelError:
        return False
    return True


def _download(repo: str, revision: str, models: Sequence[str], tokenizers: Sequence[str]) -> None:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    folder = hub_folder(repo)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(
            f"cannot write {folder}: {error.strerror or error}; {NO_CACHE_HINT}"
        ) from error
    try:
        remote = HfApi().model_info(repo, revision=revision)
        files = [file.rfilename for file in remote.siblings or ()]
        model = _choose(models, files, repo)
        tokenizer = _choose(tokenizers, files, repo)
        # From here to the end of the download the folder is not a whole model.
        (folder / MANIFEST).unlink(missing_ok=True)
        # Large weights lie in a second file beside the graph.
        weights = [file for file in files if file.startswith(f"{model}_data")]
        snapshot_download(
            repo,
            revision=remote.sha,
            local_dir=folder,
            allow_patterns=[model, *weights, tokenizer, *CONFIG_FILES],
        )
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ModelError(
            f"the hub has no model {repo} at {revision}, or it is not public; check the spelling"
        ) from error
    except ModelError:
        raise
    except Exception as error:  # the hub's client lets through what its HTTP library raises
        raise ModelError(
            f"cannot download {repo}: {type(error).__name__}: {_first_line(error)}; try again with "
            f"a network: fastrecall models --fetch {repo}"
        ) from error
    digests = {
        "model": model_digest(folder / model),
        "tokenizer": model_digest(folder / tokenizer),
    }
    manifest = {
        "id": repo,
        "revision": remote.sha,
        "model": model,
        "tokenizer": tokenizer,
        "sha256": digests,
    }
    with atomic_write(folder / MANIFEST) as file:
        json.dump(manifest, file, indent=1)


def _choose(places: Sequence[str], files: Sequence[str], repo: str) -> str:
    for place in places:
        if place in files:
            return place
    raise ModelError(
        f"{repo} has no {' or '.join(places)} on the hub; choose a model that is published as ONNX "
        "(many are under Xenova/ or onnx-community/)"
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:160] if lines else "no reason given"
