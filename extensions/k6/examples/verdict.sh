#!/bin/sh
# Measures, prints the verdict with its rules, and writes the page to report.html: what a CI job does. It ends with the code of the run.
#   INGEST_URL=http://127.0.0.1:8080 MQTT_URL=mqtt://127.0.0.1:1883 sh extensions/k6/examples/verdict.sh
set -eu
k6=${K6:-./k6}
export RUN_DIR="${RUN_DIR:-reports/runs/example}"
code=0
"$k6" run --quiet "$(dirname "$0")/arrival.js" || code=$?
"$k6" x arrival check "$RUN_DIR" || true
"$k6" x arrival render "$RUN_DIR" --out report.html
exit "$code"
