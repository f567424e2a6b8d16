import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Run } from '../../../reports/run.ts';
import { bottleneck, findLimit, limitText } from '../limits.ts';
import { agreement, cpuPerMessage, tableOf } from '../tools.ts';
import { figuresIn } from '../wrk.ts';

const GOLDEN = join(import.meta.dirname, '../../../reports/testdata/passing.json');

/** The golden run, as if of a tool, with an arrival p50. */
function runOf(tool: string, p50: number): Run {
  const run = JSON.parse(readFileSync(GOLDEN, 'utf8')) as Run;
  run.run.tool.name = tool;
  run.latency.arrival.p50 = p50;
  run.clock = run.clock && { ...run.clock, bound_ms: 0.1 };
  run.run.profile.phases = run.run.profile.phases.slice(0, 1).map((phase) => ({ ...phase, duration_s: 10 }));
  run.account.scheduled = 10_000;
  run.resources = [
    {
      process: tool,
      cpu_percent: { mean: 50, max: 60 },
      rss_mb: { mean: 80, max: 90 },
      series: [],
      figures: null,
    },
  ];
  return run;
}

test('CPU a message is that of the whole generator', () => {
  assert.equal(cpuPerMessage(runOf('k6', 1)), 500);
});

test('tools agree within 10 % and the clock bound, and not beyond', () => {
  const answer = (other: number) =>
    agreement([runOf('k6', 1), runOf('artillery', other)]).find((line) => line.startsWith('agree')) ?? '';
  assert.match(
    answer(1.19),
    /^agree within 10 % and the clock bound of 0\.100 ms: yes \(arrival p50 yes, arrival p99 yes, /,
  );
  assert.match(answer(1.21), /: no \(arrival p50 no, arrival p99 yes/);
  assert.match(answer(0.79), /: no \(arrival p50 no/);
  assert.deepEqual(agreement([runOf('k6', 1)]), [], 'of one tool there is nothing to say');
  const invalid = runOf('artillery', 1);
  invalid.verdict.result = 'invalid';
  assert.match(agreement([runOf('k6', 1), invalid]).at(-1) ?? '', /^1 of 2 runs are invalid/);
});

test('the rate is found at which a generator becomes the bottleneck, and why', async () => {
  const tried: number[] = [];
  const probe = async (rate: number) => {
    tried.push(rate);
    const reasons =
      rate > 1000 ? ['the clock is off', 'the generator was late: by far'] : ['3 messages lost'];
    return { verdict: { result: rate > 1000 ? ('invalid' as const) : ('fail' as const), reasons } };
  };
  const limit = await findLimit('artillery', 200, 3200, probe);
  assert.ok(limit.kept <= 1000 && limit.tooMuch !== undefined && limit.tooMuch > 1000, `${tried}`);
  assert.ok(limit.tooMuch <= limit.kept * 1.25);
  assert.deepEqual(tried.slice(0, 5), [200, 400, 800, 1600, 1600], 'what is too much is tried once more');
  assert.match(
    limitText(limit),
    /^artillery +keeps up with \d+\/s, and is the bottleneck from \d+\/s on: the generator was late: by far$/,
  );
  const never = await findLimit('k6', 200, 800, probe);
  assert.equal(limitText(never), 'k6         keeps up with 800/s, the highest rate tried');
  const verdict = { result: 'invalid' as const, reasons: ['the clock bound is above the limit'] };
  assert.equal(bottleneck({ verdict }), undefined, 'a clock is no generator');
});

test("wrk's words are read", () => {
  const said = `  Latency Distribution
     50%    1.23ms
     75%    2.00ms
     90%  903.00us
     99%    1.02s
  1000 requests in 10.00s, 2MB read
  Non-2xx or 3xx responses: 7
Requests/sec:   2345.60
`;
  assert.deepEqual(figuresIn(said), { rate: 2345.6, p50: 1.23, p99: 1020, refused: 7 });
  assert.throws(
    () => figuresIn('unable to connect\n'),
    /^Error: wrk said nothing of its requests: unable to connect$/,
  );
});

test('the table has a column for each run, and says when an account does not balance', () => {
  const open = runOf('artillery', 2);
  open.account.balanced = false;
  const table = tableOf([runOf('k6', 1), open]);
  assert.match(table, /^account +balances +OPEN$/m);
  assert.match(table, /^arrival p50, ms +1 +2$/m);
  assert.match(table, /^CPU of the generator a message, µs +500 +500$/m);
});
