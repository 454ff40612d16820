"""Readers of the files that people hold: logs and exports of evaluation tools become traces."""

from riskjudge.readers.choices import Choices
from riskjudge.readers.formats import FORMATS
from riskjudge.readers.importing import Imported, import_files

__all__ = ["FORMATS", "Choices", "Imported", "import_files"]
