"""What models are asked, as versioned files, and how their replies are read."""

from riskjudge.prompts.decision import Decision, Undecidable, read_decision
from riskjudge.prompts.prompt import (
    PROMPTS,
    Prompt,
    fence,
    fenced_passages,
    load_prompt,
    parse_prompt,
)

__all__ = [
    "PROMPTS",
    "Decision",
    "Prompt",
    "Undecidable",
    "fence",
    "fenced_passages",
    "load_prompt",
    "parse_prompt",
    "read_decision",
]
