"""What the broker pays for compaction before there is any."""

import subprocess
import sys


def test_a_broker_does_not_load_what_only_helpers_need() -> None:
    program = "import sys, riverlog.broker.server; print('numpy' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)

    assert told.stdout == "False\n"


def test_a_helper_does_not_load_the_broker() -> None:
    program = "import sys, riverlog.log.cleaning.helper; print('riverlog.broker' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)

    assert told.stdout == "False\n"
