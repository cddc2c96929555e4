"""Execution graph, information-flow graph, distances and the ways values took."""
