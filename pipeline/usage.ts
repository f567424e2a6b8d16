/** What a scenario says of itself, for `--help`: its head comment, and the settings that it reads. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { RunConfig } from './config.ts';

/** A setting that a script reads, with its default where that stands there as a value: __ENV.RATE || 100, number('RATE', 100). */
const SETTING =
  /__ENV\.([A-Z]\w*)(?:\s*\|\|\s*('[^']*'|[\d._]+))?|\b(?:number|numbers|count|flag|choice)\(\s*'([A-Z]\w*)'(?:,\s*(\[[^\]]*\]|'[^']*'|[\w.]+)\s*[,)])?/g;
const IMPORTED = /\bfrom\s+'(\.{1,2}\/[^']+)'/g;
/** What every scenario has. */
const SHARED = 'setting.js';
/** A default that is a value, and not a name or a sum. */
const VALUE = /^(true|false|[\d._]+)$/;
/** Told of under Environment, or by pipeline/run.ts itself. */
const TOLD_ELSEWHERE = new Set([
  ...Object.keys(RunConfig.properties),
  ...['ARRIVAL_COMMAND', 'INGEST_TOKEN', 'LABELS', 'SSL_CERT_FILE'],
]);

/** Settings by name; a default is undefined where only the script knows it. */
export type Settings = Map<string, string | undefined>;

/** @returns what a script reads itself, or by a file that it imports and not every scenario does; and what every scenario reads */
export function settingsOf(script: string): { own: Settings; shared: Settings } {
  const [own, shared]: [Settings, Settings] = [new Map(), new Map()];
  const seen = new Set<string>();
  const look = (path: string, into: Settings) => {
    if (seen.has(path) || !existsSync(path)) return;
    seen.add(path);
    const text = readFileSync(path, 'utf8');
    for (const [, read, or, asked, fallback] of text.matchAll(SETTING)) {
      const name = (read ?? asked) as string;
      if (!TOLD_ELSEWHERE.has(name)) into.set(name, into.get(name) ?? literal(or ?? fallback));
    }
    const files = [...text.matchAll(IMPORTED)].map(([, file]) => resolve(dirname(path), file as string));
    for (const file of files.filter((f) => basename(f) === SHARED)) look(file, shared);
    for (const file of files) look(file, into);
  };
  look(resolve(script), own);
  for (const name of own.keys()) shared.delete(name);
  return { own, shared };
}

/** 15_000 is 15000, 'a' is a, and of a list of words the first is the default. */
function literal(text: string | undefined): string | undefined {
  const quoted = /^\[?\s*'([^']*)'/.exec(text ?? '')?.[1];
  if (quoted !== undefined) return quoted === '' ? undefined : quoted;
  return text !== undefined && VALUE.test(text) ? text.replaceAll('_', '') : undefined;
}

/** The comment that a script begins with. */
export function headOf(script: string): string[] {
  const lines = readFileSync(script, 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines.slice(0, end === -1 ? lines.length : end).map((line) => line.replace(/^\/\/ ?/, ''));
}

/** The part of a help text that is one scenario's. */
export function usageOf(script: string): string {
  const { own, shared } = settingsOf(script);
  return [
    ...headOf(script),
    '',
    'Settings, as -e NAME=value (and their defaults)',
    ...wrapped(own),
    'and of every scenario',
    ...wrapped(shared),
    '',
  ].join('\n');
}

function wrapped(settings: Settings): string[] {
  const words = [...settings]
    .sort()
    .map(([name, value]) => (value === undefined ? name : `${name} (${value})`));
  if (words.length === 0) return ['  none'];
  const lines: string[] = [];
  for (const word of words.map((w, i) => (i < words.length - 1 ? `${w},` : w))) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 100) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines;
}

/** A line for each scenario of a folder: its path and the question that it answers. */
export function scenariosIn(folder: string): string {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => `  ${name.padEnd(16)}${headOf(join(folder, name))[0]}`)
    .join('\n');
}
