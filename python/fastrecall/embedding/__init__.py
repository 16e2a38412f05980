"""Texts to vectors: the embedding models, their files, and the cache of what they computed."""

from fastrecall.embedding.folder import cache_folder
from fastrecall.embedding.models import ModelInfo, list_models, resolve_model
from fastrecall.embedding.pipeline import EmbedReport, embed, embed_with_report

__all__ = [
    "EmbedReport",
    "ModelInfo",
    "cache_folder",
    "embed",
    "embed_with_report",
    "list_models",
    "resolve_model",
]
