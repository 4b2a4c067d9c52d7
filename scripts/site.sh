#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes the site of the pages and of the public headers, build/site/index.html. Installs Debian's mkdocs-material and Doxygen
# where they are missing. Fails by any warning.
#
#   scripts/site.sh
#   scripts/site.sh check     # and checks that all pages fit a phone (scripts/setup_developers.sh site)
#   scripts/site.sh serve     # and shows it at http://127.0.0.1:8000, made anew when a page changes
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
speaker=site
. "$root/scripts/fetch.sh"
cd "$root"

missing=()
command -v doxygen >/dev/null || missing+=(doxygen)
if ! dpkg-query -W mkdocs-material >/dev/null 2>&1 && ! python3 -c 'import material' 2>/dev/null; then
  missing+=(mkdocs mkdocs-material)
fi
[ "${#missing[@]}" = 0 ] || install_packages "${missing[@]}"

# The pages as they lie in the tree, and beside them what else is in the site; all are links.
rm -rf build/doc
mkdir -p build/doc/pages build/doc/api
ln -s "$root"/{README,CONTRIBUTING,CHANGELOG}.md "$root"/{docs,examples,scripts/site/pages.css,build/doc/api} build/doc/pages

# The public headers, where an installed Riesz has them.
PYTHONPATH=tests/hygiene PYTHONDONTWRITEBYTECODE=1 python3 - "$root" <<'PYTHON'
import os, sys, check_links, check_lists
root = sys.argv[1]
for header in sorted(check_lists.public_headers(root)):
    here = os.path.join(root, "build/doc/include", header)
    os.makedirs(os.path.dirname(here), exist_ok=True)
    os.symlink(os.path.join(root, check_links.source_of(header)), here)
PYTHON
doxygen scripts/site/Doxyfile

if [ "${1:-}" = serve ]; then
  exec mkdocs serve
fi
mkdocs --quiet build
say "made build/site/index.html"
[ "${1:-}" != check ] || scripts/site/check_narrow.py build/site
