"""Rerankers (`ports.rerank`): Bedrock's, and any service that speaks Cohere's HTTP interface."""
