"""Scores of a method as confidence, on one scale for all methods; never so sure as to be confirmed.

The confidence says how high a score stands among those of known disclosures: 0.69 times the share of the disclosures
of one half of PrivacyLens that score no higher. It puts hits in order; it is no probability.
"""

import numpy as np

from earwitness.audit.semantic.found import Floats

# Similarity alone confirms nothing: what is confirmed starts at 0.7.
MOST, LEAST = 0.69, 0.05
# Scores of known disclosures at their deciles, from the threshold to 1.
DECILES = {
    "containment": (0.35, 0.6, 0.7, 0.78, 0.87, 1.0),
    "static": (0.6, 0.66, 0.7, 0.74, 0.78, 0.81, 0.85, 0.9, 0.96, 1.0),
    "minilm": (0.56, 0.62, 0.67, 0.71, 0.74, 0.78, 0.82, 0.87, 0.93, 0.98, 1.0),
}


def confidence(method: str, scores: Floats) -> Floats:
    """Confidence of scores."""
    at = DECILES[method]
    shares = np.linspace(0.0, 1.0, len(at))
    return np.round(LEAST + (MOST - LEAST) * np.interp(scores, at, shares), 3)
