import type { MqttClient } from 'mqtt';

/** Why a broker that has taken the connection cannot be used. */
export interface Misfit {
  why: string;
  /** Another connection changes nothing. */
  isFinal: boolean;
}

/** What a CONNACK says about a broker. mqtt.js reads it, and does not keep to all of it. */
type Properties = NonNullable<MqttClient['serverProperties']>;

export function misfitOf(
  { receiveMaximum, maximumPacketSize, maximumQoS }: Properties,
  qos: 0 | 1,
): Misfit | undefined {
  if (maximumQoS !== undefined && maximumQoS < qos) {
    const why = `the broker takes QoS ${maximumQoS} at most (its Maximum QoS), and MQTT_QOS is ${qos}; allowed: MQTT_QOS=${maximumQoS}, or another broker`;
    return { why, isFinal: true };
  }
  const zero =
    receiveMaximum === 0 ? 'Receive Maximum' : maximumPacketSize === 0 ? 'Maximum Packet Size' : undefined;
  if (zero === undefined) return undefined;
  // MQTT 5, 3.2.2.3.3 and 3.2.2.3.6: a Protocol Error.
  return {
    why: `the broker takes no message at all: its ${zero} is 0, which MQTT does not allow`,
    isFinal: false,
  };
}
