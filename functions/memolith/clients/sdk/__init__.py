"""Memolith inside other people's code, on the `anthropic` SDK's own client.

It promises to repeat nothing that may have been done, and to need no more of Memolith than its HTTP API.

Read first: `memory_tool`, the memory tool for the SDK's tool runner. `function_tool` is the same for OpenAI's API,
`langgraph_store` a store for LangGraph, `adk_memory` a memory service for Google's ADK, and `routing` goes on to the
next region where one does not answer.
"""
