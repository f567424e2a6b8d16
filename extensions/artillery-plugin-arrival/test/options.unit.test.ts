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

function weigh(script: Script, weight: unknown): void {
  script.scenarios = script.scenarios.map((one) => ({ ...one, weight }));
}

test('weights, whole addresses around the load, and keys for anchors are taken', () => {
  const given = ramp((s) => {
    s.scenarios = [0, '3', '{{ share }}'].map((weight) => ({ ...s.scenarios[0], weight }));
    s.config['x-base'] = {};
    s.config.apdex = { threshold: 100 };
    Object.assign(s, { before: { flow: [{ post: { url: '{{ $env.LOGIN_URL }}' } }, { think: 1 }] } });
  });
  assert.equal(readOptions(given, RAMP).closed, false);
});

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
  // Regression: Artillery ended with a stack trace.
  'a constant rate with a fraction': [
    (s) => (s.config.phases = [{ duration: 2, arrivalRate: '2.5' }]),
    /config.phases, phase 1: arrivalRate is 2.5; allowed: a whole number, or rampTo: 2.5 beside it/,
  ],
  'an unknown option': [
    (s) => (s.config.plugins.arrival.idd = 'id'),
    /arrival has idd, which is not known, id is; allowed: profile, prefix/,
  ],
  'a script without a profile': [
    (s) => delete s.config.plugins.arrival.profile,
    /arrival\.profile is missing; allowed: a file/,
  ],
  'a missing profile': [
    (s) => (s.config.plugins.arrival.profile = 'no.yml'),
    /no\.yml cannot be read: ENOENT/,
  ],
  'a script without phases': [(s) => (s.config.phases = []), /config\.phases is missing/],
  'random arrivals': [
    (s) => (s.config.phases = [{ duration: 1, arrivalRate: 5, mode: 'poisson' }]),
    /mode is poisson/,
  ],
  'a cap on virtual users': [
    (s) => (s.config.phases = [{ duration: 1, arrivalRate: 5, maxVusers: 3 }]),
    /maxVusers is set/,
  ],
  'two requests': [
    (s) => (s.scenarios = [{ flow: [{ post: {} }, { post: {} }] }]),
    /scenario 1 has 2 posts; allowed: one post/,
  ],
  'a body': [(s) => posts(s, { url: '/messages', body: 'x' }), /the post has body; allowed: json/],
  'a form': [(s) => posts(s, { url: '/messages', form: { a: 1 } }), /the post has form; allowed: json/],
  'form data': [(s) => posts(s, { url: '/messages', formData: { a: 1 } }), /the post has formData/],
  'a list as json': [(s) => posts(s, { url: '/messages', json: [1] }), /json that is not a map/],
  'a text as json': [(s) => posts(s, { url: '/messages', json: '{{ row }}' }), /json that is not a map/],
  'the key of another id in json': [
    (s) => {
      s.config.plugins.arrival.id = 'uuid';
      posts(s, { url: '/messages', json: { id: 1, uuid: 2 } });
    },
    /json with uuid, which the plugin/,
  ],
  'a part of a nested id in json': [
    (s) => {
      s.config.plugins.arrival.id = 'meta.id';
      posts(s, { url: '/messages', json: { meta: { tenant: 'a' } } });
    },
    /json with meta, which the plugin/,
  ],
  'a misspelt key of a post': [
    (s) => posts(s, { url: '/messages', boddy: 'x' }),
    /the post has boddy, which is not known, body is; allowed: url, name/,
  ],
  'a key in other letters': [
    (s) => posts(s, { url: '/messages', JSON: { a: 1 } }),
    /the post has JSON, which is not known.*; allowed: url/,
  ],
  'an option of the HTTP client': [
    (s) => posts(s, { url: '/messages', maxRedirects: 1 }),
    /has maxRedirects, which is not known/,
  ],
  'a time-out of a post': [
    (s) => posts(s, { url: '/messages', timeout: 5 }),
    /has timeout; allowed: config\.http/,
  ],
  'a user': [
    (s) => posts(s, { url: '/messages', auth: { user: 'a', pass: 'b' } }),
    /has auth; allowed: headers/,
  ],
  'a cookie': [(s) => posts(s, { url: '/messages', cookie: { a: 'b' } }), /has cookie; allowed: headers/],
  'a cookie by default': [
    (s) => (s.config.http = { defaults: { cookie: { a: 'b' } } }),
    /config\.http\.defaults has cookie; allowed: headers/,
  ],
  // Regression: these were dropped without a word.
  'json by default': [
    (s) => (s.config.http = { defaults: { json: { a: 1 } } }),
    /config\.http\.defaults has json, which is not known; allowed: headers/,
  ],
  'a misspelt default': [
    (s) => (s.config.defaults = { haeders: { a: 'b' } }),
    /config\.defaults has haeders, which is not known, headers is/,
  ],
  'defaults that are a list': [
    (s) => (s.config.http = { defaults: [{ headers: { a: 'b' } }] }),
    /config\.http\.defaults is not a map; allowed: headers/,
  ],
  // Regression: these were ignored, or ended Artillery with a stack trace.
  'a misspelt key of config': [
    (s) => (s.config.phase = []),
    /config has phase, which is not known, phases is; allowed: target/,
  ],
  'headers in config': [(s) => (s.config.header = { a: 'b' }), /config has header, which is not known/],
  'random arrivals in config': [(s) => (s.config.mode = 'poisson'), /config\.mode is "poisson"; .* uniform/],
  'another engine by default': [(s) => (s.config.engine = 'ws'), /config\.engine is "ws"; allowed: http/],
  'a pool that is no number': [
    (s) => (s.config.http = { pool: 'many' }),
    /config\.http\.pool is "many"; allowed: a number/,
  ],
  'a pool of 0': [(s) => (s.config.http = { pool: 0 }), /config\.http\.pool is 0/],
  'sockets of a virtual user': [
    (s) => (s.config.http = { maxSockets: 5 }),
    /config\.http has maxSockets; allowed: pool/,
  ],
  'a weight that is a text': [(s) => weigh(s, 'much'), /scenario 1 has the weight "much"; allowed: a whole/],
  'half a weight': [(s) => weigh(s, 0.5), /scenario 1 has the weight 0\.5/],
  'a weight below 0': [(s) => weigh(s, -1), /scenario 1 has the weight -1/],
  'a weight of millions': [(s) => weigh(s, 1e9), /scenario 1 has the weight 1000000000/],
  'no scenario with a weight': [(s) => weigh(s, 0), /all scenarios have the weight 0/],
  'a path before the load': [
    (s) => Object.assign(s, { before: { flow: [{ post: { url: '/login' } }] } }),
    /before has the url \/login; allowed: a whole one/,
  ],
  'a path after the load, in a loop': [
    (s) => Object.assign(s, { after: { flow: [{ loop: [{ get: { url: '/end' } }] }] } }),
    /after has the url \/end/,
  ],
  'gzip that is a text': [
    (s) => posts(s, { url: '/messages', gzip: 'no' }),
    /gzip that is "no"; allowed: true/,
  ],
  'a capture that is a text': [
    (s) => posts(s, { url: '/messages', capture: '$.id' }),
    /capture that is "\$\.id"; allowed: a map/,
  ],
  'an expectation without its plugin': [
    (s) => posts(s, { url: '/messages', expect: [{ statusCode: 202 }] }),
    /has expect, and config\.plugins\.expect is missing/,
  ],
  'a list as headers': [(s) => posts(s, { url: '/messages', headers: [] }), /post, headers: no map of texts/],
  'a number as a header': [
    (s) => posts(s, { url: '/messages', headers: { 'X-A': 1 } }),
    /headers: X-A is not text/,
  ],
  'a header that no request has': [
    (s) => posts(s, { url: '/messages', headers: { 'X:': '1' } }),
    /headers: no request can have the field "X:"/,
  ],
  'a header in two lines': [
    (s) => posts(s, { url: '/messages', headers: { X: '1\r\nY: 2' } }),
    /headers: no request can have the field "X"/,
  ],
  'a header twice': [
    (s) => posts(s, { url: '/messages', headers: { 'x-a': '1', 'X-A': '2' } }),
    /headers: x-a and X-A are one field/,
  ],
  'a length': [
    (s) => posts(s, { url: '/messages', headers: { 'Content-Length': '2' } }),
    /Content-Length is the client's own/,
  ],
  'a misspelt key of a scenario': [
    (s) => (s.scenarios = [{ wieght: 2, flow: [{ post: { url: '/messages' } }] }]),
    /scenario 1 has wieght, which is not known, weight is/,
  ],
  'two actions in one step': [
    (s) => (s.scenarios = [{ flow: [{ post: { url: '/messages' }, think: 1 }] }]),
    /scenario 1 has post and think in one step/,
  ],
  'a misspelt time-out': [(s) => (s.config.http = { timeuot: 5 }), /config\.http has timeuot, .* timeout is/],
  'a time-out that is no time': [
    (s) => (s.config.http = { timeout: 'soon' }),
    /config\.http\.timeout is "soon"; allowed: a time above 0/,
  ],
  'a time-out of 0': [(s) => (s.config.timeout = 0), /config\.timeout is 0; allowed: a time above 0/],
  'an id in json': [(s) => posts(s, { url: '/messages', json: { id: 1 } }), /json with id, which the plugin/],
  'a condition': [(s) => posts(s, { url: '/messages', ifTrue: 'x' }), /has ifTrue; allowed: none/],
  'a probability': [(s) => posts(s, { url: '/messages', probability: 5 }), /has probability; allowed: none/],
  'another host in the url': [
    (s) => posts(s, { url: 'http://a/b' }),
    /the url http:\/\/a\/b; allowed: a path/,
  ],
  'a template in the url': [(s) => posts(s, { url: '/{{ user }}' }), /the url .*allowed: a path/],
  'a qs': [(s) => posts(s, { url: '/messages', qs: { a: 1 } }), /the post has qs; allowed: url/],
  'another target': [(s) => (s.config.target = 'https://staging.example'), /config\.target is https/],
  'an empty CSV file': [(s) => (s.config.payload = [{ path: 'a.csv', data: [] }]), /a\.csv: there is no row/],
  'a short row': [
    (s) => (s.config.payload = [{ path: 'a.csv', fields: ['a', 'b'], data: [[1, 2], ['1;2']] }]),
    /a\.csv: row 2 has 1 of 2 fields: column 2, b, is missing/,
  ],
  'a byte order mark': [
    (s) => (s.config.payload = [{ path: 'a.csv', fields: ['a'], data: [['\ufeffa']] }]),
    /row 1, field 1 .*byte order mark/,
  ],
  'a column twice': [
    (s) => (s.config.payload = { path: 'a.csv', fields: ['a', 'a'] }),
    /field 2 is empty or/,
  ],
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
const SESSIONS = join(SCENARIOS, 'phases.artillery.yml');

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
  const sessions = readOptions(script(SESSIONS), SESSIONS);
  assert.deepEqual(
    profileOf(sessions).phases.map(({ name, measured }) => [name, measured]),
    [
      ['warm-up', false],
      ['ramp', undefined],
      ['sustained', undefined],
      ['finish', false],
    ],
  );
});

// Regression: the phases differed, so all sessions began in the warm-up and nothing was measured.
test('sessions begin in the phases of the profile, with the durations of config.phases', () => {
  const sessions = readOptions(
    script(SESSIONS, (s) => {
      s.config.phases = s.config.phases.map((phase, i) => ({ ...phase, duration: i + 1 }));
    }),
    SESSIONS,
  );
  assert.deepEqual(
    profileOf(sessions).phases.map(({ duration }) => duration),
    [1, 2, 3, 15],
  );
});

test('an invalid script of the closed model is refused in one line', () => {
  const wrong: [change: (s: Script) => void, says: RegExp][] = [
    [
      (s) => (s.config.phases = [{ duration: 20, arrivalRate: 200 }]),
      /^config\.phases are phase 1, and those of profiles\/phases\.yml are warm-up, ramp, sustained, finish; allowed: warm-up, ramp, sustained$/,
    ],
    [
      (s) => ((s.scenarios[2]?.flow as Table[])[0] = { post: { name: 'wrote', url: '/' } }),
      /^scenario 3: the post is named wrote; allowed: a flow of the profile, browse, view, join, write$/,
    ],
    [
      (s) => ((s.scenarios[2]?.flow as Table[])[0] = { post: { url: '/' } }),
      /^some posts are named and some are not; allowed: all, or none/,
    ],
    [
      (s) => (s.scenarios = [{ flow: [{ get: {} }] }]),
      /^scenario 1 has get; allowed: post, think, log and loop$/,
    ],
    [(s) => (s.scenarios = [{ flow: [{ think: 1 }] }]), /^scenario 1 has 0 posts; allowed: post/],
  ];
  for (const [change, says] of wrong) {
    assert.throws(() => readOptions(script(SESSIONS, change), SESSIONS), { message: says });
  }
});

// Regression: Artillery ended with a stack trace, and other keys were ignored.
test('--scenario-name is the one scenario that it names, and keys of a script are known', () => {
  const names = (s: Script) => {
    s.scenarios = ['buy', 'browse'].map((name) => ({ ...s.scenarios[0], name }));
  };
  for (const only of ['buy', '^br']) readOptions(ramp(names), RAMP, only);
  for (const [only, says] of [
    ['brwose', /^--scenario-name brwose is no scenario, browse is; allowed: buy, browse$/],
    ['b', /^--scenario-name b is several scenarios; allowed: buy, browse$/],
    ['(', /^--scenario-name: Invalid regular expression.*; allowed: a name or a pattern$/],
  ] as const)
    assert.throws(() => readOptions(ramp(names), RAMP, only), { message: says });
  assert.throws(() => readOptions(ramp(), RAMP, 'buy'), { message: /allowed: messages$/ });

  readOptions({ ...ramp(), 'x-post': {} } as never, RAMP);
  for (const [key, near] of Object.entries({ scenario: 'scenarios', confg: 'config' }))
    assert.throws(() => readOptions({ ...ramp(), [key]: [] } as never, RAMP), {
      message: `the script has ${key}, which is not known, ${near} is; allowed: config, scenarios, before, after`,
    });
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
