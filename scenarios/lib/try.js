// Lets one message go round a pipeline, and says step by step what it saw. `k6 x arrival try` holds this script.

import { Run } from 'k6/x/arrival';
import { refuseUnknown } from './declarations.js';
import { profileOf } from './load.js';
import { setting } from './setting.js';

refuseUnknown('try');
const where = setting('try');

/** The first target: there is one message, and so one connection where each target has its own. */
const first = (/** @type {number | string[] | undefined} */ targets) =>
  Array.isArray(targets) ? targets.slice(0, 1) : 1;
const rows = Object.entries(where.rows ?? {}).map(([name, column]) => [name, column.slice(0, 1)]);

const run = new Run({
  ...where,
  name: 'try',
  ...(where.rows && { rows: Object.fromEntries(rows) }),
  ...(where.websocket && { websocket: { ...where.websocket, connections: undefined } }),
  ...(where.sse && { sse: { ...where.sse, connections: undefined } }),
  everyFlow: { ...where.everyFlow, targets: first(where.everyFlow.targets) },
  canary: false,
  greet: true,
  profile: profileOf('try', {
    phases: [{ name: 'one', duration: 1, arrivalRate: 1 }],
    flows: [{ name: 'own', target: 'user' }],
  }),
});

const timeout = Number(__ENV.TRY_TIMEOUT || 30);

export const options = {
  scenarios: {
    try: { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: `${Math.ceil(timeout) + 30}s` },
  },
};

export default function () {
  run.greet(timeout);
}

export const handleSummary = () => ({});
