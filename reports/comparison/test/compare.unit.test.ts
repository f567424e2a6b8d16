import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Environment, FAILED, type Run } from '../../contract/run.ts';
import { compare, FailedRunsError } from '../compare.ts';
import { BETTER_FAILED, type Comparison, GENERATORS, type Judgement, type Subject } from '../comparison.ts';
import { ConditionError, judge, parseCondition } from '../conditions.ts';
import { comparisonMarkdown } from '../markdown.ts';
import { outcomes } from '../outcome.ts';
import type { Recording } from '../recording.ts';
import { grouped } from '../subjects.ts';
import { additionText, comparisonText } from '../text.ts';
import { waterfallOf, waterfalls } from '../waterfall.ts';
import { simulated } from './simulated.ts';

function recording(seed: number, change: (recording: Recording) => void = () => {}, median = 2): Recording {
  const made = simulated({ seed, median, wander: 0.02, seconds: 20, samples: 60 });
  change(made);
  return made;
}

const obstacles = ({ subjects }: Comparison) => subjects.map(({ obstacle }) => obstacle);

test('a run that cannot be compared has no differences but a reason', () => {
  const invalid = recording(2, ({ run }) => {
    Object.assign(run.verdict, { result: 'invalid', reasons: ['The generator was late.'] });
  });
  const other = recording(3, ({ run }) => {
    for (const phase of run.run.profile.phases) phase.arrival_rate = 3000;
  });
  const unbalanced = recording(4, ({ run }) => {
    run.account.balanced = false;
  });
  const comparison = compare([recording(1), invalid, other, unbalanced]);
  assert.deepEqual(obstacles(comparison), [
    null,
    'not comparable: run is invalid',
    'not comparable: other load: 60 | 3,000 requests/s',
    'not comparable: run is invalid',
  ]);
  assert.ok(comparison.rows.every(({ differences }) => differences.every((one) => one === null)));
  assert.ok(comparison.rows.every(({ values }) => values[3] === null));
  assert.equal(comparison.subjects[3]?.arrival.length, 0);
  assert.deepEqual(obstacles(compare([invalid, recording(1)])), [
    'not comparable: run is invalid',
    'not comparable: the baseline’s run is invalid',
  ]);
});

/** A run in which 90 % of the messages failed; the arrivals have this median, ms. */
const refusing = (seed: number, median = 1, end: 'rejected' | 'lost' = 'rejected') =>
  recording(
    seed,
    ({ run: { run, account } }) => {
      run.name = 'refusing';
      const failed = Math.floor(account.scheduled * 0.9);
      Object.assign(account, { arrived: account.scheduled - failed, [end]: failed });
    },
    median,
  );

test('runs with failed messages are compared only with allowFailed, and are never better', () => {
  for (const end of FAILED) {
    const failing = recording(2, ({ run: { account } }) => {
      Object.assign(account, { arrived: account.scheduled - 1, [end]: 1 });
    });
    assert.throws(() => compare([recording(1), failing]), FailedRunsError, end);
    assert.throws(() => compare([failing, recording(1)]), FailedRunsError, end);
  }
  assert.throws(
    () => compare([recording(1), refusing(2)]),
    /those of the others \(refusing: 89,300 scheduled = 80,370 rejected \+ 8,930 arrived\)$/,
  );
  const words = (...runs: Recording[]) => {
    const comparison = compare(runs, { allowFailed: true });
    const [p99] = comparison.rows.filter(({ name }) => name === 'arrival.p99');
    return { comparison, word: p99?.differences[1]?.word, why: p99?.differences[1]?.why };
  };
  const { comparison, word, why } = words(recording(1), refusing(2));
  assert.deepEqual([word, why], ['undecided', BETTER_FAILED], 'not better');
  assert.equal(words(refusing(2), recording(1)).word, 'undecided', 'the complete run is not worse');
  assert.equal(words(recording(1), refusing(2, 4)).word, 'worse', 'failed messages would slow it further');
  assert.equal(words(recording(1), recording(2, undefined, 1)).word, 'better', 'every message arrived');
  assert.deepEqual(
    comparison.subjects.map(({ failed }) => failed),
    [null, '80,370 rejected'],
  );
  for (const text of [comparisonText(comparison), comparisonMarkdown(comparison)]) {
    const [a, b, figures] = [/account A\b/, /account B\b.*80,370 rejected/, /arrival p99/].map((p) =>
      text.search(p),
    );
    assert.ok((a ?? -1) > 0 && (b ?? -1) > (a ?? 0) && (figures ?? -1) > (b ?? 0), text);
    assert.doesNotMatch(text, /better(?! run)|worse/);
  }
});

test('no condition passes a run with failed messages', () => {
  const judged = (text: string, ...runs: Recording[]) =>
    judge(parseCondition(text), grouped(runs, true), false)[0];
  for (const text of [
    'arrival.p99 > 250ms',
    'arrival.p99 > +10%',
    'account.lost > 0',
    'account.rejected > 90000',
  ]) {
    const finding = judged(text, recording(1), refusing(2));
    assert.equal(finding?.result, 'messages failed', text);
    assert.match(finding?.detail ?? '', /; but 80,370 rejected$/);
  }
  assert.equal(
    judged('arrival.p99 > +90%', refusing(1), recording(2))?.result === 'passed',
    false,
    'a difference from a baseline with failed messages does not pass',
  );
  assert.equal(
    judged('arrival.p99 > 250ms', refusing(1), recording(2))?.result,
    'passed',
    'an absolute limit ignores the baseline',
  );
  assert.equal(judged('arrival.p99 > 250ms', recording(1), refusing(2))?.result, 'messages failed');
});

/** A run with limits on p99 (4 ms) and on the share within 3.5 ms. */
const limited = (seed: number, median = 2) =>
  recording(
    seed,
    ({ run }) => {
      Object.assign(run.answer ?? {}, { p99_limit_ms: 4 });
      const rule = { op: '>=', limit: 90, unit: '%', value: 95, ok: true, result: 'fail' } as const;
      const more = { basis: '', reason: '', part: 'pipeline' } as const;
      run.verdict.rules = [{ ...rule, ...more, name: 'arrival_within_3500us' }];
    },
    median,
  );

// Regression: sweeps whose steps began 1 to 16 ms after a full second were undecided.
test('a step that begins some ms after a full second has the figures of that second', () => {
  const sweep = (seed: number, median?: number) =>
    recording(
      seed,
      ({ run }) => {
        run.steps = run.steps.flatMap((step) => {
          if (!step.measured) return step;
          const begin = (i: number) => ({ start_s: step.start_s + 2 * i + 0.002 * i, duration_s: 2 });
          return Array.from({ length: 10 }, (_, i) => ({ ...step, name: `${i + 1}`, ...begin(i) }));
        });
      },
      median,
    );
  const p50 = compare([sweep(1), sweep(2, 3)]).rows.find(({ name }) => name === 'arrival.p50');
  assert.equal(p50?.differences[1]?.word, 'worse', p50?.differences[1]?.why ?? '');
});

test('each limit that all runs have gets a row with the share within it, the strictest first', () => {
  const comparison = compare([limited(1), limited(2, 3)]);
  const [strict, loose, ...none] = comparison.rows.filter(({ kind }) => kind === 'share');
  assert.deepEqual([strict?.name, loose?.name, none], ['arrival.within(3500us)', 'arrival.within(4ms)', []]);
  // Φ(ln(4 / median) / 0.3)
  const [a = 0, b = 0] = (loose?.values ?? []).map(Number);
  assert.ok(Math.abs(a - 0.99) < 0.01 && Math.abs(b - 0.83) < 0.03, `${a} ${b}`);
  assert.equal(loose?.differences[1]?.word, 'worse');
  const shown =
    /^(\| )?arrival within 4 ms +(\| )?9\d(\.\d+)? % +(\| )?8\d(\.\d+)? % .*×0\.8\d\d\d\D.*worse/m;
  assert.match(comparisonText(comparison), shown);
  assert.match(comparisonMarkdown(comparison), shown);
  const without = compare([
    limited(1),
    recording(2, ({ run }) => Object.assign(run, { answer: undefined })),
  ]).rows;
  assert.ok(
    without.every(({ kind }) => kind !== 'share'),
    'a limit of only one run has no row',
  );
});

// Regression: table and Markdown said "http p99" where the page says "HTTP p99", of requests by MQTT too.
test('the latency of requests bears the name of their protocol', () => {
  for (const [protocol, name] of [
    [undefined, 'HTTP'],
    ['MQTT', 'MQTT'],
  ] as const) {
    const change = ({ run }: Recording) => Object.assign(run.run, protocol && { protocol });
    const comparison = compare([recording(1, change), recording(2, change)]);
    for (const text of [comparisonText(comparison), comparisonMarkdown(comparison)]) {
      assert.ok(text.includes(`${name} p99`), text);
      assert.doesNotMatch(text, /http p\d/);
    }
  }
});

test('runs that differ only in the name of the profile file are comparable', () => {
  const renamed = recording(2, ({ run }) => {
    run.run.profile.name = '/elsewhere/ramp.yml';
  });
  assert.deepEqual(obstacles(compare([recording(1), renamed])), [null, null]);
});

test('runs that differ in the length of payloads, or in the requests that end a phase, are not comparable', () => {
  const longer = recording(2, ({ run }) => {
    for (const flow of run.run.profile.flows) flow.payload_bytes = 100_000;
  });
  const shorter = recording(3, ({ run }) => {
    for (const phase of run.run.profile.phases) phase.requests = 10;
  });
  assert.deepEqual(obstacles(compare([recording(1), longer, shorter])), [
    null,
    'not comparable: other load: flows',
    'not comparable: other load: phases',
  ]);
});

test('subjects are titled by the settings that differ', () => {
  const artillery = recording(2, ({ run }) => {
    run.run.tool = { name: 'artillery', version: '2.0.0' };
    run.run.topology = 'cluster';
    run.environment.kernel = '7.0';
  });
  const { subjects, differing } = compare([recording(1), artillery]);
  assert.deepEqual(
    subjects.map(({ title }) => title),
    ['k6, single', 'artillery, cluster'],
  );
  assert.deepEqual(
    differing.map(({ name, values }) => [name, ...values]).filter(([name]) => name !== 'tool version'),
    [
      ['tool', 'k6', 'artillery'],
      ['topology', 'single', 'cluster'],
      ['kernel', '6.1.0', '7.0'],
    ],
    'settings come first',
  );
});

test('another commit is listed as a difference, another CI job is not', () => {
  const at = (commit: string, job: string, dirty = false) =>
    recording(1, ({ run: { environment } }) => {
      environment.git = { commit, branch: 'main', dirty };
      environment.ci = { name: 'GitLab CI', job, url: null };
    });
  const differs = (...runs: Recording[]) => compare(runs).differing;
  assert.deepEqual(differs(at('a', '1'), at('b', '2')), [{ name: 'git.commit', values: ['a', 'b'] }]);
  assert.deepEqual(differs(at('a', '1'), at('a', '2')), []);
  assert.deepEqual(differs(at('a', '1'), at('a', '1', true)), [], 'git.dirty alone');
  const both = differs(at('a', '1'), at('b', '1', true)).map(({ name }) => name);
  assert.deepEqual(both, ['git.commit', 'git.dirty']);
  const before = differs(recording(1), at('a', '1')).map(({ name }) => name);
  assert.deepEqual(before, ['git.commit', 'git.branch', 'git.dirty'], 'one was made outside a repository');
});

// Regression: "Settings and environment are the same" of runs with other RATE or P99.
test('the load, the limits and the settings of the command are listed where they differ', () => {
  const set = (change: (run: Run) => void) => recording(1, ({ run }) => change(run));
  const differs = (a: Recording, b: Recording) =>
    compare([a, b]).differing.map(({ name, values }) => [name, ...values]);
  const slow = set(({ run }) => {
    for (const phase of run.profile.phases) phase.arrival_rate = 500;
  });
  assert.deepEqual(differs(recording(1), slow)[0], ['load', '60 requests/s', '500 requests/s']);
  const strict = set(({ verdict: { rules = [] } }) => {
    for (const rule of rules) if (rule.name === 'arrival_p99') rule.limit = 0.1;
  });
  assert.deepEqual(differs(recording(1), strict), [['limit of arrival_p99', '< 250 ms', '< 0.1 ms']]);
  const [a, b] = ['npm run ramp -- -e SENDERS=8 -e RUN_DIR=reports/runs/a', 'npm run ramp'].map((command) =>
    set(({ run }) => Object.assign(run, { command })),
  );
  assert.deepEqual(differs(a as Recording, b as Recording), [['SENDERS', '8', '–']]);
  assert.deepEqual(differs(recording(1), recording(2)), []);
});

test('arrivals by kernel stamp and arrivals by read are listed as a difference', () => {
  const read = (stamps: Run['health']['arrival_stamps']) =>
    recording(1, ({ run: { health } }) => {
      health.arrival_stamps = stamps;
    });
  const kernel = read({ kernel: 166_702, read: 72 });
  const differs = (...runs: Recording[]) => compare(runs).differing;
  const [fact, ...none] = differs(kernel, read({ kernel: 0, read: 3375 }));
  assert.deepEqual([fact?.name, none], ['arrivals by', []]);
  assert.match(fact?.values[0] ?? '', /kernel/);
  assert.doesNotMatch(fact?.values[1] ?? 'kernel', /kernel/);
  assert.deepEqual(
    differs(kernel, read({ kernel: 3375, read: 0 })),
    [],
    'a few arrivals by the read are ignored',
  );
  assert.match(differs(kernel, read({ kernel: 1000, read: 1000 }))[0]?.values[1] ?? '', /50\u00a0%/);
});

test('runs with identical labels are repeats if other runs have different labels', () => {
  const labelled = (seed: number, build: string) =>
    recording(seed, ({ run }) => {
      run.run.labels = { build };
    });
  const runs = [labelled(1, 'a'), labelled(2, 'b'), labelled(3, 'a'), labelled(4, 'b')];
  const { subjects } = compare(runs);
  assert.deepEqual(
    subjects.map(({ title, runs }) => [title, runs.length]),
    [
      ['a', 2],
      ['b', 2],
    ],
  );
  assert.equal(subjects[0]?.account.scheduled, 2 * (runs[0]?.run.account.scheduled ?? 0));
  assert.equal(compare(runs, { each: true }).subjects.length, 4);
  assert.equal(compare([runs[0], runs[2]] as Recording[]).subjects.length, 2);
});

test('runs with different pipeline settings are not repeats, and are titled by those settings', () => {
  const through = (seed: number, facts: NonNullable<Environment['pipeline']>, tool = 'k6') =>
    recording(seed, ({ run }) => {
      run.run.tool.name = tool;
      run.environment.pipeline = { queue: 'stream', relay_batch: 500, mqtt_open_files: seed, ...facts };
    });
  const titlesOf = (...runs: Recording[]) =>
    compare(runs).subjects.map(({ title, runs }) => [title, runs.length]);
  const stream = [through(1, {}), through(2, {})] as const;
  assert.deepEqual(titlesOf(...stream, through(3, { queue: 'list' }), through(4, {}, 'artillery')), [
    ['k6, queue stream', 2],
    ['k6, queue list', 1],
    ['artillery, queue stream', 1],
  ]);
  for (const name of ['relay_mode', 'ingest_workers', 'mqtt_qos', 'relay_batch']) {
    const other = through(3, { [name]: 7 });
    assert.deepEqual(
      compare([...stream, other]).subjects.map(({ runs }) => runs.length),
      [2, 1],
    );
  }
  assert.deepEqual(titlesOf(through(1, {}), through(2, { relay_batch: 1 })), [
    ['relay_batch 500', 1],
    ['relay_batch 1', 1],
  ]);
});

test('the title of a numeric label contains the name of the label', () => {
  const labelled = ['1', '2'].map((relays, i) =>
    recording(i, ({ run }) => {
      run.run.labels = { relays };
    }),
  );
  assert.deepEqual(
    compare(labelled).subjects.map(({ title }) => title),
    ['relays 1', 'relays 2'],
  );
});

test('three repeats of each of two labels make two subjects with intervals from the repeats', () => {
  const repeats = (build: string, median: number) =>
    [1, 2, 3].map((seed) =>
      recording(seed + median * 10, ({ run }) => Object.assign(run.run, { labels: { build } }), median),
    );
  const { subjects, rows } = compare([...repeats('a', 2), ...repeats('b', 3)]);
  assert.deepEqual(
    subjects.map(({ title, runs }) => [title, runs.length]),
    [
      ['a', 3],
      ['b', 3],
    ],
  );
  const difference = rows.find(({ name }) => name === 'arrival.p50')?.differences[1];
  assert.match(difference?.interval?.from ?? '', /^3 and 3 runs$/);
  assert.equal(difference?.word, 'worse');
});

test('charts over time use one bin width for all runs, and each bin shows its worst second', () => {
  const lasting = (seconds: number) =>
    recording(1, ({ run }) => {
      const [second] = run.timeline as [Run['timeline'][number]];
      run.timeline = Array.from({ length: seconds }, (_, t) => ({
        ...second,
        t,
        arrival: second.arrival && { ...second.arrival, count: 1000, p99: t === 43 ? 900 : 5 },
      }));
    });
  for (const [lengths, width] of [
    [[60, 3600], 6],
    [[600, 601], 2],
    [[60, 50], 1],
  ] as const) {
    const lines = compare(lengths.map(lasting)).subjects.map(({ timeline }) => timeline);
    lines.forEach(({ t, p99 }, i) => {
      const points = Math.ceil((lengths[i] as number) / width);
      assert.deepEqual(
        t,
        Array.from({ length: points }, (_, k) => k * width),
      );
      assert.equal(p99.indexOf(900), Math.floor(43 / width), 'the worst second of its bin');
      assert.ok(!p99.includes(null));
    });
  }
});

test('compare takes two to six runs', () => {
  assert.throws(() => compare([recording(1)]), /at least two runs/);
  assert.throws(() => compare(Array.from({ length: 7 }, (_, i) => recording(i))), /6 runs .* at most, not 7/);
});

const CONDITIONS: [string, Judgement['result'], RegExp][] = [
  ['arrival.p99 > +10%', 'exceeded', /^\+5\d(\.\d+)? %, interval /],
  ['arrival.p99 > +90 %', 'passed', /^\+5\d %/],
  ['arrival.p50 > +0.5ms', 'exceeded', /^\+1(\.\d+)? ms|^\+0\.9\d+ ms/],
  ['arrival.p50>250ms', 'passed', /^\d\.\d+ ms$/],
  ['http.mean < -1%', 'passed', / %/],
  ['account.lost > 0', 'passed', /^0$/],
  ['account.scheduled >= 1', 'exceeded', /^[\d,]+$/],
  ['rate.arrived < 1000 /s', 'exceeded', /^60 deliveries\/s$/],
  ['arrival.within(3ms) < 60%', 'exceeded', /^5\d(\.\d+)? %$/],
  ['arrival.within( 0.003 s ) < 40%', 'passed', /^5\d(\.\d+)? %$/],
  ['arrival.within(3000us) < -20%', 'exceeded', /^−4\d %, interval −[45]\d % to −[23]/],
  ['account.lost > +5%', 'not judged', /^there is no percentage of 0$/],
];
for (const [text, result, expected] of CONDITIONS) {
  test(`--fail-if '${text}': ${result}`, () => {
    const groups = grouped([recording(1), recording(2, undefined, 3)], false);
    const [finding] = judge(parseCondition(text), groups, false);
    assert.equal(finding?.result, result);
    assert.match(finding?.detail ?? '', expected);
  });
}

test('invalid repeats are left out and reported, but their losses count', () => {
  const labelled = (build: string, seed: number, median: number, change: (run: Run) => void = () => {}) =>
    recording(
      seed,
      ({ run }) => {
        run.run.labels = { build };
        change(run);
      },
      median,
    );
  const disturbed = labelled('b', 5, 50, (run) => {
    Object.assign(run.verdict, { result: 'invalid', reasons: ['the generator was late'] });
    run.account.arrived -= 3;
    run.account.lost += 3;
  });
  const trusted = [labelled('a', 1, 2), labelled('a', 2, 2), labelled('b', 3, 3), labelled('b', 4, 3)];
  const all = [...trusted.slice(0, 2), disturbed, ...trusted.slice(2)];
  const [without, beside] = [compare(trusted), compare(all, { allowFailed: true })];
  assert.deepEqual(obstacles(beside), [null, null]);
  assert.deepEqual(beside.rows, without.rows);
  const [, b] = beside.subjects;
  assert.deepEqual(
    b?.runs.map(({ counted }) => counted),
    [false, true, true],
  );
  assert.equal(b?.account.lost, 3);
  assert.match(comparisonText(beside), /B {2}b · 2 of 3 runs count/);
  const findings = (text: string) => judge(parseCondition(text), grouped(all, false), false);
  assert.match(findings('arrival.p50 > 10ms')[0]?.detail ?? '', /^\d+(\.\d+)? ms; but 3 lost$/);
  assert.equal(findings('account.lost > 0')[0]?.result, 'exceeded');
  const alone = compare([...trusted.slice(0, 2), disturbed], { allowFailed: true });
  assert.deepEqual(obstacles(alone), [null, 'not comparable: run is invalid'], 'no valid repeat is left');
});

test('--sure: a difference counts only if its whole interval exceeds the limit', () => {
  const groups = grouped([recording(1), recording(2, undefined, 3)], false);
  const judged = (text: string, sure: boolean) => judge(parseCondition(text), groups, sure)[0];
  const measured = judged('arrival.p50 > +0%', false)?.detail.match(/\+(\d+) %/)?.[1];
  assert.equal(judged(`arrival.p50 > +${Number(measured) - 1}%`, false)?.result, 'exceeded');
  assert.equal(judged(`arrival.p50 > +${Number(measured) - 1}%`, true)?.result, 'passed');
  assert.equal(judged('arrival.p50 > +10%', true)?.result, 'exceeded');
});

test('a latency condition is not judged for an invalid run, a count of losses is', () => {
  const invalid = recording(2, ({ run }) => {
    run.verdict.result = 'invalid';
  });
  const groups = grouped([recording(1), invalid], false);
  for (const text of ['arrival.p99 > +10%', 'arrival.p99 > 250ms']) {
    const [finding] = judge(parseCondition(text), groups, false);
    assert.equal(finding?.result, 'not judged');
    assert.match(finding?.detail ?? '', /^(not comparable: )?run is invalid$/);
  }
  for (const text of ['account.lost > 0', 'account.duplicates > +5']) {
    assert.equal(judge(parseCondition(text), groups, false)[0]?.result, 'passed', text);
  }
});

test('a count of losses is not judged for a killed or an unbalanced run', () => {
  const lost = (change: (recording: Recording) => void) =>
    judge(parseCondition('account.lost > 0'), grouped([recording(1), recording(2, change)], false), false)[0];
  const killed = lost(({ run }) => {
    run.verdict.result = 'incomplete';
    Object.assign(run.account, { arrived: run.account.arrived - 9, pending: 9 });
  });
  assert.deepEqual([killed?.result, killed?.detail], ['not judged', 'run is incomplete']);
  const open = lost(({ run }) => {
    run.verdict.result = 'invalid';
    run.account.balanced = false;
  });
  assert.deepEqual([open?.result, open?.detail], ['not judged', 'account does not balance']);
});

for (const [text, expected] of [
  ['', /column 1: there is no measure; allowed: a measure like arrival\.p99$/],
  ['arrival.p77 > 1', /column 1: arrival has no p77; allowed: arrival\.min, arrival\.mean/],
  ['arrival.within(3) < 9%', /column 1: arrival has no within\(3\); allowed: .*, arrival\.within\(250ms\)$/],
  ['arrival.within(3ms) < 0.9', /column 26: a share is in %; allowed: 99\.9%$/],
  ['arrival.within(3ms) < 9ms', /column 24: ms is not the unit of arrival\.within\(3ms\); allowed: % or %$/],
  ['arrival > 3', /column 1: arrival is not a single figure; allowed: /],
  ['  speed > 3', /column 3: speed is not a measure; allowed: arrival, from_send, http/],
  ['arrival.p99 ~ 4', /column 13: '~' is not a comparison; allowed: > >= < <=$/],
  ['arrival.p99 > fast', /column 15: 'fast' is not a number; allowed: /],
  ['arrival.p99 > 10%', /column 17: a percentage needs a sign; allowed: \+10% or -10%/],
  ['arrival.p99 > 10/s', /column 17: \/s is not the unit of arrival\.p99; allowed: % or ms$/],
  ['arrival.p99 > +10% or so', /column 20: 'or' is not expected here/],
] as const) {
  test(`--fail-if '${text}' is refused with the column of the error`, () => {
    assert.throws(
      () => parseCondition(text),
      (error) => error instanceof ConditionError && expected.test(error.message),
    );
  });
}

test('the terminal table has values, difference, interval and word, and escapes control characters', () => {
  const hostile = recording(
    2,
    ({ run }) => {
      run.run.topology = '\u001b[31mcluster';
    },
    3,
  );
  const text = comparisonText(compare([recording(1), hostile]));
  assert.match(text, /^A {2}single · .* · pass · baseline$/m);
  assert.match(
    text,
    /^B \(.*\) is slower: p50 [\d.]+ → [\d.]+ ms, ×1\.\d+; p99 [\d.]+ → [\d.]+ ms, ×1\.\d+/,
    'the answer comes first',
  );
  assert.match(text, /^arrival p99 +\d\.\d+ +\d\.\d+ +\+2\.\d+ +×1\.5\d +\(×1\.\d+ … ×[12]\.\d+\) +worse$/m);
  assert.match(text, /\(99 % intervals from \d+ blocks of \d s\b/);
  assert.match(text, /^accounts {4}[\d,]+ scheduled = [\d,]+ arrived, in each$/m);
  assert.match(text, /\\u001b\[31mcluster/);
  assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}/u);
});

test('runs that are not comparable are refused in one line, without a table of nothing', () => {
  const unusable = ({ run }: Recording) => {
    run.verdict.result = 'invalid';
    run.facts.doubts = [];
  };
  const compared = compare([recording(1, unusable), recording(2, unusable)]);
  const lines = comparisonText(compared).split('\n');
  assert.match(lines[0] ?? '', /^B \(.*\): not comparable: run is invalid, repeat it$/);
  assert.ok(!lines.some((line) => line.includes('B against A') || line.startsWith('arrival p50')));
});

test('an additional table has aligned columns, wraps long notes and escapes control characters', () => {
  const rows = [
    ['arrival p50', '1.000'],
    ['p99\u001b[2J', '12.500'],
  ];
  const notes = [`${'word '.repeat(40)}end`];
  const [title, caption, head, first, second, ...lines] = additionText({
    title: 'Agreement',
    caption: 'ms',
    head: ['figure', 'k6'],
    rows,
    notes,
  }).split('\n');
  assert.deepEqual(
    [title, caption, head, first],
    ['Agreement', 'ms', 'figure            k6', 'arrival p50    1.000'],
  );
  assert.equal(second, 'p99\\u001b[2J       12.500');
  assert.equal(lines.length, 2);
  assert.ok(lines.every((line) => line.length <= 140 && !line.startsWith(' ')));
  assert.equal(lines.join(' '), notes[0]);
});

const meansOf = (seed: number, means: Record<string, number>) =>
  recording(seed, ({ run }) => {
    const { arrival } = run.latency;
    run.latency.stages = Object.fromEntries(
      Object.entries(means).map(([name, mean]) => [name, { ...arrival, mean }]),
    );
  });

test('the account of means says which stage a difference comes from, without any interval', () => {
  const before = meansOf(1, { schedule: 0.1, request: 0.5, queue: 0.15, relay: 0.1, delivery: 0.4 });
  const after = meansOf(2, { schedule: 0.1, request: 0.5, queue: 1.01, relay: 0.08, delivery: 0.32 });
  const said = 'B against A: mean +0.760 ms: queue +0.860, delivery −0.080, relay −0.020';
  const comparison = compare([before, after]);
  assert.deepEqual(waterfalls(comparison), [said]);
  assert.ok(comparisonText(comparison).includes(said));
  assert.ok(comparisonMarkdown(comparison).includes('queue +0.860'));
  const [a, b] = comparison.subjects as [Subject, Subject];
  const found = waterfallOf(a, b);
  const sum = found?.steps.reduce((total, { change }) => total + change, found.from) ?? 0;
  assert.ok(found && Math.abs(sum - found.to) < 1e-9, 'the stages add up');
  assert.equal(waterfallOf(a, { ...b, obstacle: 'not comparable: run is invalid' }), null);
  assert.deepEqual(waterfalls(compare([meansOf(1, {}), meansOf(2, {})])), [], 'no stamps');
  assert.deepEqual(waterfalls(compare([before, before])), [], 'no stage changed');
});

test('rows stand in one order: arrival, the shares within limits, stages, HTTP, canary', () => {
  const kinds = compare([limited(1), limited(2, 3)]).rows.map(({ name }) => name.replace(/[.(].*/, ''));
  const order = [...new Set(kinds)];
  const known = ['arrival', 'schedule', 'request', 'ingest', 'queue', 'relay', 'delivery', 'http', 'canary'];
  assert.deepEqual(
    order,
    known.filter((name) => order.includes(name)),
  );
});

test('runs with different stages are compared by those that they share', () => {
  const stage = (name: string) => ({ name, from: '', to: '', says: '', crosses_hosts: false });
  const withStages = (seed: number, names: string[]) =>
    recording(seed, ({ run }) => {
      run.stages = names.map(stage);
      const { arrival } = run.latency;
      run.latency.stages = Object.fromEntries(
        names.map((name) => [name, { ...arrival, mean: (arrival.mean ?? 0) / names.length }]),
      );
    });
  const own = withStages(1, ['schedule', 'request', 'outbox', 'push']);
  const ours = withStages(2, ['schedule', 'request', 'queue', 'delivery']);
  const { subjects, rows } = compare([own, ours]);
  const names = ['schedule', 'request', 'outbox', 'push', 'queue', 'delivery'];
  assert.deepEqual(Object.keys(subjects[0]?.stages ?? {}), names);
  const known = (i: number) => names.filter((name) => subjects[i]?.stages[name] != null);
  assert.deepEqual([known(0), known(1)], [names.slice(0, 4), ['schedule', 'request', 'queue', 'delivery']]);
  const compared = rows.filter(({ differences }) => differences[1] !== null).map(({ name }) => name);
  assert.ok(compared.includes('request.mean'), compared.join());
  assert.ok(!compared.includes('outbox.mean') && !compared.includes('queue.mean'), compared.join());
  const condition = parseCondition('outbox.mean > 3600000ms');
  const judged = (...runs: Recording[]) => judge(condition, grouped(runs, true), false)[0];
  assert.equal(judged(own, own)?.result, 'passed');
  assert.throws(() => judged(ours, ours), /outbox is not a measure of these runs; allowed: .*queue/);
});

// Regression: of two runs of one build beside other work, one "is faster: schedule ×0.57".
test('lateness of the generator is a circumstance, not a difference', () => {
  const lateBy = (seed: number, label: string, ms: number) =>
    [0, 1, 2].map((i) =>
      recording(seed + i, ({ run }) => {
        const late = ms * (1 + i / 100);
        run.run.labels = { build: label };
        run.latency.stages.schedule = { ...run.latency.arrival, mean: late, p99: late };
        const spans = {
          from: 'due',
          to: 'sent',
          mean: late,
          error: 0,
          p50: late,
          p99: late,
          max: late,
          bound: 0,
        };
        Object.assign(run, { spans: { stages: [spans], arrival: { ...spans, to: 'arrived', mean: 5 } } });
      }),
    );
  const compared = compare([...lateBy(1, 'a', 0.2), ...lateBy(4, 'b', 0.1)]);
  const found = ['schedule.mean', 'spans.due-sent.mean'].map((name) => {
    const difference = compared.rows.find((row) => row.name === name)?.differences[1];
    return [difference?.word, difference?.why];
  });
  assert.deepEqual(found, [
    ['undecided', GENERATORS],
    ['undecided', GENERATORS],
  ]);
  const [{ sentence, tone } = { sentence: '', tone: 'worse' }] = outcomes(compared);
  assert.match(sentence, /; the generator was later in A \(0\.202 → 0\.101 ms\): compare with care$/);
  assert.doesNotMatch(sentence, /schedule|faster/);
  assert.equal(tone, '');
});

test('a machine that was slower before one run is a circumstance', () => {
  const on = (seed: number, us: number | null) =>
    recording(seed, ({ run }) => {
      run.environment.calibration_us = us;
    });
  const said = (a: number | null, b: number | null) =>
    outcomes(compare([on(1, a), on(2, b)]))[0]?.sentence ?? '';
  assert.match(said(300, 390), /; the machine took ×1\.30 as long for the same work in B: compare with care/);
  assert.match(said(390, 300), /same work in A: compare with care/);
  for (const [a, b] of [
    [300, 310],
    [300, null],
  ] as const)
    assert.doesNotMatch(said(a, b), /the machine/);
});
