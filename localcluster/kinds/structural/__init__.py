"""Structural schemas as CustomResourceDefinitions have them: types, pruning, defaulting, validation, OpenAPI.

Pure functions over decoded JSON; nothing here knows a kind. Import them through `localcluster.kinds.schema`.
"""
