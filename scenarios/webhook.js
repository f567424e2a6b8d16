// How long until a webhook comes back, and what changes where its receiver is slow or refuses calls?
//   INGEST_URL=http://host:port npm run scenario -- scenarios/webhook.js -e WEBHOOK_ADDRESS=:9000
//   … -e LATE=0.1 -e LATE_SECONDS=2 -e REFUSE=0.01         a tenth of the calls answered 2 s late, a hundredth refused
// The pipeline of your own has to take a POST and to call the webhook with the message, or with its id.
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { steadily } from './lib/own.js';
import { setting } from './lib/setting.js';

const set = settings('webhook');
for (const [name, share] of Object.entries({ LATE_SECONDS: set.LATE, REFUSE_STATUS: set.REFUSE }))
  if (__ENV[name] && share === 0)
    throw new Error(`${name} is set, and ${name.split('_')[0]}, the share of calls, is 0: set both`);
const { webhook, ...shared } = setting('webhook');

const run = new Run({
  name: 'webhook',
  ...shared,
  profile: steadily('webhook', set, { name: 'webhook', target: 'user' }),
  flows: shared.flows?.map((flow) => ({ ...flow, name: 'webhook' })),
  maxSenders: set.SENDERS,
  webhook: {
    ...webhook,
    ...(set.LATE > 0 && { late: { share: set.LATE, seconds: set.LATE_SECONDS } }),
    ...(set.REFUSE > 0 && { refuse: { share: set.REFUSE, status: set.REFUSE_STATUS } }),
  },
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({ arrival_p99: [`value<${set.P99}`] }),
};

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
