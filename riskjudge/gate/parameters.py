"""Settings in scikit-learn's manners, without importing scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

from riskjudge.errors import InputError


class Parameters:
    """What ``sklearn.base.clone`` and people expect of an object with settings.

    The settings are the parameters of ``__init__``, kept under their own names.
    """

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """The settings by name."""
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name.

        Raises
        ------
        InputError
            If there is no setting of a name.
        """
        known = inspect.signature(type(self)).parameters
        for name, value in settings.items():
            if name not in known:
                raise InputError(f"no setting {name!r}; the settings are {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters
        told = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not parameters[name].default and value != parameters[name].default
        ]
        return f"{type(self).__name__}({', '.join(told)})"

    def fresh(self) -> Self:
        """The same settings, not fitted."""
        return type(self)(**self.get_params())

    def __sklearn_clone__(self) -> Self:
        # By default a gate given as `path` would be cloned too, and lose what it is given for.
        return self.fresh()

    def __sklearn_tags__(self) -> Any:
        # Asked for by scikit-learn alone, from version 1.6 on.
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))
