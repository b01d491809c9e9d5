"""A line to a server that can go dead: a TCP forwarder on a port of its own."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

CHUNK_BYTES = 65536


class Line:
    """Forwards to one address while it is up; while it is down, nobody answers at its port, as if the network was gone.

    Attributes:
        port: on 127.0.0.1; the same after `up`.
    """

    def __init__(self, host: str, port: int) -> None:
        self._far = (host, port)
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]
        self._accept_in_background()

    def down(self) -> None:
        """Every connection breaks, whatever is under way on it, and none is accepted."""
        with self._lock:
            _close(self._listener)
            for one in self._sockets:
                _close(one)
            self._sockets.clear()

    def up(self) -> None:
        """It forwards again."""
        self._listener = self._listen(self.port)
        self._accept_in_background()

    def _listen(self, port: int) -> socket.socket:
        return socket.create_server(("127.0.0.1", port))

    def _accept_in_background(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                near, _ = listener.accept()
                self._join(near, listener)

    def _join(self, near: socket.socket, listener: socket.socket) -> None:
        try:
            far = socket.create_connection(self._far)
        except OSError:
            _close(near)
            return
        with self._lock:
            if listener.fileno() < 0:
                _close(near)
                _close(far)
                return
            self._sockets |= {near, far}
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):  # either end was closed
            while chunk := one.recv(CHUNK_BYTES):
                other.sendall(chunk)
        with self._lock:
            for end in (one, other):
                _close(end)
                self._sockets.discard(end)


@contextmanager
def line_to(url: str) -> Iterator[tuple[Line, str]]:
    """A line to a server while the block runs, and the URL to reach the server through it."""
    far = urlsplit(url)
    assert far.hostname is not None and far.port is not None
    line = Line(far.hostname, far.port)
    try:
        yield line, far._replace(netloc=f"127.0.0.1:{line.port}").geturl()
    finally:
        line.down()


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is not connected any more
        one.shutdown(socket.SHUT_RDWR)
    one.close()
