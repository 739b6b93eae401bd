"""The app that a Python file defines."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from riverlog.pipelines.jobs.app import App, AppRefused

MODULE = "riverlog_app_file"
"""The name under which the file is loaded: not its own, which another module may have."""


def locate(path: str | Path) -> Path:
    """Find the file of an app, and let it, and Spark's workers, import what lies beside it.

    To be called before Spark is started. Raises `AppRefused` where there is no such file.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise AppRefused(f"{path} is not a file: name the Python file that defines the app")
    directory = str(file.parent)
    if directory not in sys.path:
        sys.path.insert(0, directory)
        # Workers are started with this environment.
        known = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = f"{directory}{os.pathsep}{known}" if known else directory
    return file


def load(file: Path) -> App:
    """Run a file and give the one `App` that it defines; Spark runs already, since functions may ask for it.

    What the file itself raises is not caught. Raises `AppRefused` where it defines no app, or several.
    """
    from pyspark import cloudpickle

    spec = importlib.util.spec_from_file_location(MODULE, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    # Its functions go to workers as they are: the name of its module means nothing there.
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    apps = {id(value): value for value in vars(module).values() if isinstance(value, App)}
    if len(apps) != 1:
        named = ", ".join(app.name for app in apps.values())
        raise AppRefused(
            f"{file} defines {len(apps)} apps{f' ({named})' if named else ''}: expected one, app = App(...)"
        )
    (app,) = apps.values()
    if not app.queries:
        raise AppRefused(f"app {app.name} in {file} has no queries: @app.query(...) declares one")
    return app
