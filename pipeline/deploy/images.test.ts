import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { test } from 'node:test';
import { BASES, SERVERS, standIn, VERSIONS } from './bases.ts';
import { requirePrograms } from './buildah.ts';
import { COMMANDS, imagesOf } from './compose.ts';
import { HELP, IMAGES, programsOf, readOptions } from './images.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const DOCKERFILES = [...new Set(IMAGES.map(({ file }) => file))];

/** Instructions, a continued one on one line, without comments. */
const instructions = (text: string) =>
  text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '');

const npmPackages = JSON.parse(read('package.json')) as {
  dependencies: Record<string, string>;
};

for (const file of DOCKERFILES) {
  test(`${file}: there is a stand-in for each base, of the same version`, () => {
    const lines = instructions(read(file));
    const stages = lines.flatMap((line) => /^FROM \S+ AS (\S+)$/.exec(line)?.[1] ?? []);
    for (const from of lines.flatMap((line) => /^FROM (\S+)/.exec(line)?.[1] ?? [])) {
      const argument = /^\$\{(\w+)\}$/.exec(from)?.[1];
      assert.ok(from === 'scratch' || stages.includes(from) || (argument && argument in BASES), from);
    }
    const wanted = {
      GO: `golang:${VERSIONS.go}-${VERSIONS.suite}`,
      NODE: `node:${VERSIONS.node}-${VERSIONS.suite}-slim`,
    };
    for (const [name, base] of Object.entries(wanted)) {
      const told = lines.find((line) => line.startsWith(`ARG ${name}=`));
      if (told !== undefined) assert.equal(told, `ARG ${name}=${base}`);
    }
    assert.equal(npmPackages.dependencies.node?.split('.')[0], VERSIONS.node);
  });

  test(`${file}: what is copied from the repository is there`, () => {
    const copies = instructions(read(file)).filter((line) => /^COPY (?!--from)/.test(line));
    assert.ok(copies.length > 0);
    for (const source of copies.flatMap((line) => line.split(' ').slice(1, -1)))
      assert.ok(globSync(source, { cwd: ROOT }).length > 0, source);
  });
}

test('the image of the pipeline has every file and package that its programs import', () => {
  const ignored = read('pipeline/pipeline.Dockerfile.dockerignore').split('\n').slice(2);
  const seen = new Set<string>();
  const packages = new Set<string>();
  const follow = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, kind, name = ''] of read(path).matchAll(
      /^(import type|import|export|\} ).*?from '([^']+)'/gm,
    )) {
      if (kind === 'import type') continue;
      if (name.startsWith('.')) follow(relative(ROOT, join(ROOT, dirname(path), name)));
      else if (!name.startsWith('node:'))
        packages.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
    }
  };
  for (const program of ['ingest/server.ts', 'relay/main.ts', 'deploy/prepare.ts'])
    follow(`pipeline/${program}`);
  assert.ok(seen.size > 20, [...seen].join());
  for (const path of seen) {
    assert.ok(path.startsWith('pipeline/') && existsSync(join(ROOT, path)), path);
    const kept = ignored.findLast((rule) => rule !== '' && covers(rule, path))?.startsWith('!') ?? false;
    assert.ok(kept, `${path} is ignored`);
  }
  for (const name of packages) assert.ok(name in npmPackages.dependencies, `${name} is one of development`);
});

/** Whether a rule of .dockerignore is about a file: its path, or a folder's that it is in. */
function covers(rule: string, path: string): boolean {
  const pattern = rule.replace(/^!/, '');
  return matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`);
}

test('what is missing is told with the command that installs it', () => {
  const check = (present: string[], uid: number) => () =>
    requirePrograms(['buildah', 'mmdebstrap'], (name: string) => present.includes(name), uid);
  assert.throws(
    check([], 0),
    /^Error: buildah and mmdebstrap missing\. .* apt-get install .*buildah mmdebstrap$/,
  );
  assert.throws(check(['buildah', 'mmdebstrap'], 1000), /sudo npm run images/);
  check(['buildah', 'mmdebstrap'], 0)();
  const all = programsOf({ fromPackages: true, smoke: true, compose: true });
  assert.throws(() => requirePrograms(all, (name) => name === 'unshare', 0), {
    message:
      'buildah and mmdebstrap and dockerd and docker and containerd and runc and iptables and ip missing. Type, on Debian: ' +
      'sudo apt-get install --no-install-recommends buildah mmdebstrap docker.io containerd runc iptables iproute2',
  });
});

test('every image of the Compose file is one of ours, or has a stand-in of its Debian release', () => {
  const bases = read('pipeline/deploy/bases.Dockerfile');
  const images = [...imagesOf(read('pipeline/deploy/compose.yaml'))];
  assert.equal(images.length, 2 + Object.keys(SERVERS).length);
  for (const [image, kept] of images) {
    if (IMAGES.some(({ name }) => name === image)) assert.equal(kept, `localhost/${image}`);
    else
      assert.ok(
        Object.keys(SERVERS).some((name) => kept === standIn(name) && bases.includes(` AS ${name}\n`)),
        image,
      );
  }
});

test('what the README tells to type is what is tried', () => {
  const readme = read('pipeline/deploy/README.md');
  const [up, ...more] = COMMANDS.up;
  for (const words of [[up, '--build', ...more], COMMANDS.copy, COMMANDS.down])
    assert.ok(
      readme.includes(`docker compose -f pipeline/deploy/compose.yaml ${words.join(' ')} `) ||
        readme.includes(`docker compose -f pipeline/deploy/compose.yaml ${words.join(' ')}\n`),
      words.join(' '),
    );
});

test('npm run images tells what it does, and refuses what it does not know', () => {
  for (const { name } of IMAGES) assert.match(HELP, new RegExp(`\\b${name}\\b`));
  assert.equal(readOptions(['-h']), 'help');
  assert.deepEqual(readOptions(['--smoke']), { fromPackages: false, smoke: true, compose: false });
  assert.throws(() => readOptions(['--compose']), /--compose goes with --from-packages/);
  assert.throws(() => readOptions(['--push']), {
    message: "Unknown option '--push'; --help tells what is allowed",
  });
});
