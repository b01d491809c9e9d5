"""Memolith inside other people's code, on the `anthropic` SDK's own client: the memory tool as that SDK's own and as a
function of OpenAI's API, and a store for LangGraph.
"""
