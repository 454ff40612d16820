"""The paper, reproduced: published figures, synthetic traces fitted to them, tables and figures.

``published`` and ``targets`` hold what the paper says and what the model was fitted to; ``model``,
``coarse``, ``fit`` and ``parameters`` the synthetic traces; ``traces``, ``protocol`` and ``tables``
what is run; ``reproduction``, ``render``, ``figures`` and ``session`` what comes out.
"""
