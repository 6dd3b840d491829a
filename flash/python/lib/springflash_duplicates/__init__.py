"""The program springflash-duplicates. Importing what it needs takes a while, and an interrupt may come then."""

import signal
import sys


def main() -> None:
    try:
        from springflash.duplicates import main as run

        run()
    except KeyboardInterrupt:
        # A second one would only hide the first.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("springflash-duplicates: interrupted; repeat it with the same command", file=sys.stderr)
        sys.exit(130)
