# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""What mkdocs does besides (mkdocs.yml, hooks): the navigation, links to the headers' pages, and a look at all links.

Pages are written for GitHub. The navigation is the tables of docs/README.md. A header in backticks, such as `src/nn/module.h`
or `riesz/nn/module.h`, links to its page by Doxygen, if it is public.
"""

import html
import os
import re
import xml.etree.ElementTree as xml
from urllib.parse import unquote, urldefrag

from mkdocs.exceptions import Abort
from mkdocs.structure.nav import Link

ROW = re.compile(r"^(?:## (.+)|\| \[([^\]]+)\]\(([^)]+\.md)\).*)$", re.M)
HEADER = re.compile(r"(?<!\[)`(?:src|riesz|models)/([\w./-]+\.h)`(?!\])")
FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)


def on_config(config):
    """The navigation: README, the sections of docs/README.md with their pages, and what else stands at the root."""
    pages = config["docs_dir"]
    sections = []
    with open(os.path.join(pages, "docs/README.md"), encoding="utf-8") as index:
        for heading, title, link in ROW.findall(index.read()):
            if heading:
                sections.append({heading: []})
            else:
                next(iter(sections[-1].values())).append({title: "docs/" + link})
    config["nav"] = [{"Overview": "README.md"}, {"All pages": "docs/README.md"}, *sections,
                     {"Glossary": "docs/glossary.md"}, {"Contributing": "CONTRIBUTING.md"}, {"Changelog": "CHANGELOG.md"}]
    config["headers"] = dict(headers(xml.parse(os.path.join(pages, "../riesz.tag")).getroot()))
    return config


def headers(tags):
    """(riesz/<room>/<file>.h, its page) of each public header, from Doxygen's tags."""
    for compound in tags.iter("compound"):
        if compound.get("kind") == "file" and compound.findtext("name").endswith(".h"):
            folder = compound.findtext("path").partition("/doc/include/")[2]
            yield folder + compound.findtext("name"), compound.findtext("filename")


def on_nav(nav, config, files):
    nav.items.append(Link("Headers", "api/index.html"))
    return nav


def on_page_markdown(text, page, config, files):
    """Links the public headers that a page names."""
    def link(name):
        path = name.group(1)
        spellings = ("riesz/" + path, "riesz/models/" + path)
        found = next((config["headers"][header] for header in spellings if header in config["headers"]), None)
        up = os.path.relpath("api", os.path.dirname(page.file.src_uri) or ".")
        return f"[{name.group(0)}]({up}/{found})" if found else name.group(0)

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else HEADER.sub(link, part) for part in parts)


def on_page_content(text, page, config, files):
    """In a table \\| is |, in code too, as on GitHub; a long name, such as model.key_value_heads, may break between words."""
    def code(name):
        return re.sub(r"(?<=\w)([._/])(?=\w{2})", r"\1<wbr>", name.group(0))

    def cell(found):
        return re.sub(r"(?<=<code>)[^<]{12,}(?=</code>)", code, found.group(0).replace("\\|", "|"))

    return re.sub(r"<td.*?</td>", cell, text, flags=re.S)


def on_post_build(config):
    """Every link of a page leads to a file of the site and to a place that is in it."""
    site = config["site_dir"]
    places, wrong = {}, []

    def ids(path):
        if path not in places:
            with open(path, encoding="utf-8") as file:
                places[path] = set(re.findall(r'\b(?:id|name)="([^"]+)"', file.read()))
        return places[path]

    for folder, _, names in os.walk(site):
        for name in names if not folder.startswith(os.path.join(site, "api")) else ():
            if not name.endswith(".html") or name == "404.html":
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                links = re.findall(r'\b(?:href|src)="([^"]*)"', file.read())
            for link in set(links):
                path, place = urldefrag(unquote(html.unescape(link)))
                if re.match(r"\w+:|//", link):
                    continue
                target = os.path.normpath(os.path.join(folder, path)) if path else os.path.join(folder, name)
                target = os.path.join(target, "index.html") if os.path.isdir(target) else target
                if not os.path.exists(target) or place and target.endswith(".html") and place not in ids(target):
                    wrong.append(f"{os.path.relpath(os.path.join(folder, name), site)}: {link}")
    if wrong:
        raise Abort("links that lead nowhere:\n" + "\n".join(wrong))
