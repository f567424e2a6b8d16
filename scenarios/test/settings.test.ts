import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { arrivals, bodies, broker, ownPipeline, queue, samples, scripts } from '../lib/declarations.js';
import { ADDRESSES, firstProblem } from '../run/k6.ts';
import { checkVariables, headOf, isScript, nameOf, rowsOf } from '../run/usage.ts';
import { k6, place, ROOT } from './harness.ts';

test('each script begins with its question and its command, and the README lists it', async () => {
  const folder = join(ROOT, 'scenarios');
  const scripts = (await readdir(folder)).filter(isScript);
  assert.ok(scripts.length >= 17);
  const readme = await readFile(join(folder, 'README.md'), 'utf8');
  for (const script of scripts) {
    const [first = '', ...more] = (await readFile(join(folder, script), 'utf8')).split('\n');
    assert.match(first, /^\/\/ .*\?/, script);
    const command = more.slice(0, 2).find((line) => /^\/\/ {3}.*(npm run|pipeline\/run\.ts)/.test(line));
    assert.ok(command, script);
    assert.ok(readme.includes(`](${script})`), script);
  }
});

test('each script reads exactly the settings that it declares', async () => {
  const folder = join(ROOT, 'scenarios');
  const files = (await readdir(folder)).filter(isScript);
  assert.deepEqual(files.map(nameOf).sort(), Object.keys(scripts).sort());
  for (const [name, declared] of Object.entries(scripts)) {
    const file = files.find((one) => nameOf(one) === name) as string;
    const source = await readFile(join(folder, file), 'utf8');
    assert.ok(source.includes(`settings('${name}')`), name);
    const destructured = /const \{([^}]+)\}\s*=\s*(?:set;|settings\()/.exec(source)?.[1] ?? '';
    const read = new Set([
      ...[...destructured.matchAll(/\b([A-Z]\w*)/g)].map(([, one]) => one),
      ...[...source.matchAll(/\bset\.([A-Z]\w*)/g)].map(([, one]) => one),
    ]);
    // setting() reads these, and those of the pipeline.
    const theirs = name !== 'push' && name !== 'throughput' ? ownPipeline() : bodies();
    const steadily = source.includes('steadily(') ? ['RATE', 'DURATION', 'WARMUP'] : [];
    const lists = { ...queue(), ...broker(), ...theirs, ARRIVE: 0, TARGET: 0 };
    const shared = [...steadily, ...Object.keys(lists)];
    const own = Object.keys(declared()).filter((one) => !shared.includes(one));
    const others = [...read].filter((one) => !shared.includes(one as string));
    assert.deepEqual(others.sort(), own.sort(), name);
  }
});

// Regression: k6 loads a script once more for its summary, and printed it twice.
test('a run of k6 itself says once which settings of the environment it ignores', async (t) => {
  const { env } = await place(t);
  const { stderr, exitCode } = await k6(['run', '--quiet', 'scenarios/smoke.js'], {
    ...env,
    ...ADDRESSES,
    HOURS: '1',
  });
  assert.notEqual(exitCode, 0, 'nothing listens there');
  assert.equal(stderr.match(/HOURS is set in the environment and ignored/g)?.length, 1, stderr);
});

test('the examples at the head of a script use settings that it accepts', async () => {
  const folder = join(ROOT, 'scenarios');
  for (const script of (await readdir(folder)).filter(isScript).map((name) => join(folder, name))) {
    const examples = headOf(script).filter((line) => !line.includes('npm run capacity'));
    const args = [...examples.join('\n').matchAll(/-e (\w+)=('[^']*'|\S+)/g)];
    checkVariables(
      script,
      args.flatMap(([, one, value]) => ['-e', `${one}=${value?.replaceAll("'", '')}`]),
      {},
    );
  }
});

test('the table of the README matches the declarations', async () => {
  const readme = await readFile(join(ROOT, 'scenarios/README.md'), 'utf8');
  const { ARRIVE, ...ofKinds } = arrivals(); // --help lists these too
  const others = { ...ofKinds, ...bodies(), ...samples() };
  const own = Object.entries(ownPipeline()).filter(([name]) => !(name in others));
  const rows = rowsOf(Object.fromEntries(own)).map(([name, says, allowed, value]) => {
    // --help lists ranges too.
    const choice = allowed && !allowed.includes(' to ') ? ` (${allowed})` : '';
    return `| \`${name}\` | ${says}${choice} | ${value} |`;
  });
  const table = ['| setting | meaning | default |', '| --- | --- | --- |', ...rows].join('\n');
  assert.ok(readme.includes(`\n${table}\n`), `the README lacks this table:\n${table}`);
});

describe('an invalid setting fails with one line', { concurrency: 2 }, () => {
  const wrong: [script: string, setting: string, message: RegExp][] = [
    // Regression: the run used the default.
    ['smoke.js', 'RAET=5', /^RAET is not a setting of smoke; allowed: .*\bRATE\b/],
    ['smoke.js', 'DURATION=soon', /^DURATION is "soon"; allowed: 0.1 to 604800$/],
    // Regression: --help allowed it, and the profile refused it with its own words.
    ['own.js', 'DURATION=604801', /^DURATION is "604801"; allowed: 1 to 604800$/],
    ['phases.js', 'TIMEOUT=1e9', /^TIMEOUT is "1e9"; allowed: 0.1 to 86400$/],
    [
      'sweep.js',
      'CONCURRENCY=20..1',
      /^CONCURRENCY is "20\.\.1": 20 is above 1; allowed: 1\.\.20, .* from 1 to 10000$/,
    ],
    [
      'smoke.js',
      'LABELS=build',
      /^LABELS is "build": "build" is not name=value; allowed: name=value,name=value, each/,
    ],
    ['smoke.js', 'CANARY=no', /^CANARY is "no"; allowed: true, on, false, off$/],
    ['ramp.js', 'PAYLOAD_BYTES=1k', /^PAYLOAD_BYTES is "1k"; allowed: whole numbers from 0 to 1048576$/],
    ['ramp.js', 'P99=soon', /^P99 is "soon"; allowed: /],
    [
      'smoke.js',
      'CLOCK_LIMIT=soon',
      /^options of Run: clock\.limit is "soon", which is not a duration: seconds/,
    ],
    ['fuzz.js', 'PAYLOAD_BYTES=9', /^everyFlow\.payloadBytes and fuzz exclude each other/],
    ['own.js', 'BODY={"id":1}', /^body has no {{id}}: without an id a message cannot be followed/],
    ['own.js', 'HEADERS=x', /^HEADERS is not a JSON object of texts; allowed: {"X-Api-Key":"…"}$/],
    [
      'fuzz.js',
      'SPEC=[a,strng]',
      /^spec, character 4: type "strng" is not known; allowed: string, int, float, boolean$/,
    ],
    [
      'connections.js',
      'CONNECTIONS=60001',
      /^CONNECTIONS is "60001"; allowed: whole numbers from 1 to 60000$/,
    ],
    ['webhook.js', 'LATE_SECONDS=3', /^LATE_SECONDS is set, and LATE, the share of calls, is 0: set both$/],
    ['smoke.js', 'TARGETS=0', /^TARGETS is "0"; allowed: 1 to 100000, or names like berlin,site\/rome$/],
    ['smoke.js', 'TARGETS=a,,b', /^TARGETS is "a,,b": an empty name; allowed: /],
    ['smoke.js', 'TARGETS=a,x/#', /^every flow, targets: name 2, "x\/#": letters/],
    ['push.js', 'CLIENTS=11', /^CLIENTS is 11, and DELIVERIES 5; allowed: a multiple of it$/],
    ['soak.js', 'LINE_MINUTES=0.02', /^LINE_MINUTES makes 6000 lines; allowed: up to 1000$/],
    ['sweep.js', 'STEP_DURATION=0', /^STEP_DURATION is "0"; allowed: 0\.1 to 86400$/],
  ];
  test('an unknown name, or a value out of range', async (t) => {
    const { env } = await place(t);
    await Promise.all(
      wrong.map(async ([script, setting, message]) => {
        const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', '-e', setting];
        const { stderr, exitCode } = await k6([...args, `scenarios/${script}`], { ...env, ...ADDRESSES });
        const first = stderr
          .split('\n')[0]
          ?.replace(/^((Go)?Error: )+/, '')
          .replace(/\s+at github.*/, '');
        assert.match(String(first), message, `${script} ${setting}`);
        assert.notEqual(exitCode, 0);
      }),
    );
  });

  // Regression: one of the two was used, and the other ignored in silence.
  test('two settings of which one would be ignored', async (t) => {
    const { env } = await place(t);
    const body = 'BODY={"id":"{{id}}"}';
    const profile = 'PROFILE=profiles/smoke.yml';
    const pairs: [script: string, settings: string[], message: RegExp][] = [
      ['own.js', ['TOPIC_PREFIX=a/', 'FILTER=b/#'], /^TOPIC_PREFIX and FILTER both say which topics/],
      [
        'own.js',
        ['ID_KEY=meta.id', body],
        /^ID_KEY is of the default body, and BODY has {{id}} where it belongs/,
      ],
      [
        'push.js',
        ['ID_KEY=id', 'BODY_FILE=/etc/hostname'],
        /^ID_KEY is of the default body, and BODY_FILE has/,
      ],
      ['own.js', ['BODY_FILE=/etc/hostname', body], /^BODY and BODY_FILE are set: leave out one of them$/],
      ['own.js', [profile, 'RATE=9'], /^RATE is set, and PROFILE says it: leave out one of them$/],
      ['own.js', [profile, 'DELIVERIES=2'], /^DELIVERIES is set, and PROFILE says it/],
      ['sweep.js', [profile, 'CONCURRENCY=3'], /^CONCURRENCY is set, and PROFILE says it/],
    ];
    await Promise.all(
      pairs.map(async ([script, settings, message]) => {
        const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw'];
        const given = settings.flatMap((one) => ['-e', one]);
        const { stderr, exitCode } = await k6([...args, ...given, `scenarios/${script}`], {
          ...env,
          ...ADDRESSES,
          ...(script === 'push.js' && { MQTT_URL: '', WEBSOCKET_URL: 'ws://h' }),
        });
        assert.match(firstProblem(stderr).replace(/\s+at .*/, ''), message, `${script} ${settings}`);
        assert.notEqual(exitCode, 0);
      }),
    );
  });

  test('ID_KEY of the pipeline that is started, whose message has a body of its own', async (t) => {
    const { env } = await place(t);
    const args = ['-e', 'ID_KEY=meta.id', '-e', 'BODY={"meta":{"id":"{{id}}"}}', 'scenarios/own.js'];
    const { MQTT_URL, REDIS_URL } = ADDRESSES;
    const stack = {
      ingest: { url: 'http://127.0.0.1:1' },
      mqtt: { url: MQTT_URL },
      redis: { url: REDIS_URL },
    };
    await writeFile(join(env.STACK_DIR, 'stack.json'), JSON.stringify(stack));
    const { stderr, exitCode } = await k6(['inspect', '--include-system-env-vars', ...args], env);
    assert.equal(exitCode, 0, stderr);
  });

  test('SAMPLED with a pipeline that writes no trace lists', async (t) => {
    const { dir, env } = await place(t);
    await writeFile(join(dir, 'stack.json'), '{"facts": {"trace_log_every": 0}}');
    const { stderr } = await k6(['inspect', '-e', 'SAMPLED=true', 'scenarios/sweep.js'], {
      ...env,
      K6_INCLUDE_SYSTEM_ENV_VARS: 'true',
    });
    assert.match(stderr, /SAMPLED is true, and the pipeline that is up leaves no trace lists: start it with/);
  });

  test("more connections than the broker's limit of open files", async (t) => {
    const { dir, env } = await place(t);
    await writeFile(join(dir, 'stack.json'), '{"facts": {"mqtt_open_files": 1024}}');
    const args = [
      'inspect',
      '--include-system-env-vars',
      '-e',
      'CONNECTIONS=925',
      'scenarios/connections.js',
    ];
    const { stderr } = await k6(args, env);
    assert.match(
      stderr,
      /925 connections need 1025 open files in mosquitto, and it may have 1024: ulimit -n 1025/,
    );
  });

  test('queue.js and ingest.js with a sharded queue', async (t) => {
    const { dir, env } = await place(t);
    await writeFile(
      join(dir, 'stack.json'),
      '{"ingest": {"url": "http://127.0.0.1:1"}, "division": {"shards": 4}}',
    );
    for (const script of ['queue', 'ingest']) {
      const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', `scenarios/${script}.js`];
      const { stderr, exitCode } = await k6(args, env);
      assert.match(
        stderr,
        /the queue has 4 shards, and this script knows one that is not divided: leave out STREAM_SHARDS/,
      );
      assert.notEqual(exitCode, 0);
    }
  });

  test("a pipeline with TLS and k6's own modules without SSL_CERT_FILE", async (t) => {
    const { dir, env } = await place(t);
    const stack = { ca: 'THE PEM', ingest: { url: 'https://127.0.0.1:1' } };
    await writeFile(join(dir, 'stack.json'), JSON.stringify(stack));
    await Promise.all(
      ['queue', 'broker', 'phases', 'sessions', 'throughput'].map(async (script) => {
        const args = [
          'inspect',
          '--include-system-env-vars',
          '--log-format',
          'raw',
          `scenarios/${script}.js`,
        ];
        const { stderr } = await k6(args, env);
        assert.match(
          stderr,
          /the pipeline speaks TLS, and k6\/\S+ does not know .*: set SSL_CERT_FILE=\S+\/tls\/ca\.pem/,
        );
      }),
    );
  });

  test('a broken stack.json is not mistaken for a stopped pipeline', async (t) => {
    const { dir, env } = await place(t);
    await writeFile(join(dir, 'stack.json'), '{"ingest": {');
    const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', 'scenarios/ramp.js'];
    const { stderr, exitCode } = await k6(args, env);
    assert.match(
      String(stderr.split('\n')[0]),
      /stack\.json is not JSON: .+; it is what the pipeline writes when it starts/,
    );
    assert.notEqual(exitCode, 0);
  });
});
