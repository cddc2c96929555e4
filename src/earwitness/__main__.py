"""`python -m earwitness`: the same program as the `earwitness` command."""

from earwitness.cli import main

main()
