/** Files with address and credentials for `curl -K` and `mosquitto_sub`, to keep them off command lines. */
import { join } from 'node:path';
import { type StackFile, writePrivateFile } from './file.ts';

const [CURL_CONF, MOSQUITTO_SUB] = ['curl.conf', 'mosquitto_sub'] as const;

export const CLIENT_FILES = [CURL_CONF, MOSQUITTO_SUB];

/** @param ca a file of authorities to trust; empty: the built-in ones */
export async function writeClientFiles(dir: string, { ingest, mqtt }: StackFile, ca: string): Promise<void> {
  const { protocol, hostname, port } = new URL(mqtt.url);
  const secure = protocol !== 'mqtt:' && protocol !== 'tcp:';
  const write = (name: string, lines: string[]) => writePrivateFile(join(dir, name), `${lines.join('\n')}\n`);
  await write(CURL_CONF, [
    `url = "${ingest.url}/messages"`,
    `header = "Authorization: Bearer ${escaped(ingest.token)}"`,
    'header = "Content-Type: application/json"',
    ...(ca === '' ? [] : [`cacert = "${escaped(ca)}"`]),
  ]);
  await write(MOSQUITTO_SUB, [
    `-h ${hostname}`,
    `-p ${port || (secure ? 8883 : 1883)}`,
    `-u ${mqtt.username}`,
    `-P ${mqtt.password}`,
    '-V mqttv5',
    ...(ca === '' || !secure ? [] : [`--cafile ${ca}`]),
  ]);
}

/** A text between the quotes of curl's configuration. */
function escaped(text: string): string {
  return text.replace(/["\\]/g, '\\$&');
}
