#!/bin/sh
# Prints a kubeconfig of Turnstile's service account on the hub, for a daemon outside of it: address and authority are those of the
# current context of $KUBECONFIG. Apply hub.yaml first; the hub may grant a shorter life than asked for.
#   hub-kubeconfig.sh [DURATION] > hub.kubeconfig
set -eu
kubectl="${KUBECTL:-kubectl}"
token="$("$kubectl" --namespace turnstile-system create token turnstile --duration "${1:-8760h}")"
hub() { "$kubectl" config view --raw --minify --flatten --output "jsonpath={.clusters[0].cluster.$1}"; }
cat <<END
apiVersion: v1
kind: Config
current-context: hub
clusters:
  - name: hub
    cluster:
      server: $(hub server)
      certificate-authority-data: $(hub certificate-authority-data)
users:
  - name: turnstile
    user:
      token: $token
contexts:
  - name: hub
    context: {cluster: hub, user: turnstile, namespace: turnstile-system}
END
