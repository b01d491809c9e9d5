"""The replicator's process: ``python -m scripts.local_cloud.replication FOLDER --instance=TOKEN``.

``FOLDER`` holds ``config.json`` (endpoint, buckets by region, settings, whether to take the hooks away at the end);
it gets ``ledger.sqlite`` and, once everything runs, ``ready.json`` with the control address.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.replication.control import Control
from scripts.local_cloud.replication.ledger import Ledger
from scripts.local_cloud.replication.replicator import Replicator
from scripts.local_cloud.replication.settings import Settings


def main() -> None:
    """Replicate until SIGTERM."""
    folder = Path(sys.argv[1])
    config = json.loads((folder / "config.json").read_text())
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    replicator = Replicator(
        Clients(config["endpoint"]),
        config["buckets"],
        Ledger(folder / "ledger.sqlite"),
        Settings().changed(config["settings"]),
    )
    replicator.start()
    control = Control(replicator)
    control.start()
    unfinished = folder / "ready.json.new"
    unfinished.write_text(json.dumps({"control_url": control.url}))
    unfinished.replace(folder / "ready.json")
    ended.wait()
    control.stop()
    replicator.stop(wait=False)
    if config["remove_hooks"]:
        try:
            replicator.remove_hooks()
        except (ClientError, BotoCoreError) as error:
            print(f"replicator: the notifications stay in the buckets: {error}", file=sys.stderr)
    # Threads may still wait for notifications, for up to 20 seconds; they hold nothing.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
