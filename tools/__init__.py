"""The command line: `cli` names the verbs, each in one thin file. The package has no Python interface of its own."""

__all__: list[str] = []
