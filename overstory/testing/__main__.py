"""`python -m overstory.testing`: a scripted model to try things with, until it is interrupted."""

import argparse
import sys
import threading

from overstory.testing.behaviours import fail, slow
from overstory.testing.model_server import ScriptedModelServer

_HINT = """A scripted model listens on {url}; it extracts, it does not think. In another terminal:

  export LLM_MODEL=openai/scripted LLM_ENDPOINT={url}
  export EMBEDDING_MODEL=openai/scripted EMBEDDING_ENDPOINT={url}

Ctrl-C ends it.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m overstory.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 for any free one")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long an answer takes")
    parser.add_argument("--overloaded", type=float, default=0.0, help="share of calls that get a 429")
    options = parser.parse_args()
    with ScriptedModelServer(options.port) as server:
        if options.seconds:
            server.when(slow(options.seconds))
        if options.overloaded:
            server.when(fail(429, retry_after=1), share=options.overloaded)
        sys.stdout.write(_HINT.format(url=server.url))
        sys.stdout.flush()
        _wait()


def _wait() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
