"""The protocols: what is indexed and what is asked (DESIGN §4 "Protocols")."""

from fastrecall.study.protocols import leave_one_out, published
from fastrecall.study.protocols.base import Asked, Case, Protocol

PROTOCOLS: dict[str, Protocol] = {
    protocol.key: protocol for protocol in (published.PROTOCOL, leave_one_out.PROTOCOL)
}
"""Every protocol by its key, in the order of tables."""

__all__ = ["PROTOCOLS", "Asked", "Case", "Protocol"]
