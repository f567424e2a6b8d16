/** Checks of the documents: links, lengths, commands, quotes of the source. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');
const SKIPPED = new Set(['node_modules', 'dist', 'runs', 'comparisons', 'generated', '.git', '.stack']);
const DOCUMENTS = files('**/*.md');
const SOURCES = files('**/*.{ts,tsx,js,mjs,go,yaml,sh,Dockerfile}').filter(
  (path) => path !== relative(ROOT, import.meta.filename),
);

/** Its lines may be long: it is a page of tables. */
const AGENTS = 'AGENTS.md';
/** Results grow with the project. */
const RESULTS = ['reports/RESULTS.md', 'reports/REFEREE.md'];

function files(pattern: string): string[] {
  const exclude = (path: string) => SKIPPED.has(path.split('/').at(-1) as string);
  return globSync(pattern, { cwd: ROOT, exclude });
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Lines outside of code and HTML comments. */
function prose(text: string): string[] {
  const open = text.replace(/^```.*?^```$/gms, '').replace(/^<!--.*?-->$/gms, '');
  return open.split('\n').filter((line) => !/^ {4}/.test(line));
}

/** The anchors that GitHub makes of the headings. */
function anchors(text: string): string[] {
  const headings = prose(text).filter((line) => /^#+ /.test(line));
  return headings.map((line) =>
    line
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Whether a path exists and, if an anchor is given, has it. */
function resolves(path: string, anchor?: string): boolean {
  if (!existsSync(path)) return false;
  return anchor === undefined || anchors(readFileSync(path, 'utf8')).includes(anchor);
}

test('every relative link in a document resolves, with its anchor', () => {
  assert.ok(DOCUMENTS.length > 8);
  for (const document of DOCUMENTS) {
    for (const [, target = ''] of prose(read(document))
      .join('\n')
      .matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const at = path === '' ? document : join(dirname(document), path);
      assert.ok(resolves(join(ROOT, at), anchor), `${document}: ${target}`);
    }
  }
});

test('every document that a source names exists, with its anchor', () => {
  let named = 0;
  for (const source of SOURCES) {
    for (const [whole, path = '', anchor] of read(source).matchAll(
      /(?<![\w*-])((?:[\w-][\w.-]*\/)*(?!LICENSE)[A-Z]{4,}\.md)(?:#([\w-]+))?/g,
    )) {
      named++;
      // The path is relative to the root, or to a folder that contains the source.
      const folders = ['.'];
      for (let at = dirname(source); at !== '.'; at = dirname(at)) folders.push(at);
      const found = folders.some((folder) => resolves(join(ROOT, folder, path), anchor));
      assert.ok(found, `${source}: ${whole}`);
    }
  }
  assert.ok(named > 10);
});

test('the documents are short, and wrap at 100 characters', () => {
  const words = (text: string) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  const readme = read('README.md');
  assert.ok(readme.trimEnd().split('\n').length <= 150, 'README.md: 150 lines');
  assert.ok(words(readme) <= 1400, `README.md: ${words(readme)} of 1,400 words`);
  // Results and the changelog grow with the project; a reader looks things up in them.
  const references = DOCUMENTS.filter((path) => !RESULTS.includes(path) && path !== 'CHANGELOG.md');
  const all = references.reduce((sum, path) => sum + words(read(path)), 0);
  assert.ok(all <= 11_000, `${all} of 11,000 words`);
  for (const document of DOCUMENTS.filter((path) => path !== AGENTS)) {
    const long = prose(read(document)).filter((line) => !/^ *\|/.test(line) && [...line].length > 100);
    assert.deepEqual(long, [], document);
  }
});

test('a picture in a document has at most 150 KB', () => {
  for (const path of files('**/*.{png,webp}')) assert.ok(statSync(join(ROOT, path)).size <= 150_000, path);
});

test('every npm script and file that a document names exists', () => {
  for (const document of DOCUMENTS) {
    const text = read(document);
    for (const [whole, name = ''] of text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)) {
      assert.ok(name in manifest.scripts, `${document}: ${whole}`);
    }
    for (const [path] of text.matchAll(
      /(?<![\w/.-])(?:scenarios|extensions|reports|pipeline)\/[\w/.-]+\w\.(?:ts|js|py|yml|yaml|json)\b(?!\w)/g,
    )) {
      assert.ok(existsSync(join(ROOT, path)), `${document}: ${path}`);
    }
  }
});

test('the source contains each message of reports/TROUBLESHOOTING.md', () => {
  const source = SOURCES.filter((path) => !/[._]test\./.test(path))
    .map(read)
    .join('\n')
    .replace(/" ?\+\n\s*"/g, ''); // Go's long texts
  const headings = prose(read('reports/TROUBLESHOOTING.md')).filter((line) => /^###.*`/.test(line));
  assert.ok(headings.length >= 10);
  for (const heading of headings) {
    for (const [, message = ''] of heading.matchAll(/`([^`]+)`/g)) {
      for (const part of message.split('…').map((text) => text.trim().replace(/^setup {2}/, ''))) {
        assert.ok(source.includes(part), `${message}: ${part}`);
      }
    }
  }
});

/** Commands that no test runs: their first words, and the reason. */
const NOT_RUN: Record<string, string> = {
  'npm test': 'CI runs it',
  'npm run selftest': 'npm test runs it beside the tests',
  'npm run try': 'it is k6 x arrival try, which has tests',
  'npm run setup': 'each command runs it first',
  'npm run bench': '13 minutes of measuring, which a busy machine spoils',
  'npm run faults': 'eleven minutes; a test runs three of its rows',
  'npm run test:cluster': 'needs a Kubernetes cluster; tests check its manifests',
  'npm run images': 'needs Docker; tests of pipeline/deploy follow its files',
  'npm run scenario -- --help': 'the same as --help of run.ts, which has a test',
  'npm run scenario -- scenarios/<name>.js': 'stands for any script',
  './k6 run scenarios/<name>.js': 'stands for any script',
  './k6 run -e MQTT_URL=mqtt://127.0.0.1:1883 extensions/k6/mqtt/': 'Go tests run the examples',
  'python3 extensions/k6/examples/record.py': 'a Go test runs it',
  'go build': 'the set-up builds the same sources',
  'xk6 build': 'needs an xk6 that knows k6 v2, and the network; a Go test builds the same program',
  'npm install --ignore-scripts artillery': 'test:artillery installs the packages that it made',
  'npx artillery run load.yml': 'test:artillery runs its own file',
  'git clone': 'needs the network, and the address is a placeholder',
  curl: 'may be missing; tests use fetch, and check that the file it reads exists',
  mosquitto_sub: 'secure.test.ts runs it with another topic',
  chromium: 'printing.ts runs it with another page',
  docker: 'may be missing; test:e2e runs the commands with buildah in its place',
  kubectl: 'needs a cluster; deploy-check reads the manifests',
};

/** The commands in a document's code blocks, one a line, and `npm …` in its text. */
function commandsOf(text: string): string[] {
  const open = text.replace(/^```(?!sh\n).*?^```$/gms, '').replaceAll('\\\n', ' ');
  const fenced = [...open.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, body = '']) => body.split('\n'));
  const indented = open.split('\n').filter((line) => /^ {4}/.test(line));
  const programs = /^(npm|npx|\.\/k6|xk6|go|git|curl|docker|kubectl|chromium|python3|mosquitto_sub) /;
  const spans = [...open.matchAll(/`([^`]*npm (?:run|test)\b[^`]*)`/g)].map(([, span = '']) => span);
  return [...fenced, ...indented, ...spans]
    .map((line) =>
      line
        .trim()
        .replace(/^(?:\w+=(?:"[^"]*"|\S*) +)+/, '')
        .replace(/\s+/g, ' '),
    )
    .filter((line) => programs.test(`${line} `));
}

/** The script that a command starts, directly or through an npm script. */
function startedBy(command: string): string | undefined {
  const [, name = ''] = /^npm run ([\w:]+)/.exec(command) ?? [];
  const whole = `${command} ${(manifest.scripts as Record<string, string>)[name] ?? ''}`;
  const paths = whole.match(/(?<=[ /])(?:scenarios|pipeline|reports|extensions)\/[\w/.-]+\.(?:js|ts|yml)\b/g);
  return paths?.find((path) => path !== 'scenarios/run/run.ts');
}

test('a test starts each program that a README starts, or NOT_RUN has the reason', () => {
  const tests = SOURCES.filter((path) => /\.test\.ts$|\/test\/.*\.ts$/.test(path)).map((path) => ({
    path,
    text: read(path),
  }));
  /** Whether a test names the file, by folder and name, or by name in the same folder. */
  const isStarted = (file: string) =>
    tests.some(
      ({ path, text }) =>
        text.includes(file.split('/').slice(-2).join('/')) ||
        (path.startsWith(`${dirname(file)}/`) && text.includes(basename(file))),
    );
  const unused = new Set(Object.keys(NOT_RUN));
  const documents = DOCUMENTS.filter((path) => path.endsWith('README.md'));
  for (const document of documents) {
    for (const command of commandsOf(read(document))) {
      const exception = Object.keys(NOT_RUN).find((start) => command.startsWith(start));
      if (exception !== undefined) unused.delete(exception);
      else {
        const file = startedBy(command);
        assert.ok(file !== undefined && isStarted(file), `${document}: ${command}`);
      }
    }
  }
  assert.deepEqual([...unused], [], 'no README has these commands');
});
