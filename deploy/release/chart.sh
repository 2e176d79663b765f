#!/bin/sh
# Packs the chart into DIRECTORY/turnstile-VERSION.tgz, by default dist/: without links, and with the same bytes for the same commit.
# `make chart` calls this.
set -eu
cd "$(dirname "$0")/../.."
version="$(sed -n 's/^version: //p' deploy/helm/turnstile/Chart.yaml)"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
output="${1:-dist}"
mkdir -p "$output"
tar --create --dereference --directory deploy/helm --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --mtime="@$SOURCE_DATE_EPOCH" --format=ustar turnstile | gzip --no-name --best > "$output/turnstile-$version.tgz"
echo "made $output/turnstile-$version.tgz"
