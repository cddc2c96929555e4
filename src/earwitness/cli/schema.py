"""`earwitness schema`."""

import click


@click.command("schema")
@click.argument("table", required=False)
@click.option(
    "--json-schema",
    type=click.Choice(["canonical", "audit", "inspect", "compare"]),
    help="Print a JSON Schema instead.",
)
def command(table: str | None, json_schema: str | None) -> None:
    """Print the tables of a case, or a JSON Schema of what goes in and out.

    \b
    Examples:
      earwitness schema events
      earwitness schema --json-schema canonical
    """
    from earwitness.schema.jsonschemas import read_schema
    from earwitness.schema.tables import TABLES

    if json_schema:
        click.echo(read_schema(json_schema))
        return
    if table and table not in TABLES:
        raise click.BadParameter(f"no table {table!r}; there are {', '.join(TABLES)}", param_hint="TABLE")
    for one in [TABLES[table]] if table else TABLES.values():
        click.echo(f"{one.name}: {one.doc} (written by: {one.stage})")
        for column in one.columns:
            click.echo(f"  {column.name:<14} {column.type:<13} {column.doc}")
        click.echo()
