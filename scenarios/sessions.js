// How does the pipeline cope with many new connections a second, each with some calls? (httperf --rate 500 --num-conns 50000 --num-calls 10)
//   npm run scenario -- scenarios/sessions.js                       300 connections/s for 30 s, 10 calls on each
//   … -e SESSIONS=500 -e CALLS=10 -e DURATION=100                   as in that httperf command
// Sessions begin at a fixed rate. A call is due when the one before is answered.
import http from 'k6/http';
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { headersOf } from './lib/own.js';
import { setting } from './lib/setting.js';
import { checkTrust } from './lib/stages.js';

checkTrust('k6/http');

const set = settings('sessions');
const { SESSIONS: rate, CALLS: calls, DURATION: duration, MAX_SESSIONS: most, TIMEOUT: timeout } = set;

const shared = setting('sessions');
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
  question: { kind: 'sessions', perSecond: rate, calls, duration },
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
      preAllocatedVUs: Math.min(most, Math.ceil(rate)), // those of a second: k6 drops a session while it makes a VU for it
      maxVUs: most,
      gracefulStop: `${Math.ceil(timeout)}s`,
    },
  },
  noVUConnectionReuse: true, // a session is a connection
  noConnectionReuse: !shared.ingest.keepAlive,
  thresholds: run.thresholds({ dropped_iterations: ['count==0'] }),
};

export function subscriber() {
  run.collect();
  const { sessions } = run.result().facts;
  if (sessions && sessions.missing > 0) {
    console.warn(
      `${sessions.missing} sessions did not begin, as ${most} were under way (MAX_SESSIONS): lower SESSIONS or CALLS. ` +
        `Two cores with nothing else to do carried 500 sessions/s of 10 calls (2026-11-23)`,
    );
  }
  run.figure('connection rate', sessions?.per_s ?? Number.NaN, 'connections/s');
  run.figure('request rate', sessions?.requests_per_s ?? Number.NaN, 'requests/s');
}

const headers = headersOf(shared);

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
