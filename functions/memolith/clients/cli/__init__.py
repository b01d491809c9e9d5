"""The command line: one file a command, over the HTTP API or a deployment's own functions.

It promises an exit code and, with ``--json``, an answer that programs can read. Nothing imports this room.

Read first: `main`, the tree of commands. `api_client` speaks with a server, `deployment_target` finds a deployment, and
`failures` says what an error means for the shell.
"""
