import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { Attempt, brokerAt } from '../common/broker-attempt.ts';
import type { QueueOptions } from '../queue/connection.ts';
import { openQueue } from '../queue/open.ts';
import { explainRedis } from '../queue/problems.ts';
import { Store } from '../queue/store.ts';
import { withoutPassword } from '../shared/config.ts';

const ANSWER_MS = 5000;

/** Rejects in one line that names the variable when this Redis cannot be used. */
export async function checkRedis(
  variable: string,
  options: Pick<QueueOptions, 'url' | 'cluster' | 'shards'>,
): Promise<void> {
  const refused = Promise.withResolvers<never>();
  const store = new Store({
    ...options,
    timeoutMs: ANSWER_MS,
    onState: (up, reason) => {
      if (!up && reason !== undefined) refused.reject(new Error(reason));
    },
  });
  const queue = openQueue('stream', { ...options, timeoutMs: ANSWER_MS }, store);
  try {
    // The connection's own end, after ANSWER_MS, has the reason.
    await Promise.race([queue.whenReady(2 * ANSWER_MS), refused.promise]);
    const unfit = await store.unfit();
    if (unfit) throw new Error(unfit.why);
  } catch (error) {
    throw new Error(`${variable}: Redis at ${withoutPassword(options.url)}: ${explainRedis(error as Error)}`);
  } finally {
    refused.promise.catch(() => {});
    queue.close();
    store.close();
  }
}

/** Rejects in one line that names the variable when relays cannot use this broker. */
export async function checkBroker(variable: string, url: string): Promise<void> {
  const name = `arrival-stack-${randomBytes(4).toString('hex')}`;
  const will = {
    topic: `status/relay/${name}`,
    payload: Buffer.from('offline'),
    qos: 1,
    retain: true,
  } as const;
  const client = await openClient(variable, url, { clientId: name, will });
  // The client sends DISCONNECT, after which the broker drops the will.
  await Promise.race([client.endAsync(), sleep(ANSWER_MS, undefined, { ref: false })]);
  client.stream.destroy();
}

/** Resolves when a process's `/readyz` answers 200; rejects after `withinMs` with its reason. */
export async function probeReady(health: string, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await ask(`${health}/readyz`, { signal: AbortSignal.timeout(withinMs) });
    const why = await answer.text();
    if (answer.ok) return;
    if (Date.now() > deadline) throw new Error(`${health} is not ready after ${withinMs} ms: ${why}`);
    await sleep(20);
  }
}

/**
 * Resolves when a relay's retained presence has passed the bridges to this broker, as messages then do too. Rejects after `withinMs`.
 */
export async function probeBridges(mqttUrl: string, withinMs: number): Promise<void> {
  const client = await subscriber('BRIDGE', mqttUrl);
  try {
    const arrived = messageWithin(client, withinMs);
    await subscribe(client, 'BRIDGE', mqttUrl, 'status/relay/#');
    if (!(await arrived)) throw new Error(`nothing has come over the bridges within ${withinMs} ms`);
  } finally {
    await client.endAsync(true);
  }
}

/**
 * Sends one message through the whole pipeline: it posts it to the ingest and waits for it by MQTT, on a separate topic and with an
 * id of no run. Rejects with the step that failed.
 * @param patienceMs more time, for messages that an earlier stack left in the queue
 */
export async function probeRoundTrip(
  ingest: { url: string; token: string; idKey: string },
  mqttUrl: string,
  withinMs: number,
  patienceMs = 0,
): Promise<void> {
  const client = await subscriber('MQTT_URL', mqttUrl);
  try {
    const name = randomBytes(8).toString('hex');
    const topic = `messages/probe/${name}`;
    await subscribe(client, 'MQTT_URL', mqttUrl, topic);
    const arrived = new Promise<void>((resolve) => client.once('message', () => resolve()));
    const full = Date.now() + patienceMs;
    const post = () =>
      ask(`${ingest.url}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ingest.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...withId(ingest.idKey, `probe.${name}`), target: `probe/${name}` }),
        signal: AbortSignal.timeout(withinMs),
      });
    let response = await post();
    while (response.status === 503 && Date.now() < full) {
      await sleep(100);
      response = await post();
    }
    if (response.status !== 202) {
      throw new Error(`the ingest answered ${response.status}: ${await response.text()}`);
    }
    const limitMs = withinMs + patienceMs;
    const late = sleep(limitMs, limitMs, { ref: false });
    if ((await Promise.race([arrived, late])) === limitMs)
      throw new Error(`the message that proves readiness did not arrive within ${limitMs} ms`);
  } finally {
    await client.endAsync(true);
  }
}

/**
 * Calls fetch, and throws its error with the reason from its cause. The connection closes with the answer: an ingest
 * that stops waits for clients that may use theirs again.
 */
function ask(url: string, { headers, ...request }: RequestInit): Promise<Response> {
  return fetch(url, { ...request, headers: { ...headers, connection: 'close' } }).catch(
    ({ message, cause }: Error) => {
      const why = cause instanceof Error ? cause.message : message;
      if (why === 'bad port')
        throw new Error(
          `INGEST_PORT=${new URL(url).port} cannot be used: browsers and Node refuse HTTP to it`,
        );
      throw new Error(`no answer from ${url}: ${why}`);
    },
  );
}

/** Rejects in one line that names the variable when the broker does not grant a subscription. */
async function subscribe(client: MqttClient, variable: string, url: string, topic: string): Promise<void> {
  const refusal = (why: string) =>
    new Error(`${variable}: broker at ${withoutPassword(url)}: ${why} to ${topic}`);
  const granted = client.subscribeAsync(topic, { qos: 1 }).catch(({ message }: Error) => {
    throw refusal(
      message === 'Connection closed'
        ? 'it closes the connection on a subscription'
        : `it refuses a subscription, ${message.replace(/^Subscribe error: /, '')},`,
    );
  });
  const silent = sleep(ANSWER_MS, 'silent' as const, { ref: false });
  if ((await Promise.race([granted, silent])) !== 'silent') return;
  granted.catch(() => {});
  throw refusal(`it does not answer within ${ANSWER_MS} ms a subscription`);
}

/** Whether a message comes in time on this connection. */
function messageWithin(client: MqttClient, ms: number): Promise<boolean> {
  const arrived = new Promise<boolean>((resolve) => {
    client.once('message', () => resolve(true));
    client.once('close', () => resolve(false));
  });
  return Promise.race([arrived, sleep(ms, false, { ref: false })]);
}

/** `meta.id` and `a` make `{ meta: { id: 'a' } }`. */
function withId(idKey: string, id: string): object {
  return idKey.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), id) as object;
}

const subscriber = (variable: string, url: string) =>
  openClient(variable, url, { clientId: `arrival-stack-${randomBytes(4).toString('hex')}` });

/** Rejects when the broker does not take the connection, however it refuses. */
async function openClient(variable: string, url: string, options: IClientOptions): Promise<MqttClient> {
  const at = brokerAt(url);
  const client = connect({
    ...at,
    protocolVersion: 5,
    reconnectPeriod: 0,
    connectTimeout: ANSWER_MS,
    ...options,
  });
  const attempt = new Attempt(client, at.protocol, { timeoutMs: ANSWER_MS });
  // mqtt.js does not close the connection after a packet that it cannot read.
  client.once('error', () => client.end(true));
  await new Promise<void>((resolve, reject) => {
    client.once('connect', () => resolve());
    client.once('close', () =>
      reject(new Error(`${variable}: broker at ${withoutPassword(url)}: ${attempt.reason}`)),
    );
  });
  return client;
}
