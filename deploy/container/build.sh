#!/bin/sh
# Builds the image with whichever builder works here: docker, podman or buildah. `make image` calls this; arguments go to the builder.
#   IMAGE, TAG           what it is called
#   BASE, BUILD_BASE     the bases, see the Dockerfile
#   EXTRA=tracing        with the OpenTelemetry exporter
#   PIP_INDEX_URL        another package index; one with a password belongs into PIP_CONF
#   PIP_CONF, CA_FILE    files: a pip.conf, and authorities in PEM to trust for the index; neither is kept in the image
set -eu
cd "$(dirname "$0")/../.."

version="$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)"
case "${EXTRA:-}" in
  "") lock=runtime tag="${TAG:-$version}" ;;
  tracing) lock=tracing tag="${TAG:-$version-tracing}" ;;
  *) echo "error: EXTRA: must be tracing, or not set" >&2; exit 2 ;;
esac
image="${IMAGE:-multikueue-turnstile}:$tag"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
revision="$(git rev-parse HEAD 2>/dev/null || true)"
file=deploy/container/Dockerfile
set -- --file "$file" --tag "$image" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" --build-arg "LOCK=$lock" \
  --build-arg "VERSION=$version" --build-arg "REVISION=$revision" "$@"
if [ -n "${BASE:-}" ]; then set -- --build-arg "BASE=$BASE" "$@"; fi
if [ -n "${BUILD_BASE:-}" ]; then set -- --build-arg "BUILD_BASE=$BUILD_BASE" "$@"; fi
if [ -n "${PIP_INDEX_URL:-}" ]; then set -- --build-arg "PIP_INDEX_URL=$PIP_INDEX_URL" "$@"; fi
for variable in PIP_CONF CA_FILE; do
  eval "path=\"\${$variable:-}\""
  if [ -z "$path" ]; then continue; fi
  if [ ! -r "$path" ]; then echo "error: $variable: $path cannot be read" >&2; exit 2; fi
  case "$variable" in PIP_CONF) id=pip.conf ;; *) id=ca.crt ;; esac
  set -- --secret "id=$id,src=$path" "$@"
done

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
