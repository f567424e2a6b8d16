import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';

export interface QueueOptions {
  url: string;
  /** No answer for this long (ms): the connection counts as dead, and what waits for it rejects. */
  timeoutMs: number;
  /** Called when Redis goes away and when it is back; `reason` is one short sentence. */
  onState?: (up: boolean, reason: string) => void;
}

const script = (name: string) => readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');

const scripts = {
  appendFrames: { lua: script('append'), numberOfKeys: 1 },
  acknowledgeEntries: { lua: script('acknowledge'), numberOfKeys: 1 },
  buryEntry: { lua: script('bury'), numberOfKeys: 2 },
  recoverEntries: { lua: script('recover'), numberOfKeys: 1 },
  requeueLetters: { lua: script('requeue'), numberOfKeys: 2 },
  leaveGroup: { lua: script('leave'), numberOfKeys: 1 },
};

export type RawEntry = [id: Buffer, fields: Buffer[] | null];
type Recovered = [
  cursor: Buffer,
  taken: [id: Buffer, fields: Buffer[], counter: number][],
  deleted: Buffer[],
];

export interface Connection extends Redis {
  appendFrames(key: string, ...frames: (Buffer | string)[]): Promise<number>;
  acknowledgeEntries(key: string, group: string, ...ids: string[]): Promise<number>;
  buryEntry(from: string, to: string, group: string, id: string, reason: string, n: number): Promise<number>;
  recoverEntriesBuffer(
    key: string,
    group: string,
    consumer: string,
    idleMs: number,
    cursor: string,
    count: number,
  ): Promise<Recovered>;
  requeueLetters(from: string, to: string, kind: string, ...ids: string[]): Promise<string[]>;
  leaveGroup(key: string, group: string, consumer: string): Promise<number>;
}

/**
 * A connection on which nothing waits for ever, and nothing waits unsent. While it is down, commands reject at
 * once (no offline queue); one that breaks or stays silent for `timeoutMs` rejects what it still owed, and
 * re-sends nothing.
 */
export function connect(
  options: QueueOptions,
  timeoutMs: number,
  onState?: QueueOptions['onState'],
): Connection {
  const redis = new Redis(options.url, {
    protocol: 2,
    scripts,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    retryStrategy: (attempt) => Math.min(20 * 2 ** attempt, 500),
    disableClientInfo: true,
  }) as Connection;
  let reason = 'connection closed';
  let up: boolean | undefined;
  const report = (now: boolean) => {
    if (now === up) return;
    up = now;
    onState?.(now, now ? 'answers' : reason);
  };
  redis.on('error', (error: Error) => {
    reason = error.message;
  });
  redis.on('ready', () => report(true));
  redis.on('close', () => report(false));
  return redis;
}
