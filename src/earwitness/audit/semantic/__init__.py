"""The semantic tier: contextual values told in other words. Similarity finds the topic; its hits are `possible`."""
