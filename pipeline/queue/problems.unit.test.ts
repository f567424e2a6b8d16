import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainRedis } from './problems.ts';

const problems: [error: string, says: RegExp][] = [
  [
    "OOM command not allowed when used memory > 'maxmemory'. script: x, on @user_script:8.",
    /is full.*\(OOM\)$/,
  ],
  ["READONLY You can't write against a read only replica.", /read-only replica/],
  ["NOPERM User relay has no permissions to run the 'xadd' command", /ACL of this user.*'xadd' command/],
  ["NOGROUP No such key 'arrival:messages' or consumer group", /consumer group is gone/],
  ['UNBLOCKED the stream key no longer exists', /has lost its data \(UNBLOCKED\)$/],
  // Regression: a failover was reported as a loss of data.
  [
    'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
    /is a replica now \(UNBLOCKED\)$/,
  ],
  ['LOADING Redis is loading the dataset in memory', /still loading/],
  ['connect ECONNREFUSED 127.0.0.1:1', /^connect ECONNREFUSED/],
  [
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
    /^the connection to Redis broke/,
  ],
  ["Stream isn't writeable and enableOfflineQueue options is false", /^there is no connection to Redis$/],
  ['ERR max number of clients reached', /maxclients/],
  ['Command timed out', /^Redis did not answer in time$/],
  ['ERR unknown command', /^ERR unknown command$/],
  // Regression: it advised Node's options, which nobody can set here.
  [
    'self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
    /^self-signed certificate \(TLS_CA: /,
  ],
];
for (const [error, says] of problems) {
  test(`explained: ${error.slice(0, 24)}`, () => assert.match(explainRedis(new Error(error)), says));
}
