/** Why a connection to an MQTT broker did not come up, in one short sentence. */
import type { IClientOptions, MqttClient } from 'mqtt';
import { ReasonCodes } from 'mqtt';
import { isSecure, parseAddress } from '../shared/address.ts';
import { printable } from '../shared/printable.ts';
import { withAdvice } from '../shared/trust.ts';

/** The rights that a relay needs, for whoever sets up a broker. */
const RIGHTS = 'a relay publishes to messages/# and status/relay/#, where it also has a retained will';

/** What to do about a refusal, by the code of its CONNACK: those of MQTT 3.1.1 (3.2.2.3), and of MQTT 5 (3.2.2.2). */
const ADVICE: Record<number, string> = {
  1: 'relays need MQTT 5',
  4: 'check user and password',
  5: `check user, password and rights: ${RIGHTS}`,
  132: 'relays need MQTT 5',
  134: 'check user and password',
  135: `check user, password and rights: ${RIGHTS}`,
  144: `the topic of the will is not allowed: ${RIGHTS}`,
  154: `it keeps no retained messages: ${RIGHTS}`,
  155: 'MQTT_QOS=0 would suit it',
};

/** Codes of a CONNACK that another attempt does not change. */
const HOPELESS: ReadonlySet<unknown> = new Set([1, 2, 4, 5, 132, 133, 134, 135, 140, 144, 154, 155]);

/** Whether the broker has refused for a reason that stays until somebody changes a setting. */
export function isHopeless(error: Error | undefined): boolean {
  return error !== undefined && 'code' in error && HOPELESS.has(error.code);
}

/** What a broker may add to a reason code (MQTT 5, 3.14.2.2). */
export interface Remarks {
  reasonString?: string | undefined;
  /** Another broker to use. */
  serverReference?: string | undefined;
}

/** Characters of a broker's remark that are shown. */
const LONGEST_REMARK = 300;

/** MQTT's name of a reason code, with the code and the broker's own words. */
export function reasonName(code: number, { reasonString, serverReference }: Remarks = {}): string {
  const name = ReasonCodes[code as keyof typeof ReasonCodes] || 'unknown reason';
  const words = reasonString ? `: ${remark(reasonString)}` : '';
  const other = serverReference ? `; it refers to ${remark(serverReference)}` : '';
  return `${name} (0x${code.toString(16)})${words}${other}`;
}

const remark = (text: string) => printable(text.slice(0, LONGEST_REMARK));

/** How far an attempt to connect has come. */
export interface Progress {
  /** `mqtt`, `mqtts` … */
  protocol: string;
  /** ms without an answer after which it ended. */
  timeoutMs: number;
  /** ms of them for the connection of TCP. */
  connectMs: number;
  /** The connection of TCP was there. */
  opened: boolean;
  /** The connection was there: that of TCP, and with TLS that of TLS. */
  reached: boolean;
  /** What the broker said beside its code. */
  remarks?: Remarks | undefined;
}

/** Where a client of mqtt.js connects, and as whom. Its own reading of a URL splits a password at its last colon. */
export function brokerAt(
  url: string,
): Pick<IClientOptions, 'host' | 'port' | 'username' | 'password'> & { protocol: 'mqtt' } {
  const { scheme, username, password, nodes } = parseAddress('mqtt', url);
  return {
    protocol: scheme as 'mqtt',
    ...nodes[0],
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
  };
}

/** Why an attempt ended before the broker's CONNACK; without an error the broker closed the connection. */
function explainAttempt(error: Error | undefined, progress: Progress): string {
  const { protocol, timeoutMs, reached, remarks } = progress;
  const secure = isSecure({ scheme: protocol });
  const { message, code } = detailsOf(error);
  if (typeof code === 'number') {
    const advice = ADVICE[code];
    return `the broker refuses the connection: ${reasonName(code, remarks)}${advice === undefined ? '' : `; ${advice}`}`;
  }
  if (code === 'ENOTFOUND') return `there is no such host (${message})`;
  if (code === 'EAI_AGAIN') return `the host cannot be looked up (${message})`;
  if (error instanceof NoConnection) return `there is no connection within ${progress.connectMs} ms`;
  if (message === 'connack timeout') {
    if (!progress.opened) return `there is no connection within ${timeoutMs} ms`;
    const what = reached ? 'CONNECT' : 'the TLS handshake';
    return `the broker does not answer ${what} within ${timeoutMs} ms${secure ? '' : ': does it speak TLS (mqtts://)?'}`;
  }
  if (secure && /wrong version number|packet length too long|unexpected message/.test(message)) {
    return `the broker answers without TLS: mqtt:// would suit it (${code})`;
  }
  const closed = error === undefined || code === 'ECONNRESET' || code === 'EPIPE';
  if (closed && secure && !reached) {
    return 'the broker closed the connection during the TLS handshake: does it speak no TLS (mqtt://)?';
  }
  if (closed) {
    const tls = secure ? '' : ', speaks TLS (mqtts://)';
    return `the broker closed the connection during CONNECT: it has no MQTT 5, which relays need${tls}, or takes no packet of that size`;
  }
  if (code === undefined) return `what answers there does not speak MQTT: ${message}`;
  return withAdvice(message);
}

/** An error with several causes, as for a name with two addresses, has no message of its own. */
function detailsOf(error: (Error & { code?: unknown }) | undefined): { message: string; code: unknown } {
  if (error === undefined) return { message: '', code: undefined };
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const message = error.message || causes.map(({ message: cause }) => cause).join(', ');
  return { message, code: error.code };
}

/** TCP did not connect in time. */
class NoConnection extends Error {}

interface AttemptLimits {
  /** ms until mqtt.js ends an attempt: its `connectTimeout`. */
  timeoutMs: number;
  /** ms until TCP has to be connected; by default the same. */
  connectMs?: number;
}

/** Watches a client's first attempt to connect, and ends it where TCP does not connect in time. */
export class Attempt {
  /** Why it failed; undefined: the other side closed the connection, or nothing has happened yet. */
  error: Error | undefined;
  readonly #progress: Progress;

  /** @param client a new one, in the turn in which it was made */
  constructor(client: MqttClient, protocol: string, { timeoutMs, connectMs = timeoutMs }: AttemptLimits) {
    const progress: Progress = { protocol, timeoutMs, connectMs, opened: false, reached: false };
    this.#progress = progress;
    const late = setTimeout(() => {
      this.error ??= new NoConnection();
      client.end(true);
    }, connectMs);
    client.stream.once('connect', () => {
      clearTimeout(late);
      progress.opened = true;
    });
    client.once('close', () => clearTimeout(late));
    client.stream.once(isSecure({ scheme: protocol }) ? 'secureConnect' : 'connect', () => {
      progress.reached = true;
    });
    client.on('error', (error) => {
      this.error ??= error;
      // A refusing CONNACK has them.
      progress.remarks ??= client.serverProperties;
    });
    // Some end it so before CONNACK, which has the same codes.
    client.on('disconnect', ({ reasonCode = 0, properties }) => {
      progress.remarks = properties;
      this.error ??= Object.assign(new Error(reasonName(reasonCode)), { code: reasonCode });
    });
  }

  /** Whether TCP has connected. */
  get opened(): boolean {
    return this.#progress.opened;
  }

  get reason(): string {
    return explainAttempt(this.error, this.#progress);
  }
}
