"""CrewAI recordings: records to facts, facts to runs, runs to events."""
