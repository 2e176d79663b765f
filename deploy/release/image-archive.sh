#!/bin/sh
# Saves the built image as dist/multikueue-turnstile-TAG.image.tar, for machines without a registry. `make dist` calls this.
set -eu
cd "$(dirname "$0")/../.."
version="$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)"
image="${IMAGE:-multikueue-turnstile}:${TAG:-$version}"
archive="dist/multikueue-turnstile-${TAG:-$version}.image.tar"
for runtime in docker podman; do
  if command -v "$runtime" >/dev/null 2>&1 && "$runtime" image inspect "$image" >/dev/null 2>&1; then
    rm -f "$archive"
    "$runtime" save --output "$archive" "$image"
    echo "made $archive"
    exit 0
  fi
done
echo "error: neither docker nor podman has an image $image; run make image" >&2
exit 1
