"""Where `flows`, `tasks` and `retrieval` are.

In a checkout they are top-level packages beside this one; in the wheel they lie inside it, since their names are
words that a user's own application has. Everyone outside one of them reaches it through here:

    from overstory.layout import tasks
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import flows as flows
    import retrieval as retrieval
    import tasks as tasks

_PACKAGES = ("flows", "retrieval", "tasks")
_HERE = Path(__file__).resolve().parent


def __getattr__(name: str) -> Any:
    if name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _inside(name) if (_HERE / name / "__init__.py").is_file() else _beside(name)


def _inside(name: str) -> ModuleType:
    return import_module(f"overstory.{name}")


def _beside(name: str) -> ModuleType:
    place = _HERE.parent / name / "__init__.py"
    if not place.is_file():
        raise ImportError(f"Overstory's package {name!r} is missing: install Overstory again.")
    if name not in sys.modules and str(_HERE.parent) not in sys.path:
        sys.path.append(str(_HERE.parent))
    module = import_module(name)
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != place:
        raise ImportError(
            f"{name!r} is {found or 'a namespace package'}, not Overstory's: a checkout needs the name {name!r} for itself. "
            "Install Overstory as a package beside your application."
        )
    return module
