"""Encrypts links between machines with TLS 1.3, by a certificate that a listener makes for itself.

Whoever connects trusts that one certificate, which came with the door by a Ray call, and no authority. The listener
knows who connects by the secret of the door. Both come from Ray's own, authenticated channel, so that a cluster needs
no keys of its own for links.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

SERVER_NAME = "links.jeeves.internal"


def listening_context() -> tuple[ssl.SSLContext, str]:
    """Return the TLS settings of a new listener, and its certificate as PEM."""
    from actors.links.certificates import new_certificate  # most systems need no certificate: its library loads slowly

    key, certificate = new_certificate(SERVER_NAME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with tempfile.TemporaryDirectory(prefix="jeeves-links-") as folder:
        path = Path(folder, "key")  # the folder is for its own user alone; OpenSSL reads no key from memory
        path.write_bytes(key + certificate)
        context.load_cert_chain(path)
    return context, certificate.decode()


def connecting_context(certificate: str) -> ssl.SSLContext:
    """Return the TLS settings of one who connects to the listener with that certificate. Raises ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=certificate)
    return context
