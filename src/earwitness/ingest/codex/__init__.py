"""Codex rollouts: one file a thread, threads that spawned one another make a run."""
