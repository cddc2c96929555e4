"""Options that say what looks for values beside the registry, shared by commands that audit."""

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--recognize/--no-recognize",
        default=True,
        show_default=True,
        help="In traces that bring no values, protect what looks like one.",
    ),
    click.option("--ner", is_flag=True, help="Look for names there with a language model (extra `ner`)."),
    click.option(
        "--semantic",
        type=click.Choice(["containment", "static", "minilm", "none"]),
        multiple=True,
        default=("containment",),
        show_default=True,
        help="How contextual values are looked for in other words; may be given several times.",
    ),
    click.option("--judge", metavar="URL", help="OpenAI-compatible endpoint that is asked about possible matches."),
    click.option("--judge-model", metavar="NAME", help="Model of the judge."),
    click.option("--judge-threshold", type=click.FloatRange(0, 1), help="Least score that confirms.  [default: 0.5]"),
    click.option("--judge-calls", type=click.IntRange(min=1), metavar="N", help="Ask at most so often."),
    click.option("--judge-weak", is_flag=True, help="Ask about weak registry matches, too."),
)


def tier_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options as one decorator."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def tiers_of(asked: dict[str, Any]) -> Any:
    """The tiers that were asked for.

    Raises:
        click.UsageError: a judge without a model.
    """
    from earwitness.audit.detect import Tiers

    methods = tuple(m for m in dict.fromkeys(asked["semantic"]) if m != "none")
    return Tiers(recognize=asked["recognize"], ner=asked["ner"], semantic=methods, judge=_judge(asked))


def _judge(asked: dict[str, Any]) -> Any:
    from earwitness.audit.judge.options import CALIBRATED, JudgeOptions

    if asked["judge"] is None and asked["judge_model"] is None:
        return None
    if asked["judge_model"] is None:
        raise click.UsageError("--judge needs --judge-model NAME: the model as the endpoint knows it")
    return JudgeOptions(
        asked["judge"],
        asked["judge_model"],
        threshold=CALIBRATED if asked["judge_threshold"] is None else asked["judge_threshold"],
        weak=asked["judge_weak"],
        max_calls=asked["judge_calls"],
    )
