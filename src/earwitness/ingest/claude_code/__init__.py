"""Claude Code transcripts: lines to entries, entries to sessions, sessions to events."""
