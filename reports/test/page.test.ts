import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { messagesCsv } from '../page/download.ts';
import { count, ms } from '../page/format.ts';
import { Reader } from './browser.ts';
import { HOSTILE } from './golden.ts';
import { GOLDENS, golden } from './goldens.ts';
import { charts, legend, overflow, text, violations } from './looking.ts';
import { assertReads } from './reading.ts';

/** The chart titles of the passing run. */
const TITLES = {
  'Arrival p99': 'p99 of each second was below the limit of 250 ms: at most 5.05 ms (0:40)',
  'Latency by percentile': 'Half of the deliveries arrived within 2.31 ms, 99.999 % within 16.4 ms',
  'Distribution of arrival': '31 % of the deliveries took 2.00 to 2.51 ms',
  'Latency by load': 'What was due in the slowest second, at 2,850 messages/s, had p99 ≈ 5.26 ms',
  Canary: 'The slowest canary took 3.35 ms',
  'Mean of each stage': 'The largest stage is queue: 44 % of the mean arrival latency, 2.39 ms',
  Messages: 'Up to 2,850 messages a second were scheduled (0:30); all 89,300 were accepted',
  Payload: 'Up to 661 kB of payload arrived a second (0:32)',
  Deliveries: 'Up to 4,057 deliveries a second arrived (0:32); all 126,900 that were due did',
  Backlog: 'Backlog peaked at 14 deliveries (0:31)',
  'In flight': 'Up to 2 messages waited for an answer (0:48)',
  'Arrival latency': 'The worst second’s arrival p99 is 5.05 ms (0:40)',
  'Arrival latency, all deliveries':
    'Half of the deliveries arrived within 2.31 ms, one in 100 took longer than 4.39 ms',
  'HTTP latency': 'The worst second’s HTTP p99 is 1.67 ms (0:47)',
  CPU: 'k6 used most: up to 40.5 % of one core',
  Memory: 'k6 used most: up to 106 MB resident',
  'Host: what its cores did': 'The host was 47 % idle on average, minimum 16.2 %',
  'Host: context switches and interrupts': 'Up to 36,696 context switches a second; the host did not swap',
};

describe('the page in a browser', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  for (const name of GOLDENS) {
    test(`${name}: the page has verdict and account, fits the screen and draws every chart`, async () => {
      await reader.look(name, (page) => assertReads(page, golden(name)));
    });
  }

  test('the page of a passing run has answer, figures, equation, stages and charts', async () => {
    const passing = golden('passing');
    const run = { ...passing, environment: { ...passing.environment, arrival: '1.2.3' } };
    const { arrival, http } = run.latency;
    await reader.read(run, async (page) => {
      assert.equal(await page.title(), `${run.run.name} – Arrival report`);
      assert.equal(await text(page, '.answer'), run.answer?.sentence);
      assert.deepEqual(await page.locator('.tiles dd:not(.note)').allTextContents(), [
        ...[arrival.p99, http.p99, arrival.p50].map((v) => `${ms(v)} ms`),
        ...['0 ', '2,850 messages/s', '40.5 % of a core'],
      ]);
      const notes = (await page.locator('.tiles .note').allTextContents()).map((note) =>
        note.replaceAll('\u00a0', ' '),
      );
      assert.deepEqual(
        notes,
        run.facts.tiles.map(({ note }) => note),
      );
      const menu = await page.locator('.menu a').allTextContents();
      assert.deepEqual(menu, [
        ...['Summary', 'Findings', 'Stages', 'Over time', 'Latency', 'Flows and messages'],
        ...['Trust', 'Resources', 'Setup'],
      ]);
      assert.match(await text(page, '#trust .aside'), /shared one host and its 2 cores/);
      assert.deepEqual(await page.locator('#account .equation .name').allTextContents(), [
        ...['scheduled', 'dropped', 'rejected', 'unknown', 'arrived', 'dead-lettered', 'queued', 'lost'],
      ]);
      assert.ok(
        (await text(page, '.balance')).startsWith(
          `It balances: the ends add up to ${count(run.account.scheduled)}`,
        ),
      );
      assert.equal(await page.locator('.stages tbody tr').count(), 6);
      assert.match(await text(page, '.stages'), /The means add up to the mean arrival latency, /);
      assert.match(await text(page, '.glossary'), /canary.*one message a second/);
      assert.match(await text(page, 'footer'), /Arrival 1\.2\.3\b/);
      const titles = (await charts(page)).map(({ name, title }) => [name, title.replaceAll('\u00a0', ' ')]);
      assert.deepEqual(Object.fromEntries(titles), TITLES);
    });
  });

  test('CPU and memory charts omit the host, whose memory would flatten the other lines', async () => {
    await reader.look('real', async (page) => {
      const titles = new Map((await charts(page)).map(({ name, title }) => [name, title]));
      assert.match(titles.get('CPU') ?? '', /^relay-1 used most: up to 16\.1/);
      assert.match(titles.get('Memory') ?? '', /^relay-1 used most: up to 167/);
      assert.ok(!(await legend(page, 'Memory')).includes('host'));
      assert.match(
        await text(page, '.resources table'),
        /host \(all cores, interrupts included; memory in use\)/,
      );
    });
  });

  test('small figures of a script are not rounded to 0', async () => {
    const run = golden('passing');
    run.figures = [
      { name: 'HTTP mean', value: 0.0483, unit: 'ms' },
      { name: 'held', value: 15_000, unit: 'connections' },
    ];
    await reader.read(run, async (page) => {
      assert.match(await text(page, '.script'), /HTTP mean0\.048 msheld15,000 connections$/);
    });
  });

  test('request figures bear the name of the protocol', async () => {
    assert.equal(golden('throughput').run.protocol, 'MQTT');
    await reader.look('throughput', async (page) => {
      const shown = await text(page, 'main');
      for (const label of ['arrival and MQTT', 'MQTT p99']) assert.ok(shown.includes(label), label);
      assert.ok((await legend(page, 'Latency by concurrency')).includes('MQTT mean'));
      assert.ok((await charts(page)).some(({ name }) => name === 'MQTT latency'));
      // The description of the stages is the same for every run.
      assert.doesNotMatch(shown.replaceAll('connection, HTTP, parsing', ''), /HTTP/);
    });
  });

  test('what decided stands beside the verdict, and what is in doubt below it', async () => {
    const run = golden('passing');
    run.verdict.meaning = 'every limit held; the script allows what did not arrive: 5 lost';
    run.verdict.doubts = ['the generator was late'];
    run.facts.reasons = ['a reason'];
    await reader.read(run, async (page) => {
      assert.equal(await text(page, '.verdict .meaning'), run.verdict.meaning);
      assert.deepEqual(await page.locator('.verdict li').allTextContents(), [
        'a reason',
        'in doubt: the generator was late',
      ]);
    });
  });

  test('a figure in doubt has its readings in the table of the rules', async () => {
    const run = golden('failing');
    for (const rule of run.verdict.rules) {
      if (rule.name === 'arrival_p99')
        Object.assign(rule, {
          ok: null,
          undecided: true,
          at_least: 10,
          at_most: 310,
          doubted_by: ['lateness'],
        });
    }
    await reader.read(run, async (page) => {
      const row = page.locator('tbody tr', { has: page.locator('th', { hasText: /^arrival_p99$/ }) });
      const [, measured, result] = await row.locator('td').allTextContents();
      assert.match(measured ?? '', /between 10 and 310\sms$/);
      assert.equal(result, 'undecided');
    });
  });

  test('an interrupted run lists its limits as not judged', async () => {
    await reader.look('incomplete', async (page) => {
      const rules = page.locator('table', {
        has: page.locator('caption', { hasText: /^Limits that the run was judged by/ }),
      });
      const results = await rules.locator('tbody td:last-child').allTextContents();
      assert.ok(results.length > 0);
      assert.deepEqual([...new Set(results)], ['not judged']);
    });
  });

  test('each rule has its limit, measured value and result', async () => {
    const run = golden('failing');
    await reader.look('failing', async (page) => {
      const row = page.locator('tbody tr', { has: page.locator('th', { hasText: /^arrival_p99$/ }) });
      const p99 = ms(run.latency.arrival.p99);
      assert.deepEqual(await row.locator('td').allTextContents(), [
        '< 250 ms',
        `${p99}\u00a0ms`,
        '✕ did not hold',
      ]);
    });
  });

  test('an interrupted run shows how far it came and which phase it did not reach', async () => {
    await reader.look('incomplete', async (page) => {
      assert.match(await text(page, '.verdict'), /cut off at 0:23 of 0:50/);
      assert.match(await text(page, '.answer'), /^Not finished: /);
      const rows = await page.locator('.phases tbody tr').allInnerTexts();
      assert.equal(rows.length, 3);
      const [, ramp, sustained] = rows.map((row) => row.replace(/\s+/g, ' '));
      assert.match(ramp ?? '', /^ramp 0:10 – 0:23 .*cut off after 0:13 of 0:20 569 /);
      assert.match(sustained ?? '', /^sustained not reached 1,500 requests\/s( –)+$/);
    });
  });

  test('many phases are named by the first and the last, and folded', async () => {
    const run = golden('passing');
    const [, step] = run.steps;
    const [, phase] = run.run.profile.phases;
    assert.ok(step && phase);
    run.steps = Array.from({ length: 100 }, (_, i) => ({ ...step, name: `${i + 1}` }));
    run.run.profile.phases = run.steps.map(({ name }) => ({ ...phase, name }));
    await reader.read(run, async (page) => {
      await page.getByText('ms, over the measured phases (100 phases, 1 to 100)').waitFor();
      assert.equal(await page.locator('.phases tbody tr').count(), 40);
      await page.locator('.phases summary').click();
      await page.locator('.phases details tbody tr').nth(99).waitFor();
    });
  });

  test('few samples give a visible curve', async () => {
    const run = golden('passing');
    Object.assign(run.latency.arrival, {
      count: 2,
      curve: [
        [0, 1],
        [50, 1],
        [100, 3],
      ],
    });
    for (const series of [run.latency.from_send, run.latency.http])
      Object.assign(series, { count: 0, curve: [] });
    await reader.read(run, async (page) => {
      const [curve] = (await charts(page)).filter(({ name }) => name === 'Latency by percentile');
      assert.ok((curve?.lines[0]?.pixels ?? 0) > 0);
    });
  });

  test('messages are listed with their longest stage, sorted, copied and downloaded', async () => {
    const run = golden('passing');
    const at = { target: 'user/1', flow: 'direct', due: '2026-11-21T09:48:10.000001Z' };
    run.messages = {
      slowest: [
        {
          ...at,
          id: 'r.1.7',
          trace: '4bf92f3577b34da6a3ce929d0e0e4736',
          phase: 'ramp',
          subscriber: 1,
          arrival_ms: 300.5,
          stages_ms: { queue: 300, relay: 0.5 },
          longest: { stage: 'queue', ms: 300, share: 0.998 },
        },
        { ...at, id: 'r.1.8', phase: 'ramp', subscriber: 2, arrival_ms: 3, stages_ms: {}, longest: null },
      ],
      named: [
        { ...at, id: 'r.1.9', end: 'lost', phase: null, delivered: 0 },
        { ...at, id: 'r.1.10', end: 'rejected', phase: null, due: null, delivered: null },
      ],
    };
    run.tail = { count: 10, of: 1000, mean_ms: 100, stages_ms: { queue: 98, relay: 2 } };
    Object.assign(run.facts.journey.stages[3] ?? {}, { slow_mean_ms: 98, slow_share: 0.98 });
    await reader.read(
      run,
      async (page) => {
        const rows = await page.locator('#messages tbody tr').allTextContents();
        assert.equal(rows.length, 4);
        assert.match(rows[0] ?? '', /^r\.1\.7\D*300.*queue, 300.*4bf92f3577b34da6a3ce929d0e0e4736$/);
        assert.match(rows[1] ?? '', /^r\.1\.8.*not known.*–$/);
        assert.match(rows[2] ?? '', /^r\.1\.9\D*lost/);
        assert.match(await text(page, '.stages tbody tr:nth-child(4)'), /98\s%/);
        assert.deepEqual(await violations(page), []);

        const [slowest, named] = [0, 1].map((i) => page.locator('#messages table').nth(i));
        assert.ok(slowest && named);
        const sorts = async (table: typeof slowest, head: string) => {
          await table.getByRole('button', { name: head, exact: true }).press('Enter');
          const sorted = table.locator('th[aria-sort]');
          assert.equal(await sorted.count(), 1);
          return [await sorted.getAttribute('aria-sort'), ...(await table.locator('.id').allTextContents())];
        };
        assert.deepEqual(await sorts(slowest, 'subscriber'), ['descending', 'r.1.8', 'r.1.7']);
        assert.deepEqual(await sorts(slowest, 'subscriber'), ['ascending', 'r.1.7', 'r.1.8']);
        assert.deepEqual(await sorts(slowest, 'longest stage'), ['ascending', 'r.1.7', 'r.1.8']);
        assert.deepEqual(await sorts(slowest, 'longest stage'), ['descending', 'r.1.7', 'r.1.8']);
        assert.deepEqual(await sorts(named, 'id'), ['ascending', 'r.1.9', 'r.1.10'], 'ids sort as numbers');
        assert.deepEqual(await sorts(named, 'id'), ['descending', 'r.1.10', 'r.1.9']);
        assert.deepEqual(await violations(page), []);

        await named.getByRole('button', { name: 'copy r.1.9', exact: true }).click();
        await named.getByRole('button', { name: 'copied r.1.9', exact: true }).waitFor();
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'r.1.9');
        await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
        await slowest.getByRole('button', { name: 'copy r.1.8', exact: true }).click();
        await page.waitForFunction(() => getSelection()?.toString() === 'r.1.8');

        await page.locator('.setup > summary').press('Enter');
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Messages (CSV)' }).click(),
        ]);
        assert.equal(file.suggestedFilename(), `${run.run.name}.messages.csv`);
        assert.equal(await readFile(await file.path(), 'utf8'), messagesCsv(run));
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    );
  });

  test('the page shows commit, branch and CI job, linked only to a web page', async () => {
    const run = golden('passing');
    const commit = '0123456789abcdef0123456789abcdef01234567';
    const ci = { name: 'GitLab CI', job: 'ramp', url: 'https://gitlab.example.com/o/r/-/jobs/7' };
    Object.assign(run.environment, { git: { commit, branch: 'topic', dirty: true }, ci });
    const facts = (page: Page) => page.locator('.facts').allTextContents();
    await reader.read(run, async (page) => {
      assert.match(
        (await facts(page)).join(),
        new RegExp(`commit${commit}, with uncommitted changesbranchtopic`),
      );
      const link = page.locator('#summary').getByRole('link', { name: 'GitLab CI: ramp' });
      assert.equal(await link.getAttribute('href'), ci.url);
    });
    Object.assign(run.environment, {
      git: { commit, branch: null, dirty: false },
      ci: { ...ci, url: 'javascript:document.title=1' },
    });
    await reader.read(run, async (page) => {
      assert.match((await facts(page)).join(), new RegExp(`commit${commit}CI jobGitLab CI: ramp`));
      assert.equal(await page.getByRole('link', { name: 'GitLab CI' }).count(), 0);
    });
  });

  test('an unbalanced account is red and hides every percentile', async () => {
    await reader.read(golden('unbalanced'), async (page) => {
      assert.match(await text(page, '[role=alert]'), /does not balance: the ends add up to 2,433, 37 fewer/);
      const red = await page.locator('.balance').evaluate((element) => getComputedStyle(element).color);
      assert.equal(red, 'rgb(179, 38, 30)');
      await page.locator('.seconds summary').click();
      // Clock bounds are no latency, and the glossary is of every run.
      await page.locator('.clocks, .glossary').evaluateAll((all) => all.forEach((one) => void one.remove()));
      const words = (await text(page, 'main')).replaceAll(/p\(\d+\)<\d+/g, '');
      assert.doesNotMatch(words, /\bp\d\d|percentile|\d ms\b/);
      assert.doesNotMatch(words, /held/);
    });
  });

  test('each phase shows its planned load', async () => {
    const run = golden('passing');
    const [first] = run.run.profile.phases;
    assert.ok(first);
    first.arrival_rate = 0;
    await reader.read(run, async (page) => {
      assert.deepEqual(await page.locator('.phases small:last-child').allTextContents(), [
        ...['pause, not measured', '100 → 1,500 requests/s', '1,500 requests/s'],
      ]);
    });
    const closed = golden('closed');
    const [warmUp] = closed.steps;
    assert.ok(warmUp);
    warmUp.vus = 0;
    await reader.read(closed, async (page) => {
      assert.equal(await text(page, '.phases small:last-child'), 'pause, not measured');
    });
  });

  test('targets with losses come first, then the slowest; the rest is folded', async () => {
    const run = golden('failing');
    const { rows = [] } = run.targets ?? {};
    await reader.look('failing', async (page) => {
      const names = page.locator('.targets > .scroll tbody th');
      assert.equal(await names.count(), 10);
      const most = rows.reduce((a, b) => (b.lost > a.lost ? b : a));
      assert.equal(await names.first().textContent(), most.name);
      assert.match(await text(page, '.targets p'), /^\d+ targets? lost messages\. The slowest is /);
      await page.locator('.targets summary').click();
      await page.locator('.targets details tbody tr').first().waitFor(); // the rows are made on opening
      assert.equal(await page.locator('.targets details tbody tr').count(), rows.length);
      assert.ok(rows.length > 10);
    });
    await reader.look('incomplete', async (page) => {
      assert.equal(await page.locator('.targets').count(), 0);
    });
  });

  test('sampled latencies are shown beside the full ones if the run has any', async () => {
    const run = golden('closed');
    await reader.look('closed', async (page) => {
      assert.equal(await page.locator('.sampled').count(), 0);
    });
    const sampled = {
      ...{ one_in: 100, count: 90, not_found: 2, mean: 11, p50: 9, p99: 30, max: 40 },
      parts: { ingest: 1, relay: 8, arrival: 2 },
      difference: { mean: 1, p50: -1, p99: -30 },
    };
    for (const step of run.steps) step.sampled = sampled;
    run.sampled = sampled;
    run.latency.arrival.p99 = 60;
    await reader.read(run, async (page) => {
      assert.match(
        (await text(page, '.sampled p')).replaceAll('\u00a0', ' '),
        /^Sampled p99 30\.0 ms from 90 samples, full 60\.0 ms, difference −30\.0 ms \(−50 %\)\.$/,
      );
      assert.equal(await page.locator('.sampled tbody tr').count(), run.steps.length);
      assert.match(await text(page, '.sampled .small'), /^2 deliveries of sampled messages are left out/);
      await page.setViewportSize({ width: 390, height: 900 });
      assert.ok((await overflow(page)) <= 0);
    });
  });

  test('hostile strings stay text', async () => {
    await reader.look('hostile', async (page) => {
      await page.locator('.seconds summary').click();
      assert.equal(await page.locator('img, main b, main script').count(), 0);
      assert.equal(await page.title(), `${HOSTILE} – Arrival report`);
      for (const place of [
        '.verdict li',
        '.phases tbody th',
        '.targets tbody th',
        'pre',
        '.facts dt',
        '.rules tbody th',
      ]) {
        assert.ok((await page.locator(place).allTextContents()).join().includes(HOSTILE), place);
      }
    });
  });

  test('the page says if stages are missing and if the run has just started', async () => {
    await reader.look('without-stages', async (page) => {
      assert.match(
        await text(page, 'main'),
        /The messages carried no stamps of the stages, so .* as a whole only/,
      );
    });
    await reader.look('started', async (page) => {
      assert.match(await text(page, '.answer'), /^Not finished: 0 of 0 messages/);
    });
  });

  test('a sweep has charts by concurrency with knee and fit', async () => {
    await reader.look('closed', async (page) => {
      const names = (await charts(page)).map(({ name }) => name);
      assert.deepEqual(names.slice(0, 2), ['Latency by concurrency', 'Throughput by concurrency']);
      assert.ok(!names.includes('Arrival p99'));
      for (const { name, lines } of await charts(page)) {
        if (!/^(Latency by concurrency|HTTP latency)$/.test(name)) continue;
        const patterns = new Set(lines.map(({ pattern }) => pattern));
        assert.equal(patterns.size, lines.length, `${name}: distinguished by colour alone`);
      }
      assert.match(await text(page, '.sweep h3'), /^Knee at 4 VUs: arrival p50 is 4\.74 ms there/);
      assert.deepEqual(await legend(page, 'Throughput by concurrency'), [
        ...['accepted and arrived', 'sent', 'USL fit'],
      ]);
      assert.match(
        await text(page, '.script'),
        /^Figures of sweeptime to drain0\.300 stime until p99 is backnot available/,
      );
    });
    await reader.look('passing', async (page) => {
      assert.equal(await page.locator('.sweep, .script').count(), 0);
    });
  });
});
