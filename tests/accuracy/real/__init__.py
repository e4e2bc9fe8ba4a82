"""The accuracy of the estimators on real programs with known interference: `python -m accuracy.real --help`.

The way of the data: programs -> calibration (a clean run) -> injection (what to add) -> execution (one run, kept in a
folder) -> evaluation (truth from the injector's log, estimates) -> results (JSON lines) -> summary, figures, page.
"""
