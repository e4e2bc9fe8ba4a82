"""One module a page. A new page is a new file here with a `blueprint`; nothing else has to be edited.

A page that belongs into the navigation bar also has `NAV = ("Label", "endpoint", order)`.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from flask import Flask

__all__ = ["init_app", "page_modules"]


def page_modules() -> list[ModuleType]:
    """The modules of this folder that have a blueprint, by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [module for module in modules if hasattr(module, "blueprint")]


def init_app(app: Flask) -> None:
    """Register every page and hand the navigation bar to the templates."""
    modules = page_modules()
    for module in modules:
        app.register_blueprint(module.blueprint)
    entries = [module.NAV for module in modules if hasattr(module, "NAV")]
    app.jinja_env.globals["navigation"] = sorted(entries, key=lambda entry: entry[2])
