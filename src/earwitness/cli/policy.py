"""`earwitness policy`."""

from pathlib import Path

import click

from earwitness.cli.common import PATH
from earwitness.cli.investigating import CASE, JSON, tell


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


@command.command("draft")
@CASE
@click.option("-o", "--output", type=PATH, help="Write it to this file instead of printing it.")
@click.option("--observed", is_flag=True, help="Take every flow that was seen for authorised, whatever a policy said.")
def draft(case_path: Path, output: Path | None, observed: bool) -> None:
    """Draft a policy of least privilege from the flows that were seen to be authorised.

    It grants the fields, channels and recipients of those flows and nothing else. It holds no values.

    \b
    Example:
      earwitness policy draft --case out/case.duckdb -o draft.yaml

    \b
    In Python:
      as_yaml(draft_policy(case))
    """
    from earwitness.audit.policydraft import as_yaml, draft_policy
    from earwitness.cli.labelled import audited

    with audited(case_path) as case:
        made = draft_policy(case, observed=observed)
    if output is None:
        click.echo(as_yaml(made), nl=False)
        return
    output.write_text(as_yaml(made), encoding="utf-8")
    click.echo(f"{output}: {len(made.policy['rules'])} rules for {made.flows} flows; {made.refused} not granted")


@command.command("diff")
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option("--case", "case_path", type=PATH, help="Also judge this audited case by both; it stays as it is.")
@click.option("--values", "vault", type=PATH, help="Vault file that stands beside both policies.")
@JSON
def diff(old: Path, new: Path, case_path: Path | None, vault: Path | None, as_json: bool) -> None:
    """Tell what differs between two policies, and with a case which verdicts change.

    No value and no subject is shown. The exit code is 1 if anything differs.

    \b
    Examples:
      earwitness policy diff policy.yaml draft.yaml
      earwitness policy diff policy.yaml draft.yaml --case out/case.duckdb

    \b
    In Python:
      policy_diff(read_policy(old), read_policy(new), (old, new), Shown(case))
    """
    from earwitness.audit.policydiff import read_policy
    from earwitness.cli.labelled import audited
    from earwitness.reports.policies import differ, policy_diff, print_policy_diff
    from earwitness.reports.shown import Shown
    from earwitness.schema.vaultfile import load_vault

    before, after = read_policy(old), read_policy(new)
    values = tuple(load_vault(vault)) if vault else ()
    if case_path is None:
        report = policy_diff(before, after, (old, new), values=values)
    else:
        with audited(case_path) as case:
            report = policy_diff(before, after, (old, new), Shown(case), values)
    tell(report, print_policy_diff, as_json=as_json, found=differ(report))
