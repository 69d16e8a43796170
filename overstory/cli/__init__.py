"""The command line: `overstory --help`."""


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    from overstory.cli.app import app
    from overstory.cli.terminal import prepare_streams

    prepare_streams()
    app(prog_name="overstory")
