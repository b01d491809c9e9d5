"""The operations of the API, one module for each resource; `table` says which path and method leads to which."""
