"""Tests of a match that a regular expression cannot make; a rule names one as its ``check``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_HOST = re.compile(r"(?:https?|ftp|wss?)://(?:[^/\s@'\"]*@)?([a-z0-9.{}$_-]+)")
_SECRET_NAME = re.compile(r"\$\{?(?:env:)?([a-z0-9_]*(?:key|token|secret|passw|cred|auth)[a-z0-9_]*)")
_HEADER = re.compile(
    r"(?:-h|--header|-u|--user)[ =]?\s*[\"']?(?:[a-z-]*(?:auth|key|token|bearer)[a-z-]*\s*:[^\"'\n]*)?\$"
)
_NEAR = re.compile(
    r"^(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|\[?::1|[$%{]|host\.docker|.*\.(?:internal|local|svc|test)$|"
    r"api\.example\.(?:com|org|net)$)"
)
_VENDORS = (
    "openai", "anthropic", "aws", "azure", "google", "gemini", "github", "gitlab", "slack", "stripe", "npm", "pypi",
    "docker", "digitalocean", "cloudflare", "heroku", "netlify", "vercel", "twilio", "sendgrid", "mailgun",
    "datadog", "sentry", "mistral", "cohere", "groq", "replicate", "pinecone", "supabase", "telegram", "discord",
    "notion", "linear", "figma", "airtable", "shopify", "paypal", "dropbox",
)  # fmt: skip
_KNOWN = {name: name for name in _VENDORS} | {
    "hf": "huggingface",
    "gh": "github",
    "gcp": "google",
    "claude": "anthropic",
}
"""Names by which variables call well-known vendors, and what then stands in the vendor's hosts."""


def sent_elsewhere(match: re.Match[str]) -> bool:
    """Whether a command hands a secret variable to a host that has nothing to do with it.

    ``curl https://api.openai.com/... $OPENAI_API_KEY`` is how an interface is used; the same variable in a request to
    another host is how it is stolen. So the host must share a name with the variable, or be this machine or a variable
    itself. In a header for authorization, where secrets belong, a variable that names no known vendor may go anywhere.
    """
    command = match[0]
    host = _HOST.search(command)
    if host is None:
        return True
    if _NEAR.match(host[1]):
        return False
    parts = {part for name in _SECRET_NAME.findall(command) for part in name.split("_")}
    vendors = {_KNOWN[part] for part in parts if part in _KNOWN}
    if vendors:
        return not any(vendor in host[1] for vendor in vendors)
    return not _HEADER.search(command) and not any(len(part) > 3 and part in host[1] for part in parts - _GENERIC)


_GENERIC = frozenset((
    "api", "key", "token", "secret", "password", "passwd", "auth", "access", "client", "user", "test", "prod",
    "credential", "credentials",
))  # fmt: skip

CHECKS: Mapping[str, Callable[[re.Match[str]], bool]] = {
    "": lambda match: True,
    "sent-elsewhere": sent_elsewhere,
}
