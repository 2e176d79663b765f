"""The daemon put together: its parts, what wakes them, how it starts, reloads and stops."""
