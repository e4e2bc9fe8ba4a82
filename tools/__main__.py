"""`python -m crosswind.tools` is `crosswind`."""

from crosswind.tools.cli import main

main(prog_name="crosswind")
