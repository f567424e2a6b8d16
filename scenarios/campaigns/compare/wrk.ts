/** wrk as a third tool, if installed: sends the same requests as fast as it gets answers. It measures neither arrival nor account. */
import { join } from 'node:path';
import type { Pipeline } from '../../../extensions/artillery-plugin-arrival/pipeline.ts';
import { isInstalled } from '../../../pipeline/setup/packages.mjs';
import { Kept } from '../../run/kept.ts';
import { numberIn } from '../referee/tool.ts';
import { wrk } from '../referee/tools/wrk.ts';

const SCRIPT = join(import.meta.dirname, '../../../extensions/k6/cmd/bench/scripts/post.lua');

export interface WrkFigures {
  connections: number;
  /** Requests/s. */
  rate: number;
  /** The time of a whole request, ms. */
  p50: number;
  p99: number;
  /** Answers other than 2xx and 3xx. */
  refused: number;
}

export const hasWrk = (): boolean => isInstalled('wrk');

/** One run of wrk against the ingest, a message of 64 bytes of payload in each request. */
export class WrkRun extends Kept {
  readonly #connections: number;

  constructor({ ingest }: Pipeline, connections: number, seconds: number) {
    const body = JSON.stringify({ id: 'wrk', source: 'wrk', target: 'wrk/0', payload: 'x'.repeat(64) });
    const load = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency'];
    const env = { ...process.env, BODY: body, TOKEN: ingest.token ?? '' };
    super(['wrk', ...load, '-s', SCRIPT, `${ingest.url}/messages`], env);
    this.#connections = connections;
  }

  /** @throws an error of one line, when wrk printed no figures */
  get figures(): WrkFigures {
    const [stdout, stderr] = this.texts;
    return { connections: this.#connections, ...figuresIn(stdout + stderr) };
  }
}

/** Parses wrk's output with --latency. */
export function figuresIn(text: string): Omit<WrkFigures, 'connections'> {
  const { p50_ms: p50, p99_ms: p99 } = wrk.read({ stdout: text, stderr: '', file: () => '' });
  const rate = numberIn(text, /^Requests\/sec:\s+([\d.]+)/m);
  if (rate === undefined || p50 === undefined || p99 === undefined) {
    throw new Error(`wrk reported no requests: ${text.trim().split('\n').at(-1)}`);
  }
  return { rate, p50, p99, refused: numberIn(text, /Non-2xx or 3xx responses: (\d+)/) ?? 0 };
}
