"""Corpora larger than memory: tickets in many Parquet files, in node order.

The way through the modules: `keys` (a short row for every record) → `choice` (which ones the window
keeps) → `rows` (the tickets, sorted into their files) → `write`; `place` is the manifest, `opened`
reads.
"""
