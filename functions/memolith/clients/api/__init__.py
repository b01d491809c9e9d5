"""The HTTP API as the command line asks it: one address, one key, plain HTTP.

It imports the standard library alone, so that a command is there at once; programs of others use the `anthropic` SDK.

Read first: `client`, the operations on stores, memories and versions. `http` sends a request.
"""
