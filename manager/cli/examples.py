"""What `--help` of each command shows as examples; a test holds that every line is one that the program takes."""

from typing import Final

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "run": ("turnstile run -c turnstile.yaml", "turnstile run -c turnstile.yaml --shadow"),
    "healthcheck": ("turnstile healthcheck -c turnstile.yaml",),
    "status": (
        "turnstile status",
        "turnstile status workers -o wide",
        "turnstile status workloads -A --watch",
        "turnstile status gates -n team-a -o json",
    ),
    "top": ("turnstile top", "turnstile top -n team-a --interval 5s"),
    "ui": ("turnstile ui", "turnstile ui --server http://127.0.0.1:9644 --token-file token --no-open"),
    "explain": ("turnstile explain job/training -n team-a", "turnstile explain team-a/job-training-1a2b3 --watch"),
    "timeline": (
        "turnstile timeline job/training -n team-a",
        "turnstile timeline team-a/job-training-1a2b3 --journal journal.db",
        "turnstile timeline --victims -n team-a --since 24h",
    ),
    "plan": ("turnstile plan -f job.yaml", "turnstile plan -f job.yaml -c turnstile.yaml -o json"),
    "doctor": ("turnstile doctor", "turnstile doctor -c turnstile.yaml --worker worker-1 --timeout 5m"),
    "cost-controller": ("turnstile cost-controller -c turnstile.yaml",),
    "predict": ("turnstile predict -f cluster.yaml", "turnstile predict -f cluster.yaml --workload team-a/training"),
    "simulate": ("turnstile simulate -f cluster.yaml --cycles 50",),
    "predict-pods": ("turnstile predict-pods -f cluster.yaml --pod-group team-a/gang --mode v1.36",),
    "demo": ("turnstile demo", "turnstile demo --keep --directory demo"),
    "local cut": ("turnstile local cut worker-1", "turnstile local cut worker-1 --silent"),
    "local restore": ("turnstile local restore worker-1",),
    "local": (
        "turnstile local --fleet",
        "turnstile local --kueue",
        "turnstile local --clusters hub,east,west --directory clusters",
    ),
    "replay": ("turnstile replay journal.db", "turnstile replay journal.db --workload team-a/training --verbose"),
    "completion": (
        "turnstile completion bash > /etc/bash_completion.d/turnstile",
        "turnstile completion zsh > ~/.zfunc/_turnstile",
        "turnstile completion fish > ~/.config/fish/completions/turnstile.fish",
    ),
    "help": ("turnstile help worker add",),
    "config validate": ("turnstile config validate turnstile.yaml",),
    "config defaults": ("turnstile config defaults > turnstile.yaml",),
    "config schema": ("turnstile config schema > turnstile.schema.json",),
    "shadow report": ("turnstile shadow report", "turnstile shadow report --journal journal.db --last 10"),
    "worker add": ("turnstile worker add worker-1 --worker-kubeconfig worker-1.kubeconfig --to-config all",),
    "worker rotate": ("turnstile worker rotate worker-1 --worker-kubeconfig worker-1.kubeconfig",),
    "worker remove": ("turnstile worker remove worker-1 --worker-kubeconfig worker-1.kubeconfig",),
    "worker cordon": ("turnstile worker cordon worker-1",),
    "worker uncordon": ("turnstile worker uncordon worker-1",),
    "worker drain": (
        "turnstile worker drain worker-1 --dry-run",
        "turnstile worker drain worker-1 --per-minute 5 --yes --wait",
    ),
    "worker list": ("turnstile worker list -o wide",),
}


def examples_of(command: str) -> str:
    """Return the end of a command's help; `\\b` keeps the lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in EXAMPLES[command])])
