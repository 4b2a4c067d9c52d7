#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
"""check_narrow.py SITE [FOLDER ...]: every page of the site fits the width of a phone, 390 pixels.

No page scrolls sideways; a table, a block of code or a picture may scroll within itself. Every picture is there. Chromium, without a
window, reads the pages in a frame of this width, one after another, and reports what it measures to a server that runs here.
scripts/site.sh check runs it. FOLDER: only the pages in these folders of the site, such as docs/start.
"""
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

WIDTH, HEIGHT = 390, 844
SECONDS_OF_A_PAGE = 10

READER = """<!doctype html><iframe id="frame" width="%d" height="%d" style="border:0"></iframe><script>
const frame = document.getElementById("frame"), wait = ms => new Promise(done => setTimeout(done, ms));

// Does a part stand beyond the right edge, and not in a box that scrolls or hides it?
function beyond(part, view) {
  const box = part.getBoundingClientRect();
  if (box.width == 0 || box.height == 0 || box.right <= view.innerWidth + 1) return false;
  for (let at = part; at && at != view.document.body; at = at.parentElement)
    if (at != part && view.getComputedStyle(at).overflowX != "visible" || view.getComputedStyle(at).position == "fixed") return false;
  return true;
}

async function measured(page) {
  const loaded = new Promise(done => frame.onload = done);
  frame.src = page;
  await Promise.race([loaded, wait(%d)]);
  const view = frame.contentWindow, faults = [];
  await Promise.all([...view.document.images].map(image => image.decode().catch(
    () => faults.push("there is no picture " + image.getAttribute("src")))));
  const scrolls = view.document.documentElement.scrollWidth;
  const parts = [...view.document.body.querySelectorAll("*")].filter(part => beyond(part, view));
  const inner = parts.filter(part => !parts.some(other => other != part && part.contains(other)));
  if (scrolls > view.innerWidth || inner.length)
    faults.push(scrolls + " pixels wide, by " + inner.slice(0, 3).map(part => part.tagName.toLowerCase() + ": " +
                (part.getAttribute("src") || part.textContent.replace(/\\s+/g, " ").trim()).slice(0, 80)).join(" | "));
  return faults;
}

(async () => {
  const pages = await (await fetch("/pages.json")).json(), found = {};
  for (const page of pages) {
    const faults = await measured("/site/" + page).catch(error => [String(error)]);
    if (faults.length) found[page] = faults;
  }
  await fetch("/found", {method: "POST", body: JSON.stringify({pages: pages.length, found})});
})();
</script>""" % (WIDTH, HEIGHT, 1000 * SECONDS_OF_A_PAGE)


def pages_in(site, folders):
    paths = (os.path.relpath(os.path.join(folder, name), site) for folder, _, names in os.walk(site) for name in names)
    return sorted(path for path in paths if path.endswith(".html") and path != "404.html" and
                  (not folders or any(path.startswith(folder.rstrip("/") + "/") for folder in folders)))


def server_of(site, pages, said):
    """A server of the site, of the page that reads it, and of what that page has found."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words):
            super().__init__(*words, directory=site)

        def do_GET(self):
            own = {"/": ("text/html", READER), "/pages.json": ("application/json", json.dumps(pages))}
            if self.path not in own:
                self.path = self.path.removeprefix("/site")
                return super().do_GET()
            kind, text = own[self.path]
            self.send_response(200)
            self.send_header("Content-Type", kind + "; charset=utf-8")
            self.end_headers()
            return self.wfile.write(text.encode())

        def do_POST(self):
            said.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            """A frame that goes to the next page leaves what it still reads of the last."""

    return Server(("127.0.0.1", 0), Handler)


def read_by_browser(site, pages):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        sys.exit("check_narrow: there is no chromium; run scripts/setup_developers.sh site")
    said, asked = [], threading.Event()
    with server_of(site, pages, said) as server, tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
                 f"--window-size={2 * WIDTH},{HEIGHT}", "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            for _ in range(SECONDS_OF_A_PAGE * len(pages) + 60):
                if said or process.poll() is not None:
                    break
                asked.wait(1)
            process.terminate()
            process.wait()
        server.shutdown()
    if not said:
        sys.exit("check_narrow: the browser has reported nothing")
    return said[0]


def main():
    site = os.path.abspath(sys.argv[1])
    pages = pages_in(site, sys.argv[2:])
    if not pages:
        sys.exit(f"check_narrow: there are no pages in {site}; make them by scripts/site.sh")
    said = read_by_browser(site, pages)
    for page, faults in said["found"].items():
        print(*(f"{page}: {fault}" for fault in faults), sep="\n")
    print(f"{said['pages'] - len(said['found'])} of {len(pages)} pages fit {WIDTH} pixels")
    sys.exit(1 if said["found"] else 0)


if __name__ == "__main__":
    main()
