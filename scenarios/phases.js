// How does the pipeline cope with the sessions of a site? Of ten sessions 7 browse and view, 2 view and join a room, 1 writes a post.
//   npm run scenario -- scenarios/phases.js                         60 s at 100 sessions/s, 60 s up to 200/s, 60 s at 200/s
//   TOPOLOGY=cluster npm run scenario -- scenarios/phases.js        the same behind a balancer
//   … -e WARMUP_RATE=10 -e RATE=20 -e WARMUP_DURATION=5 -e RAMP_DURATION=5 -e SUSTAINED_DURATION=5 -e THINK=0.1
//   … -e LOGIN_URL=http://host/login -e LOGIN_USER=ada -e CSV=/path/posts.csv
// Sessions begin at a fixed rate, wait for answers, and think in between. A request is due when its session sends it.
// It fails when p95 of HTTP is too high, a request times out, or a session cannot begin.

/** @import { Delimiter } from './lib/rows.js' */
import { sleep } from 'k6';
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import csv from 'k6/experimental/csv';
import { open as openFile, SeekMode } from 'k6/experimental/fs';
import http from 'k6/http';
import { Counter } from 'k6/metrics';
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { headersOf } from './lib/own.js';
import { columnsOf, formOf, placeOf, rowOf } from './lib/rows.js';
import { openProfile, setting } from './lib/setting.js';
import { at } from './lib/stack.js';
import { checkTrust } from './lib/stages.js';

checkTrust('k6/http');

const set = settings('phases');
const warmUp = { rate: set.WARMUP_RATE, duration: set.WARMUP_DURATION };
const ramp = { rate: set.RATE, duration: set.RAMP_DURATION };
const { SUSTAINED_DURATION: sustained, THINK: think, TIMEOUT: timeout, MAX_SESSIONS: most } = set;

/** How long a session thinks, times THINK, s. */
const LONGEST = 5;

/** Requests in ten sessions, as the flows of the profile have them. */
const kinds = [
  { name: 'browse', weight: 7 },
  { name: 'view', weight: 9 },
  { name: 'join', weight: 2 },
  { name: 'write', weight: 1 },
];

const sessions = [browse, browse, join, browse, browse, write, browse, join, browse, browse]; // 7 : 2 : 1

// All VUs share the rows and what was found of the file.
const file = at('..', set.CSV);
const [form] = new SharedArray('form', () => [formOf(set.CSV, open(file))]);
const posts = await parse(form);
const columns = columnsOf(set.CSV, posts[0], posts.length);

/**
 * All rows of the file, the first one with the names of the columns.
 * @param {{ delimiter: Delimiter, from: number }} form
 */
async function parse({ delimiter, from }) {
  const opened = await openFile(file);
  await opened.seek(from, SeekMode.Start); // the parser begins there
  try {
    // The cast corrects @types/k6, which has the class for its instance.
    const rows = /** @type {unknown} */ (await csv.parse(opened, { delimiter }));
    return /** @type {string[][]} */ (rows);
  } catch (error) {
    throw new Error(placeOf(/** @type {Error} */ (error).message, set.CSV, open(file), delimiter));
  }
}

const shared = setting('phases');
if (!['', 'off'].includes(String(shared.verify)))
  throw new Error(
    `VERIFY is ${shared.verify}, but sessions put rows of ${set.CSV} into their messages, which the run cannot compare; allowed: off`,
  );
if (shared.fuzz) throw new Error('SPEC is set, and messages have rows of CSV: leave it out');
if (shared.body !== undefined) rowsFit(shared.body);

const run = new Run({
  name: 'phases',
  ...shared,
  // The flows keep their names and shares, and go where those of the pipeline go.
  flows: shared.flows && kinds.map((kind) => ({ ...shared.flows?.[0], ...kind })),
  profile: openProfile('profiles/phases.yml'),
  phases: {
    'warm-up': { duration: warmUp.duration, vus: most },
    ramp: { duration: ramp.duration, vus: most },
    sustained: { duration: sustained, vus: most },
    finish: { duration: LONGEST * think + timeout, vus: most },
  },
  timeout,
});

const timeouts = new Counter('timeouts');

export const options = {
  scenarios: {
    subscriber: run.scenarios().subscriber,
    session: {
      executor: 'ramping-arrival-rate',
      exec: 'session',
      startTime: '1s',
      startRate: warmUp.rate,
      stages: [
        { duration: `${warmUp.duration}s`, target: warmUp.rate },
        { duration: `${ramp.duration}s`, target: ramp.rate },
        { duration: `${sustained}s`, target: ramp.rate },
      ],
      preAllocatedVUs: Math.min(most, Math.ceil(ramp.rate * (0.5 + LONGEST * think))),
      maxVUs: most,
      gracefulStop: `${Math.ceil(LONGEST * think + timeout)}s`,
    },
  },
  noConnectionReuse: !shared.ingest.keepAlive,
  thresholds: run.thresholds({
    timeouts: ['count==0'],
    http_req_duration: [`p(95)<${set.P95}`],
    dropped_iterations: ['count==0'],
  }),
};

/**
 * Throws when the rows of CSV cannot be the payload of a message.
 * @param {string} body
 */
function rowsFit(body) {
  try {
    if (Object.keys(JSON.parse(body.replace(/\{\{.*?\}\}/g, '0'))).length > 0) return;
  } catch {}
  throw new Error('BODY is no JSON object, and rows of CSV are its field payload; allowed: {"id":"{{id}}"}');
}

/** Logs in and captures the token. Without LOGIN_URL it is INGEST_TOKEN, or the token of the running pipeline. */
export function setup() {
  if (!set.LOGIN_URL) return { token: shared.ingest.token };
  const login = JSON.stringify({ user: set.LOGIN_USER, password: set.LOGIN_PASSWORD ?? '' });
  const answer = http.post(set.LOGIN_URL, login, { headers: { 'Content-Type': 'application/json' } });
  const token = answer.status === 200 ? answer.json(set.LOGIN_TOKEN) : undefined;
  if (!token) exec.test.abort(`LOGIN_URL answered ${answer.status} without a token`);
  return { token };
}

export function subscriber() {
  run.collect();
}

/** @typedef {string | undefined} Token */

/** @param {{ token: Token }} data what setup() returned */
export function session({ token }) {
  sessions[exec.scenario.iterationInTest % sessions.length](token);
}

/**
 * Looks at a list, thinks, and views what it has found.
 * @param {Token} token
 */
function browse(token) {
  const found = request('browse', token);
  sleep(2 * think);
  if (found) request('view', token, found);
}

/**
 * Views an item, thinks, and joins the room that it belongs to.
 * @param {Token} token
 */
function join(token) {
  const found = request('view', token);
  sleep(5 * think);
  if (found) request('join', token, found);
}

/** @param {Token} token */
function write(token) {
  request('write', token);
}

/**
 * Sends one request with a row of the CSV file, and returns what is captured from its answer for the next one.
 * @param {string} flow
 * @param {Token} token
 * @param {unknown} [found] what the last one has captured
 */
function request(flow, token, found) {
  const slot = run.next(flow);
  if (slot === null) return undefined;
  const row = rowOf(columns, posts[1 + (exec.scenario.iterationInTest % (posts.length - 1))]);
  const message = { ...JSON.parse(slot.body), payload: { ...row, ...(found ? { found } : {}) } };
  const answer = http.post(shared.ingest.url + slot.path, JSON.stringify(message), {
    headers: headersOf(shared, token),
    timeout: `${timeout}s`,
    tags: { name: flow },
  });
  run.settle(slot, answer.status);
  if (answer.error_code === TIMED_OUT) timeouts.add(1);
  return answer.status >= 200 && answer.status < 300 ? (answer.json(set.CAPTURE) ?? undefined) : undefined;
}

/** k6's error code of a request that took longer than its time-out. */
const TIMED_OUT = 1050;

/** @param {{ metrics: Record<string, { values: Record<string, number> }> }} data */
export function handleSummary(data) {
  run.figure('time-outs', data.metrics.timeouts?.values.count ?? 0, 'requests');
  return run.summary(data);
}
