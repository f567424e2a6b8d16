import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

/** A log that people read: one line an event, on standard output. */
export function openLog(level: string): Logger {
  const stream = pretty({ colorize: false, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', sync: true });
  return pino({ level }, stream);
}
