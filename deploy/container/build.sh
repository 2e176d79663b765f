#!/bin/sh
# Builds the image with whichever builder works here: docker, podman or buildah. `make image` calls this.
set -eu
cd "$(dirname "$0")/../.."

image="${IMAGE:-multikueue-turnstile}:${TAG:-$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)}"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
file=deploy/container/Dockerfile
set -- --file "$file" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" --tag "$image"
if [ -n "${BASE:-}" ]; then
  set -- "$@" --build-arg "BASE=$BASE"
fi

# OCI's own format has no HEALTHCHECK.
with_podman() { "$@" --format docker --ignorefile "$file.dockerignore" --timestamp "$SOURCE_DATE_EPOCH" .; }

works() { command -v "$1" >/dev/null 2>&1 && "$1" info >/dev/null 2>&1; }

if works docker && docker buildx version >/dev/null 2>&1; then
  docker buildx build "$@" --output type=docker,rewrite-timestamp=true .
elif works podman; then
  with_podman podman build "$@"
elif works buildah; then
  with_podman buildah build "$@"
else
  echo "error: no image builder works here: start docker (with buildx), or install podman or buildah" >&2
  exit 1
fi
echo "built $image"
