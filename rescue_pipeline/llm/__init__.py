"""Asking models: who can be asked (registry), what is asked (planning), how (client, limits), what came back (journal,
answering), who grades it (judges), and answers made elsewhere (importing).

LiteLLM is imported only when something is really asked: it costs seconds and 200 MB.
"""

from rescue_pipeline.llm.workspace import Partition, Workspace

__all__ = ["Partition", "Workspace"]
