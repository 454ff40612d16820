"""Evidence for a judge: sources of passages, snapshots of what they answered, and their drift."""

from riskjudge.retrieval.bm25 import BM25Retriever
from riskjudge.retrieval.corpus import Document, read_corpus
from riskjudge.retrieval.drift import Drift, QueryOverlap, compare_snapshots
from riskjudge.retrieval.passage import Passage, RetrievalError, Retriever
from riskjudge.retrieval.recording import Tally, record_queries
from riskjudge.retrieval.snapshot import Recorder, Search, Snapshot, read_snapshot
from riskjudge.retrieval.sources import KNOWN_SOURCES, make_retriever
from riskjudge.retrieval.web import DDGS, Serper, Tavily

__all__ = [
    "DDGS",
    "KNOWN_SOURCES",
    "BM25Retriever",
    "Document",
    "Drift",
    "Passage",
    "QueryOverlap",
    "Recorder",
    "RetrievalError",
    "Retriever",
    "Search",
    "Serper",
    "Snapshot",
    "Tally",
    "Tavily",
    "compare_snapshots",
    "make_retriever",
    "read_corpus",
    "read_snapshot",
    "record_queries",
]
