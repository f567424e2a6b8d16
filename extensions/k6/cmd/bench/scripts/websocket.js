// The baseline of the native WebSocket receiver: k6's own client, which gives each message to the run.

import { WebSocket } from 'k6/websockets';
import { Run } from 'k6/x/arrival';

const run = new Run(JSON.parse(__ENV.RUN));

export const options = { scenarios: run.scenarios({ pump: true }) };

export function consumer() {
  const socket = new WebSocket(__ENV.PUSH_URL);
  socket.onopen = () => {
    run.subscribed();
    const ended = setInterval(() => {
      if (run.receiving()) return;
      clearInterval(ended);
      socket.close();
    }, 200);
  };
  socket.onmessage = ({ data }) => run.arrived(data);
}

export function subscriber() {
  run.collect();
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
