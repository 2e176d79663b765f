#!/bin/sh
# Finds the browser that the tests of the page need, or installs Debian's where that is possible. Never fails: without a
# browser those tests are skipped and say so.
set -u
for name in "${TURNSTILE_CHROMIUM:-chromium}" chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing chromium for the tests of the page, which takes about a minute"
  apt-get install --yes --quiet --no-install-recommends chromium >/dev/null 2>&1 && exit 0
  apt-get update --quiet >/dev/null 2>&1
  apt-get install --yes --quiet --no-install-recommends chromium >/dev/null 2>&1 && exit 0
fi
echo "no Chromium: the tests of the page are skipped. Install Debian's package chromium (as root: apt-get install chromium), or set TURNSTILE_CHROMIUM" >&2
exit 0
