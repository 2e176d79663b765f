"""The process: systemd notification, event loop, supervision of tasks, threads, work budgets, file locks."""
