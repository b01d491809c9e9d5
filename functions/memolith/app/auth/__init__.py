"""Who calls, and what the caller may do.

It promises that every call reads the key that it was made with, so that a revoked key ends at once, and that a caller
of one workspace never learns whether something exists in another.

Read first: `authorizer`, which turns credentials into access to a store in one batch read. Then `api_keys`, and
`session_tokens` and `session_log` for the sessions of agents.
"""
