#!/bin/sh
# Makes a base image from Debian packages, for machines that reach a Debian mirror and no registry: python3 and what it needs,
# busybox, authorities; no package manager. Needs root, mmdebstrap, and docker or podman.
#   deploy/container/base.sh [NAME] && make image BASE=NAME BUILD_BASE=NAME
set -eu
name="${1:-localhost/turnstile-base}"
suite="${SUITE:-bookworm}"
command -v mmdebstrap >/dev/null || { echo "error: mmdebstrap is not installed: apt-get install mmdebstrap" >&2; exit 1; }
for runtime in docker podman none; do
  if [ "$runtime" = none ]; then echo "error: neither docker nor podman works here" >&2; exit 1; fi
  if command -v "$runtime" >/dev/null 2>&1 && "$runtime" info >/dev/null 2>&1; then break; fi
done
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
root="$scratch/root"

# Packages are unpacked and not configured: no scripts run, and no package database has to be kept up to date.
mmdebstrap --quiet --variant=extract --mode=root \
  --include=python3,python3-venv,ca-certificates,busybox,base-files,libc-bin,netbase \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/perl5/*' \
  --dpkgopt='path-exclude=/usr/lib/x86_64-linux-gnu/perl*' --dpkgopt='path-exclude=/usr/bin/openssl' \
  --dpkgopt='path-exclude=/usr/lib/python3*/test/*' --dpkgopt='path-exclude=/usr/lib/python3*/lib2to3/*' \
  --dpkgopt='path-exclude=/usr/lib/python3*/idlelib/*' --dpkgopt='path-exclude=/usr/lib/python3*/pydoc_data/*' \
  "$suite" "$root"

# What the packages' own scripts would have done.
chroot "$root" /bin/busybox --install -s /bin
mkdir -p "$root/etc/ssl/certs"
cat "$root"/usr/share/ca-certificates/mozilla/*.crt > "$root/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0:root:/root:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\n' > "$root/etc/group"
# Nothing can write bytecode on a read-only root file system.
chroot "$root" /usr/bin/python3 -c 'import compileall, py_compile, sysconfig
compileall.compile_dir(sysconfig.get_path("stdlib"), quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)'

tar --create --directory "$root" --sort=name --mtime=@0 --clamp-mtime . |
  "$runtime" import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' --change 'ENV LANG=C.UTF-8' - "$name" >/dev/null
echo "made $name"
