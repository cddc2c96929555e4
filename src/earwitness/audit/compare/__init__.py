"""Two bodies of runs held against each other: measures, exposures, verdicts, baselines."""
