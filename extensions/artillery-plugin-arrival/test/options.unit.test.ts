import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { checkTLS, type Options, readFile, readOptions } from '../options.ts';
import { OptionError } from '../pipeline.ts';

const SCENARIOS = join(import.meta.dirname, '../../../scenarios');
const RAMP = join(SCENARIOS, 'ramp.artillery.yml');

type Table = Record<string, unknown>;
type Script = { config: Table & { phases: Table[]; plugins: { arrival: Table } }; scenarios: Table[] };

function ramp(change: (script: Script) => void = () => {}): Script {
  const script = parse(readFileSync(RAMP, 'utf8')) as Script;
  change(script);
  return script;
}

test("ramp.artillery.yml, environment full, has the phases of k6's profile", () => {
  const planned = readFile(join(SCENARIOS, 'profiles/ramp.yml')).phases as Table[];
  const { environments } = ramp().config as unknown as { environments: { full: Table } };
  assert.deepEqual(
    environments.full.phases,
    planned.map(({ measured: _, ...phase }) => phase),
  );
  const options = readOptions(ramp(), RAMP);
  const { phases, flows } = profileOf(options);
  assert.deepEqual(
    phases.map(({ measured }) => measured),
    [false, true, true],
  );
  assert.deepEqual(flows, readFile(join(SCENARIOS, 'profiles/ramp.yml')).flows);
  const { closed, length, spread, largest } = options;
  assert.deepEqual([closed, length, spread], [false, 50, 0]);
  assert.ok(largest > 10 * 64, 'room for a batch of ten');
});

/** The profile that the recorder reads. */
function profileOf({ profile }: Options): { phases: Table[]; flows: Table[] } {
  return JSON.parse(profile.text);
}

function posts(script: Script, post: Table): void {
  script.scenarios = [{ flow: [{ post }] }];
}

test('the url of a post is the path of the ingest, with its query', () => {
  const given = ramp((s) => posts(s, { url: '/v1/events?a=%2F' }));
  assert.equal(readOptions(given, RAMP).path, '/v1/events?a=%2F');
  assert.equal(readOptions(ramp(), RAMP).path, undefined, 'the paths of this pipeline');
});

test('a time-out is a number of seconds, or a text with a unit', () => {
  const given: [unknown, number][] = [
    [5, 5],
    ['5', 5],
    ['5s', 5],
    ['500ms', 0.5],
    ['1m', 60],
    [undefined, 10],
  ];
  for (const [timeout, s] of given)
    assert.equal(
      readOptions(
        ramp((script) => (script.config.http = { timeout })),
        RAMP,
      ).timeout,
      s,
    );
});

// Regression: `<<` was refused in a profile that k6 takes.
test('a profile and a script may have merge keys', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'arrival-merge-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const profile = join(dir, 'profile.yml');
  writeFileSync(
    profile,
    'x: &base { duration: 2, measured: false }\n' +
      'phases: [{ <<: *base, name: a, arrivalRate: 1 }]\n' +
      'y: &flow { weight: 3, payloadBytes: 10 }\nflows: [{ name: one, <<: [*flow, { weight: 9, messages: 2 }] }]\n',
  );
  const file = join(dir, 'script.yml');
  writeFileSync(
    file,
    'x: &post { url: /messages, headers: { X-A: "1" } }\n' +
      'scenarios: [{ flow: [{ post: { <<: *post, json: { a: 1 } } }] }]\n',
  );
  const script = ramp((s) => {
    s.config.plugins.arrival.profile = profile;
    s.config.phases = [{ name: 'a', duration: 2, arrivalRate: 1 }];
    s.scenarios = readFile(file).scenarios as Table[];
  });
  const { phases, flows } = profileOf(readOptions(script, file));
  assert.equal(phases[0]?.measured, false);
  assert.deepEqual(flows, [{ name: 'one', weight: 3, payloadBytes: 10, messages: 2 }]);
});

// Regression: `{{ $env.RATE }}` made a text of a number.
test('numbers of phases may be texts, as variables of the environment are, and have fractions', () => {
  const { phases } = profileOf(
    readOptions(
      ramp((s) => {
        s.config.phases = [{ duration: '2.5', arrivalRate: '1.5', rampTo: ' 2.5 ' }];
      }),
      RAMP,
    ),
  );
  assert.deepEqual(phases, [
    { name: 'phase 1', duration: '2.5', arrivalRate: 1.5, rampTo: 2.5, measured: true },
  ]);
});

// Regression: the run failed without a word about -k.
test('config.tls does not hold for the recorder, and is refused where it would not connect therefore', (t) => {
  const log = t.mock.method(console, 'error', () => {});
  const secure = ['https://u:p@h:8443/x', 'mqtt://h'];
  for (const addresses of [
    secure,
    ['http://h', 'mqtts://h:8443'],
    ['http://h', 'mqtt://h', 'rediss://u@h:8443,i:1'],
  ])
    assert.throws(() => checkTLS({ rejectUnauthorized: false }, addresses, ''), {
      message: /^config\.tls\.rejectUnauthorized \(-k\) is false, .*; allowed: TLS_CA with .* of h:8443/,
    });
  checkTLS({ rejectUnauthorized: false }, ['http://h', 'mqtt://h', ''], '');
  checkTLS({ rejectUnauthorized: false }, secure, 'PEM');
  checkTLS({}, secure, '');
  assert.equal(log.mock.callCount(), 0);
  checkTLS({ cert: 'c', key: 'k' }, secure, '');
  assert.match(String(log.mock.calls[0]?.arguments[0]), /^arrival: config\.tls has cert, key, .*TLS_CA/);
});

const wrong: Record<string, [change: (script: Script) => void, says: RegExp]> = {
  'an unknown option': [
    (s) => (s.config.plugins.arrival.idd = 'id'),
    /arrival has idd, which is not known, id is; allowed: profile, prefix/,
  ],
  'a missing profile': [
    (s) => (s.config.plugins.arrival.profile = 'no.yml'),
    /no\.yml cannot be read: ENOENT/,
  ],
  'a script without phases': [(s) => (s.config.phases = []), /config\.phases is missing/],
  'two requests': [
    (s) => (s.scenarios = [{ flow: [{ post: {} }, { post: {} }] }]),
    /scenario 1 has 2 posts, .* one post of one path, and think; allowed: that, or messages and id in place/,
  ],
  'a body': [(s) => posts(s, { url: '/messages', body: 'x' }), /scenario 1 has a post with body/],
  'another host in the url': [
    (s) => posts(s, { url: 'http://a/b' }),
    /the posts have the urls http:\/\/a\/b/,
  ],
  'another target': [(s) => (s.config.target = 'https://staging.example'), /config\.target is https/],
  'a loop': [(s) => (s.scenarios = [{ flow: [{ post: {} }, { loop: [] }] }]), /scenario 1 has loop/],
};
for (const [name, [change, says]] of Object.entries(wrong)) {
  test(`${name} is refused in one line`, () => {
    assert.throws(
      () => readOptions(ramp(change), RAMP),
      (error: Error) =>
        error instanceof OptionError && says.test(error.message) && !error.message.includes('\n'),
    );
  });
}

const SWEEP = join(SCENARIOS, 'sweep.artillery.yml');

function script(path: string, change: (script: Script) => void = () => {}): Script {
  const read = parse(readFileSync(path, 'utf8')) as Script;
  change(read);
  return read;
}

test('a profile with vus selects the closed model, and its phases are those of the run', () => {
  const sweep = readOptions(script(SWEEP), SWEEP);
  assert.ok(sweep.closed);
  assert.deepEqual(
    profileOf(sweep).phases.map(({ vus, drain }) => [vus, drain]),
    Array.from({ length: 20 }, (_, i) => [i + 1, 60]),
  );
});

test('a script of the closed model that the profile can not have is refused in one line', () => {
  const wrong: [change: (s: Script) => void, says: RegExp][] = [
    [
      (s) => (s.scenarios = [{ flow: [{ loop: [{ post: { name: 'wrote', url: '/' } }] }] }]),
      /^scenario 1 has a post named wrote, which is no flow of the profile, .*; allowed: that, or messages and id/,
    ],
    [(s) => (s.scenarios = [{ flow: [{ get: {} }] }]), /^scenario 1 has get, .*posts of one path, in loops/],
    [(s) => (s.scenarios = [{ flow: [{ think: 1 }] }]), /^scenario 1 has 0 posts/],
  ];
  for (const [change, says] of wrong) {
    assert.throws(() => readOptions(script(SWEEP, change), SWEEP), { message: says });
  }
});

test("phases drop Artillery's own fields; spread follows from the longest interval", () => {
  const options = readOptions(
    ramp((s) => {
      s.config.phases = [
        { name: 'first', duration: '2m', arrivalCount: 1200, index: 0, mode: 'evenly' },
        { pause: 3 },
        { name: 'ramp', duration: 10, rampTo: 2 },
      ];
    }),
    RAMP,
  );
  assert.deepEqual(profileOf(options).phases, [
    { name: 'first', duration: '2m', arrivalCount: 1200, measured: true },
    { name: 'phase 2', pause: 3, measured: true },
    { name: 'ramp', duration: 10, arrivalRate: 0, rampTo: 2, measured: true },
  ]);
  assert.deepEqual([options.length, options.spread], [133, 900], 'an interval of 100 ms, then of a second');
});
