// How does the pipeline cope with many new connections a second, each with some calls? (httperf --rate 500 --num-conns 50000 --num-calls 10)
//   npm run scenario -- scenarios/sessions.js                       300 connections/s for 30 s, 10 calls on each
//   … -e SESSIONS=500 -e CALLS=10 -e DURATION=100                   as in that httperf command
// Sessions begin at a fixed rate. A call is due when the one before is answered.
import exec from 'k6/execution';
import http from 'k6/http';
import { Run } from 'k6/x/arrival';
import { sessionsAnswer } from './lib/answers.js';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { checkTrust } from './lib/stages.js';

checkTrust('k6/http');

const set = settings('sessions');
const { SESSIONS: rate, CALLS: calls, DURATION: duration, MAX_SESSIONS: most, TIMEOUT: timeout } = set;

const shared = setting();
const run = new Run({
  name: 'sessions',
  ...shared,
  profile: profileOf(`${rate} sessions/s of ${calls} calls`, {
    phases: [
      { name: 'sessions', duration, vus: most },
      // The last sessions finish here, so the rates are those of the phase before.
      { name: 'finish', duration: timeout, vus: most, measured: false },
    ],
    flows: flows.direct,
  }),
  timeout,
});

export const options = {
  scenarios: {
    subscriber: run.scenarios().subscriber,
    session: {
      executor: 'constant-arrival-rate',
      exec: 'session',
      rate,
      duration: `${duration}s`,
      startTime: '1s',
      preAllocatedVUs: Math.min(most, Math.ceil(rate)), // of a second: k6 drops a session while it makes a VU for it
      maxVUs: most,
      gracefulStop: `${Math.ceil(timeout)}s`,
    },
  },
  noVUConnectionReuse: true, // a session is a connection
  thresholds: run.thresholds({ dropped_iterations: ['count==0'] }),
};

export function subscriber() {
  run.collect();
  const {
    steps: [step],
    latency,
  } = run.result();
  const begun = exec.instance.iterationsCompleted + exec.instance.iterationsInterrupted; // a session is an iteration
  const missing = Math.max(0, Math.round(rate * duration) - begun);
  if (missing > 0) {
    console.warn(
      `${missing} sessions did not begin, as ${most} were under way (MAX_SESSIONS): lower SESSIONS or CALLS. ` +
        `Two cores with nothing else to do carried 500 sessions/s of 10 calls (2026-11-23)`,
    );
  }
  const carried = {
    sessions: exec.instance.iterationsCompleted / duration,
    requests: step.requests / step.duration_s,
  };
  run.figure('connection rate', carried.sessions, 'connections/s');
  run.figure('request rate', carried.requests, 'requests/s');
  run.answer(sessionsAnswer(calls, carried, latency.arrival));
}

const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${shared.ingest.token}` };

export function session() {
  for (let i = 0; i < calls; i++) {
    const slot = run.next();
    if (slot === null) return;
    const answer = http.post(shared.ingest.url + slot.path, slot.body, {
      headers,
      timeout: `${timeout}s`,
      tags: { name: slot.flow },
    });
    run.settle(slot, answer.status);
    if (answer.status === 0) return;
  }
}

export const handleSummary = run.summary;
