"""Texts to vectors: the embedding models, their files, and the cache of what they computed."""

from fastrecall.embedding.folders import cache_folder
from fastrecall.embedding.hub import fetch_model
from fastrecall.embedding.models import ModelInfo, list_models, resolve_model
from fastrecall.embedding.pipeline import EmbedReport, embed, embed_question, embed_with_report

__all__ = [
    "EmbedReport",
    "ModelInfo",
    "cache_folder",
    "embed",
    "embed_question",
    "embed_with_report",
    "fetch_model",
    "list_models",
    "resolve_model",
]
