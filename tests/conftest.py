"""What holds for the whole suite."""

from __future__ import annotations

import signal

# A shell that starts a command in the background lets it ignore Ctrl-C, and so do that command's children:
# tests of what Ctrl-C does would wait for nothing. What is handled, not ignored, is the default for children.
signal.signal(signal.SIGINT, signal.default_int_handler)
