"""`python -m candor.cli`, where the command itself is not on the path."""

import sys

from candor.cli import main

sys.exit(main())
