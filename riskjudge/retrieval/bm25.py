"""Lexical search over passages on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from riskjudge.errors import InputError, OperationalError
from riskjudge.retrieval.corpus import Document, fingerprint, read_corpus
from riskjudge.retrieval.passage import Passage, check_search

# Changes whenever `tokenize` does, so that no index built with the older one is loaded.
_TOKENIZER = 1

# Words of a question that say nothing about which passage answers it.
_STOPWORDS = frozenset(
    """
    a an and are as at be by did do does for from has have how in is it its of on or that the this
    to was were what when where which who whom whose why will with
    """.split()  # noqa: SIM905  # a list of forty quoted words reads worse
)


class BM25Retriever:
    """Okapi BM25 in Lucene's variant, over title and text.

    The best passages come first; equal scores keep the order of the corpus, and a passage that
    shares no word with the query is not a result, so there may be fewer than `k`. Words are runs of
    letters and digits: a language written without spaces needs another source.

    Parameters
    ----------
    documents : sequence of Document
        The corpus; see :func:`~riskjudge.retrieval.corpus.read_corpus`.
    name : str
        What :meth:`describe` calls the corpus.
    k1, b : float
        Saturation of term frequency, and how far long passages are discounted.
    cache : str or path, optional
        Folder where the index is kept between runs, under a name made of a hash of the passages
        and all settings, so that an index never answers for other passages than its own. None
        keeps it in memory alone.

    Raises
    ------
    OperationalError
        If bm25s is not installed.

    References
    ----------
    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).

    Examples
    --------
    >>> corpus = [Document("Chad", "The capital is N'Djamena.", "u1"),
    ...           Document("Togo", "The capital is Lomé.", "u2")]
    >>> retriever = BM25Retriever(corpus, cache=None)
    >>> [(found.rank, found.url) for found in retriever.search("What is the capital of Togo?", 3)]
    [(1, 'u2'), (2, 'u1')]
    >>> retriever.search("largest moon of Saturn", 3)
    []
    """

    def __init__(
        self,
        documents: Sequence[Document],
        *,
        name: str = "passages",
        k1: float = 1.5,
        b: float = 0.75,
        cache: str | Path | None = None,
    ) -> None:
        if not documents:
            raise InputError("BM25 needs at least one passage")
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(f"BM25 takes k1 >= 0 and b in [0, 1], got k1={k1!r}, b={b!r}")
        self.documents = tuple(documents)
        self.name, self.k1, self.b = name, k1, b
        self.fingerprint = fingerprint(self.documents)
        self._index = self._load_or_build(None if cache is None else Path(cache))

    @classmethod
    def from_path(cls, path: str | Path, **settings: Any) -> BM25Retriever:
        """Over a JSONL file or a folder; the index is kept in :func:`default_cache`."""
        path = Path(path)
        settings = {"name": path.name, "cache": default_cache(), **settings}
        return cls(read_corpus(path), **settings)

    def search(self, query: str, k: int) -> list[Passage]:
        """At most `k` passages that share a word with the query, best first."""
        check_search(query, k)
        terms = tokenize(query)
        # Where a question is made of stop words alone ("Who is it?"), nothing can be found.
        if not terms:
            return []
        scores = self._index.get_scores(terms)
        # A stable order, so that the same query finds the same passages on every machine.
        best = _best(scores, k)
        found = (self.documents[position] for position in best)
        return [
            Passage(document.title, document.text, document.url, rank)
            for rank, document in enumerate(found, start=1)
        ]

    def describe(self) -> str:
        """The corpus by name and fingerprint, and the settings."""
        return f"bm25:{self.name}@{self.fingerprint[:12]} k1={self.k1:g} b={self.b:g}"

    def _load_or_build(self, cache: Path | None) -> Any:
        bm25s = _import_bm25s()
        if cache is None:
            return self._build(bm25s)
        key = [self.fingerprint, self.k1, self.b, _TOKENIZER, bm25s.__version__]
        folder = cache / f"bm25-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]}"
        if folder.is_dir():
            try:
                index = bm25s.BM25.load(folder, show_progress=False)
                if index.scores["num_docs"] == len(self.documents):
                    return index
            except Exception:  # A cache that cannot be read, for whatever reason, is built anew.
                pass
            shutil.rmtree(folder, ignore_errors=True)
        index = self._build(bm25s)
        _keep(index, folder)
        return index

    def _build(self, bm25s: Any) -> Any:
        index = bm25s.BM25(k1=self.k1, b=self.b, method="lucene", backend="numpy")
        texts = (f"{document.title} {document.text}" for document in self.documents)
        index.index([tokenize(text) for text in texts], show_progress=False)
        return index


def tokenize(text: str) -> list[str]:
    """Words in lower case without accents, less the commonest; the same for text and query.

    Examples
    --------
    >>> tokenize("What is the capital of Côte d'Ivoire?")
    ['capital', 'cote', 'd', 'ivoire']
    """
    plain = "".join(
        character
        for character in unicodedata.normalize("NFKD", text.casefold())
        if not unicodedata.combining(character)
    )
    return [word for word in re.findall(r"\w+", plain) if word not in _STOPWORDS]


def default_cache() -> Path:
    """``$RISKJUDGE_CACHE``, else ``riskjudge`` in the user's cache folder."""
    chosen = os.environ.get("RISKJUDGE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riskjudge"


def _best(scores: np.ndarray[Any, Any], k: int) -> list[int]:
    """Positions of the `k` largest positive scores; ties in order of position."""
    if k < len(scores):
        floor = max(float(np.partition(scores, -k)[-k]), np.finfo(scores.dtype).tiny)
    else:
        floor = float(np.finfo(scores.dtype).tiny)
    candidates = np.flatnonzero(scores >= floor)
    order = np.argsort(-scores[candidates], kind="stable")[:k]
    return [int(position) for position in candidates[order]]


def _keep(index: Any, folder: Path) -> None:
    """Save the index whole or not at all; a cache that cannot be written is done without."""
    temporary = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".bm25-", dir=folder.parent))
        index.save(temporary, show_progress=False)
        temporary.rename(folder)
    except OSError:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _import_bm25s() -> Any:
    try:
        import bm25s
    except ImportError:
        raise OperationalError(
            "searching passages needs bm25s: pip install 'riskjudge[retrieval]'"
        ) from None
    return bm25s
