#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""recorder.py PORT UPSTREAM_PORT FILE: stands between rdmend and an Alertmanager. What the Alertmanager has accepted, and nothing else, is a
line of FILE: when (seconds of the monotonic clock), whether it fires, the labels. While the Alertmanager is away rdmend is told so (502)."""
import datetime
import http.client
import http.server
import json
import sys
import time

port, upstream, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def fires(alert):
    end = datetime.datetime.fromisoformat(alert["endsAt"].replace("Z", "+00:00"))
    return end.timestamp() > time.time()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        alerts = [{"fires": fires(alert), "labels": alert["labels"]} for alert in json.loads(body)]
        status = 502
        try:
            connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=60)
            connection.request("POST", self.path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            status, reason = answer.status, answer.read()
            connection.close()
            with open(path, "a", encoding="utf-8") as file:
                for alert in alerts:
                    if status == 200:
                        file.write(json.dumps({"at": time.monotonic(), **alert}) + "\n")
            if status == 400:
                print("the Alertmanager refuses", body, reason, flush=True)
        except OSError as error:
            print("the Alertmanager is away:", error, flush=True)
        try:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            pass  # rdmend waits no longer

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
