"""A cluster as its operator reaches it: by the operator's own kubeconfig, for commands that a person runs.

Loading and typed APIs are kubernetes-asyncio's, which takes half a second to import, so nothing here is imported
before a command needs it. The daemon has a client of its own (docs/decisions/0016).
"""
