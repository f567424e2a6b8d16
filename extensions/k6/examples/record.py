#!/usr/bin/env python3
"""Sends a profile's load with threads, and lets `k6 x arrival record` measure when it arrives.

    INGEST_URL=http://127.0.0.1:8080 MQTT_URL=mqtt://127.0.0.1:1883 python3 record.py scenarios/profiles/smoke.yml
"""
import http.client, json, os, platform, queue, subprocess, sys, threading, time, urllib.parse  # noqa: E401

env = os.environ.get
ingest = {"url": os.environ["INGEST_URL"], "token": env("INGEST_TOKEN", "")}
mqtt = {"url": os.environ["MQTT_URL"], "username": env("MQTT_USERNAME", ""), "password": env("MQTT_PASSWORD", "")}
options = {"profile": open(sys.argv[1]).read(), "ingest": ingest, "mqtt": mqtt, "redis": {"url": env("REDIS_URL", "")}}
options |= {"name": "python", "tool": {"name": "python", "version": platform.python_version()}, "runs": env("RUNS", "reports/runs")}
recorder = subprocess.Popen([env("K6", "./k6"), "x", "arrival", "record"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
saying, requests = threading.Lock(), queue.Queue()


def say(**line):
    with saying:
        print(json.dumps(line), file=recorder.stdin, flush=True)


def hear(key):
    for line in map(json.loads, recorder.stdout):
        if key in line or "error" in line:
            return line[key] if key in line else sys.exit(line["error"]["message"])
    sys.exit(f"the recorder ended: {recorder.wait()}")


def now():
    return time.monotonic_ns() // 1000


def sender():
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(ingest["url"]).netloc, timeout=10)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + ingest["token"]}
    while slot := requests.get():
        time.sleep(max(0, slot["due_us"] - now()) / 1e6)
        say(sent=slot["n"], at_us=now())
        try:
            connection.request("POST", slot["path"], slot["body"].encode(), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            say(settled=slot["n"], at_us=now(), status=answer.status, body=body)
        except (OSError, http.client.HTTPException) as failure:
            connection.close()
            what = {ConnectionRefusedError: "refused", ConnectionResetError: "reset", TimeoutError: "timeout"}.get(type(failure), "failed")
            say(settled=slot["n"], at_us=now(), error=what, message=str(failure))


say(options=options)
senders = [threading.Thread(target=sender) for _ in range(hear("ready")["senders"])]
say(start=True)
for thread in senders:
    thread.start()
while slots := say(next=1000) or hear("slots"):
    for slot in slots:
        requests.put(slot)
for thread in senders:
    requests.put(None)
for thread in senders:
    thread.join()
say(end=True)
print(hear("summary"))
sys.exit(recorder.wait())
