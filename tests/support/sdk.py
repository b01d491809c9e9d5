"""The unchanged SDK for servers of this machine, which speak no TLS."""

from __future__ import annotations

import ssl
from typing import Any

import anthropic

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody. To load the certificates that the SDK trusts takes 20 ms, and a test makes many clients."""


def client_of(url: str, api_key: str, **options: Any) -> anthropic.Anthropic:
    """A client that tries nothing twice by itself."""
    http_client = anthropic.DefaultHttpxClient(verify=NO_TLS)
    return anthropic.Anthropic(base_url=url, api_key=api_key, max_retries=0, http_client=http_client, **options)
