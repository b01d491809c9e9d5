"""The API as a command speaks to it: one address, one key, answers as JSON or an error in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import httpx2
import typer

from cairn.clients.cli.target import DEV_FILE
from cairn.core.errors import CairnError, InvalidRequest

TIMEOUT_S = 35.0
"""A little more than the API itself may take."""

ApiUrl = Annotated[
    str | None, typer.Option(envvar="ANTHROPIC_BASE_URL", help="Where the store's API is; by default here.")
]
ApiKey = Annotated[str | None, typer.Option(envvar="ANTHROPIC_API_KEY", help="An admin key of the store's workspace.")]


class ApiRefusedError(CairnError):
    """The API refused or did not answer; the message is its own."""


class Api:
    """The API at one address. No request is repeated by itself."""

    def __init__(self, url: str | None, key: str | None) -> None:
        """The local cloud of this folder, and its key, where no address is given.

        Raises:
            InvalidRequest: no address or no key is known.
        """
        if url is None:
            url, key = _local_cloud()
        if not key:
            raise InvalidRequest(
                "--api-key", f"{url} needs an admin key: make one with `cairn keys create --scope admin`"
            )
        self._url = url.rstrip("/")
        self._headers = {"authorization": f"Bearer {key}"}

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        """Raises ApiRefusedError."""
        return self._ask("GET", path, query, None)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Raises ApiRefusedError; after a lost answer it says that the call may have been carried out."""
        return self._ask("POST", path, {}, body)

    def rows(self, path: str, **query: str | int) -> Iterator[dict[str, Any]]:
        """Every row of a listing, a page at a time. Raises ApiRefusedError."""
        page: dict[str, str | int] = {}
        while True:
            answer = self.get(path, **query, **page)
            yield from answer["data"]
            if answer.get("next_page") is None:
                return
            page = {"page": answer["next_page"]}

    def _ask(
        self, method: str, path: str, query: Mapping[str, str | int], body: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        try:
            answer = httpx2.request(
                method, self._url + path, params=dict(query), json=body, headers=self._headers, timeout=TIMEOUT_S
            )
        except httpx2.TransportError as error:
            doubt = " It may have been done: look before repeating it." if method == "POST" else ""
            raise ApiRefusedError(f"{self._url} does not answer ({type(error).__name__}).{doubt}") from error
        try:
            fields: dict[str, Any] = answer.json()
        except ValueError as error:
            raise ApiRefusedError(f"{self._url} answered {answer.status_code}, and not as Cairn does") from error
        if answer.status_code != 200:
            raise ApiRefusedError(str(fields.get("error", {}).get("message", f"status {answer.status_code}")))
        return fields


def _local_cloud() -> tuple[str, str]:
    if not DEV_FILE.exists():
        raise InvalidRequest("--api-url", "say where the store is (--api-url and --api-key), or start `cairn dev up`")
    dev = json.loads(DEV_FILE.read_text())
    return next(iter(dev["regions"].values()))["api_url"], dev["api_key"]
