import { mkdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { type BrokerUser, brokerAclFile, type RedisUser, redisAclFile } from './access.ts';
import type { Certificate } from './certificates.ts';
import { writePrivateFile } from './file.ts';
import { DAEMON_PATH, type Launch } from './launch.ts';

/** Servers listen on the loopback only, or, in their own network namespace, on all addresses. */
export type Listen = '127.0.0.1' | '0.0.0.0';

/** The address that processes of a stack use among themselves. */
export const HOST = '127.0.0.1';

/**
 * Redis' appendfsync: it writes its log before it answers, and the kernel flushes it. With everysec a write waits up to 2 s for a flush
 * that is slow, and a killed Redis loses what it has acknowledged meanwhile; always takes a flush for each answer.
 */
export const AOF_POLICY = 'no';

/** Limits of a broker's client: messages in flight (a bridge that allows one more is refused), and waiting messages. */
export const BROKER_LIMITS = { inflight: 65_534, queued: 100_000 } as const;

/** Lines of redis.conf; `acl` is a file, `data` a directory. */
export function redisConfig(options: {
  listen: Listen;
  port: number;
  acl: string;
  data: string;
  certificate?: Certificate | undefined;
}): string[] {
  const { listen, port, acl, data, certificate } = options;
  return [
    `bind ${listen}`,
    ...(certificate === undefined
      ? [`port ${port}`]
      : [
          'port 0',
          `tls-port ${port}`,
          `tls-cert-file "${certificate.cert}"`,
          `tls-key-file "${certificate.key}"`,
          'tls-auth-clients no',
        ]),
    `aclfile "${acl}"`,
    `dir "${data}"`,
    'daemonize no',
    'appendonly yes',
    `appendfsync ${AOF_POLICY}`,
    'save ""',
    'maxmemory-policy noeviction',
  ];
}

/**
 * Private Redis: on loopback by default, with a password for each user, an append-only file (a killed process loses nothing, a power cut
 * up to 35 s: Linux' dirty_expire_centisecs and dirty_writeback_centisecs), and no eviction.
 */
export async function prepareRedis(
  dir: string,
  port: number,
  passwords: Record<RedisUser, string>,
  certificate?: Certificate,
  listen: Listen = HOST,
  data = join(dir, 'redis'),
  prefix?: string,
): Promise<Launch> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const [config, acl] = [join(dir, 'redis.conf'), join(dir, 'redis.acl')];
  await writePrivate(acl, redisAclFile(passwords, prefix));
  await writePrivate(config, redisConfig({ listen, port, acl, data, certificate }));
  return { name: 'redis', command: 'redis-server', args: [config] };
}

/** The broker on this host that a bridge reads from. `ca` is a file of authorities, empty without TLS. */
interface Bridge {
  port: number;
  password: string;
  ca: string;
}

/** Lines of mosquitto.conf for a bridge from another broker. */
function bridgeConfig({ port, password, ca }: Bridge): string[] {
  return [
    'connection bridge',
    `address ${HOST}:${port}`,
    // Its default, MQTT 3.1.1, drops user properties, and so the stamps.
    'bridge_protocol_version mqttv50',
    'remote_username bridge',
    `remote_password ${password}`,
    ...(ca === '' ? [] : [`bridge_cafile ${ca}`]),
    'restart_timeout 1',
    'notifications false',
    'topic messages/# in 1',
    'topic status/# in 1',
  ];
}

/** s between writes of all that the broker keeps. At SIGTERM it writes too. */
const AUTOSAVE_S = 10;

/** Mosquitto rewrites its whole file each time, and serves nobody meanwhile. */
function persistence(data: string): string[] {
  return ['persistence true', `persistence_location ${data}/`, `autosave_interval ${AUTOSAVE_S}`];
}

/** Lines of mosquitto.conf; `users` and `acl` are files, `user` is the system's user when root starts it. */
export function mosquittoConfig(options: {
  listen: Listen;
  port: number;
  user: string;
  users: string;
  acl: string;
  certificate?: Certificate | undefined;
  bridge?: Bridge | undefined;
  /** A directory for sessions, and for messages that wait for their subscribers; without one they end with the process. */
  data?: string;
}): string[] {
  const { listen, port, user, users, acl, certificate, bridge, data } = options;
  return [
    `listener ${port} ${listen}`,
    ...(certificate === undefined ? [] : [`certfile ${certificate.cert}`, `keyfile ${certificate.key}`]),
    // Started by root, Mosquitto would switch to a user that cannot read these files.
    `user ${user}`,
    'allow_anonymous false',
    `password_file ${users}`,
    `acl_file ${acl}`,
    // Otherwise Nagle's algorithm delays single small messages by up to 40 ms.
    'set_tcp_nodelay true',
    `max_inflight_messages ${BROKER_LIMITS.inflight}`,
    `max_queued_messages ${BROKER_LIMITS.queued}`,
    'max_queued_bytes 0',
    ...(data === undefined ? ['persistence false'] : persistence(data)),
    'sys_interval 1',
    // Unbuffered, unlike stdout, so that the last lines are there when it dies.
    'log_dest stderr',
    'log_type error',
    'log_type warning',
    'log_type notice',
    'log_type information',
    'connection_messages false',
    ...(bridge === undefined ? [] : bridgeConfig(bridge)),
  ];
}

/** The name of a broker's process, and of its files; the first has no number. */
export const brokerName = (nth: number) => (nth === 1 ? 'mosquitto' : `mosquitto-${nth}`);

/**
 * Private Mosquitto: on loopback by default, with a password and topics for each user. Its default limits for a client, 20 messages in
 * flight and 1000 queued, would drop messages silently.
 */
export async function prepareMosquitto(
  dir: string,
  port: number,
  passwords: Record<BrokerUser, string>,
  certificate?: Certificate,
  listen: Listen = HOST,
  name = brokerName(1),
  bridge?: Bridge,
): Promise<Launch> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const [config, users, acl] = ['conf', 'users', 'acl'].map((kind) => join(dir, `${name}.${kind}`)) as [
    string,
    string,
    string,
  ];
  await writePrivate(
    users,
    Object.entries(passwords).map(([user, password]) => `${user}:${password}`),
  );
  // Hashes the file in place, to keep passwords off command lines.
  await execa('mosquitto_passwd', ['-U', users], { env: { PATH: DAEMON_PATH } });
  await writePrivate(acl, brokerAclFile());
  const user = userInfo().username;
  await writePrivate(config, mosquittoConfig({ listen, port, user, users, acl, certificate, bridge }));
  return { name, command: 'mosquitto', args: ['-c', config] };
}

const writePrivate = (path: string, lines: string[]) => writePrivateFile(path, `${lines.join('\n')}\n`);
