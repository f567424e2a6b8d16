// Where the pipeline is: what the environment says, else what `npm run pipeline` wrote to .stack/stack.json.

function readStack() {
  try {
    return JSON.parse(open(import.meta.resolve(`../../${__ENV.STACK_DIR || '.stack'}/stack.json`)));
  } catch {
    return {};
  }
}

/** @returns {{ingest: object, mqtt: object, redis: object}} addresses and credentials, as new Run() takes them */
export function pipeline() {
  const stack = readStack();
  const own = Boolean(__ENV.INGEST_URL); // somebody's own pipeline: then nothing of ours is meant
  const from = (name, ours) => (__ENV[name] ? { url: __ENV[name] } : own ? { url: '' } : ours || { url: '' });
  return {
    ingest: { ...from('INGEST_URL', stack.ingest), ...(__ENV.INGEST_TOKEN && { token: __ENV.INGEST_TOKEN }) },
    mqtt: from('MQTT_URL', stack.mqtt),
    redis: from('REDIS_URL', stack.redis),
  };
}
