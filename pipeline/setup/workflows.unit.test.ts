/** The hosted CI runs commands of the README and package.json, with pinned actions and read-only rights. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import repository from '../../package.json' with { type: 'json' };

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, string>;
}
interface Workflow {
  permissions: object;
  jobs: Record<string, { 'timeout-minutes'?: number; permissions?: object; steps: Step[] }>;
}

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const files = globSync('.github/workflows/*.yml', { cwd: ROOT });
const jobs = files.flatMap((file) => Object.values((parse(read(file)) as Workflow).jobs));
const steps = jobs.flatMap((job) => job.steps);

test('a workflow has read-only rights, and each job a timeout', () => {
  assert.ok(files.length > 0);
  for (const file of files) assert.deepEqual(parse(read(file)).permissions, { contents: 'read' }, file);
  for (const job of jobs) {
    assert.ok(Number(job['timeout-minutes']) > 0);
    assert.equal(job.permissions, undefined);
  }
});

test('each action is pinned by its commit', () => {
  const used = steps.flatMap(({ uses }) => uses ?? []);
  assert.ok(used.length > 0);
  for (const action of used) assert.match(action, /^actions\/[\w-]+@[0-9a-f]{40}$/);
});

test("workflows use the repository's Node and Go, and run its npm scripts", () => {
  for (const { with: given = {} } of steps) {
    for (const [name, file] of Object.entries(given))
      if (name.endsWith('-version-file')) assert.ok(existsSync(join(ROOT, file)), file);
    assert.ok(!('node-version' in given || 'go-version' in given));
  }
  const run = steps.flatMap((step) => step.run ?? []).filter((command) => command.startsWith('npm'));
  for (const command of run) {
    const script = command.replace(/^npm (run )?/, '');
    assert.ok(script in repository.scripts, command);
  }
  // The README's two commands.
  for (const [, command = ''] of read('README.md').matchAll(/^ {4}(npm \w+(?: \w+)?) {2,}# sets up/gm))
    assert.ok(run.includes(command), command);
});
