#!/bin/sh
# Applies a kustomization and removes what an earlier one left behind: roles, policies, Services and ConfigMaps that kubectl applied
# with this label and that the kustomization no longer has. It touches no Secret, no claim and no namespace.
#   deploy/kustomize/apply.sh DIRECTORY [kubectl's options]
set -eu
if [ $# -lt 1 ] || [ ! -d "$1" ]; then echo "usage: apply.sh DIRECTORY [kubectl's options]" >&2; exit 2; fi
directory="$1"
shift
exec "${KUBECTL:-kubectl}" apply -k "$directory" --prune -l app.kubernetes.io/part-of=multikueue-turnstile \
  --prune-allowlist=rbac.authorization.k8s.io/v1/ClusterRole \
  --prune-allowlist=rbac.authorization.k8s.io/v1/ClusterRoleBinding \
  --prune-allowlist=rbac.authorization.k8s.io/v1/Role \
  --prune-allowlist=rbac.authorization.k8s.io/v1/RoleBinding \
  --prune-allowlist=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy \
  --prune-allowlist=admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding \
  --prune-allowlist=core/v1/Service \
  --prune-allowlist=core/v1/ConfigMap \
  --prune-allowlist=policy/v1/PodDisruptionBudget \
  --prune-allowlist=networking.k8s.io/v1/NetworkPolicy \
  "$@"
