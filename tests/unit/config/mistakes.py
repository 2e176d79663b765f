"""A configuration with five mistakes, and what is said about them."""

from config.loading.loading import did_you_mean
from tests.unit.config.documents import HEADER

FIVE_MISTAKES = (
    HEADER
    + """\
hub:
  origin: "-hub-"
workers:
- name: w1
  kubeconfig: {path: /etc/multikueue/kubeconfigs/w1}
- name: w1
  kubeconfig: {path: w2}
gates:
  singleClusterPreemptionTimeout: -5s
  holdWhileQuotaReservd: true
"""
)


FIVE_ERRORS = [
    'turnstile.yaml:4: hub.origin: "-hub-" is not allowed: a label value of 1 to 63 characters (for example "hub-eu")',
    'turnstile.yaml:8: workers[1].name: "w1" is not allowed: a name that no other worker has '
    "(workers[0].name is the same, line 6)",
    'turnstile.yaml:9: workers[1].kubeconfig.path: "w2" is not allowed: an absolute path without ".." '
    '(for example "/etc/turnstile/kubeconfig")',
    'turnstile.yaml:11: gates.singleClusterPreemptionTimeout: "-5s" is not allowed: '
    'a duration of at least 1s (for example "5m")',
    f"turnstile.yaml:12: gates.holdWhileQuotaReservd: {did_you_mean('holdWhileQuotaReserved')}",
]
