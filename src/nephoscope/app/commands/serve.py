"""`nephoscope serve`: reports of studies in a browser."""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from nephoscope.app.commands.options import RESULTS, add_command
from nephoscope.app.console import say, tell
from nephoscope.model.errors import Stopped


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(
        app,
        serve,
        under=RESULTS,
        example="serve results/laptop",
        then="open the address that it prints; Ctrl-C stops it",
    )


def serve(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="results folders, shown side by side")],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="port on 127.0.0.1; 0 picks a free one")] = 8765,
) -> None:
    """Show reports in a browser on this machine, also while their studies run; writes those that are missing or old."""
    from nephoscope.app.server import Shelf, listen, serve
    from nephoscope.machines.loopback import in_url
    from nephoscope.run.clock import SystemClock
    from nephoscope.store.folder import ResultsFolder

    results = [ResultsFolder.existing(folder) for folder in folders]
    with listen(port) as listening:
        shelf = Shelf(results, SystemClock())
        _clean_up_before_ending()
        say(f"http://{in_url(listening.getsockname()[0])}:{listening.getsockname()[1]}/")
        sys.stdout.flush()
        tell("Ctrl-C stops the server; the studies continue")
        try:
            serve(shelf, listening)
        except KeyboardInterrupt:
            tell("ended")
        finally:
            shelf.stop()


def _clean_up_before_ending() -> None:
    """Signals become an exception."""

    def stop(number: int, _: object) -> None:
        raise Stopped(number)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that started it in the background ignores it
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` ignores it, and it stays ignored
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
