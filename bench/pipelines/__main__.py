"""Entry point of `python -m bench.pipelines`."""

import sys

from bench.pipelines.command import main

if __name__ == "__main__":
    sys.exit(main())
