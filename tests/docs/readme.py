#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what README.md and the pages of docs/ say of the API, on the agent given.

Its blocks of shell with a curl in them run as they stand, but for the address
of the API, which is a free one here, and without the line that starts an agent.
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/api.md", "docs/tenants.md")
PRINTED = "127.0.0.1:11111"


def start(agent, *options):
    """The agent, and where its API is."""
    ports = ("--spop-listen", "127.0.0.1:0", "--log-listen", "127.0.0.1:0",
             "--api-listen", "127.0.0.1:0")
    process = subprocess.Popen([agent, *ports, *options],
                               stderr=subprocess.PIPE, text=True)
    api = None
    for line in process.stderr:
        if found := re.search(r"listening api=(\S+)", line):
            api = found[1]
        if re.search(r"\bready$", line.strip()):
            return process, api
    raise SystemExit("the agent did not start")


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.stderr.close()
    return process.wait(10)


def run(block, api, folder):
    lines = [line for line in block.replace(PRINTED, api).splitlines()
             if not line.startswith("build/")]
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
                          cwd=folder, capture_output=True, text=True,
                          timeout=30)
    if done.returncode != 0:
        raise SystemExit(f"failed: {block}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    agent = str(pathlib.Path(sys.argv[1]).resolve())
    blocks = [block for page in PAGES
              for block in re.findall(r"```sh\n(.*?)```",
                                      (ROOT / page).read_text(), re.S)
              if "curl" in block]
    with tempfile.TemporaryDirectory() as folder:
        process, api = start(agent)
        try:
            said = "".join(run(block, api, folder) for block in blocks)
        finally:
            status = stop(process)
        # What the blocks left behind starts the next agent.
        process, api = start(agent, "--rules", f"{folder}/rules.json")
        again = run(f"curl -s http://{PRINTED}/netlox/v1/config/"
                    "loadbalancer/all", api, folder)
        status = stop(process) or status
    assert '{"result":"Success"}' in said, said
    assert '"max_outstanding": 16' in said, said
    assert "loxilb_ai_admission_decisions_total" in said, said
    rule = json.loads(again)["lbAttr"][0]["serviceArguments"]
    assert rule["fc_effective"]["queue_depth"] == 32, again
    assert '"state":"maintenance"' in said.replace(" ", ""), said
    assert status == 0 and len(blocks) >= 3
    print(f"{len(blocks)} blocks of {', '.join(PAGES)} run")


if __name__ == "__main__":
    main()
