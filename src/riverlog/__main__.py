"""`python -m riverlog` is the command `riverlog`."""

import sys

from riverlog.cli import main

sys.exit(main())
