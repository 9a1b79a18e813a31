"""`ackd completion`: the script that completes commands, ack_ids and names in a shell."""

from __future__ import annotations

import click

from ackd.cli.options import common, examples


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
@click.pass_context
@examples(
    'eval "$(ackd completion bash)"        # in ~/.bashrc',
    'eval "$(ackd completion zsh)"         # in ~/.zshrc',
    "ackd completion fish > ~/.config/fish/completions/ackd.fish",
)
def completion(context: click.Context, shell: str) -> None:
    """Print the script for your shell."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    # Only its text is wanted: click's own way to it would start a bash to ask for its version.
    script = kind(context.find_root().command, {}, "ackd", "_ACKD_COMPLETE")
    click.echo(script.source_template % script.source_vars(), color=False)


COMMANDS: dict[str, click.Command] = {"completion": completion}
