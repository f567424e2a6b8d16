/** Runs the commands of scenarios/TUTORIAL.md in a separate checkout, with shorter phases. */
import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { parse } from 'yaml';
import { leash } from '../../pipeline/stack/leash.ts';
import { copyCheckout } from '../../pipeline/test/checkout.ts';
import { latencyOf, type Run, STAGES } from '../../reports/contract/run.ts';
import { assertAllArrived, assertPass, place, ROOT, readRun } from './harness.ts';

/** Shortens `npm run ramp`. A slow machine too holds its limit, as the tutorial shows it. */
const shortened = (commands: string) =>
  commands.replaceAll(
    'npm run ramp --',
    '$& -e WARMUP_DURATION=1 -e RAMP_DURATION=1 -e SUSTAINED_DURATION=2 -e P99=60000',
  );

const text = await readFile(join(ROOT, 'scenarios/TUTORIAL.md'), 'utf8');
const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind, body = '']) => ({ kind, body }));
/** The commands of a step, with the output that the tutorial shows. */
const steps = blocks.flatMap(({ kind, body }, i) => {
  const next = blocks[i + 1];
  return kind === 'sh' ? [{ commands: body, shown: next?.kind === 'text' ? next.body : '' }] : [];
});

const words = (line: string) => line.trim().split(/\s+/).join(' ');

/** The words before a line's first figure. */
const head = (line: string) => words(line.replace(/(^|[ +−×÷])[\d…].*/, ''));

/** The exit code that `echo $?` prints last. */
const exitCodeIn = (output: string) => Number(output.trimEnd().split('\n').at(-1));

/** Runs commands as a reader does, in a separate session. */
async function typed(commands: string, cwd: string, env: NodeJS.ProcessEnv) {
  const shell = execa('sh', ['-c', commands], { cwd, env, all: true, reject: false, detached: true });
  const pid = shell.pid as number;
  leash.hold(pid);
  const { all, exitCode } = await shell.finally(() => leash.release(pid));
  assert.equal(exitCode, 0, all);
  return all;
}

test("the tutorial's commands find the bottleneck, and its gate refuses the slow run", async (t) => {
  const { runDir: checkout, env } = await place(t);
  const runs: Record<string, Run> = {};
  const mean = (name: string, stage: string) => {
    const run = runs[name];
    return (run && latencyOf(run.latency, stage).mean) ?? Number.NaN;
  };

  const [clone, ...rest] = steps;
  assert.match(clone?.commands ?? '', /^git clone \S+\/arrival\ncd arrival\n$/);
  await mkdir(checkout);
  await copyCheckout(checkout);

  for (const { commands, shown } of rest) {
    const output = await typed(shortened(commands), checkout, env);
    const names = [...commands.matchAll(/reports\/runs\/\w+/g)].map(([path]) => basename(path));
    const last = names.at(-1) as string;
    const [code, shownCode] = [exitCodeIn(output), exitCodeIn(shown)];
    let asShown = true;
    if (commands.includes('npm run ramp')) {
      const run = await readRun(join(checkout, 'reports/runs', last), output);
      runs[last] = run;
      assertAllArrived(run);
      assert.equal(shownCode, 0);
      assertPass(run, code);
      asShown = run.verdict.result !== 'invalid';
    } else if (commands.includes('--fail-if')) {
      // A busy machine can make a run invalid, or slow.
      const judged = names.every((name) => runs[name]?.verdict.result !== 'invalid');
      assert.equal(code, judged && mean(last, 'queue') <= 2 * mean('baseline', 'queue') ? 0 : 1, output);
      asShown = judged && code === shownCode;
    }
    const printed = output.split('\n').map(head);
    const expected = shown.split('\n').filter((line) => asShown || !/\b(PASS|FAIL|exceeded|ok)\b/.test(line));
    for (const line of expected.map(head))
      assert.ok(printed.includes(line), `"${line}" is not in\n${output}`);
  }

  const found = STAGES.filter((stage) => text.includes(`\`${stage}\` has grown`));
  assert.equal(found.length, 1);
  // On a busy machine another stage may grow more.
  for (const stage of found) assert.ok(mean('serial', stage) > mean('baseline', stage), stage);
});

test("the tutorial's CI job runs only commands of the tutorial", () => {
  const known = steps.flatMap(({ commands }) => commands.replaceAll('\\\n', ' ').split('\n').map(words));
  const job = blocks.filter(({ kind }) => kind === 'yaml').flatMap(({ body }) => parse(body));
  const run = job.flatMap((step: { run?: string }) => step.run ?? []).map(words);
  assert.equal(run.length, 3);
  for (const command of run) assert.ok(known.includes(command), command);
});
