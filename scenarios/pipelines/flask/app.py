#!/usr/bin/env python3
r"""Takes events by POST, queues them in a Redis list, and publishes each to MQTT 3.1.1.

    pip install -r requirements.txt; REDIS_URL=redis://127.0.0.1:6379 MQTT_PORT=1883 PORT=5000 python3 app.py

How long do they take, and what becomes of each?

    INGEST_URL=http://127.0.0.1:5000 MQTT_URL=mqtt://127.0.0.1:1883 npm run scenario -- scenarios/own.js \
      -e INGEST_PATH=/events -e BODY='{"id":{{id}},"user":"{{target}}"}' -e ID_FORMAT=number \
      -e ID_FROM='json:$.meta.id' -e TOPIC_PREFIX=users/ -e MQTT_VERSION=3.1.1

Where does the time go? The run with -e SPANS=:4318, and here (the list carries no context, so the time behind it is one):

    pip install -r opentelemetry.txt; export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
    OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_TRACES_SAMPLER=parentbased_always_off \
      opentelemetry-instrument python3 app.py
"""
import json
import os
import threading

import paho.mqtt.client as mqtt
import redis
from flask import Flask, request

app = Flask(__name__)
queue = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))


@app.post("/events")
def take():
    event = request.get_json()
    queue.lpush("pushes", json.dumps({"event": int(event["id"]), "user": event["user"]}))
    return "", 202


def push():
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv311)
    client.connect(os.environ.get("MQTT_HOST", "127.0.0.1"), int(os.environ.get("MQTT_PORT", 1883)))
    client.loop_start()
    while True:
        _, text = queue.brpop("pushes")
        event = json.loads(text)
        client.publish(f"users/{event['user']}", json.dumps({"meta": {"id": event["event"]}}), qos=1)


if __name__ == "__main__":
    threading.Thread(target=push, daemon=True).start()
    app.run(port=int(os.environ.get("PORT", 5000)), threaded=True)
