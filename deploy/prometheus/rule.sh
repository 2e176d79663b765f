#!/bin/sh
# Wraps a file of rules, from standard input, as the Prometheus Operator's object.
set -eu
cat <<'HEAD'
# Made of rules.yaml by `make docs`; do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: turnstile
  namespace: turnstile-system
  labels:
    app.kubernetes.io/name: turnstile
spec:
HEAD
sed -e '/^#/d' -e 's/^/  /'
