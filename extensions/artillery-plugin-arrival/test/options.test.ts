import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { OptionError, readOptions, readProfile } from '../options.ts';

const SCENARIOS = join(import.meta.dirname, '../../../scenarios');
const RAMP = join(SCENARIOS, 'ramp.artillery.yml');

type Table = Record<string, unknown>;
type Script = { config: Table & { phases: Table[]; plugins: { arrival: Table } }; scenarios: Table[] };

function ramp(change: (script: Script) => void = () => {}): Script {
  const script = parse(readFileSync(RAMP, 'utf8')) as Script;
  change(script);
  return script;
}

test('the ramp of Artillery has the phases of the profile that k6 reads', () => {
  const planned = readProfile(join(SCENARIOS, 'profiles/ramp.yml')).phases as Table[];
  assert.deepEqual(
    ramp().config.phases,
    planned.map(({ measured: _, ...phase }) => phase),
  );
  const { phases, flows, id } = readOptions(ramp(), RAMP);
  assert.deepEqual(
    phases.map(({ measured }) => measured),
    [false, true, true],
  );
  assert.deepEqual(
    flows.map(({ name, weight, messages, deliveries }) => [name, weight, messages, deliveries]),
    [
      ['direct', 7, 1, 1],
      ['room', 2, 1, 5],
      ['batch', 1, 10, 1],
    ],
  );
  assert.equal(id, 'id');
});

const wrong: Record<string, [change: (script: Script) => void, says: RegExp]> = {
  'an unknown option': [
    (s) => (s.config.plugins.arrival.idd = 'id'),
    /arrival\.idd is not known; allowed: profile, id/,
  ],
  'no profile': [
    (s) => delete s.config.plugins.arrival.profile,
    /arrival\.profile is missing; allowed: a text/,
  ],
  'a profile that is not there': [
    (s) => (s.config.plugins.arrival.profile = 'no.yml'),
    /no\.yml cannot be read: ENOENT/,
  ],
  'an id key that is none': [
    (s) => (s.config.plugins.arrival.id = 'a b'),
    /arrival\.id is "a b"; allowed: names with dots/,
  ],
  'an id in the target': [
    (s) => (s.config.plugins.arrival.id = 'target.id'),
    /not in target, source or payload/,
  ],
  'a drain that is none': [
    (s) => (s.config.plugins.arrival.drain = '5'),
    /arrival\.drain is 5; allowed: 1 to 3600/,
  ],
  'a quality of service that is none': [
    (s) => (s.config.plugins.arrival.qos = 0.5),
    /arrival\.qos is 0\.5; allowed: 0 or 1$/,
  ],
  'a canary that is neither on nor off': [
    (s) => (s.config.plugins.arrival.canary = 'off'),
    /arrival\.canary is off; allowed: true or false$/,
  ],
  'no phases': [(s) => (s.config.phases = []), /config\.phases is missing/],
  'no load': [(s) => (s.config.phases = [{ pause: 5 }]), /have 0 requests; allowed: 1 to/],
  'random arrivals': [
    (s) => (s.config.phases = [{ duration: 1, arrivalRate: 5, mode: 'poisson' }]),
    /mode is poisson/,
  ],
  'a cap': [(s) => (s.config.phases = [{ duration: 1, arrivalRate: 5, maxVusers: 3 }]), /maxVusers is set/],
  'a duration that is none': [
    (s) => (s.config.phases = [{ duration: 'x', arrivalRate: 5 }]),
    /duration is x; allowed/,
  ],
  'two requests': [
    (s) => (s.scenarios = [{ flow: [{ post: {} }, { post: {} }] }]),
    /scenario 1 has 2 posts; allowed: one post/,
  ],
  'a loop': [(s) => (s.scenarios = [{ flow: [{ post: {} }, { loop: [] }] }]), /scenario 1 has loop/],
};
for (const [name, [change, says]] of Object.entries(wrong)) {
  test(`${name} is told in one line`, () => {
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

test('a profile with vus is of the closed model: its phases are those of the run', () => {
  const sweep = readOptions(script(SWEEP), SWEEP);
  assert.ok(sweep.closed);
  assert.deepEqual(
    sweep.phases.map(({ vus, drain }) => [vus, drain]),
    Array.from({ length: 20 }, (_, i) => [i + 1, 60]),
  );
  const sessions = readOptions(script(SESSIONS), SESSIONS);
  assert.deepEqual(
    sessions.phases.map(({ name, measured }) => [name, measured]),
    [
      ['warm-up', false],
      ['ramp', true],
      ['sustained', true],
      ['finish', false],
    ],
  );
});

test('of the closed model, what is wrong is told in one line', () => {
  const wrong: [change: (s: Script) => void, says: RegExp][] = [
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

test('durations may be texts, and an arrivalCount is a rate', () => {
  const { phases } = readOptions(
    ramp((s) => {
      s.config.phases = [{ duration: '2m', arrivalCount: 60 }, { pause: 3 }];
    }),
    RAMP,
  );
  assert.deepEqual(
    phases.map(({ duration, rate, rampTo }) => [duration, rate, rampTo]),
    [
      [120, 0.5, 0.5],
      [3, 0, 0],
    ],
  );
});
