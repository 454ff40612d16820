"""The formats that are known, one a file; the order is that in which they are tried."""

from riskjudge.readers.formats.alpaca_eval import AlpacaEval
from riskjudge.readers.formats.base import Format
from riskjudge.readers.formats.braintrust import Braintrust
from riskjudge.readers.formats.deepeval import DeepEval
from riskjudge.readers.formats.inspect_ai import InspectAI
from riskjudge.readers.formats.judge_bench import JudgeBench
from riskjudge.readers.formats.langsmith import LangSmith
from riskjudge.readers.formats.lm_eval import LMEval
from riskjudge.readers.formats.mt_bench import MTBenchPairs, MTBenchSingle
from riskjudge.readers.formats.openai_batch import OpenAIBatch
from riskjudge.readers.formats.promptfoo import Promptfoo
from riskjudge.readers.formats.ragas import Ragas
from riskjudge.readers.formats.reward_bench import RewardBench
from riskjudge.readers.formats.table import Table

FORMATS: dict[str, Format] = {
    reader.name: reader
    for reader in (
        InspectAI(),
        OpenAIBatch(),
        LMEval(),
        Promptfoo(),
        DeepEval(),
        JudgeBench(),
        MTBenchPairs(),
        MTBenchSingle(),
        AlpacaEval(),
        RewardBench(),
        LangSmith(),
        Braintrust(),
        Ragas(),
        Table(),
    )
}
"""Every format by its name."""

__all__ = ["FORMATS", "Format"]
