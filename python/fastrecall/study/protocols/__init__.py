"""The protocols: what is indexed and what is asked (DESIGN §4 "Protocols")."""

from fastrecall.study.protocols import (
    duplicates,
    leave_one_out,
    past_only,
    published,
    shuffled,
)
from fastrecall.study.protocols.base import Asked, Case, Protocol

PROTOCOLS: dict[str, Protocol] = {
    module.PROTOCOL.key: module.PROTOCOL
    for module in (published, leave_one_out, duplicates, past_only, shuffled)
}
"""Every protocol by its key, in the order of tables."""

__all__ = ["PROTOCOLS", "Asked", "Case", "Protocol"]
