/** package.json has the version. After a change: UPDATE=1 node --test pipeline/setup/version.unit.test.ts */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import repository from '../../package.json' with { type: 'json' };

const { version } = repository;
/** Other files that name it, and where. */
const FOLLOWERS: Record<string, RegExp> = {
  'package-lock.json': /(?<="name": "arrival",\s+"version": ")[^"]+/g,
  'extensions/artillery-plugin-arrival/package.json': /(?<="(?:version|@arrival-bench\/k6-[\w-]+)": ")[^"]+/g,
  'extensions/artillery-plugin-arrival/README.md': /(?<=-)\d+\.\d+\.\d+(?=\.tgz)/g,
  'extensions/k6/internal/runfile/run.go': /(?<=^const Version = ")[^"]+/gm,
  'k6.Dockerfile': /(?<=^ARG VERSION=).+/gm,
  'pipeline/pipeline.Dockerfile': /(?<=^ARG VERSION=).+/gm,
  'pipeline/deploy/README.md': /(?<=\$image:)\S*\d/g,
  'pipeline/deploy/kubernetes/images/kustomization.yaml': /(?<=newTag: )[^ }]+/g,
};

for (const [file, place] of Object.entries(FOLLOWERS)) {
  test(`${file} names the version of package.json`, () => {
    const path = join(import.meta.dirname, '../..', file);
    const text = readFileSync(path, 'utf8');
    if (process.env.UPDATE) writeFileSync(path, text.replaceAll(place, version));
    const named = readFileSync(path, 'utf8').match(place);
    assert.deepEqual(new Set(named), new Set([version]));
  });
}
