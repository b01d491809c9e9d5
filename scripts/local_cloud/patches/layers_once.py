"""A layer is unpacked once, not once for each function's process.

The emulator unpacks every layer into a folder of its own at every cold start: a second or more, and tens of megabytes
each time. Here the function gets a tiny layer that points to the one unpacked copy.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

from scripts.local_cloud.patches import Patch, need


class UnpackedLayers:
    """Layers by the hash of their zip, unpacked below one folder. Safe between threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def pointer(self, layer: bytes) -> bytes:
        """Make a zip to use in the layer's place; the layer itself if it holds anything but Python packages.

        It holds one ``.pth`` file, which puts the unpacked packages at the front of the path, where a layer's are.
        """
        target = self._folder / hashlib.sha256(layer).hexdigest()
        with self._lock:
            if not target.exists() and not _unpack(layer, target):
                return layer
        packages = str(target / "python")
        pointer = io.BytesIO()
        with zipfile.ZipFile(pointer, "w") as archive:
            archive.writestr(
                "python/lib/any/site-packages/layer.pth", f"import sys; sys.path.insert(0, {packages!r})\n"
            )
        return pointer.getvalue()


def _unpack(layer: bytes, target: Path) -> bool:
    with zipfile.ZipFile(io.BytesIO(layer)) as archive:
        if not all(name.startswith("python/") for name in archive.namelist()):
            return False
        unfinished = target.with_suffix(".new")
        archive.extractall(unfinished)
        unfinished.replace(target)
    return True


def _apply() -> None:
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc

    need(lambda_runtime, "Worker")
    need(lambda_runtime.Worker, "_spawn")
    need(lambda_svc, "_resolve_layer_zip")
    resolve, spawn = lambda_svc._resolve_layer_zip, lambda_runtime.Worker._spawn
    layers = UnpackedLayers(Path(os.environ["HOME"]).parent / "layers")
    starting = threading.local()

    def resolve_once(reference: Any) -> bytes | None:
        layer: bytes | None = resolve(reference)
        # The size limits are checked with the same function; they must see the layer as it is.
        return layers.pointer(layer) if layer and getattr(starting, "now", False) else layer

    def spawn_noted(worker: Any) -> None:
        starting.now = True
        try:
            spawn(worker)
        finally:
            starting.now = False

    lambda_svc._resolve_layer_zip = resolve_once
    lambda_runtime.Worker._spawn = spawn_noted


PATCH = Patch("layers_once", "every cold start unpacks all layers anew (a second or more)", _apply)
