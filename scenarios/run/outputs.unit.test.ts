import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outputsOf } from './outputs.ts';

const env = { HOME: '/nonexistent' };
const second = { name: 'generator-2', port: 1 };

// Regression: several k6 wrote into one file, which lost lines and broke others.
test('each of several k6 has files and ports of its own', () => {
  const own = (args: string[], more = {}) => outputsOf(args, { ...env, ...more }, second).args.join(' ');
  assert.equal(own(['-q', '--out', 'json=a/i.json.gz']), '-q --out json=a/i-generator-2.json.gz');
  assert.equal(own(['-ojson=i.json']), '--out json=i-generator-2.json');
  assert.equal(own(['-o', 'csv']), '--out csv=fileName=file-generator-2.csv');
  assert.equal(
    own([], { K6_OUT: 'json=i,influxdb=http://h' }),
    '--out json=i-generator-2 --out influxdb=http://h',
  );
  assert.equal(own(['--summary-export=s.json']), '--summary-export s-generator-2.json');
  assert.equal(own([], { K6_ADDRESS: 'localhost:6565' }), '--address localhost:6566');
  const dashboard = { K6_WEB_DASHBOARD: 'true', K6_WEB_DASHBOARD_EXPORT: 'd.html' };
  assert.deepEqual(outputsOf([], { ...env, ...dashboard }, second).env, {
    K6_WEB_DASHBOARD_PORT: '5666',
    K6_WEB_DASHBOARD_EXPORT: 'd-generator-2.html',
  });
});

test('an output that cannot be divided is refused', () => {
  assert.throws(() => outputsOf(['--out', 'json'], env, second), /--out json writes to the standard output/);
  assert.deepEqual(outputsOf(['--out', 'json=-'], env, { name: 'run-1' }).args, ['--out', 'json=-']);
});
