import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { type Options, readFile, readOptions } from '../options.ts';
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

const wrong: Record<string, [change: (script: Script) => void, says: RegExp]> = {
  'an unknown option': [
    (s) => (s.config.plugins.arrival.idd = 'id'),
    /arrival\.idd is not known; allowed: profile, prefix/,
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
