/** What the page, the document and the terminal say of a result. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refereePage, rowOf, tableOf, text, texts } from '../../test/rendering.ts';
import { cellsOf } from '../cells.ts';
import { answerOf, commandsOf, kindsOf, markOf, runOf, toolsOf } from '../facts.ts';
import type { Quantiles, RefereeRun, Truth } from '../result.ts';
import { refereeMarkdown, refereeTable } from '../text.ts';
import { madeResult } from './made.ts';

const result = madeResult();
const [constant, freeze] = result.truths as [Truth, Truth];
const plain = (mark: string) => mark.replaceAll('\u00a0', ' ');

test('a figure is right within 5 % or 0.3 ms, and has its sign otherwise', () => {
  const tones = (truth: Truth) =>
    ['send', 'open', 'loop'].map((tool) => {
      const { tone, far, text } = markOf(result, tool, truth);
      return [tone, far, plain(text)];
    });
  assert.deepEqual(tones(constant), [
    ['right', false, '+10 %'],
    ['high', false, '+40 %'],
    ['right', false, '+10 %'],
  ]);
  assert.deepEqual(tones(freeze)[2], ['low', true, '÷155']);
  assert.equal(markOf(result, 'open', freeze).tone, 'right');
});

test('a cell without a figure says why', () => {
  const why = (tool: string, truth: Truth) => markOf(result, tool, truth).text;
  assert.equal(why('paced', constant), 'not reported');
  assert.equal(why('paced', freeze), 'not used');
  assert.equal(why('absent', freeze), 'not run');
});

test('the project’s own rows stand first, then open, paced and closed ones', () => {
  const names = toolsOf(result).map(({ name }) => name);
  assert.deepEqual(names, ['send', 'open', 'paced', 'loop']);
});

test('the answer is about the truth that most rows are far below, and names where our own rows are off', () => {
  assert.match(
    plain(answerOf(result).join(' ')),
    /“freeze” p99 is 442 ms: 2 of 3 rows report it right, 1 too low, 0 too high.*right in 2 of 2/,
  );
  const late = madeResult();
  for (const { tool, truth, due } of late.cells) if (tool === 'send' && truth === 'freeze') due.p99 = 1.2;
  assert.match(plain(answerOf(late)[1] ?? ''), /right in 1 of 2 cells: run\.send\(\) under freeze \+20 %/);
  assert.deepEqual(answerOf({ ...result, cells: [] }), ['No run could be used.']);
});

test('commands that differ by port and folder are one', () => {
  assert.deepEqual(commandsOf(result, 'loop'), [
    { command: 'loop -o FOLDER/out http://127.0.0.1:PORT/', truths: 'all truths' },
  ]);
  const runs = result.runs.map((run, i) => ({
    ...run,
    command: `HOME="reports/runs/referee-${i}/a-1" loop --server 127.0.0.1 --port ${i}`,
  }));
  assert.deepEqual(commandsOf({ ...result, runs }, 'loop'), [
    { command: 'HOME="FOLDER" loop --server 127.0.0.1 --port PORT', truths: 'all truths' },
  ]);
});

test('each kind of error names the rows of its kind', () => {
  const rows = kindsOf(result).map(({ rows }) => rows);
  assert.deepEqual(
    rows.filter((row) => row !== ''),
    ['a *closed* <loop>', 'paced', 'open', 'run.send()'],
  );
});

test('what the server has and a tool does not report is said, and the reverse', () => {
  const counts = (reset: number, begun: number, reported: RefereeRun['reported']['requests']) =>
    kindsOf({
      ...result,
      runs: result.runs.map((run) =>
        run.tool === 'loop' && run.truth === 'freeze'
          ? {
              ...run,
              requests: { ...run.requests, begun, reset },
              reported: { ...run.reported, requests: reported },
            }
          : run,
      ),
    })
      .map(({ rows }) => rows)
      .filter((rows) => rows.includes(' of '));
  const under = (what: string) => [`a *closed* <loop>: ${what} under freeze`];
  assert.deepEqual(counts(5, 2405, { done: 2400 }), under('5 of 5 failures'), 'sent again');
  assert.deepEqual(counts(5, 2405, { done: 2400, failed: 5 }), []);
  assert.deepEqual(counts(0, 2420, { done: 2400 }), [], 'each of 20 connections has one under way');
  assert.deepEqual(counts(0, 2421, { done: 2400 }), under('21 of 2,421 requests'));
  assert.deepEqual(counts(0, 2421, { begun: 2421, done: 2400 }), []);
  assert.deepEqual(counts(0, 2400, { done: 2400, failed: 21 }), under('21 of 21 failures'));
  assert.deepEqual(counts(0, 2379, { done: 2400 }), under('21 of 2,400 requests'));
});

test('page, document and terminal show the same marks, and what is not measured', () => {
  const page = refereePage(result);
  const document = refereeMarkdown(result);
  const terminal = refereeTable(result);
  for (const { name, title } of toolsOf(result)) {
    const overview = tableOf(page, 'p99 as each tool');
    const shown = overview.querySelectorAll('tbody tr').find((row) => row.textContent.startsWith(title));
    for (const truth of result.truths) {
      const mark = plain(markOf(result, name, truth).text);
      assert.ok(
        texts(shown ?? overview, 'td').some((cell) => cell.includes(mark)),
        `${name}: ${mark}`,
      );
      for (const said of [document, terminal]) assert.ok(said.includes(mark), mark);
    }
  }
  for (const said of [text(page, 'main'), document, terminal]) {
    assert.match(said, /[Nn]ot installed[\s\S]*absent/);
    assert.match(said, /paced under freeze, repeat 1: 20 % of the host was stolen/);
  }
});

test('page, document and terminal show the least and the largest of repeats, and of how many runs', () => {
  const { load, cells } = result;
  const [cell, ...others] = cells.filter(({ tool, truth }) => tool === 'loop' && truth === 'freeze');
  assert.ok(cell && others.length === 0);
  const repeated = {
    ...result,
    load: { ...load, repeats: 3 },
    cells: cells.map((one) => (one === cell ? { ...one, runs: 2, low: 0.005, high: 0.05 } : one)),
  };
  for (const said of [
    text(refereePage(repeated), '.overview'),
    refereeMarkdown(repeated),
    refereeTable(repeated),
  ]) {
    assert.ok(plain(said).includes('÷200 to ÷20 in 2 runs'), said);
    assert.match(said, /1 run\b/, 'of others one run is used');
  }
  assert.doesNotMatch(refereeTable(result), / in \d runs|1 run\b/);
});

test('the table of a truth has the server’s record beside what is reported', () => {
  const table = tableOf(refereePage(result), 'Reported by each tool');
  assert.deepEqual(rowOf(table, 'truth, from due').slice(0, 5), ['2.00', '2.00', '2.00', '2.00', '2.00']);
  const cells = rowOf(table, 'open').map((cell) => cell.trim());
  assert.deepEqual(cells.slice(2, 3), ['↑ 2.80']);
  assert.deepEqual(cells.slice(-7), ['– / 2,400', '2,400', '– / 0', '5.40', '0.400', '90', '40 % / 0 %']);
  assert.match(text(refereePage(result), '.truth'), /open says: too <few> VUs/);
});

test('the document has lines of at most 100 characters, but for tables and commands, and shows markup as text', () => {
  const document = refereeMarkdown(result);
  assert.deepEqual(
    document.split('\n').filter((line) => !/^(\|| {4})/.test(line) && [...line].length > 100),
    [],
  );
  assert.match(document, /a \\\*closed\\\* &lt;loop\\>/);
});

test('a campaign that was stopped before its first result has a page and a document', () => {
  const stopped = { ...result, runs: [], cells: [] };
  const page = refereePage(stopped);
  assert.equal(page.querySelectorAll('.chart').length, 0);
  for (const said of [text(page, 'main'), refereeMarkdown(stopped), refereeTable(stopped)])
    assert.match(said, /No run could be used\./);
});

const due: Quantiles = {
  ...{ count: 100, curve: [], p50_ms: 2, p90_ms: 2 },
  p99_ms: 400,
  p999_ms: 500,
  max_ms: 500,
};

function madeRun(p99_ms: number, used = true): RefereeRun {
  const reported = { p50_ms: 2, p99_ms, requests: {}, said: [] };
  const served = { ...due, p99_ms: 200 };
  return { tool: 'wrk', truth: 'freeze', used, reported, served } as unknown as RefereeRun;
}

test('a cell is the median of the runs that are used, by what is reported', () => {
  const runs = [madeRun(40), madeRun(4000, false), madeRun(400), madeRun(200)];
  const [cell, ...more] = cellsOf(runs, new Map([['freeze', due]]));
  assert.deepEqual(more, []);
  assert.deepEqual(cell, {
    ...{ tool: 'wrk', truth: 'freeze', runs: 3, low: 0.1, high: 1 },
    due: { p50: 1, p99: 0.5 },
    served: { p50: 1, p99: 1 },
  });
  assert.deepEqual(cellsOf([madeRun(4000, false)], new Map([['freeze', due]])), []);
  const [two] = cellsOf([madeRun(200), madeRun(400)], new Map([['freeze', due]]));
  assert.equal(two?.due.p99, 0.75, 'of two runs the mean');
});

test('of repeats that are used the run of the median p99 stands for them', () => {
  const runs = [madeRun(9, false), madeRun(5), madeRun(2), madeRun(3), madeRun(4)];
  assert.equal(runOf({ ...result, runs }, 'wrk', 'freeze')?.reported.p99_ms, 3, 'of four the lower');
  assert.equal(runOf({ ...result, runs: [] }, 'wrk', 'freeze'), undefined);
});
