"""The index of a corpus on disk: built once, opened in milliseconds, searched as measured."""
