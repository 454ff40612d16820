"""Items to judge, readers of other people's item files, and where labels come from."""

from riskjudge.items.item import Item, Label, ShapeError, read_items
from riskjudge.items.llmbar import read_llmbar

__all__ = ["Item", "Label", "ShapeError", "read_items", "read_llmbar"]
