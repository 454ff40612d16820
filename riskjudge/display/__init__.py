"""How numbers are shown to people."""

from riskjudge.display.table import Table

__all__ = ["Table"]
