"""`earwitness policy`."""

from pathlib import Path

import click

from earwitness.cli.common import PATH


@click.group("policy")
def command() -> None:
    """Work with policy files."""


@command.command("check")
@click.argument("file", type=PATH)
def check(file: Path) -> None:
    """Check a policy file, its vault file and what its rules refer to.

    \b
    Example:
      earwitness policy check policy.yaml

    \b
    In Python:
      load_policy(Path("policy.yaml"))
    """
    from earwitness.schema.policy import load_policy, review
    from earwitness.schema.vaultfile import load_vault

    policy, sha256 = load_policy(file)
    vault = load_vault(file.parent / policy.vault) if policy.vault else ()
    click.echo(
        f"{file}: good. default {policy.default}; {len(policy.roster)} in the roster, "
        f"{len(policy.values) + len(vault)} values, {len(policy.rules)} rules; sha256 {sha256[:12]}"
    )
    for warning in review(policy, vault):
        click.echo(f"{file}: warning: {warning}")
