import { fstatSync } from 'node:fs';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import pretty, { isColorSupported, prettyFactory } from 'pino-pretty';
import { printableLines } from '../shared/printable.ts';

export type { Logger };

export interface LogOptions {
  /** The process's name, like `relay-1`. */
  name?: string;
  /** Settings of the process, whose secrets never get into the log. */
  settings?: object;
  /** Whether standard output is a terminal. */
  isTty?: boolean;
  /** Instead of standard output. */
  destination?: DestinationStream;
}

const PRETTY = { ignore: 'pid,name', translateTime: 'SYS:HH:MM:ss.l' };
const REDACTED = '[redacted]';
const SECRET_KEYS = ['authorization', 'password', 'token', 'secret', 'cookie'];

/** Bytes of lines that wait while the disk is full, or nobody reads them; further lines are dropped. */
const WAITING_BYTES = 1_000_000;

/**
 * Writes lines at once. A full disk, a reader that stalls and one that is gone end the log, not the process: lines wait until there
 * is space.
 */
export function openDestination(fd = 1): DestinationStream {
  const { stdout } = process;
  if (fd === stdout.fd && isPipe(fd)) {
    stdout.on('error', () => {});
    return {
      write(line) {
        // A write by the descriptor would wait for the reader.
        if (stdout.writableLength < WAITING_BYTES) stdout.write(line);
      },
    };
  }
  const destination = pino.destination({ fd, sync: true, maxLength: WAITING_BYTES });
  // Without a listener the error would be thrown where the line is logged.
  destination.on('error', () => {});
  return destination;
}

function isPipe(fd: number): boolean {
  const file = fstatSync(fd);
  return file.isFIFO() || file.isSocket();
}

/** Logs to standard output: text on a terminal, else pino's JSON lines. A call returns after the write. */
export function openLog(level: string, options: LogOptions = {}): Logger {
  const { name, isTty = process.stdout.isTTY, destination = openDestination() } = options;
  const stream = isTty
    ? pretty({ ...PRETTY, colorize: isColorSupported, sync: true, destination })
    : destination;
  const hide = hider(secretsOf(options.settings ?? {}));
  return pino(
    {
      level,
      base: { pid: process.pid, ...(name !== undefined && { name }) },
      timestamp: stdTimeFunctions.isoTime,
      redact: {
        paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.headers.${key}`]),
        censor: REDACTED,
      },
      hooks: { streamWrite: hide },
    },
    stream,
  );
}

const asText = prettyFactory({ ...PRETTY, colorize: false });

/** A line of a process's log as text for a terminal; a line that is not JSON stays as it is. */
export function readable(line: string): string {
  return printableLines(levelOf(line) === undefined ? line : asText(line).trimEnd());
}

/** pino's level of a line of JSON: 40 is a warning, 50 an error. */
export function levelOf(line: string): number | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const { level } = JSON.parse(line);
    return typeof level === 'number' ? level : undefined;
  } catch {
    return undefined;
  }
}

function secretsOf(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (typeof value !== 'string') return [];
    if (/_(TOKEN|PASSWORD|SECRET)$/.test(name)) return [value];
    const [, password] = (name.endsWith('_URL') && /^\w+:\/\/[^:@/]*:([^@/]+)@/.exec(value)) || [];
    return password === undefined ? [] : [password, decodeURIComponent(password)];
  });
}

/** Removes known secrets, passwords in addresses and bearer tokens from a line. */
function hider(secrets: string[]): (line: string) => string {
  // A line is JSON, so it has the secrets as JSON escapes them.
  const known = [...new Set(secrets.map((secret) => JSON.stringify(secret).slice(1, -1)))].filter(Boolean);
  return (line) => {
    let text = line;
    for (const secret of known) text = text.replaceAll(secret, REDACTED);
    return text
      .replace(/(:\/\/[^:@/\s"]*:)[^@/\s"]+@/g, `$1${REDACTED}@`)
      .replace(/(\bBearer )[!-~]{8,}?(?=["\\\s,]|$)/gi, `$1${REDACTED}`);
  };
}
