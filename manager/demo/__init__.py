"""The demo: a hub, three workers and the daemon in one process, and a story that shows what a gate is good for.

Everything that the demo says of the clusters is read from the clusters, never from what the daemon means to do.
"""
